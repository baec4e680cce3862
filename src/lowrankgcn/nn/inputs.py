r"""Sparse input features of networks, and dropout of input entries.

Word counts of a million documents are a sparse matrix X. The first layer of a network computes
:math:`\mathcal{K} (X \Theta)` instead of :math:`(\mathcal{K} X) \Theta`: neither X nor 𝒦X becomes
dense, and dropout of input entries draws one number per stored entry.

>>> X = SparseInput(sp.csr_array([[0.0, 2.0], [1.0, 0.0]]), torch.zeros(0))
>>> X @ torch.tensor([[1.0], [3.0]])
tensor([[6.],
        [1.]])
>>> X.adjoint(torch.tensor([[1.0], [3.0]]))
tensor([[3.],
        [2.]])
"""

from __future__ import annotations

import copy
from typing import Any, TypeVar, final

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from lowrankgcn._validation import invalid
from lowrankgcn.nn.propagation import record_product


@final
class SparseInput:
    """Features X in compressed rows, whose products with dense matrices autograd records.

    Parameters
    ----------
    matrix : (n, N_0) SciPy sparse array
    like : Tensor
        Has the dtype and device of the network.

    Attributes
    ----------
    values : (nnz,) Tensor
        The stored entries, by rows.

    Examples
    --------
    >>> import lowrankgcn as lg, scipy.sparse as sp
    >>> L = lg.Laplacian(lg.Hypergraph([[1, 0], [1, 1], [0, 1]]))
    >>> network = lg.nn.GCN(lg.kernel(L, "linear"), (4, 16, 2))
    >>> X = lg.nn.SparseInput(sp.eye_array(3, 4), network.convs[0].weight)
    >>> network(X).shape
    torch.Size([3, 2])
    """

    def __init__(self, matrix: Any, like: Tensor) -> None:
        rows = sp.csr_array(matrix)
        rows.sum_duplicates()
        if not np.isfinite(rows.data).all():
            raise invalid("X", "finite entries", "NaN or infinity")
        # Products with a transposed sparse tensor are slow; both orders share the values.
        positions = (np.arange(rows.nnz), rows.indices, rows.indptr)
        columns = sp.csr_array(sp.csr_array(positions, shape=rows.shape).T)
        self.shape, self.ndim = rows.shape, 2
        self.dtype = like.dtype
        self.values = torch.as_tensor(rows.data).to(like)
        self._order = torch.as_tensor(columns.data, device=like.device)
        self._patterns = [
            [torch.as_tensor(part, dtype=torch.long, device=like.device) for part in parts]
            for parts in ((rows.indptr, rows.indices), (columns.indptr, columns.indices))
        ]

    def _multiply(self, W: Tensor) -> Tensor:
        return _compressed(self._patterns[0], self.values, self.shape) @ W

    def _multiply_transposed(self, G: Tensor) -> Tensor:
        return _compressed(self._patterns[1], self.values[self._order], self.shape[::-1]) @ G

    def __matmul__(self, W: Tensor) -> Tensor:
        """Compute X W, for W of shape (N_0, k)."""
        return record_product(W, self._multiply, self._multiply_transposed)

    def adjoint(self, G: Tensor) -> Tensor:
        """Compute Xᵀ G, for G of shape (n, k)."""
        return record_product(G, self._multiply_transposed, self._multiply)

    def with_values(self, values: Tensor) -> SparseInput:
        """Return the matrix with other values of the stored entries."""
        other = copy.copy(self)
        other.values = values
        return other


def _compressed(pattern: Any, values: Tensor, shape: Any) -> Tensor:
    indptr, indices = pattern
    return torch.sparse_csr_tensor(indptr, indices, values, shape, check_invariants=False)


Input = TypeVar("Input", Tensor, SparseInput)


def drop_entries(X: Input, p: float, generator: torch.Generator | None = None) -> Input:
    """Set entries of X to zero with probability p, and divide the others by 1 − p.

    Zeros that a sparse X does not store need no random numbers.
    """
    if not p:
        return X
    if isinstance(X, SparseInput):
        return X.with_values(drop_entries(X.values, p, generator))
    return X * dropout_mask(X.shape, p, X, generator)


def dropout_mask(shape: Any, p: float, like: Tensor, generator: Any = None) -> Tensor:
    """Draw 0 with probability p, otherwise 1/(1 − p), for each entry."""
    device = None if generator is None else generator.device
    drawn = torch.rand(shape, generator=generator, device=device)
    return (drawn < 1.0 - p).to(like) / (1.0 - p)
