"""Eigenpairs found on Fourier modes against LAPACK and against block iterations on the points."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import lowrankgcn as lg
from lowrankgcn.operators.modes import ModeGram, ModeGrid
from lowrankgcn.spectral.solvers.base import Request, Solution, residual_norms
from lowrankgcn.spectral.solvers.block import solve_block
from lowrankgcn.spectral.solvers.choice import solve
from lowrankgcn.spectral.solvers.mode_space import mode_pairs
from lowrankgcn.spectral.solvers.modes import modes_are_few, solve_modes
from tests import reference
from tests.problems import calm_blas  # noqa: F401

pytestmark = pytest.mark.filterwarnings("ignore::lowrankgcn.DisconnectedGraphWarning")

N = 400


def cloud(kind: str, dimension: int, seed: int, n: int = N) -> np.ndarray:
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(n, dimension))
    if kind == "clump":  # nearly a component of its own
        points[:9] = 0.1 * points[:9] + 7.0
    elif kind == "outliers":
        points[:3] *= 1.0 + 2.5 / np.linalg.norm(points[:3], axis=1, keepdims=True)
    elif kind == "duplicates":
        points = points[rng.integers(n // 8, size=n)]
    elif kind == "components":  # two of them, and a point without neighbours
        points = 4.0 * rng.random((n, dimension))
        points[: n // 3, 0] += 60.0
        points[-1, 0] = -60.0
    return points


def laplacian(points: np.ndarray, bandwidth: float, smoother: Any, tol: float) -> lg.Laplacian:
    graph = lg.GaussianGraph(points, bandwidth)
    return lg.Laplacian(graph, smoother, tol=tol, method="fourier")


def pairs_of(solution: Solution, lead: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Vectors and residuals of all pairs."""
    vectors, residuals = solution.build(np.arange(len(solution.values)), lead, np.float64)
    return vectors[:, lead:], residuals


KINDS = ("plain", "clump", "outliers", "duplicates", "components")


@settings(max_examples=max(settings().max_examples // 2, 1))  # each takes a tenth of a second
@given(
    kind=st.sampled_from(KINDS),
    dimension=st.integers(1, 2),
    seed=st.integers(0, 999),
    smoother=st.sampled_from([None, "identity", 0.4, 1.7, "array"]),
    count=st.integers(1, 7),
)
@example(kind="plain", dimension=3, seed=0, smoother=None, count=5)
@example(kind="duplicates", dimension=3, seed=1, smoother=0.4, count=5)
def test_pairs_are_those_of_the_dense_matrix(
    kind: str, dimension: int, seed: int, smoother: Any, count: int
) -> None:
    points = cloud(kind, dimension, seed)
    loops = np.random.default_rng(seed).uniform(0, 1.5, N) if smoother == "array" else smoother
    tol = 1e-6
    try:
        L = laplacian(points, 1.5, loops, tol)
    except lg.FastSumError:
        return  # degrees of outliers drown in rounding
    solution = solve_modes(L, Request(tol, count, lead=2))
    if solution is None:
        return
    vectors, residuals = pairs_of(solution, 2)
    if residuals.max() > 1e-4:
        return  # reported as inaccurate
    assert vectors.shape == (N, count)
    assert_allclose(vectors.T @ vectors, np.eye(count), atol=1e-9)
    assert np.abs(L.null_space.coefficients(vectors)).max() < 1e-9
    # Stated in the norm that weighs rows by 1/shift.
    worst = np.sqrt(max(1.0, L.shift.max())) * residuals + 10 * tol
    assert (residual_norms(L, solution.values, vectors) <= worst).all()
    spectrum = reference.spectrum(reference.gaussian_adjacency(points, 1.5), L.loop_weights)
    exact = spectrum.eigenvalues[spectrum.n_zero : spectrum.n_zero + count]
    bound = 10 * (residuals.max() + tol + L.affinity.error)
    assert np.abs(solution.values - exact).max() <= bound


@pytest.mark.parametrize("kind", KINDS)
def test_modes_reach_the_tolerance(kind: str) -> None:
    points = cloud(kind, 2, 5, n=3000)
    for smoother in (None, "identity"):
        L = laplacian(points, 1.5, smoother, 1e-4)
        solution = solve_modes(L, Request(1e-4, 6, lead=1, dtype=np.float32))
        assert solution is not None
        vectors, residuals = solution.build(np.arange(6), 1, np.float32)
        assert vectors.dtype == np.float32
        assert residuals.max() <= 1e-4
        assert solution.method == "modes"


@pytest.mark.parametrize("smoother", [None, "identity", 0.3])
def test_same_eigenvalues_as_arpack_over_the_points(smoother: Any) -> None:
    points = 4.0 * np.random.default_rng(0).random((3000, 2))
    L = laplacian(points, 1.0, smoother, 1e-10)
    solution = solve_modes(L, Request(1e-10, 8))
    assert solution is not None
    expected = solve_block(L, Request(1e-10, 8))
    assert_allclose(solution.values, expected.values, atol=1e-8)
    overlap = np.linalg.svd(pairs_of(solution)[0][:, :3].T @ pairs_of(expected)[0][:, :3])[1]
    assert_allclose(overlap, 1.0, atol=1e-6)


def test_all_copies_of_multiple_eigenvalues() -> None:
    line = np.arange(9.0)
    cube = np.stack(np.meshgrid(line, line, line), axis=-1).reshape(-1, 3)
    L = laplacian(cube, 4.0, None, 1e-8)
    solution = solve_modes(L, Request(1e-8, 9))
    assert solution is not None
    exact = reference.spectrum(reference.gaussian_adjacency(cube, 4.0)).eigenvalues[1:10]
    assert_allclose(solution.values, exact, atol=1e-7)
    assert np.ptp(solution.values[:3]) < 1e-7  # three axes
    assert solution.values[3] - solution.values[2] > 0.05


def test_eigenpairs_use_modes_within_the_tolerance() -> None:
    points = np.random.default_rng(1).random((30_000, 2))
    L = lg.Laplacian(lg.GaussianGraph(points, 0.05), tol=1e-4)
    assert L.affinity.method == "fourier"
    pairs = lg.eigenpairs(L, 12)
    assert pairs.method == "modes"
    assert pairs.residuals.max() <= 1e-4
    other = lg.eigenpairs(L, 12, method="block", tol=1e-6)
    assert_allclose(pairs.eigenvalues, other.eigenvalues, atol=1e-5)


def test_heavy_loops_use_another_solver() -> None:
    """Heavy loops: eigenvalues beyond the least shift."""
    points = cloud("plain", 2, 0, n=1200)
    L = laplacian(points, 1.0, 50.0, 1e-6)
    assert solve_modes(L, Request(1e-6, 8)) is None
    exact = reference.spectrum(reference.gaussian_adjacency(points, 1.0), 50.0).eigenvalues[1:9]
    solution = solve(L, Request(1e-6, 8))
    assert solution.method == "block"
    assert_allclose(solution.values, exact, atol=1e-5)


def test_modes_must_be_few() -> None:
    assert not modes_are_few(laplacian(cloud("plain", 2, 0), 0.3, None, 1e-6))
    many = np.arange(70.0)[:, None] * 40 + np.random.default_rng(0).normal(size=(70, 300))
    assert not modes_are_few(laplacian(many.reshape(-1, 1), 1.0, None, 1e-4))
    assert not modes_are_few(lg.Laplacian(lg.GaussianGraph(cloud("plain", 2, 0), 1.0)))


def test_pairs_on_the_modes() -> None:
    u = np.random.default_rng(0).normal(size=(900, 2))
    grid = ModeGrid.for_box(u.min(axis=0), u.max(axis=0), 1e-12)
    nodes, points = np.array([1.0, 1.4, 2.0, 2.6]), grid.plan(u)
    degrees = points.gather(grid.coefficients * points.spread(np.ones(900))) - 1
    symbols = grid.doubled.plan(u).spread(1 / (degrees[:, None] + nodes))
    found, again = (
        mode_pairs(ModeGram.from_symbols(grid, symbols), nodes, 5, tol=1e-9) for _ in range(2)
    )
    assert found is not None
    assert again is not None
    exact = reference.spectrum(reference.gaussian_adjacency(u, 1.0)).eigenvalues[:5]
    assert_allclose(1 - 1 / found.kappas, exact, atol=1e-5)
    assert_array_equal(again.coefficients, found.coefficients)


def test_more_pairs_than_there_are() -> None:
    grid = ModeGrid.for_box(np.zeros(1), np.ones(1), 1e-2)
    u = np.array([[0.0], [0.5]])
    gram = ModeGram.from_symbols(
        grid, grid.plan(u).replan(eps=1e-12, doubled=True).spread(np.ones((2, 1)))
    )
    assert mode_pairs(gram, np.ones(1), 2, tol=1e-6) is not None
    assert mode_pairs(gram, np.ones(1), 3, tol=1e-6) is None
