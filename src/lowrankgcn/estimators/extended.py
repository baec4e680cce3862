r"""Trained networks for new rows, and the contribution of each input to their margins.

At a new row x a layer of a GCN is

    z(x) = Σ_k φ_k(1) h(x) Θ_k + u(x)ᵀ C + b,

where h(x) is the layer's input, u(x) extends the eigenvectors to x, and C, computed once from the
fitted rows, holds φ_k(Λ) Uᵀ H Θ_k. Kernels of low rank have no term in h(x), so their networks are
the last layer alone.

A layer is affine in its input and in the extended vectors v(x), and an activation is

.. math:: \sigma(z) = \sigma(0) + s(z)\, z, \qquad s(z) = \frac{\sigma(z) - \sigma(0)}{z},

for any σ (for ReLU, s is 1 or 0). With s held at the values it has in row x, the margin
z_c(x) − z_{c'}(x) of two logits is therefore *equal* to

.. math:: \text{constant} + \sum_j f_j(x)\, F_j + \sum_k v_k(x)\, V_k

with the features f(x). One backward pass through the layers gives the coefficients F and V. They
add up over restarts and networks, and v(x) = a(x)ᵀB splits further into the hyperedges of the row.

>>> import numpy as np
>>> layer = ExtendedLayer(np.array([[[2.0, 0.5]]]), None, 0, np.array([[0.0, 1.0]]), 1)
>>> network = ExtendedNetwork((layer,), "relu", 1.0, 1.0)
>>> found = attribute((network,), np.zeros((1, 1)), np.array([[3.0]]), np.array([[1.0, -1.0]]))
>>> found.constant.tolist(), found.features.tolist(), found.margin.tolist()  # 3·1.5 − 1 = 3.5
([-1.0], [[1.5]], [3.5])
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from lowrankgcn._codec import saved
from lowrankgcn._parallel import chunks
from lowrankgcn._validation import choice, positive_float
from lowrankgcn.nn import ACTIVATIONS
from lowrankgcn.operators import FloatArray

__all__ = ["Attribution", "ExtendedLayer", "ExtendedNetwork", "attribute", "mean_softmax"]

Weights = NDArray[np.floating[Any]]

_ZERO = 1e-300  # where z is no larger, the secant s(z) does not matter
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

    @cached_property
    def first_weights(self) -> FloatArray | None:
        """Scaled weights of the first layer, shape (N_0, s·N_1), None without features."""
        own = self.layers[0].own
        if own is None:
            return None
        flat: FloatArray = own.transpose(1, 0, 2).reshape(own.shape[1], -1).astype(np.float64)
        return self.feature_scale * flat

    @property
    def n_first(self) -> int:
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


@final
@dataclass(frozen=True, eq=False)
class Attribution:
    """Parts of the margins of q rows, averaged over the networks with their shares.

    Attributes
    ----------
    margin : (q,) array
        Margins as computed by the networks.
    constant : (q,) array
        Contribution of the biases.
    features : (q, N_0) array
        Coefficients F of the features.
    vectors : (q, R) array
        Coefficients V of the extended vectors.
    """

    margin: FloatArray
    constant: FloatArray
    features: FloatArray
    vectors: FloatArray


def attribute(
    networks: Sequence[ExtendedNetwork],
    extended: FloatArray,
    features: FloatArray,
    direction: FloatArray,
) -> Attribution:
    """Compute the coefficients of all inputs in Σ_n w_n mean_t direction · z^{(n,t)}.

    Parameters
    ----------
    networks : sequence of ExtendedNetwork
    extended : (q, R) array
        Values v(x) of the extended vectors.
    features : (q, N_0) array
    direction : (q, C) array
        1 at the class and −1 at the other class, or any combination of logits.

    Notes
    -----
    O(q s Σ N_{l-1} N_l) for each network: twice the cost of predicting.
    """
    margin, constant = np.zeros((2, len(features)))
    by_feature, by_vector = np.zeros(features.shape), np.zeros(extended.shape)
    for network in networks:
        *hidden, logits = network.forward(extended, features)
        toward: Any = np.broadcast_to(direction * (network.weight / len(logits)), logits.shape)
        margin += (toward * logits).sum(axis=(0, 2))
        at_zero = network.activate(np.zeros(1))[0]
        for layer, Z in zip(reversed(network.layers), [*reversed(hidden), None], strict=True):
            if layer.bias is not None:
                constant += np.einsum("sqc,sc->q", toward, layer.bias)
            if layer.readout is not None:
                side_by_side = toward.transpose(1, 0, 2).reshape(len(features), -1)
                place = slice(layer.first, layer.first + len(layer.readout))
                by_vector[:, place] += side_by_side @ layer.readout.T
            if layer.own is None:  # nothing before this layer matters to the row
                break
            toward = toward @ layer.own.transpose(0, 2, 1)
            if Z is None:
                by_feature += network.feature_scale * toward.sum(axis=0)
            else:
                constant += at_zero * toward.sum(axis=(0, 2))
                toward = toward * _secant(network, Z, at_zero)
    return Attribution(margin, constant, by_feature, by_vector)


def _secant(network: ExtendedNetwork, Z: NDArray[Any], at_zero: float) -> NDArray[Any]:
    """Compute (σ(Z) − σ(0))/Z, zero where Z is zero."""
    rise = network.activate(Z) - at_zero
    secant: NDArray[Any] = np.zeros_like(Z)
    np.divide(rise, Z, out=secant, where=np.abs(Z) > _ZERO)
    return secant
