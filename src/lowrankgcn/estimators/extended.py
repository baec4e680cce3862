"""Trained networks for new rows.

At a new row x a layer of a GCN is

    z(x) = Σ_k φ_k(1) h(x) Θ_k + u(x)ᵀ C + b,

where h(x) is the layer's input, u(x) extends the eigenvectors to x, and C, computed once from the
fitted rows, holds φ_k(Λ) Uᵀ H Θ_k. Kernels of low rank have no term in h(x), so their networks are
the last layer alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from lowrankgcn._codec import saved
from lowrankgcn._parallel import chunks
from lowrankgcn._validation import choice, expect_shape, invalid, positive_float, positive_int
from lowrankgcn.nn import ACTIVATIONS
from lowrankgcn.operators import FloatArray

__all__ = ["CACHED_ROWS", "ExtendedLayer", "ExtendedNetwork", "mean_softmax"]

Weights = NDArray[np.floating[Any]]

CACHED_ROWS = 8192  # hidden layers of this many rows stay in the cache


@saved
@final
@dataclass(frozen=True, eq=False)
class ExtendedLayer:
    """One layer for new rows, for s restarts.

    Attributes
    ----------
    own : (s, N_in, N_out) array or None
        Weights of the row's own input.
    readout : (R, s·N_out) array or None
        Coefficients of the extended vectors.
    first : int
        First column of the extended vectors that the readout uses.
    bias : (s, N_out) array or None
    n_restarts : int
        s.
    """

    own: Weights | None
    readout: Weights | None
    first: int
    bias: Weights | None
    n_restarts: int

    def __post_init__(self) -> None:
        restarts = positive_int(self.n_restarts, "n_restarts")
        positive_int(self.first, "first", minimum=0)
        if self.own is not None:
            expect_shape(self.own, "own", restarts, None, None)
        if self.readout is not None:
            columns = None if self.own is None else restarts * self.own.shape[2]
            expect_shape(self.readout, "readout", None, columns)
            if self.readout.shape[1] % restarts:
                got = self.readout.shape[1]
                raise invalid("readout", f"a multiple of {restarts} columns", got)
        if not self.width:
            raise invalid("layer", "a readout or weights of its own", "none")
        if self.bias is not None:
            expect_shape(self.bias, "bias", restarts, self.width)

    @property
    def width(self) -> int:
        """Number N_out of outputs of every restart."""
        if self.own is not None:
            return int(self.own.shape[2])
        return 0 if self.readout is None else self.readout.shape[1] // self.n_restarts

    @property
    def dtypes(self) -> set[np.dtype[Any]]:
        """Dtypes of the arrays."""
        return {part.dtype for part in (self.own, self.readout, self.bias) if part is not None}

    def by_restart(self, flat: NDArray[Any]) -> NDArray[Any]:
        """Reshape (q, s·N_out) to (s, q, N_out)."""
        return flat.reshape(len(flat), self.n_restarts, -1).transpose(1, 0, 2)


@saved
@final
@dataclass(frozen=True, eq=False)
class ExtendedNetwork:
    """A trained network for new rows.

    Attributes
    ----------
    layers : tuple of ExtendedLayer
    activation : str
    feature_scale, weight : float
    """

    layers: tuple[ExtendedLayer, ...]
    activation: str
    feature_scale: float
    weight: float

    def __post_init__(self) -> None:
        choice(self.activation, "activation", ACTIVATIONS)
        positive_float(self.feature_scale, "feature_scale")
        positive_float(self.weight, "weight")
        if not self.layers:
            raise invalid("layers", "one or more", "none")
        for layer, after in pairwise(self.layers):
            if after.own is not None and after.own.shape[1] != layer.width:
                raise invalid("own", f"{layer.width} inputs", after.own.shape[1])
        if len({layer.n_restarts for layer in self.layers}) > 1:
            raise invalid("layers", "the same number of restarts in all", "several")
        if len(set().union(*(layer.dtypes for layer in self.layers))) > 1:
            raise invalid("layers", "arrays of one dtype", "several")

    @cached_property
    def first_weights(self) -> FloatArray | None:
        """Scaled weights of the first layer, shape (N_0, s·N_1), None without features."""
        own = self.layers[0].own
        if own is None:
            return None
        flat: FloatArray = own.transpose(1, 0, 2).reshape(own.shape[1], -1).astype(np.float64)
        return self.feature_scale * flat

    @property
    def n_seen(self) -> int:
        """Number of columns of :attr:`first_weights`."""
        return 0 if self.first_weights is None else self.first_weights.shape[1]

    @property
    def n_read(self) -> int:
        """Number of columns of :meth:`read_out`."""
        return sum(layer.readout.shape[1] for layer in self.layers if layer.readout is not None)

    def read_out(self, vectors: NDArray[Any]) -> NDArray[Any]:
        """Multiply vectors (q, R) by the readouts of all layers, side by side."""
        parts = [
            vectors[:, layer.first : layer.first + len(layer.readout)] @ layer.readout
            for layer in self.layers
            if layer.readout is not None
        ]
        return np.hstack(parts) if parts else np.zeros((len(vectors), 0))

    def outputs(self, read: NDArray[Any], first: NDArray[Any]) -> list[NDArray[Any]]:
        """Compute the outputs of all layers before activation, each of shape (s, q, N_l).

        Parameters
        ----------
        read : (q, k) array
            :meth:`read_out` of the extended vectors.
        first : (q, s·N_1) array
            Product of features and :attr:`first_weights`; without columns if there are none.
        """
        outputs: list[NDArray[Any]] = []
        for layer in self.layers:
            Z: Any = 0.0
            if layer.own is not None:
                Z = self.activate(outputs[-1]) @ layer.own if outputs else layer.by_restart(first)
            if layer.readout is not None:
                count = layer.readout.shape[1]
                Z, read = Z + layer.by_restart(read[:, :count]), read[:, count:]
            outputs.append(Z if layer.bias is None else Z + layer.bias[:, None, :])
        return outputs

    def forward(self, extended: FloatArray, features: FloatArray) -> list[NDArray[Any]]:
        """Compute the outputs from extended vectors (q, R) and features (q, N_0)."""
        weights = self.first_weights
        first = features[:, :0] if weights is None else features @ weights
        return self.outputs(self.read_out(extended), first)

    def activate(self, Z: NDArray[Any]) -> NDArray[Any]:
        """Apply the activation."""
        H: Tensor = ACTIVATIONS[self.activation]()(torch.from_numpy(np.ascontiguousarray(Z)))
        return H.numpy()


def mean_softmax(logits: NDArray[Any]) -> FloatArray:
    """Average the softmax over restarts: (q, C) from logits (s, q, C).

    >>> mean_softmax(np.log([[[1.0, 3.0]], [[1.0, 1.0]]])).tolist()
    [[0.375, 0.625]]
    """
    n_restarts, count, n_classes = logits.shape
    shares = np.empty((count, n_classes))
    for start, stop in chunks(count, CACHED_ROWS):
        total = np.zeros((n_classes, stop - start))
        for restart in logits:
            # The class axis comes first, because reductions along short rows are slow.
            part = restart[start:stop].T.copy(order="C")
            part -= part.max(axis=0)
            np.exp(part, out=part)
            part /= part.sum(axis=0)
            total += part
        shares[start:stop] = total.T / n_restarts
    return shares
