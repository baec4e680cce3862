r"""Hidden layers of low-rank networks as sums over rows of U, which may be stored elsewhere.

A kernel :math:`\mathcal{K} = U \varphi(\Lambda) U^T` needs only :math:`U^T H` of a hidden layer H,
and a hidden layer is :math:`H = \sigma(U A + b)` with a small A (r×c). Training therefore needs two
sums over the n nodes, which can be computed on any parts of the rows of U:

.. math:: S = U^T \sigma(U A + b), \qquad
          \partial A = U^T (\sigma' \circ U G), \quad \partial b = 1^T (\sigma' \circ U G)

with :math:`G = \partial L / \partial S`. In the coordinates of the eigenvectors a low-rank network
is a reduced-order one with the activation :math:`A \mapsto U^T \sigma(U A + b)`.

>>> import numpy as np
>>> nodes = StoredNodes(np.array([[0.6], [0.0], [-0.8]]))
>>> layer = SpectralLayer(np.array([[1.0, -2.0]]), None, "relu")
>>> nodes.sums(layer)  # 0.6·0.6 from the first node, 0.8·1.6 from the last
array([[ 0.36, -1.28]])
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from lowrankgcn._parallel import chunks, map_chunks
from lowrankgcn.training.activations import ACTIVATIONS

__all__ = ["Nodes", "SpectralLayer", "StoredNodes"]

FloatArray = NDArray[np.float64]

# Bytes of activations at a time, which fit the cache, but at least some rows for long products.
_CHUNK_BYTES = 2**20
_SMALLEST_CHUNK = 256
# Rows summed by one thread at a time: enough work to outweigh starting it.
_PART = 2**16


@final
@dataclass(frozen=True, eq=False)
class SpectralLayer:
    """A hidden layer σ(U A + b) as a small value that can be sent to the rows of U.

    Attributes
    ----------
    coefficients : (r, c) array
        A; c = s·N for s restarts side by side.
    bias : (c,) array or None
        b.
    activation : str
        A name of :data:`lowrankgcn.nn.ACTIVATIONS`.

    Notes
    -----
    Rows are processed in chunks of a megabyte. Products are computed in the dtype of U and summed
    over chunks in double precision.

    Examples
    --------
    >>> layer = SpectralLayer(np.array([[2.0]]), np.array([-1.0]), "relu")
    >>> layer.sums(np.array([[0.5], [1.0]]))  # the first node is at the kink
    array([[1.]])
    """

    coefficients: NDArray[Any]
    bias: NDArray[Any] | None
    activation: str

    def sums(self, U: NDArray[Any]) -> FloatArray:
        """Compute UᵀH for U (n, R), of which the first r columns are used; shape (r, c)."""
        return self._reduce(U, None)[:-1]

    def gradients(self, U: NDArray[Any], G: NDArray[Any]) -> FloatArray:
        """Compute ∂A and below it ∂b from G = ∂L/∂(UᵀH), shape (r, c); shape (r + 1, c)."""
        return self._reduce(U, torch.from_numpy(G))

    def _reduce(self, U: NDArray[Any], G: Tensor | None) -> FloatArray:
        """Compute UᵀH above zeros, or with G the gradients."""
        rank, width = self.coefficients.shape
        A = torch.from_numpy(self.coefficients)
        bias = None if self.bias is None else torch.from_numpy(self.bias)
        activation = ACTIVATIONS[self.activation]
        total, part = np.zeros((rank + 1, width)), torch.empty_like(A)
        size = max(_SMALLEST_CHUNK, _CHUNK_BYTES // (width * U.itemsize))
        # The work arrays are allocated once: Dask workers return free memory to the system at once,
        # and allocating again costs more than the products.
        H_chunk, E_chunk = torch.empty(2, min(size, len(U)), width, dtype=A.dtype)
        for start, stop in chunks(len(U), size):
            rows = torch.from_numpy(U[start:stop, :rank])
            summand = H = torch.mm(rows, A, out=H_chunk[: stop - start])
            if bias is not None:
                H += bias
            activation.forward(H)
            if G is not None:
                summand = torch.mm(rows, G, out=E_chunk[: stop - start])
                activation.backward(summand, H)
                if bias is not None:
                    total[rank] += summand.sum(0).numpy()
            total[:rank] += torch.mm(rows.T, summand, out=part).numpy()
        return total


class Nodes(ABC):
    """The n nodes of low-rank networks, accessed by sums over rows of U.

    The coefficients of a layer must have the dtype of U; sums are in double precision.
    """

    @property
    @abstractmethod
    def n(self) -> int:
        """Number of nodes."""

    @abstractmethod
    def sums(self, layer: SpectralLayer) -> FloatArray:
        """Compute UᵀH of a hidden layer, shape (r, c)."""

    @abstractmethod
    def gradients(self, layer: SpectralLayer, G: NDArray[Any]) -> FloatArray:
        """Compute ∂A and below it ∂b from G = ∂L/∂(UᵀH), shape (r + 1, c)."""

    @abstractmethod
    def take(self, index: NDArray[np.intp]) -> NDArray[Any]:
        """Return rows of U for ascending indices, shape (p, R)."""


@final
@dataclass(frozen=True, eq=False)
class StoredNodes(Nodes):
    """Nodes with eigenvectors in memory.

    Attributes
    ----------
    vectors : (n, R) array
        U.

    Examples
    --------
    >>> nodes = StoredNodes(np.eye(3)[:, :2])
    >>> layer = SpectralLayer(np.array([[2.0], [-3.0]]), np.array([1.0]), "relu")
    >>> nodes.gradients(layer, np.ones((2, 1)))  # the second node is below the kink
    array([[1.],
           [0.],
           [1.]])
    """

    vectors: NDArray[Any]

    @property
    def n(self) -> int:
        """Number of nodes."""
        return len(self.vectors)

    def sums(self, layer: SpectralLayer) -> FloatArray:
        """Compute UᵀH of a hidden layer, shape (r, c)."""
        return self._sum(layer.sums)

    def gradients(self, layer: SpectralLayer, G: NDArray[Any]) -> FloatArray:
        """Compute ∂A and below it ∂b from G = ∂L/∂(UᵀH), shape (r + 1, c)."""
        return self._sum(partial(layer.gradients, G=G))

    def _sum(self, function: Callable[[NDArray[Any]], FloatArray]) -> FloatArray:
        U = self.vectors
        parts = map_chunks(lambda start, stop: function(U[start:stop]), self.n, _PART)
        return sum(parts, function(U[:0]))

    def take(self, index: NDArray[np.intp]) -> NDArray[Any]:
        """Return rows of U, shape (p, R)."""
        return self.vectors[index]
