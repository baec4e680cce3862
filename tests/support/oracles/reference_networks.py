"""The oracle of the networks: sections 2.2, 2.4 and A4.1 of the paper, written out densely.

As in ``reference.py``, every function transcribes one formula and imports nothing from the
package. Weights are one list per layer with one matrix per kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


def relu(x: Array) -> Array:
    """sigma(x) = max{x, 0} (A4.1)."""
    return np.maximum(x, 0.0)


def gcn_layer(
    kernels: Sequence[Array], X: Array, weights: Sequence[Array], bias: ArrayLike = 0.0
) -> Array:
    """sum_k K_k X Theta_k + 1 b^T, the argument of the activation in equation (2)."""
    terms = [K @ X @ Theta for K, Theta in zip(kernels, weights, strict=True)]
    return np.sum(terms, axis=0) + np.asarray(bias)


def gcn(
    kernels: Sequence[Array],
    X: ArrayLike,
    weights: Sequence[Sequence[Array]],
    biases: Sequence[ArrayLike] | None = None,
    sigma: Callable[[Array], Array] = relu,
) -> Array:
    """X^(L) of GCN and L-GCN: equation (2) in every layer, no activation in the last (A4.1)."""
    layer = np.asarray(X, dtype=np.float64)
    shifts = [0.0] * len(weights) if biases is None else biases
    for number, (Theta, b) in enumerate(zip(weights, shifts, strict=True), start=1):
        layer = gcn_layer(kernels, layer, Theta, b)
        if number < len(weights):
            layer = sigma(layer)
    return layer


def reduced_gcn(
    U_r: ArrayLike,
    responses: Sequence[ArrayLike],
    X: ArrayLike,
    weights: Sequence[Sequence[Array]],
    biases: Sequence[ArrayLike] | None = None,
    sigma: Callable[[Array], Array] = relu,
) -> Array:
    """X^(L) of R-GCN: reduction, spectral layers, projection (figure 1, A4.1); last bias after."""
    U = np.asarray(U_r, dtype=np.float64)
    diagonals = [np.diag(np.asarray(phi)) for phi in responses]
    shifts = [0.0] * len(weights) if biases is None else list(biases)
    inner = [*shifts[:-1], 0.0]
    return U @ gcn(diagonals, U.T @ np.asarray(X), weights, inner, sigma) + np.asarray(shifts[-1])


def softmax(X: ArrayLike) -> Array:
    """Psi: Y_ij = exp(X_ij) / sum_k exp(X_ik) (A4.1)."""
    powers = np.exp(np.asarray(X, dtype=np.float64))
    return powers / powers.sum(axis=1, keepdims=True)
