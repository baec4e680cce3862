"""Symmetric operators: what an n×n matrix can do without being stored.

A graph Laplacian of a dense graph is used through its products only. An operator is a matrix that
knows its shape, its products with blocks of vectors, its diagonal and, for small n, its dense form:

>>> import numpy as np
>>> from lowrankgcn.operators import DenseOperator
>>> A = DenseOperator(np.array([[2.0, 1.0], [1.0, 3.0]]))
>>> A @ np.array([1.0, 0.0])
array([2., 1.])
>>> A.to_dense()
array([[2., 1.],
       [1., 3.]])
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import scipy.sparse.linalg as spla
from numpy.typing import NDArray

from lowrankgcn._validation import finite_array, invalid, node_index

__all__ = ["FloatArray", "SymmetricOperator"]

FloatArray = NDArray[np.float64]


class SymmetricOperator(ABC):
    """A real symmetric n×n operator.

    Subclasses give ``n``, ``_apply`` for blocks of vectors and ``diagonal``; nothing else is
    overridden except ``rows`` where selected rows are cheaper than all of them.
    """

    # __array_ufunc__ = None lets ``ndarray @ operator`` reach __rmatmul__ instead of NumPy's loop.
    __array_ufunc__ = None

    @property
    @abstractmethod
    def n(self) -> int:
        """Number of rows and columns."""

    @abstractmethod
    def _apply(self, X: FloatArray) -> FloatArray:
        """Product with a block X of shape (n, k)."""

    @abstractmethod
    def diagonal(self) -> FloatArray:
        """Diagonal, shape (n,)."""

    @property
    def shape(self) -> tuple[int, int]:
        """The pair (n, n)."""
        return (self.n, self.n)

    @property
    def dtype(self) -> np.dtype[np.float64]:
        """Set-up is float64 throughout."""
        return np.dtype(np.float64)

    def __matmul__(self, X: Any) -> FloatArray:
        """Product with a vector (n,) or a block (n, k)."""
        block = self._block(X)
        product = self._apply(block)
        return product[:, 0] if np.ndim(X) == 1 else product

    def __rmatmul__(self, X: Any) -> FloatArray:
        """X @ operator = (operator @ Xᵀ)ᵀ by symmetry."""
        transposed: FloatArray = (self @ finite_array(X, "X", ndim=(1, 2)).T).T
        return transposed

    def rows(self, index: Any, X: Any) -> FloatArray:
        """Selected rows of the product, ``(self @ X)[index]``."""
        index = node_index(index, "index", self.n)
        block = self._block(X)
        selected = self._apply_rows(index, block)
        return selected[:, 0] if np.ndim(X) == 1 else selected

    def _apply_rows(self, index: NDArray[np.intp], X: FloatArray) -> FloatArray:
        return self._apply(X)[index]

    def to_dense(self) -> FloatArray:
        """The n×n array itself: only for tests and small n."""
        dense = self._apply(np.eye(self.n))
        return (dense + dense.T) / 2

    def as_linear_operator(self) -> spla.LinearOperator:
        """The same operator as a SciPy ``LinearOperator``."""
        return spla.LinearOperator(
            self.shape,
            matvec=lambda x: self._apply(x.reshape(-1, 1))[:, 0],
            rmatvec=lambda x: self._apply(x.reshape(-1, 1))[:, 0],
            matmat=self._apply,
            rmatmat=self._apply,
            dtype=self.dtype,
        )

    def _block(self, X: Any) -> FloatArray:
        block = finite_array(X, "X", ndim=(1, 2))
        if block.shape[0] != self.n:
            raise invalid("X", f"shape ({self.n},) or ({self.n}, k)", f"shape {block.shape}")
        return block.reshape(self.n, -1)
