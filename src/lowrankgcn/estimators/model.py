"""The part of a fitted classifier that predicts new rows; this part is saved.

Rows become features and affinities. One product with a small matrix extends all vectors that the
networks use; each network is then evaluated row by row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, final

import numpy as np
import torch
from numpy.typing import NDArray

from lowrankgcn._codec import saved
from lowrankgcn._parallel import chunks, map_chunks
from lowrankgcn._validation import expect_shape, invalid
from lowrankgcn.estimators.extended import CACHED_ROWS, ExtendedLayer, ExtendedNetwork, mean_softmax
from lowrankgcn.estimators.features import CHUNK_ROWS
from lowrankgcn.estimators.inputs import GivenInputs, Inputs
from lowrankgcn.estimators.trained import TrainedNetwork
from lowrankgcn.graphs.cross.base import CrossAffinity
from lowrankgcn.operators import FloatArray
from lowrankgcn.spectral.extension import compress_eigenvectors, cross_affinity
from lowrankgcn.spectral.filters import Filter, Polynomial
from lowrankgcn.spectral.filters.library import Custom
from lowrankgcn.spectral.kernel import Kernel, kernel
from lowrankgcn.spectral.laplacian import Laplacian
from lowrankgcn.spectral.spectrum import Eigenpairs

__all__ = ["ExtendedVectors", "Model", "build_model", "divided_difference", "extend"]

_ENTRIES = 2**22  # feature entries per chunk


@saved
@final
@dataclass(frozen=True, eq=False)
class Model:
    """Networks and the vectors extended to new rows.

    Attributes
    ----------
    inputs : Inputs
    cross : CrossAffinity
    basis : (m, 1 + R) array
        Vectors over the columns of the cross-affinity. The first extends √degree on the components
        with a label; it is zero at rows without affinity to any of them. The features of a graph
        without features come next.
    networks : tuple of ExtendedNetwork
    n_classes : int
    """

    inputs: Inputs
    cross: CrossAffinity
    basis: FloatArray
    networks: tuple[ExtendedNetwork, ...]
    n_classes: int

    def __post_init__(self) -> None:
        expect_shape(self.basis, "basis", self.cross.n_columns, None)
        count, least = self.basis.shape[1], self._n_unfolded
        if count < least:
            raise invalid("basis", f"at least {least} columns", count)
        if not self.networks:
            raise invalid("networks", "one or more", "none")
        for network in self.networks:
            try:  # the forward pass of one row needs arrays of fitting shapes
                logits = network.forward(np.zeros((1, count)), np.zeros((1, self.inputs.width)))[-1]
            except (ValueError, IndexError) as error:
                raise invalid("layers", "arrays of fitting shapes", error) from None
            if logits.shape != (network.layers[0].n_restarts, 1, self.n_classes):
                raise invalid("layers", f"{self.n_classes} logits", f"shape {logits.shape}")

    @cached_property
    def width(self) -> int | None:
        """Number of features, None if no network uses them."""
        owns = (network.layers[0].own for network in self.networks)
        return next((own.shape[1] for own in owns if own is not None), None)

    def distributions(self, X: Any) -> tuple[FloatArray, NDArray[np.bool_]]:
        """Compute class distributions (q, C), and a mask of the rows without affinity (uniform).

        Rows are independent of each other and processed in chunks: memory is O(q C) beside X.
        """
        count = len(X) if not hasattr(X, "shape") else X.shape[0]
        shares = np.empty((count, self.n_classes))
        lost = np.empty(count, np.bool_)
        wide = 1 if self.width is None else self.width

        def classify(start: int, stop: int) -> None:
            part = X.iloc[start:stop] if hasattr(X, "iloc") else X[start:stop]
            shares[start:stop], lost[start:stop] = self._chunk(part)

        map_chunks(classify, count, max(1, min(CHUNK_ROWS, _ENTRIES // wide)))
        return shares, lost

    def place(self, X: Any) -> tuple[FloatArray, FloatArray]:
        """Compute the extended vectors (q, 1 + R) and features (q, N_0) of rows.

        The features have no columns if no network uses them.
        """
        extended = self.cross.product(self.inputs.rows(X), self.basis)
        if self.width is None:
            return extended, np.zeros((len(extended), 0))
        return extended, self.inputs.features(X, extended)

    def _chunk(self, X: Any) -> tuple[FloatArray, NDArray[np.bool_]]:
        extended = self.cross.product(self.inputs.rows(X), self._folded)
        first = np.zeros((len(extended), 0))
        if self.width is not None:
            first = self.inputs.product(X, self._first_weights, extended)
        total = np.empty((len(extended), self.n_classes))
        for start, stop in chunks(len(total), CACHED_ROWS):
            total[start:stop] = self._mixed(extended[start:stop], first[start:stop])
        lost = extended[:, 0] == 0
        total[lost] = 1.0 / self.n_classes
        return total / total.sum(axis=1, keepdims=True), lost

    def _mixed(self, extended: FloatArray, first: FloatArray) -> FloatArray:
        """Average the distributions of all networks with their weights."""
        total = np.zeros((len(extended), self.n_classes))
        i, j = self._n_unfolded, 0  # columns of `extended` and of `first` used so far
        for network in self.networks:
            n_read, n_first = network.n_read, network.n_first
            outputs = network.outputs(extended[:, i : i + n_read], first[:, j : j + n_first])
            total += network.weight * mean_softmax(outputs[-1])
            i, j = i + n_read, j + n_first
        return total

    @cached_property
    def _first_weights(self) -> FloatArray:
        """First-layer weights of all networks with features, side by side, shape (N_0, k)."""
        weights = [network.first_weights for network in self.networks]
        return np.hstack([weight for weight in weights if weight is not None])

    @property
    def _n_unfolded(self) -> int:
        """Number of vectors in use beside the readouts: √degree, and those used as features."""
        return 1 + (self.inputs.width if isinstance(self.inputs, GivenInputs) else 0)

    @cached_property
    def _folded(self) -> FloatArray:
        """The basis multiplied by all readouts, so that rows need one product only."""
        parts = [network.read_out(self.basis) for network in self.networks]
        return np.hstack([self.basis[:, : self._n_unfolded], *parts])


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

    def basis(self) -> FloatArray:
        """Return all vectors, shape (m, 1 + R)."""
        return np.hstack(self._parts)

    def compressed(self, vectors: FloatArray) -> int:
        """Add vectors of the fitted rows, shape (n, k); return the column of the first."""
        return self._add(self.cross.compress(vectors))

    def eigenvectors(self, pairs: Eigenpairs) -> int:
        """Add eigenvectors unless they were added before; return the column of the first."""
        for known, place in self._places:
            if _begins_with(known, pairs):
                return place
        place = self._add(compress_eigenvectors(self.cross, pairs))
        self._places.append((pairs, place))
        return place

    def _add(self, part: FloatArray) -> int:
        place = sum(int(known.shape[1]) for known in self._parts)
        self._parts.append(part)
        return place


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
