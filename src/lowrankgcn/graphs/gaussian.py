"""The fully connected graph of a point cloud with Gaussian weights (section 4.1).

>>> import numpy as np
>>> from lowrankgcn import GaussianGraph
>>> graph = GaussianGraph(np.array([[0.0, 0.0], [3.0, 4.0], [1000.0, 0.0]]), bandwidth=5.0)
>>> graph.n_components, graph.isolated.tolist()
(2, [False, False, True])
>>> bool(np.isclose(graph.affinity().degrees[0], np.exp(-1.0)))
True
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, final

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree
from scipy.spatial.distance import pdist

from lowrankgcn._validation import (
    choice,
    finite_array,
    invalid,
    points_array,
    positive_float,
    positive_int,
)
from lowrankgcn.graphs.base import Graph, magnitude, read_only
from lowrankgcn.operators import FloatArray
from lowrankgcn.operators.affinity import Affinity
from lowrankgcn.operators.fastsum import METHODS, gaussian_sum
from lowrankgcn.operators.gaussian import EDGE_RADIUS, PointCloud

__all__ = ["GaussianGraph"]

_BANDWIDTH_SAMPLE = 1000
_NEIGHBOURS = 16
_SMALL_COMPONENT = 1000


@final
@dataclass(frozen=True, init=False, eq=False)
class GaussianGraph(Graph):
    r"""Points joined by Gaussian weights.

    .. math:: W_{ij} = \exp(-\|x_i - x_j\|^2 / \text{bandwidth}^2), \quad W_{ii} = 0

    (the adjacency of section 4.1; scikit-learn's ``gamma`` is 1 / bandwidth²). Two points are
    joined when this is positive in double precision: within 27.3 bandwidths of each other.

    Parameters
    ----------
    points : (n, d) array
        Any dimension d ≥ 1. Kept as a view; do not change it afterwards.
    bandwidth : float or "auto"
        Positive. "auto" is half the median distance between two points, taken over at most 1000
        points drawn with `random_state` (half the mean positive distance when the median is zero,
        1 when all points coincide).
    random_state : int
        Seed of that draw and of the landmarks and error samples of fast sums.

    Attributes
    ----------
    points, bandwidth, n_nodes, components, n_components, isolated, loop_weights

    Notes
    -----
    Nothing n×n is stored beyond n = 2048: memory is O(n d) plus what the chosen way of summing
    needs (`affinity`).

    Examples
    --------
    >>> import numpy as np
    >>> from lowrankgcn import GaussianGraph
    >>> points = np.random.default_rng(0).normal(size=(500, 2))
    >>> GaussianGraph(points).n_components
    1
    """

    points: FloatArray
    bandwidth: float
    random_state: int

    def __init__(
        self,
        points: Any,
        bandwidth: float | Literal["auto"] = "auto",
        *,
        random_state: int = 0,
    ) -> None:
        array = points_array(points, "points")
        seed = positive_int(random_state, "random_state", minimum=0)
        if isinstance(bandwidth, str):
            if bandwidth != "auto":
                raise invalid("bandwidth", "a finite number > 0 or 'auto'", repr(bandwidth))
            width = _median_bandwidth(array, seed)
        else:
            width = positive_float(bandwidth, "bandwidth")
        object.__setattr__(self, "points", read_only(array))
        object.__setattr__(self, "bandwidth", width)
        object.__setattr__(self, "random_state", seed)

    def __repr__(self) -> str:
        n, d = self.points.shape
        return f"GaussianGraph({n} points in {d} dimensions, bandwidth={self.bandwidth:g})"

    @property
    def n_nodes(self) -> int:
        """Number of points n."""
        return len(self.points)

    @property
    def loop_weights(self) -> FloatArray:
        """No loops: zeros, shape (n,)."""
        return np.zeros(self.n_nodes)

    @property
    def completing_loops(self) -> FloatArray:
        """The kernel's diagonal, ones: Gaussian kernels are positive definite."""
        return np.ones(self.n_nodes)

    @cached_property
    def cloud(self) -> PointCloud:
        """The points in units of the bandwidth."""
        return PointCloud.from_points(self.points, self.bandwidth)

    def affinity(self, *, tol: float = 1e-6, method: str = "auto") -> Affinity:
        """Products with W by a fast sum whose measured error is at most `tol`.

        Parameters
        ----------
        tol : float
            Largest admissible error of the normalised weights; at most 0.1.
        method : {"auto", "dense", "low-rank", "fourier", "sparse", "blocks"}
            The way to sum, see :mod:`lowrankgcn.operators.fastsum`.

        Examples
        --------
        >>> import numpy as np
        >>> from lowrankgcn import GaussianGraph
        >>> points = np.random.default_rng(0).normal(size=(5000, 3))
        >>> weights = GaussianGraph(points, bandwidth=2.0).affinity(tol=1e-3)
        >>> weights.method, weights.error < 1e-3
        ('low-rank', True)
        """
        tol = positive_float(tol, "tol", maximum=0.1)
        choice(method, "method", METHODS)
        return gaussian_sum(
            self.cloud,
            tol=tol,
            method=method,
            isolated=self.isolated,
            random_state=self.random_state,
        )

    def coordinates(self, points: Any) -> FloatArray:
        """Further points in the units of `cloud`, shape (len(points), d)."""
        array = finite_array(points, "points", ndim=2)
        if array.shape[1] != self.points.shape[1]:
            raise invalid("points", f"{self.points.shape[1]} columns", array.shape[1])
        scaled: FloatArray = (array - self.cloud.centre) / self.cloud.bandwidth
        return scaled

    def _find_components(self) -> NDArray[np.intp]:
        coordinates = self.cloud.coordinates
        # Nearly always some point near the middle is joined to all others: one pass settles it.
        hub = int(np.einsum("ij,ij->i", coordinates, coordinates).argmin())
        offsets = coordinates - coordinates[hub]
        if np.einsum("ij,ij->i", offsets, offsets).max() < EDGE_RADIUS**2:
            return np.zeros(self.n_nodes, np.intp)
        return _components_within(coordinates, EDGE_RADIUS)


def _median_bandwidth(points: FloatArray, random_state: int) -> float:
    sample = points
    if len(points) > _BANDWIDTH_SAMPLE:
        generator = np.random.default_rng(random_state)
        sample = points[generator.choice(len(points), _BANDWIDTH_SAMPLE, replace=False)]
    exponent = magnitude(sample)
    distances = pdist(np.ldexp(sample, -exponent))
    positive = distances[distances > 0]
    if not len(positive):
        return 1.0
    median = float(np.median(distances))
    half = (median if median > 0 else float(positive.mean())) / 2
    # Half of the least number rounds to zero, as twice the largest would to infinity.
    return min(max(float(np.ldexp(half, exponent)), math.ulp(0.0)), sys.float_info.max)


def _components_within(coordinates: FloatArray, radius: float) -> NDArray[np.intp]:
    """Connected components of the graph that joins points less than `radius` apart.

    Nearest neighbours settle most of it; a component is final once all its points have seen every
    neighbour they have. The others look for their nearest point outside, round by round (Borůvka).
    """
    n = len(coordinates)
    tree = cKDTree(coordinates)
    count = min(_NEIGHBOURS, n)
    distances, neighbours = tree.query(
        coordinates, k=np.arange(1, count + 1), distance_upper_bound=radius
    )
    found = np.isfinite(distances)
    rows = np.repeat(np.arange(n), found.sum(axis=1))
    labels = _join(rows, neighbours[found], n)
    open_points = found.all(axis=1) if count < n else np.zeros(n, bool)
    while True:
        unsettled = np.unique(labels[open_points])
        if not len(unsettled) or labels.max() == 0:
            return labels
        rows_out: list[int] = []
        columns_out: list[int] = []
        for label in unsettled:
            inside = np.flatnonzero(labels == label)
            edge = _edge_out(tree, coordinates, inside, labels == label, radius)
            if edge is None:
                open_points[inside] = False
            else:
                rows_out.append(edge[0])
                columns_out.append(edge[1])
        if not rows_out:
            return labels
        merged = _join(labels[rows_out], labels[columns_out], int(labels.max()) + 1)
        labels = merged[labels]


def _edge_out(
    tree: cKDTree,
    coordinates: FloatArray,
    inside: NDArray[np.intp],
    member: NDArray[np.bool_],
    radius: float,
) -> tuple[int, int] | None:
    """Some edge from a component to the rest, or None."""
    if len(inside) <= _SMALL_COMPONENT:
        # Among the |component| + 1 nearest points of a member at least one lies outside.
        distances, neighbours = tree.query(
            coordinates[inside], k=len(inside) + 1, distance_upper_bound=radius
        )
        candidates = np.isfinite(distances)
        candidates[candidates] = ~member[neighbours[candidates]]
        places = np.argwhere(candidates)
        if not len(places):
            return None
        i, j = places[0]
        return int(inside[i]), int(neighbours[i, j])
    outside = np.flatnonzero(~member)
    distances, nearest = cKDTree(coordinates[inside]).query(
        coordinates[outside], distance_upper_bound=radius
    )
    hits = np.flatnonzero(np.isfinite(distances))
    if not len(hits):
        return None
    return int(inside[nearest[hits[0]]]), int(outside[hits[0]])


def _join(rows: Any, columns: Any, n: int) -> NDArray[np.intp]:
    graph = sp.coo_array((np.ones(len(rows), np.int8), (rows, columns)), shape=(n, n))
    labels: NDArray[np.intp] = connected_components(graph, directed=False)[1].astype(np.intp)
    return labels
