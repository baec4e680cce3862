"""What a low-rank kernel leaves out: ‖𝒦 − 𝒦̃‖_F² = Σ φ(λ)² over the discarded eigenvalues (Lemma 1).

>>> import numpy as np
>>> import lowrankgcn as lg
>>> cars = lg.datasets.load_cars(as_frame=True)
>>> L = lg.Laplacian(lg.Hypergraph.from_table(cars.data))
>>> error = lg.kernel(L, "linear", rank=1).truncation_error()
>>> bool(np.isclose(error.value, np.sqrt(15) / 6)), error.standard_error
(True, 0.0)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np
import scipy.linalg as la
from numpy.typing import NDArray

from lowrankgcn.eigensolvers import DenseEigh
from lowrankgcn.filters import Filter
from lowrankgcn.laplacian import Laplacian
from lowrankgcn.operators import FloatArray
from lowrankgcn.operators.fastsum import DENSE_LIMIT
from lowrankgcn.spectrum import Eigenpairs

__all__ = ["TruncationError", "truncation_error"]

_PROBES = 16
_STEPS = 24


@final
@dataclass(frozen=True)
class TruncationError:
    """A Frobenius norm, with the standard error of its estimate (0 when exact)."""

    value: float
    standard_error: float


def truncation_error(
    laplacian: Laplacian, phi: Filter, pairs: Eigenpairs, *, random_state: int = 0
) -> TruncationError:
    """Frobenius norm of the part of φ(𝓛) outside the span of the eigenpairs.

    Exact from all eigenvalues where they are known or cheap (n ≤ 2048); otherwise by stochastic
    Lanczos quadrature: E‖φ(𝓛)z‖² over random signs z, projected off the pairs, is the squared norm.
    The latter costs 16 × 24 products with the Laplacian.
    """
    null = laplacian.null_space
    zeros = int((pairs.eigenvalues == 0).sum())
    left_out_zeros = (null.dimension - zeros) * float(phi(np.zeros(1))[0]) ** 2
    if pairs.spectrum is not None or laplacian.n <= DENSE_LIMIT:
        if pairs.spectrum is not None:
            values, counts = pairs.spectrum.values, pairs.spectrum.counts
            values, counts = values[1:], counts[1:]  # the null space is listed first
        else:
            values = DenseEigh.decompose(laplacian).values
            counts = np.ones(len(values), np.int64)
        left = _without(values, counts, pairs.eigenvalues[zeros:])
        listed = left > 0
        discarded = float((left[listed] * phi(values[listed]) ** 2).sum())
        return TruncationError(math.sqrt(discarded + left_out_zeros), 0.0)
    generator = np.random.default_rng(random_state)
    squares = [
        _quadrature(laplacian, phi, pairs, generator.choice((-1.0, 1.0), size=laplacian.n))
        for _ in range(_PROBES)
    ]
    mean = float(np.mean(squares)) + left_out_zeros
    value = math.sqrt(mean)
    spread = float(np.std(squares, ddof=1)) / math.sqrt(_PROBES)
    return TruncationError(value, spread / (2 * value) if value > 0 else 0.0)


def _without(values: FloatArray, counts: NDArray[np.int64], kept: FloatArray) -> NDArray[np.int64]:
    """Multiplicities of `values` after every value kept has taken the nearest.

    The squares of the others are then added up; a difference of two sums would lose them beside a
    large response that is kept.
    """
    left = counts.copy()
    for value in kept:
        left[np.where(left > 0, np.abs(values - value), np.inf).argmin()] -= 1
    return left


def _quadrature(laplacian: Laplacian, phi: Filter, pairs: Eigenpairs, probe: FloatArray) -> float:
    """‖φ(𝓛)z‖² for the part z of the probe off the null space and the pairs, by Lanczos."""
    kept = pairs.eigenvectors[:, pairs.eigenvalues > 0].astype(np.float64, copy=False)

    def off(x: FloatArray) -> FloatArray:
        x = laplacian.null_space.project_out(x[:, None])[:, 0]
        return x - kept @ (kept.T @ x)

    start = off(probe)
    norm = float(np.linalg.norm(start))
    if norm <= 1e-12 * math.sqrt(laplacian.n):
        return 0.0
    basis = [start / norm]
    diagonal: list[float] = []
    beside: list[float] = []
    for _ in range(min(_STEPS, laplacian.n)):
        image = off(laplacian @ basis[-1])
        diagonal.append(float(basis[-1] @ image))
        for vector in basis:  # full reorthogonalisation; the basis is short
            image -= (vector @ image) * vector
        length = float(np.linalg.norm(image))
        if length <= 1e-12:
            break
        beside.append(length)
        basis.append(image / length)
    values, vectors = la.eigh_tridiagonal(diagonal, beside[: len(diagonal) - 1])
    # Ritz values lie between discarded eigenvalues; rounding may push them below zero.
    weights = vectors[0] ** 2
    return norm**2 * float((weights * phi(np.maximum(values, 1e-15)) ** 2).sum())
