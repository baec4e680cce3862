"""How wrong a fast sum is: test vectors, and errors from some rows that are evaluated exactly.

>>> import numpy as np
>>> from lowrankgcn.operators.gaussian import PointCloud
>>> cloud = PointCloud.from_points(np.array([[0.0], [1.0]]), bandwidth=1.0)
>>> SmoothVectors.draw(cloud, random_state=0).rows(cloud.coordinates).shape
(2, 4)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import numpy as np

from lowrankgcn.operators.base import FloatArray
from lowrankgcn.operators.gaussian import PointSource

__all__ = ["SmoothVectors", "sampled_error", "worst_diagonal_error"]

_WORST_DEGREE_ERROR = 0.1


@final
@dataclass(frozen=True, eq=False)
class SmoothVectors:
    """Test vectors for fast sums: 1 and three cos(ωᵀu), which times √degree are smooth functions.

    The kernel's leading eigenvectors are such functions of the points. The product with 1 gives the
    degrees.
    """

    frequencies: FloatArray  # (d, 3)
    single: bool  # any smooth vectors will do, and in single precision they cost a sixth

    @classmethod
    def draw(cls, cloud: PointSource, random_state: int) -> SmoothVectors:
        """Draw the frequencies."""
        generator = np.random.default_rng(random_state)
        frequencies = 2 * generator.normal(size=(cloud.dimension, 3)) / math.sqrt(cloud.dimension)
        return cls(frequencies, cloud.squared_radius < 1e6)

    def rows(self, coordinates: FloatArray) -> FloatArray:
        """Values at some points, shape (q, 4)."""
        values = np.ones((len(coordinates), 4))
        phases = coordinates @ self.frequencies
        values[:, 1:] = np.cos(phases.astype(np.float32) if self.single else phases)
        return values


def sampled_error(
    difference: FloatArray,
    exact: FloatArray,
    scale: FloatArray,
    norms: FloatArray,
    total: Callable[[FloatArray], FloatArray],
) -> float | None:
    """‖D^{-1/2}(W̃ − W)D^{-1/2} y‖ / ‖y‖, the largest over test vectors y = √d∘t, from some rows.

    None if a degree is wrong by more than a tenth.

    Parameters
    ----------
    difference : (q, k) array
        (W̃ − W) t at the rows.
    exact : (q, k) array
        W t; the first t is 1.
    scale : (q,) array
        1/√d of the rows, 0 if isolated.
    norms : (k,) array
        ‖y‖².
    total : callable
        Extrapolates a sum over the rows to all, shape (k,).
    """
    wrong = np.abs(difference[:, 0]) > _WORST_DEGREE_ERROR * exact[:, 0]
    if bool(wrong[scale > 0].any()):
        return None
    norms = np.where(norms == 0, 1.0, norms)  # no edge at all, and nothing wrong with that
    squares = (scale[:, None] * difference) ** 2 / norms
    return float(np.sqrt(total(squares)).max())


def worst_diagonal_error(rows: FloatArray, scale: FloatArray) -> float:
    """Largest diagonal entry of D^{-1/2}(K − F Fᵀ)D^{-1/2} among the points of lowest degree.

    A group of points far from every landmark is missing from F altogether. If it is small, sampled
    rows do not meet it; but its degrees are low, and the diagonal of K is known to be one.

    Parameters
    ----------
    rows : (q, m) array
        Their rows of F.
    scale : (q,) array
        1/√degree.
    """
    missing = 1.0 - np.einsum("ij,ij->i", rows, rows)
    return float((missing * scale**2).max(initial=0.0))
