"""Affinities: how a graph multiplies with its weights, and how wrong that is.

A graph hands its adjacency W (zero diagonal) on as W = A − diag(a) with an operator A that is easy
to multiply with: the Gaussian kernel with its unit diagonal, H W_E D_E^{-1} Hᵀ of a hypergraph with
its loops (section A3.2), or W itself.

>>> import numpy as np
>>> from lowrankgcn.operators import DenseOperator
>>> A = DenseOperator(np.ones((3, 3)))
>>> Affinity(A, diagonal=np.ones(3), degrees=np.full(3, 2.0)).exact
True
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from lowrankgcn.operators.base import FloatArray, SymmetricOperator
from lowrankgcn.operators.gaussian import GaussianBlocks, GaussianRows

__all__ = ["Affinity", "ExactRows", "extrapolate", "random_test_rows", "sample_rows"]

LOWEST_DEGREES = 8


@final
@dataclass(frozen=True, eq=False)
class ExactRows:
    """Rows of the exact weights, on which errors of a fast sum are measured.

    Those of lowest degree, where errors weigh most, all count as they are; the others are a random
    sample that stands for the rest.
    """

    rows: GaussianRows
    certain: int  # so many come first that stand for themselves only

    @classmethod
    def sample(cls, blocks: GaussianBlocks, scale: FloatArray, random_state: int) -> ExactRows:
        """Choose rows for nodes normalised by `scale` = 1/√degree."""
        risky, drawn = sample_rows(scale, random_state)
        return cls(GaussianRows(blocks, np.concatenate([risky, drawn])), len(risky))

    @property
    def index(self) -> NDArray[np.intp]:
        """Which rows."""
        return self.rows.index

    def sum(self, squares: FloatArray) -> FloatArray:
        """Estimate of a sum over all nodes from its terms at these rows, shape (k,)."""
        return extrapolate(squares, self.certain, self.rows.blocks.n)


@final
@dataclass(frozen=True, eq=False)
class Affinity:
    """The weights W = A − diag(a) of a graph, with their row sums and their error.

    Attributes
    ----------
    operator : SymmetricOperator
        Products with A.
    diagonal : (n,) array
        The diagonal a of A.
    degrees : (n,) array
        Row sums d of W; zero for isolated nodes.
    error : float
        Measured ‖D^{-1/2}(W̃ − W)D^{-1/2} y‖ / ‖y‖ over smooth test vectors y, an estimate of how
        far eigenvalues of the normalised Laplacian may move; 0 when products are exact.
    method : str
        How the products are done.
    exact_rows : ExactRows or None
        Some rows of W, exactly, to measure errors on; None when `operator` is exact itself.
    row_sums : (n,) array or None
        Row sums d + a of A, where they are known more exactly than by that addition.
    """

    operator: SymmetricOperator
    diagonal: FloatArray
    degrees: FloatArray
    error: float = 0.0
    method: str = "exact"
    exact_rows: ExactRows | None = None
    row_sums: FloatArray | None = None

    @property
    def exact(self) -> bool:
        """Whether products are exact up to rounding."""
        return self.exact_rows is None


def sample_rows(scale: FloatArray, random_state: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Rows of the largest scale, and random others."""
    low = min(LOWEST_DEGREES, len(scale))
    risky = np.sort(np.argpartition(-scale, low - 1)[:low])
    return risky, np.setdiff1d(random_test_rows(len(scale), random_state), risky)


def random_test_rows(n: int, random_state: int) -> NDArray[np.intp]:
    """Random rows: enough to see an error, few enough to pay."""
    count = min(n, int(np.clip(1.6e5 / n, 8, 16)))
    return np.random.default_rng(random_state).choice(n, count, replace=False)


def extrapolate(squares: FloatArray, certain: int, n: int) -> FloatArray:
    """Sum over n rows of which the first `certain` are given and the others sampled, shape (k,)."""
    sampled = squares[certain:]
    others = (n - certain) / max(len(sampled), 1)
    total: FloatArray = squares[:certain].sum(axis=0) + others * sampled.sum(axis=0)
    return total
