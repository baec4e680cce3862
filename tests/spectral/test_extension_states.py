"""States of cross-affinities: restored bit for bit, refused when damaged."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

import lowrankgcn as lg
from lowrankgcn.spectral.extension import (
    cross_affinity,
    cross_from_state,
)
from tests.extension_problems import (
    KINDS,
    crossed,
    data,
    dense,
    later,
)

pytestmark = pytest.mark.filterwarnings("ignore::lowrankgcn.DisconnectedGraphWarning")


@pytest.mark.parametrize("kind", KINDS)
def test_states_restore_every_bit(kind: str) -> None:
    cross = crossed(kind, "identity")
    X = later(kind)
    arrays, values = cross.state()
    assert all(array.flags.c_contiguous for array in arrays.values())
    copies = {name: array.copy() for name, array in arrays.items()}
    restored = cross_from_state(cross.kind, copies, json.loads(json.dumps(values)))
    Q = np.random.default_rng(0).normal(size=(cross.n_columns, 4))
    assert type(restored) is type(cross)
    assert_array_equal(restored.product(X, Q), cross.product(X, Q))
    assert_array_equal(dense(restored.rows(X)), dense(cross.rows(X)))
    again = restored.state()
    assert again[1] == values
    assert again[0].keys() == arrays.keys()
    with pytest.raises(ValueError, match="compress: expected a cross-affinity of a fitted graph"):
        restored.compress(np.ones((120, 1)))


def test_states_of_tables_with_cells_of_every_kind() -> None:
    days = pd.to_datetime(pd.Series([0, None, 44.5, 0]), unit="D", origin="2020-01-01")
    table = pd.DataFrame(
        {
            "flag": pd.Series([True, None, False, True], dtype=object),
            "mixed": pd.Series(["1", 1, 2.5, None], dtype=object),
            "day": days,
            "zoned": days.dt.tz_localize("Europe/Berlin"),
            "time": days - days[0],
            "number": [0.1, 1e300, -5e-324, np.nan],
            3: ["ä", "", "x=y", None],
        }
    )
    for bins in (2, None):
        graph = lg.Hypergraph.from_table(table, bins=bins, missing="edge")
        cross = cross_affinity(lg.Laplacian(graph))
        arrays, values = cross.state()
        restored = cross_from_state("table", arrays, json.loads(json.dumps(values)))
        assert_array_equal(dense(restored.rows(table)), dense(cross.rows(table)))
        assert_array_equal(dense(restored.rows(table)) > 0, graph.incidence.to_dense() > 0)


def test_states_of_points_in_fortran_order() -> None:
    points = np.asfortranarray(data(120)["points"])
    for graph in (lg.GaussianGraph(points, 1.0), lg.AdjacencyGraph.knn(points, 4)):
        arrays, _ = cross_affinity(lg.Laplacian(graph)).state()
        assert all(array.flags.c_contiguous for array in arrays.values())


@pytest.mark.parametrize("kind", KINDS)
def test_damaged_states_are_refused(kind: str) -> None:
    cross = crossed(kind)
    arrays, values = cross.state()
    name = cross.kind
    damaged: list[tuple[Any, Any]] = [(None, values), (arrays, None), (arrays, {})]
    damaged += [({}, values)] if arrays else []
    damaged += [({**arrays, "more": np.ones(1)}, values), (arrays, {**values, "more": 1})]
    for key, array in arrays.items():
        damaged += [
            ({**arrays, key: bad}, values)
            for bad in (
                None,
                array.tolist(),
                array[..., None],
                array.astype(np.float32),
                array.astype(object),
            )
        ]
        if key != "coordinates":  # fewer points are as good a state
            damaged += [({**arrays, key: array[:-1]}, values)]
        if array.dtype == np.float64:
            damaged += [({**arrays, key: np.where(array == array.max(), np.nan, array)}, values)]
    for key in values:
        damaged += [(arrays, {**values, key: bad}) for bad in (None, -1e6, "x", [], np.nan)]
        damaged += [(arrays, {k: v for k, v in values.items() if k != key})]
    for bad_arrays, bad_values in damaged:
        with pytest.raises(ValueError, match="expected"):
            cross_from_state(name, bad_arrays, bad_values)


@pytest.mark.parametrize(
    ("kind", "key", "change"),
    [
        ("table", "weights", np.negative),
        ("incidence", "weights", np.zeros_like),
        ("incidence", "numbers", lambda numbers: numbers[::-1].copy()),
        ("incidence", "numbers", lambda numbers: numbers + 100),
        ("incidence", "numbers", lambda numbers: numbers - 100),
        ("incidence", "numbers", np.zeros_like),
        ("landmarks", "inverse_root", np.negative),
        ("landmarks", "inverse_root", np.ones_like),
        ("neighbours", "scales", np.negative),
    ],
)
def test_impossible_states_are_refused(
    kind: str, key: str, change: Callable[[np.ndarray], np.ndarray]
) -> None:
    arrays, values = crossed(kind).state()
    with pytest.raises(ValueError, match=f"{key}: expected"):
        cross_from_state(kind, {**arrays, key: change(arrays[key])}, values)


@pytest.mark.parametrize(
    ("kind", "arrays"),
    [
        ("points", {"coordinates": np.ones((0, 2)), "centre": np.ones(2)}),
        ("points", {"coordinates": np.ones((3, 0)), "centre": np.ones(0)}),
        ("neighbours", {"points": np.ones((1, 2)), "scales": np.ones(1)}),
        (
            "landmarks",
            {
                "landmarks": np.ones((0, 2)),
                "inverse_root": np.ones((0, 0)),
                "column_sums": np.ones(0),
                "centre": np.ones(2),
            },
        ),
    ],
)
def test_empty_states_are_refused(kind: str, arrays: dict[str, np.ndarray]) -> None:
    with pytest.raises(ValueError, match="expected"):
        cross_from_state(kind, arrays, crossed(kind).state()[1])


@pytest.mark.parametrize("kind", ["unknown", None, 3])
def test_unknown_kinds_are_refused(kind: Any) -> None:
    with pytest.raises(ValueError, match="kind: expected one of 'table'"):
        cross_from_state(kind, {}, {})
