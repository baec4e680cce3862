"""Sums over waves against the explicit matrix of cas(ω·u), in every dimension and any cut."""

from __future__ import annotations

import pickle
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from lowrankgcn.operators.fourier import FourierFactor, GaussianFourier
from lowrankgcn.operators.gaussian import PointCloud
from lowrankgcn.operators.modes import ModeGram, ModeGrid
from tests.operator_contract import block, close

ACCURATE = 1e-12


def waves(grid: ModeGrid, u: np.ndarray) -> np.ndarray:
    """cas(ω_k·u_i), one mode after the other, the last dimension fastest."""
    columns = []
    for k in product(*(range(-M, M + 1) for M in grid.half)):
        phase = ((u - grid.middle) * (2 * np.pi * np.array(k) / grid.period)).sum(axis=1)
        columns.append(np.cos(phase) + np.sin(phase))
    return np.stack(columns, axis=1)


def small_grid(half: tuple[int, ...]) -> ModeGrid:
    d = len(half)
    return ModeGrid(np.linspace(0.3, -0.2, d), np.linspace(4.0, 3.0, d), half, 1e-3)


HALVES = st.lists(st.integers(0, 4), min_size=1, max_size=3).map(tuple)


@given(half=HALVES, n=st.integers(1, 9), width=st.integers(1, 4), seed=st.integers(0, 99))
def test_transforms_are_products_with_the_waves(
    half: tuple[int, ...], n: int, width: int, seed: int
) -> None:
    grid = small_grid(half)
    u, x, a = block(n, len(half), seed), block(n, width, seed + 1), block(grid.size, width, seed)
    C = waves(grid, u)
    points = grid.plan(u).replan(eps=ACCURATE)
    assert_allclose(points.spread(x), C.T @ x, atol=1e-9)
    assert_allclose(points.gather(a), C @ a, atol=1e-9)
    assert_allclose(points.spread(x[:, 0]), C.T @ x[:, 0], atol=1e-9)
    assert_allclose(points.gather(a[:, 0]), C @ a[:, 0], atol=1e-9)


@given(half=HALVES, n=st.integers(1, 9), width=st.integers(1, 3), seed=st.integers(0, 99))
def test_gram_matrices_need_no_points(half: tuple[int, ...], n: int, width: int, seed: int) -> None:
    grid = small_grid(half)
    u, w = block(n, len(half), seed), block(n, width, seed + 1)
    F = waves(grid, u) * np.sqrt(grid.coefficients)
    points = grid.plan(u).replan(eps=ACCURATE, doubled=True)
    gram = ModeGram.from_symbols(grid, points.spread(w))
    V = block(grid.size, 2, seed)
    for weights, image in zip(w.T, gram.products(V), strict=True):
        assert_allclose(image, F.T @ (weights[:, None] * (F @ V)), atol=1e-9)
    mixed = gram.combined(np.arange(1.0, width + 1))
    expected = F.T @ ((w @ np.arange(1.0, width + 1))[:, None] * (F @ V))
    assert_allclose(mixed.products(V)[0], expected, atol=1e-9)


def test_kernel_is_the_product_of_the_factor() -> None:
    u = block(30, 3)
    grid = ModeGrid.for_box(u.min(axis=0), u.max(axis=0), 1e-8)
    F = waves(grid, u) * np.sqrt(grid.coefficients)
    exact = np.exp(-((u[:, None] - u) ** 2).sum(axis=2))
    assert_allclose(F @ F.T, exact, atol=1e-7)


@pytest.mark.parametrize("half", [(3,), (2, 3), (1, 2, 1)])
def test_products_of_the_factor(half: tuple[int, ...]) -> None:
    d = len(half)
    grid, u = ModeGrid(np.zeros(d), np.full(d, 4.0), half, 1e-13), block(12, d)
    for scale in (None, block(12, 1)[:, 0]):
        F = waves(grid, u) * np.sqrt(grid.coefficients)
        F = F if scale is None else scale[:, None] * F
        factor = FourierFactor(grid, u, scale)
        assert factor.shape == F.shape
        for V in (block(grid.size, 3), block(grid.size, 0), block(grid.size, 1)[:, 0]):
            close(factor @ V, F @ V, 1e-9)
        for X in (block(12, 3), block(12, 0), block(12, 1)[:, 0], block(12, 2).astype(np.float32)):
            close(factor.transpose_product(X), F.T @ X.astype(float), 1e-9)
    assert (FourierFactor(grid, u[:0]) @ block(grid.size, 3)).shape == (0, 3)


@pytest.mark.parametrize("n", [300, 90_000])
def test_values_do_not_depend_on_the_other_points(n: int) -> None:
    rng = np.random.default_rng(0)
    u = rng.random((n, 3))
    grid = ModeGrid.for_box(np.zeros(3), np.ones(3), 1e-4)
    a = block(grid.size, 3)
    values = grid.plan(u).gather(a)
    for part in ([0], [n - 1, 7], np.arange(50, 250)):
        close(grid.plan(u[part]).gather(a), values[part])


def test_plans_can_be_copied() -> None:
    u = block(20, 2)
    plan = ModeGrid.for_box(u.min(axis=0), u.max(axis=0), 1e-4).plan(u)
    sums = plan.spread(np.ones(20))
    copy = pickle.loads(pickle.dumps(plan))
    close(copy.spread(np.ones(20)), sums)
    close(copy.gather(sums), plan.gather(sums))
    cloud = PointCloud.from_points(u, 1.0)
    operator = GaussianFourier.from_cloud(cloud, eps=1e-4)
    close(pickle.loads(pickle.dumps(operator)) @ u, operator @ u)


@pytest.mark.parametrize("eps", [1e-3, 1e-5, 1e-7])
def test_single_precision_only_where_it_is_accurate_enough(eps: float) -> None:
    u = np.random.default_rng(0).random((5000, 3))
    grid = ModeGrid.for_box(np.zeros(3), np.full(3, 6.0), 1e-4)
    plan = grid.plan(u).replan(eps=eps, single=True)
    assert plan.single == (eps >= 1e-5)
    x, a = block(5000, 2), block(grid.size, 2)
    accurate = grid.plan(u).replan(eps=1e-12)
    for got, exact in (
        (plan.spread(x.astype(np.float32)), accurate.spread(x)),
        (plan.gather(a, out=np.empty((5000, 2), np.float32)), accurate.gather(a)),
    ):
        assert np.linalg.norm(got - exact) <= 3 * max(eps, 1e-7) * np.linalg.norm(exact)
