"""Training as described in the paper, for comparison with the explicit gradients.

Nothing here imports the library. The code is what a user would write without it: plain PyTorch with
autograd, every layer for all n nodes, one run after the other.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from scipy.spatial.distance import cdist
from torch.nn import functional

__all__ = [
    "HypergraphNetwork",
    "dense",
    "linear_kernel",
    "low_rank",
    "paper_training",
    "reduced",
    "structured",
    "timed",
]

Forward = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


def timed(run: Callable[[], np.ndarray]) -> tuple[float, np.ndarray]:
    """Return the seconds and losses of a run."""
    start = time.perf_counter()
    losses = run()
    return time.perf_counter() - start, losses


def linear_kernel(points: np.ndarray, bandwidth: float) -> torch.Tensor:
    """𝒦 = I − 𝓛 = D^{-1/2} W D^{-1/2} of the Gaussian graph, stored in single precision."""
    weights = cdist(points, points, "sqeuclidean")
    weights /= -(bandwidth**2)
    np.exp(weights, out=weights)
    np.fill_diagonal(weights, 0.0)
    scale = weights.sum(axis=1) ** -0.5
    weights *= scale
    weights *= scale[:, None]
    return torch.from_numpy(weights.astype(np.float32))


def low_rank(U: torch.Tensor, response: torch.Tensor, X: torch.Tensor) -> Forward:
    """L-GCN: both layers with 𝒦 = U φ(Λ) Uᵀ (appendix A4.2)."""

    def kernel(H: torch.Tensor) -> torch.Tensor:
        return U @ (response[:, None] * (U.T @ H))

    return lambda first, second: kernel(torch.relu(kernel(X @ first)) @ second)


def structured(offset: float, U: torch.Tensor, core: torch.Tensor, X: torch.Tensor) -> Forward:
    """Full-rank kernel of a hypergraph, 𝒦 = φ(1) I + U M Uᵀ (section A3.1.3)."""

    def kernel(H: torch.Tensor) -> torch.Tensor:
        return offset * H + U @ (core[:, None] * (U.T @ H))

    return lambda first, second: kernel(torch.relu(kernel(X @ first)) @ second)


def reduced(U: torch.Tensor, response: torch.Tensor, X: torch.Tensor) -> Forward:
    """R-GCN: reduction, spectral layers, projection to all nodes (figure 1)."""

    def forward(first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
        hidden = torch.relu(response[:, None] * ((U.T @ X) @ first))
        return U @ (response[:, None] * (hidden @ second))

    return forward


class _Symmetric(torch.autograd.Function):
    """Compute K H for a symmetric K; H is stored by columns, which is two to three times faster."""

    @staticmethod
    def forward(ctx: Any, K: torch.Tensor, H: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(K)
        return K @ H.T.contiguous().T

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        (K,) = ctx.saved_tensors
        return None, K @ gradients[0].T.contiguous().T


def dense(kernel: torch.Tensor, X: torch.Tensor) -> Forward:
    """GCN with a stored n×n kernel, with the memory layout that is fastest for BLAS."""

    def product(H: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = _Symmetric.apply(kernel, H)
        return result

    return lambda first, second: product(torch.relu(product(X @ first)) @ second)


def paper_training(
    forward: Forward,
    start: tuple[np.ndarray, np.ndarray],
    index: np.ndarray,
    labels: np.ndarray,
    *,
    iterations: int,
    learning_rate: float = 0.2,
    l2_penalty: float = 0.0005,
) -> np.ndarray:
    """Run gradient descent by autograd (section A4.3); return the losses, shape (iterations,)."""
    first, second = (torch.tensor(weight, requires_grad=True) for weight in start)
    optimizer = torch.optim.SGD([first, second], lr=learning_rate)
    rows, classes = torch.as_tensor(index), torch.as_tensor(labels)
    losses = []
    for _ in range(iterations):
        optimizer.zero_grad()
        logits = forward(first, second)
        loss = functional.cross_entropy(logits[rows], classes)
        loss = loss + l2_penalty / 2 * first.pow(2).sum()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return torch.stack(losses).numpy()


class HypergraphNetwork:
    """Two ``HypergraphConv`` layers of the same widths; requires torch-geometric."""

    def __init__(self, incidence: np.ndarray, X: np.ndarray, widths: tuple[int, int, int]) -> None:
        from torch_geometric.nn import HypergraphConv

        torch.manual_seed(0)
        self.hyperedges = torch.as_tensor(np.stack(np.nonzero(incidence)))
        self.X = torch.as_tensor(X)
        self.convs = [HypergraphConv(a, b, bias=False) for a, b in pairwise(widths)]

    def train(self, index: np.ndarray, labels: np.ndarray, *, iterations: int) -> np.ndarray:
        """Run gradient descent with the settings of the paper; return the losses."""
        first, second = self.convs
        parameters = [*first.parameters(), *second.parameters()]
        optimizer = torch.optim.SGD(parameters, lr=0.2)
        rows, classes = torch.as_tensor(index), torch.as_tensor(labels)
        losses = []
        for _ in range(iterations):
            optimizer.zero_grad()
            logits = second(torch.relu(first(self.X, self.hyperedges)), self.hyperedges)
            loss = functional.cross_entropy(logits[rows], classes)
            loss = loss + 0.0005 / 2 * sum(p.pow(2).sum() for p in first.parameters())
            loss.backward()
            optimizer.step()
            losses.append(loss.detach())
        return torch.stack(losses).numpy()
