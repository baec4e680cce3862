"""The iterations of one batch of restarts, from initial to trained weights."""

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
from lowrankgcn.training.optimizers import Optimizer
from lowrankgcn.training.problem import Coordinates, TrainingProblem

__all__ = ["Outcome", "Settings", "train_batch"]

# Iterations whose losses are computed at once without early stopping.
_BLOCK = 100


@final
@dataclass(frozen=True)
class Settings:
    """Options of a training.

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
    """Results of s restarts, filled in batch by batch."""

    loss_curve: NDArray[np.float64]  # (T, s)
    n_iter: NDArray[np.intp]
    converged: NDArray[np.bool_]
    diverged: NDArray[np.bool_]

    @staticmethod
    def empty(max_iter: int, n_restarts: int) -> Outcome:
        """Return the outcome before the first iteration."""
        return Outcome(
            np.full((max_iter, n_restarts), np.nan),
            np.zeros(n_restarts, np.intp),
            np.zeros(n_restarts, np.bool_),
            np.zeros(n_restarts, np.bool_),
        )

    def restarts(self, start: int, stop: int) -> Outcome:
        """Return views of some restarts."""
        part = slice(start, stop)
        return Outcome(
            self.loss_curve[:, part], self.n_iter[part], self.converged[part], self.diverged[part]
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
    """Train s restarts; overwrite `weights` and `biases`.

    Parameters
    ----------
    problem : TrainingProblem
    settings : Settings
    weights : sequence of (s, N_l, K·N_{l-1}) Tensor
    biases : sequence of (s, N_l) Tensor
    generators : sequence of torch.Generator
        One for each restart, for dropout.
    outcome : Outcome
        Filled in.
    advance : callable
        Called with the number of restart iterations done since the last call.
    """
    results = [*weights, *biases]
    parameters = [tensor.clone() for tensor in results]
    rotated = problem.orthonormal and settings.optimizer.rotation_invariant
    system = None
    if rotated and problem.basis is not None:
        system, parameters[0] = Coordinates.from_weights(parameters[0], problem.basis)
    active = torch.arange(len(parameters[0]))
    lowest = np.full(len(active), np.inf)
    block = settings.patience or _BLOCK
    state, done = None, 0
    while done < settings.max_iter and len(active):
        explicit = ExplicitGradients(
            problem.select(active),
            parameters[: problem.depth],
            parameters[problem.depth :],
            rotated=rotated,
            generators=[generators[i] for i in active],
        )
        n_penalised = problem.depth if settings.decay == "all" else 1
        run = settings.optimizer.start(
            Objective(explicit, settings.l2_penalty, n_penalised, block), state
        )
        finished = np.zeros(len(active), np.bool_)
        while done < settings.max_iter and not finished.any():
            count = min(block, settings.max_iter - done)
            for slot in range(count):
                run.iterate(slot)
            losses = run.losses(count).cpu().numpy()
            finished, lowest = _record(losses, settings, outcome, active.numpy(), done, lowest)
            done += count
            advance(count * len(active) + int(finished.sum()) * (settings.max_iter - done))
        trained = list(explicit.parameters.views)
        if system is not None:
            trained[0] = system.to_weights(trained[0])
        for result, tensor in zip(results, trained, strict=True):
            result[active] = tensor
        # The others continue in a smaller batch with their state.
        keep = torch.as_tensor(np.flatnonzero(~finished))
        parameters = list(explicit.parameters.select(keep).views)
        state, active, lowest = run.state(keep), active[keep], lowest[~finished]
        system = None if system is None else system.select(keep)


def _record(
    losses: NDArray[np.float64],
    settings: Settings,
    outcome: Outcome,
    columns: NDArray[np.intp],
    done: int,
    lowest: NDArray[np.float64],
) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Record the losses of a block; return the finished restarts and the lowest losses so far."""
    finite = np.isfinite(losses)
    healthy = np.where(finite.all(axis=0), len(losses), finite.argmin(axis=0))
    diverged = healthy < len(losses)
    kept = np.arange(len(losses))[:, None] < healthy
    outcome.loss_curve[done : done + len(losses), columns] = np.where(kept, losses, np.nan)
    outcome.n_iter[columns] = done + healthy
    outcome.diverged[columns] = diverged
    minimum = np.where(kept, losses, np.inf).min(axis=0)
    stalled = np.zeros(len(columns), np.bool_)
    if settings.patience is not None:
        stalled = ~diverged & ~(minimum < lowest - settings.tol)
        outcome.converged[columns] = stalled
    return diverged | stalled, np.minimum(lowest, minimum)
