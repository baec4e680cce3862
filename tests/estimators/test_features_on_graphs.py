"""Networks on given sparse graphs and hypergraphs with features."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import lowrankgcn as lg
from lowrankgcn import AdjacencyGraph, GCNClassifier, Hypergraph
from lowrankgcn.datasets import data_directory, fetch_planetoid
from lowrankgcn.estimators.gcn_features import features_on_graph, standard_scores


def citations(n: int = 240, n_words: int = 60, seed: int = 0) -> tuple[Any, Any, Any]:
    """Return weights, word counts and classes of documents in small components."""
    rng = np.random.default_rng(seed)
    truth = np.arange(n) % 3
    chances = np.where(np.arange(n_words) % 3 == truth[:, None], 0.3, 0.05)
    words = sp.csr_array((rng.random((n, n_words)) < chances).astype(float))
    # Edges mostly within a class, and only among documents of the same block of 12 documents.
    block = np.arange(n) // 12
    near = (block[:, None] == block) & (rng.random((n, n)) < 0.2)
    near &= (truth[:, None] == truth) | (rng.random((n, n)) < 0.1)
    weights = np.triu(near, 1).astype(float)
    return sp.csr_array(weights + weights.T), words, truth


WEIGHTS, WORDS, TRUTH = citations()
GRAPH = AdjacencyGraph(WEIGHTS)
LABELS = np.where(np.arange(240) < 36, TRUTH, -1)  # in the first three blocks only
VALIDATION = np.where((np.arange(240) >= 36) & (np.arange(240) < 72), TRUTH, -1)


def accuracy(classifier: GCNClassifier) -> float:
    return float((classifier.transduction_ == TRUTH)[72:].mean())


@pytest.mark.parametrize("form", ["sparse", "dense", "frame"])
def test_features_classify_components_without_labels(form: str) -> None:
    import pandas as pd

    dense = WORDS.toarray()
    X = {"sparse": WORDS, "dense": dense, "frame": pd.DataFrame(dense).add_prefix("w")}[form]
    classifier = GCNClassifier(graph=GRAPH, random_state=0).fit(X, LABELS)
    assert classifier.eigenpairs_ is None and not classifier.unplaced_.any()
    assert len(classifier.networks_) == 5 and accuracy(classifier) > 0.8
    again = GCNClassifier(graph=GRAPH, random_state=0).fit(WORDS, LABELS)
    np.testing.assert_allclose(
        classifier.label_distributions_, again.label_distributions_, atol=1e-5
    )
    with pytest.raises(ValueError, match="X: expected the fitted rows"):
        classifier.predict(WORDS)


def test_settings_of_given_graphs() -> None:
    (network, *_) = (
        GCNClassifier(graph=GRAPH, max_iter=3, random_state=0).fit(WORDS, LABELS).networks_
    )
    assert network.widths == (60, 16, 3)
    assert (network.dropout.p, network.input_dropout) == (0.5, 0.5)
    (kernel,) = network.kernels
    degrees = WEIGHTS.sum(axis=1) + 1
    expected = (WEIGHTS.toarray() + np.eye(240)) / np.sqrt(np.outer(degrees, degrees))
    np.testing.assert_allclose(kernel.to_dense(), expected, atol=1e-12)
    numbers = np.random.default_rng(0).normal(size=(240, 4))
    classifier = GCNClassifier(graph=GRAPH, max_iter=3, random_state=0).fit(numbers, LABELS)
    assert classifier.networks_[0].input_dropout == 0.0  # of dense features


def test_hypergraphs_with_features() -> None:
    sets = [
        np.flatnonzero((np.arange(240) // 12 == b) & (TRUTH == c))
        for b in range(20)
        for c in range(3)
    ]
    graph = Hypergraph.from_node_sets(sets, n_nodes=240)
    classifier = GCNClassifier(graph=graph, random_state=0).fit(WORDS, LABELS)
    assert not classifier.unplaced_.any() and accuracy(classifier) > 0.9


def test_the_paper_preset_leaves_components_without_labels_alone() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        classifier = GCNClassifier(graph=GRAPH, preset="paper", max_iter=3).fit(WORDS, LABELS)
    assert classifier.unplaced_[72:].all() and classifier.eigenpairs_ is not None


@pytest.mark.filterwarnings("ignore::lowrankgcn.DegenerateCutWarning")  # of the given rank
def test_pairs_beyond_the_null_space_of_many_components() -> None:
    n_components = GRAPH.n_components
    assert n_components >= 20
    for options, zeros, rank in (({}, min(n_components, 30), None), ({"rank": 24}, 12, 24)):
        classifier = GCNClassifier(graph=GRAPH, architecture="low-rank", random_state=0, **options)
        with pytest.warns(lg.UnlabelledComponentWarning, match="their class distribution"):
            classifier.fit(WORDS, LABELS)
        pairs: Any = classifier.eigenpairs_
        assert rank is None or pairs.rank == rank
        assert (pairs.eigenvalues == 0).sum() == zeros and pairs.rank > zeros
        L, U = classifier.laplacian_.to_dense(), pairs.eigenvectors
        np.testing.assert_allclose(U.T @ U, np.eye(pairs.rank), atol=1e-8)
        np.testing.assert_allclose(L @ U, U * pairs.eigenvalues, atol=1e-3)
        positive = np.linalg.eigvalsh(L)
        positive = positive[positive > 1e-9][: pairs.rank - zeros]
        np.testing.assert_allclose(pairs.eigenvalues[zeros:], positive, atol=1e-4)
        # Components with labels come first.
        labelled = set(np.unique(GRAPH.components[:36]).tolist())
        reached = {int(GRAPH.components[u != 0][0]) for u in U[:, :zeros].T}
        assert len(reached) == zeros and (labelled <= reached or reached <= labelled)
        unlabelled = np.isin(GRAPH.components, list(labelled), invert=True)
        np.testing.assert_array_equal(classifier.unplaced_, unlabelled & ~U.any(axis=1))


def test_a_graph_alone_with_many_components() -> None:
    """Two rings per component: null vectors do not separate them, further pairs do."""
    ring = np.roll(np.eye(20), 1, axis=1)
    one = np.kron(np.eye(2), ring + ring.T)
    one[0, 20] = one[20, 0] = 0.1
    graph = AdjacencyGraph(sp.csr_array(sp.kron(sp.eye_array(20), one)))
    truth = np.tile(np.repeat([0, 1], 20), 20)
    y = np.full(800, -1)
    y[5::20] = truth[5::20]
    classifier = GCNClassifier(random_state=0, max_iter=400).fit(graph, y)
    assert (classifier.transduction_ == truth).mean() > 0.9


def test_disjoint_groups_have_no_further_pairs() -> None:
    groups = np.arange(80) // 2
    graph = Hypergraph.from_node_sets([np.flatnonzero(groups == k) for k in range(40)])
    y = np.where(np.arange(80) % 2 == 0, groups % 2, -1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lg.DegenerateCutWarning)
        classifier = GCNClassifier(random_state=0).fit(graph, y)
    assert classifier.eigenpairs_ is not None and classifier.eigenpairs_.rank == 30


def test_features_on_graphs() -> None:
    rng = np.random.default_rng(0)
    for X in (WORDS, WORDS.toarray()):
        rows = features_on_graph(X, "rows")
        assert sp.issparse(rows)
        np.testing.assert_allclose(np.sqrt((rows * rows).sum(axis=1)), 1.0)
        np.testing.assert_allclose(features_on_graph(X, "sums").sum(axis=1), 1.0)
    numbers = rng.normal(size=(50, 4))
    np.testing.assert_allclose(features_on_graph(numbers, "rows"), standard_scores(numbers))
    sparse = features_on_graph(sp.csr_array(numbers), "scores")
    np.testing.assert_allclose(sparse, standard_scores(numbers))
    wide = rng.normal(size=(30, 700))
    reduced, scores = features_on_graph(wide, "rows"), standard_scores(wide)
    assert reduced.shape[1] <= 500
    np.testing.assert_allclose(reduced @ reduced.T, scores @ scores.T, atol=1e-8 * 700)
    kept = features_on_graph(sp.csr_array(wide * (rng.random(wide.shape) < 0.1)), "rows")
    assert sp.issparse(kept)
    np.testing.assert_allclose((kept * kept).mean(axis=0), kept.count_nonzero(axis=0) > 0)


def test_validation_rows() -> None:
    classifier = GCNClassifier(graph=GRAPH, preset="kipf", random_state=0)
    classifier.fit(WORDS, LABELS, validation=VALIDATION)
    assert accuracy(classifier) > 0.7
    names = np.array(["a", "b", "c", ""], dtype=object)
    words = GCNClassifier(graph=GRAPH, preset="kipf", random_state=0)
    words.fit(WORDS, names[LABELS], validation=names[VALIDATION])
    np.testing.assert_allclose(words.label_distributions_, classifier.label_distributions_)
    # Steps on random labels of validation rows stop early.
    stopped = GCNClassifier(graph=GRAPH, learning_rate=0.2, max_iter=400, random_state=0)
    wrong = np.where(VALIDATION >= 0, (VALIDATION + 1) % 3, -1)
    assert stopped.fit(WORDS, LABELS, validation=wrong).n_iter_ < 400
    for message, wrong in (
        ("validation: expected 240 labels", VALIDATION[:-1]),
        (r"validation: expected labels among \[0, 1, 2\], got", np.full(240, 7)),
        ("y: expected a labelled row", np.full(240, -1)),
    ):
        with pytest.raises(ValueError, match=message):
            classifier.fit(WORDS, LABELS, validation=wrong)


def test_input_dropout_needs_full_rank() -> None:
    with pytest.raises(ValueError, match="input_dropout: expected 0 with architecture='low-rank'"):
        GCNClassifier(input_dropout=0.5).fit(WORDS.toarray(), LABELS)


@pytest.mark.parametrize(
    ("name", "default", "kipf"), [("cora", 0.8, 0.8), ("citeseer", 0.69, 0.68)]
)
def test_public_splits(name: Any, default: float, kipf: float) -> None:
    if not (data_directory() / "graphs" / f"{name}.npz").is_file():
        pytest.skip(f"no graphs/{name}.npz in the data directory (LOWRANKGCN_DATA)")
    nodes = fetch_planetoid(name)
    test = nodes.splits[0] == 3  # type: ignore[index]
    for preset, least in (("default", default), ("kipf", kipf)):
        classifier = GCNClassifier(graph=nodes.graph, preset=preset, random_state=0)
        validation = nodes.labels(part=2) if preset == "kipf" else None
        classifier.fit(nodes.data, nodes.labels(), validation=validation)
        assert (classifier.transduction_ == nodes.target)[test].mean() >= least, preset
