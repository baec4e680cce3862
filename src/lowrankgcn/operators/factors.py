"""Tall factors: n×m matrices F with m ≪ n that need not be stored.

All low-rank structure in the package is built from products with such a factor: the incidence
matrix of a table kept as integer codes, the kernel between points and landmarks evaluated in
chunks, or a plain array. The eigenproblem of F Fᵀ reduces to the small Gram matrix FᵀF (section
A3.1):

>>> import numpy as np
>>> F = MatrixFactor(np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 2.0]]))
>>> F.gram()
array([[2., 1.],
       [1., 5.]])
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lowrankgcn._parallel import map_chunks
from lowrankgcn._validation import invalid

FloatArray = NDArray[np.float64]

# Rows of a factor evaluated densely at a time: with a few hundred columns they fit the cache.
BLOCK_ROWS = 1024

_SPANS = 32  # parts of the rows that threads share; fixed, so that sums have a fixed order


class Factor(ABC):
    """A real n×m matrix F that is used through its products.

    Examples
    --------
    >>> import numpy as np
    >>> from lowrankgcn.operators import Factor, MatrixFactor
    >>> F = MatrixFactor(np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 2.0]]))
    >>> isinstance(F, Factor), F.shape
    (True, (3, 2))
    >>> F.transpose_product(np.ones(3))
    array([2., 3.])
    """

    __array_ufunc__ = None

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """The pair (n, m)."""

    def __matmul__(self, V: Any) -> FloatArray:
        """Compute F V for V of shape (m,) or (m, k)."""
        return self.matmul(V)

    @abstractmethod
    def matmul(self, V: FloatArray, *, out: NDArray[Any] | None = None) -> NDArray[Any]:
        """Compute F V for V of shape (m,) or (m, k), in the precision of `out` if it is given."""

    @abstractmethod
    def transpose_product(self, X: NDArray[Any], scale: FloatArray | None = None) -> FloatArray:
        """Compute Fᵀ diag(scale) X in float64 for X of shape (n,) or (n, k)."""

    @abstractmethod
    def gram(self, scale: FloatArray | None = None) -> FloatArray:
        """Compute Fᵀ diag(scale)² F, shape (m, m); FᵀF by default."""

    @abstractmethod
    def take(self, index: NDArray[np.intp]) -> FloatArray:
        """Return selected rows as a dense array (len(index), m)."""

    def to_dense(self) -> FloatArray:
        """Return all rows as a dense array (n, m)."""
        return self.take(np.arange(self.shape[0]))


@final
@dataclass(frozen=True, eq=False)
class MatrixFactor(Factor):
    """A factor stored as an array or as a sparse matrix.

    For example a block of eigenvectors, or a general incidence matrix.

    Examples
    --------
    >>> import numpy as np
    >>> from lowrankgcn.operators import MatrixFactor
    >>> F = MatrixFactor(np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 2.0]]))
    >>> F @ np.array([1.0, 1.0]), F.gram().tolist()
    (array([1., 2., 2.]), [[2.0, 1.0], [1.0, 5.0]])
    """

    matrix: Any  # (n, m), array or csr_array

    @property
    def shape(self) -> tuple[int, int]:
        """The pair (n, m)."""
        n, m = self.matrix.shape
        return n, m

    def matmul(self, V: FloatArray, *, out: NDArray[Any] | None = None) -> NDArray[Any]:
        """Compute F V."""
        product = np.asarray(self.matrix @ V)
        if out is None:
            return product
        out[:] = product
        return out

    def transpose_product(self, X: NDArray[Any], scale: FloatArray | None = None) -> FloatArray:
        """Compute Fᵀ diag(scale) X for X of shape (n,) or (n, k)."""
        return np.asarray(self.matrix.T @ scale_rows(X, scale))

    def gram(self, scale: FloatArray | None = None) -> FloatArray:
        """Compute Fᵀ diag(scale)² F, shape (m, m)."""
        scaled = self.matrix if scale is None else sp.diags_array(scale) @ self.matrix
        return as_array(scaled.T @ scaled)

    def take(self, index: NDArray[np.intp]) -> FloatArray:
        """Return selected rows as a dense array (len(index), m)."""
        return as_array(self.matrix[index])


@final
@dataclass(frozen=True, eq=False)
class ScaledFactor(Factor):
    """The factor diag(row_scale) F diag(column_scale), without a copy of F.

    The normalised incidence H̃ = D^{-1/2} H W_E^{1/2} D_E^{-1/2} (section A3.1) is such a scaling of
    the plain incidence H.

    Examples
    --------
    >>> import numpy as np
    >>> from lowrankgcn.operators import MatrixFactor, ScaledFactor
    >>> F = MatrixFactor(np.array([[1.0, 0.0], [1.0, 1.0]]))
    >>> ScaledFactor(F, row_scale=np.array([1.0, 10.0])).to_dense()
    array([[ 1.,  0.],
           [10., 10.]])
    """

    factor: Factor
    row_scale: FloatArray | None = None  # (n,)
    column_scale: FloatArray | None = None  # (m,)

    @property
    def shape(self) -> tuple[int, int]:
        """The pair (n, m)."""
        return self.factor.shape

    def matmul(self, V: FloatArray, *, out: NDArray[Any] | None = None) -> NDArray[Any]:
        """Compute F V."""
        product = self.factor.matmul(scale_rows(V, self.column_scale), out=out)
        if self.row_scale is not None:
            scale = self.row_scale.astype(product.dtype, copy=False)
            product *= scale if product.ndim == 1 else scale[:, None]
        return product

    def transpose_product(self, X: NDArray[Any], scale: FloatArray | None = None) -> FloatArray:
        """Compute Fᵀ diag(scale) X for X of shape (n,) or (n, k)."""
        inner = self.factor.transpose_product(X, _times(scale, self.row_scale))
        return scale_rows(inner, self.column_scale)

    def gram(self, scale: FloatArray | None = None) -> FloatArray:
        """Compute Fᵀ diag(scale)² F, shape (m, m)."""
        inner = self.factor.gram(_times(scale, self.row_scale))
        return scale_rows(scale_rows(inner, self.column_scale).T, self.column_scale)

    def take(self, index: NDArray[np.intp]) -> FloatArray:
        """Return selected rows as a dense array (len(index), m)."""
        rows = self.factor.take(index)
        if self.column_scale is not None:
            rows = rows * self.column_scale
        return rows if self.row_scale is None else scale_rows(rows, self.row_scale[index])


def scale_rows(X: NDArray[Any], scale: FloatArray | None) -> FloatArray:
    """Return diag(scale) X in float64, or X itself without a scale."""
    if scale is None:
        return X
    if len(X) != len(scale):  # a single row would be broadcast
        raise invalid("block", f"{len(scale)} rows", len(X))
    return X * (scale if X.ndim == 1 else scale[:, None])


def _times(a: FloatArray | None, b: FloatArray | None) -> FloatArray | None:
    return b if a is None else a if b is None else a * b


def as_array(matrix: Any) -> FloatArray:
    """Return a dense or sparse matrix as an array."""
    return np.asarray(matrix.toarray() if sp.issparse(matrix) else matrix)


def sum_over_rows(
    term: Callable[[int, int], NDArray[Any]], n: int, size: int, *, n_threads: int | None = None
) -> FloatArray:
    """Sum ``term(start, stop)`` over chunks of rows in float64, in an order that depends on n only.

    >>> x = np.arange(10.0)
    >>> sum_over_rows(lambda start, stop: x[start:stop].sum(), 10, 4)
    np.float64(45.0)
    """

    def span(first: int, last: int) -> FloatArray:
        total = np.array(term(first, min(first + size, last)), np.float64)
        for start in range(first + size, last, size):
            total += term(start, min(start + size, last))
        return total

    rows = -(-n // (_SPANS * size)) * size
    total: FloatArray = np.sum(map_chunks(span, n, max(rows, 1), n_threads=n_threads), axis=0)
    return total
