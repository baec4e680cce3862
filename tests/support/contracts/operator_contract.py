"""One contract for every symmetric operator and one for every tall factor.

A test class supplies an implementation and its dense form; the contract checks everything an
operator guarantees against that dense form:

    class TestDenseOperator(OperatorContract):
        @pytest.fixture
        def case(self):
            A = np.array([[2.0, 1.0], [1.0, 3.0]])
            return MatrixOperator(A), A

A fixture with ``params`` covers several variants; ``tolerance`` is a class attribute for operators
that approximate. Property tests call :func:`check_operator` or :func:`check_factor` directly.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import pytest
import scipy.sparse.linalg as spla
from numpy.testing import assert_allclose, assert_array_equal

TOLERANCE = 1e-12


def close(actual: Any, expected: Any, tolerance: float = TOLERANCE) -> None:
    """Assert equal shapes, float64, and entries equal up to `tolerance` times the largest entry."""
    expected = np.asarray(expected)
    assert isinstance(actual, np.ndarray), type(actual)
    assert actual.dtype == np.float64, actual.dtype
    assert actual.shape == expected.shape, (actual.shape, expected.shape)
    scale = max(1.0, float(np.abs(expected).max(initial=0.0)))
    assert_allclose(actual, expected, rtol=0, atol=tolerance * scale)


def block(rows: int, columns: int, seed: int = 0) -> np.ndarray:
    """Return a reproducible block of vectors."""
    return np.random.default_rng(seed).standard_normal((rows, columns))


def indices(n: int) -> list[Any]:
    """Return all kinds of row index: empty, one, reversed with repeats, small integers, mask."""
    return [
        [],
        [n - 1],
        np.array([*reversed(range(n)), 0, 0]),
        np.arange(n, dtype=np.uint16),
        np.arange(n) % 2 == 0,
    ]


# --- symmetric operators ----------------------------------------------------------------------


def shape_and_dtype(operator: Any, dense: np.ndarray, tolerance: float) -> None:
    """Check n, shape and dtype."""
    n = len(dense)
    assert operator.n == n
    assert isinstance(operator.n, int)
    assert operator.shape == (n, n) == dense.shape
    assert operator.dtype == np.float64


def product_with_vector(operator: Any, dense: np.ndarray, tolerance: float) -> None:
    """Check (n,) in, (n,) out, from arrays and from lists."""
    x = block(len(dense), 1)[:, 0]
    close(operator @ x, dense @ x, tolerance)
    close(operator @ x.tolist(), dense @ x, tolerance)


def product_with_blocks(operator: Any, dense: np.ndarray, tolerance: float) -> None:
    """Check (n, k) in, (n, k) out for no, one, few, and more than n columns."""
    n = len(dense)
    for k in (0, 1, 2, 3, n + 2):
        X = block(n, k)
        close(operator @ X, dense @ X, tolerance)


def product_with_any_layout(operator: Any, dense: np.ndarray, tolerance: float) -> None:
    """Check column-major, strided, read-only, integer and float32 blocks."""
    n = len(dense)
    X = np.round(16 * block(n, 4))  # exact in every dtype below
    frozen = X.copy()
    frozen.flags.writeable = False
    strided = np.repeat(X, 2, axis=1)[:, ::2]
    variants = (np.asfortranarray(X), strided, frozen, X.astype(int), X.astype(np.float32))
    for variant in variants:
        close(operator @ variant, dense @ X, tolerance)


def input_stays_untouched(operator: Any, dense: np.ndarray, tolerance: float) -> None:
    """Check that neither the argument nor the operator changes by being used."""
    X = block(len(dense), 3)
    before = X.copy()
    first = operator @ X
    assert_array_equal(X, before)
    for result in (first, operator.diagonal(), operator.to_dense()):
        _overwrite(result)
    close(operator @ X, dense @ before, tolerance)
    close(operator.diagonal(), np.diag(dense), tolerance)


def product_from_the_left(operator: Any, dense: np.ndarray, tolerance: float) -> None:
    """Check X @ operator for vectors and blocks."""
    X = block(len(dense), 3)
    close(X.T @ operator, X.T @ dense, tolerance)
    close(X[:, 0] @ operator, X[:, 0] @ dense, tolerance)


def symmetry(operator: Any, dense: np.ndarray, tolerance: float) -> None:
    """Check <x, A y> = <A x, y> for unit vectors, hence all vectors."""
    products = operator @ np.eye(len(dense))
    close(products, products.T, tolerance)


def diagonal(operator: Any, dense: np.ndarray, tolerance: float) -> None:
    """Check the diagonal."""
    close(operator.diagonal(), np.diag(dense), tolerance)


def dense_form(operator: Any, dense: np.ndarray, tolerance: float) -> None:
    """Check to_dense against the dense form."""
    close(operator.to_dense(), dense, tolerance)


def selected_rows(operator: Any, dense: np.ndarray, tolerance: float) -> None:
    """Check rows(index, X) = (A X)[index] for all kinds of index."""
    n = len(dense)
    for X in (block(n, 0), block(n, 3), block(n, 1)[:, 0]):
        for index in indices(n):
            close(operator.rows(index, X), (dense @ X)[_positions(index)], tolerance)


def scipy_interop(operator: Any, dense: np.ndarray, tolerance: float) -> None:
    """Check the LinearOperator: products, transposes, and a run of ARPACK."""
    n = len(dense)
    linear = operator.as_linear_operator()
    assert isinstance(linear, spla.LinearOperator)
    assert linear.shape == (n, n)
    assert linear.dtype == np.float64
    X = block(n, 3)
    close(linear @ X, dense @ X, tolerance)
    close(linear.T @ X, dense.T @ X, tolerance)
    close(linear.matvec(X[:, 0]), dense @ X[:, 0], tolerance)
    close(linear.matmat(X[:, :1]), dense @ X[:, :1], tolerance)
    close(linear.rmatvec(X[:, 0]), dense.T @ X[:, 0], tolerance)
    close((2.0 * linear) @ X, 2 * dense @ X, tolerance)
    if n >= 4 and dense.any():  # ARPACK has no start in the range of zero
        largest = spla.eigsh(linear, 1, which="LA", v0=X[:, 0], return_eigenvectors=False)
        scale = max(1.0, float(np.abs(dense).max()))
        expected = np.linalg.eigvalsh(dense)[-1]
        assert_allclose(largest, expected, rtol=0, atol=n * scale * max(tolerance, 1e-10))


def wrong_vectors_rejected(operator: Any, dense: np.ndarray, tolerance: float) -> None:
    """Check that wrong shapes, NaN, infinity and complex numbers raise ValueError naming X."""
    n = len(dense)
    nan_vector = np.ones(n)
    nan_vector[n // 2] = np.nan
    infinite = np.ones((n, 2))
    infinite[0, 1] = np.inf
    shapes: list[tuple[int, ...]] = [(n + 1,), (n - 1,), (n + 1, 2), (n - 1, 2), (n, 1, 1), ()]
    if n > 1:
        shapes += [(1,), (1, n), (1, 1)]
    wrong = [np.ones(shape) for shape in shapes] + [nan_vector, infinite, np.ones(n) * 1j]
    for X in wrong:
        with pytest.raises(ValueError, match=r"^X: expected"):
            operator @ X
        with pytest.raises(ValueError, match=r"^X: expected"):
            operator.rows([0], X)


def wrong_rows_rejected(operator: Any, dense: np.ndarray, tolerance: float) -> None:
    """Check that rows outside the operator raise ValueError naming the index."""
    n = len(dense)
    for index in ([n], [-1], [0.0], [[0]], 0, np.ones(n + 1, dtype=bool)):
        with pytest.raises(ValueError, match=r"^index: expected"):
            operator.rows(index, np.ones(n))


OPERATOR_CHECKS: list[Callable[[Any, np.ndarray, float], None]] = [
    shape_and_dtype,
    product_with_vector,
    product_with_blocks,
    product_with_any_layout,
    input_stays_untouched,
    product_from_the_left,
    symmetry,
    diagonal,
    dense_form,
    selected_rows,
    scipy_interop,
    wrong_vectors_rejected,
    wrong_rows_rejected,
]


def check_operator(operator: Any, dense: np.ndarray, *, tolerance: float = TOLERANCE) -> None:
    """Run the whole contract of a SymmetricOperator against its dense form."""
    for check in OPERATOR_CHECKS:
        check(operator, dense, tolerance)


class OperatorContract:
    """Mixin for test classes with a fixture ``case`` that returns (operator, dense form)."""

    tolerance: ClassVar[float] = TOLERANCE

    def test_operator(self, case: tuple[Any, np.ndarray]) -> None:
        check_operator(*case, tolerance=self.tolerance)


# --- tall factors -----------------------------------------------------------------------------


def factor_shape(factor: Any, dense: np.ndarray, tolerance: float) -> None:
    """Check shape and to_dense."""
    assert factor.shape == dense.shape
    assert all(type(side) is int for side in factor.shape)
    close(factor.to_dense(), dense, tolerance)


def factor_product(factor: Any, dense: np.ndarray, tolerance: float) -> None:
    """Check F V for vectors and blocks, empty ones included."""
    m = dense.shape[1]
    close(factor @ block(m, 1)[:, 0], dense @ block(m, 1)[:, 0], tolerance)
    for k in (0, 1, 3):
        close(factor @ block(m, k), dense @ block(m, k), tolerance)
        close(factor @ np.asfortranarray(block(m, k)), dense @ block(m, k), tolerance)


def factor_transpose_product(factor: Any, dense: np.ndarray, tolerance: float) -> None:
    """Check F^T diag(s) X for vectors and blocks of both types, and <F v, x> = <v, F^T x>."""
    n, m = dense.shape
    scale = block(n, 1, seed=3)[:, 0]
    close(factor.transpose_product(block(n, 1)[:, 0]), dense.T @ block(n, 1)[:, 0], tolerance)
    for k in (0, 1, 3):
        close(factor.transpose_product(block(n, k)), dense.T @ block(n, k), tolerance)
        single = block(n, k).astype(np.float32)
        product = factor.transpose_product(single)
        assert product.dtype == np.float64
        close(product, dense.T @ single.astype(np.float64), tolerance)
        scaled = scale[:, None] * block(n, k)
        close(factor.transpose_product(block(n, k), scale), dense.T @ scaled, tolerance)
    V, X = block(m, 2, seed=1), block(n, 2, seed=2)
    close((factor @ V).T @ X, V.T @ factor.transpose_product(X), tolerance)


def factor_gram(factor: Any, dense: np.ndarray, tolerance: float) -> None:
    """Check F^T diag(s)^2 F without a scale and with one of either sign."""
    scale = block(len(dense), 1)[:, 0]
    close(factor.gram(), dense.T @ dense, tolerance)
    close(factor.gram(scale), dense.T @ np.diag(scale**2) @ dense, tolerance)
    close(factor.gram(0 * scale), np.zeros((dense.shape[1],) * 2), tolerance)


def factor_take(factor: Any, dense: np.ndarray, tolerance: float) -> None:
    """Check selected rows: none, one, all, reversed with repeats."""
    n = len(dense)
    for index in ([], [n - 1], range(n), [*reversed(range(n)), 0]):
        positions = np.array(index, dtype=np.intp)
        close(factor.take(positions), dense[positions], tolerance)


def factor_stays_untouched(factor: Any, dense: np.ndarray, tolerance: float) -> None:
    """Check that arguments do not change and that results belong to the caller."""
    n, m = dense.shape
    V, X = block(m, 2), block(n, 2)
    scale = block(n, 1)[:, 0]
    before = [a.copy() for a in (V, X, scale)]
    results = (factor @ V, factor.transpose_product(X), factor.gram(scale), factor.gram())
    results += (factor.take(np.arange(n)),)
    for argument, copy in zip((V, X, scale), before, strict=True):
        assert_array_equal(argument, copy)
    for result in results:
        _overwrite(result)
    close(factor.to_dense(), dense, tolerance)


def factor_wrong_shapes_rejected(factor: Any, dense: np.ndarray, tolerance: float) -> None:
    """Check that vectors and blocks that are too long raise ValueError."""
    n, m = dense.shape
    for shape in ((m + 2,), (m + 2, 2)):
        with pytest.raises(ValueError):
            factor @ np.ones(shape)
    for shape in ((n + 2,), (n + 2, 2)):
        with pytest.raises(ValueError):
            factor.transpose_product(np.ones(shape))


FACTOR_CHECKS: list[Callable[[Any, np.ndarray, float], None]] = [
    factor_shape,
    factor_product,
    factor_transpose_product,
    factor_gram,
    factor_take,
    factor_stays_untouched,
    factor_wrong_shapes_rejected,
]


def check_factor(factor: Any, dense: np.ndarray, *, tolerance: float = TOLERANCE) -> None:
    """Run the whole contract of a Factor against its dense form."""
    for check in FACTOR_CHECKS:
        check(factor, dense, tolerance)


class FactorContract:
    """Mixin for test classes with a fixture ``case`` that returns (factor, dense form)."""

    tolerance: ClassVar[float] = TOLERANCE

    def test_factor(self, case: tuple[Any, np.ndarray]) -> None:
        check_factor(*case, tolerance=self.tolerance)


def _overwrite(result: np.ndarray) -> None:
    # The caller may change a result unless it is read-only; neither may change the operator.
    if result.flags.writeable:
        result[...] = np.nan


def _positions(index: Any) -> np.ndarray:
    array = np.asarray(index)
    return np.flatnonzero(array) if array.dtype == bool else array.astype(np.intp)
