"""The graph of a network: given, or built from the rows.

>>> import numpy as np
>>> points = np.random.default_rng(0).normal(size=(300, 2))
>>> point_graph("auto", points, None, random_state=0)
GaussianGraph(300 points in 2 dimensions, bandwidth=0.751734)
>>> point_graph("auto", np.random.default_rng(0).normal(size=(300, 20)), None, random_state=0)
AdjacencyGraph(300 nodes, sparse)
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from lowrankgcn.estimators.inputs import Inputs, PointInputs, TableInputs
from lowrankgcn.estimators.parameters import GCNParameters
from lowrankgcn.estimators.rows import Kind
from lowrankgcn.graphs import AdjacencyGraph, GaussianGraph, Graph, Hypergraph
from lowrankgcn.operators.gaussian import PointCloud
from lowrankgcn.operators.modes import fourier_modes
from lowrankgcn.tables import TableEncoder

_NEIGHBOURS = 10
_SAMPLE = 2000
_BANDWIDTHS = 2.0
_MOST_MODES = 2**20  # of a fast Gaussian sum that is cheaper than nearest neighbours
_ACCURACY = 1e-2


def build_graph(
    kind: Kind, data: Any, settings: GCNParameters, seed: int
) -> tuple[Inputs | None, Graph]:
    """Return inputs and graph of rows; inputs are None without features."""
    if kind == "graph":
        return None, data
    if kind == "affinities":
        return None, AdjacencyGraph(data)
    if kind == "incidence":
        return None, Hypergraph(data)
    raw = not settings.scaling
    graph = settings.graph
    if kind == "table":
        encoder, codes = TableEncoder.fit_transform(data)
        if isinstance(graph, str):
            graph = Hypergraph.from_encoder(encoder, codes)
        return TableInputs.fit(data, encoder, raw_features=raw), graph
    # A given bandwidth is in the units of the columns.
    in_units = raw or settings.bandwidth is not None
    raw_points = in_units or isinstance(graph, Graph)
    inputs = PointInputs.fit(data, raw_features=raw, raw_points=raw_points)
    if isinstance(graph, str):
        name = "gaussian" if graph == "auto" and in_units else graph
        graph = point_graph(name, inputs.rows(data), settings.bandwidth, random_state=seed)
    return inputs, graph


def point_graph(
    name: str, points: NDArray[np.float64], bandwidth: float | None, *, random_state: int
) -> Graph:
    """Build the graph of points: "gaussian", "knn" or "auto"; None chooses the bandwidth.

    "auto" chooses the Gaussian graph in up to three dimensions if its sums take few Fourier modes.
    Otherwise it chooses ten nearest neighbours with self-tuning weights, which separate classes
    better in many dimensions.
    """
    if name == "gaussian" or (name == "auto" and points.shape[1] <= 3):
        width = bandwidth or _local_bandwidth(points, random_state)
        if name == "gaussian" or _count_modes(points, width) <= _MOST_MODES:
            return GaussianGraph(points, width, random_state=random_state)
    return AdjacencyGraph.knn(points, _NEIGHBOURS, random_state=random_state)


def _local_bandwidth(points: NDArray[np.float64], random_state: int) -> float:
    """Return twice the median distance to the tenth neighbour, in a sample of at most 2000 points.

    This bandwidth separates neighbouring clusters, unlike half the median distance of all points,
    and it does not shrink with the number of points.

    Examples
    --------
    >>> import numpy as np
    >>> _local_bandwidth(np.linspace(0, 1, 101)[:, None], random_state=0)
    0.1
    """
    sample = points
    if len(points) > _SAMPLE:
        rng = np.random.default_rng(random_state)
        sample = points[np.sort(rng.choice(len(points), _SAMPLE, replace=False))]
    count = min(_NEIGHBOURS, len(sample) - 1)
    if count < 1:
        return 1.0
    distances = cKDTree(sample).query(sample, k=count + 1)[0][:, -1]
    median = float(np.median(distances))
    if median > 0:
        return _BANDWIDTHS * round(median, 15)
    positive = distances[distances > 0]
    return _BANDWIDTHS * float(positive.mean()) if len(positive) else 1.0


def _count_modes(points: NDArray[np.float64], bandwidth: float) -> int:
    """Return the number of Fourier modes that represent the Gaussian kernel of points."""
    extent = PointCloud.from_points(points, bandwidth).extent
    return math.prod((2 * fourier_modes(extent, _ACCURACY)[1] + 1).tolist())
