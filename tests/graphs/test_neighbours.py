"""Nearest neighbours of new points."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from lowrankgcn import AdjacencyGraph
from lowrankgcn.graphs.neighbours import NearestNeighbours
from tests.support.stored.saved_examples import through_json


def neighbours(
    points: Any, count: int, weights: Any = "self-tuning", **options: Any
) -> NearestNeighbours:
    return NearestNeighbours.from_points(np.asarray(points, float), count, weights, **options)[0]


def test_graphs_keep_their_neighbours() -> None:
    points = np.random.default_rng(0).normal(size=(30, 3))
    near = AdjacencyGraph.knn(points, 4).neighbours
    assert near is not None
    assert (near.count, near.weights) == (4, "self-tuning")
    assert_allclose(np.ldexp(near.points, near.exponent), points)
    given = AdjacencyGraph(np.ones((2, 2)))
    assert given.neighbours is None
    assert given.recall is None
    everyone = AdjacencyGraph.knn(points, 99).neighbours
    assert everyone is not None
    assert everyone.count == 29


def test_weights_of_a_new_point() -> None:
    near = neighbours([[0.0], [1.0], [3.0], [7.0]], 2)  # distances to the second: 3, 2, 3, 6
    row = near.new_weights(np.array([[2.0]])).toarray()[0]
    assert_allclose(row, [0.0, np.exp(-1 / (1 * 2)), np.exp(-1 / (1 * 3)), 0.0])


@pytest.mark.parametrize("weights", ["self-tuning", "binary"])
def test_one_neighbour(weights: Any) -> None:
    rows = neighbours([[0.0], [1.0], [5.0]], 1, weights).new_weights(np.array([[4.0], [0.9]]))
    value = np.exp(-1.0 * 1.0 / (1.0 * 4.0)) if weights == "self-tuning" else 1.0
    assert_allclose(rows.toarray()[0], [0.0, 0.0, value])
    assert rows.shape == (2, 3)


def test_duplicates_join_duplicates_only() -> None:
    near = neighbours([[1.0], [1.0], [1.0], [4.0], [5.0], [6.0]], 2)
    assert near.scales[:3].tolist() == [0.0, 0.0, 0.0]
    rows = near.new_weights(np.array([[1.0], [1.5]])).toarray()
    assert sorted(rows[0].tolist()) == [0, 0, 0, 0, 1, 1]
    assert rows[0, 3:].tolist() == [0, 0, 0]
    assert not rows[1].any()  # its neighbours are joined to their copies only


def test_least_scale() -> None:
    points = np.array([[1.0], [1.0], [1.0], [4.0], [5.0], [6.0]])
    least = 0.5 * np.mean([0, 0, 0, 2, 1, 2])
    graph = AdjacencyGraph.knn(points, 2, least_scale=0.5)
    W, X = graph.adjacency.toarray(), np.array([[1.0], [1.5]])
    assert_allclose(W[:3, :3], 1 - np.eye(3))
    assert_allclose(W[3, 4], np.exp(-1 / (2 * 1)))
    assert graph.neighbours is not None
    assert_allclose(np.ldexp(graph.neighbours.least_scale, graph.neighbours.exponent), least)
    rows = graph.neighbours.new_weights(X).toarray()
    assert sorted(rows[0].tolist()) == [0, 0, 0, 0, 1, 1]
    assert_allclose(np.sort(rows[1])[-2:], np.exp(-0.25 / (0.5 * least)))


def test_least_scale_keeps_duplicates_joined() -> None:
    points = np.concatenate([np.zeros((4, 5)), np.eye(5)])  # each unit vector is next to all copies
    assert AdjacencyGraph.knn(points, 3).n_components > 1
    assert AdjacencyGraph.knn(points, 3, least_scale=0.1).n_components == 1
    assert AdjacencyGraph.knn(np.ones((6, 5)), 3, least_scale=0.1).n_components == 1


@pytest.mark.parametrize("weights", ["self-tuning", "binary"])
def test_restored_neighbours_give_the_same_weights(
    weights: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lowrankgcn.graphs.search._EXACT", 1000)
    points = np.random.default_rng(0).normal(size=(7200, 4))
    graph = AdjacencyGraph.knn(points[:7000], 5, weights=weights, least_scale=0.1, random_state=3)
    near = graph.neighbours
    assert near is not None
    assert near.probes > 0
    assert graph.recall is not None
    assert 0.9 <= graph.recall <= 1
    again = through_json(near, NearestNeighbours)
    expected = near.new_weights(points[7000:])
    rows = again.new_weights(points[7000:])
    assert_array_equal(rows.indices, expected.indices)
    assert_allclose(rows.data, expected.data)


@pytest.mark.parametrize("weights", ["self-tuning", "binary"])
def test_new_points_beside_many_points(weights: Any) -> None:
    """Most neighbours of new points are found in single precision, with their exact weights."""
    generator = np.random.default_rng(0)
    for d in (2, 8):
        points = generator.normal(size=(3200, d))
        exact, _ = NearestNeighbours.from_points(points[:3000], 5, weights)
        near = exact.compact()
        assert near.approximate and not exact.approximate and near.points.nbytes == 12_000 * d
        few, _ = NearestNeighbours.from_points(points[:1000], 5, weights)
        narrow, _ = NearestNeighbours.from_points(
            points[:3000] * 1e-6 + (points[:3000] > 0), 5, weights
        )
        assert few.compact() is few and narrow.compact() is narrow
        first, second = exact.new_weights(points[3000:]), near.new_weights(points[3000:])
        assert 0.6 <= ((first > 0).multiply(second > 0)).sum() / first.nnz <= 1
        same = np.flatnonzero(
            (abs((first > 0).astype(int) - (second > 0).astype(int))).sum(axis=1) == 0
        )
        assert len(same) > 20
        assert abs(first[same] - second[same]).max() < 1e-3
        again = through_json(near, NearestNeighbours).new_weights(points[3000:])
        assert_allclose(again.toarray(), second.toarray(), atol=1e-6)


def test_lists_of_few_points() -> None:
    """A row has fewer neighbours if its lists are short."""
    points = np.r_[np.random.default_rng(0).normal(size=(3000, 3)), np.full((4, 3), 1e4)]
    points[-4:] += np.eye(4, 3)
    near = NearestNeighbours.from_points(points, 10, "self-tuning")[0].compact()
    neighbours, weights = near.near(points[-1:] + 0.1)
    assert near.approximate and np.isfinite(weights).all() and weights.max() > 0
    assert set(neighbours[weights > 0].tolist()) <= set(range(3000, 3004))


@pytest.mark.parametrize("scale", [1e-300, 1e300])
def test_weights_depend_on_ratios_of_distances(scale: float) -> None:
    rng = np.random.default_rng(0)
    points, X = rng.integers(100, size=(20, 2)) * 1.0, rng.integers(100, size=(5, 2)) * 1.0
    expected = neighbours(points, 3).new_weights(X).toarray()
    rescaled = neighbours(points * scale, 3).new_weights(X * scale).toarray()
    assert_allclose(rescaled, expected, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("weights", ["self-tuning", "binary"])
def test_points_at_any_distance(weights: Any) -> None:
    near = neighbours([[0.0, 1e-300], [1e-300, 0.0], [1e-300, 1e-300]], 2, weights)
    row = near.new_weights(np.array([[1e308, -1e308]])).toarray()[0]
    assert sorted(row.tolist()) == ([0, 1, 1] if weights == "binary" else [0, 0, 0])
