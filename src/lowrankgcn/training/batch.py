"""The iterations of one batch of restarts, from initial weights to trained ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from lowrankgcn.training.gradients import ExplicitGradients
from lowrankgcn.training.objective import Objective
from lowrankgcn.training.problem import Coordinates, TrainingProblem
from lowrankgcn.training.run import Optimizer

__all__ = ["Outcome", "Settings", "train_batch"]

# Losses are looked at after so many iterations when nothing depends on them sooner.
_BLOCK = 100


@final
@dataclass(frozen=True)
class Settings:
    """How to train.

    Attributes
    ----------
    optimizer : Optimizer
    max_iter : int
    l2_penalty : float
        ρ.
    decay : {"first", "all"}
        Layers whose weights the penalty counts.
    patience : int or None
        Iterations in which the loss must fall by more than `tol`; None: no early stopping.
    tol : float
    """

    optimizer: Optimizer
    max_iter: int
    l2_penalty: float
    decay: str = "first"
    patience: int | None = None
    tol: float = 1e-4


@final
@dataclass(frozen=True, eq=False)
class Outcome:
    """Arrays that a batch fills in, one column or entry for each of its s restarts."""

    loss_curve: NDArray[np.float64]  # (T, s)
    n_iter: NDArray[np.intp]
    converged: NDArray[np.bool_]
    diverged: NDArray[np.bool_]

    @staticmethod
    def empty(max_iter: int, n_restarts: int) -> Outcome:
        """Nothing trained yet."""
        return Outcome(
            np.full((max_iter, n_restarts), np.nan),
            np.zeros(n_restarts, np.intp),
            np.zeros(n_restarts, np.bool_),
            np.zeros(n_restarts, np.bool_),
        )

    def restarts(self, start: int, stop: int) -> Outcome:
        """Views of some of the restarts."""
        return Outcome(
            self.loss_curve[:, start:stop],
            self.n_iter[start:stop],
            self.converged[start:stop],
            self.diverged[start:stop],
        )


@torch.inference_mode()
def train_batch(
    problem: TrainingProblem,
    settings: Settings,
    weights: Sequence[Tensor],
    biases: Sequence[Tensor],
    generators: Sequence[torch.Generator],
    outcome: Outcome,
    advance: Callable[[int], None],
) -> None:
    """Train s restarts; `weights` and `biases` are overwritten.

    Parameters
    ----------
    problem : TrainingProblem
    settings : Settings
    weights : sequence of (s, N_l, K·N_{l-1}) Tensor
    biases : sequence of (s, N_l) Tensor
    generators : sequence of torch.Generator
        For dropout, one for each restart.
    outcome : Outcome
        Filled in.
    advance : callable
        Told the number of restart iterations done since the last call.
    """
    results = [*weights, *biases]
    rotated = problem.orthonormal and settings.optimizer.geometric
    own = [tensor.clone() for tensor in results]
    system = None
    if rotated and problem.basis is not None:
        system, own[0] = Coordinates.enter(own[0], problem.basis)
    alive = torch.arange(len(own[0]))
    best = np.full(len(alive), np.inf)
    block = settings.patience or _BLOCK
    state, done = None, 0
    while done < settings.max_iter and len(alive):
        objective = _objective(
            problem.select(alive), settings, own, [generators[i] for i in alive], block
        )
        run = settings.optimizer.start(objective, state)
        finished = np.zeros(len(alive), np.bool_)
        while done < settings.max_iter and not finished.any():
            count = min(block, settings.max_iter - done)
            for slot in range(count):
                run.iterate(slot)
            finished, best = _judge(run.losses(count), settings, outcome, alive, done, best)
            done += count
            advance(count * len(alive) + int(finished.sum()) * (settings.max_iter - done))
        # What has finished leaves; the others go on in a smaller batch, with their own history.
        keep = torch.as_tensor(np.flatnonzero(~finished))
        for i, result in enumerate(results):
            trained = objective.parameters.views[i]
            result[alive] = trained if i or system is None else system.leave(trained)
        own = objective.parameters.select(keep)
        state, alive, best = run.state(keep), alive[keep], best[~finished]
        system = None if system is None else system.select(keep)


def _objective(
    problem: TrainingProblem,
    settings: Settings,
    parameters: Sequence[Tensor],
    generators: Sequence[torch.Generator],
    block: int,
) -> Objective:
    depth = problem.depth
    explicit = ExplicitGradients(
        problem,
        parameters[:depth],
        parameters[depth:],
        rotated=problem.orthonormal and settings.optimizer.geometric,
        generators=generators,
    )
    penalised = depth if settings.decay == "all" else 1
    return Objective(explicit, settings.l2_penalty, penalised, block)


def _judge(
    noted: Tensor,
    settings: Settings,
    outcome: Outcome,
    alive: Tensor,
    done: int,
    best: NDArray[np.float64],
) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Note the losses of a block; which restarts are finished, and the lowest losses so far."""
    losses = noted.cpu().numpy()
    columns = alive.numpy()
    finite = np.isfinite(losses)
    healthy = np.where(finite.all(axis=0), len(losses), finite.argmin(axis=0))
    lost = healthy < len(losses)
    kept = np.arange(len(losses))[:, None] < healthy
    outcome.loss_curve[done : done + len(losses), columns] = np.where(kept, losses, np.nan)
    outcome.n_iter[columns] = done + healthy
    outcome.diverged[columns] = lost
    lowest = np.where(kept, losses, np.inf).min(axis=0)
    stalled = np.zeros(len(columns), np.bool_)
    if settings.patience is not None:
        stalled = ~lost & ~(lowest < best - settings.tol)
        outcome.converged[columns] = stalled
    return lost | stalled, np.minimum(best, lowest)
