"""The oracle against what is known in closed form, and against itself."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from tests.support.cases import strategies
from tests.support.contracts.operator_contract import close
from tests.support.oracles import reference

TOL = 1e-10


def clique(n: int) -> np.ndarray:
    return np.ones((n, n)) - np.eye(n)


def cycle(n: int) -> np.ndarray:
    forward = np.roll(np.eye(n), 1, axis=1)
    return np.maximum(forward, forward.T)


def block_diagonal(*blocks: np.ndarray) -> np.ndarray:
    n = sum(map(len, blocks))
    matrix, start = np.zeros((n, n)), 0
    for part in blocks:
        matrix[start : start + len(part), start : start + len(part)] = part
        start += len(part)
    return matrix


def cars_incidence() -> np.ndarray:
    sizes = (4, 4, 4, 3, 3, 3)
    rows = list(itertools.product(*map(range, sizes)))
    values = [(column, v) for column, size in enumerate(sizes) for v in range(size)]
    return np.array([[float(row[column] == v) for column, v in values] for row in rows])


# --- known spectra ----------------------------------------------------------------------------


@pytest.mark.parametrize("n", [2, 3, 5, 10])
def test_complete_graph(n: int) -> None:
    expected = [0.0] + [n / (n - 1)] * (n - 1)
    assert_allclose(reference.spectrum(clique(n)).eigenvalues, expected, atol=1e-14)


@pytest.mark.parametrize("n", [3, 4, 7, 12])
def test_cycle(n: int) -> None:
    expected = sorted(1 - math.cos(2 * math.pi * k / n) for k in range(n))
    assert_allclose(reference.spectrum(cycle(n)).eigenvalues, expected, atol=1e-14)


def test_disjoint_cliques_and_an_isolated_node() -> None:
    W = block_diagonal(clique(3), np.zeros((1, 1)), clique(4), clique(2))
    result = reference.spectrum(W)
    assert result.n_zero == 4
    assert_array_equal(result.eigenvalues[:4], 0.0)
    assert_allclose(result.eigenvalues[4:], [4 / 3] * 3 + [3 / 2] * 2 + [2.0], atol=1e-14)
    assert_allclose(result.eigenvectors[:, 0], [1 / math.sqrt(3)] * 3 + [0] * 7, atol=1e-15)
    assert_array_equal(result.eigenvectors[:, 1], np.eye(10)[3])


def test_complete_graph_with_identity_smoother() -> None:
    expected = [0.0] + [1.0] * 4  # W + I is the all-ones matrix
    assert_allclose(reference.spectrum(clique(5), 1.0).eigenvalues, expected, atol=1e-14)


def test_cars() -> None:
    graph = reference.hypergraph(cars_incidence())
    assert graph.H.shape == (1728, 21)
    assert_allclose(graph.D_V, 6.0)
    assert reference.hypergraph_rank(graph) == 16
    eigenvalues = np.linalg.eigvalsh(reference.smoothed_laplacian(graph.W, graph.S_H))
    assert_allclose(eigenvalues, [0.0] + [5 / 6] * 15 + [1.0] * 1712, atol=1e-12)


def test_a_sample_of_the_spiral_is_near_the_published_eigenvalues(spiral_points: Any) -> None:
    assert spiral_points.points.shape == (10_000, 3)
    assert sorted(set(spiral_points.labels)) == [1, 2, 3, 4, 5]
    few = spiral_points.points[::10]  # the dense oracle at n = 1000 instead of 10000
    values = reference.spectrum(reference.gaussian_adjacency(few, 3.5)).eigenvalues
    published = [0.149177, 0.409000, 0.624238, 0.773080, 0.858060]
    assert_allclose(values[1:6], published, atol=0.03)  # sampling error


def test_mushrooms_rank(mushroom_rows: list[list[str]]) -> None:
    assert len(mushroom_rows) == 8124
    columns = [j for j in range(1, 23) if j != 11]  # the column with unknown cells is left out
    values = [(j, v) for j in columns for v in sorted({row[j] for row in mushroom_rows})]
    incidence = np.array([[float(row[j] == v) for j, v in values] for row in mushroom_rows])
    assert incidence.shape == (8124, 112)
    graph_rank = np.linalg.matrix_rank(incidence.T @ incidence, hermitian=True)
    assert graph_rank == 84


# --- graphs -----------------------------------------------------------------------------------


def test_gaussian_adjacency_by_hand() -> None:
    W = reference.gaussian_adjacency([[0.0, 0.0], [3.0, 4.0], [0.0, 0.0]], 10.0)
    a = math.exp(-0.25)
    assert_allclose(W, [[0, a, 1], [a, 0, a], [1, a, 0]], rtol=1e-15)


def test_gaussian_edges_end_where_the_exponential_underflows() -> None:
    W = reference.gaussian_adjacency([[0.0], [27.0], [55.0]], 1.0)
    assert W[0, 1] > 0
    assert W[1, 2] == W[0, 2] == 0
    assert_array_equal(reference.components(W), [0, 0, 1])


def test_hypergraph_by_hand() -> None:
    H = np.array([[1, 1, 0, 0], [1, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1], [0, 0, 0, 0]])
    graph = reference.hypergraph(H, [3.0, 4.0, 9.0, 5.0])  # the third hyperedge is empty
    assert_array_equal(graph.D_E, [3, 2, 1])
    assert_array_equal(graph.w_E, [3, 4, 5])
    assert_allclose(graph.D_V, [7, 7, 3, 5, 0])
    assert_allclose(graph.S_H, [3, 3, 1, 5, 0])
    assert_allclose(graph.D, [4, 4, 2, 0, 0])
    assert_allclose(graph.W[:3, :3], [[0, 3, 1], [3, 0, 1], [1, 1, 0]])
    assert_array_equal(graph.W[3:], 0)
    dropped = reference.hypergraph(H, [3.0, 4.0, 9.0, 5.0], singletons="drop")
    assert_array_equal(dropped.D_V, [7, 7, 3, 0, 0])
    assert_array_equal(dropped.W, graph.W)


@given(strategies.hypergraph_problems())
def test_hypergraph_is_a_graph_with_loops(problem: Any) -> None:
    graph = reference.hypergraph(*problem)
    close(graph.W_H.sum(axis=1), graph.D_V)
    close(graph.W.sum(axis=1), graph.D)
    close(graph.D + graph.S_H, graph.D_V)


@given(strategies.adjacency_matrices())
def test_components_are_the_reachable_sets(W: np.ndarray) -> None:
    labels = reference.components(W)
    reachable = np.linalg.matrix_power(np.eye(len(W)) + (W > 0), len(W)) > 0
    assert_array_equal(reachable, labels[:, None] == labels)
    firsts = [list(labels).index(c) for c in range(labels.max() + 1)]
    assert firsts == sorted(firsts)


# --- Laplacians and spectra -------------------------------------------------------------------


@given(strategies.adjacency_matrices(), st.data())
def test_spectrum_decomposes_the_laplacian(matrix: np.ndarray, data: st.DataObject) -> None:
    W, loops = reference.without_loops(matrix)
    s = reference.smoother_diagonal(data.draw(strategies.smoothers(len(W))), loops)
    L = reference.smoothed_laplacian(W, s)
    result = reference.spectrum(W, s)
    U = result.eigenvectors
    close(U.T @ U, np.eye(len(W)), TOL)
    close(U @ np.diag(result.eigenvalues) @ U.T, L, TOL)
    close(L @ reference.null_vectors(W, s), np.zeros((len(W), result.n_zero)), TOL)
    assert result.n_zero == reference.components(W).max() + 1
    assert np.all(np.diff(result.eigenvalues) >= 0)
    assert np.all(result.eigenvalues[result.n_zero :] > 1e-4)
    assert np.all(result.eigenvalues <= 2 + TOL)
    linked = W.sum(axis=1) > 0
    with np.errstate(divide="ignore", invalid="ignore"):
        T = np.diag(np.where(linked, (W.sum(axis=1) + s) ** -0.5, 0.0))
    close(L, np.diag(linked.astype(float)) - T @ (W + np.diag(s)) @ T, TOL)  # second form of A2.3


@given(strategies.gaussian_problems(extreme=True))
def test_spectrum_counts_components_under_extreme_weights(problem: Any) -> None:
    W = reference.gaussian_adjacency(*problem)
    result = reference.spectrum(W)
    assert result.n_zero == len(set(reference.components(W)))
    close(result.eigenvectors.T @ result.eigenvectors, np.eye(len(W)), TOL)
    assert np.all(result.eigenvalues >= -1e-14)


@given(strategies.gaussian_problems())
def test_moderate_gaussian_graphs_are_connected(problem: Any) -> None:
    W = reference.gaussian_adjacency(*problem)
    assert np.all(W[~np.eye(len(W), dtype=bool)] > 0.99e-5)


@given(strategies.hypergraph_problems())
def test_hypergraph_laplacian_is_the_smoothed_one(problem: Any) -> None:
    graph = reference.hypergraph(*problem)
    tilde = reference.normalised_incidence(graph)
    covered = np.diag((graph.D_V > 0).astype(float))
    L = reference.smoothed_laplacian(graph.W, graph.S_H)
    close(L, covered - tilde @ tilde.T, TOL)  # equation (5) and A3.2
    assert np.all(np.linalg.eigvalsh(L) <= 1 + TOL)


def test_signs() -> None:
    U = np.array([[-1.0, 0.5, -2.0], [1.0 - 1e-9, -1.0, -1.0], [0.0, 0.2, 2.1]])
    expected = U * [-1, -1, 1]
    assert_array_equal(reference.canonical_signs(U), expected)


def test_smoothers() -> None:
    own = np.array([0.5, 2.0])
    cases: list[tuple[Any, list[float]]] = [
        (None, [0.5, 2.0]),
        ("none", [0, 0]),
        ("identity", [1, 1]),
        ("hypergraph", [0.5, 2.0]),
        ("combined", [1.5, 3.0]),
        (3.0, [3, 3]),
        (np.array([4.0, 5.0]), [4, 5]),
    ]
    for smoother, expected in cases:
        assert_array_equal(reference.smoother_diagonal(smoother, own), expected)


# --- filters and kernels ----------------------------------------------------------------------


def test_filters_by_hand() -> None:
    assert reference.linear(0.5, largest=2.0) == 0.75
    assert reference.quadratic(0.5) == 0.25
    assert reference.polynomial(2.0, [1, -2, 3]) == 9
    assert reference.pseudoinverse(0.5, scale=0.1) == 0.2
    assert reference.pseudoinverse(0.0) == reference.zero_impulse(0.1) == 0.0
    assert reference.heat(0.5, time=2.0) == math.exp(-1)
    assert reference.regularized_inverse(0.2, epsilon=0.3) == 2.0
    assert reference.constant(9.0, value=4.0) == 4.0
    assert (reference.high_pass(0.0), reference.high_pass(0.1)) == (0.0, 1.0)
    assert (reference.high_pass(0.5, cutoff=0.5), reference.zero_impulse(0.0)) == (0.0, 1.0)


@given(strategies.filter_cases(), st.floats(0.05, 1.0), st.floats(1.0, 2.0))
def test_filter_cases_pair_filter_and_formula(case: Any, smallest: float, largest: float) -> None:
    eigenvalues = np.array([0.0, smallest, (smallest + largest) / 2, largest])
    bound = case.filter.bind(smallest_nonzero=smallest, largest=largest)
    expected = reference.response(case.phi(smallest, largest), eigenvalues)
    assert case.filter.needs == case.needs
    close(bound(eigenvalues), expected, TOL)


@given(strategies.adjacency_matrices())
def test_pseudoinverse_kernel_is_the_moore_penrose_inverse(W: np.ndarray) -> None:
    result = reference.spectrum(W)
    L = reference.smoothed_laplacian(W)
    expected = np.linalg.pinv(L, rcond=1e-9, hermitian=True)
    close(reference.kernel(result, reference.pseudoinverse), expected, 1e-8)


@given(strategies.adjacency_matrices(), st.lists(st.floats(-2, 2), min_size=1, max_size=4))
def test_polynomial_kernel_two_ways(W: np.ndarray, coefficients: list[float]) -> None:
    def phi(lam: float) -> float:
        return reference.polynomial(lam, coefficients)

    result = reference.spectrum(W, 1.0)
    L = reference.smoothed_laplacian(W, 1.0)
    close(reference.kernel(result, phi), reference.polynomial_kernel(L, coefficients), TOL)


@given(strategies.adjacency_matrices(min_nodes=2), strategies.filter_cases(), st.data())
def test_lemma_1(W: np.ndarray, case: Any, data: st.DataObject) -> None:
    result = reference.spectrum(W)
    assume(not case.needs or result.largest > 0)
    phi = case.phi_on(result)
    rank = data.draw(st.integers(1, len(W)))
    K = reference.kernel(result, phi)
    truncated, error = reference.low_rank_kernel(result, phi, rank)
    left_out = np.sort(np.abs(reference.response(phi, result.eigenvalues)))[::-1][rank:]
    scale = max(1.0, np.abs(K).max())
    assert_allclose(error, math.sqrt(np.sum(left_out**2)), atol=1e-9 * scale)
    singular = np.linalg.svd(K, compute_uv=False)
    assert_allclose(error, np.linalg.norm(singular[rank:]), atol=1e-9 * scale)  # Eckart-Young
    assert np.linalg.matrix_rank(truncated, tol=1e-8 * scale) <= rank
    assert reference.cut_gap(result, phi, rank) >= 0


# --- structured kernels on hypergraphs --------------------------------------------------------


@given(strategies.hypergraph_problems(), strategies.filter_cases())
def test_full_rank_kernel(problem: Any, case: Any) -> None:
    graph = reference.hypergraph(*problem)
    result = reference.spectrum(graph.W, graph.S_H)
    assume(not case.needs or result.largest > 0)
    phi = case.phi_on(result)
    close(reference.hypergraph_full_rank_kernel(graph, phi), reference.kernel(result, phi), 1e-8)


@given(strategies.hypergraph_problems(), st.lists(st.floats(-2, 2), min_size=1, max_size=5))
def test_structured_polynomials(problem: Any, coefficients: list[float]) -> None:
    graph = reference.hypergraph(*problem)
    L = reference.smoothed_laplacian(graph.W, graph.S_H)
    expected = reference.polynomial_kernel(L, coefficients)
    close(reference.hypergraph_polynomial_kernel(graph, coefficients), expected, TOL)
    a0, a1 = coefficients[0], coefficients[-1]
    affine = reference.hypergraph_affine_kernel(graph, a0, a1)
    close(affine, reference.polynomial_kernel(L, [a0, a1]), TOL)


@given(strategies.hypergraph_problems(), st.data())
def test_smoothed_structured_polynomials(problem: Any, data: st.DataObject) -> None:
    graph = reference.hypergraph(*problem)
    s = reference.smoother_diagonal(data.draw(strategies.smoothers(len(graph.H))), graph.S_H)
    L = reference.smoothed_laplacian(graph.W, s)
    calD, Z = reference.smoothed_splitting(graph, s)
    close(np.diag(calD) - Z @ Z.T, L, TOL)
    close(
        reference.smoothed_affine_kernel(graph, s, 0.5, -2.0),
        reference.polynomial_kernel(L, [0.5, -2.0]),
        TOL,
    )
    close(
        reference.smoothed_quadratic_kernel(graph, s, [1.0, -2.0, 3.0]),
        reference.polynomial_kernel(L, [1.0, -2.0, 3.0]),
        TOL,
    )


def test_taylor_coefficients() -> None:
    assert reference.taylor_at_one([1.0, -2.0, 1.0]) == [0.0, 0.0, 1.0]  # (1 - lambda)^2
