"""Optimisers for s independent restarts.

Gradient descent with step 0.2 is the paper's choice (section A4.3); Adam and L-BFGS reach the same
losses in fewer iterations. An optimiser is a small value that iterates on an objective:

>>> GradientDescent(), Adam(learning_rate=0.02).betas
(GradientDescent(learning_rate=0.2), (0.9, 0.999))
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, cast, final

import torch
from torch import Tensor

from lowrankgcn._validation import LARGEST_OPTION, choice, invalid, positive_float, positive_int
from lowrankgcn.training.gradients import Objective

OptimizerName = Literal["gd", "adam", "lbfgs"]

#: Tensors that an optimiser keeps between blocks of iterations; their first dimension is the
#: restart.
State = tuple[Tensor, ...]
Iterated = tuple[Tensor, State]  # losses (count, s) and the new state

# Wolfe conditions of the line search, with the customary constants.
_DECREASE = 1e-4
_CURVATURE = 0.9
# Trials of a line search; bisection cannot resolve smaller steps in single precision.
_TRIALS = 25


class Optimizer(ABC):
    """A frozen description of an optimiser.

    Attributes
    ----------
    rotation_invariant : bool
        Whether the iterates are the same in every orthonormal basis of the weights.

    See Also
    --------
    GradientDescent, Adam, LBFGS : The optimisers.

    Examples
    --------
    >>> import lowrankgcn as lg
    >>> optimizers = [lg.training.GradientDescent(0.5), lg.training.Adam(), lg.training.LBFGS()]
    >>> [optimizer.rotation_invariant for optimizer in optimizers]
    [True, False, True]
    """

    rotation_invariant: ClassVar[bool]

    @abstractmethod
    def iterate(self, objective: Objective, state: State, iterations: range) -> Iterated:
        """Update the parameters of the objective once for each of the iterations.

        Parameters
        ----------
        objective : Objective
        state : tuple of Tensor
            The state after the previous iterations; empty before the first.
        iterations : range
            Numbers of the iterations, counted from zero.

        Returns
        -------
        losses : (len(iterations), s) Tensor
            Loss before each update.
        state : tuple of Tensor
            The state after the last iteration.
        """


@final
@dataclass(frozen=True)
class GradientDescent(Optimizer):
    """Θ ← Θ − η ∂L(Θ) with a fixed step η.

    Parameters
    ----------
    learning_rate : float
        η.

    See Also
    --------
    Adam, LBFGS : Other optimisers.
    train : Trains a network.

    Examples
    --------
    >>> from lowrankgcn.training import GradientDescent
    >>> GradientDescent(0.1)
    GradientDescent(learning_rate=0.1)
    """

    learning_rate: float = 0.2
    rotation_invariant = True

    def __post_init__(self) -> None:
        """Check the step."""
        positive_float(self.learning_rate, "learning_rate", maximum=LARGEST_OPTION)

    def iterate(self, objective: Objective, state: State, iterations: range) -> Iterated:
        """Update the parameters; there is no state."""
        for _ in iterations:
            objective.parameters.add_(objective.gradient(), alpha=-self.learning_rate)
        return objective.losses(), state


@final
@dataclass(frozen=True)
class Adam(Optimizer):
    """Adam: steps scaled by running moments of the gradient.

    Parameters
    ----------
    learning_rate : float
    betas : (float, float)
        Decay of the first and the second moment.
    eps : float
        Added to the root of the second moment.

    See Also
    --------
    GradientDescent, LBFGS : Other optimisers.
    train : Trains a network.

    Notes
    -----
    The penalty is part of the gradient, so it is scaled with it.

    Examples
    --------
    >>> from lowrankgcn.training import Adam
    >>> Adam(0.02)
    Adam(learning_rate=0.02, betas=(0.9, 0.999), eps=1e-08)
    """

    learning_rate: float = 0.01
    betas: tuple[float, float] = (0.9, 0.999)
    eps: float = 1e-8
    rotation_invariant = False

    def __post_init__(self) -> None:
        """Check the parameters."""
        positive_float(self.learning_rate, "learning_rate", maximum=LARGEST_OPTION)
        positive_float(self.eps, "eps")
        for beta in self.betas:
            positive_float(beta, "betas", zero=True, below=1.0)

    def iterate(self, objective: Objective, state: State, iterations: range) -> Iterated:
        """Update the parameters; the state is the two moments."""
        zeros = torch.zeros_like(objective.parameters)
        mean, square = state or (zeros, zeros.clone())
        first, second = self.betas
        for count in range(iterations.start + 1, iterations.stop + 1):
            gradient = objective.gradient()
            mean.lerp_(gradient, 1.0 - first)
            square.mul_(second).addcmul_(gradient, gradient, value=1.0 - second)
            root = square.sqrt().div_(math.sqrt(1.0 - second**count)).add_(self.eps)
            step = self.learning_rate / (1.0 - first**count)
            objective.parameters.addcdiv_(mean, root, value=-step)
        return objective.losses(), (mean, square)


@final
@dataclass(frozen=True)
class LBFGS(Optimizer):
    """Quasi-Newton steps from the last few gradients, with a line search for each restart.

    The search is the bisection of Lewis and Overton for the weak Wolfe conditions, which also ends
    on functions with kinks such as those of networks with relu: f decreases by at least c₁ t gᵀd,
    and the slope along d increases to c₂ gᵀd.

    Parameters
    ----------
    memory : int
        Number of gradients kept.

    See Also
    --------
    GradientDescent, Adam : Other optimisers.
    train : Trains a network.

    Notes
    -----
    An iteration evaluates the loss once for each trial of the search, mostly once, and costs
    O(s m P) besides for P parameters and memory m.

    Examples
    --------
    >>> from lowrankgcn.training import LBFGS
    >>> LBFGS(memory=5)
    LBFGS(memory=5)
    """

    memory: int = 10
    rotation_invariant = True

    def __post_init__(self) -> None:
        """Check the memory."""
        positive_int(self.memory, "memory")

    def iterate(self, objective: Objective, state: State, iterations: range) -> Iterated:
        """Update the parameters; the state is loss, gradient and history."""
        x = objective.parameters
        if not state:
            none = x.new_zeros(len(x), 0, x.shape[1])
            state = (*_evaluate(objective, x), none, none, none[..., 0])
        f, g, steps, changes, factors = state
        losses = []
        for _ in iterations:
            losses.append(f)
            direction = -_times_inverse_hessian(g, steps, changes, factors)
            # Rounding or a kink may turn the direction uphill: use the gradient there.
            direction = torch.where(_dot(g, direction)[:, None] < 0, direction, -g)
            before, gradient = x.clone(), g
            f, g = _line_search(objective, f, g, direction)
            step, change = x - before, g - gradient
            product = _dot(step, change)
            useful = product > 1e-10 * _dot(step, step).sqrt() * _dot(change, change).sqrt()
            # The factor zero removes a useless pair from both loops.
            factor = torch.where(useful, 1.0 / product, 0.0)
            steps, changes, factors = (
                torch.cat([old, new.unsqueeze(1)], dim=1)[:, -self.memory :]
                for old, new in ((steps, step), (changes, change), (factors, factor))
            )
        return torch.stack(losses), (f, g, steps, changes, factors)


def as_optimizer(optimizer: Any, learning_rate: float | None = None) -> Optimizer:
    """Return an optimiser by its name and learning rate; return optimisers as they are.

    Examples
    --------
    >>> as_optimizer("adam", 0.02).learning_rate
    0.02
    """
    if not isinstance(optimizer, Optimizer):
        kinds: dict[str, Any] = {"gd": GradientDescent, "adam": Adam, "lbfgs": LBFGS}
        kind = kinds[choice(optimizer, "optimizer", kinds)]
        if learning_rate is not None and kind is not LBFGS:
            return cast(Optimizer, kind(learning_rate))
        optimizer = kind()
    if learning_rate is not None:
        expected = f"None, because {optimizer} chooses its own steps"
        raise invalid("learning_rate", expected, learning_rate)
    return cast(Optimizer, optimizer)


def _evaluate(objective: Objective, x: Tensor) -> tuple[Tensor, Tensor]:
    """Set the parameters; return loss (s,) and gradient (s, P)."""
    objective.parameters.copy_(x)
    gradient = objective.gradient()
    return objective.losses()[0], gradient


def _times_inverse_hessian(g: Tensor, steps: Tensor, changes: Tensor, factors: Tensor) -> Tensor:
    """Apply the two loops of L-BFGS; scale g to a step of length one without any useful pair."""
    q = g
    scale = 1.0 / _dot(g, g).sqrt().clamp_min(1.0)
    pairs = list(zip(steps.unbind(1), changes.unbind(1), factors.unbind(1), strict=True))
    weights = []
    for step, change, factor in reversed(pairs):
        weights.append((factor * _dot(step, q))[:, None])
        q = q - weights[-1] * change
    for _, change, factor in pairs:
        # The quotient is infinite for useless pairs and not used.
        scale = torch.where(factor > 0, 1.0 / (factor * _dot(change, change)), scale)
    q = q * scale[:, None]
    for (step, change, factor), weight in zip(pairs, reversed(weights), strict=True):
        q = q + step * (weight - (factor * _dot(change, q))[:, None])
    return q


def _line_search(
    objective: Objective, f: Tensor, g: Tensor, direction: Tensor
) -> tuple[Tensor, Tensor]:
    """Move the parameters along the direction; return loss and gradient there."""
    x = best_x = objective.parameters.clone()
    best_f, best_g, slope = f, g, _dot(g, direction)
    slack = 8 * torch.finfo(x.dtype).eps * f.abs()
    low, t = torch.zeros_like(slope), torch.ones_like(slope)
    high = torch.full_like(slope, torch.inf)
    done = torch.zeros_like(slope, dtype=torch.bool)
    for _ in range(_TRIALS):
        trial = torch.where(done[:, None], best_x, x + t[:, None] * direction)
        value, gradient = _evaluate(objective, trial)
        falls = value <= f + _DECREASE * t * slope + slack
        flat = _dot(gradient, direction) >= _CURVATURE * slope
        better = falls & ~done
        best_x = torch.where(better[:, None], trial, best_x)
        best_f = torch.where(better, value, best_f)
        best_g = torch.where(better[:, None], gradient, best_g)
        low = torch.where(better, t, low)
        high = torch.where(~falls & ~done, t, high)
        done = done | (falls & flat)
        if bool(done.all()):
            break
        t = torch.where(done, t, torch.where(high.isinf(), 2.0 * t, (low + high) / 2.0))
    objective.parameters.copy_(best_x)
    return best_f, best_g


def _dot(a: Tensor, b: Tensor) -> Tensor:
    return (a * b).sum(dim=1)
