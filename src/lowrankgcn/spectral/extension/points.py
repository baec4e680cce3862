"""Cross-affinities of points under a Gaussian kernel: through landmarks, or with all points.

>>> import numpy as np
>>> import lowrankgcn as lg
>>> from lowrankgcn.spectral.extension import cross_affinity
>>> points = np.random.default_rng(0).normal(size=(3000, 2))
>>> L = lg.Laplacian(lg.GaussianGraph(points, bandwidth=2.0), tol=1e-3)
>>> cross = cross_affinity(L)
>>> cross.kind, cross.rows(np.zeros((4, 2))).shape == (4, cross.n_columns)
('landmarks', True)
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import NDArray

from lowrankgcn._codec import saved
from lowrankgcn._parallel import chunks, map_chunks, single_threaded_blas, worthwhile_threads
from lowrankgcn._validation import expect_shape, finite_array, invalid, positive_float
from lowrankgcn.operators import FloatArray
from lowrankgcn.operators.gaussian import gaussian_kernel
from lowrankgcn.spectral.extension.base import (
    CrossAffinity,
    row_scale,
)

__all__ = ["LandmarkCross", "PointCross"]

_TILE_COLUMNS = 8192

# Chosen by measurement with tol = 1e-3, where the worst direct weights fail from about here on;
# the bound is more pessimistic with smaller tolerances and in more dimensions.
_UNTRUSTED = 300.0

# ‖u‖² + ‖v‖² − 2uᵀv loses eps·(‖u‖² + ‖v‖²) to cancellation: 2e-13 within this squared radius.
_GEMM_RADIUS_SQUARED = 500.0
_MANY_DIMENSIONS = 8  # from here on matrix products are faster than coordinate differences


@dataclass(frozen=True, eq=False, kw_only=True)
class _DenseCross(CrossAffinity):
    """Kernel rows, in blocks that always have the same number of rows.

    The last block is filled up: a BLAS takes other ways for other shapes, and a row's bits would
    depend on how many rows it comes with.
    """

    _block_rows: ClassVar[int]

    centre: FloatArray  # (d,)
    bandwidth: float

    def __post_init__(self) -> None:
        super().__post_init__()
        positive_float(self.bandwidth, "bandwidth")

    @abstractmethod
    def _block_product(self, U: FloatArray, Q: FloatArray | None) -> FloatArray:
        """a(x) for a full block of coordinates, times Q unless that is None."""

    def rows(self, X: Any) -> FloatArray:
        """The rows a(x), shape (q, m); zero where x has no affinity to any fitted node."""
        return self._in_blocks(X, None, self.n_columns)

    def _product(self, X: Any, Q: FloatArray) -> FloatArray:
        return self._in_blocks(X, Q, Q.shape[1])

    def _in_blocks(self, X: Any, Q: FloatArray | None, width: int) -> FloatArray:
        points = finite_array(X, "X", ndim=2)
        if points.shape[1] != len(self.centre):
            raise invalid("X", f"{len(self.centre)} columns", points.shape[1])
        result = np.empty((len(points), width))

        def block(start: int, stop: int) -> None:
            U = np.zeros((self._block_rows, points.shape[1]))
            with np.errstate(over="ignore"):
                U[: stop - start] = (points[start:stop] - self.centre) / self.bandwidth
            # Beyond 1e150 bandwidths squares overflow; there are no weights at any such distance.
            np.clip(U, -1e150, 1e150, out=U)
            result[start:stop] = self._block_product(U, Q)[: stop - start]

        work = len(points) * self.n_columns * (width if Q is not None else 1)
        with single_threaded_blas():
            map_chunks(block, len(points), self._block_rows, n_threads=worthwhile_threads(work))
        return result


@saved
@final
@dataclass(frozen=True, eq=False, kw_only=True)
class LandmarkCross(_DenseCross):
    """Points, joined to the fitted ones through m landmarks; its size does not depend on n.

    The kernel of the fitted points is F Fᵀ with F = K(X, P) R⁻ᵀ and K(P, P) = R Rᵀ
    (:mod:`lowrankgcn.operators.landmarks`). A new point has the row f(x) = K(x, P) R⁻ᵀ, weights
    F f(x), degree d(x) = f(x)ᵀ Fᵀ1; C = T F.

    The landmarks are fitted points, so that the degree is at least Σ_p K(x, p), which takes the
    place of d(x) where that falls short of it. Every weight is wrong by at most
    √(1 − ‖f(x)‖²) √(1 − ‖F_i‖²) (Cauchy–Schwarz for the positive semidefinite remainder of the
    kernel). Far from all points, where the sum of these bounds is more than 300 d(x), weights of
    any sign might result: there x gets the mixture Σ_p K(x, p) K(p, ·) of the landmarks' own
    weights, scaled to the degree of x.

    Notes
    -----
    O(q m (d + m)) time, O(m²) memory.

    Measured on three clouds each of 5000 normal points, against eigenvectors continued by exact
    weights: three standard deviations from the middle of the plane they differ by at most 3e-3
    (tol = 1e-3) or 2e-6 (tol = 1e-6), at five by at most 0.3 or 2e-3. Where the mixture takes over,
    it bounds the worst case rather than improving the typical one: relative differences of 0.5 to
    1, mostly because it is too small, with the right direction in two and three dimensions (cosine
    above 0.5) but hardly in ten (0.3). Direct weights are off by up to 8 with tol = 1e-3, also in
    sign; with tol = 1e-6 or in ten dimensions most of them are still right to a tenth there. Use
    another `method` where rows far outside of the fitted points matter.
    """

    kind = "landmarks"
    _block_rows = 64

    landmarks: FloatArray  # (m, d), in units of the bandwidth
    inverse_root: FloatArray  # R⁻¹, (m, m), lower triangular
    column_sums: FloatArray  # Fᵀ1, (m,)
    misfit: float  # Σ √(1 − ‖F_i‖²) over the fitted points

    def __post_init__(self) -> None:
        super().__post_init__()
        m, dimension = _not_empty(self.landmarks, "landmarks")
        expect_shape(self.centre, "centre", dimension)
        expect_shape(self.inverse_root, "inverse_root", m, m)
        expect_shape(self.column_sums, "column_sums", m)
        positive_float(self.misfit, "misfit", zero=True)
        if np.triu(self.inverse_root, 1).any() or self.inverse_root.diagonal().min() <= 0:
            raise invalid("inverse_root", "a lower triangle with diagonal > 0", "another matrix")

    @property
    def n_columns(self) -> int:
        """Number of landmarks."""
        return len(self.landmarks)

    def _block_product(self, U: FloatArray, Q: FloatArray | None) -> FloatArray:
        kernel = gaussian_kernel(U, self.landmarks)
        rows = kernel @ self.inverse_root.T
        sums = rows @ self.column_sums
        degrees = np.maximum(sums, kernel.sum(axis=1))
        rest = np.maximum(1.0 - (rows * rows).sum(axis=1), 0.0)
        far = np.sqrt(rest) * self.misfit > _UNTRUSTED * degrees
        divisor, root = row_scale(degrees, self.loop_weight)
        if far.any():
            mixture = kernel @ self._landmark_rows
            rows[far] = mixture[far]
            divisor[far] = row_scale((mixture @ self.column_sums)[far], 0.0)[0]
        rows /= divisor[:, None]
        rows *= root[:, None]
        product: FloatArray = rows if Q is None else rows @ Q
        return product

    @cached_property
    def _landmark_rows(self) -> FloatArray:
        """The rows f(p) of the landmarks, shape (m, m)."""
        rows: FloatArray = gaussian_kernel(self.landmarks, self.landmarks) @ self.inverse_root.T
        return rows


@saved
@final
@dataclass(frozen=True, eq=False, kw_only=True)
class PointCross(_DenseCross):
    """Points, joined to all fitted ones by exact weights w(x, i) = exp(−‖x − x_i‖²/bandwidth²).

    C = T is diagonal.

    Notes
    -----
    O(q n (d + c)) time; products hold some columns of the rows at a time and need O(q c) memory.
    Keeps all n points.
    """

    kind = "points"
    _block_rows = 16

    coordinates: FloatArray  # (n, d), in units of the bandwidth

    def __post_init__(self) -> None:
        super().__post_init__()
        _, dimension = _not_empty(self.coordinates, "coordinates")
        expect_shape(self.centre, "centre", dimension)

    @property
    def n_columns(self) -> int:
        """Number of fitted points."""
        return len(self.coordinates)

    def _block_product(self, U: FloatArray, Q: FloatArray | None) -> FloatArray:
        degrees = np.zeros(len(U))
        width = self.n_columns if Q is None else Q.shape[1]
        total = np.zeros((len(U), width))
        for left, right in chunks(self.n_columns, _TILE_COLUMNS):
            tile = self._tile(U, left, right)
            degrees += tile.sum(axis=1)
            if Q is None:
                total[:, left:right] = tile
            else:
                total += tile @ Q[left:right]
        divisor, root = row_scale(degrees, self.loop_weight)
        total /= divisor[:, None]
        total *= root[:, None]
        return total

    def _tile(self, U: FloatArray, left: int, right: int) -> FloatArray:
        """Weights of a block of rows to the points left…right−1."""
        fitted = self.coordinates[left:right]
        if U.shape[1] < _MANY_DIMENSIONS or self._squared_radius > _GEMM_RADIUS_SQUARED:
            return gaussian_kernel(U, fitted)
        tile = gaussian_kernel(U, fitted, cancel=True)
        far = np.flatnonzero(np.einsum("ij,ij->i", U, U) > _GEMM_RADIUS_SQUARED)
        if len(far):
            tile[far] = gaussian_kernel(U[far], fitted)
        return tile

    @cached_property
    def _squared_radius(self) -> float:
        squares: NDArray[np.float64] = np.einsum("ij,ij->i", self.coordinates, self.coordinates)
        return float(squares.max())


def _not_empty(matrix: FloatArray, name: str) -> tuple[int, int]:
    """The shape of a matrix that must have a row and a column."""
    expect_shape(matrix, name, None, None)
    if not matrix.size:
        raise invalid(name, "a row and a column", f"shape {matrix.shape}")
    return matrix.shape[0], matrix.shape[1]
