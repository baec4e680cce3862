"""Presets of the estimator, and validation of its parameters.

>>> import lowrankgcn as lg
>>> settings = read_settings(lg.GCNClassifier(preset="paper", rank=7).get_params())
>>> settings.learning_rate, settings.rank
(0.2, 7)
"""

from __future__ import annotations

import numbers
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, final

import numpy as np

from lowrankgcn._validation import LARGEST_OPTION, choice, invalid, positive_float, positive_int
from lowrankgcn.graphs import Graph
from lowrankgcn.spectral.filters import Filter, as_filters

__all__ = ["PENALTY", "PRESETS", "Settings", "read_settings"]

#: Values of "auto"; parameters that are not listed stay "auto". The settings of the paper are those
#: of its appendix A4.3.
PRESETS: dict[str, dict[str, Any]] = {
    "default": {
        "hidden_widths": (32,),
        "n_restarts": 3,
        "optimizer": "adam",
        "max_iter": 200,
        "bias": True,
        "scaling": True,
    },
    "paper": {
        "filter": "pseudoinverse",
        "rank": 20,
        "hidden_widths": (16,),
        "n_restarts": 1,
        "optimizer": "gd",
        "learning_rate": 0.2,
        "max_iter": 1000,
        "l2_penalty": 5e-4,
        "bias": False,
        "scaling": False,
    },
}

_GRAPHS = ("auto", "gaussian", "hypergraph", "knn", "precomputed")
_ARCHITECTURES = ("full", "low-rank", "reduced")
_STEPS = {"gd": 0.2, "adam": 0.02, "lbfgs": None}
#: Default penalty times the number of labelled rows.
PENALTY = 0.4


@final
@dataclass(frozen=True, eq=False)
class Settings:
    """Validated parameters of the estimator, with "auto" replaced by the values of the preset."""

    graph: str | Graph
    architecture: str
    filters: tuple[Filter, ...] | None  # None: chosen for the spectrum
    rank: int | None  # None: DEFAULT_RANK, or less
    bandwidth: float | Literal["auto"]
    smoother: Any
    hidden_widths: tuple[int, ...]
    n_restarts: int
    optimizer: str
    learning_rate: float | None
    max_iter: int
    l2_penalty: float | None  # None: PENALTY over the number of labels
    bias: bool
    dropout: float
    early_stopping: bool
    class_weight: Any
    scaling: bool
    tol: float
    dtype: str
    device: Any
    verbose: bool


def read_settings(given: Mapping[str, Any]) -> Settings:
    """Validate all parameters of the estimator.

    Raises
    ------
    ValueError
        If a parameter is invalid.
    """
    preset = choice(given["preset"], "preset", PRESETS)

    def get(name: str) -> Any:
        value = given[name]
        return PRESETS[preset].get(name, "auto") if _is_auto(value) else value

    optimizer = choice(get("optimizer"), "optimizer", _STEPS)
    rank, filter_spec, penalty = get("rank"), get("filter"), get("l2_penalty")
    return Settings(
        graph=_graph(given["graph"]),
        architecture=choice(given["architecture"], "architecture", _ARCHITECTURES),
        filters=None if _is_auto(filter_spec) else as_filters(filter_spec),
        rank=None if _is_auto(rank) else positive_int(rank, "rank"),
        bandwidth=_bandwidth(given["bandwidth"], given["graph"]),
        smoother=given["smoother"],
        hidden_widths=_widths(get("hidden_widths")),
        n_restarts=positive_int(get("n_restarts"), "n_restarts"),
        optimizer=optimizer,
        learning_rate=_learning_rate(get("learning_rate"), optimizer),
        max_iter=positive_int(get("max_iter"), "max_iter"),
        l2_penalty=None
        if _is_auto(penalty)
        else positive_float(penalty, "l2_penalty", zero=True, maximum=LARGEST_OPTION),
        bias=_flag(get("bias"), "bias"),
        dropout=positive_float(given["dropout"], "dropout", zero=True, below=1.0),
        early_stopping=_flag(given["early_stopping"], "early_stopping"),
        class_weight=_class_weight(given["class_weight"]),
        scaling=bool(PRESETS[preset]["scaling"]),
        tol=positive_float(given["tol"], "tol", maximum=0.1),
        dtype=choice(given["dtype"], "dtype", ("float32", "float64")),
        device=given["device"],
        verbose=_flag(given["verbose"], "verbose"),
    )


def _is_auto(value: Any) -> bool:
    return isinstance(value, str) and value == "auto"


def _graph(graph: Any) -> str | Graph:
    if isinstance(graph, Graph):
        return graph
    if not isinstance(graph, str):
        raise invalid("graph", f"a graph or one of {', '.join(_GRAPHS)}", type(graph).__name__)
    return choice(graph, "graph", _GRAPHS)


def _bandwidth(bandwidth: Any, graph: Any) -> float | Literal["auto"]:
    if _is_auto(bandwidth):
        return "auto"
    if graph not in ("auto", "gaussian"):
        named = f"graph={graph!r}" if isinstance(graph, str) else "a graph object"
        raise invalid("bandwidth", f"'auto' with {named}", repr(bandwidth))
    return positive_float(bandwidth, "bandwidth")


def _learning_rate(step: Any, optimizer: str) -> float | None:
    if _is_auto(step):
        return _STEPS[optimizer]
    if optimizer == "lbfgs":
        raise invalid("learning_rate", "'auto' with optimizer='lbfgs'", repr(step))
    return positive_float(step, "learning_rate", maximum=LARGEST_OPTION)


def _widths(widths: Any) -> tuple[int, ...]:
    if isinstance(widths, numbers.Integral) and not isinstance(widths, bool):
        widths = (widths,)
    if isinstance(widths, (str, bytes)) or not isinstance(widths, (Sequence, np.ndarray)):
        raise invalid("hidden_widths", "a sequence of integers >= 1", repr(widths))
    return tuple(positive_int(width, "hidden_widths") for width in widths)


def _flag(value: Any, name: str) -> bool:
    # scikit-learn counts levels of `verbose`.
    types = (bool, np.bool_, numbers.Integral) if name == "verbose" else (bool, np.bool_)
    if not isinstance(value, types):
        raise invalid(name, "True or False", repr(value))
    return bool(value)


def _class_weight(class_weight: Any) -> Any:
    if isinstance(class_weight, Mapping):
        return {
            label: positive_float(weight, f"class_weight[{label!r}]", zero=True)
            for label, weight in class_weight.items()
        }
    if class_weight is None or (isinstance(class_weight, str) and class_weight == "balanced"):
        return class_weight
    raise invalid("class_weight", "None, 'balanced' or a mapping", repr(class_weight))
