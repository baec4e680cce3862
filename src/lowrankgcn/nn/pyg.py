"""Data objects of PyTorch Geometric as graphs of this package.

Nothing of that library is imported: an object is read by the names of its attributes.

>>> import torch
>>> from types import SimpleNamespace
>>> data = SimpleNamespace(
...     x=torch.eye(3),
...     edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]),
...     y=torch.tensor([0, 1, 1]),
...     train_mask=torch.tensor([True, True, False]),
... )
>>> task = from_pyg(data)
>>> task.graph, task.training_labels.tolist()
(AdjacencyGraph(3 nodes, sparse), [0, 1, -1])
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from lowrankgcn._validation import invalid, pair_index
from lowrankgcn.graphs import AdjacencyGraph, Hypergraph

__all__ = ["PygTask", "from_pyg"]


@final
@dataclass(frozen=True, eq=False)
class PygTask:
    """What a data object says: a graph, and arrays over its nodes where it has them.

    Attributes
    ----------
    graph : AdjacencyGraph or Hypergraph
    features : (n, N_0) array or None
        ``x``, in its own type.
    labels : (n,) array or None
        ``y``.
    train_mask, val_mask, test_mask : (n,) bool array or None
    """

    graph: AdjacencyGraph | Hypergraph
    features: NDArray[Any] | None = None
    labels: NDArray[Any] | None = None
    train_mask: NDArray[np.bool_] | None = None
    val_mask: NDArray[np.bool_] | None = None
    test_mask: NDArray[np.bool_] | None = None

    @property
    def training_labels(self) -> NDArray[Any]:
        """Labels of the training nodes, −1 (unlabelled) for all others, shape (n,)."""
        if self.labels is None or self.train_mask is None:
            missing = "y" if self.labels is None else "train_mask"
            raise invalid("data", "labels y and a train_mask", f"no {missing}")
        return np.where(self.train_mask, self.labels, -1)


def from_pyg(data: Any, *, node_type: str | None = None) -> PygTask:
    """Read a data object of PyTorch Geometric.

    Parameters
    ----------
    data : Data, HyperGraphData, HeteroData or alike
        With ``hyperedge_index`` (or of a class named ``HyperGraphData``, whose ``edge_index`` means
        the same) it is a hypergraph with optional ``hyperedge_weight``, with ``edge_index`` a graph
        with optional ``edge_weight``. Edges given in one direction are taken for both.
    node_type : str, optional
        The type of the nodes to classify in heterogeneous data. Where edges lead from this type to
        itself they are the graph; otherwise every node of another type that they lead to is a
        hyperedge of the nodes joined with it, like a value in a column of a table.

    Returns
    -------
    PygTask

    Raises
    ------
    ValueError
        If there are no edges to read, repeated or directed weighted ones, or if ``x``, ``y`` or a
        mask does not have one row per node.

    Notes
    -----
    ``GCNConv`` is the linear filter with ``smoother="identity"``. ``HypergraphConv`` normalises by
    rows, D⁻¹HD_E⁻¹Hᵀ, where this package is symmetric: the two agree where all nodes have the same
    degree, and are similar matrices elsewhere. Hyperedge weights are compared with nothing there:
    its version 2.8 counts them in D but leaves W_E out of the product (its issue 6918).

    Examples
    --------
    >>> import torch
    >>> from types import SimpleNamespace
    >>> from_pyg(SimpleNamespace(hyperedge_index=torch.tensor([[0, 1, 1, 2], [0, 0, 1, 1]]))).graph
    Hypergraph(3 nodes, 2 hyperedges)
    """
    if isinstance(data, type) or data is None:
        raise invalid("data", "a data object of PyTorch Geometric", repr(data))
    if hasattr(data, "node_types") and hasattr(data, "edge_types"):
        return _heterogeneous(data, node_type)
    if node_type is not None:
        raise invalid("node_type", "None for data with one type of nodes", repr(node_type))
    edges, hyperedges = _get(data, "edge_index"), _get(data, "hyperedge_index")
    if hyperedges is None and type(data).__name__ == "HyperGraphData":
        edges, hyperedges = None, edges
    n = _count_nodes(data)
    graph: AdjacencyGraph | Hypergraph
    if hyperedges is not None:
        weights = _get(data, "hyperedge_weight")
        count = None if weights is None else len(weights)
        graph = Hypergraph.from_hyperedge_index(
            hyperedges, n_nodes=n, n_hyperedges=count, weights=weights
        )
    elif edges is not None:
        graph = AdjacencyGraph.from_edge_index(edges, _get(data, "edge_weight"), n_nodes=n)
    else:
        raise invalid(
            "data", "an edge_index or a hyperedge_index", f"{type(data).__name__} without"
        )
    return _task(graph, data)


def _heterogeneous(data: Any, node_type: str | None) -> PygTask:
    kinds = list(data.node_types)
    if node_type not in kinds:
        raise invalid("node_type", f"one of {kinds}", repr(node_type))
    types = [tuple(kind) for kind in data.edge_types]
    own = [kind for kind in types if kind[0] == kind[2] == node_type]
    # A relation is often stored a second time in reverse.
    leaving = [kind for kind in types if kind[0] == node_type != kind[2]]
    entering = [kind for kind in types if kind[2] == node_type != kind[0]]
    nodes = data[node_type]
    n = _count_nodes(nodes)
    if len(own) == 1:
        store = data[own[0]]
        edges, weights = _get(store, "edge_index"), _get(store, "edge_weight")
        return _task(AdjacencyGraph.from_edge_index(edges, weights, n_nodes=n), nodes)
    if own or not (leaving or entering):
        raise invalid("data", f"one type of edges among {node_type!r} nodes, or to others", types)
    index, offset = [], 0
    for kind in leaving or entering:
        pairs = pair_index(_get(data[kind], "edge_index"), "edge_index")
        pairs = pairs if leaving else pairs[::-1]
        index.append(pairs + np.array([[0], [offset]]))
        offset += _count_nodes(data[kind[2 if leaving else 0]]) or int(pairs[1].max(initial=-1)) + 1
    joined = np.concatenate(index, axis=1)
    return _task(Hypergraph.from_hyperedge_index(joined, n_nodes=n), nodes)


def _task(graph: AdjacencyGraph | Hypergraph, data: Any) -> PygTask:
    n = graph.n_nodes
    features = _get(data, "x")
    if features is not None and (features.ndim != 2 or len(features) != n):
        raise invalid("x", f"shape ({n}, k)", f"shape {features.shape}")
    labels = _get(data, "y")
    if labels is not None:
        labels = labels[:, 0] if labels.ndim == 2 and labels.shape[1] == 1 else labels
        if labels.shape != (n,):
            raise invalid("y", f"one label per node, shape ({n},)", f"shape {labels.shape}")
    masks = [_get(data, name) for name in ("train_mask", "val_mask", "test_mask")]
    for name, mask in zip(("train_mask", "val_mask", "test_mask"), masks, strict=True):
        if mask is not None and (mask.dtype != np.bool_ or mask.shape != (n,)):
            got = f"{mask.dtype} of shape {mask.shape}"
            raise invalid(name, f"a mask of shape ({n},)", got)
    return PygTask(graph, features, labels, *masks)


def _get(data: Any, name: str) -> NDArray[Any] | None:
    """An attribute as an array, None where it is absent."""
    value = getattr(data, name, None)
    if isinstance(value, Tensor):
        return value.detach().cpu().to_dense().numpy()
    return None if value is None else np.asarray(value)


def _count_nodes(data: Any) -> int | None:
    """Number of nodes, None where only the edges tell."""
    # Arrays first: the count that hypergraph data objects infer can be that of the hyperedges.
    for name in ("x", "pos", "train_mask", "val_mask", "test_mask"):
        array = _get(data, name)
        if array is not None and array.ndim:
            return len(array)
    if type(data).__name__ == "HyperGraphData":
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that the count was inferred from the edges
        count = getattr(data, "num_nodes", None)
    return None if count is None else int(count)
