"""Optimisers for s restarts side by side: none of them ever looks at its neighbours.

Gradient descent with step 0.2 is the paper's choice (section A4.3); Adam and L-BFGS reach the same
losses in fewer iterations. Each is a small value that is started on an objective:

>>> GradientDescent(), Adam(learning_rate=0.02).betas
(GradientDescent(learning_rate=0.2), (0.9, 0.999))
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, final

import torch
from torch import Tensor

from lowrankgcn._validation import choice, invalid, positive_float
from lowrankgcn.training.lbfgs import LBFGS
from lowrankgcn.training.objective import Objective
from lowrankgcn.training.run import Optimizer, Run
from lowrankgcn.training.stacked import Stacked

__all__ = ["Adam", "GradientDescent", "OptimizerName", "as_optimizer"]

OptimizerName = Literal["gd", "adam", "lbfgs"]


@final
@dataclass(frozen=True)
class GradientDescent(Optimizer):
    """Θ ← Θ − η ∂L(Θ) with a fixed step η.

    Parameters
    ----------
    learning_rate : float
        η.

    Examples
    --------
    >>> GradientDescent(0.1)
    GradientDescent(learning_rate=0.1)
    """

    learning_rate: float = 0.2
    geometric = True

    def __post_init__(self) -> None:
        """Check the step."""
        positive_float(self.learning_rate, "learning_rate")

    def start(self, objective: Objective, state: Any = None) -> Run:
        """Begin on an objective; there is no state."""
        return _Descent(objective, self.learning_rate)


@final
class _Descent(Run):
    def __init__(self, objective: Objective, learning_rate: float) -> None:
        self._objective = objective
        objective.prepare_descent(learning_rate)

    def iterate(self, slot: int) -> None:
        """Evaluate and update."""
        self._objective.descend(slot)

    def losses(self, count: int) -> Tensor:
        """Losses before each of the last `count` updates."""
        return self._objective.losses(0, count)

    def state(self, restarts: Tensor) -> None:
        """Nothing is carried from one iteration to the next."""


@final
@dataclass(frozen=True)
class Adam(Optimizer):
    """Adam: steps scaled by running moments of the gradient.

    Parameters
    ----------
    learning_rate : float
    betas : tuple of float
        Decay of the first and second moment.
    eps : float
        Added to the root of the second moment.

    Notes
    -----
    The penalty enters through the gradient, so it is scaled like everything else in it.

    Examples
    --------
    >>> Adam(0.02)
    Adam(learning_rate=0.02, betas=(0.9, 0.999), eps=1e-08)
    """

    learning_rate: float = 0.01
    betas: tuple[float, float] = (0.9, 0.999)
    eps: float = 1e-8
    geometric = False

    def __post_init__(self) -> None:
        """Check the parameters."""
        positive_float(self.learning_rate, "learning_rate")
        positive_float(self.eps, "eps")
        for beta in self.betas:
            positive_float(beta, "betas", zero=True, below=1.0)

    def start(self, objective: Objective, state: Any = None) -> Run:
        """Begin, or go on with moments of an earlier run."""
        return _AdamRun(objective, self, state)


@final
class _AdamRun(Run):
    def __init__(
        self,
        objective: Objective,
        config: Adam,
        state: tuple[int, list[Tensor], list[Tensor]] | None,
    ) -> None:
        self._objective, self._config = objective, config
        self._count = 0
        self._mean, self._square = (objective.parameters.zeros() for _ in range(2))
        if state is not None:
            by_column = objective.parameters.by_column
            self._count = state[0]
            self._mean, self._square = (Stacked.of(x, by_column=by_column) for x in state[1:])

    def iterate(self, slot: int) -> None:
        """Evaluate and update."""
        self._objective.evaluate(slot)
        config, gradients = self._config, self._objective.gradients.flat
        self._count += 1
        first, second = config.betas
        step = config.learning_rate / (1.0 - first**self._count)
        root = math.sqrt(1.0 - second**self._count)
        self._mean.flat.lerp_(gradients, 1.0 - first)
        square = self._square.flat
        square.mul_(second).addcmul_(gradients, gradients, value=1.0 - second)
        # The gradient has done its work: its array holds the denominator.
        torch.sqrt(square, out=gradients).div_(root).add_(config.eps)
        self._objective.parameters.flat.addcdiv_(self._mean.flat, gradients, value=-step)

    def losses(self, count: int) -> Tensor:
        """Losses before each of the last `count` updates."""
        return self._objective.losses(0, count)

    def state(self, restarts: Tensor) -> tuple[int, list[Tensor], list[Tensor]]:
        """Moments of some of the restarts."""
        return self._count, self._mean.select(restarts), self._square.select(restarts)


def as_optimizer(optimizer: Any, learning_rate: float | None = None) -> Optimizer:
    """An optimiser by its name, with a step of one's own if wanted; optimisers as they are.

    Examples
    --------
    >>> as_optimizer("adam", 0.02).learning_rate
    0.02
    """
    if isinstance(optimizer, Optimizer):
        if learning_rate is not None:
            raise invalid("learning_rate", "None beside an optimizer that has one", learning_rate)
        return optimizer
    name = choice(optimizer, "optimizer", ("gd", "adam", "lbfgs"))
    if name == "lbfgs":
        if learning_rate is not None:
            raise invalid("learning_rate", "None for L-BFGS, which searches", learning_rate)
        return LBFGS()
    kind = GradientDescent if name == "gd" else Adam
    return kind() if learning_rate is None else kind(learning_rate)
