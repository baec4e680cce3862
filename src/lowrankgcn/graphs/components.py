"""Connected components of points, matrices and hypergraphs.

>>> matrix_components(sp.csr_array([[0, 1, 0], [1, 0, 0], [0, 0, 0]])).tolist()
[0, 0, 1]
>>> point_components(np.array([[0.0], [1.0], [5.0]]), 2.0).tolist()
[0, 0, 1]
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree

from lowrankgcn.operators import Factor, FloatArray
from lowrankgcn.operators.codes import CodeFactor

_GRAM_LIMIT = 4096  # up to this number of hyperedges, components come from a table of pair counts
_NEIGHBOURS = 16  # neighbours per point in the first search


def matrix_components(matrix: Any) -> NDArray[np.intp]:
    """Return the components of the graph with an edge for every stored entry of a matrix."""
    return np.asarray(connected_components(matrix, directed=False)[1].astype(np.intp))


def incidence_components(incidence: Factor) -> NDArray[np.intp]:
    """Return the components of the nodes of a hypergraph."""
    n, n_hyperedges = incidence.shape
    if not n_hyperedges:
        return np.arange(n)
    if isinstance(incidence, CodeFactor) and n_hyperedges <= _GRAM_LIMIT:
        return _table_components(incidence)
    factor: Any = incidence
    matrix = factor.to_sparse() if isinstance(incidence, CodeFactor) else factor.matrix
    bipartite = sp.block_array([[None, matrix], [matrix.T, None]], format="csr")
    return matrix_components(bipartite)[:n]


def _table_components(incidence: CodeFactor) -> NDArray[np.intp]:
    """Join hyperedges that share a row, then look up the component of each row."""
    of_edge = matrix_components(sp.csr_array(incidence.pair_counts > 0))
    lookup, labels = np.append(of_edge, -1), np.full(incidence.shape[0], -1)
    for column in incidence.codes.T:
        np.maximum(labels, lookup[column], out=labels)
        if labels.min() >= 0:  # all hyperedges of a row are in the same component
            return labels
    alone = np.flatnonzero(labels < 0)
    labels[alone] = len(of_edge) + np.arange(len(alone))
    return labels


def point_components(coordinates: FloatArray, radius: float) -> NDArray[np.intp]:
    """Return the connected components of the graph that joins points less than `radius` apart.

    The graph of nearest neighbours gives a first partition. Edges that it lacks join points with
    more neighbours than were searched. As long as there are such edges between two parts, the parts
    are joined.
    """
    n = len(coordinates)
    # A point near the centre is nearly always joined to all others: one pass is enough.
    hub = int(np.einsum("ij,ij->i", coordinates, coordinates).argmin())
    offsets = coordinates - coordinates[hub]
    if np.einsum("ij,ij->i", offsets, offsets).max() < radius**2:
        return np.zeros(n, np.intp)
    ranks = np.arange(1, min(_NEIGHBOURS, n) + 1)
    distances, neighbours = cKDTree(coordinates).query(
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
        tree = cKDTree(points[ones])
        distances, nearest = tree.query(points[~ones], distance_upper_bound=radius)
        near = np.isfinite(distances)
        pairs.append(np.stack([labels[~ones][near], labels[ones][nearest[near]]]))
    return np.hstack(pairs)
