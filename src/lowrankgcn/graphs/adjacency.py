"""Graphs from a weight matrix, an edge list, a NetworkX graph or nearest neighbours.

>>> import numpy as np
>>> from lowrankgcn import AdjacencyGraph
>>> path = AdjacencyGraph.from_edge_index(np.array([[0, 1], [1, 2]]))
>>> path.adjacency.toarray()
array([[0., 1., 0.],
       [1., 0., 1.],
       [0., 1., 0.]])
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lowrankgcn._validation import (
    LARGEST_OPTION,
    choice,
    finite_array,
    invalid,
    node_count,
    pair_index,
    points_array,
    positive_float,
    positive_int,
    random_generator,
)
from lowrankgcn.exceptions import DirectedGraphWarning, warn_caller
from lowrankgcn.graphs.cross_affinity import CrossAffinity, diagonal_factor
from lowrankgcn.graphs.graph import Graph, RowKind
from lowrankgcn.graphs.matrices import (
    check_weights,
    csr_copy,
    matrix_components,
    read_only,
    weight_array,
)
from lowrankgcn.graphs.neighbours import LARGEST_SEED, WEIGHTS, NearestNeighbours, NeighbourWeights
from lowrankgcn.graphs.sparse_cross import NeighbourCross, WeightCross
from lowrankgcn.operators import FloatArray, MatrixOperator
from lowrankgcn.operators.affinity import Affinity

# Entries W_ij and W_ji may differ by this much of the largest weight.
_SYMMETRY_TOL = 1e-10


@final
@dataclass(frozen=True, init=False, eq=False)
class AdjacencyGraph(Graph):
    """A graph given by its symmetric, nonnegative weight matrix W.

    Parameters
    ----------
    adjacency : (n, n) array or SciPy sparse matrix
        Weights. Diagonal entries are self-loops: they are stored separately as `loop_weights`, are
        the default smoother S of the Laplacian (section A2.4), and do not join a node to others. A
        dense float64 array without loops is kept as a view; do not change it afterwards.

    Attributes
    ----------
    adjacency : (n, n) array or csr_array
        The weights without the diagonal.
    loop_weights : (n,) array
        The diagonal.
    neighbours : NearestNeighbours or None
        Weights of new points, for graphs built by :meth:`knn`.

    Raises
    ------
    ValueError
        If the matrix is not square, not symmetric, or has negative or non-finite entries.

    See Also
    --------
    GaussianGraph : Complete graph of points.
    Laplacian : The operator of a graph.
    nn.from_pyg : Graph of a data object of PyTorch Geometric.

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
            diagonal: Any = sp.diags_array(loops) if sp.issparse(matrix) else np.diag(loops)
            matrix = matrix - diagonal
        matrix = sp.csr_array(matrix) if sp.issparse(matrix) else read_only(matrix)
        self._set(adjacency=matrix, neighbours=None, _loops=read_only(loops))

    @classmethod
    def from_edge_index(
        cls, edge_index: Any, weights: Any = None, *, n_nodes: int | None = None
    ) -> AdjacencyGraph:
        """Build the graph from an edge list in PyG's layout.

        Parameters
        ----------
        edge_index : (2, m) integer array
            Pairs of nodes, also two arrays of nodes. An edge may be listed in one or both
            directions, and loops (i, i) once. Repeated pairs are joined: their weights add up.
        weights : (m,) array, optional
            Edge weights; ones by default, so that an edge counts as often as it is listed. If the
            sums of both directions differ, the larger one holds.
        n_nodes : int, optional
            Number of nodes; the largest index plus one by default.

        Warns
        -----
        DirectedGraphWarning
            If the given weights of both directions of an edge differ.

        Examples
        --------
        >>> from lowrankgcn import AdjacencyGraph
        >>> AdjacencyGraph.from_edge_index([[0, 1], [1, 0]], n_nodes=3).n_components
        2
        >>> AdjacencyGraph.from_edge_index([[0, 0], [1, 1]], [0.5, 2.0]).adjacency.toarray()
        array([[0. , 2.5],
               [2.5, 0. ]])
        """
        index = pair_index(edge_index, "edge_index")
        n = node_count(n_nodes, "n_nodes", int(index.max(initial=0)) + 1)
        values = weight_array(weights, index.shape[1], zero=True)
        listed = sp.coo_array((values, (index[0], index[1])), shape=(n, n)).tocsr()
        if weights is not None:
            pattern = listed.copy()  # includes edges of weight zero
            pattern.data[:] = 1.0
            both = pattern.multiply(pattern.T)
            difference = float(abs(listed - listed.T).multiply(both).max())
            if difference > _SYMMETRY_TOL * listed.data.max(initial=0.0):
                _warn_directed(f"weights of both directions differ by up to {difference:g}")
        return cls(listed.maximum(listed.T))  # other directions are zero

    @classmethod
    def from_networkx(cls, graph: Any, *, weight: str | None = "weight") -> AdjacencyGraph:
        """Build the graph from a NetworkX graph, nodes in the order it lists them.

        Parameters
        ----------
        graph : networkx.Graph
            Parallel edges of a multigraph add up. The larger weight of both directions of a
            directed graph holds.
        weight : str or None
            Edge attribute with the weight, a number ≥ 0 (1 where absent). None: all weights are 1.

        Warns
        -----
        DirectedGraphWarning
            If the graph is directed.

        Examples
        --------
        Attributes of the nodes become features and labels:

        >>> import networkx as nx, pandas as pd
        >>> from lowrankgcn import AdjacencyGraph
        >>> papers = nx.Graph([("A", "B"), ("B", "C")])
        >>> nx.set_node_attributes(papers, {"A": 1999, "B": 2005, "C": 2004}, "year")
        >>> graph = AdjacencyGraph.from_networkx(papers)
        >>> nodes = pd.DataFrame.from_dict(dict(papers.nodes(data=True)), orient="index")
        >>> graph.n_nodes, nodes["year"].tolist()
        (3, [1999, 2005, 2004])
        """
        import networkx as nx  # here, because it is optional

        if not isinstance(graph, nx.Graph):
            raise invalid("graph", "a NetworkX graph", type(graph).__name__)
        if not isinstance(weight, str | None):
            raise invalid("weight", "the name of an edge attribute or None", repr(weight))
        if not len(graph.nodes):
            raise invalid("graph", "at least one node", "none")
        for *_, attributes in graph.edges(data=True):
            positive_float(attributes.get(weight, 1.0), "weight", zero=True)
        matrix = nx.to_scipy_sparse_array(graph, dtype=float, weight=weight)
        if graph.is_directed():
            _warn_directed("the graph is directed")
            matrix = matrix.maximum(matrix.T)
        return cls(matrix)

    @classmethod
    def knn(
        cls,
        points: Any,
        k: int = 10,
        *,
        weights: NeighbourWeights = "self-tuning",
        least_scale: float = 0.0,
        random_state: Any = 0,
    ) -> AdjacencyGraph:
        """Join every point to its k nearest neighbours and to the points it is a neighbour of.

        Parameters
        ----------
        points : (n, d) array
            At least two points.
        k : int
            Neighbours per point, not counting itself; n − 1 if k is larger.
        weights : {"self-tuning", "binary"}
            exp(−‖x − y‖² / (s_x s_y)) with s the distance to the k-th neighbour, or 1. If the scale
            is zero (k duplicates), the weight is 1 between duplicates and 0 otherwise.
        least_scale : float
            Distances s are at least this multiple of their mean. With a positive value such as 0.1,
            duplicates keep their edges to other points.
        random_state : int, Generator or None
            Determines the approximation for many points.

        Notes
        -----
        In up to three dimensions, and for up to 20 000 points, the neighbours are exact, by SciPy's
        k-d tree and by FAISS. Otherwise FAISS searches the points near 12 or more of 2√n centres;
        `recall` is the share of the neighbours found, at least 0.9, measured for 200 points. Time
        is about n log n in up to three dimensions, otherwise n² up to 20 000 points and n^1.5
        beyond. Memory O(n (d + k)).

        Examples
        --------
        >>> from lowrankgcn import AdjacencyGraph
        >>> graph = AdjacencyGraph.knn([[0.0], [1.0], [5.0], [6.0]], k=1, weights="binary")
        >>> graph.n_components
        2
        """
        array = points_array(points, "points")
        count = positive_int(k, "k")
        choice(weights, "weights", WEIGHTS)
        if len(array) < 2:
            raise invalid("points", "at least two rows", len(array))
        least = positive_float(least_scale, "least_scale", zero=True, maximum=LARGEST_OPTION)
        seed = int(random_generator(random_state).integers(LARGEST_SEED))
        near, directed = NearestNeighbours.from_points(
            array, min(count, len(array) - 1), weights, least_scale=least, seed=seed
        )
        graph = cls(directed.maximum(directed.T))
        graph._set(neighbours=near)
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
        """Diagonal of the given matrix, shape (n,)."""
        return self._loops

    @property
    def recall(self) -> float | None:
        """Share of the nearest neighbours found, for graphs built by :meth:`knn`; 1 if exact."""
        return None if self.neighbours is None else self.neighbours.recall

    @property
    def row_kind(self) -> RowKind:
        """Points for graphs built by :meth:`knn`, otherwise affinities to all nodes."""
        return "affinities" if self.neighbours is None else "points"

    @property
    def row_columns(self) -> Sequence[int]:
        """Positions of the coordinates or of the nodes."""
        near = self.neighbours
        return range(self.n_nodes if near is None else near.points.shape[1])

    @property
    def node_data(self) -> FloatArray | None:
        """Points of a graph built by :meth:`knn`, shape (n, d)."""
        near = self.neighbours
        return None if near is None else np.ldexp(near.points, near.exponent)

    def cross_affinity(
        self, affinity: Affinity, degrees: FloatArray, loop_weight: float
    ) -> CrossAffinity:
        """Return the weights of new points to their neighbours, or of given rows of weights."""
        columns = diagonal_factor(degrees)
        if self.neighbours is None:
            return WeightCross(loop_weight=loop_weight, columns=columns, n_nodes=self.n_nodes)
        return NeighbourCross(
            loop_weight=loop_weight, columns=columns, neighbours=self.neighbours.compact()
        )

    def _describe(self) -> tuple[str, str, dict[str, int | float]]:
        facts: dict[str, int | float] = {"joined pairs": int((self.adjacency > 0).sum()) // 2}
        if self.neighbours is None:
            return "given graph", "The weights between rows were given.", facts
        meaning = (
            f"Each row is joined to the {self.neighbours.count} nearest rows; "
            "nearer rows get larger weights."
        )
        facts["recall"] = self.neighbours.recall
        return "nearest neighbours", meaning, facts

    def affinity(self, *, tol: float = 1e-6, method: str = "auto") -> Affinity:
        """Return exact products with the given weights; `tol` and `method` have no effect."""
        operator = MatrixOperator(self.adjacency)
        return Affinity(operator, np.zeros(self.n_nodes), self.adjacency.sum(axis=1))

    def _find_components(self) -> NDArray[np.intp]:
        # SciPy treats dense weights below 1e-8 as no edge.
        return matrix_components(sp.csr_array(self.adjacency > 0))


def _warn_directed(reason: str) -> None:
    message = f"{reason}; the larger weight of both directions of an edge holds"
    warn_caller(message, DirectedGraphWarning)


def _symmetric_matrix(adjacency: Any) -> Any:
    """Return a validated square matrix, dense or csr, float64, exactly symmetric."""
    matrix: Any
    if sp.issparse(adjacency):
        matrix = csr_copy(adjacency, "adjacency")
        values = matrix.data
    else:
        matrix = values = finite_array(adjacency, "adjacency", ndim=2)
    if matrix.shape[0] != matrix.shape[1] or matrix.shape[0] < 1:
        raise invalid("adjacency", "a square matrix with at least one row", f"shape {matrix.shape}")
    check_weights(values, "adjacency")
    difference = float(abs(matrix - matrix.T).max())
    if difference > _SYMMETRY_TOL * values.max(initial=0.0):
        expected = "a symmetric matrix (W.maximum(W.T) joins both directions)"
        raise invalid("adjacency", expected, f"entries that differ by {difference:g}")
    return (matrix + matrix.T) / 2 if difference > 0 else matrix
