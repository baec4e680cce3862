"""Positions of the rows on the map, which do not depend on labels.

Points in two or three dimensions keep their coordinates. Of other tables, two eigenvectors show
little: most groups of rows coincide. The map therefore starts from principal components, and then
neighbours attract each other and random pairs repel each other, as in UMAP [McInnes et al. 2018].

>>> rows = np.repeat([0.0, 9.0], 20)[:, None] + np.arange(40)[:, None] % 20 / 40
>>> fitted = FittedViews.fit(np.c_[rows, rows, rows, rows])
>>> points = neighbour_layout(fitted, random_state=0)
>>> gap = np.linalg.norm(points[:20].mean(axis=0) - points[20:].mean(axis=0))
>>> bool(gap > points[:20].std(axis=0).max())
True
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.spatial import KDTree
from sklearn.utils.extmath import randomized_svd

from lowrankgcn.estimators.gp_fitting import PreparedRows
from lowrankgcn.gp.views import FittedViews
from lowrankgcn.graphs import AdjacencyGraph
from lowrankgcn.studio.showing import has_own_positions
from lowrankgcn.tables import Table

Floats = NDArray[np.floating[Any]]

# Conventions of the map; no prediction depends on them.
_STEPS, _FEWER_STEPS, _MANY_ROWS = 100, 50, 20_000
_REPELLED, _REPULSION, _ATTRACTION = 5, 2.0, 10.0
_NEIGHBOURS, _NEAR = 10, 0.05
_COORDINATES, _JITTER = 10, 0.005  # of rows that are not sampled
_FIRST = 3  # eigenvectors of a given graph
_MARGIN = 1.1


def map_positions(features: Table, prepared: PreparedRows) -> NDArray[np.float32]:
    """Return positions in [-1, 1], shape (n, 2), or (n, 3) for points in three dimensions."""
    if "given" not in prepared.views.graphs and has_own_positions(
        [cells.kind for _, cells in features.items()]
    ):
        fitted = prepared.views.maps.features
        return _framed(features.as_matrix(), fitted is not None and fitted.common_unit is not None)
    positions = _framed(neighbour_layout(prepared.views, random_state=prepared.seed), True)
    if prepared.outside is None:
        return positions
    # Other rows are placed at the nearest sampled row, by their spectral coordinates.
    view = _map_view(prepared.views)
    known = KDTree(prepared.views.views[view][:, :_COORDINATES])
    _, nearest = known.query(prepared.outside[view][:, :_COORDINATES], workers=-1)
    sample, rest = prepared.sample.index, prepared.sample.rest
    every = np.empty((len(sample) + len(rest), 2), np.float32)
    noise = np.random.default_rng(prepared.seed).normal(scale=_JITTER, size=(len(rest), 2))
    every[sample], every[rest] = positions, np.clip(positions[nearest] + noise, -1, 1)
    return every


def neighbour_layout(fitted: FittedViews, *, random_state: int) -> NDArray[np.float32]:
    """Return positions of the fitted rows in a plane, shape (n, 2).

    Notes
    -----
    With squared distances s, neighbours attract each other with 1/(1 + s), and random pairs repel
    each other with 1/((0.05 + s)(1 + s)). O(n) for each of 50 or 100 steps.
    """
    generator = np.random.default_rng(random_state)
    nodes, graph = fitted.maps.nodes, fitted.graphs.get("neighbours") or fitted.graphs.get("given")
    if isinstance(graph, AdjacencyGraph):
        weights = sp.csr_array(graph.adjacency)
    elif nodes is not None:
        weights = nodes.near  # hyperedges may have many members
    else:
        rows = fitted.views[_map_view(fitted)]
        near = AdjacencyGraph.knn(rows, min(_NEIGHBOURS, len(rows) - 1))
        weights = sp.csr_array(near.adjacency)
    sums = np.maximum(np.asarray(weights.sum(axis=1)).ravel(), 1e-300)
    weights = sp.diags_array(_ATTRACTION / sums) @ weights
    weights = sp.csr_array((weights + weights.T) / 2)
    place = _start(fitted, generator)
    n = len(place)
    steps = _STEPS if n <= _MANY_ROWS else _FEWER_STEPS
    first, second = weights.nonzero()
    for step in range(steps):
        apart = place[first] - place[second]
        pull = weights.data / (1.0 + (apart * apart).sum(axis=1))
        pulls = sp.csr_array((pull.astype(np.float32), (first, second)), shape=(n, n))
        force = pulls @ place - np.asarray(pulls.sum(axis=1))[:, None] * place
        for others in generator.integers(n, size=(_REPELLED, n)):
            apart = place - place[others]
            squares = (apart * apart).sum(axis=1, keepdims=True)
            force += apart * (_REPULSION / ((_NEAR + squares) * (1.0 + squares)))
        place += np.clip(0.5 * (1.0 - step / steps) * force, -1.0, 1.0)
    return place


def _map_view(fitted: FittedViews) -> str:
    """Return the view in which near rows are near on the map."""
    names = ("neighbours", "given", "hypergraph", "gaussian", "standard")
    return next(name for name in names if name in fitted.views)


def _start(fitted: FittedViews, generator: np.random.Generator) -> NDArray[np.float32]:
    """Return the first two principal components of the features, in units of their spread.

    Without features, they are those of the first eigenvectors, because later ones of a sparse graph
    are often large at few nodes. Wide features are reduced to their first singular vectors.
    """
    views, nodes = fitted.views, fitted.maps.nodes
    if "standard" in views:
        rows = views["standard"]
    elif nodes is not None:
        count = min(_FIRST, *nodes.features.shape)
        U, values, _ = randomized_svd(nodes.features, count, random_state=0)
        rows = U * values
    else:
        rows = views["given"][:, :_FIRST]
    rows = rows - rows.mean(axis=0)
    _, vectors = np.linalg.eigh(rows.T @ rows)
    start = np.zeros((len(rows), 2), np.float32)
    components = rows @ vectors[:, ::-1][:, :2]
    spread = max(float(components.std(axis=0).max()), 1e-9)
    start[:, : components.shape[1]] = 5.0 * components / spread
    start += generator.normal(scale=1e-2, size=start.shape)
    return start


def _framed(points: Floats, together: bool) -> NDArray[np.float32]:
    """Scale points to [-1, 1], all coordinates together or each; distant ones are at the edge."""
    points = np.where(np.isnan(points), np.nanmedian(points, axis=0), points)
    low, high = np.quantile(points, [0.005, 0.995], axis=0)
    half = np.maximum((high - low) / 2, 1e-300)
    half = _MARGIN * (half.max() if together else half)
    framed: Floats = np.clip((points - (low + high) / 2) / half, -1.0, 1.0)
    return framed.astype(np.float32, copy=False)
