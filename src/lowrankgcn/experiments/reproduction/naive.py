"""The paper's naive implementation: stored n×n kernels, every layer for all nodes, autograd.

It provides the times of the rows marked naive; tests use it to show that the library's exact
algebra gives the same numbers.

>>> K = torch.full((2, 2), 0.5)
>>> weights = (torch.ones(1, 1), torch.tensor([[1.0, -1.0]]))
>>> naive_training(K, torch.ones(2, 1), weights, [0], [0], iterations=1).shape
torch.Size([2, 2])
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from lowrankgcn.experiments.reproduction.grid import Case
from lowrankgcn.experiments.reproduction.setting import BANDWIDTH, Setting

__all__ = ["linear_kernel", "naive_times", "naive_training"]

_ITERATIONS = 3  # timed after one iteration that warms up
_ROWS = 256  # rows of the square of a kernel that are timed instead of all


def naive_times(setting: Setting, case: Case, *, iterations: int = 1000) -> tuple[float, float]:
    """Time a case with a linear or quadratic filter in single precision.

    Returns
    -------
    setup, training : float
        Seconds, extrapolated from a few rows of a squared kernel and from a few iterations.
    """
    begin = time.perf_counter()
    K = linear_kernel(setting, torch.float32)
    setup = time.perf_counter() - begin
    if case.filter == "quadratic":
        begin = time.perf_counter()
        rows = len(K[:_ROWS] @ K)
        setup += (time.perf_counter() - begin) * len(K) / rows
    X = torch.as_tensor(setting.X, dtype=torch.float32)
    weights = [torch.full(shape, 0.1) for shape in pairwise(setting.widths)]
    labels = setting.classes[setting.training]
    for count in (1, _ITERATIONS):
        begin = time.perf_counter()
        naive_training(K, X, weights, setting.training, labels, iterations=count)
        seconds = (time.perf_counter() - begin) / count
    return setup, seconds * iterations


def linear_kernel(setting: Setting, dtype: torch.dtype) -> Tensor:
    """Return 𝒦 = I − 𝓛 = D^{-1/2} W D^{-1/2} as a stored matrix."""
    X = torch.tensor(setting.X, dtype=dtype)
    if setting.data == "spiral":
        # In place, because a second n×n matrix would take 400 MB.
        W = torch.cdist(X, X).div_(BANDWIDTH).square_().neg_().exp_().fill_diagonal_(0)
    else:
        W = (X / X.sum(dim=0)) @ X.T
    scale = W.sum(dim=1, dtype=torch.float64).rsqrt().to(dtype)
    return W.mul_(scale).mul_(scale[:, None])


def naive_training(
    K: Tensor, X: Tensor, weights: Sequence[Tensor], index: Any, labels: Any, *, iterations: int
) -> Tensor:
    """Train by gradient descent with autograd (section A4.3); return all logits, shape (n, C)."""
    first, second = (weight.detach().clone().requires_grad_() for weight in weights)
    rows, classes = torch.as_tensor(np.asarray(index)), torch.as_tensor(np.asarray(labels)).long()
    groups: list[dict[str, Any]] = [{"params": first, "weight_decay": 0.0005}, {"params": second}]
    optimizer = torch.optim.SGD(groups, lr=0.2)

    def logits() -> Tensor:
        # K is symmetric, and HᵀK reads it in storage order.
        hidden = torch.relu(((X @ first).T @ K).T)
        return ((hidden @ second).T @ K).T

    for _ in range(iterations):
        optimizer.zero_grad()
        loss: Any = functional.cross_entropy(logits()[rows], classes)
        loss.backward()
        optimizer.step()
    return logits().detach()
