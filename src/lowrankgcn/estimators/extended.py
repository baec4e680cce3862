"""Trained networks for new rows.

At a new row x a layer of a GCN is

    z(x) = Σ_k φ_k(1) h(x) Θ_k + u(x)ᵀ C + b,

where h(x) is the layer's input, u(x) extends the eigenvectors to x, and C, computed once from the
fitted rows, holds φ_k(Λ) Uᵀ H Θ_k.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, final

import numpy as np
import torch
from numpy.typing import NDArray

from lowrankgcn._codec import saved
from lowrankgcn._parallel import chunks
from lowrankgcn._validation import choice, expect_shape, invalid, positive_float, positive_int
from lowrankgcn.nn import ACTIVATIONS

__all__ = ["ExtendedLayer", "ExtendedNetwork", "mean_softmax"]

FloatArray = NDArray[np.float64]
Weights = NDArray[np.floating[Any]]

_SOFTMAX_ROWS = 8192  # in the cache


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
        """Types of the arrays, which are to be one."""
        return {part.dtype for part in (self.own, self.readout, self.bias) if part is not None}

    def output(self, extended: FloatArray, own: NDArray[Any] | None) -> NDArray[Any]:
        """Compute the output before activation, shape (s, q, N_out).

        Parameters
        ----------
        extended : (q, R) array
            Values of the extended vectors.
        own : (s, q, N_out) array or None
            Product of the row's own input and `own`.
        """
        Z: Any = 0.0 if own is None else own
        if self.readout is not None:
            part = extended[:, self.first : self.first + len(self.readout)] @ self.readout
            Z = Z + self.by_restart(part)
        if self.bias is not None:
            Z = Z + self.bias[:, None, :]
        return np.ascontiguousarray(Z)

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

    def distributions(self, extended: FloatArray, first: FloatArray) -> FloatArray:
        """Compute class distributions, shape (q, C).

        Parameters
        ----------
        extended : (q, R) array
            Values of the extended vectors.
        first : (q, s·N_1) array
            Product of features and :attr:`first_weights`; without columns if there are none.
        """
        activation = ACTIVATIONS[self.activation]()
        # In double precision, so that rounding does not depend on the number of rows noticeably.
        H: Any = None
        for number, layer in enumerate(self.layers):
            own = None
            if layer.own is not None:
                own = H @ layer.own if number else layer.by_restart(first)
            H = layer.output(extended, own)
            if number < len(self.layers) - 1:
                H = activation(torch.from_numpy(H)).numpy()
        return mean_softmax(H.transpose(0, 2, 1))

    @property
    def n_seen(self) -> int:
        """Number of columns of :attr:`first_weights`."""
        own = self.layers[0].own
        return 0 if own is None else int(own.shape[0] * own.shape[2])

    @property
    def first_weights(self) -> FloatArray | None:
        """Scaled weights of the first layer, shape (N_0, s·N_1), None without features."""
        own = self.layers[0].own
        if own is None:
            return None
        flat: FloatArray = own.transpose(1, 0, 2).reshape(own.shape[1], -1).astype(np.float64)
        return self.feature_scale * flat

    @property
    def reads_only(self) -> bool:
        """Whether logits are linear in the extended vectors, as in reduced-order networks."""
        return len(self.layers) == 1 and self.layers[0].own is None

    @property
    def n_logits(self) -> int:
        """Number of logits per row, over all restarts."""
        readout = self.layers[0].readout
        return 0 if readout is None else int(readout.shape[1])

    def folded(self, basis: FloatArray) -> FloatArray:
        """Compute coefficients of the logits over the columns of the cross-affinity, (m, s·C)."""
        layer = self.layers[0]
        assert layer.readout is not None
        place = slice(layer.first, layer.first + len(layer.readout))
        return np.asarray(basis[:, place] @ layer.readout, np.float64)

    def from_logits(self, logits: FloatArray) -> FloatArray:
        """Compute class distributions (q, C) from logits (q, s·C) without bias."""
        layer = self.layers[0]
        by_restart = logits.T.reshape(layer.n_restarts, -1, len(logits))
        return mean_softmax(by_restart, layer.bias)


def mean_softmax(logits: NDArray[Any], bias: NDArray[Any] | None = None) -> FloatArray:
    """Average the softmax over restarts: (q, C) from logits (s, C, q) and biases (s, C).

    The class axis comes before the rows, because reductions along short rows are slow.

    >>> mean_softmax(np.log([[[1.0], [3.0]], [[1.0], [1.0]]])).tolist()
    [[0.375, 0.625]]
    """
    n_restarts, n_classes, count = logits.shape
    shares = np.empty((count, n_classes))
    for start, stop in chunks(count, _SOFTMAX_ROWS):
        total = np.zeros((n_classes, stop - start))
        for restart in range(n_restarts):
            part = logits[restart, :, start:stop].copy(order="C")
            if bias is not None:
                part += bias[restart][:, None]
            part -= part.max(axis=0)
            np.exp(part, out=part)
            part /= part.sum(axis=0)
            total += part
        shares[start:stop] = total.T / n_restarts
    return shares
