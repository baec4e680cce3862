"""Directed graphs, two arrays of nodes, and weights of both directions."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
import torch

import lowrankgcn as lg


def test_the_larger_weight_of_both_directions_holds() -> None:
    with pytest.warns(lg.DirectedGraphWarning, match="differ by up to 1.5"):
        graph = lg.AdjacencyGraph.from_edge_index([[0, 1, 1], [1, 0, 2]], [0.5, 2.0, 3.0])
    np.testing.assert_array_equal(graph.adjacency.toarray(), [[0, 2, 0], [2, 0, 3], [0, 3, 0]])


def test_directed_networkx_graphs() -> None:
    directed = nx.DiGraph([(0, 1), (1, 0), (1, 2), (2, 2)])
    directed.edges[1, 0]["weight"] = 4.0
    with pytest.warns(lg.DirectedGraphWarning, match="the graph is directed"):
        graph = lg.AdjacencyGraph.from_networkx(directed)
    np.testing.assert_array_equal(graph.adjacency.toarray(), [[0, 4, 0], [4, 0, 1], [0, 1, 0]])
    assert graph.loop_weights.tolist() == [0, 0, 1]


def test_edges_as_two_tensors() -> None:
    graph = lg.AdjacencyGraph.from_edge_index((torch.tensor([0, 1]), torch.tensor([1, 2])))
    assert graph.adjacency.toarray().tolist() == [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
