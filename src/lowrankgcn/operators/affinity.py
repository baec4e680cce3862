"""Affinities: products with the weights of a graph, and the measured error of these products.

A graph provides its adjacency W (zero diagonal) as W = A − diag(a) with an operator A that is cheap
to apply: the Gaussian kernel with its unit diagonal, H W_E D_E^{-1} Hᵀ of a hypergraph with its
loops (section A3.2), or W itself.

>>> import numpy as np
>>> from lowrankgcn.operators import DenseOperator
>>> A = DenseOperator(np.ones((3, 3)))
>>> Affinity(A, diagonal=np.ones(3), degrees=np.full(3, 2.0)).exact
True
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from lowrankgcn.operators.base import FloatArray, SymmetricOperator
from lowrankgcn.operators.gaussian import ExactRows, GaussianBlocks, PointSource

__all__ = [
    "LOWEST_DEGREES",
    "Affinity",
    "SmoothVectors",
    "random_test_rows",
    "sample_exact_rows",
    "sample_rows",
    "sampled_error",
    "worst_diagonal_error",
]

LOWEST_DEGREES = 8  # rows of lowest degree on which errors are always measured


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


@final
@dataclass(frozen=True, eq=False)
class SmoothVectors:
    """Test vectors for fast sums: 1 and three cos(ωᵀu), smooth functions of the points u.

    Times √degree they resemble the leading eigenvectors. The product with 1 gives the degrees.
    """

    frequencies: FloatArray  # (d, 3)
    single: bool  # single precision is enough for test vectors, and six times faster

    @classmethod
    def draw(cls, cloud: PointSource, random_state: int) -> SmoothVectors:
        """Draw the frequencies."""
        generator = np.random.default_rng(random_state)
        frequencies = 2 * generator.normal(size=(cloud.dimension, 3)) / math.sqrt(cloud.dimension)
        return cls(frequencies, cloud.squared_radius < 1e6)

    def rows(self, coordinates: FloatArray) -> FloatArray:
        """Evaluate the vectors at some points, shape (q, 4)."""
        values = np.ones((len(coordinates), 4))
        phases = coordinates @ self.frequencies
        values[:, 1:] = np.cos(phases.astype(np.float32) if self.single else phases)
        return values


def sample_rows(scale: FloatArray, random_state: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the rows of largest scale, and random other rows."""
    low = min(LOWEST_DEGREES, len(scale))
    risky = np.sort(np.argpartition(-scale, low - 1)[:low])
    return risky, np.setdiff1d(random_test_rows(len(scale), random_state), risky)


def sample_exact_rows(blocks: GaussianBlocks, scale: FloatArray, random_state: int) -> ExactRows:
    """Choose rows on which errors are measured, for nodes normalised by `scale` = 1/√degree."""
    risky, drawn = sample_rows(scale, random_state)
    return ExactRows(blocks, np.concatenate([risky, drawn]), certain=len(risky))


def random_test_rows(n: int, random_state: int) -> NDArray[np.intp]:
    """Draw 8 to 16 rows: enough to detect an error, few enough to evaluate exactly."""
    count = min(n, int(np.clip(1.6e5 / n, 8, 16)))
    return np.random.default_rng(random_state).choice(n, count, replace=False)


def sampled_error(
    difference: FloatArray,
    exact: FloatArray,
    scale: FloatArray,
    norms: FloatArray,
    total: Callable[[FloatArray], FloatArray],
) -> float | None:
    """Estimate the largest ‖D^{-1/2}(W̃ − W)D^{-1/2} y‖ / ‖y‖ over test vectors y = √d∘t.

    Parameters
    ----------
    difference : (q, k) array
        (W̃ − W) t at the sampled rows.
    exact : (q, k) array
        W t; the first t is 1.
    scale : (q,) array
        1/√d of the rows, 0 if isolated.
    norms : (k,) array
        ‖y‖².
    total : callable
        Extrapolates a sum over the rows to all rows, shape (k,).

    Returns
    -------
    float or None
        The error; None if a degree is wrong by more than a tenth.
    """
    wrong = np.abs(difference[:, 0]) > 0.1 * exact[:, 0]
    if bool(wrong[scale > 0].any()):
        return None
    norms = np.where(norms == 0, 1.0, norms)  # a graph without edges has no error
    squares = (scale[:, None] * difference) ** 2 / norms
    return float(np.sqrt(total(squares)).max())


def worst_diagonal_error(rows: FloatArray, scale: FloatArray) -> float:
    """Return the largest diagonal entry of D^{-1/2}(K − F Fᵀ)D^{-1/2} for some rows.

    A small group of points far from every landmark is missing from F, and sampled rows rarely meet
    it. Its degrees are low, so the rows of lowest degree reveal it: the diagonal of K is one.

    Parameters
    ----------
    rows : (q, m) array
        Rows of F.
    scale : (q,) array
        1/√degree.
    """
    missing = 1.0 - np.einsum("ij,ij->i", rows, rows)
    return float((missing * scale**2).max(initial=0.0))
