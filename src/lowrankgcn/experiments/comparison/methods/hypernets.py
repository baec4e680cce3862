"""Networks on hypergraphs from other packages: torch-geometric's HypergraphConv, DHG's HGNN+.

Both get the hypergraph that a user would build: every value of every column (numbers in five
bins) if the table has categories, otherwise every row with its ten nearest. They are trained as in
the examples of their projects; without validation rows the last epoch counts.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.neighbors import NearestNeighbors
from torch.nn import functional

from lowrankgcn.experiments.comparison.methods.base import Method
from lowrankgcn.experiments.comparison.task import Task
from lowrankgcn.graphs.table import TableEncoder

__all__ = ["HYPERNETS", "hyperedges"]

_NEIGHBOURS = 10
_HIDDEN = 16
_EPOCHS = 200
_DROPOUT = 0.5
_SETTINGS = (
    f"hypergraph of the columns' values, or of ten neighbours; {_HIDDEN} hidden units, "
    f"dropout {_DROPOUT}, {_EPOCHS} epochs of Adam at 0.01, weight decay 0.0005"
)


def hyperedges(task: Task) -> NDArray[np.int64]:
    """Which row is in which hyperedge, shape (2, m): rows above, hyperedges below.

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
    count = min(_NEIGHBOURS + 1, task.n_rows)
    # Each row is its own nearest and so a member of its hyperedge.
    nearest = NearestNeighbors(n_neighbors=count).fit(task.numbers)
    members = nearest.kneighbors(task.numbers, return_distance=False)
    return np.stack([members.ravel(), np.repeat(np.arange(task.n_rows), count)]).astype(np.int64)


def _hypergraph_conv(task: Task, labels: NDArray[np.intp], seed: int) -> NDArray[Any]:
    from torch_geometric.nn import HypergraphConv

    index = torch.as_tensor(hyperedges(task))

    def build(features: int, classes: int) -> tuple[torch.nn.Module, Any]:
        layers = torch.nn.ModuleList(
            [HypergraphConv(features, _HIDDEN), HypergraphConv(_HIDDEN, classes)]
        )

        def forward(X: torch.Tensor) -> torch.Tensor:
            hidden = functional.dropout(torch.relu(layers[0](X, index)), _DROPOUT, layers.training)
            logits: torch.Tensor = layers[1](hidden, index)
            return logits

        return layers, forward

    return _train(task, labels, seed, build)


def _hgnn_plus(task: Task, labels: NDArray[np.intp], seed: int) -> NDArray[Any]:
    import dhg

    rows, edges = hyperedges(task)
    order = np.argsort(edges, kind="stable")
    sets = np.split(rows[order], np.flatnonzero(np.diff(edges[order])) + 1)
    graph = dhg.Hypergraph(task.n_rows, [nodes.tolist() for nodes in sets])

    def build(features: int, classes: int) -> tuple[torch.nn.Module, Any]:
        network = dhg.models.HGNNP(features, _HIDDEN, classes, use_bn=True, drop_rate=_DROPOUT)
        return network, lambda X: network(X, graph)

    with warnings.catch_warnings():  # of the way in which it builds sparse tensors
        warnings.filterwarnings("ignore", message="Sparse invariant checks")
        return _train(task, labels, seed, build)


def _train(
    task: Task,
    labels: NDArray[np.intp],
    seed: int,
    build: Callable[[int, int], tuple[torch.nn.Module, Any]],
) -> NDArray[Any]:
    """Build a network, train it by Adam on the labelled rows, classify all rows."""
    index = np.flatnonzero(labels >= 0)
    known, classes = torch.as_tensor(index), torch.as_tensor(labels[index])
    X = torch.as_tensor(task.numbers, dtype=torch.float32)
    with torch.random.fork_rng(devices=[]):  # both packages draw from torch's global generator
        torch.manual_seed(seed)
        network, forward = build(X.shape[1], len(task.class_names))
        optimizer = torch.optim.Adam(network.parameters(), lr=0.01, weight_decay=0.0005)
        network.train()
        for _ in range(_EPOCHS):
            optimizer.zero_grad()
            loss = functional.cross_entropy(forward(X)[known], classes)
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
        network.eval()
        with torch.no_grad():
            found: NDArray[Any] = forward(X).argmax(dim=1).numpy()
    return found


HYPERNETS = (
    Method(
        "hypergraph-conv",
        "HypergraphConv",
        f"torch-geometric, two layers; {_SETTINGS}",
        _hypergraph_conv,
        package="torch_geometric",
        install="torch-geometric",
        most_rows=50_000,
        reason="every epoch passes over all rows",
    ),
    Method(
        "hgnn+",
        "HGNN+",
        f"dhg, two layers with batch normalisation; {_SETTINGS}",
        _hgnn_plus,
        package="dhg",
        install="dhg",
        most_rows=50_000,
        reason="every epoch passes over all rows",
    ),
)
