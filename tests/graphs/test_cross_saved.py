"""Cross-affinities are saved and restored."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

import lowrankgcn as lg
from lowrankgcn._codec import decode, encode
from lowrankgcn.spectral.extension import CrossAffinity, cross_affinity
from tests.support.cases.cross_problems import KINDS, crossed, new_rows, rows_of
from tests.support.each import each

pytestmark = pytest.mark.filterwarnings("ignore::lowrankgcn.DisconnectedGraphWarning")


def restored(cross: CrossAffinity) -> CrossAffinity:
    arrays, value = encode(cross)
    copies = {name: array.copy() for name, array in arrays.items()}
    result: CrossAffinity = decode(copies, json.loads(json.dumps(value)), CrossAffinity)
    return result


@each("kind", KINDS)
def test_restored_cross_affinities_give_the_same_products(kind: str) -> None:
    cross = crossed(kind, "identity")
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
