"""Cross-affinities are saved and restored; damaged files raise an error."""

from __future__ import annotations

import json
from copy import copy
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

import lowrankgcn as lg
from lowrankgcn._codec import decode, encode
from lowrankgcn.graphs.cross.gaussian import FourierCross
from lowrankgcn.operators.modes import ModeGrid
from lowrankgcn.spectral.extension import CrossAffinity, cross_affinity
from tests.cross_problems import KINDS, crossed, data, new_rows, rows_of
from tests.saved_examples import through_json

pytestmark = pytest.mark.filterwarnings("ignore::lowrankgcn.DisconnectedGraphWarning")


def fourier() -> FourierCross:
    graph = lg.GaussianGraph(data(120)["points"], 1.5)
    affinity = graph.affinity(method="fourier")
    return FourierCross.from_sum(graph.cloud, affinity, affinity.degrees, 0.0)


def restored(cross: CrossAffinity) -> CrossAffinity:
    arrays, value = encode(cross)
    copies = {name: array.copy() for name, array in arrays.items()}
    result: CrossAffinity = decode(copies, json.loads(json.dumps(value)), CrossAffinity)
    return result


@pytest.mark.parametrize("kind", [*KINDS, "fourier"])
def test_restored_cross_affinities_give_the_same_products(kind: str) -> None:
    cross = fourier() if kind == "fourier" else crossed(kind, "identity")
    again, X = restored(cross), new_rows(kind)
    Q = np.random.default_rng(0).normal(size=(cross.n_columns, 4))
    assert type(again) is type(cross)
    assert_array_equal(again.product(X, Q), cross.product(X, Q))
    assert_array_equal(rows_of(again, X), rows_of(cross, X))
    assert encode(again)[1] == encode(cross)[1]
    with pytest.raises(ValueError, match="compress: expected a cross-affinity of a fitted graph"):
        again.compress(np.ones((120, 1)))


def test_tables_with_cells_of_every_kind() -> None:
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
        again = restored(cross)
        assert_array_equal(rows_of(again, table), rows_of(cross, table))
        assert_array_equal(rows_of(again, table) > 0, graph.incidence.to_dense() > 0)


@pytest.mark.parametrize("kind", ["table", "incidence", "landmarks", "fourier", "neighbours"])
def test_damaged_arrays_raise(kind: str) -> None:
    cross = fourier() if kind == "fourier" else crossed(kind)
    arrays, value = encode(cross)
    for name, array in arrays.items():
        damaged = [array[..., None], array.astype(np.float32)]
        if name != "guides":  # any number of them will do
            damaged += [array[:-1]]
        if array.dtype == np.float64:
            damaged += [np.where(array == array.max(), np.nan, array)]
        for wrong in damaged:
            with pytest.raises(ValueError, match="expected"):
                decode({**arrays, name: wrong}, value, CrossAffinity)


def damaged(value: Any, **changes: Any) -> Any:
    """Return a copy with other fields, as a forged file may have them."""
    value = copy(value)
    for name, field in changes.items():
        object.__setattr__(value, name, field)
    return value


def changed(kind: str, **changes: Any) -> Any:
    return lambda: damaged(fourier() if kind == "fourier" else crossed(kind), **changes)


def other(kind: str, name: str, change: Any) -> Any:
    return lambda: damaged(crossed(kind), **{name: change(getattr(crossed(kind), name))})


NONE = np.ones((0, 2))
IMPOSSIBLE = {
    "negative loop": ("loop_weight", changed("weights", loop_weight=-1.0)),
    "no nodes": ("n_nodes", changed("weights", n_nodes=0)),
    "too many nodes": ("n_nodes", changed("weights", n_nodes=2**70)),
    "negative weights": ("weights", other("table", "weights", np.negative)),
    "zero weights": ("weights", other("incidence", "weights", np.zeros_like)),
    "descending numbers": ("numbers", other("incidence", "numbers", lambda a: a[::-1].copy())),
    "large numbers": ("numbers", other("incidence", "numbers", lambda a: a + 100)),
    "negative numbers": ("numbers", other("incidence", "numbers", lambda a: a - 100)),
    "equal numbers": ("numbers", other("incidence", "numbers", np.zeros_like)),
    "negative count": ("n_given", changed("incidence", n_given=-1)),
    "negative root": ("inverse_root", other("landmarks", "inverse_root", np.negative)),
    "full root": ("inverse_root", other("landmarks", "inverse_root", np.ones_like)),
    "negative misfit": ("misfit", changed("landmarks", misfit=-1.0)),
    "no landmarks": ("landmarks", changed("landmarks", landmarks=NONE)),
    "no points": ("coordinates", changed("points", coordinates=NONE)),
    "no columns": ("coordinates", changed("points", coordinates=NONE.T)),
    "bandwidth": ("bandwidth", changed("points", bandwidth=0.0)),
    "no guides": ("guides", changed("fourier", guides=NONE)),
    "dimension": (
        "grid",
        changed("fourier", grid=ModeGrid(np.zeros(4), np.ones(4), (1,) * 4, 0.1)),
    ),
    "degree": ("least_degree", changed("fourier", least_degree=0.0)),
    "period": ("period", lambda: ModeGrid(np.zeros(1), -np.ones(1), (2,), 0.1)),
    "modes": ("half", lambda: ModeGrid(np.zeros(1), np.ones(1), (-2,), 0.1)),
    "no dimension": ("half", lambda: ModeGrid(np.zeros(0), np.ones(0), (), 0.1)),
    "eps": ("eps", lambda: ModeGrid(np.zeros(1), np.ones(1), (2,), 1.5)),
}


def test_impossible_fields_raise() -> None:
    for case, (name, make) in IMPOSSIBLE.items():
        try:
            through_json(make())
        except ValueError as error:
            assert str(error).startswith(f"{name}: expected"), f"{case}: {error}"
        else:
            pytest.fail(f"{case} was accepted")
