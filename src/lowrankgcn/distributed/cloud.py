"""Points in blocks: features, bandwidth and a sample in memory.

All results are the same as in memory and do not depend on the division into blocks: extremes,
order statistics, sums of integers, and rows sampled by number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from lowrankgcn.distributed.blocks import Blocks
from lowrankgcn.distributed.survey import Spread, survey
from lowrankgcn.estimators.classifier import GCNClassifier
from lowrankgcn.estimators.graph_choice import bandwidth_of, bandwidth_rows
from lowrankgcn.estimators.inputs import PointInputs, point_units
from lowrankgcn.estimators.rows import check_rows, check_size
from lowrankgcn.estimators.settings import Settings
from lowrankgcn.graphs.cells import Name
from lowrankgcn.graphs.cross.gaussian import misfit_rows
from lowrankgcn.operators import FloatArray
from lowrankgcn.operators.affinity import random_test_rows
from lowrankgcn.operators.fastsum import RANDOM_LANDMARKS
from lowrankgcn.operators.gaussian import PointCloud, centre_and_bandwidth
from lowrankgcn.operators.landmarks import candidate_rows, random_landmark_rows

__all__ = ["BlockCloud", "PointReader", "SampledCloud", "fit_cloud"]

# Up to this squared radius all methods of evaluating kernels apply, so an upper bound is enough.
_SMALL_SQUARED_RADIUS = 50.0


@final
@dataclass(frozen=True, eq=False)
class PointReader:
    """Reads blocks of points with the checks of scikit-learn.

    Attributes
    ----------
    estimator : GCNClassifier
        Estimator with number and names of the columns.
    """

    estimator: GCNClassifier

    @classmethod
    def from_classifier(cls, classifier: GCNClassifier) -> PointReader:
        """Return a reader for the columns of a classifier."""
        estimator = GCNClassifier()
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(classifier, name):
                setattr(estimator, name, getattr(classifier, name))
        return cls(estimator)

    def points(self, block: Any) -> FloatArray:
        """Return the rows of a block, shape (n_b, d); raise ValueError for missing values."""
        if not len(block):
            return np.zeros((0, self.estimator.n_features_in_))
        points: FloatArray = check_rows(self.estimator, block, "points")
        return points

    def columns(self, block: Any, names: tuple[Name, ...]) -> dict[Name, FloatArray]:
        """Return some columns of a block by position."""
        points = self.points(block)
        return {name: points[:, int(name)] for name in names}


@final
@dataclass(frozen=True, eq=False)
class BlockCloud:
    """Conversion of the rows of a block to points in units of the bandwidth.

    Attributes
    ----------
    reader : PointReader
    inputs : PointInputs
        Features of the rows, and the units of the graph.
    centre, bandwidth
        As in :class:`PointCloud`.
    squared_radius : float
        Largest squared norm of all points, or an upper bound if that is small.
    low, high : (d,) arrays
        Corners of the bounding box in bandwidths.
    lengths : tuple of int
        Number of rows of each block.
    """

    reader: PointReader
    inputs: PointInputs
    centre: FloatArray
    bandwidth: float
    squared_radius: float
    low: FloatArray
    high: FloatArray
    lengths: tuple[int, ...]

    @property
    def n(self) -> int:
        """Number of points."""
        return sum(self.lengths)

    def place(self, points: FloatArray) -> FloatArray:
        """Return the coordinates of points."""
        coordinates: FloatArray = (self.inputs.rows(points) - self.centre) / self.bandwidth
        return coordinates

    def coordinates(self, block: Any) -> FloatArray:
        """Return the coordinates of a block, shape (n_b, d)."""
        return self.place(self.reader.points(block))

    def part(self, coordinates: FloatArray) -> PointCloud:
        """Return some of the points with the radius of all points."""
        return PointCloud(coordinates, self.squared_radius, self.centre, self.bandwidth)


@final
@dataclass(frozen=True, eq=False)
class SampledCloud:
    """Points in blocks with a sample in memory (a ``PointSource``).

    Attributes
    ----------
    cloud : BlockCloud
    index : (q,) int array
        Numbers of the rows in memory, ascending.
    coordinates : (q, d) array
    """

    cloud: BlockCloud
    index: NDArray[np.intp]
    coordinates: FloatArray

    @property
    def n(self) -> int:
        """Number of all points."""
        return self.cloud.n

    @property
    def dimension(self) -> int:
        """Number of coordinates of a point."""
        return len(self.cloud.low)

    @property
    def extent(self) -> FloatArray:
        """Side lengths of the bounding box in bandwidths, shape (d,)."""
        return self.cloud.high - self.cloud.low

    @property
    def squared_radius(self) -> float:
        """Largest squared norm of a coordinate row."""
        return self.cloud.squared_radius

    def take(self, index: NDArray[np.intp]) -> FloatArray:
        """Return the coordinates of sampled points, shape (len(index), d)."""
        return self.coordinates[np.searchsorted(self.index, index)]


def fit_cloud(
    blocks: Blocks, reader: PointReader, settings: Settings, lengths: Sequence[int], seed: int
) -> SampledCloud:
    """Compute units, bandwidth and a sample of the points.

    Raises
    ------
    ValueError
        If a number is missing, infinite or too large.

    Notes
    -----
    One pass for the extremes, two to six for mean, standard deviation and quartiles, one for the
    sample, and one for the radius of wide point clouds.
    """
    n = sum(lengths)
    inputs, corners = _fit_inputs(blocks, reader, settings, n)
    index = _sampled_rows(n, seed)
    sample = inputs.rows(reader.points(blocks.take(index, lengths)))
    width = settings.bandwidth
    if width == "auto":
        width = bandwidth_of(sample[np.searchsorted(index, bandwidth_rows(n, seed))])
    low, high = inputs.rows(corners)  # monotone in every column
    centre, effective = centre_and_bandwidth(low, high, float(width))
    low, high = (low - centre) / effective, (high - centre) / effective
    radius = float(np.square(np.maximum(np.abs(low), np.abs(high))).sum())
    cloud = BlockCloud(reader, inputs, centre, effective, radius, low, high, tuple(lengths))
    if radius > _SMALL_SQUARED_RADIUS:
        radius = blocks.reduce(_squared_radius, max, cloud)
        cloud = BlockCloud(reader, inputs, centre, effective, radius, low, high, tuple(lengths))
    return SampledCloud(cloud, index, (sample - centre) / effective)


def _fit_inputs(
    blocks: Blocks, reader: PointReader, settings: Settings, n: int
) -> tuple[PointInputs, FloatArray]:
    """Return the result of :meth:`PointInputs.fit` and the extremes of columns, shape (2, d)."""
    raw = not settings.scaling
    corners = blocks.reduce(_corners, _outer, reader)
    count = corners.shape[1]
    spreads: dict[Name, Spread] = {
        j: Spread("f", low, high, n) for j, (low, high) in enumerate(corners.T.tolist())
    }
    as_given = settings.bandwidth != "auto" or raw
    # A quantile is interpolated between two consecutive order statistics.
    places = [] if as_given else [(n - 1) * share for share in (0.25, 0.5, 0.75)]
    ranks = tuple(rank for place in places for rank in (int(place), min(int(place) + 1, n - 1)))
    numbers: dict[Name, NDArray[Any]] = {}
    centre, scale = np.zeros(count), np.ones(count)
    if not (raw and as_given):
        numbers, units = survey(blocks, spreads, {j: ranks for j in spreads}, reader.columns)
        if not raw:
            centre = np.array([units[j].centre for j in range(count)])
            scale = np.array([units[j].scale for j in range(count)])
    if as_given:
        return PointInputs(centre, scale, None, None), corners
    quartiles = np.array(
        [
            [np.quantile(numbers[j][2 * i : 2 * i + 2], places[i] % 1.0) for j in range(count)]
            for i in range(3)
        ]
    )
    return PointInputs(centre, scale, *point_units(quartiles, *corners)), corners


def _sampled_rows(n: int, seed: int) -> NDArray[np.intp]:
    """Return the numbers of all rows that later steps sample."""
    random = random_landmark_rows(n, RANDOM_LANDMARKS, seed)
    draws = (bandwidth_rows(n, seed), *candidate_rows(n, seed), random, random_test_rows(n, seed))
    return np.unique(np.concatenate([*draws, misfit_rows(n)]))


def _corners(block: Any, reader: PointReader) -> FloatArray:
    points = reader.points(block)
    low, high = points.min(axis=0, initial=np.inf), points.max(axis=0, initial=-np.inf)
    if len(points):
        check_size(np.array([low, high]))
    return np.stack([low, high])


def _outer(one: FloatArray, other: FloatArray) -> FloatArray:
    return np.stack([np.minimum(one[0], other[0]), np.maximum(one[1], other[1])])


def _squared_radius(block: Any, cloud: BlockCloud) -> float:
    coordinates = cloud.coordinates(block)
    return float(np.einsum("ij,ij->i", coordinates, coordinates).max(initial=0.0))
