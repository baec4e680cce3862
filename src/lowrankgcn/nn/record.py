"""Results of training: weights, losses and times of all restarts."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from lowrankgcn._format import plural
from lowrankgcn._validation import invalid, positive_int
from lowrankgcn.nn.modules import Network, ReducedOrderGCN, common_eigenvectors
from lowrankgcn.nn.problem import as_features, as_matrix, project
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

    @torch.no_grad()
    def load_into(self, network: Network, restart: int | None = None) -> None:
        """Copy the weights of a restart, the best one when omitted, into a network."""
        chosen = self.best if restart is None else restart
        chosen = positive_int(chosen, "restart", minimum=0, maximum=self.n_restarts - 1)
        self._check(network)
        for layer, conv in enumerate(network.convs):
            conv.weight.copy_(self.weights[layer][chosen])
            if conv.bias is not None:
                conv.bias.copy_(self.biases[layer][chosen])

    def network_of(self, network: Network, restart: int) -> Network:
        """Return a copy of a network with the weights of a restart, for evaluation.

        The copy shares the kernels of the network.
        """
        shared = {id(buffer): buffer for buffer in network.buffers()}
        copied = copy.deepcopy(network, shared).eval()
        self.load_into(copied, restart)
        return copied

    @torch.no_grad()
    def logits(self, network: Network, X: Any, rows: Any = None) -> Tensor:
        """Compute the logits of every restart; the network keeps its own weights.

        Parameters
        ----------
        network : GCN or ReducedOrderGCN
            The trained network, or one of the same widths on another graph.
        X : (n, N_0) Tensor, array or ProjectedFeatures
        rows : (p,) integers or (n,) mask, optional
            Rows to compute, all when omitted.

        Returns
        -------
        (s, n, C) or (s, p, C) Tensor

        Notes
        -----
        The memory besides the result is that of one restart.
        """
        self._check(network)
        matrix = as_matrix(as_features(X, network), network)
        with limit_threads(matrix.numel()):
            restarts = (self.network_of(network, restart) for restart in range(self.n_restarts))
            return torch.stack([restarted(matrix, rows) for restarted in restarts])

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
        self._check(network)
        eigenvectors = common_eigenvectors(network)
        if eigenvectors is None:
            raise invalid("network", "kernels with common eigenvectors", repr(network))
        U, responses = eigenvectors
        phi = torch.stack(responses)[:, :, None]  # (K, r, 1)
        inputs = project(as_features(X, network), U)
        coefficients = []
        for restart in range(self.n_restarts):
            inner = inputs
            for layer, weights in enumerate(self.weights):
                A = (phi * (inner @ weights[restart])).sum(dim=0)
                if layer == len(self.weights) - 1:
                    break
                bias = self.biases[layer][restart] if self.biases else 0.0
                if isinstance(network, ReducedOrderGCN):
                    inner = network.activation(A + bias)
                else:
                    inner = U.T @ network.activation(U @ A + bias)
            coefficients.append(A)
        return torch.stack(coefficients)

    def _check(self, network: Any) -> None:
        if not isinstance(network, Network):
            raise invalid("network", "a GCN or a ReducedOrderGCN", type(network).__name__)
        shapes = [tuple(conv.weight.shape) for conv in network.convs]
        trained = [tuple(weight.shape[1:]) for weight in self.weights]
        if shapes != trained or bool(self.biases) != (network.convs[0].bias is not None):
            raise invalid("network", f"weights of shapes {trained}, as trained", shapes)
