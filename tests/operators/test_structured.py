"""Stored operators against the operator contract, and diag(d) + Z M Zᵀ in all its forms."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from lowrankgcn.operators import (
    DiagonalPlusLowRank,
    Factor,
    MatrixFactor,
    MatrixOperator,
    PolynomialOperator,
    ScaledFactor,
    SymmetricOperator,
)
from lowrankgcn.operators.codes import CodeFactor
from tests.support.cases import strategies
from tests.support.contracts.operator_contract import OperatorContract, block, check_operator, close
from tests.support.oracles import reference

A = block(7, 7, seed=1)
A = A + A.T
GAPS = np.where(np.abs(A) < 1.0, 0.0, A)
GAPS[2], GAPS[:, 2] = 0.0, 0.0  # a node without edges
MATRICES = {"gaps": GAPS, "one": np.array([[3.0]]), "zero": np.zeros((4, 4))}
CORES = {
    "identity": None,
    "diagonal": np.array([2.0, 0.0, -1.5]),
    "matrix": np.array([[1.0, 0.5, 0.0], [0.5, -2.0, 0.1], [0.0, 0.1, 0.0]]),
}
OFFSET = block(7, 1, seed=2)[:, 0]
Z = np.where(np.abs(block(7, 3, seed=3)) < 0.3, 0.0, block(7, 3, seed=3))
CODES = np.asfortranarray(np.array([[0, 1], [0, 2], [3, 1], [0, 3], [3, 3], [0, 2], [0, 1]], "u1"))
FACTORS: dict[str, Factor] = {
    "dense": MatrixFactor(Z),
    "sparse": MatrixFactor(sp.csr_array(Z)),
    "scaled": ScaledFactor(MatrixFactor(Z), OFFSET, np.array([1.0, -2.0, 0.0])),
    "codes": CodeFactor(CODES, 3),
    "transposed layout": MatrixFactor(np.asfortranarray(Z)),
}


class TestDenseOperator(OperatorContract):
    @pytest.fixture(params=MATRICES)
    def case(self, request: pytest.FixtureRequest) -> tuple[SymmetricOperator, np.ndarray]:
        matrix = MATRICES[request.param]
        return MatrixOperator(matrix.copy()), matrix


class TestSparseOperator(OperatorContract):
    @pytest.fixture(params=MATRICES)
    def case(self, request: pytest.FixtureRequest) -> tuple[SymmetricOperator, np.ndarray]:
        matrix = MATRICES[request.param]
        return MatrixOperator(sp.csr_array(matrix)), matrix


class TestDiagonalPlusLowRank(OperatorContract):
    @pytest.fixture(
        params=[
            ("dense", "identity"),
            ("sparse", "diagonal"),
            ("scaled", "matrix"),
            ("codes", "diagonal"),
            ("transposed layout", "matrix"),
        ],
        ids=str,
    )
    def case(self, request: pytest.FixtureRequest) -> tuple[SymmetricOperator, np.ndarray]:
        factor, core = FACTORS[request.param[0]], CORES[request.param[1]]
        F = factor.to_dense()
        M = np.eye(3) if core is None else np.diag(core) if core.ndim == 1 else core
        return DiagonalPlusLowRank(OFFSET, factor, core), np.diag(OFFSET) + F @ M @ F.T


class TestNoColumns(OperatorContract):
    """A hypergraph without hyperedges leaves only the diagonal."""

    @pytest.fixture(params=[None, np.zeros(0), np.zeros((0, 0))], ids=["none", "1-D", "2-D"])
    def case(self, request: pytest.FixtureRequest) -> tuple[SymmetricOperator, np.ndarray]:
        empty = MatrixFactor(np.zeros((7, 0)))
        return DiagonalPlusLowRank(OFFSET, empty, request.param), np.diag(OFFSET)


class TestPolynomialOperator(OperatorContract):
    tolerance = 1e-11  # entries grow like the fourth power

    @pytest.fixture(params=[(2.0,), (1.0, -0.5), (1.0, -1.0, 0.5, 0.0, 0.25)])
    def case(self, request: pytest.FixtureRequest) -> tuple[SymmetricOperator, np.ndarray]:
        coefficients = request.param
        dense = reference.polynomial_kernel(A, coefficients)
        return PolynomialOperator(MatrixOperator(A), coefficients), dense


def test_diagonal_of_a_polynomial_in_several_chunks() -> None:
    n = 600  # more unit vectors than are multiplied at once
    path = sp.diags_array([np.ones(n - 1), np.ones(n - 1)], offsets=[-1, 1], shape=(n, n)).tocsr()
    operator = PolynomialOperator(MatrixOperator(path), (1.0, 2.0, 3.0))
    expected = reference.polynomial_kernel(path.toarray(), (1.0, 2.0, 3.0))
    close(operator.diagonal(), np.diag(expected))


@pytest.mark.parametrize("core", [None, "diagonal"])
def test_diagonal_of_a_wide_factor_needs_no_dense_rows(core: str | None) -> None:
    n, m = 2000, 50_000
    rows, columns = np.arange(n), np.arange(n) * 7 % m
    weights = None if core is None else np.arange(m) / m
    expected = 1.0 + 4.0 * (np.ones(m) if weights is None else weights)[columns]
    sparse = MatrixFactor(sp.csr_array((np.full(n, 2.0), (rows, columns)), shape=(n, m)))
    codes = ScaledFactor(CodeFactor(columns[:, None], m), np.full(n, 2.0))
    for factor in (sparse, codes):
        operator = DiagonalPlusLowRank(np.ones(n), factor, weights)
        tracemalloc.start()
        diagonal = operator.diagonal()
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        close(diagonal, expected)
        assert peak < 10e6  # all rows would be 800 MB


def test_diagonal_with_a_core_in_several_chunks() -> None:
    n = 4096 + 5
    F, M = block(n, 3), CORES["matrix"]
    operator = DiagonalPlusLowRank(np.arange(n) / n, MatrixFactor(F), M)
    close(operator.diagonal(), np.arange(n) / n + np.einsum("ij,jk,ik->i", F, M, F))


@settings(max_examples=15)
@given(problem=strategies.hypergraph_problems(), data=st.data())
def test_smoothed_hypergraph_laplacian_is_diagonal_plus_low_rank(
    problem: Any, data: st.DataObject
) -> None:
    graph = reference.hypergraph(*problem)
    smoother = data.draw(strategies.smoothers(len(graph.D)))
    loops = reference.smoother_diagonal(smoother, graph.S_H)
    diagonal, factor = reference.smoothed_splitting(graph, loops)
    core = np.full(factor.shape[1], -1.0)
    operator = DiagonalPlusLowRank(diagonal, MatrixFactor(sp.csr_array(factor)), core)
    check_operator(operator, reference.smoothed_laplacian(graph.W, loops), tolerance=1e-11)


@given(matrix=strategies.adjacency_matrices(), data=st.data())
def test_sparse_and_dense_operators_agree(matrix: np.ndarray, data: st.DataObject) -> None:
    rows = data.draw(st.lists(st.integers(0, len(matrix) - 1)))
    X = block(len(matrix), 3)
    dense, sparse = MatrixOperator(matrix), MatrixOperator(sp.csr_array(matrix))
    close(sparse @ X, dense @ X)
    close(sparse.rows(rows, X), dense.rows(rows, X))
