"""Operators with a stored structure: dense, sparse, diagonal plus low rank, polynomial.

``DiagonalPlusLowRank`` serves every structured Laplacian and kernel of appendix A3, all of which
have the form diag(d) + Z M Zᵀ with a tall factor Z:

>>> import numpy as np
>>> from lowrankgcn.operators import DenseFactor
>>> Z = DenseFactor(np.array([[1.0], [2.0]]))
>>> DiagonalPlusLowRank(np.array([1.0, 1.0]), Z, np.array([-0.5])).to_dense()
array([[ 0.5, -1. ],
       [-1. , -1. ]])
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lowrankgcn._parallel import chunks
from lowrankgcn.operators.base import FloatArray, SymmetricOperator
from lowrankgcn.operators.factors import Factor

__all__ = [
    "DenseOperator",
    "DiagonalPlusLowRank",
    "IdentityOperator",
    "PolynomialOperator",
    "SparseOperator",
]

# Rows of Z held at once when the diagonal of Z M Zᵀ needs them densely.
_DIAGONAL_ROWS = 4096


@final
@dataclass(frozen=True, eq=False)
class IdentityOperator(SymmetricOperator):
    """The kernel of the filter φ = 1: what a network sees without the graph."""

    size: int

    @property
    def n(self) -> int:
        """Number of rows and columns."""
        return self.size

    def _apply(self, X: FloatArray) -> FloatArray:
        return X.copy()

    def _apply_rows(self, index: NDArray[np.intp], X: FloatArray) -> FloatArray:
        return X[index]

    def diagonal(self) -> FloatArray:
        """Diagonal, shape (n,): all ones."""
        return np.ones(self.size)


@final
@dataclass(frozen=True, eq=False)
class DenseOperator(SymmetricOperator):
    """A stored symmetric matrix: what the user gave as n×n, or small n."""

    matrix: FloatArray  # (n, n)

    @property
    def n(self) -> int:
        """Number of rows and columns."""
        return len(self.matrix)

    def _apply(self, X: FloatArray) -> FloatArray:
        return self.matrix @ X

    def _apply_rows(self, index: NDArray[np.intp], X: FloatArray) -> FloatArray:
        return self.matrix[index] @ X

    def diagonal(self) -> FloatArray:
        """Diagonal, shape (n,)."""
        return np.diagonal(self.matrix).copy()

    def to_dense(self) -> FloatArray:
        """A copy of the matrix."""
        return self.matrix.copy()


@final
@dataclass(frozen=True, eq=False)
class SparseOperator(SymmetricOperator):
    """A symmetric matrix in compressed sparse rows."""

    matrix: sp.csr_array  # (n, n)

    @property
    def n(self) -> int:
        """Number of rows and columns."""
        return int(self.matrix.shape[0])

    def _apply(self, X: FloatArray) -> FloatArray:
        product: FloatArray = self.matrix @ X
        return product

    def _apply_rows(self, index: NDArray[np.intp], X: FloatArray) -> FloatArray:
        product: FloatArray = self.matrix[index] @ X
        return product

    def diagonal(self) -> FloatArray:
        """Diagonal, shape (n,)."""
        diagonal: FloatArray = self.matrix.diagonal()
        return diagonal

    def to_dense(self) -> FloatArray:
        """The matrix as an array."""
        dense: FloatArray = self.matrix.toarray()
        return dense


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
    A product with k vectors costs O(n m k) for a stored factor and whatever two products with the
    factor cost otherwise; memory is O(n k).
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
        if self.offset.any():  # a plain low-rank matrix needs no second array of this size
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
        """Diagonal, shape (n,)."""
        if self.core is None or self.core.ndim == 1:
            return self.offset + self.factor.row_squares(self.core)
        diagonal = self.offset.copy()
        for start, stop in chunks(self.n, _DIAGONAL_ROWS):
            rows = self.factor.take(np.arange(start, stop))
            diagonal[start:stop] += np.einsum("ij,ij->i", rows @ self.core, rows)
        return diagonal


@final
@dataclass(frozen=True, eq=False)
class PolynomialOperator(SymmetricOperator):
    """The operator Σ_j a_j L^j by repeated application (Horner's rule; section A3.3).

    A product costs as many products with L as the degree; nothing is stored besides L.
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
        """Diagonal, shape (n,); costs products with n unit vectors beyond degree one."""
        if len(self.coefficients) == 1:
            return np.full(self.n, self.coefficients[0])
        if len(self.coefficients) == 2:
            return self.coefficients[0] + self.coefficients[1] * self.operator.diagonal()
        diagonal = np.empty(self.n)
        for start, stop in chunks(self.n, 256):
            units = np.zeros((self.n, stop - start))
            units[np.arange(start, stop), np.arange(stop - start)] = 1.0
            diagonal[start:stop] = self._apply(units)[
                np.arange(start, stop), np.arange(stop - start)
            ]
        return diagonal
