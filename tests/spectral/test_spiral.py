"""The paper's point cloud: 10 000 points on a spiral, Gaussian weights of bandwidth 3.5."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import lowrankgcn as lg
from tests.conftest import SpiralData
from tests.support.oracles import reference

BANDWIDTH = 3.5

# The 25 smallest eigenvalues of the dense 10⁴×10⁴ matrix, by LAPACK (scipy.linalg.eigh with
# subset_by_index=[0, 24] on I − D^{-1/2} W D^{-1/2} in float64), to twelve digits.
EIGENVALUES = np.array(
    [
        0.0,
        0.149176950264,
        0.408999731653,
        0.624237683400,
        0.773079596217,
        0.858059750837,
        0.864098793145,
        0.886724874851,
        0.890982860382,
        0.902642967093,
        0.927396632105,
        0.928987909387,
        0.932113485952,
        0.955117425297,
        0.957925298832,
        0.959789281477,
        0.977217066493,
        0.979312618803,
        0.980556100641,
        0.981262677193,
        0.982134724909,
        0.982835991615,
        0.985755149325,
        0.986571583007,
        0.986955272668,
    ]
)

# As published by Alfke and Stoll.
PUBLISHED = [
    0.149177,
    0.409000,
    0.624238,
    0.773080,
    0.858060,
    0.864099,
    0.886725,
    0.890983,
    0.902643,
    0.927397,
]


@pytest.fixture(scope="module")
def graph(spiral_points: SpiralData) -> lg.GaussianGraph:
    return lg.GaussianGraph(spiral_points.points, BANDWIDTH)


@pytest.mark.parametrize("tol", [1e-3, 1e-6, 1e-9])
def test_eigenvalues_within_the_tolerance(graph: lg.GaussianGraph, tol: float) -> None:
    pairs = lg.eigenpairs(lg.Laplacian(graph, tol=tol), 20)
    assert_allclose(pairs.eigenvalues, EIGENVALUES[:20], rtol=0, atol=tol)
    assert pairs.eigenvalues[0] == 0.0
    assert pairs.n_components == 1
    assert pairs.residuals.max() <= tol
    assert pairs.fast_sum_error <= tol
    assert_allclose(pairs.next_eigenvalue, EIGENVALUES[20], rtol=0, atol=tol)
    U = pairs.eigenvectors
    assert_allclose(U.T @ U, np.eye(20), rtol=0, atol=max(1e-12, 1e-2 * tol))
    # The evidence holds: some rows of 𝓛u − λu, with exact weights and degrees.
    points, rows = graph.points, np.arange(0, 10_000, 500)
    exact = np.exp(-(np.linalg.norm(points[rows, None] - points, axis=2) ** 2) / BANDWIDTH**2)
    exact[np.arange(len(rows)), rows] = 0.0
    degrees = lg.Laplacian(graph, tol=1e-9).degrees
    assert_allclose(exact.sum(axis=1), degrees[rows], rtol=1e-8)
    weighted = exact / np.sqrt(np.outer(degrees[rows], degrees))
    defect = U[rows] - weighted @ U - U[rows] * pairs.eigenvalues
    norms = np.sqrt((defect**2).sum(axis=0) * len(points) / len(rows))
    assert norms.max() <= 5 * tol


def test_a_smaller_tolerance_improves_the_sum(graph: lg.GaussianGraph) -> None:
    coarse = lg.Laplacian(graph, tol=1e-2)
    pairs = lg.eigenpairs(coarse, 11, tol=1e-6)
    assert_allclose(pairs.eigenvalues, EIGENVALUES[:11], rtol=0, atol=1e-6)


@pytest.mark.paper
def test_published_eigenvalues(graph: lg.GaussianGraph) -> None:
    pairs = lg.eigenpairs(lg.Laplacian(graph, tol=1e-3), 11)
    assert_allclose(pairs.eigenvalues[1:], PUBLISHED, rtol=0, atol=1e-3)


def test_literals_agree_with_the_published_values() -> None:
    assert_allclose(EIGENVALUES[1:11], PUBLISHED, rtol=0, atol=1e-6)


def test_every_way_of_summing(spiral_points: SpiralData) -> None:
    """A quarter of the points, exactly and by every fast sum."""
    graph = lg.GaussianGraph(spiral_points.points[::4], BANDWIDTH)
    exact = lg.eigenpairs(lg.Laplacian(graph, method="blocks"), 8, tol=1e-9)
    assert exact.fast_sum_error == 0.0
    for method in ("low-rank", "fourier", "auto"):
        pairs = lg.eigenpairs(lg.Laplacian(graph, method=method), 8, tol=1e-5)
        assert_allclose(pairs.eigenvalues, exact.eigenvalues, rtol=0, atol=1e-5)


def test_same_seed_same_bits(graph: lg.GaussianGraph) -> None:
    first, second = (lg.eigenpairs(lg.Laplacian(graph, tol=1e-3), 8) for _ in range(2))
    assert np.array_equal(first.eigenvalues, second.eigenvalues)
    assert np.array_equal(first.eigenvectors, second.eigenvectors)


def test_low_rank_pseudoinverse(graph: lg.GaussianGraph) -> None:
    """The paper's L-GCN kernel: ten pairs without the null vector, responses λ₂/λ."""
    K = lg.kernel(lg.Laplacian(graph, tol=1e-6), "pseudoinverse", rank=10)
    expected = [reference.pseudoinverse(v, EIGENVALUES[1]) for v in EIGENVALUES[1:11]]
    assert_allclose(K.response, expected, rtol=0, atol=1e-5)
    X = np.random.default_rng(0).normal(size=(10_000, 2))
    assert_allclose(K.rows([3, 9999], X), (K @ X)[[3, 9999]], rtol=0, atol=1e-13)
