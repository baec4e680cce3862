"""Nearest neighbours of new points."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from lowrankgcn import AdjacencyGraph
from lowrankgcn.graphs.neighbours import NearestNeighbours


def neighbours(points: Any, count: int, weights: Any = "self-tuning") -> NearestNeighbours:
    return NearestNeighbours.from_points(np.asarray(points, float), count, weights)[0]


def test_graphs_keep_their_neighbours() -> None:
    points = np.random.default_rng(0).normal(size=(30, 3))
    near = AdjacencyGraph.knn(points, 4).neighbours
    assert near is not None
    assert (near.count, near.weights) == (4, "self-tuning")
    assert_allclose(np.ldexp(near.points, near.exponent), points)
    assert AdjacencyGraph(np.ones((2, 2))).neighbours is None
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
