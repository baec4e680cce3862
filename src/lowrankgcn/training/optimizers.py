"""Optimisers for s independent restarts.

Gradient descent with step 0.2 is the paper's choice (section A4.3); Adam and L-BFGS reach the same
losses in fewer iterations. An optimiser is a small value that starts runs on an objective:

>>> GradientDescent(), Adam(learning_rate=0.02).betas
(GradientDescent(learning_rate=0.2), (0.9, 0.999))
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, final

import torch
from torch import Tensor

from lowrankgcn._validation import positive_float
from lowrankgcn.training.gradients import Stacked
from lowrankgcn.training.objective import Objective

__all__ = ["Adam", "GradientDescent", "Optimizer", "OptimizerName", "Run"]

OptimizerName = Literal["gd", "adam", "lbfgs"]


class Run(ABC):
    """An optimiser applied to an objective."""

    def __init__(self, objective: Objective) -> None:
        self.objective = objective

    @abstractmethod
    def iterate(self, slot: int) -> None:
        """Make one step; store in `slot` the loss at its starting point."""

    def losses(self, count: int) -> Tensor:
        """Losses in the slots 0, …, count − 1, shape (count, s)."""
        return self.objective.losses(count)

    def state(self, restarts: Tensor) -> Any:
        """State of some restarts, for :meth:`Optimizer.start`."""
        return None


class Optimizer(ABC):
    """A frozen description of an optimiser.

    Attributes
    ----------
    rotation_invariant : bool
        Whether the iterates are the same in every orthonormal basis of the weights.
    """

    rotation_invariant: ClassVar[bool]

    @abstractmethod
    def start(self, objective: Objective, state: Any = None) -> Run:
        """Start on an objective, or continue from the state of an earlier run."""


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
    rotation_invariant = True

    def __post_init__(self) -> None:
        """Check the step."""
        positive_float(self.learning_rate, "learning_rate")

    def start(self, objective: Objective, state: Any = None) -> Run:
        """Start on an objective; there is no state."""
        return _GradientDescentRun(objective, self.learning_rate)


@final
class _GradientDescentRun(Run):
    def __init__(self, objective: Objective, learning_rate: float) -> None:
        super().__init__(objective)
        self._step = -learning_rate

    def iterate(self, slot: int) -> None:
        """Evaluate and update."""
        self.objective.evaluate(slot)
        self.objective.parameters.flat.add_(self.objective.gradients.flat, alpha=self._step)


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
    The penalty is part of the gradient, so it is scaled with it.

    Examples
    --------
    >>> Adam(0.02)
    Adam(learning_rate=0.02, betas=(0.9, 0.999), eps=1e-08)
    """

    learning_rate: float = 0.01
    betas: tuple[float, float] = (0.9, 0.999)
    eps: float = 1e-8
    rotation_invariant = False

    def __post_init__(self) -> None:
        """Check the parameters."""
        positive_float(self.learning_rate, "learning_rate")
        positive_float(self.eps, "eps")
        for beta in self.betas:
            positive_float(beta, "betas", zero=True, below=1.0)

    def start(self, objective: Objective, state: Any = None) -> Run:
        """Start on an objective, or continue with the moments of an earlier run."""
        if state is None:
            state = (0, objective.parameters.zeros(), objective.parameters.zeros())
        return _AdamRun(objective, self, *state)


@final
class _AdamRun(Run):
    def __init__(
        self, objective: Objective, config: Adam, count: int, mean: Stacked, square: Stacked
    ) -> None:
        super().__init__(objective)
        self._config = config
        self._count, self._mean, self._square = count, mean, square

    def iterate(self, slot: int) -> None:
        """Evaluate and update."""
        self.objective.evaluate(slot)
        config, gradients = self._config, self.objective.gradients.flat
        self._count += 1
        first, second = config.betas
        step = config.learning_rate / (1.0 - first**self._count)
        root = math.sqrt(1.0 - second**self._count)
        self._mean.flat.lerp_(gradients, 1.0 - first)
        square = self._square.flat
        square.mul_(second).addcmul_(gradients, gradients, value=1.0 - second)
        # The gradient is not needed any more: its array holds the denominator.
        torch.sqrt(square, out=gradients).div_(root).add_(config.eps)
        self.objective.parameters.flat.addcdiv_(self._mean.flat, gradients, value=-step)

    def state(self, restarts: Tensor) -> tuple[int, Stacked, Stacked]:
        """Moments of some restarts."""
        return self._count, self._mean.select(restarts), self._square.select(restarts)
