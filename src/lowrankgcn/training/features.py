r"""Input features of a network, through rows and products.

A reduced-order network needs only :math:`U^T X`, a low-rank one also its own U, and a network that
ignores the graph only the labelled rows. :class:`Features` provides these without storing the n×N₀
matrix X.

>>> import torch
>>> X = TensorFeatures(torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]))
>>> X.take(torch.tensor([2])), X.inner(torch.ones(3, 1)), X.times(torch.ones(2, 1)).ravel()
(tensor([[5., 6.]]), tensor([[ 9., 12.]]), tensor([ 3.,  7., 11.]))
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import final

import torch
from torch import Tensor

from lowrankgcn._parallel import chunks
from lowrankgcn.training.nodes import Nodes

__all__ = ["CHUNK_ROWS", "Features", "TensorFeatures"]

#: Rows converted to another data type at a time: a few megabytes for a hundred columns.
CHUNK_ROWS = 4096


class Features(ABC):
    """A matrix X (n×N₀) given by its rows and products.

    Training, cross-validation and :meth:`TrainingRecord.logits` accept it in place of a matrix.

    Examples
    --------
    >>> import lowrankgcn as lg, torch
    >>> L = lg.Laplacian(lg.Hypergraph([[1, 0], [1, 0], [1, 1], [0, 1], [0, 1]]))
    >>> network = lg.nn.ReducedOrderGCN(lg.kernel(L, "heat", rank=2), (2, 4, 2))
    >>> X = TensorFeatures(torch.tensor(L.graph.incidence.to_dense(), dtype=torch.float32))
    >>> lg.training.train(network, X, [0, 4], [0, 1], max_iter=10).logits(network, X).shape
    torch.Size([1, 5, 2])
    """

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """The pair (n, N₀)."""

    @abstractmethod
    def take(self, index: Tensor) -> Tensor:
        """Return the rows X[index], shape (p, N₀)."""

    @abstractmethod
    def inner(self, U: Tensor) -> Tensor:
        """Compute UᵀX, shape (r, N₀), for U of shape (n, r)."""

    @abstractmethod
    def times(self, weight: Tensor) -> Tensor:
        """Compute X W, shape (n, k), for W of shape (N₀, k), in the dtype of W."""

    def part(self, start: int, stop: int) -> Features:
        """Return the rows start, …, stop − 1 as features."""
        return TensorFeatures(self.take(torch.arange(start, stop)))

    @abstractmethod
    def dense(self) -> Tensor:
        """Return all of X, which kernels of full rank need."""

    @abstractmethod
    def square_sum(self) -> float:
        """Return the sum of the squares of all entries."""

    @property
    def nodes(self) -> Nodes | None:
        """Nodes of the hidden layers of low-rank networks; None: the rows of X."""
        return None


@final
@dataclass(frozen=True, eq=False)
class TensorFeatures(Features):
    """A stored matrix.

    Attributes
    ----------
    tensor : (n, N_0) Tensor
    nodes : Nodes, optional
        Nodes of the hidden layers, if they are not the rows of the matrix.

    Examples
    --------
    >>> import torch
    >>> X = TensorFeatures(torch.tensor([[3.0, 0.0], [0.0, 4.0]]))
    >>> X.shape, X.square_sum()
    ((2, 2), 25.0)
    """

    tensor: Tensor
    nodes: Nodes | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """The pair (n, N₀)."""
        n, width = self.tensor.shape
        return n, width

    def take(self, index: Tensor) -> Tensor:
        """Return the rows X[index], shape (p, N₀)."""
        return self.tensor[index]

    def part(self, start: int, stop: int) -> TensorFeatures:
        """Return a view of the rows start, …, stop − 1."""
        return TensorFeatures(self.tensor[start:stop])

    def inner(self, U: Tensor) -> Tensor:
        """Compute UᵀX, in double precision where the dtypes differ."""
        if U.dtype == self.tensor.dtype:
            return U.T @ self.tensor
        total = self.tensor.new_zeros(U.shape[1], self.tensor.shape[1], dtype=torch.float64)
        for start, stop in chunks(len(U), CHUNK_ROWS):
            total.addmm_(U[start:stop].double().T, self.tensor[start:stop].double())
        return total

    def times(self, weight: Tensor) -> Tensor:
        """Compute X W, shape (n, k), for W of shape (N₀, k), in the dtype of W."""
        product = weight.new_empty(len(self.tensor), weight.shape[1])
        for start, stop in chunks(len(product), CHUNK_ROWS):
            product[start:stop] = self.tensor[start:stop].to(weight) @ weight
        return product

    def dense(self) -> Tensor:
        """Return all of X."""
        return self.tensor

    def square_sum(self) -> float:
        """Return the sum of the squares of all entries."""
        return float(torch.linalg.vector_norm(self.tensor) ** 2)
