"""Graphs of other libraries as the parameter `graph` and as rows."""

from __future__ import annotations

import warnings
from types import SimpleNamespace
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import torch
from numpy.testing import assert_allclose

import lowrankgcn as lg
from tests.gp.test_propagation import CLASSES, N, graph, hypergraph, words

W: Any = graph().adjacency
Y = np.where(np.arange(N) < 18, CLASSES, -1)
PAIRS = torch.tensor(np.stack(sp.coo_array(W).coords).astype(np.int64))
DATA = SimpleNamespace(
    x=torch.tensor(words().toarray()),
    edge_index=PAIRS,
    edge_weight=torch.tensor(sp.coo_array(W).data),
)
GRAPHS = {
    "sparse": W,
    "old sparse": sp.coo_matrix(W),
    "dense": W.toarray(),
    "networkx": nx.from_scipy_sparse_array(W),
    "data": DATA,
}


@pytest.mark.parametrize("kind", GRAPHS)
@pytest.mark.parametrize("name", ["SpectralGPClassifier", "GCNClassifier"])
def test_graphs_of_other_libraries_are_graphs(kind: str, name: str) -> None:
    """They give the classes of the same graph of this library."""
    make: Any = getattr(lg, name)
    expected = make(graph=graph(), random_state=0).fit(words(), Y)
    classifier = make(graph=GRAPHS[kind], random_state=0).fit(words(), Y)
    assert_allclose(classifier.label_distributions_, expected.label_distributions_, atol=2e-3)
    assert classifier.get_params()["graph"] is GRAPHS[kind]
    assert classifier.graph_.n_nodes == N


def test_hypergraph_data() -> None:
    """A data object with hyperedges is a hypergraph."""
    members = sp.coo_array(hypergraph().incidence.matrix)
    pairs = torch.tensor(np.stack(members.coords).astype(np.int64))
    data = SimpleNamespace(x=DATA.x, hyperedge_index=pairs)
    classifier = lg.SpectralGPClassifier(graph=data, random_state=0).fit(words(), Y)
    assert isinstance(classifier.graph_, lg.Hypergraph)


class OfDgl:
    """A look-alike of a graph of DGL."""

    def number_of_nodes(self) -> int:
        return N

    def edges(self) -> Any:
        return tuple(PAIRS)


@pytest.mark.parametrize("name", ["SpectralGPClassifier", "GCNClassifier"])
def test_graphs_are_no_rows(name: str) -> None:
    """The numbers of the nodes were read as a table before."""
    for value in (GRAPHS["networkx"], DATA, OfDgl()):
        with pytest.raises(ValueError, match="X: expected rows; the parameter graph takes graphs"):
            getattr(lg, name)().fit(value, Y)
    with pytest.raises(ValueError, match="graph: expected a graph or one of auto"):
        getattr(lg, name)(graph=OfDgl()).fit(words(), Y)
    with pytest.raises(ValueError, match="the transpose of a list of pairs"):
        lg.AdjacencyGraph.from_edge_index(PAIRS.T)
    assert lg.AdjacencyGraph.from_edge_index(OfDgl().edges(), n_nodes=N).n_nodes == N


def test_columns_named_like_edges_are_columns() -> None:
    """Attributes of a DataFrame are its columns."""
    numbers = np.random.default_rng(0).normal(size=(N, 2))
    table = pd.DataFrame(numbers, columns=["edge_index", "number_of_nodes"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert lg.SpectralGPClassifier(random_state=0).fit(table, Y).n_features_in_ == 2
