"""Dense, sparse and scaled factors against the factor contract."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from lowrankgcn.operators.factors import Factor, MatrixFactor, ScaledFactor
from tests.support.cases import strategies
from tests.support.contracts.operator_contract import FactorContract, block, check_factor, close
from tests.support.oracles import reference

TALL = block(7, 3, seed=3)
WIDE = block(2, 5, seed=4)  # more columns than rows: |E| > n
GAPS = np.where(np.abs(block(6, 4, seed=5)) < 0.7, 0.0, block(6, 4, seed=6))
GAPS[2] = 0.0  # a node in no hyperedge
GAPS[:, 1] = 0.0  # an empty hyperedge
MATRICES = {"wide": WIDE, "gaps": GAPS, "no columns": np.zeros((4, 0))}
ROW_SCALE, COLUMN_SCALE = block(7, 1, seed=7)[:, 0], block(5, 1, seed=8)[:, 0]


class TestDenseFactor(FactorContract):
    @pytest.fixture(params=MATRICES)
    def case(self, request: pytest.FixtureRequest) -> tuple[Factor, np.ndarray]:
        matrix = MATRICES[request.param]
        return MatrixFactor(matrix.copy()), matrix


class TestDenseFactorLayouts(FactorContract):
    @pytest.fixture(params=[np.asfortranarray, lambda F: np.repeat(F, 2, axis=1)[:, ::2]])
    def case(self, request: pytest.FixtureRequest) -> tuple[Factor, np.ndarray]:
        return MatrixFactor(request.param(TALL)), TALL


class TestSparseFactor(FactorContract):
    @pytest.fixture(params=MATRICES)
    def case(self, request: pytest.FixtureRequest) -> tuple[Factor, np.ndarray]:
        matrix = MATRICES[request.param]
        return MatrixFactor(sp.csr_array(matrix)), matrix


class TestSparseFactorWithExplicitZeros(FactorContract):
    @pytest.fixture
    def case(self) -> tuple[Factor, np.ndarray]:
        matrix = sp.csr_array(GAPS)
        matrix.data[::2] = 0.0
        return MatrixFactor(matrix), matrix.toarray()


class TestScaledFactor(FactorContract):
    @pytest.fixture(params=["both", "rows", "columns", "nothing"])
    def case(self, request: pytest.FixtureRequest) -> tuple[Factor, np.ndarray]:
        rows = ROW_SCALE[:6] if request.param in ("both", "rows") else None
        columns = COLUMN_SCALE[:4] if request.param in ("both", "columns") else None
        dense = GAPS.copy()
        if rows is not None:
            dense = np.diag(rows) @ dense
        if columns is not None:
            dense = dense @ np.diag(columns)
        sparse = MatrixFactor(sp.csr_array(GAPS))
        inner = MatrixFactor(GAPS.copy()) if request.param in ("both", "nothing") else sparse
        return ScaledFactor(inner, rows, columns), dense


class TestScaledTwice(FactorContract):
    @pytest.fixture
    def case(self) -> tuple[Factor, np.ndarray]:
        inner = ScaledFactor(MatrixFactor(TALL), ROW_SCALE, COLUMN_SCALE[:3])
        dense = np.diag(ROW_SCALE**2) @ TALL @ np.diag(COLUMN_SCALE[:3])
        return ScaledFactor(inner, ROW_SCALE), dense


class _WrongGram(Factor):
    """Forgets the scale."""

    shape = TALL.shape

    def matmul(self, V: Any, *, out: Any = None) -> Any:
        return TALL @ V

    def transpose_product(self, X: Any, scale: Any = None) -> Any:
        return TALL.T @ (X if scale is None else scale[:, None] * X)

    def gram(self, scale: Any = None) -> Any:
        return TALL.T @ TALL

    def take(self, index: Any) -> Any:
        return TALL[index]


def test_contract_catches_a_broken_factor() -> None:
    with pytest.raises(AssertionError):
        check_factor(_WrongGram(), TALL)


def test_scaled_factor_rejects_length_one() -> None:
    scaled = ScaledFactor(MatrixFactor(TALL), ROW_SCALE, COLUMN_SCALE[:3])
    for method in (scaled.__matmul__, scaled.transpose_product):
        for shape in ((1,), (1, 2)):
            with pytest.raises(ValueError):
                method(np.ones(shape))


@given(problem=strategies.hypergraph_problems(), data=st.data())
def test_normalised_incidence_is_a_scaled_factor(problem: Any, data: st.DataObject) -> None:
    graph = reference.hypergraph(*problem)
    with np.errstate(divide="ignore"):
        rows = np.where(graph.D_V > 0, graph.D_V**-0.5, 0.0)
    columns = np.sqrt(graph.w_E / graph.D_E)
    plain = data.draw(st.sampled_from([MatrixFactor(graph.H), MatrixFactor(sp.csr_array(graph.H))]))
    scaled = ScaledFactor(plain, rows, columns)
    tilde = reference.normalised_incidence(graph)
    close(scaled.to_dense(), tilde)
    close(scaled.gram(), tilde.T @ tilde)
    close(scaled @ (scaled.transpose_product(np.eye(len(tilde)))), tilde @ tilde.T)
