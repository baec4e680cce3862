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
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from rich.progress import Progress
from torch import Tensor

from lowrankgcn._parallel import map_chunks
from lowrankgcn._progress import listener
from lowrankgcn._validation import (
    LARGEST_OPTION,
    choice,
    invalid,
    positive_float,
    positive_int,
    random_generator,
)
from lowrankgcn.nn.gradients import ExplicitGradients, Objective, split_parameters
from lowrankgcn.nn.modules import Network
from lowrankgcn.nn.optimizers import Coordinates, Optimizer, OptimizerName, as_optimizer
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


def train(
    network: Network,
    X: Any,
    index: Any,
    targets: Any,
    *,
    n_restarts: int = 1,
    random_state: Any = 0,
    seeds: Sequence[int] | None = None,
    optimizer: OptimizerName | Optimizer = "gd",
    learning_rate: float | None = None,
    max_iter: int = 1000,
    l2_penalty: float = 0.0005,
    decay: Literal["first", "all"] = "first",
    sample_weight: Any = None,
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
    X : (n, N_0) array, Tensor or ProjectedFeatures
        Input features.
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
    optimizer : {"gd", "adam"} or Optimizer
    learning_rate : float, optional
        0.2 for gradient descent and 0.01 for Adam when omitted.
    max_iter : int
    l2_penalty : float
        ρ.
    decay : {"first", "all"}
        Whether the penalty counts the weights of the first layer or of all layers.
    sample_weight : (p,) array, optional
        Weights in the mean, divided by their sum.
    early_stopping : bool
        Stop a restart when its loss has not fallen by more than `tol` in `patience` iterations.
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
    GradientDescent, Adam : Optimisers.
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
    positive_int(max_iter, "max_iter")
    positive_int(patience, "patience")
    options = _Options(
        as_optimizer(optimizer, learning_rate),
        max_iter,
        positive_float(l2_penalty, "l2_penalty", zero=True, maximum=LARGEST_OPTION),
        network.depth if choice(decay, "decay", ("first", "all")) == "all" else 1,
        patience if early_stopping else None,
        positive_float(tol, "tol", zero=True, maximum=LARGEST_OPTION),
    )
    drawn = _seeds(seeds, n_restarts, random_state)
    problem = TrainingProblem(network, X, index, targets, sample_weight)
    parameters, generators = _initial_parameters(network, drawn)
    # Restarts per batch, independent of the number of threads.
    width = max(network.widths[1:])
    size = max(1, _BATCH_ENTRIES // (len(problem.features) * width), _BATCH_COLUMNS // width)
    # Several batches run in threads of their own.
    work = problem.work * len(drawn) if len(drawn) <= size else 0
    prepared = time.perf_counter()
    with _progress(progress, max_iter * len(drawn)) as advance:

        def train_some(start: int, stop: int) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
            part = [tensor[start:stop] for tensor in parameters]
            with limit_threads(work):
                return _train_batch(problem, part, generators[start:stop], options, advance)

        outcomes = map_chunks(train_some, len(drawn), size)
    curve, converged = (np.concatenate(parts, axis=-1) for parts in zip(*outcomes, strict=True))
    n_iter = np.isfinite(curve).sum(axis=0)
    weights = [weight.mT.chunk(problem.n_kernels, dim=1) for weight in parameters[: network.depth]]
    return TrainingRecord(
        weights=tuple(torch.stack(by_kernel, dim=1) for by_kernel in weights),
        biases=tuple(parameters[network.depth :]),
        loss_curve=curve[: max(1, int(n_iter.max()))],
        n_iter=n_iter,
        converged=converged,
        diverged=~converged & (n_iter < max_iter),
        seeds=drawn,
        setup_seconds=prepared - started,
        training_seconds=time.perf_counter() - prepared,
    )


class _Options(NamedTuple):
    """Options of :func:`train`; `patience` is None without early stopping."""

    optimizer: Optimizer
    max_iter: int
    l2_penalty: float
    n_penalised_layers: int
    patience: int | None
    tol: float


@torch.inference_mode()
def _train_batch(
    problem: TrainingProblem,
    parameters: Sequence[Tensor],
    generators: Sequence[torch.Generator],
    options: _Options,
    advance: Callable[[int], None],
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Train s restarts; overwrite their parameters.

    Parameters
    ----------
    problem : TrainingProblem
    parameters : sequence of Tensor
        Transposed weights (s, N_l, K·N_{l-1}) of all layers, followed by biases (s, N_l) if any.
    generators : sequence of torch.Generator
        One for each restart, for dropout.
    options : _Options
    advance : callable
        Called with the number of restart iterations done since the last call.

    Returns
    -------
    loss_curve : (max_iter, s) array
        Loss before each update, NaN after a restart has stopped.
    converged : (s,) array of bool
        Whether early stopping ended the restart.
    """
    optimizer, max_iter, patience = options.optimizer, options.max_iter, options.patience
    tensors, coordinates = list(parameters), None
    if optimizer.rotation_invariant and problem.basis is not None:
        coordinates = Coordinates(tensors[0], problem.basis)
        tensors[0] = coordinates.initial
    shapes = [tensor.shape[1:] for tensor in tensors]
    n_penalised = sum(map(math.prod, shapes[: options.n_penalised_layers]))
    trained = torch.cat([tensor.flatten(1) for tensor in tensors], dim=1)
    s = len(trained)
    loss_curve, converged = np.full((max_iter, s), np.nan), np.zeros(s, np.bool_)
    active, lowest, done = np.arange(s), np.full(s, np.inf), 0
    x, moments = trained.clone(), [torch.zeros_like(trained) for _ in range(optimizer.n_moments)]
    while done < max_iter and len(active):
        sources = [generators[i] for i in active.tolist()]
        explicit = ExplicitGradients(problem, x, shapes, coordinates is not None, sources)
        objective = Objective(explicit, options.l2_penalty, n_penalised)
        finished = np.zeros(len(active), np.bool_)
        while done < max_iter and not finished.any():
            start, done = done, min(done + (patience or _BLOCK), max_iter)
            for iteration in range(start + 1, done + 1):
                optimizer.update(x, objective.gradient(), moments, iteration)
            # Losses count up to the first one that is not finite.
            curve = objective.losses().cpu().numpy()
            finite = np.logical_and.accumulate(np.isfinite(curve))
            loss_curve[start:done, active] = np.where(finite, curve, np.nan)
            finished = ~finite[-1]
            if patience is not None:
                minimum = np.where(finite, curve, np.inf).min(axis=0)
                converged[active] = ~finished & ~(minimum < lowest - options.tol)
                finished, lowest = finished | converged[active], np.minimum(lowest, minimum)
            advance((done - start) * len(active) + int(finished.sum()) * (max_iter - done))
        trained[torch.as_tensor(active)] = x
        # The others continue in a smaller batch.
        keep = torch.as_tensor(np.flatnonzero(~finished))
        x, moments = x[keep], [moment[keep] for moment in moments]
        active, lowest = active[~finished], lowest[~finished]
    results = split_parameters(trained, shapes)
    if coordinates is not None:
        results[0] = coordinates.to_weights(results[0])
    for parameter, result in zip(parameters, results, strict=True):
        parameter.copy_(result)
    return loss_curve, converged


def _seeds(seeds: Any, n_restarts: int, random_state: Any) -> tuple[int, ...]:
    if seeds is None:
        count = positive_int(n_restarts, "n_restarts")
        return tuple(random_generator(random_state).integers(2**31, size=count).tolist())
    # Torch's generators use 32 bits of a seed.
    checked = tuple(positive_int(seed, "seeds", minimum=0, maximum=2**32 - 1) for seed in seeds)
    if not checked:
        raise invalid("seeds", "at least one", "none")
    return checked


@torch.no_grad()
def _initial_parameters(
    network: Network, seeds: Sequence[int]
) -> tuple[list[Tensor], list[torch.Generator]]:
    """Draw transposed weights, followed by zero biases if any; return them and the generators."""
    generators = [torch.Generator().manual_seed(seed) for seed in seeds]
    drawn = [[conv.draw_weight(generator) for conv in network.convs] for generator in generators]
    layers = [torch.stack(weights).flatten(1, 2) for weights in zip(*drawn, strict=True)]
    parameters = [weights.mT.contiguous() for weights in layers]
    if network.convs[0].bias is not None:
        parameters += [weights.new_zeros(weights.shape[:2]) for weights in parameters]
    return parameters, generators


@contextmanager
def _progress(show: bool, total: int) -> Iterator[Callable[[int], None]]:
    """Yield a function of the iterations done since its last call, which reports the progress."""
    report, done = listener(), 0  # batches run in threads without the caller's context
    with Progress(disable=not show) as bar:
        task = bar.add_task("training", total=total)

        def advance(count: int) -> None:
            nonlocal done
            done += count
            bar.update(task, completed=done)
            if report is not None:
                report("training", done, total)

        yield advance
