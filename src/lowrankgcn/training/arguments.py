"""Validation of the arguments of training: features, labels and weights."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from lowrankgcn._validation import finite_array, invalid
from lowrankgcn.nn import Network, linear_map
from lowrankgcn.training.features import ProjectedFeatures

__all__ = ["Features", "as_features", "as_index", "as_targets", "as_weights"]

Features = Tensor | ProjectedFeatures


def as_features(X: Any, network: Network) -> Features:
    """Return X (n, N_0) in the dtype and on the device of the network."""
    shape = (network.n_nodes, network.widths[0])
    if isinstance(X, ProjectedFeatures):
        if X.shape != shape:
            raise invalid("X", f"shape {shape}", f"shape {X.shape}")
        return X
    checked = not isinstance(X, Tensor)
    if checked:
        X = torch.from_numpy(np.ascontiguousarray(finite_array(X, "X", ndim=2)))
    linear_map.check_block(X, *shape, X.dtype)
    if not (checked or bool(torch.isfinite(X).all())):
        raise invalid("X", "finite entries", "NaN or infinity")
    tensor: Tensor = X.detach().to(network.convs[0].weight)
    return tensor


def as_index(index: Any, network: Network) -> Tensor:
    """Return the labelled rows, at least one."""
    rows = linear_map.as_index(index, network.n_nodes, network.convs[0].weight.device, "index")
    if not len(rows):
        raise invalid("index", "at least one labelled row", "none")
    return rows


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
