"""Exact connected components of points in blocks, computed from a grid of boxes.

Two points are joined if they are less than 27.3 bandwidths apart. Space is divided into cubes that
are so small that all points of a cube are joined. Every block lists its cubes with the bounding
boxes of their points. The boxes of two cubes decide whether the cubes are joined, except for
distances close to the limit, for which the points are compared.

>>> import numpy as np
>>> from lowrankgcn.distributed.point_components import Components
>>> Components.single(5).n_components
1
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree

from lowrankgcn._validation import invalid
from lowrankgcn.distributed.blocks import Blocks
from lowrankgcn.distributed.cloud import BlockCloud
from lowrankgcn.operators import FloatArray
from lowrankgcn.operators.gaussian import EDGE_RADIUS

__all__ = ["Components", "find_components"]

_MOST_CUBES = 2**13  # pairs of cubes are compared in the calling process
_MOST_POINTS = 2**20  # points that are compared one by one
_MOST_COMPONENTS = 1000  # components of more than one point
_ROUNDING = 1e-9  # rounding errors of distances, in bandwidths


@final
@dataclass(frozen=True, eq=False)
class Cubes:
    """Occupied cubes, sorted by number.

    Attributes
    ----------
    keys : (V,) int array
        Number of each cube.
    low, high : (V, d) arrays
        Corners of the bounding boxes of the points.
    counts, firsts : (V,) int arrays
        Number of points, and number of the first point.
    n_rows : int
        Total number of points.
    """

    keys: NDArray[np.int64]
    low: FloatArray
    high: FloatArray
    counts: NDArray[np.int64]
    firsts: NDArray[np.int64]
    n_rows: int

    def joined_with(self, other: Cubes) -> Cubes:
        """Return the cubes of these points and of others that follow them."""
        keys, place = np.unique(np.concatenate([self.keys, other.keys]), return_inverse=True)
        if len(keys) > _MOST_CUBES:
            raise _too_narrow(f"more than {_MOST_CUBES} groups of distant points")
        shape = (len(keys), self.low.shape[1])
        low, high = np.full(shape, np.inf), np.full(shape, -np.inf)
        counts = np.zeros(len(keys), np.int64)
        firsts = np.full(len(keys), np.iinfo(np.int64).max)
        np.minimum.at(low, place, np.concatenate([self.low, other.low]))
        np.maximum.at(high, place, np.concatenate([self.high, other.high]))
        np.add.at(counts, place, np.concatenate([self.counts, other.counts]))
        following = np.concatenate([self.firsts, other.firsts + self.n_rows])
        np.minimum.at(firsts, place, following)
        return Cubes(keys, low, high, counts, firsts, self.n_rows + other.n_rows)


@final
@dataclass(frozen=True, eq=False)
class Components:
    """Connected components as a function of the point.

    Attributes
    ----------
    sizes : (c,) int array
        Number of points of each component, in the order of their first points.
    grid : Grid or None
        Division of space into cubes; None if there is a single component.
    keys : (V,) int array
        Numbers of the occupied cubes, ascending.
    numbers : (V,) int array
        Component of each cube.
    """

    sizes: NDArray[np.int64]
    grid: Grid | None
    keys: NDArray[np.int64]
    numbers: NDArray[np.intp]

    @classmethod
    def single(cls, n: int) -> Components:
        """Return a single component of n points."""
        return cls(np.array([n]), None, np.zeros(0, np.int64), np.zeros(0, np.intp))

    @property
    def n_components(self) -> int:
        """Number of components, isolated points included."""
        return len(self.sizes)

    @property
    def joined(self) -> NDArray[np.intp]:
        """Components of more than one point."""
        return np.flatnonzero(self.sizes > 1)

    def at(self, coordinates: FloatArray) -> NDArray[np.intp]:
        """Return the component of every point, shape (q,)."""
        if self.grid is None:
            return np.zeros(len(coordinates), np.intp)
        return self.numbers[np.searchsorted(self.keys, self.grid.keys(coordinates))]


@final
@dataclass(frozen=True, eq=False)
class Grid:
    """Division of a box into cubes."""

    low: FloatArray
    side: float
    shape: tuple[int, ...]

    @classmethod
    def from_corners(cls, low: FloatArray, high: FloatArray) -> Grid:
        """Return cubes with a diagonal of half the radius."""
        side = EDGE_RADIUS / (2 * math.sqrt(len(low)))
        shape = np.floor((high - low) / side) + 1
        if np.log2(shape).sum() > 62:
            raise _too_narrow(f"points {float((high - low).max()):.1e} bandwidths apart")
        return cls(low, side, tuple(shape.astype(int).tolist()))

    def keys(self, coordinates: FloatArray) -> NDArray[np.int64]:
        """Return the number of the cube of every point."""
        places = np.floor((coordinates - self.low) / self.side).astype(np.int64)
        np.clip(places, 0, np.array(self.shape) - 1, out=places)
        numbers: NDArray[np.int64] = np.ravel_multi_index(tuple(places.T), self.shape)
        return numbers


def find_components(blocks: Blocks, cloud: BlockCloud) -> Components:
    """Compute the connected components of all points.

    Raises
    ------
    ValueError
        If the bandwidth is so small that there are too many separate groups of points.

    Notes
    -----
    No pass if the bounding box of the points is small; otherwise one, and another one if points
    have to be compared.
    """
    if float(np.square(cloud.high - cloud.low).sum()) < EDGE_RADIUS**2:
        return Components.single(cloud.n)
    grid = Grid.from_corners(cloud.low, cloud.high)
    cubes = blocks.reduce(_cubes, Cubes.joined_with, cloud, grid)
    labels, undecided = _join_boxes(cubes)
    if len(undecided):
        labels = _compare_points(blocks, cloud, grid, cubes, labels, undecided)
    return _numbered(grid, cubes, labels)


def _cubes(block: Any, cloud: BlockCloud, grid: Grid) -> Cubes:
    coordinates = cloud.coordinates(block)
    keys, first, place, counts = np.unique(
        grid.keys(coordinates), return_index=True, return_inverse=True, return_counts=True
    )
    order = np.argsort(place, kind="stable")
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]]).astype(np.intp)
    sorted_points = coordinates[order]
    low = high = np.zeros((0, coordinates.shape[1]))
    if len(keys):
        low = np.minimum.reduceat(sorted_points, starts)
        high = np.maximum.reduceat(sorted_points, starts)
    return Cubes(keys, low, high, counts, first.astype(np.int64), len(coordinates))


def _join_boxes(cubes: Cubes) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the components by boxes alone, and pairs of cubes whose points must be compared."""
    centres, halves = (cubes.low + cubes.high) / 2, (cubes.high - cubes.low) / 2
    reach = EDGE_RADIUS + 2 * float(np.sqrt(np.square(halves).sum(axis=1)).max())
    tree = cKDTree(centres)
    pairs = tree.query_pairs(reach * (1 + _ROUNDING), output_type="ndarray")
    gaps = np.abs(centres[pairs[:, 0]] - centres[pairs[:, 1]])
    widths = halves[pairs[:, 0]] + halves[pairs[:, 1]]
    furthest = np.sqrt(np.square(gaps + widths).sum(axis=1))
    nearest = np.sqrt(np.square(np.maximum(gaps - widths, 0.0)).sum(axis=1))
    labels = _joined(pairs[furthest < EDGE_RADIUS - _ROUNDING], len(centres))
    open_pairs = (furthest >= EDGE_RADIUS - _ROUNDING) & (nearest < EDGE_RADIUS + _ROUNDING)
    open_pairs &= labels[pairs[:, 0]] != labels[pairs[:, 1]]
    return labels, pairs[open_pairs]


def _compare_points(
    blocks: Blocks,
    cloud: BlockCloud,
    grid: Grid,
    cubes: Cubes,
    labels: NDArray[np.intp],
    undecided: NDArray[np.intp],
) -> NDArray[np.intp]:
    """Join components by comparing the points of undecided pairs of cubes."""
    wanted = np.unique(undecided)
    if cubes.counts[wanted].sum() > _MOST_POINTS:
        raise _too_narrow("many pairs of points at the limit of being joined")
    points = blocks.reduce(_points_of, _stack, cloud, grid, cubes.keys[wanted])
    place = np.searchsorted(cubes.keys, grid.keys(points))
    order = np.argsort(place, kind="stable")
    points, place = points[order], place[order]
    trees: dict[int, cKDTree] = {}
    for one, other in undecided.tolist():
        if labels[one] == labels[other]:
            continue
        first, last = np.searchsorted(place, [one, one + 1])
        if other not in trees:
            start, stop = np.searchsorted(place, [other, other + 1])
            trees[other] = cKDTree(points[start:stop])
        if np.isfinite(
            trees[other].query(points[first:last], distance_upper_bound=EDGE_RADIUS)[0]
        ).any():
            labels = np.where(labels == labels[other], labels[one], labels)
    return labels


def _points_of(block: Any, cloud: BlockCloud, grid: Grid, keys: NDArray[np.int64]) -> FloatArray:
    coordinates = cloud.coordinates(block)
    chosen: FloatArray = coordinates[np.isin(grid.keys(coordinates), keys)]
    return chosen


def _stack(one: FloatArray, other: FloatArray) -> FloatArray:
    return np.concatenate([one, other])


def _joined(pairs: NDArray[np.intp], count: int) -> NDArray[np.intp]:
    ones = np.ones(len(pairs), np.int8)
    graph = sp.coo_array((ones, (pairs[:, 0], pairs[:, 1])), shape=(count, count))
    labels: NDArray[np.intp] = connected_components(graph, directed=False)[1].astype(np.intp)
    return labels


def _numbered(grid: Grid, cubes: Cubes, labels: NDArray[np.intp]) -> Components:
    """Number the components in the order of their first points."""
    _, labels = np.unique(labels, return_inverse=True)
    count = int(labels.max()) + 1
    firsts = np.full(count, np.iinfo(np.int64).max)
    np.minimum.at(firsts, labels, cubes.firsts)
    order = np.empty(count, np.intp)
    order[np.argsort(firsts)] = np.arange(count)
    numbers = order[labels]
    sizes = np.zeros(count, np.int64)
    np.add.at(sizes, numbers, cubes.counts)
    if count == 1:
        return Components.single(int(sizes[0]))
    found = Components(sizes, grid, cubes.keys, numbers)
    if len(found.joined) > _MOST_COMPONENTS:
        raise _too_narrow(f"{len(found.joined)} separate components")
    return found


def _too_narrow(got: str) -> ValueError:
    expected = "a larger bandwidth: too many points are far from all others"
    return invalid("bandwidth", expected, got)
