"""Truncation errors: ‖𝒦 − 𝒦̃‖_F² = Σ φ(λ)² over the discarded eigenvalues (Lemma 1).

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

from lowrankgcn._parallel import chunks
from lowrankgcn.operators import FloatArray
from lowrankgcn.operators.fastsum import DENSE_LIMIT
from lowrankgcn.spectral.filters import Filter
from lowrankgcn.spectral.laplacian import Laplacian
from lowrankgcn.spectral.solvers.base import Request
from lowrankgcn.spectral.solvers.direct import solve_dense
from lowrankgcn.spectral.spectrum import Eigenpairs

_PROBES = 16  # a standard error of some per cent
_STEPS = 24  # Lanczos steps: the quadrature is exact for polynomials of degree 47
_BASIS_ENTRIES = 3 * 10**7  # 240 MB for the Lanczos vectors of the probes at work


@final
@dataclass(frozen=True)
class TruncationError:
    """A Frobenius norm, with the standard error of its estimate (0 when exact)."""

    value: float
    standard_error: float


def truncation_error(
    laplacian: Laplacian, phi: Filter, pairs: Eigenpairs, *, random_state: int = 0
) -> TruncationError:
    """Compute the Frobenius norm of the part of φ(𝓛) outside the span of the eigenpairs.

    Exact if all eigenvalues are known or cheap (n ≤ 2048); otherwise estimated by stochastic
    Lanczos quadrature: E‖φ(𝓛)z‖² over random signs z, projected off the pairs, is the squared norm.
    The latter costs 24 products with blocks of probes.
    """
    null = laplacian.null_space
    zeros = int((pairs.eigenvalues == 0).sum())
    left_out_zeros = (null.dimension - zeros) * float(phi(np.zeros(1))[0]) ** 2
    if pairs.spectrum is not None or laplacian.n <= DENSE_LIMIT:
        if pairs.spectrum is not None:
            values, counts = pairs.spectrum.values, pairs.spectrum.counts
            values, counts = values[1:], counts[1:]  # the null space is listed first
        else:
            values = solve_dense(laplacian, Request(laplacian.tol)).values
            counts = np.ones(len(values), np.int64)
        left = _without(values, counts, pairs.eigenvalues[zeros:])
        listed = left > 0
        discarded = float((left[listed] * phi(values[listed]) ** 2).sum())
        return TruncationError(math.sqrt(discarded + left_out_zeros), 0.0)
    generator = np.random.default_rng(random_state)
    # The estimate improves with n as well as with the number of probes.
    probes = _PROBES if laplacian.n <= 10**5 else 4
    at_once = max(1, min(probes, _BASIS_ENTRIES // (_STEPS * laplacian.n)))
    signs = [
        generator.choice((-1.0, 1.0), (laplacian.n, stop - start))
        for start, stop in chunks(probes, at_once)
    ]
    squares = np.concatenate([_quadrature(laplacian, phi, pairs, block) for block in signs])
    mean = float(np.mean(squares)) + left_out_zeros
    value = math.sqrt(mean)
    spread = float(np.std(squares, ddof=1)) / math.sqrt(probes)
    return TruncationError(value, spread / (2 * value) if value > 0 else 0.0)


def _without(values: FloatArray, counts: NDArray[np.int64], kept: FloatArray) -> NDArray[np.int64]:
    """Return the multiplicities of `values` after removing the nearest one for every value kept.

    Their squares are then added. A difference of two sums would lose them beside a large response
    that is kept.
    """
    left = counts.copy()
    for value in kept:
        left[np.where(left > 0, np.abs(values - value), np.inf).argmin()] -= 1
    return left


def _quadrature(
    laplacian: Laplacian, phi: Filter, pairs: Eigenpairs, probes: FloatArray
) -> FloatArray:
    """Estimate ‖φ(𝓛)z‖² for every probe z without null space and kept pairs, shape (count,).

    Lanczos iterations for all probes side by side; each gives a quadrature rule for its z.
    """
    kept = pairs.eigenvectors[:, pairs.eigenvalues > 0].astype(np.float64, copy=False)

    def project(X: FloatArray) -> FloatArray:
        # Twice: the pairs are orthogonal to the null space only up to their residual, and what
        # remains would grow from step to step.
        for _ in range(2):
            X = laplacian.null_space.project_out(X)
            X = X - kept @ (kept.T @ X)
        return X

    block = project(probes)
    norms = np.linalg.norm(block, axis=0)
    alive = norms > 1e-10 * math.sqrt(laplacian.n)
    if not alive.any():
        return np.zeros(len(norms))
    basis = [block / np.where(alive, norms, 1.0)]
    diagonal, off_diagonal = [], []
    for _ in range(min(_STEPS, laplacian.n)):
        image = project(laplacian @ basis[-1])
        diagonal.append(np.einsum("ij,ij->j", basis[-1], image))
        for vectors in basis:  # full reorthogonalisation; the basis is short
            image -= np.einsum("ij,ij->j", vectors, image) * vectors
        lengths = np.linalg.norm(image, axis=0)
        alive = alive & (lengths > 1e-10)
        off_diagonal.append(np.where(alive, lengths, 0.0))
        if not alive.any():
            break
        basis.append(np.where(alive, image / np.where(alive, lengths, 1.0), 0.0))
    return np.array(
        [
            norm**2 * _rule(phi, [d[j] for d in diagonal], [b[j] for b in off_diagonal])
            for j, norm in enumerate(norms)
        ]
    )


def _rule(phi: Filter, diagonal: list[float], off_diagonal: list[float]) -> float:
    """Compute Σ weights·φ(nodes)² of the quadrature rule of a tridiagonal matrix."""
    steps = next((j + 1 for j, length in enumerate(off_diagonal) if length == 0), len(diagonal))
    nodes, vectors = la.eigh_tridiagonal(diagonal[:steps], off_diagonal[: steps - 1])
    weights = vectors[0] ** 2
    # Rounding leaves nodes of no weight where kept eigenvectors were, and φ may be huge there.
    listed = weights > 1e-14
    return float((weights[listed] * phi(np.maximum(nodes[listed], 0.0)) ** 2).sum())
