"""Errors in the paper and its published files, shown beside the tables.

Every erratum that concerns a row is demonstrated by a run. The numbers of that run decide whether
it explains the row's difference, see :mod:`~lowrankgcn.experiments.reproduction.results`.

>>> ERRATA["quadratic"].number, ERRATA["quadratic"].title
(3, 'Mushrooms, quadratic filter: 70.09 % belongs to a mistyped filter')
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import final

import numpy as np

from lowrankgcn.exceptions import DisconnectedGraphWarning
from lowrankgcn.experiments.reproduction.grid import paper_file
from lowrankgcn.experiments.reproduction.setting import load_setting
from lowrankgcn.graphs import AdjacencyGraph
from lowrankgcn.spectral.eigenpairs import eigenpairs
from lowrankgcn.spectral.filters import Polynomial
from lowrankgcn.spectral.kernel import kernel
from lowrankgcn.spectral.laplacian import Laplacian

__all__ = ["ERRATA", "Erratum", "checked_formulas", "table_rank"]


@final
@dataclass(frozen=True)
class Erratum:
    """Number, headline and text of an erratum."""

    number: int
    title: str
    text: str


ERRATA = {
    item["name"]: Erratum(number, item["title"], item["text"])
    for number, item in enumerate(paper_file()["erratum"], start=1)
}
"""Errata by name, numbered in order."""


def table_rank(data: str) -> tuple[int, int]:
    """Return the rank of a table's incidence matrix and its number of hyperedges.

    Examples
    --------
    >>> table_rank("cars")
    (16, 21)
    """
    X = load_setting(data).X
    return int(np.linalg.matrix_rank(X.T @ X, hermitian=True)), X.shape[1]


def checked_formulas() -> dict[str, str]:
    """Check formulas of the paper on small graphs; return the findings by erratum.

    Examples
    --------
    >>> print(checked_formulas()["components"])
    Two triangles and an isolated node: the eigenvalue 0 is found 3 times.
    """
    triangle = np.ones((3, 3)) - np.eye(3)
    parts = np.zeros((7, 7))
    parts[:3, :3] = parts[3:6, 3:6] = triangle
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DisconnectedGraphWarning)
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
