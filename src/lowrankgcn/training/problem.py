r"""What training needs to know of a network and its data, computed once.

Only labelled rows enter the loss and the input never changes, so that the n nodes shrink to

* features F (m×q) and a basis B with
  :math:`F B^T = [\mathcal{K}^{(1)} X \dots \mathcal{K}^{(K)} X]`,
* a readout of the labelled rows of the kernels,
* for networks with more than one hidden layer, the kernels themselves.

For a GCN the m rows are the n nodes, for a reduced-order GCN, and for a low-rank one whose nodes
are elsewhere, the r eigenvectors.

>>> import torch
>>> F = torch.tensor([[1.0, 0.0], [0.0, 2.0]])
>>> R = torch.tensor([[1.0], [1.0]])  # one labelled row of a kernel on two nodes
>>> problem = TrainingProblem(
...     widths=(2, 3, 2), features=F, readout=MatrixReadout(tall=R),
...     targets=torch.tensor([[0.0, 1.0]]), sample_weight=torch.ones(1))
>>> problem.depth, problem.n_kernels
(2, 1)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import final

import torch
from torch import Tensor

from lowrankgcn.training.nodes import Nodes

__all__ = ["Coordinates", "MatrixReadout", "OperatorReadout", "Readout", "TrainingProblem"]


@final
@dataclass(frozen=True, eq=False)
class MatrixReadout:
    """The q labelled rows of the kernels as R_k = P diag(φ_k) Tᵀ with stored T, φ and P.

    Attributes
    ----------
    tall : (m, p) Tensor, optional
        T; the identity when omitted. Without `project` it holds the labelled rows themselves, as
        columns and one kernel after the other: p = K·q.
    responses : (K, p) Tensor, optional
        φ_k; omitted for K = 1, where `project` contains it, or without `project`.
    project : (q, p) Tensor, optional
        P.

    Examples
    --------
    The labelled rows 0 and 2 of a kernel, and the same through its eigenvectors:

    >>> import torch
    >>> U, phi = torch.tensor([[0.6], [0.0], [0.8]]), torch.tensor([2.0])
    >>> rows = MatrixReadout(tall=(U * phi) @ U[[0, 2]].T)
    >>> spectral = MatrixReadout(tall=U, project=U[[0, 2]] * phi)
    >>> torch.allclose(spectral.project @ spectral.tall.T, rows.tall.T)
    True
    """

    tall: Tensor | None = None
    responses: Tensor | None = None
    project: Tensor | None = None


@final
@dataclass(frozen=True, eq=False)
class OperatorReadout:
    """Labelled rows of the kernels through products, where there are too many to store.

    Attributes
    ----------
    rows : sequence of callable
        H ↦ 𝒦_k[I,:] H for each kernel.
    propagations : sequence of callable
        H ↦ 𝒦_k H for each kernel.
    index : (q,) Tensor
    n_nodes : int

    Examples
    --------
    >>> import torch
    >>> K = torch.tensor([[2.0, 1.0], [1.0, 3.0]])
    >>> readout = OperatorReadout([lambda H: K[[1]] @ H], [lambda H: K @ H], torch.tensor([1]), 2)
    >>> readout.product(torch.eye(2)), readout.adjoint(torch.ones(1, 1)).T
    (tensor([[1., 3.]]), tensor([[1., 3.]]))
    """

    rows: Sequence[Callable[[Tensor], Tensor]]
    propagations: Sequence[Callable[[Tensor], Tensor]]
    index: Tensor
    n_nodes: int

    def product(self, H: Tensor) -> Tensor:
        """The parts 𝒦_k[I,:] H below each other, shape (K·q, c)."""
        return torch.cat([rows(H) for rows in self.rows])

    def adjoint(self, G: Tensor) -> Tensor:
        """Σ_k 𝒦_k[:,I] G_k, shape (n, c), by symmetry."""
        result = G.new_zeros(self.n_nodes, G.shape[1])
        for part, propagate in zip(G.chunk(len(self.rows)), self.propagations, strict=True):
            scattered = G.new_zeros(result.shape).index_add_(0, self.index, part)
            result += propagate(scattered)
        return result


Readout = MatrixReadout | OperatorReadout


@final
@dataclass(frozen=True, eq=False)
class TrainingProblem:
    """A network, its input and its labels, as training sees them.

    Attributes
    ----------
    widths : tuple of int
        (N_0, …, N_L).
    features : (m, q) Tensor
        F; for a single layer m is the number of labelled rows.
    readout : MatrixReadout or OperatorReadout
        Labelled rows of the kernels; not used for a single layer.
    targets : (p, C) Tensor
        Class indicators or distributions of the p labelled rows.
    sample_weight : (p,) or (s, p) Tensor
        Weights of the mean cross-entropy, of sum one; the same for all restarts, or each its own.
    basis : (K·N_0, q) Tensor, optional
        B; the identity when omitted.
    orthonormal : bool
        Whether the columns of the basis are.
    propagations : sequence of callable
        H ↦ 𝒦_k H on m nodes; only used between hidden layers.
    n_kernels : int
        K.
    activation : str
        A name of :data:`lowrankgcn.training.ACTIVATIONS`.
    bias : bool
    dropout : float
    nodes : Nodes, optional
        Where hidden layers live if the m rows are the r eigenvectors of a low-rank network.

    Examples
    --------
    Logistic regression is a network with one layer:

    >>> import torch
    >>> problem = TrainingProblem(
    ...     widths=(3, 2), features=torch.ones(4, 3), readout=MatrixReadout(),
    ...     targets=torch.eye(2)[[0, 1, 1, 0]], sample_weight=torch.full((4,), 0.25))
    >>> problem.work
    48
    """

    widths: tuple[int, ...]
    features: Tensor
    readout: Readout
    targets: Tensor
    sample_weight: Tensor
    basis: Tensor | None = None
    orthonormal: bool = False
    propagations: Sequence[Callable[[Tensor], Tensor]] = ()
    n_kernels: int = 1
    activation: str = "relu"
    bias: bool = False
    dropout: float = 0.0
    nodes: Nodes | None = None

    @property
    def depth(self) -> int:
        """Number of layers L."""
        return len(self.widths) - 1

    def select(self, restarts: Tensor) -> TrainingProblem:
        """The problem of some of the restarts, where each has weights of its own."""
        if self.sample_weight.ndim == 1:
            return self
        return replace(self, sample_weight=self.sample_weight[restarts])

    @property
    def work(self) -> int:
        """Multiplications of one iteration for one restart, without those of middle kernels."""
        m, q = self.features.shape
        if self.depth == 1:
            return 2 * m * q * self.widths[-1]
        tall = self.readout.tall if isinstance(self.readout, MatrixReadout) else None
        p = 0 if tall is None else tall.shape[1]
        return 2 * m * (q + p) * sum(self.widths[1:-1])


@final
@dataclass(frozen=True, eq=False)
class Coordinates:
    r"""First-layer weights in an orthonormal basis Q of the features' row space.

    Features see QᵀΘ only. The rest of each column of Θ keeps its direction for ever, since nothing
    but the penalty acts on it, and is one more coordinate: its length. This is a rotation of each
    column, so that gradient descent and L-BFGS take the same way in q + 1 numbers per column as in
    K·N_0; Adam, which is no geometric method, does not.

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
    def enter(weight: Tensor, basis: Tensor) -> tuple[Coordinates, Tensor]:
        """The coordinate system of transposed weights (s, N_1, K·N_0), and their coordinates.

        Examples
        --------
        >>> import torch
        >>> Q = torch.tensor([[1.0], [0.0], [0.0]])
        >>> system, inside = Coordinates.enter(torch.tensor([[[2.0, 3.0, 4.0]]]), Q)
        >>> inside
        tensor([[[2., 5.]]])
        >>> system.leave(inside)
        tensor([[[2., 3., 4.]]])
        """
        precise, Q = weight.double(), basis.double()
        inside = precise @ Q
        rest = precise - inside @ Q.T
        length = torch.linalg.vector_norm(rest, dim=2, keepdim=True)
        directions = torch.where(length > 0, rest / length.clamp_min(1e-300), 0.0)
        coordinates = torch.cat([inside, length], dim=2).to(weight.dtype)
        return Coordinates(basis, directions.to(weight.dtype)), coordinates

    def leave(self, coordinates: Tensor) -> Tensor:
        """Transposed weights (s, N_1, K·N_0) from their coordinates (s, N_1, q + 1)."""
        return coordinates[..., :-1] @ self.basis.T + coordinates[..., -1:] * self.directions

    def select(self, restarts: Tensor) -> Coordinates:
        """The system of some of the restarts."""
        return Coordinates(self.basis, self.directions[restarts])
