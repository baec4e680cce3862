"""Landmark factors: the factor contract, K ≈ F Fᵀ to the pivot tolerance, and where pivots go."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.linalg as la
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from lowrankgcn.operators.gaussian_sums import PointCloud
from lowrankgcn.operators.landmarks import LandmarkFactor, greedy_landmarks
from tests.support.cases import strategies
from tests.support.contracts.operator_contract import FactorContract, block, check_factor, close
from tests.support.oracles import reference


def kernel(cloud: PointCloud) -> np.ndarray:
    """K with its unit diagonal, by the oracle."""
    return reference.gaussian_adjacency(cloud.coordinates, 1.0) + np.eye(cloud.n)


def dense_factor(cloud: PointCloud, landmarks: np.ndarray) -> np.ndarray:
    """C R^-T with K(P, P) = R R^T, by triangular substitution."""
    m = len(landmarks)
    between = reference.gaussian_adjacency(landmarks, 1.0)
    root = np.linalg.cholesky(between + (1 + 1e-14 * m) * np.eye(m))
    C = np.exp(-((cloud.coordinates[:, None] - landmarks[None]) ** 2).sum(axis=2))
    return la.solve_triangular(root, C.T, lower=True).T


def random_landmarks(cloud: PointCloud, count: int, random_state: int = 0) -> np.ndarray:
    rows = np.random.default_rng(random_state).choice(cloud.n, min(count, cloud.n), replace=False)
    return cloud.coordinates[rows]


def greedy_factor(cloud: PointCloud, tol: float, limit: int = 500) -> LandmarkFactor:
    landmarks = greedy_landmarks(cloud, tol=tol, limit=limit)
    assert landmarks is not None
    return LandmarkFactor.from_landmarks(cloud, landmarks)


CASES = {
    "ten dimensions": (block(20, 10), 2.0),
    "duplicates and an isolated point": (np.array([[0.0], [1.0], [1.0], [1e3]]), 1.0),
    "several chunks": (block(2500, 2), 1.0),
}


class TestLandmarkFactor(FactorContract):
    tolerance = 1e-10  # the inverse of the landmark kernel's root amplifies rounding

    @pytest.fixture(params=CASES)
    def case(self, request: pytest.FixtureRequest) -> tuple[LandmarkFactor, np.ndarray]:
        points, bandwidth = CASES[request.param]
        factor = greedy_factor(PointCloud.from_points(points, bandwidth), 1e-4)
        return factor, dense_factor(factor.cloud, factor.landmarks)


class TestSinglePrecision(FactorContract):
    """Kernel values in float32: good to the tolerance that allowed them, sums still float64."""

    tolerance = 1e-4

    @pytest.fixture(params=["ten dimensions", "several chunks"])
    def case(self, request: pytest.FixtureRequest) -> tuple[LandmarkFactor, np.ndarray]:
        points, bandwidth = CASES[request.param]
        cloud = PointCloud.from_points(points, bandwidth)
        landmarks = greedy_landmarks(cloud, tol=1e-2, limit=500)
        assert landmarks is not None
        factor = LandmarkFactor.from_landmarks(cloud, landmarks, tol=1e-2)
        assert factor.dtype == np.float32
        return factor, dense_factor(cloud, landmarks)


@settings(max_examples=20)
@given(problem=strategies.gaussian_problems(), tol=st.sampled_from([1e-1, 1e-4, 1e-8]))
def test_residual_of_small_clouds(problem: Any, tol: float) -> None:
    factor = greedy_factor(PointCloud.from_points(*problem), tol)
    F = factor.to_dense()
    residual = kernel(factor.cloud) - F @ F.T
    assert np.diag(residual).max() <= tol + 1e-12
    # A Schur complement: positive semidefinite, so no entry exceeds the diagonal.
    assert np.linalg.eigvalsh(residual).min() >= -1e-11
    check_factor(factor, F, tolerance=max(1e-10, 1e-16 / tol))


@pytest.mark.parametrize(("dimension", "tol"), [(1, 1e-8), (2, 1e-5), (3, 1e-2), (3, 1e-8)])
def test_residual_of_thousands_of_points(dimension: int, tol: float) -> None:
    # More points than the subsample: the others are tried too, a clump of seven included.
    points = block(2600, dimension)
    points[:7] = 4.0 + 0.01 * points[:7]
    factor = greedy_factor(PointCloud.from_points(points, 2.5), tol, limit=1000)
    assert (1 - (factor.to_dense() ** 2).sum(axis=1)).max() <= 1.01 * tol + 1e-11
    assert factor.shape[1] < 700


def test_rare_duplicates_are_found() -> None:
    # 400 distinct points, most of them frequent, some so rare that a subsample may miss them.
    distinct = block(400, 3)
    visits = np.random.default_rng(0).zipf(1.3, size=3000) % 400
    factor = greedy_factor(PointCloud.from_points(distinct[visits], 0.3), 1e-6)
    assert (1 - (factor.to_dense() ** 2).sum(axis=1)).max() <= 1e-6


def test_limit() -> None:
    cloud = PointCloud.from_points(block(50, 2), 0.01)
    assert greedy_landmarks(cloud, tol=1e-2, limit=49) is None
    landmarks = greedy_landmarks(cloud, tol=1e-2, limit=50)
    assert landmarks is not None
    assert len(landmarks) == 50
    assert len(np.unique(landmarks, axis=0)) == 50


def test_one_landmark_for_identical_points() -> None:
    cloud = PointCloud.from_points(np.full((1500, 2), 3.0), 1.0)
    landmarks = greedy_landmarks(cloud, tol=1e-10, limit=5)
    assert landmarks is not None
    assert landmarks.shape == (1, 2)


def test_landmarks_are_points_and_repeat_with_the_seed() -> None:
    cloud = PointCloud.from_points(block(6100, 2), 1.0)  # landmarks are sought in a sample
    rows = {tuple(row) for row in cloud.coordinates}
    for draw in (
        lambda seed: greedy_landmarks(cloud, tol=1e-3, limit=300, random_state=seed),
        lambda seed: random_landmarks(cloud, 300, random_state=seed),
    ):
        first, again, other = draw(0), draw(0), draw(1)
        assert_array_equal(first, again)
        assert first.shape != other.shape or (first != other).any()
        assert {tuple(row) for row in first} <= rows


def test_random_landmarks_are_at_most_all_points() -> None:
    cloud = PointCloud.from_points(block(20, 12), 1.0)
    landmarks = random_landmarks(cloud, 500)
    assert sorted(map(tuple, landmarks)) == sorted(map(tuple, cloud.coordinates))
    F = LandmarkFactor.from_landmarks(cloud, landmarks).to_dense()
    close(F @ F.T, kernel(cloud), 1e-12)


def test_repeated_landmarks_do_no_harm() -> None:
    cloud = PointCloud.from_points(np.repeat(block(5, 11), 6, axis=0), 1.0)
    F = LandmarkFactor.from_landmarks(cloud, random_landmarks(cloud, 30)).to_dense()
    close(F @ F.T, kernel(cloud), 1e-10)


def test_far_from_the_centre() -> None:
    # Squared radius beyond both limits of the one matrix product: coordinate differences.
    points = 5 * block(60, 2)
    points[0] += 4e3
    for tol in (1e-2, 1e-7):
        cloud = PointCloud.from_points(points, 1.0)
        landmarks = greedy_landmarks(cloud, tol=tol, limit=60)
        assert landmarks is not None
        factor = LandmarkFactor.from_landmarks(cloud, landmarks, tol=tol)
        products = factor @ factor.transpose_product(np.eye(60))
        close(products, kernel(cloud), 1e-4 if factor.dtype == np.float32 else 2 * tol)


def test_kept_and_repeated_kernel_values_agree(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cloud = PointCloud.from_points(block(2600, 2), 1.0)
    landmarks = random_landmarks(cloud, 40)
    X, V = block(2600, 3), block(40, 3)
    results = []
    for cache, threads in ((2**28, "1"), (2**28, "2"), (0, "1"), (0, "2")):
        monkeypatch.setattr("lowrankgcn.operators.landmarks._KEPT_BYTES", cache)
        monkeypatch.setenv("LOWRANKGCN_NUM_THREADS", threads)
        factor = LandmarkFactor.from_landmarks(cloud, landmarks)
        for _ in range(2):  # evaluated, then perhaps remembered
            results.append(
                (factor @ V, factor.transpose_product(X), factor.gram(X[:, 0]), factor.gram())
            )
        results[-1] += ((factor.to_dense() ** 2).sum(axis=1),)
    for result in results:
        for one, other in zip(result, results[1], strict=False):
            close(one, other)
