"""Features on a graph or hypergraph in SpectralGPClassifier: input, new nodes, updates, files."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

import lowrankgcn as lg
from lowrankgcn import AdjacencyGraph, Hypergraph, SpectralGPClassifier
from tests.gp.test_propagation import CLASSES, N, graph, hypergraph, words

Y = np.where(np.arange(N) < 18, CLASSES, -1)
FRAME = pd.DataFrame({"size": CLASSES + np.sin(np.arange(N)), "kind": np.array(list("abcd" * 10))})


def fitted(X: Any = None, made: Any = None) -> SpectralGPClassifier:
    """Fit a classifier to features on a graph."""
    X, made = words() if X is None else X, graph() if made is None else made
    return SpectralGPClassifier(graph=made, random_state=0).fit(X, Y)


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "dense", "frame"])
def test_all_formats_of_features_give_the_same_distributions(kind: str) -> None:
    """Sparse matrices, arrays and frames of the same words agree."""
    X: Any = words()
    expected = fitted(X).label_distributions_
    if kind == "frame":
        X = pd.DataFrame(X.toarray(), columns=[f"w{j}" for j in range(X.shape[1])])
    else:
        X = X.toarray() if kind == "dense" else X.asformat(kind)
    classifier = fitted(X)
    assert_allclose(classifier.label_distributions_, expected, atol=1e-6)
    assert (classifier.transduction_ == CLASSES).mean() > 0.7
    assert classifier.block_shares_.keys() == {"ego", "high", "conv", "graph", "joint", "near"}


def test_a_mixed_frame_keeps_the_blocks_of_tables() -> None:
    """Narrow features have table, spectral and propagated blocks; new nodes are classified."""
    classifier = fitted(FRAME)
    assert {"radial", "given-6", "random-forest", "joint"} <= classifier.block_shares_.keys()
    assert {"given", "graph", "near"} == classifier.filter_.keys()
    new = classifier.predict_proba(FRAME.head(2), edges=[[N, 0], [N + 1, 1]])
    assert new.shape == (2, 3)
    assert_allclose(classifier.update_graph(graph()), classifier.label_distributions_)


def test_parts_without_a_label_use_their_features() -> None:
    """No warning is raised with features, and a graph alone warns as before."""
    empty = AdjacencyGraph(sp.csr_array((N, N)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        classifier = fitted(made=empty)
    assert (classifier.transduction_ == CLASSES)[18:].mean() > 0.6
    with pytest.warns(lg.exceptions.UnlabelledComponentWarning):
        SpectralGPClassifier(random_state=0).fit(graph(), Y)


@pytest.mark.parametrize("make", [graph, hypergraph])
def test_new_nodes_are_classified_from_edges_and_files(make: Any, tmp_path: Path) -> None:
    """A saved classifier gives the same distributions of new nodes."""
    classifier = fitted(made=make())
    edges = [[N, 0], [N, 3], [N + 1, 1]]
    expected = classifier.predict_proba(words()[:2], edges=edges)
    assert abs(expected - classifier.predict_proba(words()[:2])).max() > 1e-3
    lg.save(classifier, tmp_path / "model.safetensors")
    loaded = lg.load(tmp_path / "model.safetensors")
    assert_allclose(loaded.predict_proba(words()[:2], edges=edges), expected, atol=1e-6)
    assert (
        loaded.predict(words()[:2].toarray(), edges) == classifier.predict(words()[:2], edges)
    ).all()
    assert loaded.prediction_sets(words()[:2], edges=edges).shape == (2, 3)
    assert loaded.unsure(words()[:2], edges=edges).shape == (2,)
    assert loaded.filter_.keys() == {"graph", "near"}
    changed = make(seed=3)
    assert_allclose(loaded.update_graph(changed), classifier.update_graph(changed), atol=1e-6)


def test_a_new_node_like_a_fitted_one_has_a_similar_distribution() -> None:
    """Features and edges of a fitted node, as a new one, are predicted alike."""
    classifier = fitted()
    rows = graph().adjacency[30:]
    block = sp.hstack([rows, sp.csr_array((10, 10))]).tocsr()
    new = classifier.predict_proba(words()[30:], edges=block)
    assert (new.argmax(axis=1) == classifier.label_distributions_[30:].argmax(axis=1)).mean() >= 0.8


def test_edges_change_without_another_fit() -> None:
    """The same graph changes nothing; another one changes distributions and attributes."""
    classifier = fitted()
    before, amplitudes = classifier.label_distributions_, classifier._model.process.amplitudes
    assert_allclose(classifier.update_graph(graph()), before, atol=1e-6)
    other = graph(seed=7)
    after = classifier.update_graph(other.adjacency)
    assert abs(after - before).max() > 0.01
    assert classifier.label_distributions_ is after and classifier.graph_.n_nodes == N
    assert classifier._model.process.amplitudes is amplitudes
    mixed = fitted(FRAME)  # with a spectral embedding, which is extended with damping
    before = mixed.label_distributions_
    mixed.update_graph(other)
    assert_allclose(mixed.update_graph(graph()), before, atol=1e-9)
    assert len(classifier.suggest(2)) == 2
    with pytest.raises(ValueError, match="40 nodes"):
        classifier.update_graph(np.zeros((3, 3)))
    with pytest.raises(ValueError, match="features on a graph"):
        SpectralGPClassifier(random_state=0).fit(FRAME, Y).update_graph(other)


@pytest.mark.parametrize("by", ["auto", "rows", "blocks"])
def test_nodes_are_explained(by: str) -> None:
    """Contributions add up to the log-odds, and linked nodes are counted."""
    classifier = fitted()
    nodes = [20, 39]
    for explanation in (
        classifier.explain(nodes, by=by),
        classifier.explain(words()[nodes], by=by, edges=[[N, 0], [N, 3]]),
    ):
        for row in explanation:
            total = row.baseline + sum(part.amount for part in row.contributions)
            assert_allclose(total, row.log_odds, rtol=1e-2, atol=1e-2)
        counts = [row.linked for row in explanation]
        assert counts[1] == (0, 0) and counts[0][0] <= counts[0][1] > 1
        assert f"{counts[0][0]} of {counts[0][1]} linked nodes predicted" in str(explanation)
    same = classifier.transduction_[graph().adjacency[[20]].indices] == classifier.transduction_[20]
    assert classifier.explain([20]).rows[0].linked == (same.sum(), len(same))


@pytest.mark.parametrize("kind", ["words", "frame", "hypergraph", "alone"])
def test_words_and_columns_explain_predictions(kind: str) -> None:
    """Terms of columns add up to the log-odds; the informative ones are the most important."""
    generator = np.random.default_rng(0)
    own = CLASSES[:, None] == np.arange(600) % 3
    X: Any = sp.csr_array(1.0 * (generator.random((N, 600)) < np.where(own, 0.06, 0.01)))
    X.data[:] = 2.0
    made: Any = {"hypergraph": hypergraph(), "alone": "auto"}.get(kind, graph())
    classifier = fitted(FRAME if kind == "frame" else X, made)
    if kind == "frame":
        X = FRAME
    new = X.head(2) if kind == "frame" else X[:2]
    every = [classifier.explain(new, by="columns")]
    every += [classifier.explain([3, 20], by="columns")] if kind != "alone" else []
    for row in (row for explanation in every for row in explanation):
        total = row.baseline + sum(part.amount for part in row.contributions)
        assert_allclose(total, row.log_odds, atol=1e-3)
    names = {part.name: part.value for part in every[0][0].contributions}
    importance = classifier.column_importance()
    assert sum(importance.values()) == pytest.approx(1.0)
    if kind == "frame":
        assert names["kind"] == "a" and next(iter(importance)) == "size"
        return
    best = every[0][0].contributions[0]
    assert best.name % 3 == CLASSES[0] and best.amount > 0
    row = X[[0]].toarray()[0]
    assert all(float(value) == row[name] for name, value in names.items())


def test_what_is_not_available_is_said() -> None:
    """Edges need features on a graph, and importance needs the fitted nodes."""
    classifier = fitted(FRAME)
    with pytest.raises(ValueError, match="X: expected None"):
        classifier.column_importance(FRAME)
    plain = SpectralGPClassifier(random_state=0).fit(FRAME, Y)
    with pytest.raises(ValueError, match="edges: expected None"):
        plain.predict(FRAME.head(1), edges=[[N, 0]])
    with pytest.raises(ValueError, match="as many as rows"):
        SpectralGPClassifier(graph=graph(), random_state=0).fit(words()[:30], Y[:30])


def test_filters_tell_low_from_high_frequencies() -> None:
    """Classes that agree along edges give a low-pass filter, opposite ones a high-pass filter."""
    generator = np.random.default_rng(0)
    n, classes = 200, np.arange(200) % 2
    labels = np.where(generator.random(n) < 0.3, classes, -1)
    X = 1.0 * (generator.random((n, 60)) < 0.1 + 0.06 * (np.arange(60) % 2 == classes[:, None]))
    same = classes[:, None] == classes
    ends = {}
    for name, pairs in (("low", same), ("high", ~same)):
        upper = np.triu(pairs & (generator.random((n, n)) < 0.04), 1)
        made = AdjacencyGraph(1.0 * (upper | upper.T))
        classifier = SpectralGPClassifier(graph=made, random_state=0).fit(X, labels)
        learned = classifier.filter_["graph"]
        ends[name] = learned.response[0], learned.response[-1]
    assert ends["low"][0] > 2 * ends["low"][1]
    assert ends["high"][1] > ends["high"][0]


def test_hypergraph_weights_count() -> None:
    """Weights of hyperedges change the distributions."""
    made = hypergraph()
    H = fitted(made=made)._model.maps.nodes.edges
    equal = fitted(made=Hypergraph(H)).label_distributions_
    assert abs(fitted(made=made).label_distributions_ - equal).max() > 1e-4
