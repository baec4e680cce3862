"""Loops of rows that come later, and malformed calls."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

import lowrankgcn as lg
from lowrankgcn.spectral.extension import (
    cross_affinity,
    extend_eigenvectors,
)
from tests.extension_problems import (
    crossed,
    data,
    dense,
    fitted,
    later,
)

pytestmark = pytest.mark.filterwarnings("ignore::lowrankgcn.DisconnectedGraphWarning")


def test_loop_weights_of_new_rows() -> None:
    graph, _, _ = fitted("incidence")
    own, n = graph.loop_weights, graph.n_nodes
    for smoother, expected in (
        (own, 0.0),
        (own + 0.7, 0.7),
        (np.full(n, 0.3), 0.3),
        (np.zeros(n), 0.0),
        (0.3, 0.3),
        ("hypergraph", 0.0),
    ):
        cross = cross_affinity(lg.Laplacian(graph, smoother))
        assert_allclose(cross.loop_weight, expected, rtol=1e-12)
    uneven = lg.Laplacian(graph, np.arange(1.0, n + 1))
    with pytest.raises(ValueError, match="loop_weight: expected the loop weight of new rows"):
        cross_affinity(uneven)
    assert cross_affinity(uneven, loop_weight=0.5).loop_weight == 0.5
    # A number is itself, also where the hypergraph's own loops are all equal.
    ring = lg.Hypergraph([[1, 1], [1, 1]])
    assert cross_affinity(lg.Laplacian(ring, 2.0)).loop_weight == 2.0


def test_a_graph_is_no_laplacian() -> None:
    graph = lg.AdjacencyGraph([[0, 1], [1, 0]])
    with pytest.raises(ValueError, match="laplacian: expected a Laplacian, got AdjacencyGraph"):
        cross_affinity(graph)  # type: ignore[arg-type]


@pytest.mark.parametrize("loop", [-1.0, np.nan, np.inf, "1", True, [1.0]])
def test_bad_loop_weights(loop: Any) -> None:
    with pytest.raises(ValueError, match="loop_weight: expected"):
        cross_affinity(lg.Laplacian(fitted("points")[0]), loop_weight=loop)


@pytest.mark.parametrize(
    ("kind", "X"),
    [
        *(
            (kind, X)
            for kind in ("landmarks", "points", "neighbours")
            for X in (
                None,
                np.ones(2),
                np.ones((1, 3)),
                np.ones((1, 2, 1)),
                [[np.nan, 0.0]],
                [[np.inf, 0.0]],
                [["a", "b"]],
                sp.csr_array(np.ones((1, 2))),
            )
        ),
        ("incidence", np.ones((2, 28))),
        ("incidence", np.ones(30)),
        ("incidence", np.full((1, 30), 2.0)),
        ("incidence", sp.csr_array(np.full((1, 30), 0.5))),
        ("incidence", sp.csr_array(np.full((1, 30), 1j))),
        ("incidence", sp.coo_array(np.ones(30))),
        ("incidence", np.full((1, 30), np.nan)),
        ("incidence", "text"),
        ("weights", np.ones((2, 119))),
        ("weights", np.ones(120)),
        ("weights", np.full((1, 120), -1.0)),
        ("weights", np.full((1, 120), np.inf)),
        ("weights", np.full((1, 120), 1e308)),
        ("weights", sp.csr_array(np.full((1, 120), np.nan))),
        ("weights", sp.csr_array(np.full((1, 120), -0.5))),
        ("weights", sp.csr_array(np.full((1, 120), 1j))),
        ("weights", [["a"] * 120]),
        ("weights", None),
    ],
)
def test_bad_rows(kind: str, X: Any) -> None:
    cross = crossed(kind)
    for call in (cross.rows, lambda X: cross.product(X, np.ones((cross.n_columns, 1)))):
        with pytest.raises(ValueError, match="X: expected"):
            call(X)


def test_bad_tables() -> None:
    table = data(120)["table"]
    for X in (table[["c0"]], table.assign(x="text"), np.ones((2, 3)), np.ones(3)):
        with pytest.raises(ValueError, match="expected"):
            crossed("table").rows(X)


@pytest.mark.parametrize("bad", [None, np.ones(120), np.ones((7, 2)), np.full((120, 1), np.nan)])
def test_bad_blocks(bad: Any) -> None:
    cross = crossed("points")
    with pytest.raises(ValueError, match="G: expected"):
        cross.compress(bad)
    with pytest.raises(ValueError, match="Q: expected"):
        cross.product(later("points"), bad)
    with pytest.raises(ValueError, match="cross: expected a CrossAffinity"):
        extend_eigenvectors(bad, None, bad)  # type: ignore[arg-type]


def test_sparse_and_dense_incidences_agree() -> None:
    cross, X = crossed("incidence"), later("incidence")
    expected = dense(cross.rows(X))
    for same in (sp.csr_array(X), sp.csc_matrix(X.astype(bool)), X.astype(np.int8), X.tolist()):
        assert_array_equal(dense(cross.rows(same)), expected)


def test_sparse_and_dense_weights_agree() -> None:
    cross, X = crossed("weights"), later("weights")
    X = np.where(X > 0.1, X, 0.0)
    expected = dense(cross.rows(X))
    for same in (sp.csr_array(X), sp.csc_matrix(X), sp.coo_array(X), X.tolist()):
        assert_array_equal(dense(cross.rows(same)), expected)
    given = sp.csr_array(X)
    before = given.data.copy()
    cross.rows(given)
    assert_array_equal(given.data, before)
