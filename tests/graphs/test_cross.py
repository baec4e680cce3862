"""Cross-affinities of all kinds, against dense formulas."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

import lowrankgcn as lg
from lowrankgcn.graphs.cross_affinity import PointCross
from lowrankgcn.spectral.extension import cross_affinity
from tests.support.cases.cross_problems import (
    KINDS,
    SMOOTHERS,
    crossed,
    data,
    extend_eigenvectors,
    fitted,
    gaussian,
    new_rows,
    oracle,
    rows_of,
    select,
)
from tests.support.each import each

pytestmark = pytest.mark.filterwarnings("ignore::lowrankgcn.DisconnectedGraphWarning")


def kind_of(cross: Any) -> str:
    return type(cross).__name__.removesuffix("Cross")


@each("kind", KINDS)
def test_rows_and_products_follow_the_formula(kind: str) -> None:
    X = new_rows(kind)
    for smoother in SMOOTHERS:
        cross, expected = crossed(kind, smoother), oracle(kind, smoother)
        G = np.random.default_rng(0).normal(size=(expected.shape[1], 3))
        Q = cross.compress(G)
        assert Q.shape == (cross.n_columns, 3)
        tolerance = 1e-3 if kind == "landmarks" else 1e-12
        rows = rows_of(cross, X)
        assert rows.shape == (len(X), cross.n_columns)
        assert_allclose(rows @ Q, expected @ G, atol=tolerance)
        assert_allclose(cross.product(X, Q), expected @ G, atol=tolerance)
        if kind_of(cross) in ("Point", "Neighbour", "Weight"):
            everything = rows @ cross.compress(np.eye(len(expected.T)))
            assert_allclose(everything, expected, rtol=1e-10, atol=1e-14)


def test_kinds() -> None:
    names = [kind_of(crossed(kind)) for kind in KINDS]
    expected = ["Table", "Incidence", "Landmark", "Point", "Point", "Neighbour", "Neighbour"]
    assert names == [*expected, "Weight"]


@each("kind", KINDS)
def test_rows_are_independent_of_other_rows(kind: str) -> None:
    """Rounding may depend on the shape of the block: results agree to 1e-12 relative."""
    cross = crossed(kind, "identity")
    X = new_rows(kind, 150)
    Q = np.random.default_rng(0).normal(size=(cross.n_columns, 5))
    product, rows = cross.product(X, Q), rows_of(cross, X)
    for part in ([0], [149], [77, 3], np.arange(60, 130)):
        alone = cross.product(select(X, part), Q)
        assert_allclose(alone, product[part], rtol=1e-12, atol=1e-12 * np.abs(product).max())
        alone = rows_of(cross, select(X, part))
        assert_allclose(alone, rows[part], rtol=1e-12, atol=1e-12 * np.abs(rows).max())
    assert_allclose(rows @ Q, product, atol=1e-12)
    assert_allclose(cross.product(X, Q[:, :1]), product[:, :1], atol=1e-12)
    assert cross.product(select(X, []), Q).shape == (0, 5)


# --- rows without affinity ----------------------------------------------------------------------


def test_unknown_values_have_no_affinity() -> None:
    table = pd.DataFrame({"a": ["x", "y", "x"], "b": ["u", "u", None]})
    cross = cross_affinity(lg.Laplacian(lg.Hypergraph.from_table(table), "identity"))
    new = pd.DataFrame({"b": ["new", "u", None], "a": ["other", "other", "x"]})
    rows = rows_of(cross, new)
    assert np.count_nonzero(rows) == 2
    assert rows[0].tolist() == [0.0, 0.0, 0.0]
    assert_allclose(rows[1], [0.0, 0.0, np.sqrt(2.0)])


def test_rows_in_no_hyperedge() -> None:
    X = np.zeros((2, 30))
    X[0, 3] = 1.0  # a hyperedge that was dropped
    cross = crossed("incidence", "identity")
    assert not rows_of(cross, X).any()


@pytest.mark.parametrize("kind", ["landmarks", "points", "points in blocks", "neighbours"])
def test_points_far_from_all_others(kind: str) -> None:
    graph, options, _ = fitted(kind)
    for smoother in (None, "identity"):
        L = lg.Laplacian(graph, smoother, **options)
        cross, pairs = cross_affinity(L), lg.eigenpairs(L, 3)
        for far in (1e3, 1e100, 1e200, 1e308):
            extended = extend_eigenvectors(cross, pairs, np.array([[far, -far], [0.5, 0.5]]))
            assert extended[0].tolist() == [0.0, 0.0, 0.0]
            assert np.abs(extended[1]).max() > 1e-3


def test_far_from_landmarks_extensions_keep_direction_and_size() -> None:
    """Measured: without the mixture of landmarks, differences reach four times the size here."""
    rng = np.random.default_rng(0)
    graph = lg.GaussianGraph(rng.normal(size=(3000, 2)), bandwidth=1.5)
    angles = np.linspace(0, 2 * np.pi, 60)
    circle = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    for smoother in ("none", "identity"):
        L = lg.Laplacian(graph, smoother, tol=1e-3)
        cross = cross_affinity(L)
        exact = cross_affinity(lg.Laplacian(graph, smoother, method="blocks"))
        pairs = lg.eigenpairs(L, 4)
        assert kind_of(cross) == "Landmark"
        for radius, worst in ((1.0, 3e-3), (3.0, 1e-2), (4.0, 0.1), (8.0, 1.0), (14.0, 1.0)):
            got = extend_eigenvectors(cross, pairs, radius * circle)
            expected = extend_eigenvectors(exact, pairs, radius * circle)
            size = np.linalg.norm(expected, axis=1)
            assert (np.linalg.norm(got - expected, axis=1) < worst * size).all()
            assert (np.einsum("ij,ij->i", got, expected) > 0).all()


# --- exact weights to all points ----------------------------------------------------------------


def test_many_dimensions_by_matrix_products() -> None:
    rng = np.random.default_rng(0)
    points, X = rng.normal(size=(70, 12)), rng.normal(size=(20, 12))
    X[3] += 30.0  # too far from the centre for products
    graph = lg.GaussianGraph(points, bandwidth=4.0)
    cross = cross_affinity(lg.Laplacian(graph))
    weights = gaussian(X, points, 4.0)
    expected = weights / np.sqrt(weights.sum(axis=1, keepdims=True))
    assert_allclose(rows_of(cross, X), expected, rtol=1e-9)
    assert_allclose(rows_of(cross, X[3:4]), rows_of(cross, X)[3:4], rtol=1e-12)


def test_points_beyond_one_tile() -> None:
    rng = np.random.default_rng(0)
    points, X, Q = rng.normal(size=(9000, 2)), rng.normal(size=(3, 2)), rng.normal(size=(9000, 2))
    cross = PointCross(loop_weight=0.0, centre=np.zeros(2), bandwidth=2.0, coordinates=points / 2)
    weights = gaussian(X, points, 2.0)
    expected = weights @ Q / np.sqrt(weights.sum(axis=1, keepdims=True))
    assert_allclose(cross.product(X, Q), expected, rtol=1e-10, atol=1e-10)


# --- formats and malformed rows -----------------------------------------------------------------


def test_sparse_and_dense_rows_agree() -> None:
    weights = np.where(new_rows("weights") > 0.1, new_rows("weights"), 0.0)
    for kind, X in (("incidence", new_rows("incidence")), ("weights", weights)):
        cross = crossed(kind)
        expected = rows_of(cross, X)
        for same in (sp.csr_array(X), sp.csc_matrix(X), sp.coo_array(X), X.tolist()):
            assert_array_equal(rows_of(cross, same), expected)
    incidence = new_rows("incidence").astype(bool)
    assert_array_equal(rows_of(crossed("incidence"), incidence) > 0, incidence[:, KEPT])
    given = sp.csr_array(weights)
    before = given.data.copy()
    rows_of(crossed("weights"), given)
    assert_array_equal(given.data, before)


KEPT = [e for e in range(30) if e not in (3, 7)]  # hyperedges of the incidence problem
POINTS = (
    None,
    np.ones(2),
    np.ones((1, 3)),
    np.ones((1, 2, 1)),
    [[np.nan, 0.0]],
    [[np.inf, 0.0]],
    [["a", "b"]],
    sp.csr_array(np.ones((1, 2))),
)
MALFORMED: dict[str, tuple[Any, ...]] = {
    "landmarks": POINTS,
    "points": POINTS,
    "neighbours": POINTS,
    "incidence": (
        np.ones((2, 28)),
        np.ones(30),
        np.full((1, 30), 2.0),
        sp.csr_array(np.full((1, 30), 0.5)),
        sp.csr_array(np.full((1, 30), 1j)),
        sp.coo_array(np.ones(30)),
        np.full((1, 30), np.nan),
        "text",
    ),
    "weights": (
        np.ones((2, 119)),
        np.ones(120),
        np.full((1, 120), -1.0),
        np.full((1, 120), np.inf),
        np.full((1, 120), 1e308),
        sp.csr_array(np.full((1, 120), np.nan)),
        sp.csr_array(np.full((1, 120), -0.5)),
        sp.csr_array(np.full((1, 120), 1j)),
        [["a"] * 120],
        None,
    ),
}


@each("kind", MALFORMED)
def test_malformed_rows(kind: str) -> None:
    cross = crossed(kind)
    for X in MALFORMED[kind]:
        with pytest.raises(ValueError, match=r"^X: expected"):
            rows_of(cross, X)
        with pytest.raises(ValueError, match=r"^X: expected"):
            cross.product(X, np.ones((cross.n_columns, 1)))


def test_malformed_tables() -> None:
    table = data(120)["table"]
    for X in (table[["c0"]], table.assign(x="text"), np.ones((2, 3)), np.ones(3)):
        with pytest.raises(ValueError, match="expected"):
            rows_of(crossed("table"), X)
