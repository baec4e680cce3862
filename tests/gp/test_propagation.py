"""Propagated blocks against dense φ(S) F Fᵀ φ(S), duality, leave-one-out, symmetries."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from lowrankgcn import AdjacencyGraph, Hypergraph
from lowrankgcn._codec import decode, encode
from lowrankgcn.gp.compiled import CompiledScores
from lowrankgcn.gp.graph_filters import PROPAGATIONS
from lowrankgcn.gp.likelihood import softmax, targets
from lowrankgcn.gp.node_graph import NodeGraph
from lowrankgcn.gp.process import FittedProcess, GaussianProcess, fit_process
from lowrankgcn.gp.propagated_block import PropagatedBlock
from lowrankgcn.gp.recipe import Prior
from lowrankgcn.gp.views import RowViews, node_views
from tests.support.oracles.reference_gp import exact_scores

N = 40
CLASSES = np.arange(N) % 3


def words(n: int = N, d: int = 60, seed: int = 0) -> sp.csr_array:
    """Return word counts in which each class prefers its own words."""
    generator = np.random.default_rng(seed)
    rates = 0.1 + 0.3 * (np.arange(d) % 3 == CLASSES[:n, None])
    return sp.csr_array(generator.poisson(rates).astype(float))


def graph(n: int = N, seed: int = 0) -> AdjacencyGraph:
    """Return a graph that joins nodes of the same class more often; the last node has no edge."""
    generator = np.random.default_rng(seed)
    same = CLASSES[:n, None] == CLASSES[:n]
    upper = np.triu(generator.random((n, n)) < 0.03 + 0.2 * same, 1)
    upper[:, -1] = False
    weights = upper * generator.uniform(0.5, 2.0, (n, n))
    return AdjacencyGraph(sp.csr_array(weights + weights.T))


def hypergraph(seed: int = 0) -> Hypergraph:
    """Return hyperedges with weights, one of them empty, one of a single node."""
    incidence = np.random.default_rng(seed).random((N, 12)) < 0.2
    incidence[:, 3] = False
    incidence[:, 5] = np.arange(N) == 7
    return Hypergraph(sp.csr_array(incidence.astype(float)), np.arange(1.0, 13.0))


def dense_weights(nodes: NodeGraph, place: str) -> np.ndarray:
    """Return weights with loops as an array, from the definition."""
    if nodes.hyperedge_weights is None:
        edges = nodes.edges.toarray()
    else:
        H = nodes.edges.toarray()
        edges = H * (nodes.hyperedge_weights / np.maximum(H.sum(axis=0), 1.0)) @ H.T
        np.fill_diagonal(edges, 0.0)
    near = nodes.near.toarray()
    near = np.maximum(near, near.T)
    sums = near.sum(axis=1, keepdims=True)
    near = near / np.where(sums > 0, sums, 1.0)
    near = (near + near.T) / 2
    loops = np.eye(nodes.n_nodes)
    choices = {"graph": edges + loops, "joint": edges + near / 2 + loops, "near": near + loops / 10}
    return choices[place]


def dense_rows(nodes: NodeGraph, name: str) -> np.ndarray:
    """Return φ(S) F by eigenvalues."""
    W = dense_weights(nodes, PROPAGATIONS[name].place)
    roots = np.sqrt(W.sum(axis=1))
    values, vectors = np.linalg.eigh(W / roots[:, None] / roots)
    F = nodes.features.toarray() if sp.issparse(nodes.features) else nodes.features
    return (vectors * PROPAGATIONS[name].filter(1.0 - values)) @ vectors.T @ F


def finished(nodes: NodeGraph, name: str) -> np.ndarray:
    """Return the centred and normalised rows of a block."""
    rows = dense_rows(nodes, name)
    rows -= rows.mean(axis=0)
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / (norms if PROPAGATIONS[name].unit_rows else np.sqrt((norms**2).mean()))


def fitted(nodes: NodeGraph, labelled: np.ndarray, **changes: Any) -> FittedProcess:
    """Fit a process to some nodes."""
    views = node_views(nodes)
    blocks = [PropagatedBlock.fit(name, nodes) for name in PROPAGATIONS]
    known = {name: rows[labelled] for name, rows in views.items()}
    prior = replace(Prior.load("graph_prior"), **changes)
    return fit_process(known, CLASSES[labelled], 3, blocks, None, prior, 0)


@pytest.fixture
def tight(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make filters and norms accurate to single precision."""
    monkeypatch.setattr("lowrankgcn.gp.graph_filters._TOLERANCE", 1e-6)
    monkeypatch.setattr("lowrankgcn.gp.node_graph._PROBES", 1000)


@pytest.mark.usefixtures("tight")
@pytest.mark.parametrize("make", [graph, hypergraph])
@pytest.mark.parametrize("name", PROPAGATIONS)
def test_a_block_is_the_kernel_of_filtered_features(make: Any, name: str) -> None:
    """Kernel, scores and variances agree with dense φ(S) F Fᵀ φ(S), centred and normalised."""
    nodes = NodeGraph.fit(make(), words())
    block, rows = PropagatedBlock.fit(name, nodes), nodes.rows(name)
    expected = finished(nodes, name)
    K = expected @ expected.T
    few, many = rows[[3, 39, 7]], rows[np.arange(N)]
    assert_allclose(block.kernel(few, many), K[[3, 39, 7]], atol=2e-4)
    assert_allclose(block.kernel(many, block.finished(few)), K[:, [3, 39, 7]], atol=2e-4)
    alpha = np.random.default_rng(0).normal(size=(3, 2))
    scores = block.scores(many, block.readout(block.finished(few), alpha))
    assert_allclose(scores, K[:, [3, 39, 7]] @ alpha, atol=5e-4)
    assert_allclose(block.variances(many), K.diagonal(), atol=5e-4)
    assert_allclose(block.variances(block.finished(few)), K.diagonal()[[3, 39, 7]], atol=5e-4)


@pytest.mark.parametrize("name", PROPAGATIONS)
def test_the_default_tolerance_is_small(name: str) -> None:
    """Truncated Chebyshev series change propagated rows by few per cent."""
    nodes = NodeGraph.fit(graph(), words())
    expected = dense_rows(nodes, name)
    error = np.linalg.norm(nodes.rows(name).dense() - expected) / np.linalg.norm(expected)
    assert error < 0.03


@pytest.mark.parametrize("name", PROPAGATIONS)
def test_dual_rows_are_primal_rows(name: str) -> None:
    """Rows by columns of the features and by indicators of the nodes agree."""
    nodes = NodeGraph.fit(graph(), words())
    every = nodes.rows(name)
    twice = every[np.tile(np.arange(N), 2)]  # more rows than features
    primal = twice.dense()[:N]
    assert twice.shape[0] > twice.shape[1] > every.shape[0]
    assert_allclose(every.dense(), primal, atol=1e-5)
    w = np.random.default_rng(0).normal(size=(every.shape[1], 2))
    assert_allclose(every @ w, primal @ w, atol=1e-4)


def test_norms_of_wide_features_are_estimated() -> None:
    """Norms by 128 random projections have a relative standard deviation of 1/√256 = 0.0625."""
    nodes = NodeGraph.fit(graph(), words(d=2000))
    estimate = np.sqrt(nodes.squared_norms("graph"))
    exact = np.linalg.norm(nodes.rows("graph").dense() - nodes.centres["graph"], axis=1)
    assert np.abs(estimate / exact - 1).max() < 4 / np.sqrt(256)
    assert np.sqrt(np.mean((estimate / exact - 1) ** 2)) < 2 / np.sqrt(256)
    assert nodes.approximations == (
        "norms of propagated features are estimated by 128 random projections, "
        "with an error of 6 %",
    )
    assert NodeGraph.fit(graph(), words()).approximations == ()


def test_leave_one_out_agrees_with_refitting() -> None:
    """Held-out scores are those of a process that has never seen the label."""
    nodes, labelled = NodeGraph.fit(graph(), words()), np.arange(0, 30)
    process, held_out = fitted(nodes, labelled)
    K = process.kernel(process.labelled, process.labelled)
    for i in (0, 4, 17):
        rest = np.delete(np.arange(30), i)
        Y = targets(CLASSES[labelled], 3)[rest]
        alpha = np.linalg.solve(K[np.ix_(rest, rest)] + np.eye(29), Y)
        assert_allclose(held_out[i], K[i, rest] @ alpha, atol=1e-8)


def distributions(process: GaussianProcess, nodes: NodeGraph, first: int = 0) -> np.ndarray:
    """Return class distributions of the nodes from `first` on."""
    compiled = CompiledScores(process, RowViews(None, {}, nodes))
    return process.distributions(compiled.at(node_views(nodes, first)))


@pytest.mark.usefixtures("tight")
def test_scores_of_all_nodes_follow_from_the_kernel() -> None:
    """The process classifies all nodes as k(·, labelled) α does."""
    nodes, labelled = NodeGraph.fit(hypergraph(), words()), np.arange(0, 30)
    process, _ = fitted(nodes, labelled)
    views = node_views(nodes)
    scores = CompiledScores(process, RowViews(None, {}, nodes)).at(views)
    assert_allclose(scores, exact_scores(process, views), atol=1e-3)


@pytest.mark.parametrize("make", [graph, hypergraph])
def test_nodes_in_another_order_have_the_same_distributions(make: Any) -> None:
    """The fit is equivariant to permutations of the nodes."""
    order = np.random.default_rng(1).permutation(N)
    nodes, labelled = NodeGraph.fit(make(), words()), np.arange(0, N, 2)
    P = distributions(fitted(nodes, labelled).process, nodes)
    if nodes.hyperedge_weights is None:
        other: Any = AdjacencyGraph(nodes.edges[order][:, order])
    else:
        other = Hypergraph(nodes.edges[order], nodes.hyperedge_weights)
    moved = NodeGraph.fit(other, words()[order])
    places = np.argsort(order)[labelled]
    views = node_views(moved)
    blocks = [PropagatedBlock.fit(name, moved) for name in PROPAGATIONS]
    known = {name: rows[places] for name, rows in views.items()}
    prior = Prior.load("graph_prior")
    again = fit_process(known, CLASSES[labelled], 3, blocks, None, prior, 0).process
    assert_allclose(distributions(again, moved), P[order], atol=2e-3)


def test_words_are_weighted_by_their_rarity() -> None:
    """Rows are X √idf of unit length; nearest neighbours are those of X idf."""
    X, nodes = words().toarray(), NodeGraph.fit(graph(), words())
    idf = np.log((1 + N) / (1 + (X > 0).sum(axis=0))) + 1
    expected = X * np.sqrt(idf)
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    assert_allclose(nodes.features.toarray(), expected, atol=1e-6)
    rows = X * idf / np.linalg.norm(X * idf, axis=1, keepdims=True)
    cosines = rows @ rows.T
    np.fill_diagonal(cosines, -1.0)
    assert_allclose(np.sort(nodes.near[[7]].data), np.sort(cosines[7])[-15:], atol=1e-6)


@pytest.mark.parametrize("kind", ["csr", "csc", "coo"])
def test_sparse_and_dense_features_are_equal(kind: str) -> None:
    """The format of the features does not matter."""
    for X in (words(), words(d=10), words() - sp.csr_array(words(seed=1) > 1)):
        dense = NodeGraph.fit(graph(), X.toarray())
        sparse = NodeGraph.fit(graph(), X.asformat(kind))
        difference = dense.features - sparse.features
        assert abs(difference).max() == 0
        assert abs(dense.near - sparse.near).max() < 1e-6


def test_mixed_columns_are_read_by_kind() -> None:
    """Categories and missing cells of a frame become features of nodes."""
    frame = pd.DataFrame({"size": CLASSES + 0.1, "kind": np.array(list("abc"))[CLASSES]})
    frame.loc[3, "size"] = np.nan
    nodes = NodeGraph.fit(graph(), frame)
    assert nodes.reader.table is not None and nodes.features.shape == (N, 5)
    assert nodes.with_nodes(frame.head(2)).n_nodes == N + 2


def test_many_nodes_search_neighbours_in_singular_vectors(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nearest neighbours of wide features by singular vectors are mostly the exact ones."""
    generator = np.random.default_rng(0)
    groups = generator.random((5, 300)) < 0.1
    X = sp.csr_array((groups[np.arange(200) % 5] & (generator.random((200, 300)) < 0.7)) * 1.0)
    every = sp.csr_array((200, 200))
    exact = NodeGraph.fit(AdjacencyGraph(every), X)
    monkeypatch.setattr("lowrankgcn.gp.node_features._EXACT", 100)
    monkeypatch.setattr("lowrankgcn.gp.node_features._RANK", 20)
    nodes = NodeGraph.fit(AdjacencyGraph(every), X)
    assert nodes.reader.basis is not None
    rows, columns = nodes.near.nonzero()
    assert (rows % 5 == columns % 5).mean() > 0.95
    assert exact.reader.basis is None
    assert nodes.with_nodes(X[:3]).near[200:].nnz >= 3


def test_graphs_too_large_for_neighbours_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without nearest neighbours, ``joint`` is on the edges alone."""
    for module in ("node_features", "node_graph"):
        monkeypatch.setattr(f"lowrankgcn.gp.{module}.MOST_NODES", 30)
    with pytest.warns(UserWarning, match="similar nodes are not joined, .* more than 30 nodes"):
        nodes = NodeGraph.fit(graph(), words())
    assert "more than 30 nodes" in nodes.approximations[0]
    assert list(node_views(nodes)) == ["ego", "high", "conv", "graph", "joint"]
    assert nodes.together == (("ego", "high", "conv", "graph", "joint"),)
    assert_allclose(nodes.rows("joint").dense(), dense_rows(nodes, "joint"), atol=0.02)
    assert nodes.with_nodes(words()[:2]).n_nodes == N + 2


def test_new_nodes_with_their_edges_are_like_fitted_ones() -> None:
    """A graph to which nodes are appended has the edges of the whole graph."""
    whole, X = graph(), words()
    first = NodeGraph.fit(AdjacencyGraph(whole.adjacency[:30, :30]), X[:30])
    rest = whole.adjacency[30:]
    matrix = first.with_nodes(X[30:], rest)
    assert abs(matrix.edges - whole.adjacency).max() == 0
    pairs = np.argwhere(rest.toarray())
    pairs[:, 0] += 30
    for listed in (pairs, pairs[:, ::-1]):
        appended = first.with_nodes(X[30:], listed)
        assert ((appended.edges != 0) != (whole.adjacency != 0)).nnz == 0
    once = first.with_nodes(X[30:], [[30, 31], [30, 2]]).edges
    assert once[30, 31] == once[31, 30] == once[30, 2] == once[2, 30] == 1
    assert once[30:].count_nonzero() == 3
    alone = first.with_nodes(X[30:])
    assert alone.edges[30:].nnz == 0 and alone.near[30:].nnz > 0


def test_new_nodes_of_a_hypergraph_join_hyperedges() -> None:
    """Known hyperedges grow, and numbers after the last one make new hyperedges."""
    whole, X = hypergraph(), words()
    H = NodeGraph.fit(whole, X).edges
    first = NodeGraph.fit(Hypergraph(H[:30], np.arange(1.0, 13.0)), X[:30])
    appended = first.with_nodes(X[30:], H[30:])
    assert abs(appended.edges - H).max() == 0
    grown = first.with_nodes(X[30:32], [[30, 0], [31, 0], [30, 13], [31, 13]])
    assert grown.edges.shape == (32, 14) and grown.edges[30:].nnz == 4
    # The weight of a hyperedge that was empty is not known.
    assert_allclose(grown.hyperedge_weights, [1, 2, 3, 1, *range(5, 13), 1, 1])


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        ([[0, 1]], "a new node 40 … 41"),
        ([[40, 42]], "a new node 40 … 41"),
        ([[40, -1]], "indices in 0.."),
        ([[40, 1, 2]], "pairs"),
        (sp.csr_array((2, 40)), "2 rows and 42 columns"),
        (sp.csr_array(-np.ones((2, 42))), "weights >= 0"),
    ],
)
def test_wrong_edges_of_new_nodes_are_refused(edges: Any, message: str) -> None:
    """Messages say which pairs or matrices are expected."""
    with pytest.raises(ValueError, match=message):
        NodeGraph.fit(graph(), words()).with_nodes(words()[:2], edges)


def test_a_changed_graph_needs_as_many_nodes() -> None:
    """Edges are replaced, features stay."""
    nodes = NodeGraph.fit(graph(), words())
    changed = nodes.with_edges(graph(seed=5))
    assert abs(changed.edges - graph(seed=5).adjacency).max() == 0
    with pytest.raises(ValueError, match="40 nodes"):
        nodes.with_edges(graph(n=20))


@pytest.mark.parametrize("make", [graph, hypergraph])
def test_node_graphs_are_saved(make: Any) -> None:
    """A graph with features comes back from arrays and JSON."""
    nodes = NodeGraph.fit(make(), words())
    again = decode(*encode(nodes), NodeGraph)
    for name in PROPAGATIONS:
        assert_allclose(again.rows(name).dense(), nodes.rows(name).dense(), atol=1e-6)


@st.composite
def graphs(draw: st.DrawFn) -> tuple[Any, np.ndarray, np.ndarray]:
    """Return a graph or hypergraph of any shape, features, and classes of labelled nodes."""
    n = draw(st.integers(4, 14))
    seed = draw(st.integers(0, 2**16))
    generator = np.random.default_rng(seed)
    density = draw(st.sampled_from([0.0, 0.1, 0.5]))
    if draw(st.booleans()):
        upper = np.triu(generator.random((n, n)) < density, 1).astype(float)
        made: Any = AdjacencyGraph(upper + upper.T)
    else:
        columns = draw(st.integers(1, 6))
        made = Hypergraph((generator.random((n, columns)) < density).astype(float))
    d = draw(st.sampled_from([1, 3, 60, 200]))
    X = generator.poisson(0.3, (n, d)).astype(float)
    return made, X, np.arange(n) % 2


@settings(max_examples=60)
@given(graphs())
def test_any_graph_is_classified(case: tuple[Any, np.ndarray, np.ndarray]) -> None:
    """Isolated nodes, many components, empty hyperedges and empty rows give distributions."""
    made, X, classes = case
    nodes = NodeGraph.fit(made, X)
    blocks = [PropagatedBlock.fit(name, nodes) for name in nodes.centres]
    views, labelled = node_views(nodes), np.arange(len(X) - 1)
    known = {name: rows[labelled] for name, rows in views.items()}
    prior = Prior.load("graph_prior")
    process, held_out = fit_process(known, classes[:-1], 2, blocks, None, prior, 0)
    P = distributions(process, nodes)
    assert np.isfinite(P).all() and np.isfinite(softmax(held_out)).all()
    assert_allclose(P.sum(axis=1), 1.0)
    appended = nodes.with_nodes(X[:2])
    new = distributions(process, appended, len(X))
    assert new.shape == (2, 2) and np.isfinite(new).all()
