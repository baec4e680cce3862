r"""Exact contribution of each network input to the margin between two classes.

A layer is affine in its input and in the extended vectors v(x), and an activation is

.. math:: \sigma(z) = \sigma(0) + s(z)\, z, \qquad s(z) = \frac{\sigma(z) - \sigma(0)}{z},

whatever σ is (for ReLU, s is 1 or 0). With s held at the values it has in row x, the margin
z_c(x) − z_{c'}(x) of two logits is therefore *equal* to

.. math:: \text{constant} + \sum_j f_j(x)\, F_j + \sum_k v_k(x)\, V_k

with the features f(x). One backward pass through the layers gives the coefficients F and V. They
add up over restarts and networks, and v(x) = a(x)ᵀB splits further into the hyperedges of the row.

>>> import numpy as np
>>> from lowrankgcn.estimators.extended import ExtendedLayer
>>> layer = ExtendedLayer(np.array([[[2.0, 0.5]]]), None, 0, np.array([[0.0, 1.0]]), 1)
>>> network = ExtendedNetwork((layer,), "relu", 1.0, 1.0)
>>> found = attribute((network,), np.zeros((1, 1)), np.array([[3.0]]), np.array([[1.0, -1.0]]))
>>> found.constant.tolist(), found.features.tolist(), found.margin.tolist()  # 3·1.5 − 1 = 3.5
([-1.0], [[1.5]], [3.5])
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from lowrankgcn.estimators.extended import ExtendedNetwork
from lowrankgcn.operators import FloatArray

__all__ = ["Attribution", "attribute"]

_ZERO = 1e-300  # where z is no larger, the secant s(z) does not matter


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
