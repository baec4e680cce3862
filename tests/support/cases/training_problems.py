"""Networks to train, and their training by autograd: the oracle of explicit gradients."""

from __future__ import annotations

from typing import Any, final

import numpy as np
import torch
from torch import Tensor, nn

import lowrankgcn as lg
from lowrankgcn.nn import TrainingRecord
from tests.support.cases import nn_problems as cases


@final
class SeededDropout(nn.Module):
    """Dropout that draws from a generator of its own."""

    def __init__(self, p: float, generator: torch.Generator) -> None:
        super().__init__()
        self.p, self.generator = p, generator

    def forward(self, X: Tensor) -> Tensor:
        kept = torch.rand(X.shape, generator=self.generator) < 1 - self.p
        return X * kept / (1 - self.p)


def loss(
    network: Any,
    X: Tensor,
    index: Any,
    targets: Any,
    weights: Any = None,
    penalty: float = 0.01,
    decay: str = "first",
) -> Tensor:
    """Compute the loss of section A4.3, with weights."""
    logits = network(X, index)
    T = torch.as_tensor(targets)
    T = torch.eye(logits.shape[1]).to(logits)[T] if T.ndim == 1 else T
    given = np.full(len(T), 1 / len(T)) if weights is None else weights
    w = torch.as_tensor(given)
    entropy = -(T * torch.log_softmax(logits, dim=1)).sum(dim=1)
    counted = network.convs if decay == "all" else network.convs[:1]
    return (w.to(logits) * entropy).sum() + penalty / 2 * sum(
        conv.weight.square().sum() for conv in counted
    )


def by_autograd(
    network: Any,
    X: Any,
    index: Any,
    targets: Any,
    *,
    seed: int,
    steps: int,
    adam: bool = False,
    **options: Any,
) -> np.ndarray:
    """Train the network itself; return its losses."""
    generator = torch.Generator().manual_seed(seed)
    network.reset_parameters(generator)
    plain = network.dropout
    if plain.p:
        network.dropout = SeededDropout(plain.p, generator)
    kind = torch.optim.Adam if adam else torch.optim.SGD
    optimizer = kind(network.parameters(), lr=0.01 if adam else 0.2)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        value = loss(network, torch.as_tensor(X), index, targets, **options)
        value.backward()
        optimizer.step()
        losses.append(value.item())
    network.dropout = plain
    return np.array(losses)


def difference(record: TrainingRecord, network: Any, restart: int = 0) -> float:
    """Return the largest difference of weights and biases to those of a network."""
    gaps = [
        (conv.weight - weight[restart]).abs().max().item()
        for conv, weight in zip(network.convs, record.weights, strict=True)
    ]
    gaps += [
        (conv.bias - bias[restart]).abs().max().item()
        for conv, bias in zip(network.convs, record.biases, strict=False)
    ]
    return max(gaps)


def table(n: int = 40, seed: int = 0) -> tuple[lg.Laplacian, np.ndarray, np.ndarray]:
    """Return a hypergraph with two classes, its incidence matrix and the classes."""
    rng = np.random.default_rng(seed)
    classes = np.arange(n) % 2
    chances = np.array([[0.9, 0.8, 0.5, 0.2, 0.1], [0.1, 0.2, 0.5, 0.8, 0.9]])
    incidence = (rng.random((n, 5)) < chances[classes]).astype(float)
    incidence[:, 2] = 1
    return lg.Laplacian(lg.Hypergraph(incidence)), incidence, classes


def low_rank_network(kind: Any = lg.nn.GCN, widths: Any = (5, 6, 2), **options: Any) -> Any:
    """Return a network on the table in double precision."""
    options.setdefault("dtype", cases.DOUBLE)
    return kind(lg.kernel(table()[0], "pseudoinverse", rank=3), widths, **options)
