"""What a rank leaves out: exact where eigenvalues are known, else within its standard error."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import scipy.linalg as la
import scipy.sparse as sp
from numpy.testing import assert_allclose

import lowrankgcn as lg
from lowrankgcn.spectral import filters
from lowrankgcn.spectral.truncation import TruncationError
from tests.support.cases.problems import (
    calm_blas,  # noqa: F401
    ignoring,
    large,
)
from tests.support.each import each
from tests.support.oracles import reference


def circulant(n: int, steps: int) -> tuple[lg.Laplacian, np.ndarray]:
    """Every node joined with the next few: eigenvalues in closed form, all but two double."""
    index = np.arange(n)
    edges = np.hstack([[index, (index + step) % n] for step in range(1, steps + 1)])
    angles = 2 * np.pi * index[:, None] * np.arange(1, steps + 1) / n
    laplacian = lg.Laplacian(lg.AdjacencyGraph.from_edge_index(edges))
    return laplacian, np.sort(1 - np.cos(angles).mean(axis=1))


def left(phi: Any, values: np.ndarray, rank: int) -> float:
    response = np.sort(np.abs(phi(values)))[::-1]
    return float(np.linalg.norm(response[rank:]))


FILTERS = [
    filters.Heat(3.0),
    filters.RegularizedInverse(0.1),
    filters.Quadratic(largest=2.0),
    filters.Polynomial([0.0, 1.0]),
    filters.Constant(),
]


@each("phi", FILTERS, ids=lambda phi: phi.name)
def test_estimates_beyond_2048_nodes(phi: filters.Filter) -> None:
    laplacian, values = circulant(2200, 30)
    rank = 9 if phi.name != "polynomial" else 10
    with ignoring(lg.DegenerateCutWarning):
        K = lg.kernel(laplacian, phi, rank)
    exact = left(phi, values, rank)
    estimates = [K.truncation_error(random_state=seed) for seed in range(4)]
    for estimate in estimates:
        assert abs(estimate.value - exact) <= 4 * estimate.standard_error + 1e-6 * exact
        # Sixteen probes estimate a norm over thousands of eigenvalues to within some percent.
        assert estimate.standard_error <= 0.05 * exact
    assert K.truncation_error(random_state=3) == estimates[3]  # same seed, same bits
    if phi.name != "constant":
        assert estimates[0].value != estimates[1].value
        assert estimates[0].standard_error > 0


def test_zeros_left_out_are_counted_exactly() -> None:
    """300 components and rank 100: 200 responses φ(0) are missing, for any probes."""
    cycle = circulant(8, 2)[0].graph.adjacency
    graph = lg.AdjacencyGraph(sp.csr_array(sp.kron(sp.eye_array(300), cycle)))
    values = np.sort(np.tile(circulant(8, 2)[1], 300))
    laplacian = lg.Laplacian(graph)
    phi = filters.Heat(20.0)
    with ignoring(lg.DegenerateCutWarning):
        K = lg.kernel(laplacian, phi, rank=100)
    estimate = K.truncation_error()
    assert estimate.value == pytest.approx(left(phi, values, 100), rel=1e-6)
    with ignoring(lg.DegenerateCutWarning):
        K = lg.kernel(laplacian, filters.ZeroImpulse(), rank=100)
    assert K.truncation_error() == TruncationError(pytest.approx(math.sqrt(200), rel=1e-12), 0.0)


def test_estimate_on_a_fast_sum() -> None:
    """A Gaussian graph beyond 2048 points, whose products are approximate themselves."""
    generator = np.random.default_rng(0)
    points = generator.normal(size=(2100, 2))
    laplacian = lg.Laplacian(lg.GaussianGraph(points, 0.6))
    assert not laplacian.affinity.exact
    matrix = reference.smoothed_laplacian(reference.gaussian_adjacency(points, 0.6))
    values = np.maximum(la.eigvalsh(matrix), 0.0)
    for phi in (filters.Heat(5.0), filters.Pseudoinverse(1.0)):
        K = lg.kernel(laplacian, phi, rank=12)
        exact = left(phi, values[1:], 12 - (phi.name == "heat"))
        estimate = K.truncation_error()
        assert abs(estimate.value - exact) <= 4 * estimate.standard_error
        assert 0 < estimate.standard_error <= 0.05 * exact


def test_exact_up_to_2048_nodes() -> None:
    laplacian, values = circulant(600, 5)
    for phi in FILTERS[:4]:
        with ignoring(lg.DegenerateCutWarning):
            K = lg.kernel(laplacian, phi, rank=7, tol=1e-9)
        assert K.eigenpairs is not None
        assert K.eigenpairs.spectrum is None
        estimate = K.truncation_error()
        assert estimate.standard_error == 0.0
        assert_allclose(estimate.value, left(phi, values, 7), rtol=1e-8)


def test_small_remainders_next_to_large_responses() -> None:
    """Two clusters joined by 1e-10: L⁺ has one response of 1e10, and the others count too."""
    adjacency = la.block_diag(np.ones((6, 6)), np.ones((6, 6)))
    adjacency[5, 6] = adjacency[6, 5] = 1e-10
    np.fill_diagonal(adjacency, 0.0)
    laplacian = lg.Laplacian(lg.AdjacencyGraph(adjacency))
    K = lg.kernel(laplacian, filters.Pseudoinverse(1.0), rank=1)
    assert K.response[0] > 1e9
    values = reference.spectrum(adjacency).eigenvalues
    exact = float(np.linalg.norm(1 / values[2:]))
    assert_allclose(K.truncation_error().value, exact, rtol=1e-8)


@pytest.mark.parametrize("name", ["table-own-loops", "gaussian", "pieces"])
def test_ranks_that_leave_nothing_out(name: str) -> None:
    case = large(name)
    with ignoring(lg.RankWarning):
        K = lg.kernel(case.laplacian, "linear", rank=case.problem.n)
    assert_allclose(K.truncation_error().value, 0.0, atol=1e-8)
    assert lg.kernel(case.laplacian, "linear").truncation_error() == TruncationError(0.0, 0.0)


def test_hypergraphs_are_exact_at_any_size() -> None:
    generator = np.random.default_rng(1)
    table = generator.integers(0, 3, size=(3000, 4))
    graph = lg.Hypergraph.from_table(table, bins=None)
    K = lg.kernel(lg.Laplacian(graph), "heat", rank=3)
    H = graph.incidence.to_dense() / np.sqrt(graph.hyperedge_sizes) / 2.0
    squares = np.linalg.svd(H, compute_uv=False) ** 2
    values = np.concatenate([1 - squares, np.ones(3000 - len(squares))])
    estimate = K.truncation_error()
    assert estimate.standard_error == 0.0
    assert_allclose(estimate.value, left(filters.Heat(), values, 3), rtol=1e-8)
