"""Every eigensolver against LAPACK: values to the tolerance, honest residuals, no null vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import lowrankgcn as lg
from lowrankgcn.spectral.solvers.block import solve_block
from lowrankgcn.spectral.solvers.direct import solve_dense, solve_nearly_svd, solve_svd
from lowrankgcn.spectral.solvers.solution import Request, Solution
from tests.support.cases import strategies
from tests.support.cases.problems import (
    HYPERGRAPHS,
    KINDS,
    LARGE,
    Large,
    calm_blas,  # noqa: F401
    large,
    problems,
)
from tests.support.each import each
from tests.support.oracles import reference

EXACT = Request(tol=1e-12)
FACTORED = [name for name in LARGE if "table" in name or "hyperedges" in name]


def check_pairs(
    matrix: np.ndarray,
    null: np.ndarray,
    values: np.ndarray,
    vectors: np.ndarray,
    residuals: np.ndarray,
    tol: float,
) -> None:
    """Residuals within `tol` and honest, vectors orthonormal and off the null space."""
    true = np.linalg.norm(matrix @ vectors - vectors * values, axis=0)
    assert (np.diff(values) >= 0).all()
    assert (values > 0).all()
    assert true.max(initial=0.0) <= tol + 1e-12
    assert (residuals >= 0.95 * true - 2e-13).all()
    assert (residuals <= 1.05 * true + 2e-12).all()
    # Ritz vectors are orthogonal as far as they have converged.
    slack = max(1e-12, 1e-2 * tol)
    assert_allclose(vectors.T @ vectors, np.eye(len(values)), rtol=0, atol=slack)
    assert_allclose(null.T @ vectors, 0.0, rtol=0, atol=1e-12)


def null_of(case: Large) -> np.ndarray:
    return case.spectrum.eigenvectors[:, : case.spectrum.n_zero]


def nonzero(case: Large) -> np.ndarray:
    return case.spectrum.eigenvalues[case.spectrum.n_zero :]


# --- direct -----------------------------------------------------------------------------------


def check_direct(
    direct: Solution, spectrum: reference.Spectrum, matrix: np.ndarray, tol: float = 1e-12
) -> None:
    expected = spectrum.eigenvalues[spectrum.n_zero :]
    bulk = np.full(direct.bulk_count, direct.bulk_value)
    assert_allclose(np.sort([*direct.values, *bulk]), expected, rtol=0, atol=1e-13)
    null = spectrum.eigenvectors[:, : spectrum.n_zero]
    index = np.arange(len(direct.values))
    for chosen in (index, index[::2], index[:0]):
        vectors, residuals = direct.build(chosen, np.float64)
        assert vectors.shape == (len(matrix), len(chosen))
        check_pairs(matrix, null, direct.values[chosen], vectors, residuals, tol)


@each("kind", KINDS)
@given(data=st.data())
def test_dense_solver(kind: str, data: st.DataObject) -> None:
    problem = data.draw(problems(kind))
    smoother = data.draw(strategies.smoothers(problem.n))
    direct = solve_dense(lg.Laplacian(problem.graph, smoother), EXACT)
    assert (direct.method, direct.bulk_count) == ("dense", 0)
    check_direct(direct, problem.spectrum(smoother), problem.matrix(smoother))


@pytest.mark.parametrize("kind", HYPERGRAPHS)
@given(data=st.data())
def test_thin_svd(kind: str, data: st.DataObject) -> None:
    problem = data.draw(problems(kind))
    direct = solve_svd(lg.Laplacian(problem.graph), EXACT)
    assert (direct.method, direct.bulk_value) == ("svd", 1.0)
    spectrum = problem.spectrum()
    check_direct(direct, spectrum, problem.matrix())
    # The bulk is all of the eigenvalue 1: no vector of it is ever built.
    assert direct.bulk_count == (np.abs(spectrum.eigenvalues - 1) < 1e-12).sum()


@given(problem=strategies.hypergraph_problems(min_nodes=3))
def test_thin_svd_with_tiny_weights(problem: tuple[np.ndarray, np.ndarray | None]) -> None:
    """Singular values down to 1e-7 keep orthonormal vectors; smaller ones count as none."""
    incidence = problem[0]
    weights = 10.0 ** -(np.arange(incidence.shape[1]) % 4 * 5.0)
    parts = reference.hypergraph(incidence, weights)
    laplacian = lg.Laplacian(lg.Hypergraph(incidence, weights))
    direct = solve_svd(laplacian, EXACT)
    vectors, residuals = direct.build(np.arange(len(direct.values)), np.float64)
    matrix = reference.smoothed_laplacian(parts.W, parts.S_H)
    true = np.linalg.norm(matrix @ vectors - vectors * direct.values, axis=0)
    # The condition of a singular vector is 1/√μ: μ = 1 − λ down to 1e-14 costs half the digits.
    scale = 1e-15 / np.maximum(1 - direct.values, 1e-15)
    assert (true <= 1e-12 + np.sqrt(scale) * 1e-6).all()
    assert (residuals >= true / 10 - 1e-12).all()
    inner = vectors.T @ vectors
    assert_allclose(inner, np.eye(len(inner)), rtol=0, atol=1e-6)


@pytest.mark.parametrize("name", ["gaussian-smoothed", "table-none", "pieces"])
def test_large_dense(name: str) -> None:
    case = large(name)
    check_direct(solve_dense(case.laplacian, EXACT), case.spectrum, case.matrix)


def test_large_svd() -> None:
    case = large("table-own-loops")
    check_direct(solve_svd(case.laplacian, EXACT), case.spectrum, case.matrix)


def test_few_pairs_of_many_hyperedges() -> None:
    rng = np.random.default_rng(0)
    kinds = rng.integers(4, size=1200)
    codes = (kinds[:, None] + (rng.random((1200, 300)) < 0.5) * rng.integers(4, size=300)) % 4
    members = np.eye(4)[codes].reshape(1200, -1)
    laplacian = lg.Laplacian(lg.Hypergraph(members[:, members.any(axis=0)]))
    every, few = (solve_svd(laplacian, Request(tol=1e-8, count=count)) for count in (0, 5))
    assert every.complete
    assert not few.complete
    assert_allclose(few.values, every.values[:5], atol=1e-12)
    vectors, residuals = few.build(np.arange(5), np.float64)
    assert_allclose(vectors.T @ vectors, np.eye(5), atol=1e-10)
    assert residuals.max() < 1e-8


def test_graph_without_edges() -> None:
    for graph in (lg.AdjacencyGraph(np.zeros((4, 4))), lg.Hypergraph(np.zeros((4, 2)))):
        direct = solve_dense(lg.Laplacian(graph), EXACT)
        assert len(direct.values) == 0
    svd = solve_svd(lg.Laplacian(lg.Hypergraph(np.eye(4))), EXACT)
    assert (len(svd.values), svd.bulk_count) == (0, 0)


def test_svd_needs_a_factor() -> None:
    with pytest.raises(ValueError, match=r"^method: expected a solver other than 'svd'"):
        solve_svd(lg.Laplacian(lg.AdjacencyGraph(np.ones((2, 2)))), EXACT)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_eigenvectors_have_the_requested_dtype(dtype: Any) -> None:
    case = large("table-own-loops")
    for direct in (solve_svd(case.laplacian, EXACT), solve_dense(case.laplacian, EXACT)):
        vectors, _ = direct.build(np.arange(3), dtype)
        assert vectors.dtype == dtype


# --- iterative --------------------------------------------------------------------------------


def solve(case: Large, count: int, tol: float, **options: Any) -> Solution:
    return solve_block(case.laplacian, Request(tol, count, **options))


def pairs_of(solution: Solution) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Values, vectors and residuals of all pairs."""
    vectors, residuals = solution.build(np.arange(len(solution.values)), np.float64)
    return solution.values, vectors, residuals


@each("name", LARGE)
def test_smallest_pairs(name: str) -> None:
    case = large(name)
    count = 12
    for tol in (1e-3, 1e-9):
        solution = solve(case, count, tol)
        assert solution.method == "block"
        assert solution.products >= count
        assert_allclose(solution.values, nonzero(case)[:count], rtol=0, atol=tol)
        check_pairs(case.matrix, null_of(case), *pairs_of(solution), tol=tol)


def test_largest_pairs() -> None:
    for name in ("torus", "pieces", "dense", "table-none", "gaussian-smoothed"):
        case = large(name)
        count, tol = 5, 1e-6
        solution = solve(case, count, tol, largest=True)
        assert_allclose(solution.values, nonzero(case)[-count:], rtol=0, atol=tol)
        check_pairs(case.matrix, null_of(case), *pairs_of(solution), tol=tol)


def test_every_copy_of_a_multiple_eigenvalue() -> None:
    """A hypercube's eigenvalues 2j/10 have multiplicities 10, 45, 120, …: more than in a block."""
    edge = np.array([[0.0, 1.0], [1.0, 0.0]])
    cube = np.zeros((1, 1))
    for _ in range(10):
        cube = np.kron(cube, np.eye(2)) + np.kron(np.eye(len(cube)), edge)
    laplacian = lg.Laplacian(lg.AdjacencyGraph(sp.csr_array(cube)))
    for largest in (False, True):
        solution = solve_block(laplacian, Request(1e-6, 12, largest))
        expected = [1.6, *[1.8] * 10, 2.0] if largest else [*[0.2] * 10, 0.4, 0.4]
        assert_allclose(solution.values, expected, rtol=0, atol=1e-6)


def test_equal_seeds_give_equal_results() -> None:
    case = large("pieces")
    first, second, other = (pairs_of(solve(case, 4, 1e-6, random_state=seed)) for seed in (7, 7, 8))
    assert_array_equal(first[1], second[1])
    assert_array_equal(first[0], second[0])
    assert not np.array_equal(first[1], other[1])


def test_equal_seeds_in_an_exhausted_space() -> None:
    """On a complete graph every vector outside the null space is an eigenvector."""
    laplacian = lg.Laplacian(lg.AdjacencyGraph(np.ones((520, 520)) - np.eye(520)))
    first, second = (pairs_of(solve_block(laplacian, Request(1e-6, 4))) for _ in range(2))
    assert_array_equal(first[1], second[1])
    assert_allclose(first[0], 520 / 519, rtol=0, atol=1e-12)


def test_no_convergence() -> None:
    message = r"block iteration .* tol=1e-10 .* raise max_iter"
    with pytest.raises(lg.EigensolverError, match=message):
        solve(large("dense"), 20, 1e-10, max_iter=2)


def test_block_starts_from_a_guess() -> None:
    case = large("gaussian")
    zero = case.spectrum.n_zero
    exact = case.spectrum.eigenvectors[:, zero : zero + 6]
    noise = 1e-4 * np.random.default_rng(0).normal(size=exact.shape)
    cold = solve(case, 6, 1e-6)
    warm = solve(case, 6, 1e-6, start=exact + noise)
    assert warm.products < cold.products
    assert_allclose(warm.values, nonzero(case)[:6], rtol=0, atol=1e-6)
    # Dependent and null columns in a guess do no harm.
    poor = np.hstack([exact[:, :1]] * 6)
    poor[:, 5] = case.spectrum.eigenvectors[:, 0]
    solution = solve(case, 6, 1e-6, start=poor)
    assert_allclose(solution.values, nonzero(case)[:6], rtol=0, atol=1e-6)
    check_pairs(case.matrix, null_of(case), *pairs_of(solution), tol=1e-6)


def test_block_starts_from_a_guess_of_a_small_space() -> None:
    """A guess has fewer columns than a restart keeps."""
    for seed in range(40):
        rng = np.random.default_rng(seed)
        incidence = rng.random((int(rng.integers(3, 14)), int(rng.integers(1, 8)))) < 0.6
        laplacian = lg.Laplacian(lg.Hypergraph(incidence.astype(int)), "identity")
        size = laplacian.n - laplacian.null_space.dimension
        expected = np.linalg.eigvalsh(laplacian.to_dense())[laplacian.n - size :]
        for count in range(1, size + 1):
            start = rng.normal(size=(laplacian.n, count))
            solution = solve_block(laplacian, Request(1e-9, count, start=start))
            assert_allclose(solution.values, expected[:count], rtol=0, atol=1e-8)


def test_block_on_the_whole_space() -> None:
    case = large("pieces")
    solution = solve(case, len(nonzero(case)), 1e-9)
    assert_allclose(solution.values, nonzero(case), rtol=0, atol=1e-9)
    check_pairs(case.matrix, null_of(case), *pairs_of(solution), tol=1e-9)


# --- singular vectors as a guess --------------------------------------------------------------


@each("name", FACTORED)
def test_nearly_svd_finds_the_smallest_pairs_or_none(name: str) -> None:
    case = large(name)
    guess = solve_nearly_svd(case.laplacian, Request(1e-6, 4))
    assert guess is not None or name in {"table-heavy-rows", "table-two-parts"}
    if guess is not None:
        vectors, residuals = guess.build(np.arange(4), np.float64)
        tol = float(residuals.max())
        assert_allclose(guess.values, nonzero(case)[:4], rtol=0, atol=tol + 1e-12)
        check_pairs(case.matrix, null_of(case), guess.values, vectors, residuals, tol)


def test_no_nearly_svd_beyond_the_rank() -> None:
    laplacian = large("table-identity").laplacian
    assert laplacian.factor is not None
    columns = laplacian.factor.shape[1]
    assert solve_nearly_svd(laplacian, Request(1e-6, columns + 1)) is None


def test_singular_vectors_miss_eigenvectors_of_heavy_loops() -> None:
    """Where loops differ much, small eigenvalues lie outside the leading singular vectors."""
    case = large("table-two-parts")
    for count in (4, 10):
        guess = solve_nearly_svd(case.laplacian, Request(1e-6, count))
        if guess is not None:
            assert_allclose(guess.values, nonzero(case)[:count], rtol=0, atol=1e-6)
