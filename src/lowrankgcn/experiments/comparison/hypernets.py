"""Hypergraph networks of other packages: torch-geometric's HypergraphConv and DHG's HGNN+.

Both use the hypergraph that a user would build: one hyperedge for every value of every column
(numbers in five bins) if the table has categories, otherwise one for every row and its ten nearest
rows. They are trained as in the examples of their projects; without validation rows the last epoch
counts.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from sklearn.neighbors import NearestNeighbors
from torch.nn import functional

from lowrankgcn.experiments.comparison.task import ComparisonTask
from lowrankgcn.graphs.table import TableEncoder

__all__ = ["NETWORK_SETTINGS", "hgnn_plus", "hyperedges", "hypergraph_conv"]

_HIDDEN, _DROPOUT, _EPOCHS = 16, 0.5, 200
NETWORK_SETTINGS = (
    f"hypergraph of the columns' values, or of ten neighbours; {_HIDDEN} hidden units, "
    f"dropout {_DROPOUT}, {_EPOCHS} epochs of Adam at 0.01, weight decay 0.0005"
)


def hyperedges(task: ComparisonTask) -> NDArray[np.int64]:
    """Return the members of all hyperedges, shape (2, m): rows first, hyperedges second.

    >>> import pandas as pd
    >>> from lowrankgcn.experiments.comparison.task import make_task
    >>> frame = pd.DataFrame({"colour": ["red", "blue", "red", "blue"]})
    >>> hyperedges(make_task("things", frame, [0, 1, 0, 1]))
    array([[0, 1, 2, 3],
           [1, 0, 1, 0]])
    """
    if task.categorical:
        encoder, codes = TableEncoder.fit_transform(task.rows)
        rows, columns = np.nonzero(codes < encoder.n_hyperedges)
        return np.stack([rows, codes[rows, columns]]).astype(np.int64)
    count = min(11, task.n_rows)  # every row is its own nearest and so in its hyperedge
    nearest = NearestNeighbors(n_neighbors=count).fit(task.numbers)
    members = nearest.kneighbors(task.numbers, return_distance=False)
    return np.stack([members.ravel(), np.repeat(np.arange(task.n_rows), count)]).astype(np.int64)


def hypergraph_conv(task: ComparisonTask, labels: NDArray[np.intp], seed: int) -> NDArray[Any]:
    """Classify all rows with two layers of torch-geometric's HypergraphConv."""
    from torch_geometric.nn import HypergraphConv, Sequential

    def build(features: int, classes: int) -> Any:
        layers = [
            (HypergraphConv(features, _HIDDEN), "X, index -> X"),
            torch.nn.ReLU(),
            torch.nn.Dropout(_DROPOUT),
            (HypergraphConv(_HIDDEN, classes), "X, index -> X"),
        ]
        return Sequential("X, index", layers)

    return _train(task, labels, seed, build, torch.as_tensor(hyperedges(task)))


def hgnn_plus(task: ComparisonTask, labels: NDArray[np.intp], seed: int) -> NDArray[Any]:
    """Classify all rows with DHG's HGNN+ of two layers."""
    import dhg

    members = pd.Series(*hyperedges(task))
    graph = dhg.Hypergraph(task.n_rows, members.groupby(level=0).agg(list).tolist())

    def build(features: int, classes: int) -> Any:
        return dhg.models.HGNNP(features, _HIDDEN, classes, use_bn=True, drop_rate=_DROPOUT)

    with warnings.catch_warnings():  # caused by how DHG builds sparse tensors
        warnings.filterwarnings("ignore", message="Sparse invariant checks")
        return _train(task, labels, seed, build, graph)


def _train(
    task: ComparisonTask,
    labels: NDArray[np.intp],
    seed: int,
    build: Callable[[int, int], Any],
    hypergraph: Any,
) -> NDArray[Any]:
    """Build a network, train it with Adam on the labelled rows, and classify all rows."""
    index = np.flatnonzero(labels >= 0)
    known, classes = torch.as_tensor(index), torch.as_tensor(labels[index])
    X = torch.as_tensor(task.numbers, dtype=torch.float32)
    with torch.random.fork_rng(devices=[]):  # both packages draw from torch's global generator
        torch.manual_seed(seed)
        network = build(X.shape[1], len(task.class_names)).train()
        optimizer = torch.optim.Adam(network.parameters(), lr=0.01, weight_decay=0.0005)
        for _ in range(_EPOCHS):
            optimizer.zero_grad()
            loss: Any = functional.cross_entropy(network(X, hypergraph)[known], classes)
            loss.backward()
            optimizer.step()
        with torch.no_grad():
            found: NDArray[Any] = network.eval()(X, hypergraph).argmax(dim=1).numpy()
    return found
