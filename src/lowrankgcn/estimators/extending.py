"""Trained networks extended to new rows.

The size of the result does not depend on the number of fitted rows where affinities go through
hyperedges, landmarks or Fourier modes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import final

import numpy as np
import torch
from numpy.typing import NDArray

from lowrankgcn.estimators.extended import ExtendedLayer, ExtendedNetwork
from lowrankgcn.estimators.inputs import GivenInputs, Inputs
from lowrankgcn.estimators.model import Model
from lowrankgcn.estimators.trained import TrainedNetwork
from lowrankgcn.graphs.cross.base import CrossAffinity
from lowrankgcn.operators import FloatArray
from lowrankgcn.spectral.extension import compress_eigenvectors, cross_affinity
from lowrankgcn.spectral.filters import Filter, Polynomial
from lowrankgcn.spectral.filters.library import Custom
from lowrankgcn.spectral.kernel import Kernel, kernel
from lowrankgcn.spectral.laplacian import Laplacian
from lowrankgcn.spectral.spectrum import Eigenpairs

__all__ = ["ExtendedVectors", "build_model", "divided_difference", "extend"]


@final
class ExtendedVectors:
    """Vectors extended to new rows, over the columns of a cross-affinity.

    Networks on the same eigenvectors, or on the first of them, share vectors.

    Parameters
    ----------
    cross : CrossAffinity
    root : (m, 1) array
        Extension of √degree, the first vector.
    """

    def __init__(self, cross: CrossAffinity, root: FloatArray) -> None:
        self.cross = cross
        self._parts = [root]
        self._places: list[tuple[Eigenpairs, int]] = []

    @property
    def pairs(self) -> tuple[Eigenpairs, ...]:
        """Eigenpairs whose vectors were added, in order."""
        return tuple(pairs for pairs, _ in self._places)

    @property
    def count(self) -> int:
        """Number of vectors."""
        return sum(part.shape[1] for part in self._parts)

    def basis(self) -> FloatArray:
        """Return all vectors, shape (m, count)."""
        return np.hstack(self._parts)

    def compressed(self, vectors: FloatArray) -> int:
        """Add vectors of the fitted rows, shape (n, k); return the column of the first."""
        place = self.count
        self._parts.append(np.asarray(self.cross.compress(vectors)))
        return place

    def eigenvectors(self, pairs: Eigenpairs) -> int:
        """Add eigenvectors unless they were added before; return the column of the first."""
        for known, place in self._places:
            if _begins_with(known, pairs):
                return place
        self._places.append((pairs, self.count))
        self._parts.append(compress_eigenvectors(self.cross, pairs))
        return self._places[-1][1]


def _begins_with(known: Eigenpairs, pairs: Eigenpairs) -> bool:
    """Return whether `pairs` are the first of `known`, in the same memory."""
    whole, part = np.asarray(known.eigenvectors), np.asarray(pairs.eigenvectors)
    if part.shape[1] > whole.shape[1] or part.strides != whole.strides:
        return False
    return bool(part.ctypes.data == whole.ctypes.data) and part.dtype == whole.dtype


def build_model(
    inputs: Inputs,
    laplacian: Laplacian,
    pairs: Eigenpairs | None,
    networks: tuple[TrainedNetwork, ...],
    reached: NDArray[np.bool_],
) -> Model:
    """Build the model of new rows; `reached` marks the rows of components with a label."""
    cross = cross_affinity(laplacian, loop_weight=_loop_of_new_rows(laplacian))
    root = np.where(reached, np.sqrt(laplacian.degrees), 0.0)[:, None]
    vectors = ExtendedVectors(cross, cross.compress(root))
    spectral = any(trained.prepared.pairs is not None for trained in networks)
    if pairs is not None and (spectral or isinstance(inputs, GivenInputs)):
        vectors.eigenvectors(pairs)  # networks on fewer of them find theirs among these
    extended = tuple(extend(trained, laplacian, vectors) for trained in networks)
    return Model(inputs, cross, vectors.basis(), extended, networks[0].network.widths[-1])


def _loop_of_new_rows(laplacian: Laplacian) -> float | None:
    """Return the mean of loops given row by row, None if the smoother determines the loop."""
    if np.ndim(laplacian.smoother) == 0:
        return None
    return max(0.0, float(np.mean(laplacian.loop_weights - laplacian.graph.loop_weights)))


def extend(
    trained: TrainedNetwork, laplacian: Laplacian, vectors: ExtendedVectors
) -> ExtendedNetwork:
    """Extend a trained network to new rows; the vectors that it uses are added to `vectors`."""
    layers, pairs = trained.layers, trained.prepared.pairs
    if layers is None:
        layers = _full_rank_layers(trained, laplacian, vectors)
    elif pairs is not None:
        layers = (replace(layers[0], first=vectors.eigenvectors(pairs)),)
    return trained.extended(layers)


@torch.no_grad()
def _full_rank_layers(
    trained: TrainedNetwork, laplacian: Laplacian, vectors: ExtendedVectors
) -> tuple[ExtendedLayer, ...]:
    """Extend kernels 𝒦 = φ(1)I + (I − 𝓛)ψ(𝓛) with ψ(λ) = (φ(λ) − φ(1))/(1 − λ)."""
    kernels, count = trained.kernels, len(trained.restarts)
    at_one = np.array([float(own.filter(np.ones(1))[0]) for own in kernels])
    divided = [kernel(laplacian, [divided_difference(own.filter)])[0] for own in kernels]
    dtype = trained.weights[0].cpu().numpy().dtype
    H = [trained.scaled_features.dense().double().cpu().numpy()] * count
    layers: list[ExtendedLayer] = []
    for tensor, bias in zip(trained.weights, trained.biases, strict=True):
        weights = tensor.double().cpu().numpy()  # (t, K, N_in, N_out)
        block = np.hstack(_propagate(divided, H, weights))
        own = np.tensordot(weights, at_one, (1, 0)).astype(dtype)
        readout = np.eye(block.shape[1], dtype=dtype)
        layers.append(ExtendedLayer(own, readout, vectors.compressed(block), bias, count))
        if tensor is not trained.weights[-1]:
            Z = np.stack(_propagate(kernels, H, weights))
            Z = Z if bias is None else Z + bias[:, None, :]
            H = list(trained.network.activation(torch.from_numpy(Z)).numpy())
    return tuple(layers)


def _propagate(
    kernels: Sequence[Kernel], H: list[FloatArray], weights: FloatArray
) -> list[FloatArray]:
    """Compute Σ_k 𝒦_k H Θ_k for every restart."""
    return [
        np.sum([K @ (h @ theta) for K, theta in zip(kernels, own, strict=True)], axis=0)
        for h, own in zip(H, weights, strict=True)
    ]


def divided_difference(phi: Filter) -> Filter:
    """Return ψ(λ) = (φ(λ) − φ(1))/(1 − λ), −φ′(1) at λ = 1; a polynomial if φ is one.

    Examples
    --------
    >>> import lowrankgcn as lg
    >>> divided_difference(lg.filters.Polynomial((0.0, 0.0, 1.0))).coefficients  # (λ² − 1)/(1 − λ)
    (-1.0, -1.0)
    """
    if phi.coefficients is not None:
        ascending = np.array(phi.coefficients)
        ascending[0] -= ascending.sum()
        # Synthetic division by (1 − λ).
        quotient = np.cumsum(ascending)[:-1]
        return Polynomial(tuple(quotient.tolist()) or (0.0,))
    at_one = float(phi(np.ones(1))[0])

    def psi(values: FloatArray) -> FloatArray:
        values = np.asarray(values, np.float64)
        near = np.abs(1.0 - values) < 1e-7
        step = 1e-6
        slope = (phi(1.0 - step + 0.0 * values) - phi(1.0 + step + 0.0 * values)) / (2 * step)
        gap = np.where(near, 1.0, 1.0 - values)
        return np.where(near, slope, (phi(values) - at_one) / gap)

    return Custom(psi)
