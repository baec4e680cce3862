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

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any, Literal, final

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lowrankgcn._codec import saved
from lowrankgcn._validation import set_fields
from lowrankgcn.graphs.matrices import magnitude, read_only
from lowrankgcn.graphs.search import ListSearch, NeighbourSearch
from lowrankgcn.operators import FloatArray

NeighbourWeights = Literal["self-tuning", "binary"]
WEIGHTS: tuple[str, ...] = ("self-tuning", "binary")

_EXACT = 2000  # points up to which those near new rows are found exactly
_LEAST_SCALE = 2e-3  # median distance to the last neighbour, relative to the spread of the points
_LEAST_HALF = 1e-4  # of scales in half precision, whose numbers are multiples of 6e-8
_MANY = 16  # coordinates from which half precision is enough: their errors average out
_FARTHEST = 1e150  # clipped here, scaled coordinates have finite squares
LARGEST_SEED = 2**31 - 1


@saved
@final
@dataclass(frozen=True, eq=False)
class NearestNeighbours:
    """A point cloud in which every point has `count` neighbours.

    Attributes
    ----------
    points : (n, d) array
        The points times 2^-exponent (exact; weights depend on ratios of distances only); in half
        or single precision for an approximate search.
    exponent : int
        Exponent of the smallest power of two above all coordinates.
    count : int
        Neighbours per point, not counting itself; less than n.
    weights : {"self-tuning", "binary"}
        exp(−‖x − y‖² / (s_x s_y)) with s the distance to the last neighbour, or 1.
    scales : (n,) array
        The distances s, at least `least_scale`, in the units of `points`.
    least_scale : float
        Least distance s, of new points too.
    recall : float
        Share of the nearest neighbours of the points that were found, measured in a sample; 1 if
        exact.
    probes, seed : int
        Arguments of the search for the neighbours of new points.
    """

    points: Annotated[NDArray[np.floating[Any]], "n d"]
    exponent: int
    count: int
    weights: NeighbourWeights
    scales: Annotated[FloatArray, "n"]
    least_scale: float
    recall: float
    probes: int
    seed: int

    @classmethod
    def from_points(
        cls,
        points: FloatArray,
        count: int,
        weights: NeighbourWeights,
        *,
        least_scale: float = 0.0,
        seed: int = 0,
    ) -> tuple[NearestNeighbours, sp.csr_array]:
        """Find the neighbours of two or more points; return them and their weights, (n, n).

        Distances s are at least `least_scale` times their mean.
        """
        exponent = magnitude(points)
        scaled = read_only(np.ascontiguousarray(np.ldexp(points, -exponent)))
        search, recall = NeighbourSearch.tuned(scaled, count, seed=seed)
        distances, neighbours = search.query(scaled, np.arange(len(scaled)))
        least = least_scale * float(distances[:, -1].mean())
        scales = read_only(np.maximum(distances[:, -1], least))
        near = cls(scaled, exponent, count, weights, scales, least, recall, search.probes, seed)
        set_fields(near, _search=search)  # built already
        values = near._values(distances, neighbours, scales)
        return near, near._matrix(neighbours, values)

    def compact(self) -> NearestNeighbours:
        """Return the same points in less precision, of which most neighbours are found.

        Few points, and those whose neighbours are too near for single precision, stay as they are.
        """
        offsets = self.points - np.median(self.points, axis=0)
        spread = np.sqrt(np.median(np.einsum("ij,ij->i", offsets, offsets)))
        scale = np.median(self.scales)
        if len(self.points) <= _EXACT or scale < _LEAST_SCALE * spread:
            return self
        half = self.points.shape[1] >= _MANY and scale > _LEAST_HALF
        dtype: Any = np.float16 if half else np.float32
        return replace(self, points=self.points.astype(dtype), probes=0)

    @property
    def approximate(self) -> bool:
        """Whether most of the neighbours of new points are found, not all."""
        return self.points.dtype != np.float64

    def near(self, points: NDArray[Any]) -> tuple[NDArray[np.intp], NDArray[Any]]:
        """Return the neighbours of new points and their weights, (q, count) each."""
        with np.errstate(over="ignore"):
            scaled = np.ldexp(np.asarray(points, np.float64), -self.exponent)
        scaled = np.clip(scaled, -_FARTHEST, _FARTHEST)
        distances, neighbours = self._search.query(scaled)
        farthest = np.where(np.isfinite(distances), distances, 0.0).max(axis=1)
        return neighbours, self._values(
            distances, neighbours, np.maximum(farthest, self.least_scale)
        )

    def new_weights(self, points: FloatArray) -> sp.csr_array:
        """Return the weights from new points (q, d) to their nearest fitted points, shape (q, n).

        The scale s of a new point is the distance to its last neighbour among the fitted points.
        Zero weights are not stored.
        """
        matrix = self._matrix(*self.near(points))
        matrix.eliminate_zeros()
        return matrix

    @cached_property
    def _search(self) -> NeighbourSearch | ListSearch:
        if self.approximate:
            return ListSearch(self.points, self.count, self.seed)
        points = np.asarray(self.points, np.float64)
        return NeighbourSearch(points, self.count, probes=self.probes, seed=self.seed)

    def _values(
        self, distances: NDArray[Any], neighbours: NDArray[np.intp], row_scales: NDArray[Any]
    ) -> NDArray[Any]:
        """Return the weights for distances."""
        values: NDArray[Any]
        if self.weights == "binary":
            values = np.isfinite(distances).astype(float)
        else:
            here, there = row_scales[:, None], self.scales[neighbours]
            with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
                values = np.exp(-((distances / here) * (distances / there)))
            # Scale zero: weight 1 between duplicates, 0 otherwise.
            values = np.where((here > 0) & (there > 0), values, (distances == 0).astype(float))
        return values

    def _matrix(self, neighbours: NDArray[np.intp], values: NDArray[Any]) -> sp.csr_array:
        rows, count = neighbours.shape
        pointers = np.arange(0, rows * count + 1, count)
        shape = (rows, len(self.points))
        matrix = sp.csr_array((values.ravel(), neighbours.ravel(), pointers), shape=shape)
        matrix.sort_indices()
        return matrix
