"""Cross-affinities of points under a Gaussian kernel, through landmarks, modes or all points.

>>> import numpy as np
>>> import lowrankgcn as lg
>>> from lowrankgcn.spectral.extension import cross_affinity
>>> points = np.random.default_rng(0).normal(size=(3000, 2))
>>> L = lg.Laplacian(lg.GaussianGraph(points, bandwidth=2.0), tol=1e-3)
>>> cross = cross_affinity(L)
>>> type(cross).__name__, cross.product(np.zeros((4, 2)), np.ones((cross.n_columns, 1))).shape
('LandmarkCross', (4, 1))
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, final

import numpy as np

from lowrankgcn._codec import saved
from lowrankgcn._parallel import (
    chunks,
    map_chunks,
    single_threaded_blas,
    single_threaded_blas_if_small,
    worthwhile_threads,
)
from lowrankgcn._validation import expect_shape, finite_array, invalid
from lowrankgcn.graphs.cross.base import CrossAffinity, node_scale, normalised
from lowrankgcn.operators import FloatArray, ScaledFactor
from lowrankgcn.operators.affinity import Affinity
from lowrankgcn.operators.fourier import FourierFactor, GaussianFourier
from lowrankgcn.operators.gaussian import GEMM_RADIUS_SQUARED, PointCloud, gaussian_kernel
from lowrankgcn.operators.landmarks import LandmarkFactor
from lowrankgcn.operators.modes import ModeGrid

_TILE_COLUMNS = 8192
_MISFIT_SAMPLE = 1000

# Chosen by measurement with tol = 1e-3, where the worst direct weights fail from about here on;
# the bound is more pessimistic with smaller tolerances and in more dimensions.
_UNTRUSTED = 300.0

_MARGIN = 1.0  # bandwidths around the fitted points where Fourier modes are accurate
_GUIDES = 512  # fitted points of lowest degree, and random ones, for points far away
_MIXTURE_ROWS = 256


@dataclass(frozen=True, eq=False, kw_only=True)
class GaussianCross(CrossAffinity):
    """Points joined to fitted points by Gaussian weights."""

    centre: Annotated[FloatArray, "D"]
    bandwidth: float

    @abstractmethod
    def _evaluate(self, U: FloatArray, Q: FloatArray) -> FloatArray:
        """Return a(x) Q for coordinates in units of the bandwidth."""

    def product(self, X: Any, Q: FloatArray) -> FloatArray:
        """Return a(x) Q for all rows x of X, shape (q, c)."""
        points = finite_array(X, "X", ndim=2)
        if points.shape[1] != len(self.centre):
            raise invalid("X", f"{len(self.centre)} columns", points.shape[1])
        with np.errstate(over="ignore"):
            U = (points - self.centre) / self.bandwidth
        # Squares overflow beyond 1e150 bandwidths; weights are zero at such distances.
        return self._evaluate(np.clip(U, -1e150, 1e150), Q)


@saved
@final
@dataclass(frozen=True, eq=False, kw_only=True)
class LandmarkCross(GaussianCross):
    """Points, joined to the fitted points through m landmarks; its size does not depend on n.

    The kernel of the fitted points is F Fᵀ with F = K(X, P) R⁻ᵀ and K(P, P) = R Rᵀ
    (:mod:`lowrankgcn.operators.landmarks`). A new point has the row f(x) = K(x, P) R⁻ᵀ, weights
    F f(x) and degree d(x) = f(x)ᵀ Fᵀ1; C = T F.

    The landmarks are fitted points, so the degree is at least Σ_p K(x, p), which replaces d(x) if
    that is smaller. The error of a weight is at most √(1 − ‖f(x)‖²) √(1 − ‖F_i‖²) (Cauchy–Schwarz
    for the positive semidefinite remainder of the kernel). Far from all points, where the sum of
    these bounds exceeds 300 d(x), weights could have any sign: there x gets the mixture
    Σ_p K(x, p) K(p, ·) of the weights of the landmarks, scaled to the degree of x.

    Notes
    -----
    O(q m (d + m)) time, O(m²) memory.

    Measured on three clouds each of 5000 normal points, against eigenvectors extended by exact
    weights: three standard deviations from the mean in the plane they differ by at most 3e-3
    (tol = 1e-3) or 2e-6 (tol = 1e-6), at five by at most 0.3 or 2e-3. Where the mixture replaces
    direct weights, it bounds the worst case rather than improving the typical one: relative
    differences of 0.5 to 1, mostly because it is too small, with the right direction in two and
    three dimensions (cosine above 0.5) but hardly in ten (0.3). Direct weights are off by up to 8
    with tol = 1e-3, also in sign; with tol = 1e-6 or in ten dimensions most of them are still right
    to a tenth there. Use another `method` if rows far outside of the fitted points matter.
    """

    landmarks: Annotated[FloatArray, "M D"]  # in units of the bandwidth
    inverse_root: Annotated[FloatArray, "M M"]  # R⁻¹, lower triangular
    column_sums: Annotated[FloatArray, "M"]  # Fᵀ1
    misfit: float  # Σ √(1 − ‖F_i‖²) over the fitted points

    @classmethod
    def from_factor(
        cls, cloud: PointCloud, factor: LandmarkFactor, degrees: FloatArray, loop_weight: float
    ) -> LandmarkCross:
        """Build the cross-affinity of a Gaussian graph that is summed through landmarks."""
        n = factor.shape[0]
        with single_threaded_blas_if_small(n):
            column_sums = factor.transpose_product(np.ones(n))
        return cls(
            loop_weight=loop_weight,
            columns=ScaledFactor(factor, node_scale(degrees)),
            centre=cloud.centre,
            bandwidth=cloud.bandwidth,
            landmarks=np.ascontiguousarray(factor.landmarks),
            inverse_root=np.ascontiguousarray(factor.inverse_root),
            column_sums=column_sums,
            misfit=_misfit(factor),
        )

    def __post_init__(self) -> None:
        if np.triu(self.inverse_root, 1).any() or self.inverse_root.diagonal().min() <= 0:
            raise invalid("inverse_root", "a lower triangle with diagonal > 0", "another matrix")

    @property
    def n_columns(self) -> int:
        """Number of landmarks."""
        return len(self.landmarks)

    def _evaluate(self, U: FloatArray, Q: FloatArray) -> FloatArray:
        return _in_blocks(self._block, 64, U, Q)

    def _block(self, U: FloatArray, Q: FloatArray) -> FloatArray:
        kernel = gaussian_kernel(U, self.landmarks)
        rows = kernel @ self.inverse_root.T
        degrees = np.maximum(rows @ self.column_sums, kernel.sum(axis=1))
        rest = np.maximum(1.0 - (rows * rows).sum(axis=1), 0.0)
        far = np.sqrt(rest) * self.misfit > _UNTRUSTED * degrees
        if far.any():
            mixture = kernel[far] @ self._landmark_rows
            total = mixture @ self.column_sums
            rows[far] = mixture * (degrees[far] / np.where(total > 0, total, 1.0))[:, None]
        return normalised(rows, degrees, self.loop_weight) @ Q

    @cached_property
    def _landmark_rows(self) -> FloatArray:
        """The rows f(p) of the landmarks, shape (m, m)."""
        return np.asarray(gaussian_kernel(self.landmarks, self.landmarks) @ self.inverse_root.T)


@saved
@final
@dataclass(frozen=True, eq=False, kw_only=True)
class PointCross(GaussianCross):
    """Points, joined to all fitted points by exact weights w(x, i) = exp(−‖x − x_i‖²/bandwidth²).

    C = T is diagonal.

    Notes
    -----
    O(q n (d + c)) time and O(q c) memory for products; stores all n points.
    """

    coordinates: Annotated[FloatArray, "N D"]  # in units of the bandwidth

    @property
    def n_columns(self) -> int:
        """Number of fitted points."""
        return len(self.coordinates)

    def _evaluate(self, U: FloatArray, Q: FloatArray) -> FloatArray:
        return _in_blocks(self._block, 64, U, Q)

    def _block(self, U: FloatArray, Q: FloatArray) -> FloatArray:
        radius = max(self._squared_radius, float(np.einsum("ij,ij->i", U, U).max()))
        cancel = radius <= GEMM_RADIUS_SQUARED[np.float64]
        degrees = np.zeros(len(U))
        total = np.zeros((len(U), Q.shape[1]))
        for left, right in chunks(self.n_columns, _TILE_COLUMNS):
            tile = gaussian_kernel(U, self.coordinates[left:right], cancel=cancel)
            degrees += tile.sum(axis=1)
            total += tile @ Q[left:right]
        return normalised(total, degrees, self.loop_weight)

    @cached_property
    def _squared_radius(self) -> float:
        return float(np.einsum("ij,ij->i", self.coordinates, self.coordinates).max())


@saved
@final
@dataclass(frozen=True, eq=False, kw_only=True)
class FourierCross(GaussianCross):
    """Points, joined to the fitted points by N Fourier modes; its size does not depend on n.

    The kernel of the fitted points is F Fᵀ with F_ik = √c_k cas(ω_k·u_i)
    (:mod:`lowrankgcn.operators.modes`). A new point has the row f(x) = √c ∘ cas(ω·x), weights
    F f(x) and degree d(x) = f(x)ᵀFᵀ1; C = T F. The modes are accurate in the bounding box of the
    fitted points with a margin of one bandwidth.

    The error of the weights is absolute. Outside of the box, and where d(x) is less than half of
    the lowest degree of a fitted point, weights could have any sign: there x gets the mixture
    Σ_p K(x, p) w(p, ·) of the weights of some fitted points p (the guides), half of them those of
    lowest degree, scaled to the degree Σ_p K(x, p).

    Notes
    -----
    A product with q rows and c columns is c/2 transforms: O(c (q log(1/ε)^d + N log N)) time,
    O(N c) memory.

    Measured on 5000 normal points in three dimensions with bandwidth 1.2, tol = 1e-4, against
    eigenvectors extended by exact weights: relative differences are below 1e-4 up to four standard
    deviations from the mean. From five on, where the mixture is used, they are 0.5 to 0.8, mostly
    because it is too small; the direction is right (cosine above 0.6).
    """

    grid: ModeGrid
    sums: FloatArray  # Fᵀ1, (N,)
    guides: Annotated[FloatArray, "S D"]  # fitted points in units of the bandwidth
    least_degree: float

    def __post_init__(self) -> None:
        if len(self.centre) != len(self.grid.half) or len(self.centre) > 3:
            raise invalid("grid", "a grid for one to three dimensions", len(self.grid.half))
        expect_shape(self.sums, "sums", self.grid.size)

    @classmethod
    def from_sum(
        cls, cloud: PointCloud, affinity: Affinity, degrees: FloatArray, loop_weight: float
    ) -> FourierCross:
        """Build the cross-affinity of a Gaussian graph that is summed by Fourier modes."""
        assert isinstance(affinity.operator, GaussianFourier)
        low, high = cloud.corners
        grid = ModeGrid.for_box(low - _MARGIN, high + _MARGIN, affinity.operator.grid.eps)
        n = len(cloud.coordinates)
        joined = np.flatnonzero(affinity.degrees > 0)
        lowest = joined
        if len(joined) > _GUIDES:
            lowest = joined[np.argpartition(affinity.degrees[joined], _GUIDES)[:_GUIDES]]
        least = float(affinity.degrees[lowest].min()) if len(lowest) else 0.0
        drawn = np.random.default_rng(0).choice(n, min(_GUIDES, n), replace=False)
        return cls(
            loop_weight=loop_weight,
            columns=FourierFactor(grid, cloud.coordinates, node_scale(degrees)),
            centre=cloud.centre,
            bandwidth=cloud.bandwidth,
            grid=grid,
            sums=FourierFactor(grid, cloud.coordinates).transpose_product(np.ones(n)),
            guides=np.ascontiguousarray(cloud.coordinates[np.union1d(lowest, drawn)]),
            least_degree=(1.0 + least) / 2,
        )

    @property
    def n_columns(self) -> int:
        """Number of modes."""
        return self.grid.size

    def _evaluate(self, U: FloatArray, Q: FloatArray) -> FloatArray:
        reach = math.sqrt(math.log(1 / self.grid.eps))
        inside = (np.abs(U - self.grid.middle) <= (self.grid.period - reach) / 2).all(axis=1)
        degrees = np.zeros(len(U))
        degrees[inside] = FourierFactor(self.grid, U[inside]) @ self.sums
        near = degrees >= self.least_degree
        result = np.empty((len(U), Q.shape[1]))
        product = FourierFactor(self.grid, U[near]) @ Q
        result[near] = normalised(product, degrees[near], self.loop_weight)
        if not near.all():
            guides = FourierFactor(self.grid, self.guides) @ Q
            result[~near] = _in_blocks(self._mixture, _MIXTURE_ROWS, U[~near], guides)
        return result

    @cached_property
    def _guide_degrees(self) -> FloatArray:
        return FourierFactor(self.grid, self.guides) @ self.sums

    def _mixture(self, U: FloatArray, guides: FloatArray) -> FloatArray:
        """Return mixtures of the rows of the guides for points far away."""
        kernel = gaussian_kernel(U, self.guides)
        degrees = kernel.sum(axis=1)
        root = np.where(degrees > 0, np.sqrt(degrees + self.loop_weight), 0.0)
        kernel /= np.maximum(kernel.max(axis=1, keepdims=True), 1e-320)
        divisor = np.where(root > 0, kernel @ self._guide_degrees, 1.0)
        return np.asarray(kernel @ guides * (root / divisor)[:, None])


def _in_blocks(
    block: Callable[[FloatArray, FloatArray], FloatArray], size: int, U: FloatArray, Q: FloatArray
) -> FloatArray:
    """Evaluate `block(U, Q)` for `size` rows at a time."""
    result = np.empty((len(U), Q.shape[1]))

    def evaluate(start: int, stop: int) -> None:
        result[start:stop] = block(U[start:stop], Q)

    with single_threaded_blas():
        map_chunks(evaluate, len(U), size, n_threads=worthwhile_threads(len(U) * Q.size))
    return result


def _misfit(factor: LandmarkFactor) -> float:
    """Estimate the sum of √(1 − ‖F_i‖²) over all points from a sample of rows of F."""
    n = factor.shape[0]
    index = np.arange(n)
    if n > _MISFIT_SAMPLE:
        index = np.sort(np.random.default_rng(0).choice(n, _MISFIT_SAMPLE, replace=False))
    rows = factor.take(index)
    rest = np.maximum(1.0 - np.einsum("ij,ij->i", rows, rows), 0.0)
    return n * float(np.sqrt(rest).mean())
