"""Fourier sums against the dense kernel: the error is of order eps in every dimension."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from lowrankgcn.operators.gaussian_sums import GaussianFourier, PointCloud, fourier_modes
from tests.support.cases import strategies
from tests.support.contracts.operator_contract import OperatorContract, block, check_operator, close
from tests.support.each import each
from tests.support.oracles import reference

CLOUDS = {
    "space": block(40, 3),
    "identical points": np.ones((5, 2)),
    "two clusters away from the origin": block(20, 2) + np.repeat([[-1e3], [-985.0]], 10, axis=0),
}


def kernel(points: np.ndarray, bandwidth: float = 1.0) -> np.ndarray:
    return reference.gaussian_adjacency(points, bandwidth) + np.eye(len(points))


class TestGaussianFourier(OperatorContract):
    tolerance = 1e-9  # sums over some thousand modes with eps = 1e-11

    @pytest.fixture(params=CLOUDS)
    def case(self, request: pytest.FixtureRequest) -> tuple[GaussianFourier, np.ndarray]:
        points = CLOUDS[request.param]
        cloud = PointCloud.from_points(points, 1.0)
        return GaussianFourier.from_cloud(cloud, eps=1e-11), kernel(points)


@each(
    ("dimension", "extent", "eps"),
    [(1, 20.0, 1e-2), (1, 0.1, 1e-12), (2, 20.0, 1e-8), (3, 0.1, 1e-2), (3, 3.0, 1e-12)],
)
def test_error_is_of_order_eps(dimension: int, extent: float, eps: float) -> None:
    points = extent * np.random.default_rng(0).random((200, dimension))
    points[0], points[1] = 0.0, extent  # opposite corners see the periodic images best
    fourier = GaussianFourier.from_cloud(PointCloud.from_points(points, 1.0), eps=eps)
    error = np.abs(fourier @ np.eye(200, 4) - kernel(points)[:, :4]).max()
    assert error <= 3 * dimension * eps


@settings(max_examples=15)
@given(
    problem=strategies.gaussian_problems(max_nodes=8),
    dimension=st.integers(1, 3),
    eps=st.sampled_from([1e-3, 1e-9]),
)
def test_small_clouds(problem: Any, dimension: int, eps: float) -> None:
    points, bandwidth = problem
    points = points[:, :dimension]
    cloud = PointCloud.from_points(points, bandwidth)
    fourier = GaussianFourier.from_cloud(cloud, eps=eps)
    check_operator(fourier, kernel(points, bandwidth), tolerance=100 * eps)


def test_modes_grow_with_extent_and_accuracy() -> None:
    period, half = fourier_modes(np.array([0.0, 10.0, 1e3]), 1e-6)
    reach = math.sqrt(math.log(1e6))
    np.testing.assert_allclose(period, np.array([0.0, 10.0, 1e3]) + reach)
    assert_array_equal(half, np.ceil(period * reach / math.pi))
    assert (fourier_modes(np.array([10.0]), 1e-12)[1] > half[1]).all()


def test_modes_of_the_narrowest_kernels_can_be_counted() -> None:
    _, half = fourier_modes(np.array([1e140]), 1e-6)
    assert 1e140 < half[0] < 1e142


@pytest.mark.parametrize(("n", "extent"), [(300, 1.0), (70000, 0.5)])
def test_number_of_threads_does_not_matter(
    n: int, extent: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    points = extent * np.random.default_rng(0).random((n, 3))
    X = block(n, 3)
    results = []
    for threads in ("1", "4"):
        monkeypatch.setenv("LOWRANKGCN_NUM_THREADS", threads)
        fourier = GaussianFourier.from_cloud(PointCloud.from_points(points, 1.0), eps=1e-3)
        results.append(fourier @ X)
    close(*results)
    rows = np.arange(0, n, n // 50)
    exact = np.exp(-((points[rows, None] - points[None]) ** 2).sum(axis=2)) @ X
    assert np.abs(results[0][rows] - exact).max() <= 1e-3 * np.abs(X).sum(axis=0).max()
