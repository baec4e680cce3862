"""The paper's naive way: stored n×n kernels, every layer for all nodes, autograd.

It is here to be timed, and to show in the tests that the library's exact savings change nothing.

>>> import numpy as np, torch
>>> K = torch.full((2, 2), 0.5)
>>> weights = (torch.ones(1, 1), torch.tensor([[1.0, -1.0]]))
>>> naive_training(K, torch.ones(2, 1), weights, [0], [0], iterations=1).shape
torch.Size([2, 2])
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from lowrankgcn.experiments.reproduction.grid import Case
from lowrankgcn.experiments.reproduction.measure import one_thread
from lowrankgcn.experiments.reproduction.setting import BANDWIDTH, Setting

__all__ = ["NaiveTimes", "linear_kernel", "naive_times", "naive_training"]

_ITERATIONS = 3  # timed, after one that warms up
_ROWS = 256  # of the square of a kernel, timed instead of all


@final
@dataclass(frozen=True)
class NaiveTimes:
    """Seconds of the naive way: measured for a part, scaled up to the whole.

    ``setup`` is the kernel's (a square from a few of its rows), ``training`` that of all
    iterations, from ``iterations`` measured ones.
    """

    setup: float
    training: float
    iterations: int


def naive_times(setting: Setting, case: Case, *, iterations: int = 1000) -> NaiveTimes:
    """Time the naive way on a case with a linear or quadratic filter, in single precision."""
    with one_thread():
        begin = time.perf_counter()
        K = linear_kernel(setting, torch.float32)
        setup = time.perf_counter() - begin
        if case.filter == "quadratic":
            rows = min(_ROWS, len(K))
            begin = time.perf_counter()
            _ = K[:rows] @ K
            setup += (time.perf_counter() - begin) * len(K) / rows
        X = torch.as_tensor(setting.X, dtype=torch.float32)
        generator = torch.Generator().manual_seed(0)
        n_in, hidden, n_out = setting.widths
        weights = tuple(
            torch.empty(shape).uniform_(-0.1, 0.1, generator=generator)
            for shape in ((n_in, hidden), (hidden, n_out))
        )
        labels = setting.classes[setting.training]
        seconds = []
        for count in (1, _ITERATIONS):
            begin = time.perf_counter()
            naive_training(K, X, weights, setting.training, labels, iterations=count)
            seconds.append((time.perf_counter() - begin) / count)
    return NaiveTimes(setup, seconds[-1] * iterations, _ITERATIONS)


def linear_kernel(setting: Setting, dtype: torch.dtype, *, rows: int = 500) -> Tensor:
    """𝒦 = I − 𝓛 = D^{-1/2} W D^{-1/2} as a stored matrix, written `rows` rows at a time."""
    if setting.graph.row_kind == "table":
        H = setting.X
        degrees = H.sum(axis=1)
        scaled = H / np.sqrt(degrees)[:, None] / np.sqrt(H.sum(axis=0))
        tensor = torch.as_tensor(scaled).to(dtype)
        return tensor @ tensor.T
    points = torch.tensor(setting.X, dtype=dtype)
    K = torch.empty(len(points), len(points), dtype=dtype)
    for start in range(0, len(points), rows):
        part = torch.cdist(points[start : start + rows], points)
        K[start : start + rows] = torch.exp(-((part / BANDWIDTH) ** 2))
    K.fill_diagonal_(0)
    scale = K.sum(dim=1, dtype=torch.float64).rsqrt().to(dtype)
    return K.mul_(scale).mul_(scale[:, None])


def naive_training(
    K: Tensor,
    X: Tensor,
    weights: Sequence[Tensor],
    index: Any,
    labels: Any,
    *,
    iterations: int,
    learning_rate: float = 0.2,
    l2_penalty: float = 0.0005,
) -> Tensor:
    """Gradient descent by autograd (section A4.3); the logits of all nodes, shape (n, C)."""
    first, second = (weight.detach().clone().requires_grad_() for weight in weights)
    rows, classes = torch.as_tensor(np.asarray(index)), torch.as_tensor(np.asarray(labels))

    def logits() -> Tensor:
        # K is symmetric, and HᵀK reads it the way it is stored.
        hidden = torch.relu(((X @ first).T @ K).T)
        return ((hidden @ second).T @ K).T

    for _ in range(iterations):
        loss = functional.cross_entropy(logits()[rows], classes.long())
        loss = loss + l2_penalty / 2 * first.pow(2).sum()
        gradients = torch.autograd.grad(loss, (first, second))
        with torch.no_grad():
            for weight, gradient in zip((first, second), gradients, strict=True):
                weight -= learning_rate * gradient
    with torch.no_grad():
        return logits()
