r"""Input features of a low-rank network by their products with the eigenvectors.

A network with kernels :math:`U \varphi_k(\Lambda) U^T` needs only :math:`U^T X` of its input X. The
n×N₀ matrix of a table with many categories is then never stored:

>>> import lowrankgcn as lg, torch
>>> L = lg.Laplacian(lg.Hypergraph([[1, 0], [1, 0], [1, 1], [0, 1], [0, 1]]))
>>> network = lg.nn.GCN(lg.kernel(L, "heat", rank=2), (2, 4, 2))
>>> X = L.graph.incidence.to_dense()
>>> U = network.kernels[0].eigenpairs.eigenvectors
>>> projected = ProjectedFeatures(5, torch.tensor(U.T @ X, dtype=torch.float32))
>>> one, other = (
...     lg.training.train(network, given, [0, 4], [0, 1], max_iter=10) for given in (X, projected))
>>> bool(abs(one.loss_curve - other.loss_curve).max() < 1e-5)
True
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from torch import Tensor

__all__ = ["ProjectedFeatures"]


@final
@dataclass(frozen=True, eq=False)
class ProjectedFeatures:
    """Features X of a network whose kernels have common eigenvectors U.

    Attributes
    ----------
    n : int
        Number of rows of X.
    projection : (r, N_0) Tensor
        UᵀX, in the dtype and on the device of the network.
    """

    n: int
    projection: Tensor

    @property
    def shape(self) -> tuple[int, int]:
        """The pair (n, N₀)."""
        return self.n, self.projection.shape[1]
