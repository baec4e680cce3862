"""Conversion between data objects of PyTorch Geometric and graphs of this package.

:func:`from_pyg` does not import the library: it reads attributes of the data objects by name.

>>> import torch
>>> from types import SimpleNamespace
>>> data = SimpleNamespace(
...     x=torch.eye(3),
...     edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]),
...     y=torch.tensor([0, 1, 1]),
...     train_mask=torch.tensor([True, True, False]),
... )
>>> task = from_pyg(data)
>>> task
PygTask(AdjacencyGraph(3 nodes, sparse), features (3, 3), labels (3,), train_mask (3,))
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor

from lowrankgcn._validation import expect_shape, finite_array, invalid
from lowrankgcn.graphs import AdjacencyGraph, Hypergraph
from lowrankgcn.graphs.foreign import NODE_ARRAYS, array_of, graph_of_data
from lowrankgcn.nn.conversion import stored_form

_MASKS = NODE_ARRAYS[2:]


class PygTask(NamedTuple):
    """The graph of a data object and its node arrays, None if missing.

    Attributes
    ----------
    graph : AdjacencyGraph or Hypergraph
    features : (n, N_0) array or None
        ``x``, in its own type.
    labels : (n,) array or None
        ``y``.
    train_mask, val_mask, test_mask : (n,) bool array or None

    See Also
    --------
    from_pyg : Reads a data object.
    to_pyg : Makes a data object.

    Examples
    --------
    >>> import numpy as np
    >>> import lowrankgcn as lg
    >>> graph = lg.AdjacencyGraph([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    >>> train_mask = np.array([True, False, True])
    >>> lg.nn.PygTask(graph, labels=np.array([0, 0, 1]), train_mask=train_mask)
    PygTask(AdjacencyGraph(3 nodes, dense), labels (3,), train_mask (3,))
    """

    graph: AdjacencyGraph | Hypergraph
    features: NDArray[Any] | None = None
    labels: NDArray[Any] | None = None
    train_mask: NDArray[np.bool_] | None = None
    val_mask: NDArray[np.bool_] | None = None
    test_mask: NDArray[np.bool_] | None = None

    def __repr__(self) -> str:
        """Show the graph and the shapes of the arrays that are present."""
        arrays = list(self._asdict().items())[1:]
        shapes = [f", {name} {array.shape}" for name, array in arrays if array is not None]
        return f"PygTask({self.graph!r}{''.join(shapes)})"


def from_pyg(data: Any) -> PygTask:
    """Read a data object of PyTorch Geometric.

    Parameters
    ----------
    data : Data, HyperGraphData or similar
        An object with ``hyperedge_index`` is a hypergraph with optional ``hyperedge_weight``. So is
        one of a class named ``HyperGraphData``, with its ``edge_index``. Any other object with
        ``edge_index`` is a graph with optional ``edge_weight``. Edges given in one direction count
        for both, and weights of repeated edges add up, as in message passing; see
        :meth:`lowrankgcn.AdjacencyGraph.from_edge_index`. Heterogeneous data has a homogeneous form
        (``HeteroData.to_homogeneous``).

    Returns
    -------
    PygTask

    Raises
    ------
    ValueError
        If edges are missing, or if ``x``, ``y`` or a mask does not have one row per node.

    Warns
    -----
    DirectedGraphWarning
        If the weights of both directions of an edge differ; the larger one holds.

    See Also
    --------
    to_pyg : The inverse.
    lowrankgcn.AdjacencyGraph.from_edge_index : Graph of an edge list.

    Notes
    -----
    ``GCNConv`` is the linear filter with ``smoother="identity"``. ``HypergraphConv`` normalises by
    rows, D⁻¹HD_E⁻¹Hᵀ; this package normalises symmetrically. The two matrices are similar. They are
    equal if all nodes have the same degree. They differ for hyperedge weights: version 2.8 of
    torch-geometric includes the weights in D but not in the product (its issue 6918).

    Examples
    --------
    >>> import torch
    >>> from types import SimpleNamespace
    >>> from lowrankgcn.nn import from_pyg
    >>> from_pyg(SimpleNamespace(hyperedge_index=torch.tensor([[0, 1, 1, 2], [0, 0, 1, 1]]))).graph
    Hypergraph(3 nodes, 2 hyperedges)
    """
    if (graph := graph_of_data(data)) is None:
        raise invalid("data", "an edge_index or a hyperedge_index", type(data).__name__)
    arrays = {name: array_of(data, name) for name in NODE_ARRAYS}
    if (labels := arrays["y"]) is not None and labels.shape[1:] == (1,):
        arrays["y"] = labels[:, 0]
    for name, array in arrays.items():
        if array is not None:
            _check_rows(array, name, graph.n_nodes)
    return PygTask(graph, *arrays.values())


def to_pyg(
    graph: AdjacencyGraph | Hypergraph,
    features: Any = None,
    labels: Any = None,
    train_mask: Any = None,
    val_mask: Any = None,
    test_mask: Any = None,
    *,
    dtype: torch.dtype | None = None,
) -> Any:
    """Make a data object of PyTorch Geometric; ``to_pyg(*task)`` undoes ``from_pyg``.

    Parameters
    ----------
    graph : AdjacencyGraph or Hypergraph
        Becomes ``edge_index`` with every edge in both directions, loops once, and ``edge_weight``
        if weights differ from one; or ``hyperedge_index`` and ``hyperedge_weight``.
    features : (n, N_0) array, optional
        ``x``.
    labels : (n,) array, optional
        ``y``. Integers stay as they are; other classes become their positions in sorted order, as
        in ``classes_``. Unlabelled nodes (-1, None, NaN and "") get -1.
    train_mask, val_mask, test_mask : (n,) bool array, optional
        By default, `train_mask` marks the labelled nodes if some nodes are unlabelled.
    dtype : torch.dtype, optional
        Type of features and weights; PyTorch's default type when omitted.

    Returns
    -------
    torch_geometric.data.Data

    Raises
    ------
    ValueError
        If an array does not have one row per node, or the graph stores no edges.
    ModuleNotFoundError
        If torch-geometric is not installed.

    See Also
    --------
    from_pyg : The inverse.

    Examples
    --------
    >>> import lowrankgcn as lg
    >>> from lowrankgcn.nn import to_pyg
    >>> data = to_pyg(lg.AdjacencyGraph([[0, 1], [1, 0]]), labels=["yes", ""])
    >>> data.edge_index.tolist(), data.y.tolist(), data.train_mask.tolist()
    ([[0, 1], [1, 0]], [0, -1], [True, False])
    """
    if not isinstance(graph, (AdjacencyGraph, Hypergraph)):
        expected = "an AdjacencyGraph or a Hypergraph; AdjacencyGraph.knn(points) has few edges"
        raise invalid("graph", expected, f"a {type(graph).__name__}")
    from torch_geometric.data import Data  # here, because it is optional

    number, n = dtype or torch.get_default_dtype(), graph.n_nodes
    data = Data(num_nodes=n)
    if isinstance(graph, Hypergraph):
        members = sp.coo_array(stored_form(graph.incidence))
        data.hyperedge_index = _tensor(np.stack(members.coords), torch.int64)
        data.hyperedge_weight = _tensor(graph.hyperedge_weights, number)
    else:
        weights = sp.coo_array(graph.adjacency + sp.diags_array(graph.loop_weights))
        data.edge_index = _tensor(np.stack(weights.coords), torch.int64)
        if (weights.data != 1.0).any():
            data.edge_weight = _tensor(weights.data, number)
    if features is not None:
        data.x = _tensor(finite_array(features, "features", ndim=2), number)
        expect_shape(data.x, "features", n, None)
    if labels is not None:
        codes = np.asarray(labels)
        expect_shape(codes, "labels", n)
        if codes.dtype.kind not in "iu":
            column = pd.Series(codes, dtype=object)
            codes, _ = pd.factorize(column.mask(column.isin(["", -1])), sort=True)
        data.y = _tensor(codes, torch.int64)
        if train_mask is None and (codes < 0).any():
            train_mask = codes >= 0
    for name, mask in zip(_MASKS, (train_mask, val_mask, test_mask), strict=True):
        if mask is not None:
            _check_rows(np.asarray(mask), name, n)
            data[name] = _tensor(mask)
    return data


def _tensor(array: Any, dtype: torch.dtype | None = None) -> Tensor:
    """Return a copy as a tensor; of any strides, which torch does not read."""
    return torch.tensor(np.ascontiguousarray(array), dtype=dtype)


def _check_rows(array: NDArray[Any], name: str, n: int) -> None:
    """Reject anything but features, labels or a mask of n nodes."""
    expect_shape(array, name, n, *([None] if name == "x" else []))
    if name in _MASKS and array.dtype != np.bool_:
        raise invalid(name, "a mask of booleans", f"{array.dtype}")
