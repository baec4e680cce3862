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
from lowrankgcn.spectral.solvers import (
    BlockKrylov,
    DenseEigh,
    DirectSolution,
    Lanczos,
    Solution,
    ThinSVD,
)
from tests import reference, strategies
from tests.problems import (
    HYPERGRAPHS,
    KINDS,
    LARGE,
    Large,
    calm_blas,  # noqa: F401
    large,
    problems,
)

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
    direct: DirectSolution, spectrum: reference.Spectrum, matrix: np.ndarray, tol: float = 1e-12
) -> None:
    expected = spectrum.eigenvalues[spectrum.n_zero :]
    bulk = np.full(direct.bulk_count, direct.bulk_value)
    assert_allclose(np.sort([*direct.values, *bulk]), expected, rtol=0, atol=1e-13)
    null = spectrum.eigenvectors[:, : spectrum.n_zero]
    index = np.arange(len(direct.values))
    for chosen, lead in ((index, 0), (index[::2], 2), (index[:0], 1)):
        vectors, residuals = direct.build(chosen, lead, np.float64)
        assert vectors.shape == (len(matrix), lead + len(chosen))
        check_pairs(matrix, null, direct.values[chosen], vectors[:, lead:], residuals, tol)


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
def test_dense_solver(kind: str, data: st.DataObject) -> None:
    problem = data.draw(problems(kind))
    smoother = data.draw(strategies.smoothers(problem.n))
    direct = DenseEigh.decompose(lg.Laplacian(problem.graph, smoother))
    assert (direct.method, direct.bulk_count) == ("dense", 0)
    check_direct(direct, problem.spectrum(smoother), problem.matrix(smoother))


@pytest.mark.parametrize("kind", HYPERGRAPHS)
@given(data=st.data())
def test_thin_svd(kind: str, data: st.DataObject) -> None:
    problem = data.draw(problems(kind))
    direct = ThinSVD.decompose(lg.Laplacian(problem.graph))
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
    direct = ThinSVD.decompose(laplacian)
    vectors, residuals = direct.build(np.arange(len(direct.values)), 0, np.float64)
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
    check_direct(DenseEigh.decompose(case.laplacian), case.spectrum, case.matrix)


def test_large_svd() -> None:
    case = large("table-own-loops")
    check_direct(ThinSVD.decompose(case.laplacian), case.spectrum, case.matrix)


def test_graph_without_edges() -> None:
    for graph in (lg.AdjacencyGraph(np.zeros((4, 4))), lg.Hypergraph(np.zeros((4, 2)))):
        direct = DenseEigh.decompose(lg.Laplacian(graph))
        assert len(direct.values) == 0
    svd = ThinSVD.decompose(lg.Laplacian(lg.Hypergraph(np.eye(4))))
    assert (len(svd.values), svd.bulk_count) == (0, 0)


def test_svd_needs_a_factor() -> None:
    with pytest.raises(ValueError, match=r"^method: expected a solver other than 'svd'"):
        ThinSVD.decompose(lg.Laplacian(lg.AdjacencyGraph(np.ones((2, 2)))))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_eigenvectors_in_the_type_asked_for(dtype: Any) -> None:
    case = large("table-own-loops")
    for direct in (ThinSVD.decompose(case.laplacian), DenseEigh.decompose(case.laplacian)):
        vectors, _ = direct.build(np.arange(3), 1, dtype)
        assert vectors.dtype == dtype


# --- iterative --------------------------------------------------------------------------------


def solve(solver: str, case: Large, count: int, tol: float, **options: Any) -> Solution:
    kind = {"lanczos": Lanczos, "krylov": BlockKrylov}[solver]
    return kind(tol).solve(case.laplacian, count, **options)


@pytest.mark.parametrize("tol", [1e-3, 1e-6, 1e-9])
@pytest.mark.parametrize("name", LARGE)
@pytest.mark.parametrize("solver", ["lanczos", "krylov"])
def test_smallest_pairs(solver: str, name: str, tol: float) -> None:
    case = large(name)
    count = 12
    solution = solve(solver, case, count, tol)
    assert solution.method == solver
    assert solution.products >= count
    assert_allclose(solution.values, nonzero(case)[:count], rtol=0, atol=tol)
    check_pairs(case.matrix, null_of(case), *_fields(solution), tol=tol)


@pytest.mark.parametrize("name", ["torus", "pieces", "dense", "table-none", "gaussian-smoothed"])
@pytest.mark.parametrize("solver", ["lanczos", "krylov"])
def test_largest_pairs(solver: str, name: str) -> None:
    case = large(name)
    count, tol = 5, 1e-6
    solution = solve(solver, case, count, tol, largest=True)
    assert_allclose(solution.values, nonzero(case)[-count:], rtol=0, atol=tol)
    check_pairs(case.matrix, null_of(case), *_fields(solution), tol=tol)


def _fields(solution: Solution) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return solution.values, solution.vectors, solution.residuals


@pytest.mark.parametrize("solver", ["lanczos", "krylov"])
def test_every_copy_of_a_multiple_eigenvalue(solver: str) -> None:
    """A hypercube's eigenvalues 2j/10 have multiplicities 10, 45, 120, …: a trap for Lanczos."""
    edge = np.array([[0.0, 1.0], [1.0, 0.0]])
    cube = np.zeros((1, 1))
    for _ in range(10):
        cube = np.kron(cube, np.eye(2)) + np.kron(np.eye(len(cube)), edge)
    laplacian = lg.Laplacian(lg.AdjacencyGraph(sp.csr_array(cube)))
    kind: Any = {"lanczos": Lanczos, "krylov": BlockKrylov}[solver]
    for largest in (False, True):
        solution = kind(1e-6).solve(laplacian, 12, largest=largest)
        expected = [1.6, *[1.8] * 10, 2.0] if largest else [*[0.2] * 10, 0.4, 0.4]
        assert_allclose(solution.values, expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("solver", ["lanczos", "krylov"])
def test_seeds_decide_everything(solver: str) -> None:
    case = large("pieces")
    kind: Any = {"lanczos": Lanczos, "krylov": BlockKrylov}[solver]
    first, second, other = (
        kind(1e-6, random_state=seed).solve(case.laplacian, 4) for seed in (7, 7, 8)
    )
    assert_array_equal(first.vectors, second.vectors)
    assert_array_equal(first.values, second.values)
    assert not np.array_equal(first.vectors, other.vectors)


def test_seeds_decide_even_where_the_space_is_exhausted() -> None:
    """On a complete graph every Krylov space has one dimension; ARPACK must start anew."""
    laplacian = lg.Laplacian(lg.AdjacencyGraph(np.ones((520, 520)) - np.eye(520)))
    first, second = (Lanczos(1e-6).solve(laplacian, 4) for _ in range(2))
    assert_array_equal(first.vectors, second.vectors)
    assert_allclose(first.values, 520 / 519, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("solver", "message"),
    [
        (Lanczos(1e-10, max_iter=1), r"Lanczos found \d+ of 20 .* tol=1e-10 .* raise max_iter"),
        (BlockKrylov(1e-10, max_iter=2), r"block Krylov .* tol=1e-10 .* raise max_iter"),
    ],
)
def test_no_convergence(solver: Any, message: str) -> None:
    with pytest.raises(lg.EigensolverError, match=message):
        solver.solve(large("dense").laplacian, 20)


def test_krylov_starts_from_a_guess() -> None:
    case = large("gaussian")
    zero = case.spectrum.n_zero
    exact = case.spectrum.eigenvectors[:, zero : zero + 6]
    noise = 1e-4 * np.random.default_rng(0).normal(size=exact.shape)
    cold = BlockKrylov(1e-6).solve(case.laplacian, 6)
    warm = BlockKrylov(1e-6).solve(case.laplacian, 6, start=exact + noise)
    assert warm.products < cold.products
    assert_allclose(warm.values, nonzero(case)[:6], rtol=0, atol=1e-6)
    # Dependent and null columns in a guess do no harm.
    poor = np.hstack([exact[:, :1]] * 6)
    poor[:, 5] = case.spectrum.eigenvectors[:, 0]
    solution = BlockKrylov(1e-6).solve(case.laplacian, 6, start=poor)
    assert_allclose(solution.values, nonzero(case)[:6], rtol=0, atol=1e-6)
    check_pairs(case.matrix, null_of(case), *_fields(solution), tol=1e-6)


def test_krylov_on_the_whole_space() -> None:
    case = large("pieces")
    solution = BlockKrylov(1e-9).solve(case.laplacian, len(nonzero(case)))
    assert_allclose(solution.values, nonzero(case), rtol=0, atol=1e-9)
    check_pairs(case.matrix, null_of(case), *_fields(solution), tol=1e-9)


# --- singular vectors as a guess --------------------------------------------------------------


@pytest.mark.parametrize("name", FACTORED)
@pytest.mark.parametrize("lead", [0, 2])
def test_approximate_pairs_are_the_smallest_or_none(name: str, lead: int) -> None:
    case = large(name)
    guess = ThinSVD.approximate(case.laplacian, 4, lead, np.float64)
    assert guess is not None or name in {"table-heavy-rows", "table-two-parts"}
    if guess is not None:
        vectors = guess.vectors[:, lead:]
        tol = float(guess.residuals.max())
        assert_allclose(guess.values, nonzero(case)[:4], rtol=0, atol=tol + 1e-12)
        check_pairs(case.matrix, null_of(case), guess.values, vectors, guess.residuals, tol)


def test_no_guess_beyond_the_rank() -> None:
    laplacian = large("table-identity").laplacian
    assert laplacian.factor is not None
    columns = laplacian.factor.shape[1]
    assert ThinSVD.approximate(laplacian, columns + 1, 0, np.float64) is None


def test_singular_vectors_miss_eigenvectors_of_heavy_loops() -> None:
    """Where loops differ much, small eigenvalues lie off the leading singular vectors."""
    case = large("table-two-parts")
    for count in (4, 10):
        guess = ThinSVD.approximate(case.laplacian, count, 0, np.float64)
        if guess is not None:
            assert_allclose(guess.values, nonzero(case)[:count], rtol=0, atol=1e-6)
