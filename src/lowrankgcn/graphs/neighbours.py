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
from typing import Annotated, Any, Literal, final

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lowrankgcn._codec import saved
from lowrankgcn._validation import set_fields
from lowrankgcn.graphs.matrices import magnitude, read_only
from lowrankgcn.graphs.search import EXACT_FOR_NEW_ROWS, NeighbourSearch
from lowrankgcn.operators import FloatArray

NeighbourWeights = Literal["self-tuning", "binary"]
WEIGHTS: tuple[str, ...] = ("self-tuning", "binary")

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
        The points times 2^-exponent (exact; weights depend on ratios of distances only).
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
        Arguments of the search for the neighbours of new points, beyond 10,000 points in lists.
    """

    points: Annotated[FloatArray, "n d"]
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
        if not search.probes and len(scaled) > EXACT_FOR_NEW_ROWS:
            options: Any = {"seed": seed, "most_exact": EXACT_FOR_NEW_ROWS}
            search, _ = NeighbourSearch.tuned(scaled, count, **options)
        near = cls(scaled, exponent, count, weights, scales, least, recall, search.probes, seed)
        set_fields(near, _search=search)  # built already
        return near, near._matrix(distances, neighbours, scales)

    def new_weights(self, points: FloatArray) -> sp.csr_array:
        """Return the weights from new points (q, d) to their nearest fitted points, shape (q, n).

        The scale s of a new point is the distance to its last neighbour among the fitted points.
        Zero weights are not stored.
        """
        with np.errstate(over="ignore"):
            scaled = np.ldexp(points, -self.exponent)
        scaled = np.clip(scaled, -_FARTHEST, _FARTHEST)
        distances, neighbours = self._search.query(scaled)
        scales = np.maximum(distances[:, -1], self.least_scale)
        matrix = self._matrix(distances, neighbours, scales)
        matrix.eliminate_zeros()
        return matrix

    @cached_property
    def _search(self) -> NeighbourSearch:
        return NeighbourSearch(self.points, self.count, probes=self.probes, seed=self.seed)

    def _matrix(
        self, distances: FloatArray, neighbours: NDArray[np.intp], row_scales: FloatArray
    ) -> sp.csr_array:
        rows, count = distances.shape
        if self.weights == "binary":
            values = np.ones(distances.shape)
        else:
            here, there = row_scales[:, None], self.scales[neighbours]
            with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
                values = np.exp(-((distances / here) * (distances / there)))
            # Scale zero: weight 1 between duplicates, 0 otherwise.
            values = np.where((here > 0) & (there > 0), values, (distances == 0).astype(float))
        pointers = np.arange(0, rows * count + 1, count)
        shape = (rows, len(self.points))
        matrix = sp.csr_array((values.ravel(), neighbours.ravel(), pointers), shape=shape)
        matrix.sort_indices()
        return matrix
