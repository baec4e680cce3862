"""Graphs, architectures, filters and presets."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning

import lowrankgcn as lg
from lowrankgcn import (
    AdjacencyGraph,
    GaussianGraph,
    GCNClassifier,
    Hypergraph,
    UnlabelledComponentWarning,
)
from lowrankgcn.nn import TrainingRecord
from tests.support.each import each

# Here a column often is the class itself.
pytestmark = pytest.mark.filterwarnings("ignore::lowrankgcn.exceptions.LabelWarning")

N = 90
POINTS, TRUTH = make_blobs(N, centers=3, n_features=2, cluster_std=1.0, random_state=3)
LABELS = np.full(N, -1)
for _label in range(3):
    LABELS[np.flatnonzero(TRUTH == _label)[:6]] = _label
WEIGHTS = np.exp(-np.square(POINTS[:, None] - POINTS[None]).sum(axis=2) / 9.0)
TABLE = pd.DataFrame({"a": np.array(list("xyz"))[TRUTH], "b": np.arange(N) % 4, "c": POINTS[:, 0]})
INCIDENCE = sp.csr_array(pd.get_dummies(TABLE[["a", "b"]].astype(str)).to_numpy(float))


def quick(**options: Any) -> GCNClassifier:
    given: dict[str, Any] = {"max_iter": 60, "n_restarts": 1, "random_state": 0}
    return GCNClassifier(**(given | options))


LOW_RANK: dict[str, Any] = {"architecture": "low-rank", "filter": "heat", "rank": 5}


def accuracy(classifier: GCNClassifier) -> float:
    return float((classifier.transduction_ == TRUTH).mean())


GRAPHS: dict[str, tuple[Any, Any, type, str]] = {
    "points": ("auto", POINTS, GaussianGraph, "GaussianGraph(90 points in 2 dimensions"),
    "many columns": ("auto", np.tile(POINTS, 4), AdjacencyGraph, "AdjacencyGraph(90 nodes, sp"),
    "table": ("auto", TABLE, Hypergraph, "Hypergraph(90 nodes"),
    "given graph": ("auto", AdjacencyGraph(WEIGHTS), AdjacencyGraph, "AdjacencyGraph(90 nodes"),
    "knn": ("knn", POINTS, AdjacencyGraph, "AdjacencyGraph(90 nodes, sparse"),
    "hypergraph of numbers": ("hypergraph", POINTS, Hypergraph, "Hypergraph(90 nodes, 10 hyper"),
    "incidence": ("hypergraph", INCIDENCE, Hypergraph, "Hypergraph(90 nodes, 7 hyperedges)"),
    "precomputed": ("precomputed", WEIGHTS, AdjacencyGraph, "AdjacencyGraph(90 nodes"),
    "sparse": ("precomputed", sp.csr_array(WEIGHTS), AdjacencyGraph, "AdjacencyGraph(90 nodes"),
    "object": (AdjacencyGraph.knn(POINTS, 6), POINTS, AdjacencyGraph, "AdjacencyGraph(90 nodes"),
    "object and a table": (Hypergraph(INCIDENCE), TABLE, Hypergraph, "Hypergraph(90 nodes, 7"),
}


@each("name", GRAPHS)
def test_graphs(name: str) -> None:
    graph, X, kind, text = GRAPHS[name]
    options = {} if name in ("points", "table") else LOW_RANK
    classifier = quick(graph=graph, **options).fit(X, LABELS)
    assert type(classifier.graph_) is kind
    assert repr(classifier.graph_).startswith(text)
    assert classifier.laplacian_.graph is classifier.graph_
    assert accuracy(classifier) > 0.8
    if not isinstance(graph, str):
        assert classifier.graph_ is graph


def test_a_bandwidth_is_in_the_units_of_the_columns() -> None:
    classifier = quick(bandwidth=2.5).fit(POINTS, LABELS)
    assert isinstance(classifier.graph_, GaussianGraph)
    assert classifier.graph_.bandwidth == 2.5
    np.testing.assert_array_equal(classifier.graph_.points, POINTS)


FILTERS: dict[str, Any] = {
    "name": "pseudoinverse",
    "object": lg.filters.Heat(time=3.0),
    "callable": lambda values: np.exp(-values),
    "two": ["pseudoinverse", "constant"],
    "three": ["linear", "quadratic", lg.filters.Heat(time=1.0)],
}


@each(
    ("architecture", "spec"),
    [
        ("low-rank", "name"),
        ("low-rank", "object"),
        ("reduced", "callable"),
        ("low-rank", "two"),
        ("reduced", "three"),
    ],
)
def test_filters_of_given_rank(architecture: str, spec: str) -> None:
    classifier = quick(architecture=architecture, filter=FILTERS[spec], rank=12, max_iter=20)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        classifier.fit(POINTS, LABELS)
    assert classifier.eigenpairs_ is not None and classifier.eigenpairs_.rank == 12
    count = len(FILTERS[spec]) if isinstance(FILTERS[spec], list) else 1
    assert classifier.networks_[0].convs[0].weight.shape[0] == count
    assert classifier.predict_proba(POINTS).shape == (N, 3)


@pytest.mark.parametrize("spec", ["auto", ["linear", "quadratic"]])
def test_full_rank(spec: Any) -> None:
    classifier = quick(architecture="full", filter=spec).fit(POINTS, LABELS)
    assert classifier.eigenpairs_ is None
    assert accuracy(classifier) > 0.8
    with pytest.raises(ValueError, match=r"X: expected the fitted rows .*architecture='low-rank'"):
        classifier.predict(POINTS)


@pytest.mark.parametrize(
    ("rank", "architecture"), [(1, "low-rank"), (3, "reduced"), (N - 1, "reduced"), (N, "low-rank")]
)
def test_ranks(rank: int, architecture: str) -> None:
    classifier = quick(architecture=architecture, rank=rank, filter="heat", max_iter=5)
    classifier.fit(POINTS, LABELS)
    assert classifier.eigenpairs_ is not None and classifier.eigenpairs_.rank == rank


def test_smoothers() -> None:
    for smoother in (None, "none", "identity", 0.5, np.ones(N)):
        classifier = quick(graph="knn", smoother=smoother, **LOW_RANK).fit(POINTS, LABELS)
        assert accuracy(classifier) > 0.8, smoother
    for smoother in ("hypergraph", "combined"):
        classifier = quick(smoother=smoother, **LOW_RANK).fit(TABLE, LABELS)
        assert accuracy(classifier) > 0.8, smoother


def test_default_settings() -> None:
    classifier = GCNClassifier(random_state=0).fit(POINTS, LABELS)
    network, *others = classifier.networks_
    assert len(others) == 2
    memory = [[buffer.data_ptr() for buffer in one.buffers()] for one in classifier.networks_]
    assert memory[0] == memory[1] == memory[2]  # eigenvectors are stored once
    assert isinstance(network, lg.nn.GCN) and network.widths == (2, 32, 3)
    assert classifier.eigenpairs_.rank == 30
    values = classifier.eigenpairs_.eigenvalues
    (kernel,) = network.kernels
    positive = values[values > 1e-9]
    np.testing.assert_allclose(
        kernel.response / kernel.response[0], positive[2] / (values + positive[2]), rtol=1e-6
    )
    assert classifier.loss_curve_.shape == (200, 3)
    assert set(classifier.timings_) == {"set-up", "training", "prediction"}


def test_paper_preset() -> None:
    classifier = GCNClassifier(preset="paper", random_state=0, max_iter=100, bandwidth=3.0)
    classifier.fit(POINTS, LABELS)
    assert classifier.eigenpairs_.rank == 20
    (network,) = classifier.networks_
    assert network.widths == (2, 16, 3)
    assert str(network.kernels[0].filter).startswith("pseudoinverse")
    assert network.convs[0].bias is None
    assert classifier.loss_curve_.shape == (100, 1)
    assert classifier.n_iter_ == 100


def test_an_argument_overrides_the_preset() -> None:
    classifier = GCNClassifier(
        preset="paper", rank=7, hidden_widths=(5, 4), max_iter=10, random_state=0, filter="heat"
    ).fit(POINTS, LABELS)
    assert classifier.eigenpairs_.rank == 7
    assert classifier.networks_[0].widths == (2, 5, 4, 3)


def test_restarts_that_diverge_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    alone, real_train = quick(n_restarts=3).fit(POINTS, LABELS), lg.nn.train

    def train(*arguments: Any, **options: Any) -> TrainingRecord:
        record = real_train(*arguments, **options)
        record.weights[0][1] = np.nan
        return replace(record, diverged=np.array([False, True, False]))

    with monkeypatch.context() as patch:
        patch.setattr(lg.nn, "train", train)
        classifier = quick(n_restarts=3)
        with pytest.warns(ConvergenceWarning, match="training diverged in 1 of 3 restarts; lower"):
            classifier.fit(POINTS, LABELS)
    for kept, network in zip((0, 2), classifier.networks_, strict=True):
        expected = alone.networks_[kept].state_dict()
        assert all((network.state_dict()[key] == expected[key]).all() for key in expected)
    assert np.isfinite(classifier.label_distributions_).all()
    assert np.isfinite(classifier.predict_proba(POINTS)).all()


def test_one_label_of_each_class() -> None:
    y = np.full(N, -1)
    for label in range(3):
        y[np.flatnonzero(TRUTH == label)[0]] = label
    assert accuracy(quick().fit(POINTS, y)) > 0.7


# Two islands of 20 with labels, one of 8 without, one labelled and one unlabelled row by itself.
ISLANDS = np.concatenate(
    [
        np.random.default_rng(1).normal(size=(20, 2)),
        np.random.default_rng(2).normal(size=(20, 2)) + 100.0,
        np.random.default_rng(3).normal(size=(8, 2)) + 300.0,
        [[-500.0, 0.0], [0.0, -500.0]],
    ]
)
ISLAND_LABELS = np.full(50, -1)
ISLAND_LABELS[[0, 1, 2]], ISLAND_LABELS[[20, 21, 22]], ISLAND_LABELS[48] = 0, 1, 1


@pytest.mark.parametrize("architecture", ["low-rank", "full", "reduced"])
def test_unlabelled_components_are_uniform(architecture: str) -> None:
    classifier = quick(architecture=architecture, graph="gaussian", bandwidth=2.0)
    message = "9 of 50 rows belong to parts of the graph without any label"
    with pytest.warns(UnlabelledComponentWarning, match=message) as caught:
        classifier.fit(ISLANDS, ISLAND_LABELS)
    assert caught[0].filename == __file__
    lost = np.r_[40:48, 49]
    assert np.flatnonzero(classifier.unplaced_).tolist() == lost.tolist()
    np.testing.assert_array_equal(classifier.label_distributions_[lost], 0.5)
    # The labelled row by itself keeps its label.
    assert classifier.label_distributions_[48].tolist() == [0.0, 1.0]
    right = classifier.transduction_[:40] == np.repeat([0, 1], 20)
    assert right.mean() > (0.6 if architecture == "reduced" else 0.95)


def test_distant_new_rows_are_uniform() -> None:
    classifier = quick(graph="gaussian", bandwidth=2.0)
    with pytest.warns(UnlabelledComponentWarning):
        classifier.fit(ISLANDS, ISLAND_LABELS)
    rows = np.array([[0.0, 0.0], [1e5, 1e5], [300.0, 300.0]])
    with pytest.warns(UnlabelledComponentWarning, match="2 of 3 rows have no affinity") as caught:
        shares = classifier.predict_proba(rows)
    assert caught[0].filename == __file__
    assert shares[0, 0] > 0.5
    np.testing.assert_array_equal(shares[1:], 0.5)


def test_table_rows_without_shared_values() -> None:
    table = pd.DataFrame({"a": ["x"] * 10 + ["y"] * 10 + [None] * 2, "b": [None] * 22})
    y = np.full(22, -1)
    y[[0, 1, 10, 11]] = [0, 0, 1, 1]
    with pytest.warns(UnlabelledComponentWarning, match="2 of 22 rows"):
        classifier = quick().fit(table, y)
    np.testing.assert_array_equal(classifier.label_distributions_[20:], 0.5)
    assert (classifier.transduction_[:20] == np.repeat([0, 1], 10)).all()


@pytest.mark.parametrize(
    ("scale", "shift", "graph"),
    [(1e-6, 1e6, "auto"), (1e6, 0.0, "knn"), (1e6, 1e6, "hypergraph")],
)
def test_units_and_origin_do_not_matter(scale: float, shift: float, graph: str) -> None:
    classifier = quick(graph=graph, n_restarts=2).fit(POINTS, LABELS)
    units = np.array([scale, 1.0])
    # The shift is in the units of the column: more would leave no digits to shift.
    moved = (POINTS + shift) * units
    other = quick(graph=graph, n_restarts=2).fit(moved, LABELS)
    np.testing.assert_array_equal(other.transduction_, classifier.transduction_)
    np.testing.assert_allclose(
        other.label_distributions_, classifier.label_distributions_, atol=1e-3
    )
    np.testing.assert_array_equal(other.predict(moved), classifier.predict(POINTS))


def test_divergence_is_an_error() -> None:
    classifier = quick(
        architecture="low-rank", filter="heat", rank=10, optimizer="gd", learning_rate=1e20
    )
    warns = pytest.warns(ConvergenceWarning, match="diverged in 1 of 1 restarts; lower")
    with warns, pytest.raises(ValueError, match=r"^Training diverged; lower learning_rate\."):
        classifier.fit(POINTS, LABELS)


def test_early_stopping() -> None:
    options = {"architecture": "low-rank", "filter": "heat", "rank": 10, "max_iter": 3000}
    options |= {"optimizer": "gd", "learning_rate": 0.5, "l2_penalty": 0.05}
    classifier = quick(early_stopping=True, **options).fit(POINTS, LABELS)
    assert classifier.n_iter_ < 3000
    assert accuracy(classifier) > 0.8


def test_optimizers() -> None:
    for optimizer in ("gd", "adam"):
        classifier = quick(optimizer=optimizer, **(LOW_RANK | {"max_iter": 150}))
        assert accuracy(classifier.fit(POINTS, LABELS)) > 0.8, optimizer


def test_double_precision_agrees_with_single() -> None:
    single = quick().fit(POINTS, LABELS)
    double = quick(dtype="float64").fit(POINTS, LABELS)
    assert {str(weight.dtype) for weight in double.networks_[0].parameters()} == {"torch.float64"}
    assert accuracy(double) == pytest.approx(accuracy(single), abs=0.05)
    assert double.label_distributions_.dtype == np.float64


def test_no_hidden_layer_and_no_bias() -> None:
    classifier = quick(hidden_widths=(), bias=False).fit(POINTS, LABELS)
    assert len(classifier.networks_[0].convs) == 1
    assert accuracy(classifier) >= 2 / 3  # the class in the middle takes a bias


def test_progress_is_shown_on_request(capsys: pytest.CaptureFixture[str]) -> None:
    quick(max_iter=5).fit(POINTS, LABELS)
    assert capsys.readouterr() == ("", "")


def test_class_weights_move_the_decision_boundary() -> None:
    X = np.random.default_rng(0).normal(size=(80, 2)) + np.repeat([[0.0], [1.5]], 40, axis=0)
    y = np.where(np.arange(80) % 2, np.repeat([0, 1], 40), -1)
    counts = [
        (quick(class_weight=weight).fit(X, y).transduction_ == 1).mean()
        for weight in ({0: 20.0}, None, {1: 20.0})
    ]
    assert counts[0] < counts[1] < counts[2]
