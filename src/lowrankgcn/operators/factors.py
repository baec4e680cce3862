"""Tall factors: an n×m matrix F with m ≪ n that need not be stored.

Everything low-rank in the package is built from products with such a factor: the incidence matrix
of a table kept as integer codes, the kernel between points and landmarks evaluated in chunks, or a
plain array. The eigenproblem of F Fᵀ then lives in the small Gram matrix FᵀF (section A3.1):

>>> import numpy as np
>>> F = DenseFactor(np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 2.0]]))
>>> F.gram()
array([[2., 1.],
       [1., 5.]])
>>> F.row_squares()
array([1., 2., 4.])
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike, NDArray

from lowrankgcn._validation import invalid
from lowrankgcn.operators.base import FloatArray

__all__ = ["DenseFactor", "Factor", "ScaledFactor", "SparseFactor", "scale_rows"]


class Factor(ABC):
    """A real n×m matrix F, seen through products with small blocks."""

    __array_ufunc__ = None

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """The pair (n, m)."""

    @abstractmethod
    def __matmul__(self, V: Any) -> FloatArray:
        """F V for V of shape (m,) or (m, k)."""

    def matmul(self, V: FloatArray, *, dtype: DTypeLike = np.float64) -> NDArray[Any]:
        """F V stored in `dtype`; factors that need not go through float64 override this."""
        return (self @ V).astype(dtype, copy=False)

    @abstractmethod
    def transpose_product(self, X: NDArray[Any], scale: FloatArray | None = None) -> FloatArray:
        """Fᵀ diag(scale) X for X of shape (n,) or (n, k) in any floating type, added in float64."""

    @abstractmethod
    def gram(self, weights: FloatArray | None = None) -> FloatArray:
        """Fᵀ diag(weights) F, shape (m, m); all weights 1 when omitted."""

    @abstractmethod
    def row_squares(self, weights: FloatArray | None = None) -> FloatArray:
        """Diagonal of F diag(weights) Fᵀ, shape (n,)."""

    @abstractmethod
    def take(self, index: NDArray[np.intp]) -> FloatArray:
        """Selected rows as a dense array (len(index), m)."""

    def to_dense(self) -> FloatArray:
        """All rows as a dense array (n, m)."""
        return self.take(np.arange(self.shape[0]))


@final
@dataclass(frozen=True, eq=False)
class DenseFactor(Factor):
    """A stored factor, such as a block of eigenvectors."""

    matrix: FloatArray  # (n, m)

    @property
    def shape(self) -> tuple[int, int]:
        """The pair (n, m)."""
        n, m = self.matrix.shape
        return n, m

    def __matmul__(self, V: Any) -> FloatArray:
        """F V for V of shape (m,) or (m, k)."""
        product: FloatArray = self.matrix @ V
        return product

    def transpose_product(self, X: NDArray[Any], scale: FloatArray | None = None) -> FloatArray:
        """Fᵀ diag(scale) X for X of shape (n,) or (n, k)."""
        return self.matrix.T @ scale_rows(X, scale)

    def gram(self, weights: FloatArray | None = None) -> FloatArray:
        """Fᵀ diag(weights) F, shape (m, m)."""
        if weights is None:
            return self.matrix.T @ self.matrix
        return (self.matrix * weights[:, None]).T @ self.matrix

    def row_squares(self, weights: FloatArray | None = None) -> FloatArray:
        """Diagonal of F diag(weights) Fᵀ, shape (n,)."""
        ones = np.ones(self.shape[1]) if weights is None else weights
        squares: FloatArray = np.einsum("ij,ij,j->i", self.matrix, self.matrix, ones)
        return squares

    def take(self, index: NDArray[np.intp]) -> FloatArray:
        """Selected rows as a dense array (len(index), m)."""
        return self.matrix[index]


@final
@dataclass(frozen=True, eq=False)
class SparseFactor(Factor):
    """A factor stored in compressed sparse rows, such as a general incidence matrix."""

    matrix: sp.csr_array  # (n, m)

    @property
    def shape(self) -> tuple[int, int]:
        """The pair (n, m)."""
        n, m = self.matrix.shape
        return n, m

    def __matmul__(self, V: Any) -> FloatArray:
        """F V for V of shape (m,) or (m, k)."""
        product: FloatArray = self.matrix @ V
        return product

    def transpose_product(self, X: NDArray[Any], scale: FloatArray | None = None) -> FloatArray:
        """Fᵀ diag(scale) X for X of shape (n,) or (n, k)."""
        product: FloatArray = self.matrix.T @ scale_rows(X, scale)
        return product

    def gram(self, weights: FloatArray | None = None) -> FloatArray:
        """Fᵀ diag(weights) F, shape (m, m)."""
        right = self.matrix if weights is None else sp.diags_array(weights) @ self.matrix
        gram: FloatArray = (self.matrix.T @ right).toarray()
        return gram

    def row_squares(self, weights: FloatArray | None = None) -> FloatArray:
        """Diagonal of F diag(weights) Fᵀ, shape (n,)."""
        squares = self.matrix.multiply(self.matrix).tocsr()
        ones = np.ones(self.shape[1]) if weights is None else weights
        product: FloatArray = squares @ ones
        return product

    def take(self, index: NDArray[np.intp]) -> FloatArray:
        """Selected rows as a dense array (len(index), m)."""
        rows: FloatArray = self.matrix[index].toarray()
        return rows


@final
@dataclass(frozen=True, eq=False)
class ScaledFactor(Factor):
    """The factor diag(row_scale) F diag(column_scale), without touching F.

    The normalised incidence H̃ = D^{-1/2} H W_E^{1/2} D_E^{-1/2} (section A3.1) is such a scaling of
    the plain incidence H.
    """

    factor: Factor
    row_scale: FloatArray | None = None  # (n,)
    column_scale: FloatArray | None = None  # (m,)

    @property
    def shape(self) -> tuple[int, int]:
        """The pair (n, m)."""
        return self.factor.shape

    def __matmul__(self, V: Any) -> FloatArray:
        """F V for V of shape (m,) or (m, k)."""
        return self.matmul(V)

    def matmul(self, V: FloatArray, *, dtype: DTypeLike = np.float64) -> NDArray[Any]:
        """F V stored in `dtype`."""
        product = self.factor.matmul(scale_rows(V, self.column_scale), dtype=dtype)
        if self.row_scale is not None:
            scale = self.row_scale.astype(dtype, copy=False)
            product *= scale if product.ndim == 1 else scale[:, None]
        return product

    def transpose_product(self, X: NDArray[Any], scale: FloatArray | None = None) -> FloatArray:
        """Fᵀ diag(scale) X for X of shape (n,) or (n, k)."""
        if scale is not None and self.row_scale is not None:
            scale = scale * self.row_scale
        inner = self.factor.transpose_product(X, self.row_scale if scale is None else scale)
        return scale_rows(inner, self.column_scale)

    def gram(self, weights: FloatArray | None = None) -> FloatArray:
        """Fᵀ diag(weights) F, shape (m, m)."""
        if self.row_scale is not None:
            squares = self.row_scale**2
            weights = squares if weights is None else weights * squares
        inner = self.factor.gram(weights)
        if self.column_scale is None:
            return inner
        return self.column_scale[:, None] * inner * self.column_scale

    def row_squares(self, weights: FloatArray | None = None) -> FloatArray:
        """Diagonal of F diag(weights) Fᵀ, shape (n,)."""
        if self.column_scale is not None:
            squares = self.column_scale**2
            weights = squares if weights is None else weights * squares
        inner = self.factor.row_squares(weights)
        return inner if self.row_scale is None else inner * self.row_scale**2

    def take(self, index: NDArray[np.intp]) -> FloatArray:
        """Selected rows as a dense array (len(index), m)."""
        rows = self.factor.take(index)
        if self.column_scale is not None:
            rows = rows * self.column_scale
        return rows if self.row_scale is None else rows * self.row_scale[index][:, None]


def scale_rows(X: NDArray[Any], scale: FloatArray | None) -> FloatArray:
    """diag(scale) X in float64; X itself without a scale."""
    if scale is None:
        return X
    if len(X) != len(scale):  # a single row would be broadcast
        raise invalid("block", f"{len(scale)} rows", len(X))
    return X * (scale if X.ndim == 1 else scale[:, None])
