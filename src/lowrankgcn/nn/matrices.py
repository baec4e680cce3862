"""Fixed matrices as torch modules with differentiable products.

Eigenvectors are a dense buffer, incidence matrices a sparse one. Matrices that are too large to
store are multiplied by NumPy.

>>> import torch
>>> Z = DenseMatrix([[1.0, 0.0], [1.0, 1.0], [0.0, 2.0]], torch.float64)
>>> Z.adjoint(torch.ones(3, 1, dtype=torch.float64)).ravel().tolist()
[2.0, 3.0]
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from functools import cache
from typing import Any, final

import scipy.sparse as sp
import torch
from torch import Tensor, nn

from lowrankgcn.nn.linear_map import Shared, as_tensor, linear_map, through_numpy
from lowrankgcn.operators import Factor, SymmetricOperator

__all__ = ["DenseMatrix", "Matrix", "NumpyMatrix", "SparseMatrix"]


class Matrix(nn.Module, ABC):
    """A fixed n×m matrix A.

    Attributes
    ----------
    shape : (int, int)
        The pair (n, m).
    """

    shape: tuple[int, int]

    @abstractmethod
    def forward(self, X: Tensor, rows: Tensor | None = None) -> Tensor:
        """Compute A X, or A[rows] X, for X of shape (m, k)."""

    @abstractmethod
    def adjoint(self, X: Tensor) -> Tensor:
        """Compute Aᵀ X for X of shape (n, k)."""

    def extra_repr(self) -> str:
        """Return the shape for the printed network."""
        return "×".join(map(str, self.shape))


@final
class DenseMatrix(Matrix):
    """A stored matrix, such as the eigenvectors U_r; products cost O(n m k)."""

    matrix: Tensor  # (n, m)

    def __init__(self, matrix: Any, dtype: torch.dtype) -> None:
        super().__init__()
        self.register_buffer("matrix", as_tensor(matrix, dtype), persistent=False)
        self.shape = (self.matrix.shape[0], self.matrix.shape[1])

    def forward(self, X: Tensor, rows: Tensor | None = None) -> Tensor:
        """Compute A X, or A[rows] X."""
        return (self.matrix if rows is None else self.matrix[rows]) @ X

    def adjoint(self, X: Tensor) -> Tensor:
        """Compute Aᵀ X."""
        return self.matrix.T @ X


@final
class SparseMatrix(Matrix):
    """A sparse matrix, such as a normalised incidence H̃; products cost O(nnz k).

    A and Aᵀ are both stored in compressed rows: products with a transposed sparse matrix are more
    than ten times slower. A symmetric matrix is stored once.
    """

    def __init__(self, matrix: sp.csr_array, dtype: torch.dtype, *, symmetric: bool) -> None:
        super().__init__()
        self.shape = (int(matrix.shape[0]), int(matrix.shape[1]))
        self.stored = _CompressedRows(matrix, dtype)
        self.transposed = self.stored
        if not symmetric:
            self.transposed = _CompressedRows(sp.csr_array(matrix.T), dtype)

    def forward(self, X: Tensor, rows: Tensor | None = None) -> Tensor:
        """Compute A X, or A[rows] X."""
        if rows is not None:
            return self.stored.rows(rows, X)
        return linear_map(X, self.stored.product, self.transposed.product)

    def adjoint(self, X: Tensor) -> Tensor:
        """Compute Aᵀ X."""
        return linear_map(X, self.transposed.product, self.stored.product)


@final
class _CompressedRows(nn.Module):
    """The arrays of a matrix in compressed sparse rows, as buffers.

    A sparse tensor is not a safe buffer: ``.to(dtype)`` and copies fail in some versions of torch.
    """

    starts: Tensor  # (n + 1,)
    columns: Tensor  # (nnz,)
    values: Tensor  # (nnz,)

    def __init__(self, matrix: sp.csr_array, dtype: torch.dtype) -> None:
        super().__init__()
        _suppress_beta_warning()
        self.shape = matrix.shape
        for name, part, kind in (
            ("starts", matrix.indptr, torch.long),
            ("columns", matrix.indices, torch.long),
            ("values", matrix.data, dtype),
        ):
            self.register_buffer(name, as_tensor(part, kind), persistent=False)

    def product(self, X: Tensor) -> Tensor:
        """Compute A X without recording a gradient."""
        matrix = torch.sparse_csr_tensor(
            self.starts, self.columns, self.values, size=self.shape, check_invariants=False
        )
        return matrix @ X

    def rows(self, index: Tensor, X: Tensor) -> Tensor:
        """Compute A[index] X from the entries of these rows; differentiable."""
        counts = self.starts[index + 1] - self.starts[index]
        owner = torch.repeat_interleave(torch.arange(len(index), device=X.device), counts)
        offset = self.starts[index] - counts.cumsum(0) + counts
        place = torch.arange(len(owner), device=X.device) + offset[owner]
        terms = self.values[place][:, None] * X[self.columns[place]]
        return X.new_zeros(len(index), X.shape[1]).index_add(0, owner, terms)

    def extra_repr(self) -> str:
        """Return the number of entries."""
        return f"{len(self.values)} entries"


@final
class NumpyMatrix(Matrix):
    """A symmetric operator or a factor that NumPy multiplies, in float64 on the CPU."""

    def __init__(self, source: SymmetricOperator | Factor) -> None:
        super().__init__()
        self.shape = source.shape
        self.source = Shared(source)

    def _product(self, X: Tensor) -> Tensor:
        return through_numpy(X, self.source.value.__matmul__, self.shape[0])

    def _adjoint(self, X: Tensor) -> Tensor:
        source = self.source.value
        if isinstance(source, SymmetricOperator):
            return self._product(X)
        return through_numpy(X, source.transpose_product, self.shape[1])

    def forward(self, X: Tensor, rows: Tensor | None = None) -> Tensor:
        """Compute A X, or A[rows] X."""
        if rows is None:
            return linear_map(X, self._product, self._adjoint)
        source, places = self.source.value, rows.cpu().numpy()
        if not isinstance(source, SymmetricOperator):
            return as_tensor(source.take(places), X.dtype).to(X.device) @ X

        def product(X: Tensor) -> Tensor:
            return through_numpy(X, lambda block: source.rows(places, block), len(places))

        def adjoint(G: Tensor) -> Tensor:
            return self._adjoint(G.new_zeros(source.n, G.shape[1]).index_add(0, rows, G))

        return linear_map(X, product, adjoint)

    def adjoint(self, X: Tensor) -> Tensor:
        """Compute Aᵀ X."""
        return linear_map(X, self._adjoint, self._product)

    def extra_repr(self) -> str:
        """Return the shape and the class of the operator or factor."""
        return f"{super().extra_repr()}, {type(self.source.value).__name__}"


@cache
def _suppress_beta_warning() -> None:
    """Trigger torch's only warning about the beta state of compressed rows, and ignore it."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Sparse CSR tensor support is in beta state")
        zero = torch.zeros(2, dtype=torch.long)
        torch.sparse_csr_tensor(zero, zero[:0], zero[:0], size=(1, 1), check_invariants=False)
