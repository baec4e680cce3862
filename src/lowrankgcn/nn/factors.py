"""Tall factors Z (n×m) as torch modules: the low-rank part of a kernel on its device.

Eigenvectors become a dense buffer, incidence matrices a sparse one. A factor that is evaluated
rather than stored (points against landmarks) becomes a dense buffer where that is affordable, and
stays with NumPy otherwise.

>>> import numpy as np, torch
>>> from lowrankgcn.operators import DenseFactor
>>> Z = tall_factor(DenseFactor(np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 2.0]])), torch.float64)
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
from lowrankgcn.operators import DenseFactor, Factor, ScaledFactor, SparseFactor
from lowrankgcn.operators.codes import CodeFactor

__all__ = ["DenseTall", "EvaluatedTall", "SparseMatrix", "SparseTall", "TallFactor", "tall_factor"]

# Entries up to which an evaluated factor is stored: 128 MB in single precision.
_STORED_ENTRIES = 2**25


class TallFactor(nn.Module, ABC):
    """A fixed n×m matrix Z with the three products that a kernel needs, all differentiable."""

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """The pair (n, m)."""

    @property
    def work(self) -> float:
        """Multiplications per node in a product with one column."""
        return float(self.shape[1])

    @abstractmethod
    def forward(self, V: Tensor) -> Tensor:
        """Z V for V of shape (m, k)."""

    @abstractmethod
    def adjoint(self, X: Tensor) -> Tensor:
        """Zᵀ X for X of shape (n, k)."""

    @abstractmethod
    def rows(self, index: Tensor, V: Tensor) -> Tensor:
        """Z[index] V for V of shape (m, k)."""

    def extra_repr(self) -> str:
        """Shape, as it appears in the printed network."""
        return "×".join(map(str, self.shape))


@final
class DenseTall(TallFactor):
    """A stored factor, such as the eigenvectors U_r; products cost O(n m k)."""

    matrix: Tensor  # (n, m)

    def __init__(self, matrix: Any, dtype: torch.dtype) -> None:
        super().__init__()
        self.register_buffer("matrix", as_tensor(matrix, dtype), persistent=False)

    @property
    def shape(self) -> tuple[int, int]:
        """The pair (n, m)."""
        n, m = self.matrix.shape
        return n, m

    def forward(self, V: Tensor) -> Tensor:
        """Z V."""
        return self.matrix @ V

    def adjoint(self, X: Tensor) -> Tensor:
        """Zᵀ X."""
        return self.matrix.T @ X

    def rows(self, index: Tensor, V: Tensor) -> Tensor:
        """Z[index] V."""
        return self.matrix[index] @ V


@final
class SparseMatrix(nn.Module):
    """A fixed matrix in compressed sparse rows, whose parts are buffers of their own.

    A sparse tensor could not be a buffer that follows ``.to(dtype)`` and copies safely in every
    version of torch; its three dense parts can.
    """

    starts: Tensor  # (n + 1,)
    columns: Tensor  # (nnz,)
    values: Tensor  # (nnz,)

    def __init__(self, matrix: sp.csr_array, dtype: torch.dtype) -> None:
        super().__init__()
        _accept_beta_state()
        self.shape: tuple[int, int] = (int(matrix.shape[0]), int(matrix.shape[1]))
        for name, part, kind in (
            ("starts", matrix.indptr, torch.long),
            ("columns", matrix.indices, torch.long),
            ("values", matrix.data, dtype),
        ):
            self.register_buffer(name, as_tensor(part, kind), persistent=False)

    def product(self, X: Tensor) -> Tensor:
        """A X, without a gradient of its own."""
        matrix = torch.sparse_csr_tensor(
            self.starts, self.columns, self.values, size=self.shape, check_invariants=False
        )
        return matrix @ X

    def rows(self, index: Tensor, X: Tensor) -> Tensor:
        """A[index] X by gathering the entries of these rows; differentiable."""
        counts = self.starts[index + 1] - self.starts[index]
        owner = torch.repeat_interleave(torch.arange(len(index), device=X.device), counts)
        offset = self.starts[index] - counts.cumsum(0) + counts
        place = torch.arange(len(owner), device=X.device) + offset[owner]
        terms = self.values[place][:, None] * X[self.columns[place]]
        return X.new_zeros(len(index), X.shape[1]).index_add(0, owner, terms)

    def extra_repr(self) -> str:
        """Shape and number of entries."""
        return f"{self.shape[0]}×{self.shape[1]}, {len(self.values)} entries"


@final
class SparseTall(TallFactor):
    """A sparse factor, such as a normalised incidence H̃; products cost O(nnz k).

    Z and Zᵀ are both kept in compressed rows: multiplying with a transposed sparse matrix is more
    than ten times slower.
    """

    def __init__(self, matrix: sp.csr_array, dtype: torch.dtype) -> None:
        super().__init__()
        self.matrix = SparseMatrix(matrix, dtype)
        self.transposed = SparseMatrix(sp.csr_array(matrix.T), dtype)

    @property
    def shape(self) -> tuple[int, int]:
        """The pair (n, m)."""
        return self.matrix.shape

    @property
    def work(self) -> float:
        """Entries per row."""
        return len(self.matrix.values) / max(self.shape[0], 1)

    def forward(self, V: Tensor) -> Tensor:
        """Z V."""
        return linear_map(V, self.matrix.product, self.transposed.product)

    def adjoint(self, X: Tensor) -> Tensor:
        """Zᵀ X."""
        return linear_map(X, self.transposed.product, self.matrix.product)

    def rows(self, index: Tensor, V: Tensor) -> Tensor:
        """Z[index] V."""
        return self.matrix.rows(index, V)


@final
class EvaluatedTall(TallFactor):
    """A factor that is never stored: its products are NumPy's, in float64 on the CPU."""

    def __init__(self, factor: Factor) -> None:
        super().__init__()
        self._factor = Shared(factor)

    @property
    def factor(self) -> Factor:
        """What does the products."""
        return self._factor.value

    @property
    def shape(self) -> tuple[int, int]:
        """The pair (n, m)."""
        return self.factor.shape

    def _product(self, V: Tensor) -> Tensor:
        return through_numpy(V, self.factor.__matmul__, self.shape[0])

    def _adjoint(self, X: Tensor) -> Tensor:
        return through_numpy(X, self.factor.transpose_product, self.shape[1])

    def forward(self, V: Tensor) -> Tensor:
        """Z V."""
        return linear_map(V, self._product, self._adjoint)

    def adjoint(self, X: Tensor) -> Tensor:
        """Zᵀ X."""
        return linear_map(X, self._adjoint, self._product)

    def rows(self, index: Tensor, V: Tensor) -> Tensor:
        """Z[index] V."""
        return as_tensor(self.factor.take(index.cpu().numpy()), V.dtype).to(V.device) @ V


@cache
def _accept_beta_state() -> None:
    """Let torch say once, unheard, that compressed rows are in beta state."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Sparse CSR tensor support is in beta state")
        zero = torch.zeros(2, dtype=torch.long)
        torch.sparse_csr_tensor(zero, zero[:0], zero[:0], size=(1, 1), check_invariants=False)


def tall_factor(factor: Factor, dtype: torch.dtype) -> TallFactor:
    """Bring a factor into torch in the form that suits it."""
    matrix = _sparse_form(factor)
    if matrix is not None:
        return SparseTall(matrix, dtype)
    if isinstance(factor, DenseFactor):
        return DenseTall(factor.matrix, dtype)
    if factor.shape[0] * factor.shape[1] <= _STORED_ENTRIES:
        return DenseTall(factor.to_dense(), dtype)
    return EvaluatedTall(factor)


def _sparse_form(factor: Factor) -> sp.csr_array | None:
    """The factor in compressed sparse rows, or None where it is not sparse."""
    if isinstance(factor, SparseFactor):
        return factor.matrix
    if isinstance(factor, CodeFactor):
        return factor.to_sparse()
    if not isinstance(factor, ScaledFactor):
        return None
    matrix = _sparse_form(factor.factor)
    if matrix is not None and factor.row_scale is not None:
        matrix = sp.diags_array(factor.row_scale) @ matrix
    if matrix is not None and factor.column_scale is not None:
        matrix = matrix @ sp.diags_array(factor.column_scale)
    return matrix if matrix is None else sp.csr_array(matrix)
