"""L-BFGS for s restarts at once, each with its own history and line search.

The search is the bisection of Lewis and Overton for the weak Wolfe conditions, which also ends on
functions with kinks such as those of networks with relu: f decreases by at least c₁ t gᵀd, and the
slope along d increases to c₂ gᵀd.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import torch
from torch import Tensor

from lowrankgcn._validation import positive_int
from lowrankgcn.training.objective import Objective
from lowrankgcn.training.optimizers import Optimizer, Run

__all__ = ["LBFGS"]

_DECREASE = 1e-4
_CURVATURE = 0.9
_TRIALS = 25

_Pair = tuple[Tensor, Tensor, Tensor]


@final
@dataclass(frozen=True)
class LBFGS(Optimizer):
    """Quasi-Newton steps from the last few gradients, with a line search.

    Parameters
    ----------
    memory : int
        Number of gradients kept.

    Notes
    -----
    An iteration evaluates the loss once for each trial of the search, mostly once, and costs
    O(s m P) besides for P parameters and memory m.

    Examples
    --------
    >>> LBFGS(memory=5)
    LBFGS(memory=5)
    """

    memory: int = 10
    rotation_invariant = True

    def __post_init__(self) -> None:
        """Check the memory."""
        positive_int(self.memory, "memory")

    def start(self, objective: Objective, state: Any = None) -> Run:
        """Start on an objective, or continue with the history of an earlier run."""
        return _LBFGSRun(objective, self.memory, state)


@final
class _LBFGSRun(Run):
    def __init__(self, objective: Objective, memory: int, state: list[_Pair] | None) -> None:
        super().__init__(objective)
        self._memory = memory
        self._pairs: list[_Pair] = [] if state is None else state
        self._losses: dict[int, Tensor] = {}
        self._x = _flat(objective.parameters.views)
        self._f, self._g = self._value(self._x)

    def iterate(self, slot: int) -> None:
        """Make one step along the quasi-Newton direction."""
        self._losses[slot] = self._f
        x, g = self._x, self._g
        direction = -self._times_inverse_hessian(g)
        slope = _dot(g, direction)
        # Rounding or a kink may turn the direction uphill: use the gradient there.
        uphill = ~(slope < 0)
        direction = torch.where(uphill[:, None], -g, direction)
        slope = torch.where(uphill, -_dot(g, g), slope)
        self._x, self._f, self._g = self._search(direction, slope)
        step, change = self._x - x, self._g - g
        product = _dot(step, change)
        useful = product > 1e-10 * _dot(step, step).sqrt() * _dot(change, change).sqrt()
        # The factor zero removes a useless pair from both loops.
        factor = torch.where(useful, 1.0 / product, 0.0)
        self._pairs = [*self._pairs, (step, change, factor)][-self._memory :]
        _write(self.objective.parameters.views, self._x)

    def losses(self, count: int) -> Tensor:
        """Losses before each of the last `count` steps."""
        return torch.stack([self._losses[slot] for slot in range(count)])

    def state(self, restarts: Tensor) -> list[_Pair]:
        """Histories of some restarts."""
        return [(s[restarts], y[restarts], factor[restarts]) for s, y, factor in self._pairs]

    def _value(self, x: Tensor) -> tuple[Tensor, Tensor]:
        _write(self.objective.parameters.views, x)
        self.objective.evaluate(0)
        return self.objective.losses(1)[0], _flat(self.objective.gradients.views)

    def _times_inverse_hessian(self, g: Tensor) -> Tensor:
        """The two loops of L-BFGS; without any useful pair g, scaled to a step of length one."""
        q = g.clone()
        length = _dot(g, g).sqrt().clamp_min(1.0)
        scale = (1.0 / length)[:, None]
        weights = []
        for step, change, factor in reversed(self._pairs):
            weight = (factor * _dot(step, q))[:, None]
            q = q - weight * change
            weights.append(weight)
        for _, change, factor in self._pairs:
            ratio = 1.0 / (factor * _dot(change, change))  # infinite where it is not taken
            scale = torch.where(factor[:, None] > 0, ratio[:, None], scale)
        q = q * scale.to(q.dtype)
        for (step, change, factor), weight in zip(self._pairs, reversed(weights), strict=True):
            q = q + step * (weight - (factor * _dot(change, q))[:, None])
        return q.to(g.dtype)

    def _search(self, direction: Tensor, slope: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        x, f, g = self._x, self._f, self._g
        best_x, best_f, best_g = x, f, g
        slack = 8 * torch.finfo(x.dtype).eps * f.abs()
        low, high = torch.zeros_like(slope), torch.full_like(slope, torch.inf)
        t = torch.ones_like(slope)
        done = torch.zeros_like(slope, dtype=torch.bool)
        for _ in range(_TRIALS):
            trial = torch.where(done[:, None], best_x, x + t[:, None] * direction)
            value, gradient = self._value(trial)
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
        return best_x, best_f, best_g


def _dot(a: Tensor, b: Tensor) -> Tensor:
    return (a * b).sum(dim=1)


def _flat(tensors: Sequence[Tensor]) -> Tensor:
    """Parameters of each restart as one row, shape (s, number of parameters)."""
    return torch.cat([tensor.flatten(1) for tensor in tensors], dim=1)


def _write(tensors: Sequence[Tensor], x: Tensor) -> None:
    parts = torch.split(x, [tensor[0].numel() for tensor in tensors], dim=1)
    for tensor, part in zip(tensors, parts, strict=True):
        tensor.copy_(part.view(tensor.shape))
