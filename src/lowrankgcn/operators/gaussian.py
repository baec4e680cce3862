"""The Gaussian kernel of a point cloud, exactly: K_ij = exp(−‖x_i − x_j‖² / bandwidth²).

``PointCloud`` holds the coordinates in units of the bandwidth, so that every kernel below is
exp(−‖u_i − u_j‖²); ``GaussianBlocks`` multiplies with the adjacency W = K − I tile by tile and is
the yardstick that the fast sums of the neighbouring modules are measured against.

>>> import numpy as np
>>> cloud = PointCloud.from_points(np.array([[0.0], [1.0], [3.0]]), bandwidth=2.0)
>>> GaussianBlocks(cloud).to_dense().round(4)
array([[0.    , 0.7788, 0.1054],
       [0.7788, 0.    , 0.3679],
       [0.1054, 0.3679, 0.    ]])
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, final

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy.spatial.distance import cdist

from lowrankgcn._parallel import chunks, map_chunks, worthwhile_threads
from lowrankgcn.operators.base import FloatArray, SymmetricOperator

__all__ = [
    "GaussianBlocks",
    "GaussianRows",
    "PointCloud",
    "PointSource",
    "centre_and_bandwidth",
    "gaussian_kernel",
]

# exp(-x) is zero in double precision beyond x = 745.14: no edge at a greater scaled distance.
EDGE_RADIUS = float(np.sqrt(745.13))

# ‖u‖² + ‖v‖² − 2uᵀv loses eps·(‖u‖² + ‖v‖²) to cancellation: 2e-13 within this squared radius.
_GEMM_RADIUS_SQUARED = 500.0
_SINGLE_RADIUS_SQUARED = 50.0  # and 6e-6 within this one in float32

# Half the width of a box in bandwidths from which on rounding of coordinates would be felt.
_WIDE_BOX = 1000.0

_TILE_ROWS = 512
_TILE_COLUMNS = 2048
_KEPT_ENTRIES = 2**24


class PointSource(Protocol):
    """Points in units of the bandwidth of which a few can be looked at, wherever they are."""

    @property
    def n(self) -> int:
        """Number of points."""

    @property
    def dimension(self) -> int:
        """Number of coordinates of a point."""

    @property
    def extent(self) -> FloatArray:
        """Side lengths of the bounding box in bandwidths, shape (d,)."""

    @property
    def squared_radius(self) -> float:
        """Largest squared norm of a coordinate row."""

    def take(self, index: NDArray[np.intp]) -> FloatArray:
        """Coordinates of some of the points, shape (len(index), d)."""


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
        What turns further points into the same units.
    """

    coordinates: FloatArray
    squared_radius: float
    centre: FloatArray
    bandwidth: float

    @classmethod
    def from_points(cls, points: FloatArray, bandwidth: float) -> PointCloud:
        """Shift the points and divide by the bandwidth."""
        centre, effective = centre_and_bandwidth(*_corners(points), bandwidth)
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

    def take(self, index: NDArray[np.intp]) -> FloatArray:
        """Coordinates of some of the points, shape (len(index), d)."""
        return self.coordinates[index]


def centre_and_bandwidth(
    low: FloatArray, high: FloatArray, bandwidth: float
) -> tuple[FloatArray, float]:
    """Centre and bandwidth in effect, for points between two corners of a box.

    >>> centre_and_bandwidth(np.array([2.0]), np.array([4.0]), 0.5)
    (array([3.]), 0.5)
    """
    half = float((high / 2 - low / 2).max())
    # Distinct points differ by more than 1e-16 of the extent, so below 1e-140 of it every
    # bandwidth gives the same kernel (0 or 1) and the squares stay within double precision.
    effective = max(bandwidth, half * 1e-140)
    # The middle of the box keeps coordinates small. In a wide box it would cost points near
    # the origin their last digits; there the least shift into the box costs none.
    wide = half / effective > _WIDE_BOX
    return np.clip(0.0, low, high) if wide else low / 2 + high / 2, effective


def _corners(points: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Smallest and largest entry of every column."""
    # NumPy's reduction along the first axis runs over rows, six times slower for short ones.
    low = np.array([column.min() for column in points.T])
    return low, np.array([column.max() for column in points.T])


def gaussian_kernel(
    X: FloatArray,
    Y: FloatArray,
    *,
    dtype: DTypeLike = np.float64,
    cancel: bool = False,
    out: NDArray[Any] | None = None,
) -> NDArray[Any]:
    """Evaluate exp(−‖x − y‖²) for all rows x of X and y of Y, shape (len(X), len(Y)).

    One matrix product over augmented coordinates when the points lie close enough to the origin for
    it to be accurate (`cancel` true), coordinate differences otherwise. `out` may take the result,
    in its own type: new memory costs as much as the exponentials.
    """
    if out is not None:
        dtype = out.dtype
    if cancel:
        left = np.empty((len(X), X.shape[1] + 2), dtype)
        left[:, :-2] = X
        left[:, -2] = -np.einsum("ij,ij->i", X, X)
        left[:, -1] = 1
        right = np.empty((Y.shape[1] + 2, len(Y)), dtype)
        right[:-2] = 2 * Y.T
        right[-2] = 1
        right[-1] = -np.einsum("ij,ij->i", Y, Y)
        exponent: NDArray[Any] = np.matmul(left, right, out=out)
    else:
        distances = cdist(X, Y, "sqeuclidean")
        room = distances.astype(dtype, copy=False) if out is None else out
        exponent = np.negative(distances, out=room)
    # Far points underflow to zero, which is their weight.
    with np.errstate(under="ignore"):
        np.exp(exponent, out=exponent)
    return exponent


@final
@dataclass(frozen=True, eq=False)
class GaussianBlocks(SymmetricOperator):
    """Exact products with W = K − I in tiles: O(n² (d + k)) time, O(n k) memory.

    The diagonal is left out rather than subtracted: the weights of a far point are smaller than the
    rounding of a unit diagonal, and its degree is all it has. With `single` the weights themselves
    are float32, four times faster and right to about 1e-5: a yardstick for errors above 1e-4.
    """

    cloud: PointCloud
    single: bool = False

    @property
    def n(self) -> int:
        """Number of points."""
        return self.cloud.n

    def _apply(self, X: FloatArray) -> FloatArray:
        product = np.zeros((self.n, X.shape[1]))

        def strip(start: int, stop: int) -> None:
            rows = np.arange(start, stop)
            for left, right in chunks(self.n, _TILE_COLUMNS):
                product[start:stop] += self.tile(rows, left, right) @ X[left:right]

        map_chunks(strip, self.n, _TILE_ROWS)
        return product

    def _apply_rows(self, index: NDArray[np.intp], X: FloatArray) -> FloatArray:
        return GaussianRows(self, index, keep=False).product(X)

    def to_dense(self) -> FloatArray:
        """W as an n×n array, exactly symmetric: for small n."""
        tile = self.tile(np.arange(self.n), 0, self.n)
        return (tile + tile.T) / 2

    def tile(self, index: NDArray[np.intp], left: int, right: int) -> FloatArray:
        """W[index, left:right]."""
        coordinates, radius = self.cloud.coordinates, self.cloud.squared_radius
        single = self.single and radius <= _SINGLE_RADIUS_SQUARED
        tile = gaussian_kernel(
            coordinates[index],
            coordinates[left:right],
            dtype=np.float32 if single else np.float64,
            cancel=radius <= _GEMM_RADIUS_SQUARED,
        )
        own = np.flatnonzero((index >= left) & (index < right))
        tile[own, index[own] - left] = 0.0
        return tile

    def diagonal(self) -> FloatArray:
        """Diagonal, shape (n,): all zeros."""
        return np.zeros(self.n)


@final
class GaussianRows:
    """Selected rows of W, evaluated once and kept where they are few.

    Parameters
    ----------
    blocks : GaussianBlocks
    index : (q,) int array
    keep : bool
        Whether further products shall cost no exponentials: q·n numbers of memory.
    """

    def __init__(
        self, blocks: GaussianBlocks, index: NDArray[np.intp], *, keep: bool = True
    ) -> None:
        self.blocks = blocks
        self.index = index
        # A tile of a few rows may be longer.
        self._width = _TILE_COLUMNS * max(1, min(4, _TILE_ROWS // max(1, 4 * len(index))))
        self._keep = keep and len(index) * blocks.n <= _KEPT_ENTRIES
        self._tiles: dict[int, NDArray[Any]] = {}

    def product(self, X: NDArray[Any], scale: FloatArray | None = None) -> FloatArray:
        """W[index] diag(scale) X, shape (q, k), without scaling a copy of X."""
        n, index = self.blocks.n, self.index

        def strip(first: int, last: int) -> FloatArray:
            product = np.zeros((len(index), X.shape[1]))
            for left in range(first, last, self._width):
                right = min(left + self._width, last)
                tile = self._tiles.get(left)
                if tile is None:
                    tile = self.blocks.tile(index, left, right)
                if self._keep:
                    self._tiles[left] = tile
                product += (tile if scale is None else tile * scale[left:right]) @ X[left:right]
            return product

        span = max(1, n // (16 * self._width)) * self._width
        strips = map_chunks(strip, n, span, n_threads=worthwhile_threads(len(index) * n))
        total: FloatArray = np.sum(strips, axis=0)
        return total
