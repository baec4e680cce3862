"""Nearest neighbours within a point cloud and of new points, with their weights.

>>> import numpy as np
>>> near, weights = NearestNeighbours.from_points(np.array([[0.0], [1.0], [5.0]]), 1, "binary")
>>> weights.toarray()
array([[0., 1., 0.],
       [1., 0., 0.],
       [0., 1., 0.]])
>>> near.new_weights(np.array([[4.0]])).toarray()
array([[0., 0., 1.]])
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, final

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from lowrankgcn._codec import saved
from lowrankgcn._validation import expect_shape, invalid, positive_int
from lowrankgcn.graphs.base import magnitude, read_only
from lowrankgcn.operators import FloatArray

__all__ = ["WEIGHTS", "NearestNeighbours", "NeighbourWeights"]

NeighbourWeights = Literal["self-tuning", "binary"]
WEIGHTS: tuple[str, ...] = ("self-tuning", "binary")

_FARTHEST = 1e150  # clipped here, scaled coordinates have finite squares
_MANY_POINTS = 1000  # from here on threads pay off


@saved
@final
@dataclass(frozen=True, eq=False)
class NearestNeighbours:
    """A point cloud in which every point has `count` neighbours.

    Attributes
    ----------
    points : (n, d) array
        The points times 2^-exponent (exact; weights depend on ratios of distances only).
    exponent : int
        Exponent of the smallest power of two above all coordinates.
    count : int
        Neighbours per point, not counting itself; less than n.
    weights : {"self-tuning", "binary"}
        exp(−‖x − y‖² / (s_x s_y)) with s the distance to the last neighbour, or 1.
    scales : (n,) array
        The distances s, in the units of `points`.

    Notes
    -----
    SciPy's k-d tree: about n log n in few dimensions, n² in many. Memory O(n (d + count)).
    """

    points: FloatArray
    exponent: int
    count: int
    weights: NeighbourWeights
    scales: FloatArray

    def __post_init__(self) -> None:
        expect_shape(self.points, "points", None, None)
        n, dimension = self.points.shape
        if n < 2 or dimension < 1:
            raise invalid("points", "two rows and a column", f"shape {self.points.shape}")
        expect_shape(self.scales, "scales", n)
        if self.scales.min() < 0:
            raise invalid("scales", "distances >= 0", self.scales.min())
        positive_int(self.exponent, "exponent", minimum=-1100, maximum=1100)
        positive_int(self.count, "count", maximum=n - 1)

    @classmethod
    def from_points(
        cls, points: FloatArray, count: int, weights: NeighbourWeights
    ) -> tuple[NearestNeighbours, sp.csr_array]:
        """Find the neighbours of two or more points; return them and their weights, (n, n)."""
        exponent = magnitude(points)
        scaled = np.ascontiguousarray(np.ldexp(points, -exponent))
        distances, neighbours = cKDTree(scaled).query(scaled, k=count + 1, workers=-1)
        distances, neighbours = _without_self(distances, neighbours)
        scales = read_only(np.ascontiguousarray(distances[:, -1]))
        near = cls(read_only(scaled), exponent, count, weights, scales)
        return near, near._matrix(distances, neighbours, scales)

    def new_weights(self, points: FloatArray) -> sp.csr_array:
        """Return the weights from new points (q, d) to their nearest fitted points, shape (q, n).

        The scale s of a new point is the distance to its last neighbour among the fitted points.
        Zero weights are not stored.
        """
        with np.errstate(over="ignore"):
            scaled = np.ldexp(points, -self.exponent)
        scaled = np.clip(scaled, -_FARTHEST, _FARTHEST)
        # With a list of ranks the result has two axes, also for one neighbour.
        ranks = np.arange(1, self.count + 1)
        workers = -1 if len(scaled) > _MANY_POINTS else 1
        distances, neighbours = self._tree.query(scaled, k=ranks, workers=workers)
        matrix = self._matrix(distances, neighbours, distances[:, -1])
        matrix.eliminate_zeros()
        return matrix

    @cached_property
    def _tree(self) -> cKDTree:
        return cKDTree(self.points)

    def _matrix(
        self, distances: FloatArray, neighbours: NDArray[np.intp], own_scales: FloatArray
    ) -> sp.csr_array:
        rows, count = distances.shape
        if self.weights == "binary":
            values = np.ones(distances.shape)
        else:
            own, other = own_scales[:, None], self.scales[neighbours]
            with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
                values = np.exp(-((distances / own) * (distances / other)))
            # Scale zero: weight 1 between duplicates, 0 otherwise.
            values = np.where((own > 0) & (other > 0), values, (distances == 0).astype(float))
        pointers = np.arange(0, rows * count + 1, count)
        shape = (rows, len(self.points))
        matrix = sp.csr_array((values.ravel(), neighbours.ravel(), pointers), shape=shape)
        matrix.sort_indices()
        return matrix


def _without_self(
    distances: FloatArray, neighbours: NDArray[np.intp]
) -> tuple[FloatArray, NDArray[np.intp]]:
    """Remove each point from its own list, or the last neighbour if duplicates displaced it."""
    n, width = neighbours.shape
    own = neighbours == np.arange(n)[:, None]
    own[~own.any(axis=1), -1] = True
    keep = ~own
    return distances[keep].reshape(n, width - 1), neighbours[keep].reshape(n, width - 1)
