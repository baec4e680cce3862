"""The trained weights of all restarts.

>>> import lowrankgcn as lg
>>> L = lg.Laplacian(lg.Hypergraph([[1, 0], [1, 0], [1, 1], [0, 1], [0, 1]]))
>>> network, X = lg.nn.GCN(lg.kernel(L, "linear"), (2, 4, 2)), L.graph.incidence.to_dense()
>>> lg.nn.train(network, X, [0, 4], [0, 1], n_restarts=2, max_iter=100).logits(network, X).shape
torch.Size([2, 5, 2])
"""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from lowrankgcn._format import plural
from lowrankgcn._validation import invalid, positive_int
from lowrankgcn.nn.modules import Network, ReducedOrderGCN, common_eigenvectors
from lowrankgcn.nn.problem import as_inputs
from lowrankgcn.nn.threads import limit_threads


@final
@dataclass(frozen=True, eq=False)
class TrainingRecord:
    """Trained weights and training history of s restarts.

    Attributes
    ----------
    weights : tuple of (s, K, N_{l-1}, N_l) Tensor
        Weights of each layer.
    biases : tuple of (s, N_l) Tensor
        Biases of each layer; empty for a network without biases.
    loss_curve : (T, s) array
        Loss before each update, NaN after a restart has stopped.
    n_iter : (s,) array
        Number of updates; for a diverged restart, those with a finite loss.
    converged : (s,) array of bool
        Whether early stopping ended the restart.
    diverged : (s,) array of bool
        Whether the loss became infinite or NaN, which makes the weights useless.
    seeds : tuple of int
        Seed of each restart.
    setup_seconds, training_seconds : float
        Time of the set-up and of all iterations.

    See Also
    --------
    train : Trains a network.

    Examples
    --------
    >>> import lowrankgcn as lg
    >>> L = lg.Laplacian(lg.Hypergraph([[1, 0], [1, 0], [1, 1], [0, 1], [0, 1]]))
    >>> network, X = lg.nn.GCN(lg.kernel(L, "linear"), (2, 4, 2)), L.graph.incidence.to_dense()
    >>> record = lg.nn.train(network, X, [0, 4], [0, 1], n_restarts=5, max_iter=100)
    >>> record.load_into(network)
    >>> record.logits(network, X, rows=[0]).shape, record.final_loss.shape
    (torch.Size([5, 1, 2]), (5,))
    """

    weights: tuple[Tensor, ...]
    biases: tuple[Tensor, ...]
    loss_curve: NDArray[np.float64]
    n_iter: NDArray[np.intp]
    converged: NDArray[np.bool_]
    diverged: NDArray[np.bool_]
    seeds: tuple[int, ...]
    setup_seconds: float
    training_seconds: float

    @property
    def n_restarts(self) -> int:
        """Number of restarts s."""
        return len(self.seeds)

    @property
    def final_loss(self) -> NDArray[np.float64]:
        """Last loss of each restart, infinite for one that diverged, shape (s,)."""
        last = self.loss_curve[self.n_iter - 1, np.arange(self.n_restarts)]
        return np.where(self.diverged, np.inf, last)

    @property
    def best(self) -> int:
        """The restart with the lowest final loss."""
        return int(np.argmin(self.final_loss))

    def __repr__(self) -> str:
        """Show the number of restarts and iterations, and the best loss."""
        fate = f", {int(self.diverged.sum())} diverged" if self.diverged.any() else ""
        return (
            f"TrainingRecord({plural(self.n_restarts, 'restart')}, "
            f"{plural(int(self.n_iter.max()), 'iteration')}, "
            f"loss {self.final_loss.min():.3g}{fate})"
        )

    def load_into(self, network: Network, restart: int | None = None) -> None:
        """Copy the weights of a restart, the best one when omitted, into a network."""
        chosen = self.best if restart is None else restart
        chosen = positive_int(chosen, "restart", minimum=0, maximum=self.n_restarts - 1)
        state = {f"convs.{layer}.weight": W[chosen] for layer, W in enumerate(self.weights)}
        state |= {f"convs.{layer}.bias": b[chosen] for layer, b in enumerate(self.biases)}
        try:
            network.load_state_dict(state)
        except (AttributeError, RuntimeError):
            shapes = {name: tuple(array.shape) for name, array in state.items()}
            raise invalid("network", f"parameters {shapes}, as trained", repr(network)) from None

    @torch.no_grad()
    def logits(self, network: Network, X: Any, rows: Any = None) -> Tensor:
        """Compute the logits of every restart; the network keeps its own weights.

        Parameters
        ----------
        network : GCN or ReducedOrderGCN
            The trained network, or one of the same widths on another graph.
        X : (n, N_0) Tensor, array, sparse array or ProjectedFeatures
        rows : (p,) integers or (n,) mask, optional
            Rows to compute, all when omitted.

        Returns
        -------
        (s, n, C) or (s, p, C) Tensor

        Notes
        -----
        The memory besides the result is that of one restart.
        """
        features, logits = as_inputs(X, network), []
        if (spectral := common_eigenvectors(network)) is not None:
            features = spectral[0] @ features  # U UᵀX is the same to the network
        shared = {id(buffer): buffer for buffer in network.buffers()}
        copied = copy.deepcopy(network, shared).eval()
        with limit_threads(math.prod(features.shape)):
            for restart in range(self.n_restarts):
                self.load_into(copied, restart)
                logits.append(copied(features, rows))
        return torch.stack(logits)

    @torch.no_grad()
    def coefficients(self, network: Network, X: Any) -> Tensor:
        """Compute the spectral logits A of a network with eigenvectors U: logits are U A + bias.

        Parameters
        ----------
        network : GCN or ReducedOrderGCN
            Its kernels must have common eigenvectors.
        X : (n, N_0) Tensor, array or ProjectedFeatures

        Returns
        -------
        (s, r, C) Tensor

        Notes
        -----
        A kernel needs only UᵀH of a hidden layer H, so UᵀH passes from layer to layer.
        """
        eigenvectors = common_eigenvectors(network)
        if eigenvectors is None:
            raise invalid("network", "kernels with common eigenvectors", repr(network))
        U, responses = eigenvectors
        phi = torch.stack(responses)[:, :, None]  # (K, r, 1)
        inputs = as_inputs(X, network)
        reduced, coefficients = isinstance(network, ReducedOrderGCN), []
        for restart in range(self.n_restarts):
            A = inner = inputs
            for layer, weights in enumerate(self.weights):
                if layer:
                    bias = self.biases[layer - 1][restart] if self.biases else 0.0
                    H = network.activation((A if reduced else U @ A) + bias)
                    inner = H if reduced else U.T @ H
                A = (phi * (inner @ weights[restart])).sum(dim=0)
            coefficients.append(A)
        return torch.stack(coefficients)
