"""Gaussian graphs: weights, components and bandwidths against the dense oracle."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import pdist

from lowrankgcn import GaussianGraph
from tests.support.cases import strategies
from tests.support.contracts.graph_contract import check_components, check_graph
from tests.support.contracts.operator_contract import block
from tests.support.oracles import reference

REACH = 27.29  # bandwidths within which a weight is positive in double precision


def check(points: np.ndarray, bandwidth: float) -> None:
    adjacency = reference.gaussian_adjacency(points, bandwidth)
    check_graph(GaussianGraph(points, bandwidth), adjacency, np.zeros(len(points)))


@given(problem=strategies.gaussian_problems())
def test_moderate_graphs(problem: Any) -> None:
    check(*problem)


@given(problem=strategies.gaussian_problems(extreme=True))
def test_extreme_graphs(problem: Any) -> None:
    check(*problem)


@given(points=strategies.point_clouds(outliers=False), exponent=st.sampled_from([-200, -6, 6, 150]))
def test_huge_and_tiny_bandwidths(points: np.ndarray, exponent: int) -> None:
    check(points, 10.0**exponent)


@given(problem=strategies.gaussian_problems(extreme=True), data=st.data())
def test_order_of_points_does_not_matter(problem: Any, data: st.DataObject) -> None:
    points, bandwidth = problem
    order = np.array(data.draw(st.permutations(range(len(points)))))
    graph = GaussianGraph(points, bandwidth)
    shuffled = GaussianGraph(points[order], bandwidth)
    # Components are numbered anew, but join the same nodes.
    same = graph.components[:, None] == graph.components
    assert_array_equal(shuffled.components[:, None] == shuffled.components, same[order][:, order])
    assert_allclose(
        shuffled.affinity().degrees, graph.affinity().degrees[order], rtol=1e-10, atol=0
    )


def test_weights_vanish_beyond_reach() -> None:
    graph = GaussianGraph([[0.0], [2 * REACH]], bandwidth=2.0)
    assert graph.n_components == 1
    assert graph.affinity().degrees.min() > 0
    beyond = GaussianGraph([[0.0], [2 * REACH + 0.05]], bandwidth=2.0)
    assert beyond.isolated.all()


# --- components of thousands of points ----------------------------------------------------------


def clusters(sizes: list[int], gap: float, dimension: int) -> np.ndarray:
    """Round clusters of diameter one along a line, `gap` between their borders."""
    points = []
    for number, size in enumerate(sizes):
        offsets = block(size, dimension, seed=number)
        offsets /= 2 * np.linalg.norm(offsets, axis=1, keepdims=True)
        offsets[:, 0] = np.clip(offsets[:, 0], -0.5, 0.5) + number * (1 + gap)
        points.append(offsets)
    return np.concatenate(points)


@pytest.mark.parametrize(
    ("dimension", "gap", "joined"), [(2, 20.0, True), (1, 28.0, False), (10, 28.0, False)]
)
def test_components_of_clusters(dimension: int, gap: float, joined: bool) -> None:
    # Sizes around the thresholds of the search: 16 neighbours, components of 1000.
    sizes = [1, 2, 15, 16, 17, 40, 1001, 3, 1100]
    points = clusters(sizes, gap, dimension)
    order = np.random.default_rng(0).permutation(len(points))
    graph = GaussianGraph(points[order], bandwidth=1.0)
    assert graph.n_components == (1 if joined else len(sizes))
    check_components(graph, reference.gaussian_adjacency(points[order], 1.0))


def test_chain_of_points_each_within_reach() -> None:
    points = np.arange(3000)[:, None] * 20.0
    points[1500:] += 30.0  # broken once
    order = np.random.default_rng(1).permutation(3000)
    graph = GaussianGraph(points[order], bandwidth=1.0)
    assert graph.n_components == 2
    assert_array_equal(graph.components, reference.components(_neighbours(points[order])))
    assert not graph.isolated.any()


def _neighbours(points: np.ndarray) -> np.ndarray:
    return (np.abs(points - points.T) < REACH) & (points != points.T)


def test_bridges_between_large_clusters() -> None:
    # Two dense clusters and a chain between them: the nearest neighbours are in the same cluster.
    left, right = block(1200, 2), block(1300, 2, seed=1) + np.array([200.0, 0.0])
    chain = np.stack([np.linspace(10, 190, 10), np.zeros(10)], axis=1)
    points = np.concatenate([left, right, chain])
    assert GaussianGraph(points, bandwidth=1.0).n_components == 1
    broken = np.delete(points, 2505, axis=0)
    assert GaussianGraph(broken, bandwidth=1.0).n_components == 2
    without = GaussianGraph(points[:2500], bandwidth=1.0)
    check_components(without, reference.gaussian_adjacency(points[:2500], 1.0))


def test_many_copies_of_few_points() -> None:
    points = np.repeat([[0.0], [20.0], [100.0]], 1000, axis=0)
    graph = GaussianGraph(points, bandwidth=1.0)
    assert_array_equal(graph.components, np.repeat([0, 0, 1], 1000))
    assert not graph.isolated.any()
    single = GaussianGraph([[5.0, 5.0]] * 2100, bandwidth=1e-200)
    assert single.n_components == 1


def test_every_point_isolated() -> None:
    graph = GaussianGraph(np.arange(2500)[:, None] * 1e3, bandwidth=1.0)
    assert_array_equal(graph.components, np.arange(2500))
    assert graph.isolated.all()
    assert graph.affinity().method == "split"
    assert not graph.affinity().degrees.any()


# --- the bandwidth rule -------------------------------------------------------------------------


def test_automatic_bandwidth_is_half_the_median_distance() -> None:
    points = block(60, 3)
    assert GaussianGraph(points).bandwidth == pytest.approx(np.median(pdist(points)) / 2)
    assert GaussianGraph(points, "auto").bandwidth == GaussianGraph(points).bandwidth


def test_automatic_bandwidth_of_duplicates() -> None:
    points = np.zeros((10, 1))
    points[:2] = 3.0  # the median distance is zero, the mean of the positive ones 3
    assert GaussianGraph(points).bandwidth == pytest.approx(1.5)
    assert GaussianGraph(np.ones((4, 2))).bandwidth == 1.0
    assert GaussianGraph([[7.0]]).bandwidth == 1.0


@pytest.mark.parametrize("scale", [1e-300, 1e300])
def test_automatic_bandwidth_at_any_scale(scale: float) -> None:
    points = block(50, 2)
    expected = GaussianGraph(points).bandwidth
    graph = GaussianGraph(points * scale)
    assert graph.bandwidth / scale == pytest.approx(expected)
    check_graph(graph, reference.gaussian_adjacency(points, expected), np.zeros(50))


def test_automatic_bandwidth_of_many_points_depends_on_the_seed() -> None:
    points = block(3000, 2)
    first = GaussianGraph(points, random_state=1).bandwidth
    assert first == GaussianGraph(points, random_state=1).bandwidth
    assert first != GaussianGraph(points, random_state=2).bandwidth
    assert first == pytest.approx(np.median(pdist(points)) / 2, rel=0.05)


# --- input -------------------------------------------------------------------


def test_forms_of_the_same_points() -> None:
    points = np.round(block(9, 2), 2).astype(np.float32).astype(np.float64)
    for given_as in (
        np.ndarray.tolist,
        np.asfortranarray,
        pd.DataFrame,
        lambda points: points.astype(np.float32),
        lambda points: np.repeat(points, 2, axis=0)[::2],
    ):
        graph = GaussianGraph(given_as(points), 1.5)
        check_graph(graph, reference.gaussian_adjacency(points, 1.5), np.zeros(9))


def test_whole_numbers_and_booleans() -> None:
    check_graph(
        GaussianGraph([[0, 1], [1, 1], [3, 0]], 2),
        reference.gaussian_adjacency([[0, 1], [1, 1], [3, 0]], 2.0),
        np.zeros(3),
    )
    mask = np.array([[True, False], [False, False]])
    assert_allclose(GaussianGraph(mask, 1.0).affinity().degrees, np.exp(-1.0))


def test_points_are_a_read_only_view() -> None:
    points = block(2100, 2)
    before = points.copy()
    graph = GaussianGraph(points)
    for method in ("low-rank", "fourier", "blocks"):
        graph.affinity(tol=1e-3, method=method)
    graph.components  # noqa: B018 (computed for its side effects, if any)
    assert_array_equal(points, before)
    assert points.flags.writeable
    assert not graph.points.flags.writeable
    assert np.shares_memory(graph.points, points)


def test_method_and_tolerance_are_passed_on() -> None:
    points = np.random.default_rng(0).random((2100, 2))
    for method in ("low-rank", "fourier", "split", "blocks", "dense", "auto"):
        bandwidth = 0.3 if method == "low-rank" else 0.05
        affinity = GaussianGraph(points, bandwidth).affinity(tol=1e-5, method=method)
        assert affinity.method == method or method == "auto"
        assert affinity.error <= 1e-5


def test_seed_is_passed_on() -> None:
    points = block(6100, 2)
    landmarks = [
        GaussianGraph(points, 2.0, random_state=seed).affinity(tol=1e-3).operator.factor.landmarks
        for seed in (0, 0, 1)
    ]
    assert_array_equal(landmarks[0], landmarks[1])
    assert landmarks[0].shape != landmarks[2].shape or (landmarks[0] != landmarks[2]).any()


def test_the_least_distance_has_half_a_bandwidth() -> None:
    """Half of the smallest positive number would be zero."""
    graph = GaussianGraph([[5e-324], [0.0]])
    assert graph.bandwidth == 5e-324
    assert_allclose(graph.affinity().degrees, np.exp(-1.0))
