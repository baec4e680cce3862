"""Trained networks extended to new rows.

The size of the result does not depend on the number of fitted rows where affinities go through
hyperedges, landmarks or Fourier modes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from lowrankgcn.estimators.extended import ExtendedLayer, ExtendedNetwork
from lowrankgcn.estimators.inputs import GivenInputs, Inputs
from lowrankgcn.estimators.model import Model
from lowrankgcn.estimators.trained import TrainedNetwork
from lowrankgcn.graphs.cross.base import CrossAffinity
from lowrankgcn.nn import Propagation
from lowrankgcn.spectral.extension import compress_eigenvectors, cross_affinity
from lowrankgcn.spectral.filters import Filter, Polynomial
from lowrankgcn.spectral.filters.library import Custom
from lowrankgcn.spectral.kernel import Kernel, kernel
from lowrankgcn.spectral.laplacian import Laplacian
from lowrankgcn.spectral.spectrum import Eigenpairs
from lowrankgcn.training import Features, Nodes, SpectralLayer, StoredNodes

__all__ = ["ExtendedVectors", "build_model", "divided_difference", "extend"]

FloatArray = NDArray[np.float64]


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
    features: Features,
    reached: NDArray[np.bool_],
) -> Model:
    """Build the model of new rows; `reached` marks the rows of components with a label."""
    cross = cross_affinity(laplacian, loop_weight=_loop_of_new_rows(laplacian))
    root = np.where(reached, np.sqrt(laplacian.degrees), 0.0)[:, None]
    vectors = ExtendedVectors(cross, cross.compress(root))
    spectral = any(trained.prepared.pairs is not None for trained in networks)
    if pairs is not None and (spectral or isinstance(inputs, GivenInputs)):
        vectors.eigenvectors(pairs)  # networks on fewer of them find theirs among these
    extended = tuple(extend(trained, laplacian, features, vectors) for trained in networks)
    return Model(inputs, cross, vectors.basis(), extended, networks[0].network.widths[-1])


def _loop_of_new_rows(laplacian: Laplacian) -> float | None:
    """Return the mean of loops given row by row, None if the smoother determines the loop."""
    if np.ndim(laplacian.smoother) == 0:
        return None
    return max(0.0, float(np.mean(laplacian.loop_weights - laplacian.graph.loop_weights)))


@torch.no_grad()
def extend(
    trained: TrainedNetwork, laplacian: Laplacian, features: Features, vectors: ExtendedVectors
) -> ExtendedNetwork:
    """Extend a trained network to new rows.

    Parameters
    ----------
    trained : TrainedNetwork
    laplacian : Laplacian
    features : Features
        Features of the fitted rows.
    vectors : ExtendedVectors
        The vectors that the network uses are added.
    """
    prepared = trained.prepared
    if prepared.candidate.ignores_graph:
        layers = trained.feature_layers()
    else:
        builder: _Builder
        if prepared.pairs is not None:
            builder = _SpectralBuilder(trained, vectors)
        else:
            builder = _FullBuilder(trained, vectors, laplacian)
        layers = builder.layers(prepared.scale_features(features, trained.record.weights[0]))
    name = str(trained.network.activation_name)
    return ExtendedNetwork(layers, name, prepared.feature_scale, trained.weight)


class _Builder(ABC):
    """Extension layer by layer from the fitted rows."""

    def __init__(self, trained: TrainedNetwork) -> None:
        self.trained = trained
        chosen = torch.as_tensor(trained.restarts)
        self.weights = [weight[chosen] for weight in trained.record.weights]  # (s, K, in, out)
        self.biases = [bias[chosen] for bias in trained.record.biases]
        self.s = len(chosen)
        self.last = len(self.weights) - 1

    @abstractmethod
    def layers(self, X: Features) -> tuple[ExtendedLayer, ...]:
        """Return the extended layers."""

    def activated(self, Z: Tensor, layer: int, restart: int) -> Tensor:
        """Apply bias and activation to Z, which is overwritten."""
        if self.biases:
            Z += self.biases[layer][restart]
        result: Tensor = self.trained.network.activation(Z)
        return result

    def bias(self, layer: int) -> NDArray[Any] | None:
        """Return the biases of a layer, shape (s, N)."""
        return self.biases[layer].cpu().numpy() if self.biases else None


class _SpectralBuilder(_Builder):
    """Extension of kernels U φ Uᵀ."""

    def __init__(self, trained: TrainedNetwork, vectors: ExtendedVectors) -> None:
        super().__init__(trained)
        pairs = trained.prepared.pairs
        assert pairs is not None
        self.first = vectors.eigenvectors(pairs)
        dtype, device = self.weights[0].dtype, self.weights[0].device
        self.U = torch.as_tensor(pairs.eigenvectors).to(dtype=dtype, device=device)
        kernels = [k for k in trained.prepared.kernels if isinstance(k, Kernel)]
        self.responses = [
            torch.as_tensor(kernel.response).to(dtype=dtype, device=device) for kernel in kernels
        ]

    def layers(self, X: Features) -> tuple[ExtendedLayer, ...]:
        """Propagate UᵀH from layer to layer; 𝒦H = U φ(Λ) UᵀH needs no more of H.

        A reduced-order network uses the rows in its last layer only.
        """
        reduced = self.trained.prepared.candidate.architecture == "reduced"
        nodes = X.nodes or StoredNodes(self.U.cpu().numpy())
        inner = [X.inner(self.U)] * self.s
        notes = []
        for layer in range(self.last + 1):
            parts = [self._coefficients(layer, inner[j], j) for j in range(self.s)]
            if layer == self.last or not reduced:
                notes.append(self._layer(layer, parts))
            if layer == self.last:
                break
            if reduced:
                inner = [self.activated(part, layer, j) for j, part in enumerate(parts)]
            else:  # one sum over the nodes for all restarts
                inner = self._summed(nodes, layer, parts)
        return tuple(notes)

    def _coefficients(self, layer: int, inner: Tensor, restart: int) -> Tensor:
        """Σ_k φ_k(Λ) UᵀH Θ_k, shape (r, N_out)."""
        terms = [
            phi[:, None] * (inner @ weight)
            for phi, weight in zip(self.responses, self.weights[layer][restart], strict=True)
        ]
        return torch.stack(terms).sum(dim=0)

    def _summed(self, nodes: Nodes, layer: int, parts: list[Tensor]) -> list[Tensor]:
        """Compute UᵀH of a hidden layer from its coefficients."""
        bias = self.bias(layer)
        hidden = SpectralLayer(
            torch.cat(parts, dim=1).cpu().numpy(),
            None if bias is None else bias.ravel(),
            str(self.trained.network.activation_name),
        )
        summed = torch.from_numpy(nodes.sums(hidden)).to(parts[0])
        return list(summed.chunk(self.s, dim=1))

    def _layer(self, layer: int, parts: list[Tensor]) -> ExtendedLayer:
        readout = torch.cat(parts, dim=1).cpu().numpy()
        return ExtendedLayer(None, readout, self.first, self.bias(layer), self.s)


class _FullBuilder(_Builder):
    """Extension of any kernel 𝒦 = φ(1)I + (I − 𝓛)ψ(𝓛) with ψ(λ) = (φ(λ) − φ(1))/(1 − λ)."""

    def __init__(
        self, trained: TrainedNetwork, vectors: ExtendedVectors, laplacian: Laplacian
    ) -> None:
        super().__init__(trained)
        self.vectors = vectors
        kernels = [k for k in trained.prepared.kernels if isinstance(k, Kernel)]
        self.at_one = [float(kernel.filter(np.ones(1))[0]) for kernel in kernels]
        self.divided = [kernel_of(laplacian, divided_difference(k.filter)) for k in kernels]
        self.modules = [m for m in trained.network.propagations if isinstance(m, Propagation)]

    def layers(self, X: Features) -> tuple[ExtendedLayer, ...]:
        notes = []
        H = [X.dense()] * self.s
        for layer in range(self.last + 1):
            notes.append(self._note(layer, H))
            if layer < self.last:
                H = [self._forward(layer, H[j], j) for j in range(self.s)]
        return tuple(notes)

    def _forward(self, layer: int, H: Tensor, restart: int) -> Tensor:
        weights = self.weights[layer][restart]
        terms = [module(H @ w) for module, w in zip(self.modules, weights, strict=True)]
        return self.activated(torch.stack(terms).sum(dim=0), layer, restart)

    def _note(self, layer: int, H: list[Tensor]) -> ExtendedLayer:
        """Extend a layer with inputs H, one for each restart."""
        products, owns = [], []
        for j in range(self.s):
            weights = self.weights[layer][j].double().cpu().numpy()
            inner = H[j].double().cpu().numpy()
            terms = [K @ (inner @ w) for K, w in zip(self.divided, weights, strict=True)]
            products.append(np.sum(terms, axis=0))
            owns.append(sum(a * w for a, w in zip(self.at_one, weights, strict=True)))
        block = np.hstack(products)
        first = self.vectors.compressed(block)
        dtype = H[0].detach().cpu().numpy().dtype
        readout = np.eye(block.shape[1], dtype=dtype)
        own = np.stack(owns).astype(dtype)
        return ExtendedLayer(own, readout, first, self.bias(layer), self.s)


def kernel_of(laplacian: Laplacian, phi: Filter) -> Kernel:
    """Return the full-rank kernel of one filter."""
    made = kernel(laplacian, phi)
    assert isinstance(made, Kernel)
    return made


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
