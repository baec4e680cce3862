"""The paper's implementations, which the library is compared with.

Nothing here imports the library.
"""

from __future__ import annotations

import math

import finufft
import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spla
from scipy.spatial.distance import cdist

__all__ = ["dense_arpack", "fourier_arpack", "sparse_svds", "spiral", "table_codes"]

# Distinct values of the 21 complete columns of the mushrooms table: 112 hyperedges.
MUSHROOM_VALUES = (6, 4, 10, 2, 9, 2, 2, 2, 12, 2, 4, 4, 9, 9, 1, 4, 3, 5, 9, 6, 7)


def spiral(n: int, seed: int = 0) -> np.ndarray:
    """Five overlapping orbs in three dimensions (appendix A4.4), n points."""
    rng = np.random.default_rng(seed)
    angle = 2 * np.pi * np.arange(5) / 5
    centres = np.stack([2 * np.cos(angle), 2 * np.sin(angle), 2.5 * np.arange(5)], axis=1)
    return centres[np.arange(n) * 5 // n] + rng.standard_normal((n, 3))


def table_codes(n: int, seed: int = 0) -> list[np.ndarray]:
    """Category codes of 21 columns with 112 values, dependent through five hidden classes."""
    rng = np.random.default_rng(seed)
    hidden = rng.integers(0, 5, n)
    columns = []
    for values in MUSHROOM_VALUES:
        thresholds = rng.dirichlet(np.full(values, 0.7), size=5).cumsum(axis=1)
        drawn = rng.random(n)
        codes = np.zeros(n, np.uint8)
        for value in range(values - 1):
            codes += drawn > thresholds[hidden, value]
        columns.append(codes)
    return columns


def dense_arpack(points: np.ndarray, bandwidth: float, k: int, tol: float = 0.0) -> np.ndarray:
    """The k smallest eigenvalues from the full matrix (appendix A4.2, 'without structure').

    ARPACK runs with its default tolerance, as in the paper.
    """
    weights = cdist(points, points, "sqeuclidean")
    weights /= -(bandwidth**2)
    np.exp(weights, out=weights)
    np.fill_diagonal(weights, 0.0)
    scale = weights.sum(axis=1) ** -0.5
    weights *= scale
    weights *= scale[:, None]
    start = np.random.default_rng(0).normal(size=len(points))
    values, _ = spla.eigsh(weights, k, which="LA", tol=tol, v0=start)
    return np.sort(1 - values)


def fourier_arpack(
    points: np.ndarray, bandwidth: float, k: int, eps: float = 1e-3, tol: float = 1e-3
) -> np.ndarray:
    """The k smallest eigenvalues with fast sums by FINUFFT (appendix A4.2, 'Gaussian kernel')."""
    n = len(points)
    low, high = points.min(axis=0), points.max(axis=0)
    reach = math.sqrt(math.log(1 / eps))
    period = high - low + bandwidth * reach
    half = np.ceil(period / (math.pi * bandwidth) * reach).astype(int)
    lines = [
        bandwidth
        * math.sqrt(math.pi)
        / P
        * np.exp(-((math.pi * bandwidth * np.arange(-M, M + 1) / P) ** 2))
        for P, M in zip(period, half, strict=True)
    ]
    transform = np.einsum("i,j,k->ijk", *lines)
    angles = [
        np.ascontiguousarray((points[:, j] - (low[j] + high[j]) / 2) * (2 * math.pi / period[j]))
        for j in range(3)
    ]
    modes = tuple(int(2 * M + 1) for M in half)
    forward = finufft.Plan(1, modes, eps=eps, isign=-1)
    backward = finufft.Plan(2, modes, eps=eps, isign=1)
    forward.setpts(*angles)
    backward.setpts(*angles)

    def multiply(x: np.ndarray) -> np.ndarray:
        return backward.execute(transform * forward.execute(x.astype(complex))).real - x

    scale = multiply(np.ones(n)) ** -0.5
    operator = spla.LinearOperator(
        (n, n), matvec=lambda x: scale * multiply(scale * x.ravel()), dtype=float
    )
    start = np.random.default_rng(0).normal(size=n)
    values, _ = spla.eigsh(operator, k, which="LA", tol=tol, v0=start)
    return np.sort(1 - values)


def sparse_svds(columns: list[np.ndarray], k: int) -> np.ndarray:
    """The k smallest eigenvalues from SciPy's svds of the sparse incidence (appendix A4.2)."""
    n = len(columns[0])
    offsets = np.concatenate([[0], np.cumsum(MUSHROOM_VALUES)[:-1]])
    indices = np.stack([codes + offset for codes, offset in zip(columns, offsets, strict=True)], 1)
    rows = np.arange(0, n * len(columns) + 1, len(columns))
    incidence = sp.csr_array(
        (np.ones(indices.size), indices.ravel(), rows), shape=(n, sum(MUSHROOM_VALUES))
    )
    sizes = np.maximum(incidence.sum(axis=0), 1)
    normalised = incidence @ sp.diags_array(sizes**-0.5) / math.sqrt(len(columns))
    start = np.random.default_rng(0).normal(size=min(normalised.shape))
    _, singular, _ = spla.svds(normalised, k, v0=start)
    return np.sort(1 - singular**2)
