"""The oracle against what is known in closed form, and against itself."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
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


# --- known spectra ----------------------------------------------------------------------------


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


# --- graphs -----------------------------------------------------------------------------------


def test_gaussian_adjacency_by_hand() -> None:
    W = reference.gaussian_adjacency([[0.0, 0.0], [3.0, 4.0], [0.0, 0.0]], 10.0)
    a = math.exp(-0.25)
    assert_allclose(W, [[0, a, 1], [a, 0, a], [1, a, 0]], rtol=1e-15)


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
