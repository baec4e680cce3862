r"""The data that training needs of a network, its input and its labels, computed once.

Only labelled rows enter the loss and the input never changes, so the n nodes reduce to

* features F (m×q) and a basis B with
  :math:`F B^T = [\mathcal{K}^{(1)} X \dots \mathcal{K}^{(K)} X]`,
* a readout: the labelled rows of the kernels,
* for networks with more than one hidden layer, the kernels themselves.

The m rows are the n nodes for a GCN and the r eigenvectors for a reduced-order GCN.

>>> import torch
>>> F = torch.tensor([[1.0, 0.0], [0.0, 2.0]])
>>> R = torch.tensor([[1.0], [1.0]])  # one labelled row of a kernel on two nodes
>>> problem = TrainingProblem(
...     widths=(2, 3, 2), features=F, readout=Readout(tall=R),
...     targets=torch.tensor([[0.0, 1.0]]), sample_weight=torch.ones(1))
>>> problem.depth, problem.n_kernels
(2, 1)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import final

import torch
from torch import Tensor

__all__ = ["Coordinates", "Product", "Readout", "TrainingProblem"]

Product = Callable[[Tensor], Tensor]


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
@dataclass(frozen=True, eq=False)
class TrainingProblem:
    """A network, its input and its labels in the form that training uses.

    Attributes
    ----------
    widths : tuple of int
        (N_0, …, N_L).
    features : (m, q) Tensor
        F; m is the number of labelled rows for a single layer.
    targets : (p, C) Tensor
        Class indicators or distributions of the p labelled rows.
    sample_weight : (p,) Tensor
        Weights of the mean cross-entropy, with sum one.
    readout : Readout
        Labelled rows of the kernels; not used for a single layer.
    basis : (K·N_0, q) Tensor, optional
        B; the identity when omitted.
    orthonormal : bool
        Whether the columns of the basis are orthonormal.
    propagations : sequence of callable
        H ↦ 𝒦_k H on m nodes, between hidden layers.
    n_kernels : int
        K.
    activation : str
        A name of :data:`lowrankgcn.nn.ACTIVATIONS`.
    dropout : float

    Examples
    --------
    Logistic regression is a network with one layer:

    >>> import torch
    >>> problem = TrainingProblem(
    ...     widths=(3, 2), features=torch.ones(4, 3),
    ...     targets=torch.eye(2)[[0, 1, 1, 0]], sample_weight=torch.full((4,), 0.25))
    >>> problem.work
    48
    """

    widths: tuple[int, ...]
    features: Tensor
    targets: Tensor
    sample_weight: Tensor
    readout: Readout = Readout()
    basis: Tensor | None = None
    orthonormal: bool = False
    propagations: Sequence[Product] = ()
    n_kernels: int = 1
    activation: str = "relu"
    dropout: float = 0.0

    @property
    def depth(self) -> int:
        """Number of layers L."""
        return len(self.widths) - 1

    @property
    def work(self) -> int:
        """Multiplications of one iteration for one restart, without those of middle kernels."""
        m, q = self.features.shape
        if self.depth == 1:
            return 2 * m * q * self.widths[-1]
        columns = 0 if self.readout.tall is None else self.readout.tall.shape[1]
        return 2 * m * (q + columns) * sum(self.widths[1:-1])


@final
@dataclass(frozen=True, eq=False)
class Coordinates:
    r"""First-layer weights in an orthonormal basis Q of the features' row space.

    The features act on QᵀΘ only. The rest of each column of Θ keeps its direction, since only the
    penalty acts on it, and its length is one more coordinate. This is a rotation of each column:
    gradient descent and L-BFGS have the same iterates in q + 1 numbers per column as in K·N_0.
    Adam is not invariant under rotations and uses the weights themselves.

    Attributes
    ----------
    basis : (K·N_0, q) Tensor
        Q.
    directions : (s, N_1, K·N_0) Tensor
        Unit vectors orthogonal to the basis, or zero.
    """

    basis: Tensor
    directions: Tensor

    @staticmethod
    def from_weights(weight: Tensor, basis: Tensor) -> tuple[Coordinates, Tensor]:
        """Return the system of transposed weights (s, N_1, K·N_0), and their coordinates.

        Examples
        --------
        >>> import torch
        >>> Q = torch.tensor([[1.0], [0.0], [0.0]])
        >>> system, inside = Coordinates.from_weights(torch.tensor([[[2.0, 3.0, 4.0]]]), Q)
        >>> inside
        tensor([[[2., 5.]]])
        >>> system.to_weights(inside)
        tensor([[[2., 3., 4.]]])
        """
        precise, Q = weight.double(), basis.double()
        inside = precise @ Q
        rest = precise - inside @ Q.T
        length = torch.linalg.vector_norm(rest, dim=2, keepdim=True)
        directions = torch.where(length > 0, rest / length.clamp_min(1e-300), 0.0)
        coordinates = torch.cat([inside, length], dim=2).to(weight.dtype)
        return Coordinates(basis, directions.to(weight.dtype)), coordinates

    def to_weights(self, coordinates: Tensor) -> Tensor:
        """Return transposed weights (s, N_1, K·N_0) from coordinates (s, N_1, q + 1)."""
        return coordinates[..., :-1] @ self.basis.T + coordinates[..., -1:] * self.directions
