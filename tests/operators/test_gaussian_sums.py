"""Exact Gaussian products against the oracle, at every scale and over several tiles."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from lowrankgcn.operators.gaussian_sums import (
    EDGE_RADIUS,
    GaussianBlocks,
    PointCloud,
    gaussian_kernel,
)
from tests.support.cases import strategies
from tests.support.contracts.operator_contract import OperatorContract, block, check_operator, close
from tests.support.oracles import reference

FAR = np.array([[0.0, 0.0], [1.0, 0.5], [1.0, 0.5], [26.0, 0.0], [1e3, -1e3]])
CLOUDS = {
    "ten dimensions": (block(8, 10), 3.0),
    "far apart, with duplicates": (FAR, 1.0),
    "away from the origin": (block(7, 2) + 1e6, 1.0),
}


class TestGaussianBlocks(OperatorContract):
    @pytest.fixture(params=CLOUDS)
    def case(self, request: pytest.FixtureRequest) -> tuple[GaussianBlocks, np.ndarray]:
        points, bandwidth = CLOUDS[request.param]
        blocks = GaussianBlocks(PointCloud.from_points(points, bandwidth))
        return blocks, reference.gaussian_adjacency(points, bandwidth)


@settings(max_examples=20)
@given(problem=strategies.gaussian_problems(extreme=True))
def test_blocks_are_the_oracle_at_any_scale(problem: Any) -> None:
    points, bandwidth = problem
    blocks = GaussianBlocks(PointCloud.from_points(points, bandwidth))
    check_operator(blocks, reference.gaussian_adjacency(points, bandwidth), tolerance=1e-10)


@pytest.mark.parametrize(("dimension", "spread"), [(3, 12.0), (10, 1.0)])
def test_several_tiles(dimension: int, spread: float) -> None:
    points = spread * block(2100, dimension, seed=dimension)
    W = reference.gaussian_adjacency(points, 2.0)
    blocks = GaussianBlocks(PointCloud.from_points(points, 2.0))
    X = block(2100, 3, seed=1)
    close(blocks @ X, W @ X)
    rows = np.array([2099, 0, 511, 512, 2047, 2048, 0])
    close(blocks.rows(rows, X), (W @ X)[rows])
    dense = blocks.to_dense()
    close(dense, W)
    assert_array_equal(dense, dense.T)


def test_weights_keep_their_relative_accuracy() -> None:
    # The degree of an outlier is all it has: 1e-300 must not drown in the rounding of 1.
    points = np.array([[0.0], [0.1], [26.2], [-20.0]])
    blocks = GaussianBlocks(PointCloud.from_points(points, 1.0))
    W = reference.gaussian_adjacency(points, 1.0)
    assert_allclose(blocks @ np.ones(4), W.sum(axis=1), rtol=1e-11)
    assert_allclose(blocks.to_dense(), W, rtol=1e-11)


def test_edge_radius_is_where_weights_vanish() -> None:
    assert np.exp(-(EDGE_RADIUS**2)) > 0
    assert np.exp(-((1.0001 * EDGE_RADIUS) ** 2)) == 0


@given(
    problem=strategies.gaussian_problems(), scale=st.sampled_from([1e-250, 1e-160, 1e160, 1e250])
)
def test_units_do_not_matter(problem: Any, scale: float) -> None:
    points, bandwidth = problem
    there = PointCloud.from_points(points * scale, bandwidth * scale)
    W = reference.gaussian_adjacency(points, bandwidth)
    close(GaussianBlocks(there).to_dense(), W, 1e-10)


def test_largest_and_smallest_numbers() -> None:
    largest = sys.float_info.max
    for bandwidth in (largest, 1.0, sys.float_info.min, 5e-324):
        cloud = PointCloud.from_points(np.array([[-largest], [0.0], [largest]]), bandwidth)
        assert np.isfinite(cloud.coordinates).all()
        assert np.isfinite(GaussianBlocks(cloud).to_dense()).all()


def test_cloud_describes_the_points() -> None:
    points = np.array([[1.0, 2.0], [3.0, 10.0], [2.0, 2.0]])
    cloud = PointCloud.from_points(points, 2.0)
    assert (cloud.n, cloud.dimension) == (3, 2)
    assert_allclose(cloud.extent, [1.0, 4.0])
    assert_allclose(cloud.coordinates * 2.0 + cloud.centre, points)
    assert_allclose(cloud.squared_radius, (cloud.coordinates**2).sum(axis=1).max())


def test_kernel_between_two_sets() -> None:
    X, Y = block(5, 3), block(4, 3, seed=1)
    expected = np.exp(-((X[:, None] - Y[None]) ** 2).sum(axis=2))
    for dtype, tolerance in ((np.float64, 1e-14), (np.float32, 1e-6)):
        for cancel in (False, True):
            kernel = gaussian_kernel(X, Y, dtype=dtype, cancel=cancel)
            assert kernel.dtype == dtype
            assert_allclose(kernel, expected, atol=tolerance)


def test_points_stay_untouched() -> None:
    points = block(600, 2)
    before = points.copy()
    points.flags.writeable = False
    blocks = GaussianBlocks(PointCloud.from_points(points, 1.0))
    blocks @ np.ones(600)
    assert_array_equal(points, before)


def test_number_of_threads_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    points, X = 3 * block(2100, 3), block(2100, 2, seed=1)
    results = []
    for threads in ("1", "2"):
        monkeypatch.setenv("LOWRANKGCN_NUM_THREADS", threads)
        blocks = GaussianBlocks(PointCloud.from_points(points, 1.0))
        results.append((blocks @ X, blocks.rows(np.arange(50), X)))
    for one, two in zip(*results, strict=True):
        close(one, two)
