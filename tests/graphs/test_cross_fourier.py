"""Cross-affinities through Fourier modes agree with exact weights to all points."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import lowrankgcn as lg
from lowrankgcn.graphs import gaussian
from lowrankgcn.graphs.cross.gaussian import FourierCross
from lowrankgcn.spectral.extension import (
    cross_affinity,
)
from tests.cross_problems import extend_eigenvectors


@cache
def fitted(smoother: Any = None, dimension: int = 2) -> tuple[lg.Laplacian, FourierCross]:
    points = np.random.default_rng(0).normal(size=(3000, dimension))
    graph = lg.GaussianGraph(points, bandwidth=1.2)
    L = lg.Laplacian(graph, smoother, tol=1e-5, method="fourier")
    loop = {None: 0.0, "identity": 1.0}.get(smoother, smoother)
    return L, FourierCross.from_sum(graph.cloud, L.affinity, L.degrees, loop)


@pytest.mark.parametrize(("smoother", "dimension"), [(None, 1), (2.5, 2), ("identity", 3)])
def test_extensions_agree_with_exact_weights(smoother: Any, dimension: int) -> None:
    L, cross = fitted(smoother, dimension)
    exact = cross_affinity(L)
    assert type(exact).__name__ == "PointCross"
    pairs = lg.eigenpairs(L, 4)
    X = np.random.default_rng(1).normal(size=(200, dimension))
    got, expected = (extend_eigenvectors(c, pairs, X) for c in (cross, exact))
    sizes = np.linalg.norm(expected, axis=1)
    assert (np.linalg.norm(got - expected, axis=1) <= 1e-3 * sizes).all()


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


def test_no_affinity_at_large_distances() -> None:
    _, cross = fitted("identity")
    Q = np.ones((cross.n_columns, 2))
    for far in (1e3, 1e100, 1e308):
        X = np.array([[far, -far], [0.5, 0.5]])
        rows = cross.product(X, Q)
        assert not rows[0].any()
        assert rows[1].any()


def test_rows_are_independent_of_other_rows() -> None:
    """Sums may be taken in another order: results agree to 1e-12 of the largest."""
    _, cross = fitted("identity")
    X = 2.5 * np.random.default_rng(2).normal(size=(20_000, 2))  # near and far
    Q = np.random.default_rng(0).normal(size=(cross.n_columns, 3))
    product = cross.product(X, Q)
    for part in ([0], [299], [77, 3], np.arange(60, 250)):
        tiny = 1e-12 * np.abs(product).max()
        assert_allclose(cross.product(X[part], Q), product[part], rtol=1e-12, atol=tiny)
    assert cross.product(X[:0], Q).shape == (0, 3)


def test_wrong_number_of_columns() -> None:
    with pytest.raises(ValueError, match="X: expected 2 columns"):
        fitted()[1].product(np.ones((2, 3)), np.ones((fitted()[1].n_columns, 1)))


def test_graph_without_edges() -> None:
    graph = lg.GaussianGraph(np.arange(60)[:, None] * 100.0, bandwidth=1.0)
    near = lg.GaussianGraph(np.arange(60)[:, None] * 0.01, bandwidth=1.0)
    affinity = near.affinity(method="fourier")
    isolated = replace(affinity, degrees=np.zeros(60))
    cross = FourierCross.from_sum(graph.cloud, isolated, np.ones(60), 1.0)
    assert cross.least_degree == 0.5


def test_large_graphs_keep_no_points(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    """Fit, save and restore a classifier of more points than are kept."""
    monkeypatch.setattr(gaussian, "_KEPT_POINTS", 2000)
    spiral = lg.datasets.load_spiral(500, random_state=0)
    y = np.full(2500, -1)
    y[::40] = spiral.target[::40]
    classifier = lg.GCNClassifier(
        architecture="reduced", graph="gaussian", n_restarts=2, max_iter=100, random_state=0
    )
    classifier.fit(spiral.data, y)
    later = lg.datasets.load_spiral(40, random_state=1)
    shares = classifier.predict_proba(later.data)
    assert (shares.argmax(axis=1) == later.target).mean() > 0.9
    assert classifier.laplacian_.affinity.method == "fourier"
    lg.save(classifier, tmp_path / "model", fitted_rows=False)
    restored = lg.load(tmp_path / "model")
    assert_allclose(restored.predict_proba(later.data), shares, rtol=1e-12)
