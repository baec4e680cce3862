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
from typing import Any, Literal, final

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lowrankgcn._codec import saved
from lowrankgcn._validation import expect_shape, invalid, positive_float, positive_int
from lowrankgcn.graphs.base import magnitude, read_only
from lowrankgcn.graphs.search import NeighbourSearch
from lowrankgcn.operators import FloatArray

__all__ = ["WEIGHTS", "NearestNeighbours", "NeighbourWeights", "RowsWithCandidates"]

NeighbourWeights = Literal["self-tuning", "binary"]
WEIGHTS: tuple[str, ...] = ("self-tuning", "binary")

_FARTHEST = 1e150  # clipped here, scaled coordinates have finite squares
LARGEST_SEED = 2**31 - 1


@final
@dataclass(frozen=True, eq=False)
class RowsWithCandidates:
    """Points (q, d) with numbers of fitted points (q, w) that their neighbours are among."""

    points: FloatArray
    candidates: NDArray[np.intp]


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
        Share of the nearest neighbours that the search finds, measured in a sample; 1 if exact.
    probes, seed : int
        Arguments of the search for neighbours.
    units : (d,) array or None
        Factors of the columns relative to the points among whose neighbours these are searched.
    """

    points: FloatArray
    exponent: int
    count: int
    weights: NeighbourWeights
    scales: FloatArray
    least_scale: float
    recall: float
    probes: int
    seed: int
    units: FloatArray | None = None

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
        positive_float(self.least_scale, "least_scale", zero=True)
        positive_float(self.recall, "recall", zero=True, maximum=1.0)
        positive_int(self.probes, "probes", minimum=0, maximum=n)
        positive_int(self.seed, "seed", minimum=0, maximum=LARGEST_SEED)
        if self.units is not None:
            expect_shape(self.units, "units", dimension)
            if not self.units.min() > 0:
                raise invalid("units", "numbers > 0", self.units.min())

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
        options: Any = {"least_scale": least_scale, "seed": seed}
        return cls.in_units(points, None, count, weights, **options)[0]

    @classmethod
    def in_units(
        cls,
        points: FloatArray,
        units: FloatArray | None,
        count: int,
        weights: NeighbourWeights,
        *,
        least_scale: float,
        seed: int,
    ) -> list[tuple[NearestNeighbours, sp.csr_array]]:
        """Find the neighbours of points and, with units (d,), those of points times units.

        Many points are searched once: their neighbours in other units are among the candidates.
        """
        exponent = magnitude(points)
        scaled = np.ascontiguousarray(np.ldexp(points, -exponent))
        search, recall = NeighbourSearch.tuned(scaled, count, seed=seed)
        shared = None if units is None else search.in_units(scaled, units)
        candidates = None if shared is None else search.candidates(scaled)

        def graph(points: FloatArray, factors: Any = None) -> tuple[Any, sp.csr_array]:
            distances, neighbours = search.query(points, np.arange(len(points)), candidates)
            least = least_scale * float(distances[:, -1].mean())
            scales = read_only(np.maximum(distances[:, -1], least))
            facts: Any = (scales, least, recall, search.probes, seed, factors)
            near = cls(read_only(points), exponent, count, weights, *facts)
            near.__dict__["_search"] = search  # otherwise built at first use
            return near, near._matrix(distances, neighbours, scales)

        found = [graph(scaled)]
        if units is not None:
            search, recall = shared or NeighbourSearch.tuned(scaled * units, count, seed=seed)
            found.append(graph(scaled * units, None if shared is None else units))
        return found

    def candidates(self, points: FloatArray) -> NDArray[np.intp] | None:
        """Return points among which neighbours in other units are, or None."""
        return self._search.candidates(self._scaled(points))

    def new_weights(
        self, points: FloatArray, candidates: NDArray[np.intp] | None = None
    ) -> sp.csr_array:
        """Return the weights from new points (q, d) to their nearest fitted points, shape (q, n).

        The scale s of a new point is the distance to its last neighbour among the fitted points.
        Zero weights are not stored. `candidates` saves the search.
        """
        distances, neighbours = self._search.query(self._scaled(points), None, candidates)
        scales = np.maximum(distances[:, -1], self.least_scale)
        matrix = self._matrix(distances, neighbours, scales)
        matrix.eliminate_zeros()
        return matrix

    def _scaled(self, points: FloatArray) -> FloatArray:
        with np.errstate(over="ignore"):
            scaled = np.ldexp(points, -self.exponent)
        return np.clip(scaled, -_FARTHEST, _FARTHEST)

    @cached_property
    def _search(self) -> NeighbourSearch:
        return NeighbourSearch(
            self.points, self.count, probes=self.probes, seed=self.seed, units=self.units
        )

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
