"""Nearest neighbours compared with all distances in double precision."""

from __future__ import annotations

from typing import Any

import faiss
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist

from lowrankgcn import AdjacencyGraph
from lowrankgcn.graphs import search as module
from lowrankgcn.graphs.search import NeighbourSearch

# Single precision may choose among distances that differ by less.
RTOL = 1e-3


def check(points: np.ndarray, count: int, rows: np.ndarray | None = None, **options: Any) -> None:
    """Compare neighbours of the points, or of new rows, with all distances."""
    if options:
        search = NeighbourSearch(points, count, **options)
    else:
        search, recall = NeighbourSearch.tuned(points, count, seed=0)
        assert recall == 1.0
    if rows is None:
        distances, neighbours = search.query(points, np.arange(len(points)))
        expected = cdist(points, points)
        assert (neighbours != np.arange(len(points))[:, None]).all()
        everything = expected.copy()
        np.fill_diagonal(expected, np.inf)
    else:
        distances, neighbours = search.query(rows)
        everything = expected = cdist(rows, points)
    assert_allclose(distances, np.sort(expected, axis=1)[:, :count], rtol=RTOL)
    found = np.take_along_axis(everything, neighbours, axis=1)
    assert_allclose(distances, found, rtol=1e-12)
    assert all(len(set(row)) == count for row in neighbours.tolist())


@st.composite
def clouds(draw: Any) -> np.ndarray:
    """Clusters of any width, copies, constant columns, offsets and outliers; 2..60 rows."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n, d = draw(st.integers(2, 60)), draw(st.integers(1, 7))
    scales = st.sampled_from([1e-9, 1e-6, 1e-3, 1e-2, 0.1, 1.0, 1e3])
    centres = rng.normal(size=(draw(st.integers(1, 4)), d))
    points = centres[rng.integers(len(centres), size=n)] + draw(scales) * rng.normal(size=(n, d))
    points *= 10.0 ** draw(st.sampled_from([-100, -8, 0, 8]))
    if draw(st.booleans()):
        points = np.repeat(points[: -(-n // 5)], 5, axis=0)[:n]
    if draw(st.booleans()):
        points[:, 0] = draw(st.sampled_from([0.0, 1.0]))
    if draw(st.booleans()):
        points += 1e4 * np.abs(points).max()
    if draw(st.booleans()):
        points[0] += draw(st.sampled_from([1e3, 1e20, 1e40])) * np.abs(points).max()
    return points


@given(clouds(), st.integers(1, 70), st.data())
@settings(max_examples=max(40, settings().max_examples), deadline=None)
def test_every_cloud(points: np.ndarray, count: int, data: Any) -> None:
    count = min(count, len(points) - 1)
    check(points, count)
    factor = data.draw(st.sampled_from([0.5, 1.0, 100.0]))
    check(points, count, factor * points[::-2])


@pytest.mark.parametrize("width", [1e-9, 1e-3, 1.0])
def test_narrow_clusters(width: float) -> None:
    # 4500 rows of 30 columns: FAISS multiplies matrices, whose rounding hides small distances.
    rng = np.random.default_rng(0)
    centres = 3.0 + rng.normal(size=(5, 30))
    points = centres[np.arange(4500) % 5] + width * rng.normal(size=(4500, 30))
    check(points, 4)
    check(points, 4, points[:500] + width)


def test_coordinates_beyond_single_precision() -> None:
    rng = np.random.default_rng(0)
    half = rng.normal(size=(20, 6))
    points = np.concatenate([half, -half, 1e-25 * rng.normal(size=(19, 6))])
    check(points, 3)  # the median is among the small ones
    points[:12] = np.outer(1e20 * (1.0 + 0.1 * np.arange(12)), np.eye(6)[0])
    check(points, 1)


def test_many_copies() -> None:
    points = np.repeat(np.eye(5), 400, axis=0)
    for count in (1, 3, 399, 401):
        check(points, count)
        check(points, count, np.eye(5) / 2)
    assert len(NeighbourSearch(points, 3, probes=0, seed=0)._points) == 5 * 4


@pytest.mark.parametrize("dimension", [2, 6])
def test_rows_far_away(dimension: int) -> None:
    points = np.random.default_rng(0).normal(size=(40, dimension))
    rows = np.eye(dimension)[:2] * np.array([[1e17], [-1e150]])
    check(points, 3, rows)
    # The direction decides while the distances differ in double precision.
    _, neighbours = NeighbourSearch(points, 1, probes=0, seed=0).query(1e3 * np.eye(dimension)[:1])
    assert neighbours[0, 0] == points[:, 0].argmax()


@pytest.mark.parametrize("dimension", [2, 6])
def test_no_rows(dimension: int) -> None:
    search = NeighbourSearch(np.eye(dimension), 1, probes=0, seed=0)
    distances, neighbours = search.query(np.zeros((0, dimension)))
    assert distances.shape == neighbours.shape == (0, 1)


def test_lists_with_too_few_points() -> None:
    points = np.random.default_rng(0).normal(size=(7000, 4))
    search = NeighbourSearch(points, 500, probes=1, seed=0)
    distances, _ = search.query(points[:20])
    assert_allclose(distances, np.sort(cdist(points[:20], points), axis=1)[:, :500], rtol=1e-9)


@pytest.fixture
def lists(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_EXACT", 1000)


@pytest.mark.usefixtures("lists")
@pytest.mark.parametrize(("dimension", "most"), [(4, 12), (8, 100)])
def test_recall(dimension: int, most: int) -> None:
    points = np.random.default_rng(0).normal(size=(20_000, dimension))
    points[:3000] = points[0]  # copies
    search, recall = NeighbourSearch.tuned(points, 10, seed=1)
    assert 12 <= search.probes <= most
    distances, neighbours = search.query(points, np.arange(len(points)))
    rows = np.arange(0, len(points), 20)
    everything = cdist(points[rows], points)
    everything[np.arange(len(rows)), rows] = np.inf
    farthest = np.partition(everything, 9, axis=1)[:, 9:10]
    share = np.mean(distances[rows] <= farthest * (1 + 1e-9))
    assert abs(share - recall) < 0.05
    assert min(share, recall) > 0.88
    assert_allclose(distances[:3000], 0)
    again, same = NeighbourSearch.tuned(points, 10, seed=1)
    assert same == recall
    assert_array_equal(again.query(points[rows], rows)[1], neighbours[rows])


@pytest.mark.usefixtures("lists")
def test_all_distances_if_lists_do_not_help() -> None:
    points = np.random.default_rng(0).normal(size=(7000, 60))
    search, recall = NeighbourSearch.tuned(points, 5, seed=0)
    assert (search.probes, recall) == (0, 1.0)
    assert NeighbourSearch.tuned(points, 2000, seed=0)[0].probes == 0


@pytest.mark.usefixtures("lists")
def test_copies_do_not_fill_lists() -> None:
    check(np.repeat(np.random.default_rng(0).normal(size=(150, 5)), 20, axis=0), 2)
    check(np.ones((2000, 5)), 2)


@pytest.mark.parametrize("dimension", [2, 20])
def test_threads_change_nothing(dimension: int, monkeypatch: pytest.MonkeyPatch) -> None:
    points = np.random.default_rng(0).normal(size=(7000, dimension))
    results = []
    before = faiss.omp_get_max_threads()
    try:
        faiss.omp_set_num_threads(3)
        for threads in ("1", "3"):
            monkeypatch.setenv("LOWRANKGCN_NUM_THREADS", threads)
            results.append(AdjacencyGraph.knn(points, 5).adjacency)
            AdjacencyGraph.knn(points[:50], 5)
            assert faiss.omp_get_max_threads() == 3
    finally:
        faiss.omp_set_num_threads(before)
    assert_array_equal(results[0].indices, results[1].indices)
    assert_allclose(results[0].data, results[1].data)
