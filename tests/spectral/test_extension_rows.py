"""Rows that come later, one by one: nothing to hold on to, and no effect on each other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import lowrankgcn as lg
from lowrankgcn.spectral.extension import (
    compress_eigenvectors,
    cross_affinity,
    extend_eigenvectors,
)
from lowrankgcn.spectral.extension.points import PointCross
from tests.extension_problems import (
    KINDS,
    crossed,
    dense,
    fitted,
    gaussian,
    later,
    select,
)

pytestmark = pytest.mark.filterwarnings("ignore::lowrankgcn.DisconnectedGraphWarning")


def test_unknown_values_have_no_affinity() -> None:
    table = pd.DataFrame({"a": ["x", "y", "x"], "b": ["u", "u", None]})
    cross = cross_affinity(lg.Laplacian(lg.Hypergraph.from_table(table), "identity"))
    new = pd.DataFrame({"b": ["new", "u", None], "a": ["other", "other", "x"]})
    rows = cross.rows(new)
    assert rows.nnz == 2
    assert dense(rows)[0].tolist() == [0.0, 0.0, 0.0]
    assert_allclose(dense(rows)[1], [0.0, 0.0, np.sqrt(2.0)])


@pytest.mark.parametrize("smoother", [None, "identity"])
@pytest.mark.parametrize("kind", ["landmarks", "points", "points in blocks", "neighbours"])
@pytest.mark.parametrize("far", [1e3, 1e100, 1e200, 1e308])
def test_points_far_from_everything(kind: str, smoother: Any, far: float) -> None:
    graph, options, _ = fitted(kind)
    L = lg.Laplacian(graph, smoother, **options)
    X = np.array([[far, -far], [0.5, 0.5]])
    extended = extend_eigenvectors(cross_affinity(L), lg.eigenpairs(L, 3), X)
    assert extended[0].tolist() == [0.0, 0.0, 0.0]
    assert np.abs(extended[1]).max() > 1e-3


def test_rows_in_no_hyperedge() -> None:
    X = np.zeros((2, 30))
    X[0, 3] = 1.0  # a hyperedge that was dropped
    cross = crossed("incidence", "identity")
    assert cross.rows(X).nnz == 0
    assert not cross.product(X, np.ones((cross.n_columns, 1))).any()


@pytest.mark.parametrize("smoother", ["none", "identity"])
def test_far_from_landmarks_weights_stay_sensible(smoother: str) -> None:
    """Eigenvectors beyond the cloud keep direction and size, where plain weights lose their sign.

    Measured: without the mixture of landmarks differences reach four times the size here.
    """
    rng = np.random.default_rng(0)
    graph = lg.GaussianGraph(rng.normal(size=(3000, 2)), bandwidth=1.5)
    L = lg.Laplacian(graph, smoother, tol=1e-3)
    exact = lg.Laplacian(graph, smoother, method="blocks")
    pairs = lg.eigenpairs(L, 4)
    angles = np.linspace(0, 2 * np.pi, 60)
    circle = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    for radius, worst in ((1.0, 3e-3), (3.0, 1e-2), (4.0, 0.1), (8.0, 1.0), (14.0, 1.0)):
        cross = cross_affinity(L)
        assert cross.kind == "landmarks"
        got = extend_eigenvectors(cross, pairs, radius * circle)
        expected = extend_eigenvectors(cross_affinity(exact), pairs, radius * circle)
        size = np.linalg.norm(expected, axis=1)
        assert (np.linalg.norm(got - expected, axis=1) < worst * size).all()
        assert (np.einsum("ij,ij->i", got, expected) > 0).all()


def test_eigenvalues_at_one_are_left_out() -> None:
    pairs = lg.Eigenpairs(
        np.array([0.0, 1 - 1e-7, 1.0, 1.5]), np.eye(120)[:, :4], np.zeros(4), "dense", 0, 1
    )
    cross = crossed("points")
    compressed = compress_eigenvectors(cross, pairs)
    assert not compressed[:, 1:3].any()
    assert_allclose(compressed[3, 3], -2 * cross.compress(np.eye(120))[3, 3])


# --- row by row ---------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [1, 5])
@pytest.mark.parametrize("kind", KINDS)
def test_rows_do_not_depend_on_their_company(kind: str, width: int) -> None:
    cross = crossed(kind, "identity")
    X = later(kind, 150)
    Q = np.random.default_rng(0).normal(size=(cross.n_columns, width))
    product, rows = cross.product(X, Q), dense(cross.rows(X))
    for part in ([0], [149], [77, 3], np.arange(60, 130)):
        assert_array_equal(cross.product(select(X, part), Q), product[part])
        assert_array_equal(dense(cross.rows(select(X, part))), rows[part])
    assert_allclose(rows @ Q, product, atol=1e-12)
    assert cross.product(select(X, []), Q).shape == (0, width)
    assert cross.rows(select(X, [])).shape == (0, cross.n_columns)


def test_many_dimensions_by_matrix_products() -> None:
    rng = np.random.default_rng(0)
    points, X = rng.normal(size=(70, 12)), rng.normal(size=(20, 12))
    X[3] += 30.0  # too far from the centre for products
    graph = lg.GaussianGraph(points, bandwidth=4.0)
    cross = cross_affinity(lg.Laplacian(graph))
    weights = gaussian(X, points, 4.0)
    expected = weights / np.sqrt(weights.sum(axis=1, keepdims=True))
    assert_allclose(cross.rows(X), expected, rtol=1e-9)
    assert_array_equal(cross.rows(X[3:4]), cross.rows(X)[3:4])


def test_points_beyond_one_tile() -> None:
    rng = np.random.default_rng(0)
    points, X, Q = rng.normal(size=(9000, 2)), rng.normal(size=(3, 2)), rng.normal(size=(9000, 2))
    cross = PointCross(loop_weight=0.0, centre=np.zeros(2), bandwidth=2.0, coordinates=points / 2)
    weights = gaussian(X, points, 2.0)
    expected = weights @ Q / np.sqrt(weights.sum(axis=1, keepdims=True))
    assert_allclose(cross.product(X, Q), expected, rtol=1e-10, atol=1e-10)
