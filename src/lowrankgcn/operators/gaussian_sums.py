"""The Gaussian kernel of a point cloud, K_ij = exp(−‖x_i − x_j‖² / bandwidth²), in products.

``PointCloud`` holds the coordinates in units of the bandwidth, so that every kernel below is
exp(−‖u_i − u_j‖²). ``GaussianBlocks`` multiplies with the adjacency W = K − I tile by tile; fast
sums are compared with it. ``GaussianFourier`` uses the non-equispaced fast Fourier transform (Alfke
et al. 2018) of FINUFFT: on a large enough box exp(−‖u‖²) equals its Fourier series with
coefficients given by the Gaussian's transform, so K x is a type-1 transform of x, a scaling, and a
type-2 transform.

>>> import numpy as np
>>> cloud = PointCloud.from_points(np.array([[0.0], [1.0], [3.0]]), bandwidth=2.0)
>>> GaussianBlocks(cloud).to_dense().round(4)
array([[0.    , 0.7788, 0.1054],
       [0.7788, 0.    , 0.3679],
       [0.1054, 0.3679, 0.    ]])
>>> fast = GaussianFourier.from_cloud(cloud, eps=1e-8) @ np.ones(3) - 1
>>> bool(np.abs(fast - GaussianBlocks(cloud) @ np.ones(3)).max() < 1e-6)
True
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import reduce
from typing import Any, final

import finufft
import numpy as np
import scipy  # loads its parts when they are used
from numpy.typing import DTypeLike, NDArray

from lowrankgcn._parallel import map_chunks, worthwhile_threads
from lowrankgcn.operators.factors import FloatArray, scale_rows, sum_over_rows
from lowrankgcn.operators.symmetric_operator import SymmetricOperator

# exp(-x) is zero in double precision beyond x = 745.14: no edge at a greater scaled distance.
EDGE_RADIUS = float(np.sqrt(745.13))

# ‖u‖² + ‖v‖² − 2uᵀv loses eps·(‖u‖² + ‖v‖²) to cancellation: within these squared radii 6e-6 in
# float32 and 2e-13 in float64. Farther points need coordinate differences.
GEMM_RADIUS_SQUARED: dict[Any, float] = {np.float32: 50.0, np.float64: 500.0}

# Kernel values in float32 are accurate to about 1e-5: enough for tolerances from here on.
SINGLE_PRECISION_TOL = 1e-4

# A tile of the kernel stays in the cache.
_TILE_ROWS = 512
_TILE_ENTRIES = 2**18

# Measured with FINUFFT 2: plans of fewer points, or more plans, cost more than they save.
_SPANS = 8
_FEW_POINTS = 2**14
_SINGLE_MODES = 1e5  # modes per dimension, times eps, up to which single precision suffices


@final
@dataclass(frozen=True, eq=False)
class PointCloud:
    """Points in units of the bandwidth, shifted towards the origin.

    Attributes
    ----------
    coordinates : (n, d) array
        (points − centre) / bandwidth.
    squared_radius : float
        Largest squared norm of a coordinate row.
    centre, bandwidth
        Convert further points to the same units.
    """

    coordinates: FloatArray
    squared_radius: float
    centre: FloatArray
    bandwidth: float

    @classmethod
    def from_points(cls, points: FloatArray, bandwidth: float) -> PointCloud:
        """Shift the points and divide them by the bandwidth."""
        low, high = _corners(points)
        half = float((high / 2 - low / 2).max())
        # Distinct points differ by more than 1e-16 of the extent, so every bandwidth below 1e-140
        # of it gives the same kernel (0 or 1). The bound keeps squares within double precision.
        effective = max(bandwidth, half * 1e-140)
        # The middle of the box keeps coordinates small. In a box wider than 2000 bandwidths it
        # would cost points near the origin their last digits; the least shift into the box costs
        # none.
        wide = half / effective > 1000
        centre = np.clip(0.0, low, high) if wide else low / 2 + high / 2
        coordinates = (points - centre) / effective
        radius = float(np.einsum("ij,ij->i", coordinates, coordinates).max())
        return cls(coordinates, radius, centre, effective)

    @property
    def n(self) -> int:
        """Number of points."""
        return len(self.coordinates)

    @property
    def dimension(self) -> int:
        """Number of coordinates of a point."""
        return int(self.coordinates.shape[1])

    @property
    def extent(self) -> FloatArray:
        """Side lengths of the bounding box in bandwidths, shape (d,)."""
        low, high = self.corners
        return high - low

    @property
    def corners(self) -> tuple[FloatArray, FloatArray]:
        """Lowest and highest corner of the bounding box, shape (d,) each."""
        return _corners(self.coordinates)


def _corners(points: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the smallest and largest entry of every column."""
    # NumPy reduces the first axis row by row, which is six times slower for short rows.
    low = np.array([column.min() for column in points.T])
    return low, np.array([column.max() for column in points.T])


def gaussian_kernel(
    X: FloatArray, Y: FloatArray, *, dtype: DTypeLike = np.float64, cancel: bool = False
) -> NDArray[Any]:
    """Evaluate exp(−‖x − y‖²) for all rows x of X and y of Y, shape (len(X), len(Y)).

    With `cancel` the distances come from one matrix product over augmented coordinates, which is
    accurate within `GEMM_RADIUS_SQUARED`; otherwise from coordinate differences.
    """
    if cancel:
        left: NDArray[Any] = np.empty((len(X), X.shape[1] + 2), dtype)
        left[:, :-2], left[:, -2], left[:, -1] = X, -np.einsum("ij,ij->i", X, X), 1
        right: NDArray[Any] = np.empty((X.shape[1] + 2, len(Y)), dtype)
        right[:-2], right[-2], right[-1] = 2 * Y.T, 1, -np.einsum("ij,ij->i", Y, Y)
        exponent: NDArray[Any] = left @ right
    else:
        exponent = np.negative(scipy.spatial.distance.cdist(X, Y, "sqeuclidean")).astype(
            dtype, copy=False
        )
    # The weights of far points underflow to zero.
    with np.errstate(under="ignore"):
        np.exp(exponent, out=exponent)
    return exponent


@final
@dataclass(frozen=True, eq=False)
class GaussianBlocks(SymmetricOperator):
    """Exact products with W = K − I in tiles: O(n² (d + k)) time, O(n k) memory.

    The diagonal is left out rather than subtracted, because the weights of a far point are smaller
    than the rounding of a unit diagonal. With `single` the weights are float32: four times faster
    and accurate to about 1e-5, enough to measure errors above 1e-4.
    """

    cloud: PointCloud
    single: bool = False

    @property
    def n(self) -> int:
        """Number of points."""
        return self.cloud.n

    def _apply(self, X: FloatArray) -> FloatArray:
        product = np.empty((self.n, X.shape[1]))

        def strip(start: int, stop: int) -> None:
            product[start:stop] = self.row_products(np.arange(start, stop), X)

        map_chunks(strip, self.n, _TILE_ROWS)
        return product

    def row_products(
        self, index: NDArray[np.intp], X: NDArray[Any], scale: FloatArray | None = None
    ) -> FloatArray:
        """Compute W[index] diag(scale) X, shape (len(index), k), without a scaled copy of X."""

        def term(left: int, right: int) -> NDArray[Any]:
            tile = self.tile(index, left, right)
            rows = scale_rows(X[left:right], None if scale is None else scale[left:right])
            return np.asarray(tile @ rows.astype(tile.dtype, copy=False))

        columns = max(_TILE_ENTRIES // max(len(index), 1), _TILE_ROWS)
        threads = worthwhile_threads(len(index) * self.n)
        return sum_over_rows(term, self.n, columns, n_threads=threads)

    _apply_rows = row_products

    def to_dense(self) -> FloatArray:
        """Return W as an n×n array, exactly symmetric, for small n."""
        tile = self.tile(np.arange(self.n), 0, self.n)
        return (tile + tile.T) / 2

    def tile(self, index: NDArray[np.intp], left: int, right: int) -> FloatArray:
        """Return W[index, left:right]."""
        coordinates, radius = self.cloud.coordinates, self.cloud.squared_radius
        single = self.single and radius <= GEMM_RADIUS_SQUARED[np.float32]
        tile = gaussian_kernel(
            coordinates[index],
            coordinates[left:right],
            dtype=np.float32 if single else np.float64,
            cancel=radius <= GEMM_RADIUS_SQUARED[np.float64],
        )
        on_diagonal = np.flatnonzero((index >= left) & (index < right))
        tile[on_diagonal, index[on_diagonal] - left] = 0.0
        return tile

    def diagonal(self) -> FloatArray:
        """Return the diagonal, shape (n,): all zeros."""
        return np.zeros(self.n)


def fourier_modes(extent: FloatArray, eps: float) -> tuple[FloatArray, FloatArray]:
    """Return period P and half-width M per dimension, for a kernel error of order `eps`.

    P = extent + √ln(1/ε) keeps the periodic images below ε. The modes −M…M with M = P/π·√ln(1/ε)
    extend to where the Gaussian's transform exp(−(πk/P)²) is below ε. M is a whole float, because
    narrow kernels need more modes than an integer can count.
    """
    reach = math.sqrt(math.log(1 / eps))
    period = extent + reach
    return period, np.ceil(period / math.pi * reach)


def number_of_modes(extent: FloatArray, eps: float) -> float:
    """Return the number of modes for points in a box, in all dimensions together."""
    _, half = fourier_modes(extent, eps)
    return float(math.prod((2 * half + 1).tolist()))


@final
@dataclass(frozen=True, eq=False)
class GaussianFourier(SymmetricOperator):
    """Products with K by FINUFFT, O(n log(1/ε)^d + N log N) for N modes and two vectors.

    Attributes
    ----------
    angles : (d, n) array
        Coordinates in units in which the waves have the period 2π.
    coefficients : array of d dimensions
        The Gaussian's transform at the N modes.
    eps : float
        Error of the kernel and of the transforms.
    """

    angles: NDArray[Any]
    coefficients: NDArray[Any]
    eps: float

    @classmethod
    def from_cloud(cls, cloud: PointCloud, *, eps: float) -> GaussianFourier:
        """Create the operator with modes for the kernel error `eps`."""
        low, high = cloud.corners
        period, half = fourier_modes(high - low, eps)
        lines = [
            math.sqrt(math.pi) / P * np.exp(-((math.pi * np.arange(-M, M + 1) / P) ** 2))
            for P, M in zip(period, half, strict=True)
        ]
        angles = (cloud.coordinates - (low + high) / 2) * (2 * math.pi / period)
        # Single precision rounds the phases of the highest modes by about 1e-6 of their number.
        dtype = np.float32 if half.max() <= _SINGLE_MODES * eps else np.float64
        coefficients = reduce(np.multiply.outer, lines).astype(dtype)
        return cls(np.ascontiguousarray(angles.T, dtype), coefficients, eps)

    @property
    def n(self) -> int:
        """Number of points."""
        return int(self.angles.shape[1])

    def _apply(self, X: FloatArray) -> FloatArray:
        # FINUFFT's own threads add in arbitrary order. One thread per plan, and a number of plans
        # that does not depend on the number of threads, make results reproducible.
        span = max(-(-self.n // _SPANS), 4 * self.coefficients.size, _FEW_POINTS)
        plans = map_chunks(self._plans, self.n, span)
        packed = np.zeros(self.n, np.result_type(self.angles, np.complex64))
        product = np.empty(X.shape)

        def spread(start: int, stop: int) -> NDArray[Any]:
            sums: NDArray[Any] = plans[start // span][0].execute(packed[start:stop])
            return sums

        def gather(start: int, stop: int) -> None:
            packed[start:stop] = plans[start // span][1].execute(waves)

        # The kernel is real: two real vectors are transformed as one complex vector.
        for j in range(0, X.shape[1], 2):
            packed.real = X[:, j]
            packed.imag = X[:, j + 1] if j + 1 < X.shape[1] else 0.0
            waves = self.coefficients * sum(map_chunks(spread, self.n, span))
            map_chunks(gather, self.n, span)
            product[:, j] = packed.real
            product[:, j + 1 : j + 2] = packed.imag[:, None]
        return product

    def _plans(self, start: int, stop: int) -> list[Any]:
        """Return FINUFFT's plans of types 1 and 2 for some of the points."""
        # By default FINUFFT chooses upsampfac, and thereby the error, from the number of points.
        options: dict[str, Any] = {"nthreads": 1, "upsampfac": 2.0, "eps": max(self.eps, 1e-14)}
        options["dtype"] = np.result_type(self.angles, np.complex64).name
        shape = self.coefficients.shape
        plans = [finufft.Plan(kind, shape, isign=2 * kind - 3, **options) for kind in (1, 2)]
        for plan in plans:
            plan.setpts(*(line[start:stop] for line in self.angles))
        return plans

    def diagonal(self) -> FloatArray:
        """Return the diagonal, shape (n,): all ones, up to the error of the modes."""
        return np.ones(self.n)
