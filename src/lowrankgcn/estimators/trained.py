"""Trained networks, and their class distributions of the fitted rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from lowrankgcn._parallel import chunks, map_chunks
from lowrankgcn.estimators.candidates import Prepared
from lowrankgcn.estimators.extended import CACHED_ROWS, ExtendedLayer, ExtendedNetwork, mean_softmax
from lowrankgcn.estimators.features import CHUNK_ROWS, ScaledFeatures
from lowrankgcn.nn import Network
from lowrankgcn.operators import FloatArray
from lowrankgcn.spectral.kernel import Kernel
from lowrankgcn.training import Features, SpectralLayer, StoredNodes, TrainingRecord

__all__ = ["TrainedNetwork", "restarts_in_use"]


@final
@dataclass(frozen=True, eq=False)
class TrainedNetwork:
    """A trained network with its share in the prediction.

    Attributes
    ----------
    prepared : Prepared
    network : Network
        Module with the weights of the best restart.
    record : TrainingRecord
    features : Features
        Features of the fitted rows, before scaling.
    weight : float
        Share in the prediction.
    restarts : (t,) int array
        Restarts in use.
    """

    prepared: Prepared
    network: Network
    record: TrainingRecord
    features: Features
    weight: float
    restarts: NDArray[np.intp]

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        """Kernels of the filters; none if the network ignores the graph."""
        return tuple(kernel for kernel in self.prepared.kernels if isinstance(kernel, Kernel))

    @cached_property
    def weights(self) -> list[Tensor]:
        """Weights of each layer, shape (t, K, N_in, N_out)."""
        return [weight[torch.as_tensor(self.restarts)] for weight in self.record.weights]

    @cached_property
    def biases(self) -> list[NDArray[Any] | None]:
        """Biases of each layer, shape (t, N_out)."""
        if not self.record.biases:
            return [None] * len(self.record.weights)
        return [bias.cpu().numpy()[self.restarts] for bias in self.record.biases]

    @property
    def scaled_features(self) -> ScaledFeatures:
        """Features as the network uses them."""
        return self.prepared.scale_features(self.features, self.record.weights[0])

    def extended(self, layers: tuple[ExtendedLayer, ...]) -> ExtendedNetwork:
        """Return the network with the given layers for new rows."""
        name = str(self.network.activation_name)
        return ExtendedNetwork(layers, name, self.prepared.feature_scale, self.weight)

    @cached_property
    def layers(self) -> tuple[ExtendedLayer, ...] | None:
        """Layers in terms of features and eigenvectors, None for kernels of full rank."""
        count = len(self.restarts)
        if self.prepared.candidate.ignores_graph:
            return tuple(
                ExtendedLayer(weight[:, 0].cpu().numpy(), None, 0, bias, count)
                for weight, bias in zip(self.weights, self.biases, strict=True)
            )
        if self.prepared.pairs is None:
            return None
        readout = _side_by_side(self._coefficients())
        return (ExtendedLayer(None, readout, 0, self.biases[-1], count),)

    @torch.no_grad()
    def _coefficients(self) -> Tensor:
        """Compute Σ_k φ_k(Λ) UᵀH Θ_k of the last layer, shape (t, r, C).

        UᵀH passes from layer to layer: 𝒦H = U φ(Λ) UᵀH depends on nothing else of H.
        """
        assert self.prepared.pairs is not None
        like, X = self.weights[0], self.scaled_features
        U = torch.as_tensor(self.prepared.pairs.eigenvectors).to(like)
        responses = np.stack([kernel.response for kernel in self.kernels])
        phi = torch.as_tensor(responses).to(like)[:, :, None]  # (K, r, 1)
        nodes = X.nodes or StoredNodes(U.cpu().numpy())
        inner = X.inner(U)[None]
        for weight, bias in zip(self.weights, self.biases, strict=True):
            A = (phi * (inner[:, None] @ weight)).sum(dim=1)
            if weight is self.weights[-1]:
                break
            if self.prepared.candidate.architecture == "reduced":
                inner = self.network.activation(A if bias is None else A + _like(bias, A)[:, None])
            else:
                flat = None if bias is None else bias.ravel()
                hidden = SpectralLayer(_side_by_side(A), flat, str(self.network.activation_name))
                sums = _like(nodes.sums(hidden), A)  # (r, t·N)
                inner = sums.reshape(len(sums), len(A), -1).transpose(0, 1)
        return A

    def add_to(self, total: FloatArray) -> None:
        """Add the weighted distributions of the fitted rows to `total`, shape (n, C)."""
        if self.layers is None:
            logits = self.record.logits(self.network, self.scaled_features)
            total += self.weight * mean_softmax(logits.cpu().numpy()[self.restarts])
            return
        network, pairs = self.extended(self.layers), self.prepared.pairs
        vectors = np.zeros((len(total), 0)) if pairs is None else pairs.eigenvectors
        weights = network.first_weights
        given = None if weights is None else _like(weights, self.weights[0]).cpu()

        def classify(start: int, stop: int) -> None:
            first = np.zeros((stop - start, 0))
            if given is not None:
                first = self.features.part(start, stop).times(given).numpy()
            for a, b in chunks(stop - start, CACHED_ROWS):
                rows = slice(start + a, start + b)
                outputs = network.outputs(network.read_out(vectors[rows]), first[a:b])
                total[rows] += self.weight * mean_softmax(outputs[-1])

        map_chunks(classify, len(total), CHUNK_ROWS)


def _side_by_side(A: Tensor) -> NDArray[Any]:
    """Reshape (t, r, N) to (r, t·N)."""
    flat: NDArray[Any] = A.transpose(0, 1).flatten(1).cpu().numpy()
    return flat


def _like(array: NDArray[Any], tensor: Tensor) -> Tensor:
    return torch.as_tensor(array).to(tensor)


def restarts_in_use(record: TrainingRecord, restarts: str) -> NDArray[np.intp]:
    """Return the restarts in use: the best one, or all that did not diverge."""
    if restarts == "best" or record.diverged.all():
        return np.array([record.best])
    return np.flatnonzero(~record.diverged)
