"""Choice of the graph of points: Gaussian or nearest neighbours.

>>> import numpy as np
>>> points = np.random.default_rng(0).normal(size=(300, 2))
>>> point_graph("auto", points, None, random_state=0)
GaussianGraph(300 points in 2 dimensions, bandwidth=0.751734)
>>> point_graph("auto", np.random.default_rng(0).normal(size=(300, 20)), None, random_state=0)
AdjacencyGraph(300 nodes, sparse)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from lowrankgcn.graphs import AdjacencyGraph, GaussianGraph, Graph
from lowrankgcn.operators.fourier import number_of_modes
from lowrankgcn.operators.gaussian_sums import PointCloud
from lowrankgcn.operators.landmarks import greedy_landmarks

_NEIGHBOURS = 10
_SAMPLE = 2000
_BANDWIDTHS = 2.0
# Beyond these sizes of a fast sum, nearest neighbours are cheaper.
_MODES = 2**20
_LANDMARKS = 500
_SEARCHED = 20_000  # exact neighbour search is fast up to here in any dimension
_ACCURACY = 1e-2


def point_graph(
    kind: str, points: NDArray[np.float64], bandwidth: float | None, *, random_state: int
) -> Graph:
    """Build the graph of points: "gaussian", "knn" or "auto"; None chooses the bandwidth.

    "auto" chooses the Gaussian graph if fast sums are cheap: with FINUFFT in up to three
    dimensions, and with few landmarks for more than 20 000 points in more dimensions. Otherwise it
    chooses ten nearest neighbours with self-tuning weights, which separate classes better in many
    dimensions.
    """
    if kind != "knn":
        given = kind == "gaussian" or bandwidth is not None
        width = bandwidth or _local_bandwidth(points, random_state)
        if given or _fast_sum_is_cheaper(PointCloud.from_points(points, width), random_state):
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


def _fast_sum_is_cheaper(cloud: PointCloud, random_state: int) -> bool:
    """Return whether fast Gaussian sums are cheaper than nearest neighbours."""
    if cloud.dimension <= 3:
        return number_of_modes(cloud.extent, _ACCURACY) <= _MODES
    if cloud.n <= _SEARCHED:
        return False
    landmarks = greedy_landmarks(cloud, tol=_ACCURACY, limit=_LANDMARKS, random_state=random_state)
    return landmarks is not None
