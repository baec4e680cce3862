"""Small computations that show the errata which no table depends on.

>>> table_rank("cars")
(16, 21)
"""

from __future__ import annotations

import warnings

import numpy as np

from lowrankgcn.exceptions import DisconnectedGraphWarning
from lowrankgcn.experiments.reproduction.setting import Setting
from lowrankgcn.graphs import AdjacencyGraph
from lowrankgcn.spectral.eigenpairs import eigenpairs
from lowrankgcn.spectral.filters import Polynomial
from lowrankgcn.spectral.kernel import kernel
from lowrankgcn.spectral.laplacian import Laplacian

__all__ = ["checked_formulas", "table_rank"]


def table_rank(data: str) -> tuple[int, int]:
    """Rank of a table's incidence matrix, and its number of hyperedges."""
    X = Setting.load(data).X
    return int(np.linalg.matrix_rank(X.T @ X, hermitian=True)), X.shape[1]


def checked_formulas() -> dict[str, str]:
    """What small graphs say about formulas, by erratum.

    Examples
    --------
    >>> print(checked_formulas()["components"])
    Two triangles and an isolated node: the eigenvalue 0 is found 3 times.
    """
    triangle = np.ones((3, 3)) - np.eye(3)
    parts = np.zeros((7, 7))
    parts[:3, :3] = parts[3:6, 3:6] = triangle
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DisconnectedGraphWarning)  # which is the point
        zeros = int((eigenpairs(Laplacian(AdjacencyGraph(parts)), 7).eigenvalues == 0).sum())

    laplacian = Laplacian(AdjacencyGraph(triangle))
    L, K = laplacian.to_dense(), kernel(laplacian, Polynomial((2.0, -1.0))).to_dense()
    plus, minus = (float(abs(K - (2 * np.eye(3) + sign * -1 * L)).max()) for sign in (1, -1))
    return {
        "components": "Two triangles and an isolated node: the eigenvalue 0 is found "
        f"{zeros} times.",
        "formula": "φ(λ) = 2 − λ on a triangle: the kernel differs from a₀I + a₁L by at most "
        f"{plus:g}, from a₀I − a₁L by {minus:g}.",
    }
