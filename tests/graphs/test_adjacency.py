"""Adjacency graphs from matrices, edge lists, NetworkX graphs and nearest neighbours."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist

from lowrankgcn import AdjacencyGraph
from tests.support.cases import strategies
from tests.support.contracts.graph_contract import check_components, check_graph
from tests.support.contracts.operator_contract import block
from tests.support.oracles import reference


def dense(graph: AdjacencyGraph) -> np.ndarray:
    """The stored weights."""
    return graph.adjacency.toarray() if sp.issparse(graph.adjacency) else graph.adjacency


# --- matrices -----------------------------------------------------------------------------------


@given(matrix=strategies.adjacency_matrices(), given_as=strategies.matrix_formats())
def test_matrices_in_every_format(matrix: np.ndarray, given_as: Any) -> None:
    graph = AdjacencyGraph(given_as(matrix))
    adjacency, loops = reference.without_loops(matrix)
    check_graph(graph, adjacency, loops, tolerance=1e-14)
    assert_array_equal(dense(graph), adjacency)
    assert sp.issparse(graph.adjacency) == sp.issparse(given_as(matrix))


@given(matrix=strategies.adjacency_matrices(), data=st.data())
def test_order_of_nodes_does_not_matter(matrix: np.ndarray, data: st.DataObject) -> None:
    order = np.array(data.draw(st.permutations(range(len(matrix)))))
    shuffled = AdjacencyGraph(matrix[np.ix_(order, order)])
    adjacency, loops = reference.without_loops(matrix[np.ix_(order, order)])
    check_graph(shuffled, adjacency, loops, tolerance=1e-14)


@pytest.mark.parametrize("given_as", [np.array, sp.csr_array])
def test_weights_of_any_size_are_edges(given_as: Any) -> None:
    for weight in (5e-324, 1e-300, 1e-9, 1e300):
        matrix = weight * np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
        graph = AdjacencyGraph(given_as(matrix))
        assert graph.components.tolist() == [0, 0, 1]
        assert_array_equal(graph.affinity().degrees, [weight, weight, 0.0])


def test_self_loops_are_stored_separately() -> None:
    graph = AdjacencyGraph([[3.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 2.0]])
    assert graph.loop_weights.tolist() == [3.0, 0.0, 2.0]
    assert graph.isolated.tolist() == [False, False, True]  # a loop joins no other node
    assert graph.affinity().degrees.tolist() == [1.0, 1.0, 0.0]
    assert not dense(graph).diagonal().any()


def test_rounding_is_not_asymmetry() -> None:
    matrix = np.array([[0.0, 1.0], [1.0 + 1e-12, 0.0]])
    for given_as in (np.array, sp.csr_array):
        stored = dense(AdjacencyGraph(given_as(matrix)))
        assert_array_equal(stored, stored.T)
        assert_allclose(stored, matrix, rtol=1e-11)


def test_given_arrays_stay_untouched() -> None:
    full = np.array([[2.0, 1.0], [1.0, 0.0]])
    before = full.copy()
    graph = AdjacencyGraph(full)
    assert_array_equal(full, before)
    assert full.flags.writeable
    assert not graph.adjacency.flags.writeable


def test_given_sparse_matrices_stay_untouched() -> None:
    # Unsorted columns, explicit zeros, a weight in two halves: not in canonical form.
    data = np.array([1.0, 0.0, 0.0, 0.5, 0.0, 0.5])
    parts = (data, np.array([2, 1, 1, 0, 1, 0]), np.array([0, 2, 3, 6]))
    before = [part.copy() for part in parts]
    sparse = sp.csr_array(parts, shape=(3, 3))
    graph = AdjacencyGraph(sparse)
    assert_array_equal(dense(graph), [[0.0, 0.0, 1.0], [0.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    assert graph.components.tolist() == [0, 1, 0]
    for part, copy in zip((sparse.data, sparse.indices, sparse.indptr), before, strict=True):
        assert_array_equal(part, copy)
    for part, copy in zip(parts, before, strict=True):
        assert_array_equal(part, copy)


# --- edge lists ---------------------------------------------------------------------------------


@st.composite
def edge_lists(draw: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(edge_index, weights, matrix): each edge in one direction, the other, or both, shuffled."""
    matrix = draw(strategies.adjacency_matrices())
    edges = []
    for i, j in np.argwhere(np.triu(matrix) > 0).tolist():
        ways = draw(st.sampled_from([[(i, j)], [(j, i)], [(i, j), (j, i)]]))
        edges += [(*way, matrix[i, j]) for way in (ways if i != j else [(i, j)])]
    edges = draw(st.permutations(edges))
    index = np.array([edge[:2] for edge in edges], dtype=np.int64).reshape(-1, 2).T
    return index, np.array([edge[2] for edge in edges], dtype=np.float64), matrix


@given(edges=edge_lists(), dtype=st.sampled_from([np.int64, np.int32, np.uint8]))
def test_edge_lists(edges: Any, dtype: Any) -> None:
    index, weights, matrix = edges
    graph = AdjacencyGraph.from_edge_index(index.astype(dtype), weights, n_nodes=len(matrix))
    check_graph(graph, *reference.without_loops(matrix), tolerance=1e-14)
    unweighted = AdjacencyGraph.from_edge_index(index.astype(dtype), n_nodes=len(matrix))
    check_graph(unweighted, *reference.without_loops(matrix > 0), tolerance=1e-14)


@given(
    edges=st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4), st.integers(0, 3)), max_size=30)
)
def test_repeated_edges_add_up(edges: list[tuple[int, int, int]]) -> None:
    table = np.array(edges, dtype=np.int64).reshape(-1, 3).T
    index, weights = table[:2], table[2] / 8
    counts = np.zeros((5, 5))
    np.add.at(counts, tuple(index), 1.0)
    # Without weights an edge counts as often as its more frequent direction.
    unweighted = AdjacencyGraph.from_edge_index(index, n_nodes=5)
    expected = np.maximum(counts, counts.T)
    check_graph(unweighted, *reference.without_loops(expected), tolerance=1e-14)
    # Weights of one direction add up, as those of NetworkX; listing the other changes nothing.
    index = np.sort(index, axis=0)
    multigraph = nx.empty_graph(5, create_using=nx.MultiGraph)
    multigraph.add_weighted_edges_from(zip(*index.tolist(), weights.tolist(), strict=True))
    links = index[0] != index[1]
    both = np.hstack([index, index[::-1, links]]), np.r_[weights, weights[links]]
    total = np.zeros((5, 5))
    np.add.at(total, tuple(index), weights)
    for graph in (
        AdjacencyGraph.from_edge_index(index, weights, n_nodes=5),
        AdjacencyGraph.from_edge_index(*both, n_nodes=5),
        AdjacencyGraph.from_networkx(multigraph),
    ):
        check_graph(graph, *reference.without_loops(np.maximum(total, total.T)), tolerance=1e-14)


def test_edge_list_counts_its_nodes() -> None:
    assert AdjacencyGraph.from_edge_index([[0, 4], [1, 2]]).n_nodes == 5
    assert AdjacencyGraph.from_edge_index([[], []]).n_nodes == 1
    assert AdjacencyGraph.from_edge_index(np.zeros((2, 0), int), n_nodes=4).isolated.all()


def test_edge_list_with_a_loop() -> None:
    graph = AdjacencyGraph.from_edge_index([[0, 1], [0, 0]], [2.0, 3.0])
    assert graph.loop_weights.tolist() == [2.0, 0.0]
    assert dense(graph).tolist() == [[0.0, 3.0], [3.0, 0.0]]


# --- NetworkX -----------------------------------------------------------------------------------


@given(matrix=strategies.adjacency_matrices())
def test_networkx_graphs(matrix: np.ndarray) -> None:
    graph = nx.from_numpy_array(matrix)
    loaded = AdjacencyGraph.from_networkx(graph)
    check_graph(loaded, *reference.without_loops(matrix), tolerance=1e-14)
    plain = AdjacencyGraph.from_networkx(graph, weight=None)
    check_graph(plain, *reference.without_loops(matrix > 0), tolerance=1e-14)


def test_networkx_nodes_keep_their_order() -> None:
    graph = nx.Graph()
    graph.add_nodes_from(["c", "a", ("b", 1)])
    graph.add_edge("a", "c", weight=2.0, other=5)
    graph.add_edge("a", ("b", 1))  # no weight: 1
    loaded = AdjacencyGraph.from_networkx(graph)
    assert dense(loaded).tolist() == [[0.0, 2.0, 0.0], [2.0, 0.0, 1.0], [0.0, 1.0, 0.0]]
    assert dense(AdjacencyGraph.from_networkx(graph, weight="other"))[0, 1] == 5.0


def test_networkx_multigraphs_add_up() -> None:
    graph = nx.MultiGraph([(0, 1, {"weight": 2.0}), (1, 0, {"weight": 0.5}), (1, 1), (1, 1)])
    loaded = AdjacencyGraph.from_networkx(graph)
    assert dense(loaded).tolist() == [[0.0, 2.5], [2.5, 0.0]]
    assert loaded.loop_weights.tolist() == [0.0, 2.0]


def test_networkx_without_edges() -> None:
    graph = AdjacencyGraph.from_networkx(nx.empty_graph(3))
    assert graph.isolated.all()
    assert not graph.affinity().degrees.any()


# --- nearest neighbours -------------------------------------------------------------------------


def brute_force(points: np.ndarray, k: int, weights: str) -> np.ndarray:
    """All distances, the k smallest of each row, joined in either direction."""
    n = len(points)
    k = min(k, n - 1)
    distances = cdist(points, points)
    np.fill_diagonal(distances, np.inf)
    order = np.argsort(distances, axis=1)[:, :k]
    scale = np.take_along_axis(distances, order, axis=1)[:, -1]
    W = np.zeros((n, n))
    for i in range(n):
        for j in order[i]:
            tuned = np.exp(-(distances[i, j] ** 2) / (scale[i] * scale[j]))
            W[i, j] = W[j, i] = 1.0 if weights == "binary" else tuned
    return W


@pytest.mark.parametrize("weights", ["binary", "self-tuning"])
def test_nearest_neighbours(weights: Any) -> None:
    for n, dimension, k in ((2, 1, 1), (40, 2, 5), (60, 10, 3), (9, 3, 99)):
        points = block(n, dimension)
        graph = AdjacencyGraph.knn(points, k, weights=weights)
        check_graph(graph, brute_force(points, k, weights), np.zeros(n))


def test_nearest_neighbours_of_thousands() -> None:
    points = block(2500, 3)
    graph = AdjacencyGraph.knn(points)
    expected = brute_force(points, 10, "self-tuning")
    assert_allclose(dense(graph), expected, atol=1e-12)
    check_components(graph, expected)


@pytest.mark.parametrize("scale", [1e-300, 1e300])
def test_nearest_neighbours_at_any_scale(scale: float) -> None:
    points = block(50, 2)
    here, there = AdjacencyGraph.knn(points), AdjacencyGraph.knn(points * scale)
    assert_allclose(dense(there), dense(here), atol=1e-12)


@pytest.mark.parametrize("weights", ["binary", "self-tuning"])
def test_nearest_neighbours_among_duplicates(weights: Any) -> None:
    # More copies than neighbours: no point may be its own neighbour.
    points = np.repeat([[0.0], [1.0]], 12, axis=0)
    before = points.copy()
    graph = AdjacencyGraph.knn(points, 3, weights=weights)
    assert_array_equal(points, before)
    W = dense(graph)
    assert not W.diagonal().any()
    assert set(np.unique(W)) == {0.0, 1.0}
    assert ((W > 0).sum(axis=1) >= 3).all()
    assert not W[:12, 12:].any()  # other places are further than the copies


def test_duplicates_are_joined_to_duplicates_only() -> None:
    # The third neighbour of a copy is a copy: its scale and its weights to other points are zero.
    points = np.concatenate([np.zeros((4, 1)), [[1.0], [2.0], [4.0], [7.0]]])
    W = dense(AdjacencyGraph.knn(points, 3))
    assert_array_equal(W[:4, :4], 1 - np.eye(4))
    assert not W[:4, 4:].any()
    assert np.isfinite(W).all()
