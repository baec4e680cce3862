r"""The input of a network as training sees it: rows and products, seldom the whole matrix.

A reduced-order network needs :math:`U^T X` alone, a low-rank one besides that its own U, a network
that ignores the graph the labelled rows. Whoever can give these without storing the n×N₀ matrix X
passes :class:`Features` in its place.

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

__all__ = ["Features", "TensorFeatures"]

_ROWS = 65536


class Features(ABC):
    """A matrix X (n×N₀) known by its rows and products.

    Training, cross-validation and :meth:`TrainingRecord.logits` take it where they take a matrix.

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
        """Selected rows X[index], shape (p, N₀)."""

    @abstractmethod
    def inner(self, U: Tensor) -> Tensor:
        """The product UᵀX, shape (r, N₀), for U of shape (n, r)."""

    @abstractmethod
    def times(self, weight: Tensor) -> Tensor:
        """The product X W, shape (n, k), for W of shape (N₀, k), in the type of W."""

    def part(self, start: int, stop: int) -> Features:
        """The rows start…stop−1, as features of so many rows."""
        return TensorFeatures(self.take(torch.arange(start, stop)))

    @abstractmethod
    def dense(self) -> Tensor:
        """All of X, which kernels of full rank need."""

    @abstractmethod
    def square_sum(self) -> float:
        """Sum of the squares of all entries."""

    @property
    def nodes(self) -> Nodes | None:
        """The rows that X stands for, where hidden layers of low-rank networks live.

        None: the rows of X itself.
        """
        return None


@final
@dataclass(frozen=True, eq=False)
class TensorFeatures(Features):
    """A matrix that is stored.

    Attributes
    ----------
    tensor : (n, N_0) Tensor
    nodes : Nodes, optional
        Rows that the matrix stands for.

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
        """Selected rows X[index], shape (p, N₀)."""
        return self.tensor[index]

    def part(self, start: int, stop: int) -> TensorFeatures:
        """The rows start…stop−1, in the same memory."""
        return TensorFeatures(self.tensor[start:stop])

    def inner(self, U: Tensor) -> Tensor:
        """The product UᵀX, in double precision where the types differ."""
        if U.dtype == self.tensor.dtype:
            return U.T @ self.tensor
        total = self.tensor.new_zeros(U.shape[1], self.tensor.shape[1], dtype=torch.float64)
        for start, stop in chunks(len(U), _ROWS):
            total.addmm_(U[start:stop].double().T, self.tensor[start:stop].double())
        return total

    def times(self, weight: Tensor) -> Tensor:
        """The product X W, shape (n, k), for W of shape (N₀, k), in the type of W."""
        product = weight.new_empty(len(self.tensor), weight.shape[1])
        for start, stop in chunks(len(product), _ROWS):
            product[start:stop] = self.tensor[start:stop].to(weight) @ weight
        return product

    def dense(self) -> Tensor:
        """All of X."""
        return self.tensor

    def square_sum(self) -> float:
        """Sum of the squares of all entries."""
        return float(torch.linalg.vector_norm(self.tensor) ** 2)
