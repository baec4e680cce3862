"""The predicting part of a classifier as named arrays and plain values, and back, checked.

Arrays that do not fit together are refused here, so that a restored model cannot fail later.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowrankgcn._validation import choice, invalid, positive_float, positive_int
from lowrankgcn.estimators.extended import ExtendedLayer, ExtendedNetwork
from lowrankgcn.estimators.inputs import (
    GivenInputs,
    Inputs,
    PointInputs,
    TableInputs,
    inputs_from_state,
)
from lowrankgcn.estimators.model import Model
from lowrankgcn.graphs import TableEncoder
from lowrankgcn.graphs.columns import BinnedColumn
from lowrankgcn.nn import ACTIVATIONS
from lowrankgcn.spectral.extension import cross_from_state

__all__ = ["Arrays", "array_of", "field_of", "model_from_state", "model_state", "restored_with"]

Arrays = dict[str, NDArray[Any]]

_FLOAT = ("float64",)
_FLOATS = ("float32", "float64")


def field_of(values: Any, name: str, kind: type | tuple[type, ...]) -> Any:
    """An entry of a JSON object, of one of the given types exactly."""
    kinds = kind if isinstance(kind, tuple) else (kind,)
    if not isinstance(values, dict) or name not in values:
        raise invalid(name, "an entry", "none")
    if type(values[name]) not in kinds:
        expected = " or ".join(one.__name__ for one in kinds)
        raise invalid(name, expected, type(values[name]).__name__)
    return values[name]


def array_of(
    arrays: Mapping[str, Any],
    name: str,
    shape: tuple[int | None, ...],
    dtypes: tuple[str, ...] = _FLOAT,
    *,
    finite: bool = True,
) -> NDArray[Any]:
    """An array of one of the given dtypes; None in `shape` stands for any length."""
    if name not in arrays:
        raise invalid(name, "an array", "none")
    array: NDArray[Any] = arrays[name]
    fits = array.ndim == len(shape) and all(
        wanted in (None, length) for wanted, length in zip(shape, array.shape, strict=True)
    )
    if not fits or array.dtype.name not in dtypes:
        wanted = "×".join("?" if length is None else str(length) for length in shape)
        got = f"{array.dtype} of shape {array.shape}"
        raise invalid(name, f"{' or '.join(dtypes)} of shape {wanted}", got)
    if finite and not np.isfinite(array).all():
        raise invalid(name, "finite entries", "NaN or infinity")
    return array


def restored_with(arrays: Mapping[str, Any], prefix: str) -> Arrays:
    """The arrays whose names begin with `prefix`, named by what follows."""
    return {
        name.removeprefix(prefix): array
        for name, array in arrays.items()
        if name.startswith(prefix)
    }


def model_state(model: Model) -> tuple[Arrays, dict[str, Any]]:
    """Arrays and JSON values that :func:`model_from_state` makes the same model from."""
    input_arrays, input_values = model.inputs.state()
    cross_arrays, cross_values = model.cross.state()
    arrays: Arrays = {"basis": model.basis}
    arrays |= {f"inputs.{name}": array for name, array in input_arrays.items()}
    arrays |= {f"cross.{name}": array for name, array in cross_arrays.items()}
    networks = []
    for i, network in enumerate(model.networks):
        layers = []
        for j, layer in enumerate(network.layers):
            parts = {"own": layer.own, "readout": layer.readout, "bias": layer.bias}
            for name, part in parts.items():
                if part is not None:
                    arrays[f"network.{i}.{j}.{name}"] = part
            layers.append({"first": int(layer.first), "n_restarts": int(layer.n_restarts)})
        networks.append(
            {
                "activation": network.activation,
                "feature_scale": float(network.feature_scale),
                "weight": float(network.weight),
                "layers": layers,
            }
        )
    cross = {"kind": model.cross.kind, "values": cross_values}
    return arrays, {"inputs": input_values, "cross": cross, "networks": networks}


def model_from_state(
    arrays: Mapping[str, Any], values: Any, n_features: int, n_classes: int
) -> Model:
    """Restore a model; ValueError if its parts are missing or do not fit together."""
    inputs, width = _inputs(
        restored_with(arrays, "inputs."), field_of(values, "inputs", dict), n_features
    )
    about = field_of(values, "cross", dict)
    cross = cross_from_state(
        field_of(about, "kind", str),
        restored_with(arrays, "cross."),
        field_of(about, "values", dict),
    )
    basis = array_of(arrays, "basis", (cross.n_columns, None))
    least = 1 + width if isinstance(inputs, GivenInputs) else 1
    if basis.shape[1] < least:
        raise invalid("basis", f"at least {least} columns", basis.shape[1])
    listed = field_of(values, "networks", list)
    if not listed:
        raise invalid("networks", "one or more", "none")
    networks = tuple(
        _network(restored_with(arrays, f"network.{i}."), one, width, basis.shape[1], n_classes)
        for i, one in enumerate(listed)
    )
    return Model(inputs, cross, basis, networks, n_classes)


def _inputs(
    arrays: Mapping[str, Any], values: dict[str, Any], n_features: int
) -> tuple[Inputs, int]:
    """Inputs, and the number of features that the network sees."""
    kind = field_of(values, "kind", str)
    if kind == "points":
        _units(arrays, "centre", "scale", n_features)
        if "origin" in arrays or "unit" in arrays:
            _units(arrays, "origin", "unit", n_features)
        inputs = inputs_from_state(arrays, values)
        assert isinstance(inputs, PointInputs)
        return inputs, n_features
    if kind == "table":
        return _table_inputs(arrays, values, n_features)
    if kind == "given":
        rank = positive_int(field_of(values, "rank", int), "rank")
        positive_float(field_of(values, "scale", float), "scale")
        inputs = inputs_from_state(arrays, values)
        assert isinstance(inputs, GivenInputs)
        return inputs, rank
    return inputs_from_state(arrays, values), n_features


def _units(arrays: Mapping[str, Any], centre: str, scale: str, count: int) -> None:
    array_of(arrays, centre, (count,))
    scales = array_of(arrays, scale, (count,), finite=False)
    if not (scales > 0).all():  # infinite for constant columns
        raise invalid(scale, "numbers > 0", "others")


def _table_inputs(
    arrays: Mapping[str, Any], values: dict[str, Any], n_features: int
) -> tuple[Inputs, int]:
    encoder = TableEncoder.from_dict(field_of(values, "encoder", dict))
    if len(encoder.names) != n_features:
        raise invalid("encoder", f"{n_features} columns", len(encoder.names))
    binned = [column.name for column in encoder.columns if isinstance(column, BinnedColumn)]
    numbers = field_of(values, "numbers", list)
    if any(name not in binned for name in numbers):
        raise invalid("numbers", f"columns among {binned}", repr(numbers)[:100])
    shown = array_of(arrays, "shown", (None,), ("int64",))
    total = encoder.n_hyperedges
    if len(shown) and (shown[0] < 0 or shown[-1] >= total or (np.diff(shown) <= 0).any()):
        raise invalid("shown", f"ascending integers in 0..{total - 1}", "others")
    array_of(arrays, "means", (len(shown),))
    _units(arrays, "centre", "scale", len(numbers))
    inputs = inputs_from_state(arrays, values)
    assert isinstance(inputs, TableInputs)
    return inputs, len(shown) + len(numbers)


def _network(
    arrays: Mapping[str, Any], values: Any, n_features: int, n_vectors: int, n_classes: int
) -> ExtendedNetwork:
    about = field_of(values, "layers", list)
    if not about:
        raise invalid("layers", "one or more", "none")
    layers = []
    width: int = n_features
    for j, one in enumerate(about):
        layer, width = _layer(restored_with(arrays, f"{j}."), one, width, n_vectors)
        layers.append(layer)
    if width != n_classes:
        raise invalid("last layer", f"{n_classes} classes", width)
    if len({layer.n_restarts for layer in layers}) > 1:
        raise invalid("layers", "the same number of restarts in all", "several")
    if len({array.dtype for array in arrays.values()}) > 1:
        raise invalid("layers", "arrays of one dtype", "several")
    return ExtendedNetwork(
        tuple(layers),
        choice(values.get("activation"), "activation", ACTIVATIONS),
        positive_float(values.get("feature_scale"), "feature_scale"),
        positive_float(values.get("weight"), "weight"),
    )


def _layer(
    arrays: Mapping[str, Any], values: Any, n_in: int, n_vectors: int
) -> tuple[ExtendedLayer, int]:
    """A layer, and the width of what it puts out."""
    restarts = positive_int(field_of(values, "n_restarts", int), "n_restarts")
    first = positive_int(field_of(values, "first", int), "first", minimum=0, maximum=n_vectors)
    own = readout = bias = None
    n_out: int | None = None
    if "own" in arrays:
        own = array_of(arrays, "own", (restarts, n_in, None), _FLOATS)
        n_out = own.shape[2]
    if "readout" in arrays:
        columns = None if n_out is None else restarts * n_out
        readout = array_of(arrays, "readout", (None, columns), _FLOATS)
        if first + len(readout) > n_vectors:
            got = f"{first}..{first + len(readout) - 1}"
            raise invalid("readout", f"vectors among {n_vectors}", got)
        n_out, rest = divmod(readout.shape[1], restarts)
        if rest:
            raise invalid("readout", f"a multiple of {restarts} columns", readout.shape[1])
    if not n_out:
        raise invalid("layer", "a readout or weights of its own", "none")
    if "bias" in arrays:
        bias = array_of(arrays, "bias", (restarts, n_out), _FLOATS)
    return ExtendedLayer(own, readout, first, bias, restarts), n_out
