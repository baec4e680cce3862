"""Training of all restarts of a network in batches.

>>> import lowrankgcn as lg, numpy as np
>>> spiral = lg.datasets.load_spiral(100, random_state=0)
>>> L = lg.Laplacian(lg.GaussianGraph(spiral.data, bandwidth=3.5))
>>> network = lg.nn.GCN(lg.kernel(L, "pseudoinverse", rank=10), (3, 4, 5))
>>> labelled = np.arange(0, 500, 20)
>>> record = lg.nn.train(network, spiral.data, labelled, spiral.target[labelled], n_restarts=3)
>>> record.loss_curve.shape, tuple(record.logits(network, spiral.data).shape)
((1000, 3), (3, 500, 5))
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from rich.progress import Progress
from torch import Tensor

from lowrankgcn._parallel import map_chunks
from lowrankgcn._progress import report_progress
from lowrankgcn._validation import (
    LARGEST_OPTION,
    choice,
    invalid,
    positive_float,
    positive_int,
    random_generator,
)
from lowrankgcn.nn import gradients
from lowrankgcn.nn.modules import Network
from lowrankgcn.nn.problem import TrainingProblem
from lowrankgcn.nn.record import TrainingRecord
from lowrankgcn.nn.threads import limit_threads

# Restarts are added to a batch up to this number of entries of a hidden layer, or of its columns:
# larger products are not faster, and several batches can share the cores.
_BATCH_ENTRIES = 2**17
_BATCH_COLUMNS = 128
# Iterations whose losses are computed at once without early stopping: per iteration this takes a
# microsecond, one by one half the time of a small network.
_BLOCK = 100
_LEARNING_RATES = {"gd": 0.2, "adam": 0.01}
# Adam's decay of the first and the second moment, and what is added to the root of the second.
_DECAYS = (0.9, 0.999)
_EPS = 1e-8


def train(
    network: Network,
    X: Any,
    index: Any,
    targets: Any,
    *,
    n_restarts: int = 1,
    random_state: Any = 0,
    seeds: Sequence[int] | None = None,
    optimizer: Literal["gd", "adam"] = "gd",
    learning_rate: float | None = None,
    max_iter: int = 1000,
    l2_penalty: float = 0.0005,
    decay: Literal["first", "all"] = "first",
    sample_weight: Any = None,
    validation: tuple[Any, Any] | None = None,
    early_stopping: bool = False,
    tol: float = 1e-4,
    patience: int = 20,
    progress: bool = False,
) -> TrainingRecord:
    r"""Train s randomly initialised copies of a network at once, by explicit gradients.

    .. math::
        L = -\frac{1}{|I|} \sum_{i \in I} \log Y_{i,c_i}
        + \frac{\rho}{2} \left\|\Theta^1\right\|_F^2

    (section A4.3), with the paper's settings as defaults: gradient descent with step 0.2, 1000
    iterations, ρ = 0.0005, Glorot's uniform initial weights.

    Parameters
    ----------
    network : GCN or ReducedOrderGCN
        Not changed; see :meth:`TrainingRecord.load_into`. Training uses its dtype and device; its
        activation must be a named one.
    X : (n, N_0) array, Tensor, sparse array or ProjectedFeatures
        Input features. A sparse array stays sparse.
    index : (p,) integers or (n,) mask
        Labelled rows I.
    targets : (p,) class numbers or (p, C) distributions
    n_restarts : int
        Number of copies s.
    random_state : None, int or Generator
        Source of the seeds.
    seeds : sequence of int, optional
        Seed of each copy, less than 2³², instead of `n_restarts` and `random_state`. A seed gives
        the same training in every batch, to rounding.
    optimizer : {"gd", "adam"}
        Gradient descent Θ ← Θ − η ∂L(Θ), the paper's choice, or Adam, which scales the steps by
        running moments of the gradient. Adam reaches the same losses in fewer iterations; the
        penalty is part of its gradient.
    learning_rate : float, optional
        η; 0.2 for gradient descent and 0.01 for Adam when omitted.
    max_iter : int
    l2_penalty : float
        ρ.
    decay : {"first", "all"}
        Whether the penalty counts the weights of the first layer or of all layers.
    sample_weight : (p,) array, optional
        Weights in the mean, divided by their sum.
    validation : (index, targets), optional
        Further labelled rows and their classes. Each restart keeps the weights of its lowest
        cross-entropy on these rows, without dropout, instead of its last weights.
    early_stopping : bool
        Stop a restart when its loss, that on the validation rows if there are any, has not fallen
        by more than `tol` in `patience` iterations.
    tol, patience
        See `early_stopping`.
    progress : bool
        Whether to show a progress bar.

    Returns
    -------
    TrainingRecord

    Raises
    ------
    ValueError
        If an argument has the wrong type, shape or value.

    See Also
    --------
    TrainingRecord : The result.
    lowrankgcn.plotting.plot_loss : Plot of the losses.

    Notes
    -----
    After the set-up (:class:`lowrankgcn.nn.TrainingProblem`), an iteration with one hidden layer
    costs O(n s N_1 r) for an L-GCN and O(s r N_1 r) for an R-GCN, independent of n. Small problems
    use one thread. The same call on the same machine gives the same result.

    Examples
    --------
    >>> import lowrankgcn as lg, numpy as np
    >>> cars = lg.datasets.load_cars(as_frame=True)
    >>> graph = lg.Hypergraph.from_table(cars.data)
    >>> K = lg.kernel(lg.Laplacian(graph), "pseudoinverse", rank=15)
    >>> network = lg.nn.ReducedOrderGCN(K, (21, 8, 4))
    >>> record = lg.nn.train(
    ...     network, graph.incidence.to_dense(), cars.training, cars.target.iloc[cars.training],
    ...     n_restarts=10, max_iter=200)
    >>> record.weights[0].shape, bool((record.loss_curve[-1] < record.loss_curve[0]).all())
    (torch.Size([10, 1, 21, 8]), True)
    """
    started = time.perf_counter()
    if not isinstance(network, Network):
        raise invalid("network", "a GCN or a ReducedOrderGCN", type(network).__name__)
    default = _LEARNING_RATES[choice(optimizer, "optimizer", _LEARNING_RATES)]
    rate = default if learning_rate is None else learning_rate
    rate = positive_float(rate, "learning_rate", maximum=LARGEST_OPTION)
    penalty = positive_float(l2_penalty, "l2_penalty", zero=True, maximum=LARGEST_OPTION)
    n_penalised = network.depth if choice(decay, "decay", ("first", "all")) == "all" else 1
    max_iter, patience = positive_int(max_iter, "max_iter"), positive_int(patience, "patience")
    tol = positive_float(tol, "tol", zero=True, maximum=LARGEST_OPTION)
    adam, stopping = optimizer == "adam", (patience, tol) if early_stopping else None
    if seeds is None:
        count = positive_int(n_restarts, "n_restarts")
        seeds = random_generator(random_state).integers(2**31, size=count).tolist()
    # Torch's generators use 32 bits of a seed.
    seeds = tuple(positive_int(seed, "seeds", minimum=0, maximum=2**32 - 1) for seed in seeds)
    if not seeds:
        raise invalid("seeds", "at least one", "none")
    # Set-up is a few large products, which use all threads unless the input is small.
    with limit_threads(network.n_nodes * network.widths[0] * len(network.propagations)):
        problem = TrainingProblem(network, X, index, targets, sample_weight)
    judged = None if validation is None else problem.with_labels(network, *validation)
    generators = [torch.Generator().manual_seed(seed) for seed in seeds]
    drawn = [[conv.draw_weight(generator) for conv in network.convs] for generator in generators]
    # Transposed weights (s, N_l, K·N_{l-1}) of all layers, followed by biases (s, N_l) if any.
    arrays = [torch.stack(layer).flatten(1, 2).mT for layer in zip(*drawn, strict=True)]
    if network.convs[0].bias is not None:
        arrays += [weights.new_zeros(weights.shape[:2]) for weights in arrays]
    rotated = problem.basis is not None and not adam
    if rotated:
        arrays[0], directions = gradients.rotate(arrays[0], problem.basis)
    shapes = [array.shape[1:] for array in arrays]
    parameters = torch.cat([array.flatten(1) for array in arrays], dim=1)  # (s, P)
    penalties = torch.zeros_like(parameters[0])
    penalties[: sum(map(math.prod, shapes[:n_penalised]))] = penalty
    # Restarts per batch, independent of the number of threads.
    width = max(network.widths[1:])
    size = max(1, _BATCH_ENTRIES // (problem.shape[0] * width), _BATCH_COLUMNS // width)
    # Several batches run in threads of their own.
    work = 0 if len(seeds) > size else 2 * math.prod(problem.shape) * width * len(seeds)
    total, done, prepared = max_iter * len(seeds), 0, time.perf_counter()
    with Progress(disable=not progress) as bar:
        task = bar.add_task("training", total=total)

        def advance(count: int) -> None:
            nonlocal done
            done += count
            bar.update(task, completed=done)
            report_progress("training", done, total)

        def train_some(start: int, stop: int) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
            part, sources = parameters[start:stop], generators[start:stop]
            with limit_threads(work), torch.inference_mode():
                explicit, check = (
                    None
                    if one is None
                    else gradients.ExplicitGradients(one, part, shapes, rotated, sources)
                    for one in (problem, judged)
                )
                return _train_batch(
                    explicit, check, penalties, advance, adam, rate, max_iter, stopping
                )

        outcomes = map_chunks(train_some, len(seeds), size)
    curve, converged = (np.concatenate(parts, axis=-1) for parts in zip(*outcomes, strict=True))
    n_iter = np.isfinite(curve).sum(axis=0)
    arrays = gradients.split_parameters(parameters, shapes)
    if rotated:
        arrays[0] = gradients.rotate_back(arrays[0], problem.basis, directions)
    layers = [array.mT.chunk(len(network.propagations), dim=1) for array in arrays[: network.depth]]
    return TrainingRecord(
        weights=tuple(torch.stack(by_kernel, dim=1) for by_kernel in layers),
        biases=tuple(arrays[network.depth :]),
        loss_curve=curve[: max(1, int(n_iter.max()))],
        n_iter=n_iter,
        converged=converged,
        diverged=~converged & (n_iter < max_iter),
        seeds=seeds,
        setup_seconds=prepared - started,
        training_seconds=time.perf_counter() - prepared,
    )


def _train_batch(
    explicit: Any,
    check: Any,
    penalties: Tensor,
    advance: Callable[[int], None],
    adam: bool,
    rate: float,
    max_iter: int,
    stopping: tuple[int, float] | None,
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Train s restarts; overwrite their parameters.

    Parameters
    ----------
    explicit : ExplicitGradients
        Gradients of the restarts at their initial parameters.
    check : ExplicitGradients or None
        The same parameters with the validation rows.
    penalties : (P,) Tensor
        ρ for the parameters that the penalty counts, otherwise zero.
    advance : callable
        Called with the number of restart iterations done since the last call.
    adam : bool
        Adam instead of gradient descent.
    rate, max_iter
        See :func:`train`.
    stopping : (int, float) or None
        `patience` and `tol`; None without early stopping.

    Returns
    -------
    loss_curve : (max_iter, s) array
        Loss before each update, NaN after a restart has stopped.
    converged : (s,) array of bool
        Whether early stopping ended the restart.
    """
    x, s, done = explicit.parameters, len(explicit.parameters), 0
    results, moments = x.clone(), [torch.zeros_like(x) for _ in range(2 * adam)]
    loss_curve, converged = np.full((max_iter, s), np.nan), np.zeros(s, np.bool_)
    lowest, best, running = np.full(s, np.inf), np.full(s, np.inf), np.ones(s, np.bool_)
    patience, tol = stopping or (_BLOCK, 0.0)
    while done < max_iter and running.any():
        start, done = done, min(done + patience, max_iter)
        logits, norms, checks = [], [], []
        for iteration in range(start + 1, done + 1):
            if check is not None:
                checks.append(_keep_best(check, results, best, running))
            logits.append(explicit.evaluate())
            norms.append(x.square() @ penalties)
            gradient = torch.addcmul(explicit.gradients, x, penalties)
            if adam:
                _adam_step(x, gradient, moments, rate, iteration)
            else:
                x.add_(gradient, alpha=-rate)
        losses = gradients.cross_entropies(explicit.problem, logits)
        curve = (losses + torch.stack(norms).double() / 2).cpu().numpy()
        # Losses count up to the first one that is not finite.
        finite = np.logical_and.accumulate(np.isfinite(curve))
        loss_curve[start:done] = np.where(finite & running, curve, np.nan)
        stopped = running & ~finite[-1]
        if stopping is not None:
            minimum = np.where(finite, np.stack(checks) if checks else curve, np.inf).min(axis=0)
            converged |= running & ~stopped & ~(minimum < lowest - tol)
            stopped, lowest = stopped | (running & converged), np.minimum(lowest, minimum)
        if check is None:
            results[torch.as_tensor(running)] = x[torch.as_tensor(running)]
        advance((done - start) * int(running.sum()) + int(stopped.sum()) * (max_iter - done))
        running &= ~stopped
    if check is not None:
        _keep_best(check, results, best, running)
    x.copy_(results)
    return loss_curve, converged


def _keep_best(
    check: Any, results: Tensor, best: NDArray[np.float64], running: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Copy parameters with the lowest loss so far to `results`; return the losses, shape (s,)."""
    losses: NDArray[np.float64] = (
        gradients.cross_entropies(check.problem, [check.forward()[0]])[0].cpu().numpy()
    )
    better = running & (losses < best)
    best[better] = losses[better]
    results[torch.as_tensor(better)] = check.parameters[torch.as_tensor(better)]
    return losses


def _adam_step(x: Tensor, gradient: Tensor, moments: list[Tensor], rate: float, t: int) -> None:
    """Change parameters and moments in place in iteration t, counted from one."""
    (mean, square), (first, second) = moments, _DECAYS
    mean.lerp_(gradient, 1.0 - first)
    square.mul_(second).addcmul_(gradient, gradient, value=1.0 - second)
    root = square.sqrt().div_(math.sqrt(1.0 - second**t)).add_(_EPS)
    x.addcdiv_(mean, root, value=-rate / (1.0 - first**t))
