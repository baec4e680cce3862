"""Graphs given by their weights: a matrix, an edge list, a NetworkX graph, nearest neighbours.

>>> import numpy as np
>>> from lowrankgcn import AdjacencyGraph
>>> path = AdjacencyGraph.from_edge_index(np.array([[0, 1], [1, 2]]))
>>> path.adjacency.toarray()
array([[0., 1., 0.],
       [1., 0., 1.],
       [0., 1., 0.]])
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from lowrankgcn._validation import (
    MOST_NODES,
    choice,
    finite_array,
    finite_total,
    invalid,
    pair_index,
    points_array,
    positive_float,
    positive_int,
    sparse_matrix,
)
from lowrankgcn.graphs.base import Graph, read_only
from lowrankgcn.graphs.neighbours import WEIGHTS, NearestNeighbours, NeighbourWeights
from lowrankgcn.operators import DenseOperator, FloatArray, SparseOperator
from lowrankgcn.operators.affinity import Affinity

__all__ = ["AdjacencyGraph"]

# Entries W_ij and W_ji may differ by this much of the largest weight.
_SYMMETRY_TOL = 1e-10


@final
@dataclass(frozen=True, init=False, eq=False)
class AdjacencyGraph(Graph):
    """A graph given by its symmetric, nonnegative weight matrix W.

    Parameters
    ----------
    adjacency : (n, n) array or SciPy sparse matrix
        Weights. Entries on the diagonal are self-loops: they are kept apart as `loop_weights`,
        count as the smoother S of section A2.4 when the Laplacian is asked for no other, and never
        make a node less isolated. A dense float64 array without loops is kept as a view; do not
        change it afterwards.

    Attributes
    ----------
    adjacency : (n, n) array or csr_array
        The weights without the diagonal.
    loop_weights : (n,) array
        The diagonal.
    neighbours : NearestNeighbours or None
        For graphs made by :meth:`knn`: joins further points.

    Raises
    ------
    ValueError
        If the matrix is not square, not symmetric, or has negative or non-finite entries.

    Examples
    --------
    >>> from lowrankgcn import AdjacencyGraph
    >>> graph = AdjacencyGraph([[2.0, 1.0], [1.0, 0.0]])
    >>> graph.loop_weights.tolist(), graph.n_components
    ([2.0, 0.0], 1)
    """

    adjacency: FloatArray | sp.csr_array
    neighbours: NearestNeighbours | None
    _loops: FloatArray

    def __init__(self, adjacency: Any) -> None:
        matrix = _symmetric_matrix(adjacency)
        loops = np.asarray(matrix.diagonal(), np.float64).copy()
        if loops.any():
            matrix = matrix.copy()
            if sp.issparse(matrix):
                matrix.setdiag(0.0)
            else:
                np.fill_diagonal(matrix, 0.0)
        if sp.issparse(matrix):
            matrix.eliminate_zeros()
        else:
            matrix = read_only(matrix)
        object.__setattr__(self, "adjacency", matrix)
        object.__setattr__(self, "neighbours", None)
        object.__setattr__(self, "_loops", read_only(loops))

    @classmethod
    def from_edge_index(
        cls, edge_index: Any, weights: Any = None, *, n_nodes: int | None = None
    ) -> AdjacencyGraph:
        """Build the graph from an edge list in PyG's layout.

        Parameters
        ----------
        edge_index : (2, m) integer array
            Pairs of nodes. An edge may be given once or in both directions; when both are there,
            their weights must agree. Repeated pairs are refused.
        weights : (m,) array, optional
            Ones when omitted.
        n_nodes : int, optional
            Largest index plus one when omitted.

        Examples
        --------
        >>> from lowrankgcn import AdjacencyGraph
        >>> AdjacencyGraph.from_edge_index([[0, 1], [1, 0]], n_nodes=3).n_components
        2
        """
        index = pair_index(edge_index, "edge_index")
        smallest = int(index.max()) + 1 if index.size else 1
        n = smallest
        if n_nodes is not None:
            n = positive_int(n_nodes, "n_nodes", minimum=smallest, maximum=MOST_NODES)
        values = np.ones(index.shape[1])
        if weights is not None:
            values = finite_array(weights, "weights", ndim=1)
            if len(values) != index.shape[1]:
                raise invalid("weights", f"{index.shape[1]} entries", len(values))
            if values.min(initial=0.0) < 0:
                raise invalid("weights", "weights >= 0", float(values.min()))
        pattern = sp.coo_array((np.ones(len(values)), (index[0], index[1])), shape=(n, n)).tocsr()
        if pattern.nnz != len(values):
            raise invalid("edge_index", "every pair once", f"{len(values) - pattern.nnz} repeated")
        given = sp.coo_array((values, (index[0], index[1])), shape=(n, n)).tocsr()
        both = pattern.multiply(pattern.T)
        difference = float(abs(given - given.T).multiply(both).max())
        if difference > _SYMMETRY_TOL * values.max(initial=0.0):
            got = f"weights that differ by {difference:g}"
            raise invalid("weights", "the same weight in both directions of an edge", got)
        # Where the reverse direction was not given, add it.
        missing = given.multiply(pattern - both).T
        return cls(given + missing)

    @classmethod
    def from_networkx(cls, graph: Any, *, weight: str | None = "weight") -> AdjacencyGraph:
        """Build the graph from an undirected NetworkX graph, nodes in the order it lists them.

        Parameters
        ----------
        graph : networkx.Graph
            Parallel edges of a multigraph add up; directed graphs are refused.
        weight : str or None
            Edge attribute holding the weight, a number ≥ 0 (1 where absent); None for weights of 1.
        """
        if isinstance(graph, type) or not all(
            hasattr(graph, name) for name in ("is_directed", "nodes", "edges")
        ):
            raise invalid("graph", "a NetworkX graph", type(graph).__name__)
        if graph.is_directed():
            raise invalid("graph", "an undirected graph", "a directed one; use to_undirected()")
        if not isinstance(weight, str | None):
            raise invalid("weight", "the name of an edge attribute or None", repr(weight))
        position = {node: i for i, node in enumerate(graph.nodes)}
        if not position:
            raise invalid("graph", "at least one node", "none")
        rows, columns, values = [], [], []
        for left, right, data in graph.edges(data=True):
            given = 1.0 if weight is None else data.get(weight, 1.0)
            value = positive_float(given, "weight", zero=True)
            i, j = position[left], position[right]
            rows += [i] if i == j else [i, j]
            columns += [j] if i == j else [j, i]
            values += [value] if i == j else [value, value]
        n = len(position)
        return cls(sp.coo_array((np.asarray(values, float), (rows, columns)), shape=(n, n)))

    @classmethod
    def knn(
        cls,
        points: Any,
        k: int = 10,
        *,
        weights: NeighbourWeights = "self-tuning",
    ) -> AdjacencyGraph:
        """Join every point with its k nearest neighbours (and with those it is a neighbour of).

        Parameters
        ----------
        points : (n, d) array
            At least two points.
        k : int
            Neighbours per point, not counting itself; at most n − 1 are taken.
        weights : {"self-tuning", "binary"}
            exp(−‖x − y‖² / (s_x s_y)) with s the distance to the k-th neighbour, or 1. A scale of
            zero (k duplicates) makes the weight 1 between duplicates and 0 to all others.

        Notes
        -----
        SciPy's k-d tree: about n log n in few dimensions, n² in many. Memory O(n k).

        Examples
        --------
        >>> from lowrankgcn import AdjacencyGraph
        >>> graph = AdjacencyGraph.knn([[0.0], [1.0], [5.0], [6.0]], k=1, weights="binary")
        >>> graph.n_components
        2
        """
        array = points_array(points, "points")
        neighbours_wanted = positive_int(k, "k")
        choice(weights, "weights", WEIGHTS)
        n = len(array)
        if n < 2:
            raise invalid("points", "at least two rows", n)
        count = min(neighbours_wanted, n - 1)
        near, directed = NearestNeighbours.of_points(array, count, weights)
        graph = cls(directed.maximum(directed.T))
        object.__setattr__(graph, "neighbours", near)
        return graph

    def __repr__(self) -> str:
        kind = "sparse" if sp.issparse(self.adjacency) else "dense"
        return f"AdjacencyGraph({self.n_nodes} nodes, {kind})"

    @property
    def n_nodes(self) -> int:
        """Number of nodes n."""
        return int(self.adjacency.shape[0])

    @property
    def loop_weights(self) -> FloatArray:
        """The self-loops that the matrix had on its diagonal, shape (n,)."""
        return self._loops

    def affinity(self, *, tol: float = 1e-6, method: str = "auto") -> Affinity:
        """Exact products with the given weights; `tol` and `method` have nothing to decide."""
        operator: SparseOperator | DenseOperator
        if sp.issparse(self.adjacency):
            operator = SparseOperator(self.adjacency)
        else:
            operator = DenseOperator(self.adjacency)
        degrees = np.asarray(self.adjacency.sum(axis=1), np.float64).ravel()
        return Affinity(operator, np.zeros(self.n_nodes), degrees)

    def _find_components(self) -> NDArray[np.intp]:
        # Of a dense matrix SciPy would take weights below 1e-8 for no edge.
        edges = sp.csr_array(self.adjacency > 0)
        labels: NDArray[np.intp] = connected_components(edges, directed=False)[1]
        return labels.astype(np.intp)


def _symmetric_matrix(adjacency: Any) -> Any:
    """Validated square matrix, dense or csr, float64, exactly symmetric."""
    matrix: Any
    if sp.issparse(adjacency):
        # A copy, because bringing it into canonical form rearranges the arrays it is made of.
        matrix = sp.csr_array(sparse_matrix(adjacency, "adjacency"), dtype=np.float64, copy=True)
        matrix.sum_duplicates()
        values = matrix.data
        if not np.isfinite(values).all():
            raise invalid("adjacency", "finite entries", "NaN or infinity")
    else:
        matrix = values = finite_array(adjacency, "adjacency", ndim=2)
    if matrix.shape[0] != matrix.shape[1] or matrix.shape[0] < 1:
        raise invalid("adjacency", "a square matrix with at least one row", f"shape {matrix.shape}")
    if values.size and values.min() < 0:
        raise invalid("adjacency", "weights >= 0", float(values.min()))
    finite_total(values, "adjacency")
    largest = float(values.max()) if values.size else 0.0
    difference = float(abs(matrix - matrix.T).max())
    if difference > _SYMMETRY_TOL * largest:
        raise invalid("adjacency", "a symmetric matrix", f"entries that differ by {difference:g}")
    if difference > 0:
        return (matrix + matrix.T) / 2
    return matrix
