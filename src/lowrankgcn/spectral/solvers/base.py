"""What eigensolvers hand on: eigenpairs outside the null space, with their evidence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from lowrankgcn.operators import FloatArray
from lowrankgcn.spectral.laplacian import Laplacian

__all__ = ["EXTRA", "SMALLEST", "Built", "DirectSolution", "Solution", "residual_norms"]

Built = tuple[NDArray[Any], FloatArray]

EXTRA = 5  # vectors carried beyond those wanted, for faster convergence
# Outside the null space every eigenvalue is positive; rounding must not make it zero or negative.
SMALLEST = float(np.finfo(np.float64).eps)


@final
@dataclass(frozen=True, eq=False)
class Solution:
    """Eigenpairs from one end of the spectrum without the null space, with the evidence."""

    values: FloatArray  # (k,), ascending
    vectors: NDArray[Any]  # (n, k), or (n, lead + k) with columns left for null vectors
    residuals: FloatArray  # (k,)
    products: int
    method: str


@final
@dataclass(frozen=True, eq=False)
class DirectSolution:
    """All eigenvalues outside the null space; eigenvectors are built on demand.

    Attributes
    ----------
    values : (p,) array
        Ascending.
    bulk_value, bulk_count : float, int
        One further eigenvalue whose eigenvectors are arbitrary and never built (1 for hypergraphs).
    build : callable
        ``build(index, lead, dtype)`` gives the chosen eigenvectors, behind `lead` columns left for
        null vectors, and their residuals.
    """

    values: FloatArray
    bulk_value: float
    bulk_count: int
    method: str
    build: Callable[[NDArray[np.intp], int, Any], tuple[NDArray[Any], FloatArray]]


def residual_norms(laplacian: Laplacian, values: FloatArray, vectors: FloatArray) -> FloatArray:
    """‖𝓛u − λu‖ of every pair, shape (k,)."""
    norms: FloatArray = np.linalg.norm(laplacian @ vectors - vectors * values, axis=0)
    return norms
