"""Training of all restarts of a network in one batch.

>>> import lowrankgcn as lg, numpy as np
>>> from lowrankgcn.training import train
>>> spiral = lg.datasets.load_spiral(100, random_state=0)
>>> L = lg.Laplacian(lg.GaussianGraph(spiral.data, bandwidth=3.5))
>>> network = lg.nn.GCN(lg.kernel(L, "pseudoinverse", rank=10), (3, 4, 5))
>>> labelled = np.arange(0, 500, 20)
>>> record = train(network, spiral.data, labelled, spiral.target[labelled], n_restarts=3)
>>> record.loss_curve.shape, tuple(record.logits(network, spiral.data).shape)
((1000, 3), (3, 500, 5))
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal

import torch
from rich.progress import Progress
from torch import Tensor

from lowrankgcn._parallel import map_chunks
from lowrankgcn._progress import Listener, listener
from lowrankgcn._validation import (
    choice,
    invalid,
    positive_float,
    positive_int,
    random_generator,
)
from lowrankgcn.nn import Network, SpectralConv
from lowrankgcn.training.batch import Outcome, Settings, train_batch
from lowrankgcn.training.data import as_features, as_index, as_targets, as_weights
from lowrankgcn.training.lbfgs import LBFGS
from lowrankgcn.training.optimizers import OptimizerName, as_optimizer
from lowrankgcn.training.problem import TrainingProblem
from lowrankgcn.training.record import TrainingRecord
from lowrankgcn.training.reduction import training_problem
from lowrankgcn.training.run import Optimizer
from lowrankgcn.training.threads import threads_for

__all__ = ["initial_weights", "train"]

# A batch of restarts is large enough when its activations have so many entries ...
_BATCH_ENTRIES = 2**17
# ... or so many columns: larger products are not faster, and several batches can share the cores.
_BATCH_COLUMNS = 128


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
    class_weight: Any = None,
    early_stopping: bool = False,
    tol: float = 1e-4,
    patience: int = 20,
    progress: bool = False,
) -> TrainingRecord:
    r"""Train s randomly initialised copies of a network at once, by explicit gradients.

    .. math:: L = -\frac{1}{|I|} \sum_{i \in I} \log Y_{i,c_i} + \frac{\rho}{2} \|\Theta^1\|_F^2

    (section A4.3), with the paper's settings as defaults: gradient descent with step 0.2, 1000
    iterations, ρ = 0.0005, Glorot's uniform initial weights.

    Parameters
    ----------
    network : GCN or ReducedOrderGCN
        Not changed; see :meth:`TrainingRecord.load_into`. Its type and device are those of the
        training; its activation must be a named one.
    X : (n, N_0) array, Tensor or Features
        Input features.
    index : (p,) integers or (n,) mask
        Labelled rows I.
    targets : (p,) class numbers or (p, C) distributions
    n_restarts : int
        Number of copies s.
    random_state : None, int or Generator
        Source of the seeds.
    seeds : sequence of int, optional
        Seed of each copy, less than 2³², instead of `n_restarts` and `random_state`. A seed means
        the same training in every batch, to rounding.
    optimizer : {"gd", "adam", "lbfgs"} or Optimizer
    learning_rate : float, optional
        0.2 for gradient descent and 0.01 for Adam when omitted; L-BFGS searches its steps.
    max_iter : int
    l2_penalty : float
        ρ.
    decay : {"first", "all"}
        Whether the penalty counts the first layer's weights only, or those of all layers.
    sample_weight : (p,) array, optional
        Weights in the mean, divided by their sum.
    class_weight : "balanced", (C,) array or mapping, optional
        Multiplied to them.
    early_stopping : bool
        Stop a restart when its loss has not fallen by more than `tol` in `patience` iterations.
    tol, patience
        See `early_stopping`.
    progress : bool
        Whether to show a bar.

    Returns
    -------
    TrainingRecord

    Raises
    ------
    ValueError
        If an argument has the wrong type, shape or value.

    Notes
    -----
    Beside the set-up (:func:`lowrankgcn.training.training_problem`), an iteration of an L-GCN with
    one hidden layer costs O(n s N_1 (r + min(r, p))), of an R-GCN O(s r N_1 r), whatever n. Small
    problems are computed by one thread. The same call gives the same bits.

    Examples
    --------
    >>> import lowrankgcn as lg, numpy as np
    >>> cars = lg.datasets.load_cars(as_frame=True)
    >>> graph = lg.Hypergraph.from_table(cars.data)
    >>> K = lg.kernel(lg.Laplacian(graph), "pseudoinverse", rank=15)
    >>> network = lg.nn.ReducedOrderGCN(K, (21, 8, 4))
    >>> record = lg.training.train(
    ...     network, graph.incidence.to_dense(), cars.training, cars.target.iloc[cars.training],
    ...     n_restarts=10, max_iter=200)
    >>> record.weights[0].shape, bool((record.loss_curve[-1] < record.loss_curve[0]).all())
    (torch.Size([10, 1, 21, 8]), True)
    """
    started = time.perf_counter()
    if not isinstance(network, Network):
        raise invalid("network", "a GCN or a ReducedOrderGCN", type(network).__name__)
    settings = Settings(
        optimizer=as_optimizer(optimizer, learning_rate),
        max_iter=positive_int(max_iter, "max_iter"),
        l2_penalty=positive_float(l2_penalty, "l2_penalty", zero=True),
        decay=choice(decay, "decay", ("first", "all")),
        patience=positive_int(patience, "patience") if early_stopping else None,
        tol=positive_float(tol, "tol", zero=True),
    )
    if network.dropout.p and isinstance(settings.optimizer, LBFGS):
        raise invalid("optimizer", "'gd' or 'adam' with dropout, whose loss is random", "L-BFGS")
    drawn = _seeds(seeds, n_restarts, random_state)
    features, rows = as_features(X, network), as_index(index, network)
    classes = as_targets(targets, len(rows), network.widths[-1])
    weighting = as_weights(sample_weight, class_weight, classes)
    like = next(network.parameters())
    labels, mean = (torch.as_tensor(array).to(like.detach()) for array in (classes, weighting))
    # Set-up is a few large products: it may use all threads unless the whole is small.
    with threads_for(math.prod(features.shape) * len(network.propagations)):
        problem = training_problem(network, features, rows, labels, mean)
    weights, biases, generators = initial_weights(network, drawn)
    outcome = Outcome.empty(settings.max_iter, len(drawn))
    prepared = time.perf_counter()
    size = _batch_size(problem)
    with _bar(progress, outcome) as advance:

        def train_some(start: int, stop: int) -> None:
            train_batch(
                problem,
                settings,
                [weight[start:stop] for weight in weights],
                [bias[start:stop] for bias in biases],
                generators[start:stop],
                outcome.restarts(start, stop),
                advance,
            )

        if len(drawn) <= size:
            with threads_for(problem.work * len(drawn)):
                train_some(0, len(drawn))
        else:  # whole batches in threads of their own, which need not wait for each other
            with threads_for(0):
                map_chunks(train_some, len(drawn), size)
    return TrainingRecord(
        weights=tuple(
            torch.stack(weight.mT.chunk(problem.n_kernels, dim=1), dim=1) for weight in weights
        ),
        biases=tuple(biases),
        loss_curve=outcome.loss_curve[: max(1, int(outcome.n_iter.max()))],
        n_iter=outcome.n_iter,
        converged=outcome.converged,
        diverged=outcome.diverged,
        seeds=drawn,
        setup_seconds=prepared - started,
        training_seconds=time.perf_counter() - prepared,
    )


def _batch_size(problem: TrainingProblem) -> int:
    """Restarts in one batch; never a question of how many threads there are, for the same bits."""
    width = max(problem.widths[1:])
    return max(1, _BATCH_ENTRIES // (len(problem.features) * width), _BATCH_COLUMNS // width)


def _seeds(seeds: Any, n_restarts: int, random_state: Any) -> tuple[int, ...]:
    if seeds is None:
        count = positive_int(n_restarts, "n_restarts")
        return tuple(random_generator(random_state).integers(2**31, size=count).tolist())
    # Torch's generators look at 32 bits of a seed: larger ones would be others again.
    given = tuple(positive_int(seed, "seeds", minimum=0, maximum=2**32 - 1) for seed in seeds)
    if not given:
        raise invalid("seeds", "at least one", "none")
    return given


@torch.no_grad()
def initial_weights(
    network: Network, seeds: Sequence[int]
) -> tuple[list[Tensor], list[Tensor], list[torch.Generator]]:
    """Transposed initial weights, biases and generators, drawn as the network draws its own."""
    convs = [conv for conv in network.convs if isinstance(conv, SpectralConv)]
    kept = [parameter.detach().clone() for parameter in network.parameters()]
    generators = [torch.Generator().manual_seed(seed) for seed in seeds]
    weights: list[list[Tensor]] = [[] for _ in convs]
    for generator in generators:
        network.reset_parameters(generator)
        for layer, conv in enumerate(convs):
            weights[layer].append(conv.weight.detach().flatten(0, 1).T.contiguous())
    for parameter, value in zip(network.parameters(), kept, strict=True):
        parameter.copy_(value)
    biases = [
        conv.bias.detach().new_zeros(len(seeds), conv.out_width)
        for conv in convs
        if conv.bias is not None
    ]
    return [torch.stack(layer) for layer in weights], biases, generators


@contextmanager
def _bar(show: bool, outcome: Outcome) -> Iterator[Callable[[int], None]]:
    told = listener()
    if not show:
        yield (lambda _: None) if told is None else _telling(told, outcome.loss_curve.size)
        return
    with Progress() as progress:
        task = progress.add_task("training", total=outcome.loss_curve.size)
        yield lambda count: progress.advance(task, count)


def _telling(told: Listener, total: int) -> Callable[[int], None]:
    done = 0

    def advance(count: int) -> None:
        nonlocal done
        done += count
        told("training", done, total)

    return advance
