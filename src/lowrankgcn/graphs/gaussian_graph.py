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
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, final

import numpy as np
import scipy  # loads its parts when they are used
import scipy.sparse as sp
from numpy.typing import NDArray

from lowrankgcn._validation import choice, invalid, points_array, positive_float, positive_int
from lowrankgcn.graphs.cross_affinity import (
    CrossAffinity,
    LandmarkCross,
    PointCross,
    diagonal_factor,
)
from lowrankgcn.graphs.graph import Graph, RowKind
from lowrankgcn.graphs.matrices import magnitude, matrix_components, read_only
from lowrankgcn.operators import DiagonalPlusLowRank, FloatArray
from lowrankgcn.operators.affinity import Affinity
from lowrankgcn.operators.fastsum import METHODS, gaussian_sum
from lowrankgcn.operators.gaussian_sums import EDGE_RADIUS, PointCloud
from lowrankgcn.operators.landmarks import LandmarkFactor

_BANDWIDTH_SAMPLE = 1000  # points whose distances choose the bandwidth
_NEIGHBOURS = 16  # neighbours per point in the first search for components


@final
@dataclass(frozen=True, init=False, eq=False)
class GaussianGraph(Graph):
    r"""Points joined by Gaussian weights.

    .. math:: W_{ij} = \exp(-\left\|x_i - x_j\right\|^2 / \text{bandwidth}^2), \quad W_{ii} = 0

    (the adjacency of section 4.1; scikit-learn's ``gamma`` is 1 / bandwidth²). Two points are
    joined if the weight is positive in double precision: within 27.3 bandwidths of each other.

    Parameters
    ----------
    points : (n, d) array
        Any dimension d ≥ 1. Kept as a view; do not change it afterwards.
    bandwidth : float or "auto"
        Positive. "auto" is half the median distance between two points, estimated from at most
        1000 points drawn with `random_state` (half the mean positive distance if the median is
        zero, 1 if all points coincide).
    random_state : int
        Seed of this draw and of the landmarks and error samples of fast sums.

    Attributes
    ----------
    points, bandwidth, n_nodes, components, n_components, isolated, loop_weights

    See Also
    --------
    AdjacencyGraph.knn : Sparse graph of nearest neighbours, for more than three dimensions.
    Laplacian : The operator of a graph.
    datasets.load_spiral : Points of the paper.

    Notes
    -----
    Nothing n×n is stored beyond n = 2048: memory is O(n d) plus that of the summation method
    (`affinity`).

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
        self, points: Any, bandwidth: float | Literal["auto"] = "auto", *, random_state: int = 0
    ) -> None:
        array = points_array(points, "points")
        seed = positive_int(random_state, "random_state", minimum=0)
        if isinstance(bandwidth, str):
            if bandwidth != "auto":
                raise invalid("bandwidth", "a finite number > 0 or 'auto'", repr(bandwidth))
            width = _median_bandwidth(array, seed)
        else:
            width = positive_float(bandwidth, "bandwidth")
        self._set(points=read_only(array), bandwidth=width, random_state=seed)

    def __repr__(self) -> str:
        n, d = self.points.shape
        return f"GaussianGraph({n} points in {d} dimensions, bandwidth={self.bandwidth:g})"

    @property
    def n_nodes(self) -> int:
        """Number of points n."""
        return len(self.points)

    @property
    def loop_weights(self) -> FloatArray:
        """Zeros, shape (n,)."""
        return np.zeros(self.n_nodes)

    @property
    def completing_loops(self) -> FloatArray:
        """Ones, the diagonal of the kernel: Gaussian kernels are positive definite."""
        return np.ones(self.n_nodes)

    @property
    def row_kind(self) -> RowKind:
        """Points."""
        return "points"

    @property
    def row_columns(self) -> Sequence[int]:
        """Positions of the coordinates."""
        return range(self.points.shape[1])

    @property
    def node_data(self) -> FloatArray:
        """The points, shape (n, d)."""
        return self.points

    def cross_affinity(
        self, affinity: Affinity, degrees: FloatArray, loop_weight: float
    ) -> CrossAffinity:
        """Return the weights of new points through landmarks or all points."""
        operator, cloud = affinity.operator, self.cloud
        factor = operator.factor if isinstance(operator, DiagonalPlusLowRank) else None
        if isinstance(factor, LandmarkFactor):
            return LandmarkCross.from_factor(cloud, factor, degrees, loop_weight)
        return PointCross(
            loop_weight=loop_weight,
            columns=diagonal_factor(degrees),
            centre=cloud.centre,
            bandwidth=cloud.bandwidth,
            coordinates=np.ascontiguousarray(cloud.coordinates),
        )

    def _describe(self) -> tuple[str, str, dict[str, int | float]]:
        meaning = (
            "All rows are joined; the weight decreases with their distance, "
            "to 37 % at a distance of one bandwidth."
        )
        facts = {"bandwidth": self.bandwidth, "features": self.points.shape[1]}
        return "Gaussian graph", meaning, facts

    @cached_property
    def cloud(self) -> PointCloud:
        """The points in units of the bandwidth."""
        return PointCloud.from_points(self.points, self.bandwidth)

    def affinity(self, *, tol: float = 1e-6, method: str = "auto") -> Affinity:
        """Return products with W by a fast sum whose measured error is at most `tol`.

        Parameters
        ----------
        tol : float
            Largest admissible error of the normalised weights; at most 0.1.
        method : {"auto", "dense", "low-rank", "fourier", "split", "blocks"}
            Summation method, see :mod:`lowrankgcn.operators.fastsum`.

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

    def _find_components(self) -> NDArray[np.intp]:
        return _point_components(self.cloud.coordinates, EDGE_RADIUS)


def _median_bandwidth(points: FloatArray, random_state: int) -> float:
    sample = points
    if len(points) > _BANDWIDTH_SAMPLE:
        generator = np.random.default_rng(random_state)
        sample = points[generator.choice(len(points), _BANDWIDTH_SAMPLE, replace=False)]
    exponent = magnitude(sample)
    distances = scipy.spatial.distance.pdist(np.ldexp(sample, -exponent))
    positive = distances[distances > 0]
    if not len(positive):
        return 1.0
    median = float(np.median(distances))
    half = (median if median > 0 else float(positive.mean())) / 2
    # Half of the smallest positive number rounds to zero.
    return min(max(float(np.ldexp(half, exponent)), math.ulp(0.0)), sys.float_info.max)


def _point_components(coordinates: FloatArray, radius: float) -> NDArray[np.intp]:
    """Return the connected components of the graph that joins points less than `radius` apart.

    The graph of nearest neighbours gives a first partition. Edges that it lacks join points with
    more neighbours than were searched. As long as there are such edges between two parts, the parts
    are joined.

    >>> _point_components(np.array([[0.0], [1.0], [5.0]]), 2.0).tolist()
    [0, 0, 1]
    """
    n = len(coordinates)
    # A point near the centre is nearly always joined to all others: one pass is enough.
    hub = int(np.einsum("ij,ij->i", coordinates, coordinates).argmin())
    offsets = coordinates - coordinates[hub]
    if np.einsum("ij,ij->i", offsets, offsets).max() < radius**2:
        return np.zeros(n, np.intp)
    ranks = np.arange(1, min(_NEIGHBOURS, n) + 1)
    distances, neighbours = scipy.spatial.cKDTree(coordinates).query(
        coordinates, k=ranks, distance_upper_bound=radius
    )
    near = np.isfinite(distances)
    crowded = near.all(axis=1)
    labels = _joined(n, np.repeat(np.arange(n), near.sum(axis=1)), neighbours[near])
    while True:
        start, end = _links(coordinates[crowded], labels[crowded], radius)
        if not len(start):
            return labels
        labels = _joined(int(labels.max()) + 1, start, end)[labels]


def _joined(n: int, start: NDArray[np.intp], end: NDArray[np.intp]) -> NDArray[np.intp]:
    return matrix_components(sp.coo_array((np.ones(len(start)), (start, end)), shape=(n, n)))


def _links(points: FloatArray, labels: NDArray[np.intp], radius: float) -> NDArray[np.intp]:
    """Return pairs of labels of points less than `radius` apart, shape (2, m).

    Two labels differ in a binary digit, so one nearest neighbour among the points of the other
    digit is enough: if any two labels can be joined, then at least one of them is in a pair.
    """
    pairs = [np.zeros((2, 0), np.intp)]
    for digit in range(int(labels.max(initial=0)).bit_length()):
        ones = (labels >> digit) % 2 == 1
        tree = scipy.spatial.cKDTree(points[ones])
        distances, nearest = tree.query(points[~ones], distance_upper_bound=radius)
        near = np.isfinite(distances)
        pairs.append(np.stack([labels[~ones][near], labels[ones][nearest[near]]]))
    return np.hstack(pairs)
