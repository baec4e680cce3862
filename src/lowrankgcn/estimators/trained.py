"""Trained networks, and their class distributions of the fitted rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, final

import numpy as np
import torch
from numpy.typing import NDArray

from lowrankgcn._parallel import chunks, map_chunks
from lowrankgcn.estimators.candidates import Prepared
from lowrankgcn.estimators.extended import ExtendedLayer, ExtendedNetwork, mean_softmax
from lowrankgcn.nn import Network, ReducedOrderGCN
from lowrankgcn.training import Features, TrainingRecord

__all__ = ["TrainedNetwork", "restarts_in_use"]

Restarts = Literal["ensemble", "best"]
FloatArray = NDArray[np.float64]

_CACHED_ROWS = 8192
_GATHERED_ROWS = 65536


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
    weight : float
        Share in the prediction.
    restarts : (t,) int array
        Restarts in use.
    """

    prepared: Prepared
    network: Network
    record: TrainingRecord
    weight: float
    restarts: NDArray[np.intp]

    def add_to(self, total: FloatArray, features: Features) -> None:
        """Add the weighted distributions of the fitted rows to `total`, shape (n, C)."""
        if self.prepared.candidate.ignores_graph:
            self._add_from_features(total, features)
            return
        seen = self.prepared.scale_features(features, self.record.weights[0])
        if isinstance(self.network, ReducedOrderGCN):
            self._add_from_eigenvectors(total, self.network, seen)
            return
        logits = self.record.logits(self.network, seen)
        shares = torch.softmax(logits[torch.as_tensor(self.restarts)], dim=2)
        total += self.weight * shares.mean(dim=0).double().cpu().numpy()

    def feature_layers(self) -> tuple[ExtendedLayer, ...]:
        """Return the layers of a network that ignores the graph."""
        chosen = torch.as_tensor(self.restarts)
        biases = [bias[chosen].cpu().numpy() for bias in self.record.biases]
        return tuple(
            ExtendedLayer(
                weight[chosen][:, 0].cpu().numpy(),
                None,
                0,
                biases[layer] if biases else None,
                len(chosen),
            )
            for layer, weight in enumerate(self.record.weights)
        )

    def _add_from_features(self, total: FloatArray, features: Features) -> None:
        """Do the same for a network that ignores the graph, in chunks of rows."""
        name, scale = str(self.network.activation_name), self.prepared.feature_scale
        network = ExtendedNetwork(self.feature_layers(), name, scale, self.weight)
        assert network.first_weights is not None
        weights = torch.from_numpy(network.first_weights).to(self.record.weights[0].dtype)

        def classify(start: int, stop: int) -> None:
            first = features.part(start, stop).times(weights).numpy()
            for a, b in chunks(len(first), _CACHED_ROWS):
                rows = slice(start + a, start + b)
                shares = network.distributions(np.zeros((b - a, 0)), first[a:b])
                total[rows] += self.weight * shares

        map_chunks(classify, len(total), _GATHERED_ROWS)

    def _add_from_eigenvectors(
        self, total: FloatArray, network: ReducedOrderGCN, seen: Features
    ) -> None:
        """Do the same for a reduced-order network, in chunks of rows."""
        G = self.record.coefficients(network, seen)[torch.as_tensor(self.restarts)]
        readout = G.permute(1, 0, 2).flatten(1).cpu().numpy()  # (r, s·C)
        biases = self.record.biases
        bias = biases[-1][torch.as_tensor(self.restarts)].cpu().numpy() if biases else None
        U = network.eigenvectors.cpu().numpy()

        def classify(start: int, stop: int) -> None:
            logits = (U[start:stop] @ readout).T.reshape(len(G), -1, stop - start)
            total[start:stop] += self.weight * mean_softmax(logits, bias)

        map_chunks(classify, len(U), _CACHED_ROWS)


def restarts_in_use(record: TrainingRecord, restarts: Restarts) -> NDArray[np.intp]:
    """Return the restarts in use: the best one, or all that did not diverge."""
    if restarts == "best" or record.diverged.all():
        return np.array([record.best])
    return np.flatnonzero(~record.diverged)
