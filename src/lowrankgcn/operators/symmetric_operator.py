"""Symmetric operators: n×n matrices that are applied but not stored.

The Laplacian of a dense graph is used through its products only. An operator provides its shape,
products with blocks of vectors, its diagonal and, for small n, its dense form. Structured
Laplacians and kernels (appendix A3) have the form diag(d) + Z M Zᵀ with a tall factor Z:

>>> import numpy as np
>>> from lowrankgcn.operators import DiagonalPlusLowRank, MatrixFactor
>>> Z = MatrixFactor(np.array([[1.0], [2.0]]))
>>> A = DiagonalPlusLowRank(np.array([1.0, 1.0]), Z, np.array([-0.5]))
>>> A @ np.array([1.0, 0.0])
array([ 0.5, -1. ])
>>> A.to_dense()
array([[ 0.5, -1. ],
       [-1. , -1. ]])
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import scipy.sparse.linalg as spla
from numpy.typing import NDArray

from lowrankgcn._parallel import chunks
from lowrankgcn._validation import finite_array, invalid, node_index
from lowrankgcn.operators.factors import Factor, FloatArray

DENSE_LIMIT = 2048  # largest n for an n×n matrix (32 MB) that was not asked for
_DENSE_ENTRIES = 2**18  # entries of a factor that are evaluated at a time


class SymmetricOperator(ABC):
    """A real symmetric n×n operator.

    Subclasses define ``n``, ``_apply`` for blocks of vectors and ``diagonal``. They override
    ``_apply_rows`` if selected rows are cheaper than all of them.

    Examples
    --------
    Every Laplacian and every kernel is a symmetric operator:

    >>> import numpy as np
    >>> import lowrankgcn as lg
    >>> from lowrankgcn.operators import SymmetricOperator
    >>> L = lg.Laplacian(lg.AdjacencyGraph([[0, 1, 0], [1, 0, 1], [0, 1, 0]]))
    >>> isinstance(L, SymmetricOperator), L.shape
    (True, (3, 3))
    >>> L.rows([0], np.array([1.0, 0.0, 0.0]))
    array([1.])
    """

    # __array_ufunc__ = None lets ``ndarray @ operator`` reach __rmatmul__ instead of NumPy's loop.
    __array_ufunc__ = None

    @property
    @abstractmethod
    def n(self) -> int:
        """Number of rows and columns."""

    @abstractmethod
    def _apply(self, X: FloatArray) -> FloatArray:
        """Multiply with a block X of shape (n, k)."""

    @abstractmethod
    def diagonal(self) -> FloatArray:
        """Return the diagonal, shape (n,)."""

    @property
    def shape(self) -> tuple[int, int]:
        """The pair (n, n)."""
        return (self.n, self.n)

    @property
    def dtype(self) -> np.dtype[np.float64]:
        """Always float64."""
        return np.dtype(np.float64)

    def __matmul__(self, X: Any) -> FloatArray:
        """Multiply with a vector (n,) or a block (n, k)."""
        product = self._apply(self._block(X))
        return product[:, 0] if np.ndim(X) == 1 else product

    def __rmatmul__(self, X: Any) -> FloatArray:
        """Compute X @ operator = (operator @ Xᵀ)ᵀ."""
        return np.asarray((self @ finite_array(X, "X", ndim=(1, 2)).T).T)

    def rows(self, index: Any, X: Any) -> FloatArray:
        """Return selected rows of the product, ``(self @ X)[index]``."""
        index = node_index(index, "index", self.n)
        selected = self._apply_rows(index, self._block(X))
        return selected[:, 0] if np.ndim(X) == 1 else selected

    def _apply_rows(self, index: NDArray[np.intp], X: FloatArray) -> FloatArray:
        return self._apply(X)[index]

    def to_dense(self) -> FloatArray:
        """Return the n×n array, for tests and small n."""
        dense = self._apply(np.eye(self.n))
        return (dense + dense.T) / 2

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """Return the n×n array for ``np.asarray``, for n up to 2048."""
        if copy is False:
            raise ValueError("copy: expected None or True, got False; the n×n array is computed")
        if self.n > DENSE_LIMIT:
            expected = f"at most {DENSE_LIMIT} nodes to form an n×n array implicitly"
            raise invalid("operator", expected, f"{self.n}; use to_dense() if memory allows")
        return self.to_dense().astype(dtype, copy=False)

    def as_linear_operator(self) -> spla.LinearOperator:
        """Return the operator as a SciPy ``LinearOperator``."""
        products = dict.fromkeys(("matvec", "rmatvec", "matmat", "rmatmat"), self.__matmul__)
        return spla.LinearOperator(self.shape, dtype=self.dtype, **products)

    def _block(self, X: Any) -> FloatArray:
        block = finite_array(X, "X", ndim=(1, 2))
        if block.shape[0] != self.n:
            raise invalid("X", f"shape ({self.n},) or ({self.n}, k)", f"shape {block.shape}")
        return block.reshape(self.n, -1)


@final
@dataclass(frozen=True, eq=False)
class MatrixOperator(SymmetricOperator):
    """A symmetric matrix stored as an array or as a sparse matrix.

    Examples
    --------
    >>> import numpy as np
    >>> from lowrankgcn.operators import MatrixOperator
    >>> A = MatrixOperator(np.array([[2.0, 1.0], [1.0, 3.0]]))
    >>> A @ np.array([1.0, 0.0])
    array([2., 1.])
    """

    matrix: Any  # (n, n), array or csr_array

    @property
    def n(self) -> int:
        """Number of rows and columns."""
        return int(self.matrix.shape[0])

    def _apply(self, X: FloatArray) -> FloatArray:
        return np.asarray(self.matrix @ X)

    def _apply_rows(self, index: NDArray[np.intp], X: FloatArray) -> FloatArray:
        return np.asarray(self.matrix[index] @ X)

    def diagonal(self) -> FloatArray:
        """Return the diagonal, shape (n,)."""
        return np.asarray(self.matrix.diagonal().copy())


@final
@dataclass(frozen=True, eq=False)
class DiagonalPlusLowRank(SymmetricOperator):
    """The operator diag(d) + Z M Zᵀ.

    Parameters
    ----------
    offset : (n,) array
        The diagonal d.
    factor : Factor
        The tall factor Z, shape (n, m).
    core : None, (m,) or (m, m) array
        The small matrix M: the identity, a diagonal, or a symmetric matrix.

    Notes
    -----
    A product with k vectors costs two products with the factor, O(n m k) if it is stored, and
    O(n k) memory.

    Examples
    --------
    >>> import numpy as np
    >>> from lowrankgcn.operators import DiagonalPlusLowRank, MatrixFactor
    >>> Z = MatrixFactor(np.array([[1.0], [2.0]]))
    >>> DiagonalPlusLowRank(np.array([3.0, 3.0]), Z).to_dense()
    array([[4., 2.],
           [2., 7.]])
    """

    offset: FloatArray
    factor: Factor
    core: FloatArray | None = None

    @property
    def n(self) -> int:
        """Number of rows and columns."""
        return self.factor.shape[0]

    def _apply(self, X: FloatArray) -> FloatArray:
        product = self.factor @ self._core_product(self.factor.transpose_product(X))
        if self.offset.any():  # a plain low-rank matrix needs no second (n, k) array
            product += self.offset[:, None] * X
        return product

    def _apply_rows(self, index: NDArray[np.intp], X: FloatArray) -> FloatArray:
        inner = self._core_product(self.factor.transpose_product(X))
        return self.factor.take(index) @ inner + self.offset[index][:, None] * X[index]

    def _core_product(self, V: FloatArray) -> FloatArray:
        if self.core is None:
            return V
        return self.core[:, None] * V if self.core.ndim == 1 else self.core @ V

    def diagonal(self) -> FloatArray:
        """Return the diagonal, shape (n,)."""
        diagonal = self.offset.copy()
        for start, stop in chunks(self.n, max(1, _DENSE_ENTRIES // (1 + self.factor.shape[1]))):
            rows = self.factor.take(np.arange(start, stop)).T
            diagonal[start:stop] += np.einsum("ij,ij->j", self._core_product(rows), rows)
        return diagonal


@final
@dataclass(frozen=True, eq=False)
class PolynomialOperator(SymmetricOperator):
    """The operator Σ_j a_j L^j, applied by Horner's rule (section A3.3).

    A product costs as many products with L as the degree.

    Examples
    --------
    >>> import numpy as np
    >>> from lowrankgcn.operators import MatrixOperator, PolynomialOperator
    >>> L = MatrixOperator(np.diag([0.0, 2.0]))
    >>> PolynomialOperator(L, (1.0, 0.0, 3.0)).to_dense().diagonal()  # 1 + 3 L²
    array([ 1., 13.])
    """

    operator: SymmetricOperator
    coefficients: tuple[float, ...]  # a_0, a_1, …

    @property
    def n(self) -> int:
        """Number of rows and columns."""
        return self.operator.n

    def _apply(self, X: FloatArray) -> FloatArray:
        product = self.coefficients[-1] * X
        for coefficient in reversed(self.coefficients[:-1]):
            product = self.operator @ product
            product += coefficient * X
        return product

    def diagonal(self) -> FloatArray:
        """Return the diagonal, shape (n,); costs products with n unit vectors beyond degree one."""
        if len(self.coefficients) <= 2:
            constant, *linear = self.coefficients
            return constant + sum(linear) * self.operator.diagonal()
        diagonal = np.empty(self.n)
        for start, stop in chunks(self.n, 256):
            units = np.eye(self.n, stop - start, -start)
            diagonal[start:stop] = self._apply(units)[start:stop].diagonal()
        return diagonal
