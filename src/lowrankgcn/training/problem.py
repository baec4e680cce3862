"""The arguments of training, and the parts of a training problem."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np
import torch
from torch import Tensor

from lowrankgcn._validation import finite_array, invalid
from lowrankgcn.nn import Network
from lowrankgcn.nn.linear_map import as_index, check_block


class ProjectedFeatures(NamedTuple):
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
    >>> from lowrankgcn.training import ProjectedFeatures
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
    check_block(X, *shape, X.dtype)
    if not (checked or bool(torch.isfinite(X).all())):
        raise invalid("X", "finite entries", "NaN or infinity")
    tensor: Tensor = X.detach().to(network.convs[0].weight)
    return tensor


def as_labels(
    network: Network, index: Any, targets: Any, sample_weight: Any
) -> tuple[Tensor, Tensor, Tensor]:
    """Return labelled rows (p,), their distributions (p, C), and their weights (p,) of sum one."""
    rows = as_index(index, network.n_nodes, network.convs[0].weight.device, "index")
    p, n_classes = len(rows), network.widths[-1]
    if not p:
        raise invalid("index", "at least one labelled row", "none")
    labels = targets.detach().cpu().numpy() if isinstance(targets, Tensor) else np.asarray(targets)
    if labels.ndim == 1:
        if len(labels) != p:
            raise invalid("targets", f"{p} of them, one for each labelled row", len(labels))
        integers = labels.dtype.kind in "iu"
        if not integers or labels.min() < 0 or labels.max() >= n_classes:
            got = f"{labels.min()}..{labels.max()}" if integers else f"{labels.dtype}"
            raise invalid("targets", f"class numbers in 0..{n_classes - 1}", got)
        labels = np.eye(n_classes)[labels]
    labels = finite_array(labels, "targets", ndim=2)
    if labels.shape != (p, n_classes):
        raise invalid("targets", f"shape {(p, n_classes)}", f"shape {labels.shape}")
    if labels.min() < 0 or not np.allclose(labels.sum(axis=1), 1.0, atol=1e-6):
        raise invalid("targets", "distributions, rows >= 0 of sum 1", f"minimum {labels.min():g}")
    given = np.ones(p) if sample_weight is None else sample_weight
    weights = finite_array(given, "sample_weight", ndim=1)
    if weights.shape != (p,) or weights.min() < 0:
        got = f"shape {weights.shape}, minimum {weights.min(initial=0):g}"
        raise invalid("sample_weight", f"{p} numbers >= 0", got)
    if not weights.sum() > 0:
        raise invalid("sample_weight", "weights of positive sum", f"sum {weights.sum():g}")
    return rows, torch.as_tensor(labels), torch.as_tensor(weights / weights.sum())


@final
@dataclass(frozen=True, eq=False)
class Readout:
    """The p labelled rows of the kernels as R_k = P diag(φ_k) Tᵀ.

    Attributes
    ----------
    tall : (m, c) Tensor, optional
        T; the identity when omitted. Without `project` its columns are the labelled rows
        themselves, one kernel after the other: c = K·p.
    responses : (K, c) Tensor, optional
        φ_k; omitted for K = 1, where `project` contains it, or without `project`.
    project : (p, c) Tensor, optional
        P.
    index : (p,) Tensor, optional
        The labelled rows, if the rows of the kernels are too many to store. The last layer is then
        computed for all nodes, and the other attributes are not used.

    Examples
    --------
    The labelled rows 0 and 2 of a kernel, and the same through its eigenvectors:

    >>> import torch
    >>> U, phi = torch.tensor([[0.6], [0.0], [0.8]]), torch.tensor([2.0])
    >>> rows = Readout(tall=(U * phi) @ U[[0, 2]].T)
    >>> spectral = Readout(tall=U, project=U[[0, 2]] * phi)
    >>> torch.allclose(spectral.project @ spectral.tall.T, rows.tall.T)
    True
    """

    tall: Tensor | None = None
    responses: Tensor | None = None
    project: Tensor | None = None
    index: Tensor | None = None


@final
class Coordinates:
    r"""First-layer weights in an orthonormal basis Q of the features' row space.

    The features act on QᵀΘ only. The rest of each column of Θ keeps its direction, since only the
    penalty acts on it, and its length is one more coordinate. This is a rotation of each column:
    gradient descent and L-BFGS have the same iterates in q + 1 numbers per column as in K·N_0.
    Adam is not invariant under rotations and uses the weights themselves.

    Parameters
    ----------
    weight : (s, N_1, K·N_0) Tensor
        Initial weights, transposed.
    basis : (K·N_0, q) Tensor
        Q.

    Attributes
    ----------
    initial : (s, N_1, q + 1) Tensor
        Coordinates of the initial weights.

    Examples
    --------
    >>> import torch
    >>> Q = torch.tensor([[1.0], [0.0], [0.0]])
    >>> system = Coordinates(torch.tensor([[[2.0, 3.0, 4.0]]]), Q)
    >>> system.initial
    tensor([[[2., 5.]]])
    >>> system.to_weights(system.initial)
    tensor([[[2., 3., 4.]]])
    """

    def __init__(self, weight: Tensor, basis: Tensor) -> None:
        precise, Q = weight.double(), basis.double()
        inside = precise @ Q
        rest = precise - inside @ Q.T
        length = torch.linalg.vector_norm(rest, dim=2, keepdim=True)
        directions = torch.where(length > 0, rest / length.clamp_min(1e-300), 0.0)
        self._basis, self._directions = basis, directions.to(weight.dtype)
        self.initial = torch.cat([inside, length], dim=2).to(weight.dtype)

    def to_weights(self, coordinates: Tensor) -> Tensor:
        """Return transposed weights (s, N_1, K·N_0) from coordinates (s, N_1, q + 1)."""
        return coordinates[..., :-1] @ self._basis.T + coordinates[..., -1:] * self._directions
