"""The truncation error of a low-rank kernel, exactly or by stochastic Lanczos quadrature.

>>> import lowrankgcn as lg
>>> path = lg.AdjacencyGraph([[0, 1, 0], [1, 0, 1], [0, 1, 0]])  # eigenvalues 0, 1 and 2
>>> L, heat = lg.Laplacian(path), lg.filters.Heat(1.0)
>>> error = truncation_error(L, heat, lg.eigenpairs(L, 2), seed=0)
>>> round(error.value, 4)  # exp(-2)
0.1353
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import scipy.linalg as la

from lowrankgcn._parallel import single_threaded_blas_if_small
from lowrankgcn.operators import FloatArray
from lowrankgcn.operators.symmetric_operator import DENSE_LIMIT
from lowrankgcn.spectral.eigenpairs import Eigenpairs, WholeSpectrum, whole_spectrum
from lowrankgcn.spectral.filters import Filter
from lowrankgcn.spectral.laplacian import Laplacian
from lowrankgcn.spectral.solvers.direct import solve_dense
from lowrankgcn.spectral.solvers.solution import Request

_PROBES = 16  # a standard error of some per cent
_STEPS = 24  # Lanczos steps: the quadrature is exact for polynomials of degree 47


class TruncationError(NamedTuple):
    """A Frobenius norm, with the standard error of its estimate (0 when exact).

    See Also
    --------
    lowrankgcn.Kernel.truncation_error : Computes it.

    Examples
    --------
    >>> import lowrankgcn as lg
    >>> path = lg.AdjacencyGraph([[0, 1, 0], [1, 0, 1], [0, 1, 0]])  # eigenvalues 0, 1 and 2
    >>> error = lg.kernel(lg.Laplacian(path), lg.filters.Linear(), rank=2).truncation_error()
    >>> round(error.value, 6), error.standard_error
    (0.0, 0.0)
    """

    value: float
    standard_error: float


def truncation_error(
    laplacian: Laplacian, phi: Filter, pairs: Eigenpairs, seed: int
) -> TruncationError:
    """Return ‖φ(𝓛) − U φ(Λ) Uᵀ‖_F, see :meth:`lowrankgcn.Kernel.truncation_error`."""
    dimension, spectrum = laplacian.null_space.dimension, pairs.spectrum
    kept = pairs.eigenvalues[pairs.eigenvalues > 0]
    missing_zeros = dimension - (pairs.rank - len(kept))
    constant = missing_zeros * float(phi(np.zeros(1))[0]) ** 2
    with single_threaded_blas_if_small(laplacian.n):
        if spectrum is None and laplacian.n <= DENSE_LIMIT:
            solution = solve_dense(laplacian, Request(laplacian.tol))
            spectrum = whole_spectrum(solution, dimension)
        if spectrum is not None:
            return TruncationError(math.sqrt(constant + _left_out(spectrum, kept, phi)), 0.0)
        generator = np.random.default_rng(seed)
        # The estimate improves with n as well as with the number of probes.
        probes = _PROBES if laplacian.n <= 10**5 else 4
        squares = [
            _quadrature(laplacian, phi, pairs, generator.choice((-1.0, 1.0), laplacian.n))
            for _ in range(probes)
        ]
    value = math.sqrt(float(np.mean(squares)) + constant)
    spread = float(np.std(squares, ddof=1)) / math.sqrt(probes)
    return TruncationError(value, spread / (2 * value) if value > 0 else 0.0)


def _left_out(spectrum: WholeSpectrum, kept: FloatArray, phi: Filter) -> float:
    """Return the sum of φ(λ)² over the eigenvalues λ > 0 that are not kept.

    The nearest eigenvalue is removed for every one kept. A difference of two sums would lose small
    squares beside a large response that is kept.
    """
    values, left = spectrum.values[1:], spectrum.counts[1:].copy()  # without the null space
    for value in kept:
        left[np.where(left > 0, np.abs(values - value), np.inf).argmin()] -= 1
    listed = left > 0
    return float(left[listed] @ phi(values[listed]) ** 2)


def _quadrature(laplacian: Laplacian, phi: Filter, pairs: Eigenpairs, probe: FloatArray) -> float:
    """Estimate ‖φ(𝓛)z‖² for a probe z without null space and kept pairs.

    Lanczos iterations give a quadrature rule for z: the eigenvalues of a tridiagonal matrix.
    """
    kept = pairs.eigenvectors[:, pairs.eigenvalues > 0].astype(np.float64, copy=False)

    def project(x: FloatArray) -> FloatArray:
        # Twice: the pairs are orthogonal to the null space only up to their residual, and what
        # remains would grow from step to step.
        for _ in range(2):
            x = laplacian.null_space.project_out(x[:, None])[:, 0]
            x = x - kept @ (kept.T @ x)
        return x

    start = project(probe)
    norm = float(np.linalg.norm(start))
    if norm <= 1e-10 * math.sqrt(laplacian.n):
        return 0.0
    basis, diagonal, lengths = [start / norm], [], []
    while True:
        image = project(laplacian @ basis[-1])
        diagonal.append(float(basis[-1] @ image))
        for vector in basis:  # full reorthogonalisation; the basis is short
            image -= (vector @ image) * vector
        length = float(np.linalg.norm(image))
        if length <= 1e-10 or len(basis) == min(_STEPS, laplacian.n):
            break
        lengths.append(length)
        basis.append(image / length)
    nodes, vectors = la.eigh_tridiagonal(diagonal, lengths)
    weights = vectors[0] ** 2
    # Rounding leaves nodes of no weight where kept eigenvectors were, and φ may be huge there.
    listed = weights > 1e-14
    return norm**2 * float((weights[listed] * phi(np.maximum(nodes[listed], 0.0)) ** 2).sum())
