"""Cross-validation of a network on its labelled rows, with one set-up for all folds.

>>> import lowrankgcn as lg, numpy as np
>>> from lowrankgcn.training import predict_held_out
>>> spiral = lg.datasets.load_spiral(100, random_state=0)
>>> L = lg.Laplacian(lg.GaussianGraph(spiral.data, bandwidth=3.5))
>>> network = lg.nn.GCN(lg.kernel(L, "pseudoinverse", rank=10), (3, 4, 5))
>>> labelled = np.arange(0, 500, 20)
>>> folds = np.arange(25)[None, :] % 5 == np.arange(5)[:, None]
>>> predict_held_out(
...     network, spiral.data, labelled, spiral.target[labelled], folds, max_iter=50).shape
(5, 25, 5)
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray

from lowrankgcn._validation import invalid, positive_int
from lowrankgcn.nn import Network
from lowrankgcn.training.arguments import as_features, as_index, as_targets, as_weights
from lowrankgcn.training.batch import Settings, train_batch
from lowrankgcn.training.gradients import ExplicitGradients, join_parameters
from lowrankgcn.training.optimizers import Optimizer, OptimizerName, as_optimizer
from lowrankgcn.training.problem import TrainingProblem
from lowrankgcn.training.reduction import training_problem
from lowrankgcn.training.threads import limit_threads
from lowrankgcn.training.train import initial_parameters

__all__ = ["predict_held_out"]

# Nodes up to which a sample is drawn from a permutation of all.
_PERMUTED = 2**24


@torch.no_grad()
def predict_held_out(
    network: Network,
    X: Any,
    index: Any,
    targets: Any,
    folds: Any,
    *,
    seed: int = 0,
    optimizer: OptimizerName | Optimizer = "gd",
    learning_rate: float | None = None,
    max_iter: int = 1000,
    l2_penalty: float = 0.0005,
    decay: Literal["first", "all"] = "first",
    sample_weight: Any = None,
    class_weight: Any = None,
    hidden_rows: int | None = None,
) -> NDArray[np.float64]:
    r"""Train once for every fold without the labels it holds out, and predict the labelled rows.

    Parameters
    ----------
    network, X, index, targets
        As for :func:`lowrankgcn.training.train`.
    folds : (F, p) bool array
        Labelled rows that each fold holds out; some must remain.
    seed : int
        Seed of the initial weights, the same for all folds.
    optimizer, learning_rate, max_iter, l2_penalty, decay, sample_weight, class_weight
        As for :func:`lowrankgcn.training.train`. The weights of the rows that a fold keeps are
        divided by their sum; "balanced" balances these rows.
    hidden_rows : int, optional
        Estimate :math:`U^T \sigma(\cdot)` of an L-GCN from this number of random rows instead of
        all n. This approximation suffices to compare networks; training does not use it.

    Returns
    -------
    (F, p, C) array
        Class distributions of all labelled rows, including those held out.

    Notes
    -----
    All folds are one batch of restarts with different sample weights: the set-up is done once, and
    an iteration costs the same as in training, with `hidden_rows` in place of n.
    """
    index = as_index(index, network)
    classes = as_targets(targets, len(index), network.widths[-1])
    weighting = as_weights(sample_weight, class_weight, classes)
    held = np.asarray(folds)
    if held.dtype.kind != "b" or held.ndim != 2 or held.shape[1] != len(index):
        raise invalid("folds", f"a bool array of shape (F, {len(index)})", f"{held.shape}")
    if not (np.where(held, 0.0, weighting).sum(axis=1) > 0).all():
        raise invalid("folds", "some rows of positive weight left in every fold", "none")
    given = np.ones(len(index)) if sample_weight is None else np.asarray(sample_weight, float)
    kept = [as_weights(np.where(fold, 0.0, given), class_weight, classes) for fold in held]
    settings = Settings(as_optimizer(optimizer, learning_rate), max_iter, l2_penalty, decay)
    like = next(network.parameters()).detach()
    labels, mean = torch.as_tensor(classes), torch.as_tensor(weighting)
    problem = training_problem(network, as_features(X, network), index, labels, mean)
    if hidden_rows is not None:
        problem = _subsample(problem, positive_int(hidden_rows, "hidden_rows"), seed)
    shares = torch.as_tensor(np.array(kept)).to(like)
    problem = replace(problem, sample_weight=shares)
    trained, generators = initial_parameters(network, (seed,) * len(held))
    with limit_threads(problem.work * len(held)):
        train_batch(problem, settings, trained, generators)
        problem = replace(problem, dropout=0.0)
        shapes = [tensor.shape[1:] for tensor in trained]
        logits = ExplicitGradients(problem, join_parameters(trained), shapes).evaluate()
    return torch.softmax(logits.double(), dim=1).mT.cpu().numpy()


def _subsample(problem: TrainingProblem, count: int, seed: int) -> TrainingProblem:
    """Return the problem on random nodes; their sums estimate those over all nodes."""
    readout, nodes = problem.readout, problem.nodes
    m = len(problem.features) if nodes is None else nodes.n
    if problem.depth != 2 or m <= count or readout.index is not None:
        return problem
    if nodes is not None:
        U = torch.from_numpy(nodes.take(np.sort(_draw(m, count, seed)))).to(problem.features)
        U = U[:, : len(problem.features)]
        tall, features = U * (m / count), U @ problem.features
        readout = replace(readout, tall=tall)
        return replace(problem, features=features, readout=readout, nodes=None)
    if readout.tall is None:
        return problem
    rows = torch.from_numpy(_draw(m, count, seed)).to(problem.features.device)
    tall = readout.tall[rows] * (m / count)
    return replace(problem, features=problem.features[rows], readout=replace(readout, tall=tall))


def _draw(m: int, count: int, seed: int) -> NDArray[np.intp]:
    """Draw distinct numbers below m."""
    if m > _PERMUTED:
        return np.random.default_rng(seed).choice(m, count, replace=False, shuffle=False)
    generator = torch.Generator().manual_seed(seed)
    return torch.randperm(m, generator=generator)[:count].numpy()
