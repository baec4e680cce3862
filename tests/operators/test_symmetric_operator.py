"""The operator contract accepts a minimal operator and catches broken ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from lowrankgcn.operators.symmetric_operator import SymmetricOperator
from tests.support.contracts.operator_contract import OperatorContract, check_operator

A = np.array([[2.0, -1.0, 0.5, 0.0], [-1.0, 3.0, 0.0, 0.0], [0.5, 0.0, 1.0, 4.0], [0, 0, 4.0, 0.0]])


class Plain(SymmetricOperator):
    """An operator with the abstract methods only."""

    def __init__(self, matrix: np.ndarray) -> None:
        self.matrix = matrix

    @property
    def n(self) -> int:
        return len(self.matrix)

    def _apply(self, X: Any) -> Any:
        return self.matrix @ X

    def diagonal(self) -> Any:
        return np.diag(self.matrix).copy()


class TestPlain(OperatorContract):
    @pytest.fixture(params=[A, A[:1, :1], np.zeros((3, 3))], ids=["4", "1", "zero"])
    def case(self, request: pytest.FixtureRequest) -> tuple[Plain, np.ndarray]:
        return Plain(request.param), request.param


class _Asymmetric(Plain):
    def _apply(self, X: Any) -> Any:
        return np.triu(self.matrix) @ X


class _WrongDiagonal(Plain):
    def diagonal(self) -> Any:
        return np.ones(self.n)


class _Overwriting(Plain):
    def _apply(self, X: Any) -> Any:
        X[:] = self.matrix @ X
        return X


class _WrongRows(Plain):
    def _apply_rows(self, index: Any, X: Any) -> Any:
        return self._apply(X)[np.sort(index)]


class _SinglePrecision(Plain):
    def _apply(self, X: Any) -> Any:
        return super()._apply(X).astype(np.float32)


class _Unchecked(Plain):
    def _block(self, X: Any) -> Any:
        return np.asarray(X, dtype=np.float64).reshape(self.n, -1)


class _FlatEmpty(Plain):
    def _apply(self, X: Any) -> Any:
        return super()._apply(X) if X.size else np.zeros(self.n)


BROKEN = (
    _Asymmetric,
    _WrongDiagonal,
    _Overwriting,
    _WrongRows,
    _SinglePrecision,
    _Unchecked,
    _FlatEmpty,
)


def test_contract_catches_broken_operators() -> None:
    for operator_type in BROKEN:
        with pytest.raises((AssertionError, ValueError, IndexError, pytest.fail.Exception)):
            check_operator(operator_type(A.copy()), A)


def test_operator_is_abstract() -> None:
    with pytest.raises(TypeError, match="abstract"):
        SymmetricOperator()  # type: ignore[abstract]


def test_ragged_lists_are_rejected() -> None:
    operator = Plain(A.copy())
    with pytest.raises(ValueError, match=r"^X: expected a real numeric array with 1 or 2 dim"):
        operator @ [[1.0], [1.0, 2.0]]
    with pytest.raises(ValueError, match=r"^X: expected a real numeric array with 1 or 2 dim"):
        [[1.0], [1.0, 2.0]] @ operator


def test_operators_become_arrays() -> None:
    operator = Plain(A)
    np.testing.assert_array_equal(np.asarray(operator), A)
    single = np.asarray(operator, dtype=np.float32)
    assert single.dtype == np.float32
    np.testing.assert_array_equal(single, A)
    np.testing.assert_array_equal(np.linalg.eigvalsh(operator), np.linalg.eigvalsh(A))
    np.array(operator)[0, 0] = 7.0  # a copy
    assert operator.matrix[0, 0] == A[0, 0]
    with pytest.raises(ValueError, match=r"^copy: expected None or True, got False"):
        np.array(operator, copy=False)
    # Products still use the operator.
    np.testing.assert_array_equal(np.eye(4) @ operator, A)


class _Large(Plain):
    @property
    def n(self) -> int:
        return 2049


def test_large_operators_do_not_become_arrays_unasked() -> None:
    expected = r"^operator: expected at most 2048 nodes to form .* got 2049; use to_dense\(\)"
    with pytest.raises(ValueError, match=expected):
        np.asarray(_Large(A))
