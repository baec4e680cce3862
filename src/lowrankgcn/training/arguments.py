"""Validation of the arguments of training: features, labels and weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from lowrankgcn._validation import finite_array, invalid
from lowrankgcn.nn import Network, linear_map

__all__ = ["Features", "ProjectedFeatures", "as_features", "as_index", "as_targets", "as_weights"]


@final
@dataclass(frozen=True, eq=False)
class ProjectedFeatures:
    r"""Features X of a network whose kernels have common eigenvectors U.

    A network with kernels :math:`U \varphi_k(\Lambda) U^T` needs only :math:`U^T X` of its input
    X. The n×N₀ matrix of a table with many categories is then never stored.

    Attributes
    ----------
    n : int
        Number of rows of X.
    projection : (r, N_0) Tensor
        UᵀX, in the dtype and on the device of the network.

    Examples
    --------
    >>> import lowrankgcn as lg, torch
    >>> L = lg.Laplacian(lg.Hypergraph([[1, 0], [1, 0], [1, 1], [0, 1], [0, 1]]))
    >>> network = lg.nn.GCN(lg.kernel(L, "heat", rank=2), (2, 4, 2))
    >>> X = L.graph.incidence.to_dense()
    >>> U = network.kernels[0].eigenpairs.eigenvectors
    >>> projected = ProjectedFeatures(5, torch.tensor(U.T @ X, dtype=torch.float32))
    >>> one, other = (
    ...     lg.training.train(network, given, [0, 4], [0, 1], max_iter=10)
    ...     for given in (X, projected))
    >>> bool(abs(one.loss_curve - other.loss_curve).max() < 1e-5)
    True
    """

    n: int
    projection: Tensor

    @property
    def shape(self) -> tuple[int, int]:
        """The pair (n, N₀)."""
        return self.n, self.projection.shape[1]


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


def as_weights(sample_weight: Any, n_labelled: int) -> NDArray[np.float64]:
    """Return the weights of labelled rows in the mean cross-entropy, with sum one.

    Examples
    --------
    >>> as_weights([1, 3], 2)
    array([0.25, 0.75])
    """
    weights = np.ones(n_labelled)
    if sample_weight is not None:
        weights = finite_array(sample_weight, "sample_weight", ndim=1)
        if weights.shape != (n_labelled,) or weights.min() < 0:
            got = f"shape {weights.shape}, minimum {weights.min(initial=0):g}"
            raise invalid("sample_weight", f"{n_labelled} numbers >= 0", got)
    total = weights.sum()
    if not total > 0:
        raise invalid("sample_weight", "weights of positive sum", f"sum {total:g}")
    normalised: NDArray[np.float64] = weights / total
    return normalised
