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

from lowrankgcn.operators import FloatArray
from lowrankgcn.operators.symmetric_operator import DENSE_LIMIT
from lowrankgcn.spectral.eigenpairs import whole_spectrum
from lowrankgcn.spectral.filters import Filter
from lowrankgcn.spectral.laplacian import Laplacian
from lowrankgcn.spectral.solvers.direct import solve_dense
from lowrankgcn.spectral.solvers.solution import Request
from lowrankgcn.spectral.spectrum import Eigenpairs

_PROBES = 16  # a standard error of some per cent
_STEPS = 24  # Lanczos steps: the quadrature is exact for polynomials of degree 47


@final
@dataclass(frozen=True)
class TruncationError:
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
    laplacian: Laplacian, phi: Filter, pairs: Eigenpairs, *, random_state: int = 0
) -> TruncationError:
    """Compute the Frobenius norm of the part of φ(𝓛) outside the span of the eigenpairs.

    Exact if all eigenvalues are known or cheap (n ≤ 2048); otherwise estimated by stochastic
    Lanczos quadrature: E‖φ(𝓛)z‖² over random signs z, projected off the pairs, is the squared norm.
    The latter costs 24 products for each of 16 probes (4 for more than 100 000 nodes).
    """
    null = laplacian.null_space
    zeros = int((pairs.eigenvalues == 0).sum())
    left_out_zeros = (null.dimension - zeros) * float(phi(np.zeros(1))[0]) ** 2
    spectrum = pairs.spectrum
    if spectrum is None and laplacian.n <= DENSE_LIMIT:
        spectrum = whole_spectrum(solve_dense(laplacian, Request(laplacian.tol)), null.dimension)
    if spectrum is not None:
        values, counts = spectrum.values[1:], spectrum.counts[1:]  # the null space is listed first
        left = _without(values, counts, pairs.eigenvalues[zeros:])
        listed = left > 0
        discarded = float((left[listed] * phi(values[listed]) ** 2).sum())
        return TruncationError(math.sqrt(discarded + left_out_zeros), 0.0)
    generator = np.random.default_rng(random_state)
    # The estimate improves with n as well as with the number of probes.
    probes = _PROBES if laplacian.n <= 10**5 else 4
    squares = [
        _quadrature(laplacian, phi, pairs, generator.choice((-1.0, 1.0), laplacian.n))
        for _ in range(probes)
    ]
    value = math.sqrt(float(np.mean(squares)) + left_out_zeros)
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
