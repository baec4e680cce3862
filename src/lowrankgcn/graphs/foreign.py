"""Graphs of other libraries: NetworkX, PyTorch Geometric, matrices of weights.

Objects are recognised by their attributes, so that none of these libraries is imported.

>>> import numpy as np
>>> as_graph(np.array([[0.0, 2.0], [2.0, 0.0]]))
AdjacencyGraph(2 nodes, dense)
>>> as_graph("knn") is None
True
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lowrankgcn.graphs.adjacency import AdjacencyGraph
from lowrankgcn.graphs.graph import Graph
from lowrankgcn.graphs.hypergraph import Hypergraph

#: Arrays of a data object of PyTorch Geometric that have a row for each node.
NODE_ARRAYS = ("x", "y", "train_mask", "val_mask", "test_mask")
_PAIRS = ("edge_index", "hyperedge_index")
_SPARSE = 0.2  # arrays with a smaller share of nonzero entries are stored sparse


def is_foreign(value: Any) -> bool:
    """Return whether a value is a graph of NetworkX, PyTorch Geometric or DGL."""
    return _has_pairs(value) or callable(getattr(value, "number_of_nodes", None))


def _has_pairs(value: Any) -> bool:
    """Return whether a value is a data object; columns of tables are attributes as well."""
    pairs = any(getattr(value, name, None) is not None for name in _PAIRS)
    return pairs and not hasattr(value, "columns")


def as_graph(value: Any) -> Graph | None:
    """Return a graph, or make one of another library's graph or of a square matrix of weights.

    None for other values. Attributes of nodes are features, which are not part of a graph.
    """
    if isinstance(value, Graph):
        return value
    matrix = isinstance(value, np.ndarray) and value.ndim == 2 and value.dtype.kind in "biuf"
    if matrix and np.count_nonzero(value) < _SPARSE * value.size:
        value = sp.csr_array(value)
    if sp.issparse(value) or isinstance(value, np.ndarray):
        return AdjacencyGraph(value)
    if _has_pairs(value):
        return graph_of_data(value)
    if type(value).__module__.partition(".")[0] == "networkx":
        return AdjacencyGraph.from_networkx(value)
    return None


def graph_of_data(data: Any) -> AdjacencyGraph | Hypergraph | None:
    """Return the graph or hypergraph of a data object; None without edges."""
    edges, hyperedges = (array_of(data, name) for name in _PAIRS)
    nodes = (array_of(data, name) for name in NODE_ARRAYS if name != "y")
    n_nodes = next((len(np.atleast_1d(rows)) for rows in nodes if rows is not None), None)
    if type(data).__name__ == "HyperGraphData":  # which may count the hyperedges as its nodes
        hyperedges = edges if hyperedges is None else hyperedges
    elif n_nodes is None:
        n_nodes = getattr(data, "num_nodes", None)  # PyG warns if it infers this from the edges
    if hyperedges is not None:
        weights = array_of(data, "hyperedge_weight")
        return Hypergraph.from_hyperedge_index(
            hyperedges,
            n_nodes=n_nodes,
            n_hyperedges=None if weights is None else len(weights),
            weights=weights,
        )
    if edges is None:
        return None
    return AdjacencyGraph.from_edge_index(edges, array_of(data, "edge_weight"), n_nodes=n_nodes)


def array_of(data: Any, name: str) -> NDArray[Any] | None:
    """Return an attribute, perhaps a tensor, as an array; None if it is missing."""
    value: Any = getattr(data, name, None)
    if hasattr(value, "detach"):
        value = value.detach().cpu().to_dense()
    return None if value is None else np.asarray(value)
