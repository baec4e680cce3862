"""New points through Fourier modes: as with all fitted points, whose place a few arrays take."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import lowrankgcn as lg
from lowrankgcn.spectral.extension import (
    build,
    compress_eigenvectors,
    cross_affinity,
    extend_eigenvectors,
)
from lowrankgcn.spectral.extension.fourier import FourierCross


@cache
def fitted(smoother: Any = None, dimension: int = 2) -> tuple[lg.Laplacian, FourierCross]:
    points = np.random.default_rng(0).normal(size=(3000, dimension))
    graph = lg.GaussianGraph(points, bandwidth=1.2)
    L = lg.Laplacian(graph, smoother, tol=1e-5, method="fourier")
    return L, FourierCross.from_laplacian(L, {None: 0.0, "identity": 1.0}.get(smoother, smoother))


@pytest.mark.parametrize("dimension", [1, 2, 3])
@pytest.mark.parametrize("smoother", [None, "identity", 2.5])
def test_as_exact_weights_to_all_points(smoother: Any, dimension: int) -> None:
    L, cross = fitted(smoother, dimension)
    exact = cross_affinity(L)
    assert exact.kind == "points"
    pairs = lg.eigenpairs(L, 4)
    X = np.random.default_rng(1).normal(size=(200, dimension))
    got, expected = (extend_eigenvectors(c, pairs, X) for c in (cross, exact))
    sizes = np.linalg.norm(expected, axis=1)
    assert (np.linalg.norm(got - expected, axis=1) <= 1e-3 * sizes).all()
    Q = compress_eigenvectors(cross, pairs)
    assert_allclose(cross.rows(X) @ Q, got, atol=1e-4 * sizes.max())


def test_far_points_keep_direction_and_lose_size() -> None:
    L, cross = fitted()
    pairs, exact = lg.eigenpairs(L, 4), cross_affinity(L)
    angles = np.linspace(0, 2 * np.pi, 40)
    circle = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    for radius in (4.5, 6.0, 10.0, 25.0):
        got, expected = (extend_eigenvectors(c, pairs, radius * circle) for c in (cross, exact))
        sizes = np.linalg.norm(expected, axis=1)
        assert (np.linalg.norm(got, axis=1) <= 1.05 * sizes).all()
        assert (np.einsum("ij,ij->i", got, expected) > 0).all()


@pytest.mark.parametrize("far", [1e3, 1e100, 1e308])
def test_no_affinity_beyond_the_last_edge(far: float) -> None:
    _, cross = fitted("identity")
    X = np.array([[far, -far], [0.5, 0.5]])
    rows = cross.rows(X)
    assert not rows[0].any()
    assert rows[1].any()
    product = cross.product(X, np.ones((cross.n_columns, 2)))
    assert not product[0].any()


def test_rows_do_not_depend_on_their_company() -> None:
    _, cross = fitted("identity")
    X = 2.5 * np.random.default_rng(2).normal(size=(20_000, 2))  # near and far
    Q = np.random.default_rng(0).normal(size=(cross.n_columns, 3))
    product, rows = cross.product(X, Q), cross.rows(X[:300])
    for part in ([0], [299], [77, 3], np.arange(60, 250)):
        assert_array_equal(cross.product(X[part], Q), product[part])
        assert_array_equal(cross.rows(X[part]), rows[part])
    assert cross.product(X[:0], Q).shape == (0, 3)
    assert cross.rows(X[:0]).shape == (0, cross.n_columns)


def test_columns_are_chosen_and_refused_by_name() -> None:
    with pytest.raises(ValueError, match="X: expected 2 columns"):
        fitted()[1].rows(np.ones((2, 3)))


def test_large_graphs_keep_no_points(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    """A classifier of points beyond the limit is fitted, saved and restored without them."""
    monkeypatch.setattr(build, "_KEPT_POINTS", 4000)
    spiral = lg.datasets.load_spiral(2000, random_state=0)
    y = np.full(10_000, -1)
    y[::40] = spiral.target[::40]
    classifier = lg.GCNClassifier(architecture="reduced", graph="gaussian", random_state=0)
    classifier.fit(spiral.data, y)
    later = lg.datasets.load_spiral(40, random_state=1)
    shares = classifier.predict_proba(later.data)
    assert (shares.argmax(axis=1) == later.target).mean() > 0.9
    assert classifier.laplacian_.affinity.method == "fourier"
    lg.save(classifier, tmp_path / "model", fitted_rows=False)
    restored = lg.load(tmp_path / "model")
    assert_array_equal(restored.predict_proba(later.data), shares)
