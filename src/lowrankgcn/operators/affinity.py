"""Affinities: products with the weights of a graph, and the measured error of these products.

A graph provides its adjacency W (zero diagonal) as W = A − diag(a) with an operator A that is cheap
to apply: the Gaussian kernel with its unit diagonal, H W_E D_E^{-1} Hᵀ of a hypergraph with its
loops (section A3.2), or W itself.

>>> import numpy as np
>>> from lowrankgcn.operators import MatrixOperator
>>> A = MatrixOperator(np.ones((3, 3)))
>>> Affinity(A, diagonal=np.ones(3), degrees=np.full(3, 2.0)).exact
True
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from lowrankgcn.operators.factors import FloatArray
from lowrankgcn.operators.gaussian_sums import GaussianBlocks
from lowrankgcn.operators.symmetric_operator import SymmetricOperator

_LOWEST_DEGREES = 8  # rows of lowest degree on which errors are always measured


@final
@dataclass(frozen=True, eq=False)
class ExactRows:
    """Selected rows of the weights of points, on which errors of fast sums are measured.

    Attributes
    ----------
    blocks : GaussianBlocks
        Exact products.
    index : (q,) int array
        Numbers of the rows.
    n_always : int
        Number of leading rows that represent only themselves: those of lowest degree, where errors
        weigh most. The others are a sample that represents all other rows.
    """

    blocks: GaussianBlocks
    index: NDArray[np.intp]
    n_always: int

    @classmethod
    def sample(cls, blocks: GaussianBlocks, scale: FloatArray, random_state: int) -> ExactRows:
        """Choose the rows of largest scale = 1/√degree, and 8 to 16 random ones.

        These are enough to detect an error, and few enough to evaluate exactly.
        """
        n = len(scale)
        n_always = min(_LOWEST_DEGREES, n)
        always = np.sort(np.argpartition(-scale, n_always - 1)[:n_always])
        count = min(n, int(np.clip(1.6e5 / n, 8, 16)))
        drawn = np.random.default_rng(random_state).choice(n, count, replace=False)
        return cls(blocks, np.concatenate([always, np.setdiff1d(drawn, always)]), n_always)

    def product(self, X: NDArray[Any], scale: FloatArray | None = None) -> FloatArray:
        """Compute W[index] diag(scale) X, shape (q, k)."""
        return self.blocks.row_products(self.index, X, scale)

    def estimate_total(self, terms: FloatArray) -> FloatArray:
        """Estimate a sum over all rows from its terms at these rows, shape (k,)."""
        always, sampled = np.split(terms, [self.n_always])
        others = (self.blocks.n - self.n_always) / max(len(sampled), 1)
        return np.asarray(always.sum(axis=0) + others * sampled.sum(axis=0))


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
        far eigenvalues of the normalised Laplacian may move; 0 for exact products.
    method : str
        Name of the summation method.
    exact_rows : ExactRows or None
        Some rows of W, to measure errors on; None if `operator` is exact.
    row_sums : (n,) array or None
        Row sums d + a of A, if they are known more accurately than by that addition.

    Examples
    --------
    >>> import lowrankgcn as lg
    >>> weights = lg.AdjacencyGraph([[0, 1, 0], [1, 0, 1], [0, 1, 0]]).affinity()
    >>> weights.degrees.tolist(), weights.exact
    ([1.0, 2.0, 1.0], True)
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
