"""Symmetric operators: n×n matrices that are applied but not stored.

The Laplacian of a dense graph is used through its products only. An operator provides its shape,
products with blocks of vectors, its diagonal and, for small n, its dense form:

>>> import numpy as np
>>> from lowrankgcn.operators import MatrixOperator
>>> A = MatrixOperator(np.array([[2.0, 1.0], [1.0, 3.0]]))
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

FloatArray = NDArray[np.float64]

DENSE_LIMIT = 2048  # largest n for an n×n matrix (32 MB) that was not asked for


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
