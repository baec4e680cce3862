"""Validation of the arguments of training: features, labels, weights and optimiser."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from lowrankgcn._validation import (
    choice,
    finite_array,
    invalid,
    node_index,
    positive_float,
    positive_int,
)
from lowrankgcn.nn import Network
from lowrankgcn.nn.linear_map import check_block
from lowrankgcn.training.batch import Settings
from lowrankgcn.training.features import Features, TensorFeatures
from lowrankgcn.training.lbfgs import LBFGS
from lowrankgcn.training.optimizers import Adam, GradientDescent, Optimizer

__all__ = ["as_features", "as_index", "as_optimizer", "as_settings", "as_targets", "as_weights"]


def as_features(X: Any, network: Network) -> Features:
    """Return X (n, N_0) in the dtype and on the device of the network."""
    if isinstance(X, Features):
        wanted = (network.n_nodes, network.widths[0])
        if X.shape != wanted:
            raise invalid("X", f"shape {wanted}", f"shape {X.shape}")
        return X
    weight = next(network.parameters())
    if not isinstance(X, Tensor):
        X = torch.from_numpy(np.ascontiguousarray(finite_array(X, "X", ndim=2)))
    elif not bool(torch.isfinite(X.sum())) and not bool(torch.isfinite(X).all()):
        raise invalid("X", "finite entries", "NaN or infinity")
    X = X.detach().to(weight)
    check_block(X, network.n_nodes, network.widths[0], weight.dtype)
    return TensorFeatures(X)


def as_index(index: Any, network: Network) -> Tensor:
    """Return the labelled rows, at least one."""
    array = index.detach().cpu().numpy() if isinstance(index, Tensor) else index
    rows = node_index(array, "index", network.n_nodes)
    if not len(rows):
        raise invalid("index", "at least one labelled row", "none")
    return torch.as_tensor(rows, device=next(network.parameters()).device)


def as_targets(targets: Any, n_labelled: int, n_classes: int) -> NDArray[np.float64]:
    """Return class numbers (p,) or distributions (p, C) as distributions.

    Examples
    --------
    >>> as_targets([1, 0], 2, 3)
    array([[0., 1., 0.],
           [1., 0., 0.]])
    """
    raw = targets.detach().cpu().numpy() if isinstance(targets, Tensor) else np.asarray(targets)
    if raw.ndim == 1:
        if len(raw) != n_labelled:
            raise invalid("targets", f"{n_labelled} of them, one for each labelled row", len(raw))
        if raw.dtype.kind not in "iu" or raw.min() < 0 or raw.max() >= n_classes:
            got = f"{raw.dtype}" if raw.dtype.kind not in "iu" else f"{raw.min()}..{raw.max()}"
            raise invalid("targets", f"class numbers in 0..{n_classes - 1}", got)
        indicators: NDArray[np.float64] = np.eye(n_classes)[raw]
        return indicators
    soft = finite_array(raw, "targets", ndim=2)
    if soft.shape != (n_labelled, n_classes):
        raise invalid("targets", f"shape {(n_labelled, n_classes)}", f"shape {soft.shape}")
    if soft.min() < 0 or not np.allclose(soft.sum(axis=1), 1.0, atol=1e-6):
        raise invalid("targets", "distributions, rows >= 0 of sum 1", f"minimum {soft.min():g}")
    return soft


def as_weights(
    sample_weight: Any, class_weight: Any, targets: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the weights of labelled rows in the mean cross-entropy, with sum one.

    Parameters
    ----------
    sample_weight : (p,) array, optional
    class_weight : "balanced", (C,) array or mapping, optional
        The weight of a row with a distribution is the mean over its classes. "balanced" gives every
        class that occurs the same total; classes missing in a mapping have weight one.
    targets : (p, C) array

    Examples
    --------
    >>> as_weights(None, "balanced", np.eye(2)[[0, 0, 1]])
    array([0.25, 0.25, 0.5 ])
    """
    p, classes = targets.shape
    weights = np.ones(p)
    if sample_weight is not None:
        weights = finite_array(sample_weight, "sample_weight", ndim=1)
        if weights.shape != (p,) or weights.min() < 0:
            got = f"shape {weights.shape}, minimum {weights.min(initial=0):g}"
            raise invalid("sample_weight", f"{p} numbers >= 0", got)
    if class_weight is not None:
        weights = weights * (targets @ _class_weights(class_weight, weights @ targets, classes))
    total = weights.sum()
    if not total > 0:
        raise invalid("sample_weight", "weights of positive sum", f"sum {total:g}")
    normalised: NDArray[np.float64] = weights / total
    return normalised


def _class_weights(given: Any, totals: NDArray[np.float64], classes: int) -> NDArray[np.float64]:
    if isinstance(given, str):
        if given != "balanced":
            raise invalid("class_weight", "'balanced', an array or a mapping", repr(given))
        return np.divide(1.0, totals, out=np.zeros(classes), where=totals > 0)
    if isinstance(given, Mapping):
        values = np.ones(classes)
        for key, value in given.items():
            if key not in range(classes):
                raise invalid("class_weight", f"class numbers in 0..{classes - 1}", repr(key))
            values[key] = value
    else:
        values = finite_array(given, "class_weight", ndim=1)
    if values.shape != (classes,) or not np.isfinite(values).all() or values.min() < 0:
        raise invalid("class_weight", f"{classes} numbers >= 0", repr(given))
    return values


def as_optimizer(optimizer: Any, learning_rate: float | None = None) -> Optimizer:
    """Return an optimiser by its name and learning rate; return optimisers as they are.

    Examples
    --------
    >>> as_optimizer("adam", 0.02).learning_rate
    0.02
    """
    if isinstance(optimizer, Optimizer):
        if learning_rate is not None:
            raise invalid("learning_rate", "None beside an optimizer that has one", learning_rate)
        return optimizer
    name = choice(optimizer, "optimizer", ("gd", "adam", "lbfgs"))
    if name == "lbfgs":
        if learning_rate is not None:
            raise invalid("learning_rate", "None for L-BFGS, which searches", learning_rate)
        return LBFGS()
    kind = GradientDescent if name == "gd" else Adam
    return kind() if learning_rate is None else kind(learning_rate)


def as_settings(
    optimizer: Any,
    learning_rate: Any,
    max_iter: Any,
    l2_penalty: Any,
    decay: Any,
    patience: Any = 1,
    tol: Any = 0.0,
    early_stopping: bool = False,
) -> Settings:
    """Check the options of :func:`lowrankgcn.training.train` that control the iterations."""
    return Settings(
        optimizer=as_optimizer(optimizer, learning_rate),
        max_iter=positive_int(max_iter, "max_iter"),
        l2_penalty=positive_float(l2_penalty, "l2_penalty", zero=True),
        decay=choice(decay, "decay", ("first", "all")),
        patience=positive_int(patience, "patience") if early_stopping else None,
        tol=positive_float(tol, "tol", zero=True),
    )
