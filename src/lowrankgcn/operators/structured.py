"""Operators with a stored structure: a matrix, diagonal plus low rank, polynomial.

``DiagonalPlusLowRank`` represents the structured Laplacians and kernels of appendix A3, which all
have the form diag(d) + Z M Zᵀ with a tall factor Z:

>>> import numpy as np
>>> from lowrankgcn.operators import MatrixFactor
>>> Z = MatrixFactor(np.array([[1.0], [2.0]]))
>>> DiagonalPlusLowRank(np.array([1.0, 1.0]), Z, np.array([-0.5])).to_dense()
array([[ 0.5, -1. ],
       [-1. , -1. ]])
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from lowrankgcn._parallel import chunks
from lowrankgcn.operators.factors import Factor
from lowrankgcn.operators.symmetric_operator import FloatArray, SymmetricOperator

_DENSE_ENTRIES = 2**18  # entries of a factor that are evaluated at a time


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
