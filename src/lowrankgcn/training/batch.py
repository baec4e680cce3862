"""The iterations of one batch of restarts, from initial to trained weights."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from lowrankgcn.training.gradients import ExplicitGradients, Objective, split_parameters
from lowrankgcn.training.optimizers import Optimizer, State
from lowrankgcn.training.problem import Coordinates, TrainingProblem

__all__ = ["train_batch"]

# Iterations whose losses are computed at once without early stopping: per iteration this takes a
# microsecond, one by one half the time of a small network.
_BLOCK = 100


@torch.inference_mode()
def train_batch(
    problem: TrainingProblem,
    parameters: Sequence[Tensor],
    generators: Sequence[torch.Generator],
    optimizer: Optimizer,
    advance: Callable[[int], None],
    *,
    max_iter: int,
    l2_penalty: float,
    decay: str,
    patience: int | None,
    tol: float,
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Train s restarts; overwrite their parameters.

    Parameters
    ----------
    problem : TrainingProblem
    parameters : sequence of Tensor
        Transposed weights (s, N_l, K·N_{l-1}) of all layers, followed by biases (s, N_l) if any.
    generators : sequence of torch.Generator
        One for each restart, for dropout.
    optimizer : Optimizer
    advance : callable
        Called with the number of restart iterations done since the last call.
    max_iter, l2_penalty, decay, tol
        See :func:`lowrankgcn.training.train`.
    patience : int or None
        Iterations in which the loss must fall by more than `tol`; None: no early stopping.

    Returns
    -------
    loss_curve : (max_iter, s) array
        Loss before each update, NaN after a restart has stopped.
    converged : (s,) array of bool
        Whether early stopping ended the restart.
    """
    tensors, coordinates = list(parameters), None
    rotated = problem.orthonormal and optimizer.rotation_invariant
    if rotated and problem.basis is not None:
        coordinates, tensors[0] = Coordinates.from_weights(tensors[0], problem.basis)
    shapes = [tensor.shape[1:] for tensor in tensors]
    n_penalised = sum(map(math.prod, shapes[: problem.depth if decay == "all" else 1]))
    trained = torch.cat([tensor.flatten(1) for tensor in tensors], dim=1)
    s = len(trained)
    loss_curve, converged = np.full((max_iter, s), np.nan), np.zeros(s, np.bool_)
    active, lowest, done = np.arange(s), np.full(s, np.inf), 0
    x, state = trained.clone(), State()
    while done < max_iter and len(active):
        sources = [generators[i] for i in active.tolist()]
        explicit = ExplicitGradients(problem, x, shapes, rotated, sources)
        objective = Objective(explicit, l2_penalty, n_penalised)
        finished = np.zeros(len(active), np.bool_)
        while done < max_iter and not finished.any():
            iterations = range(done, min(done + (patience or _BLOCK), max_iter))
            losses, state = optimizer.iterate(objective, state, iterations)
            done = iterations.stop
            # Losses count up to the first one that is not finite.
            curve = losses.cpu().numpy()
            finite = np.logical_and.accumulate(np.isfinite(curve))
            loss_curve[iterations.start : done, active] = np.where(finite, curve, np.nan)
            finished = ~finite[-1]
            if patience is not None:
                minimum = np.where(finite, curve, np.inf).min(axis=0)
                converged[active] = ~finished & ~(minimum < lowest - tol)
                finished, lowest = finished | converged[active], np.minimum(lowest, minimum)
            advance(len(iterations) * len(active) + int(finished.sum()) * (max_iter - done))
        trained[torch.as_tensor(active)] = x
        # The others continue in a smaller batch.
        keep = torch.as_tensor(np.flatnonzero(~finished))
        x, state = x[keep], tuple(tensor[keep] for tensor in state)
        active, lowest = active[~finished], lowest[~finished]
    results = split_parameters(trained, shapes)
    if coordinates is not None:
        results[0] = coordinates.to_weights(results[0])
    for given, result in zip(parameters, results, strict=True):
        given.copy_(result)
    return loss_curve, converged
