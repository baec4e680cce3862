"""Rows, graphs, labels and arguments that SpectralGPClassifier accepts or refuses."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.datasets import make_moons

from lowrankgcn import (
    AdjacencyGraph,
    ColumnWarning,
    GaussianGraph,
    Hypergraph,
    UnlabelledComponentWarning,
)
from lowrankgcn.estimators import gp_model
from lowrankgcn.estimators.gcn_classifier import GCNClassifier
from lowrankgcn.estimators.gp_classifier import SpectralGPClassifier
from lowrankgcn.gp import recipe
from lowrankgcn.graphs import Graph
from tests.support.each import each
from tests.support.oracles.reference_gp import exact_scores

X, TRUTH = make_moons(80, noise=0.1, random_state=0)
X = X[np.argsort(TRUTH, kind="stable").reshape(2, 40).T.ravel()]  # classes in turn
TRUTH = np.arange(80) % 2
Y = np.where(np.arange(80) < 12, TRUTH, -1)
WEIGHTS = np.exp(-((X[:, None] - X) ** 2).sum(axis=2))
NEAR = sp.csr_array(WEIGHTS * (WEIGHTS > 0.7))
INCIDENCE = sp.csr_array((np.random.default_rng(0).random((80, 12)) < 0.3) * 1.0)
NETWORK = GCNClassifier(max_iter=5, n_restarts=1, random_state=0)
LABELS = {"two": [0, 1], "few": [0, 1, 0, 1], "some": [0, 1] * 5}


@pytest.fixture(autouse=True)
def few_trees(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recipe, "_TREES", 10)


def table(n: int = 60, seed: int = 0) -> pd.DataFrame:
    generator = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "number": generator.normal(size=n),
            "integer": generator.integers(0, 9, n),
            "flag": generator.random(n) < 0.5,
            "date": pd.date_range("2020-01-01", periods=n, freq="D"),
            "category": pd.Categorical(generator.choice(list("abc"), n)),
            "text": generator.choice(["x", "y", "z"], n).astype(object),
            "Int64": pd.array(generator.integers(0, 5, n), dtype="Int64"),
            "size": 10.0 ** generator.integers(-300, 300, n),
        }
    )
    for k, name in enumerate(("number", "date", "category", "text", "Int64")):
        frame.loc[:: 4 + k, name] = None
    return frame


def labels(n: int, kind: str) -> np.ndarray:
    y = np.full(n, -1)
    y[: len(LABELS[kind])] = LABELS[kind]
    return y


def check_outputs(classifier: SpectralGPClassifier, rows: Any) -> None:
    """Assert that all read-outs exist, are finite and agree with one another."""
    shares = classifier.predict_proba(rows)
    for own in (shares, classifier.label_distributions_, classifier.loo_distributions_):
        assert np.isfinite(own).all() and (own >= 0).all()
        np.testing.assert_allclose(own.sum(axis=1), 1.0)
    by = "columns" if classifier._model.maps.features is not None else "rows"
    for row, own in zip(classifier.explain(rows), shares, strict=True):
        total = row.baseline + sum(one.amount for one in row.contributions)
        first, second = np.sort(own)[::-1][:2]
        np.testing.assert_allclose([total, row.log_odds], np.log(first / second), atol=1e-6)
    assert classifier.explain(rows).by == by
    assert classifier.prediction_sets(rows).any(axis=1).all()
    assert classifier.unsure(rows).shape == (len(shares),)
    free = len(classifier.label_distributions_) - len(classifier.loo_distributions_)
    assert len(set(classifier.suggest(free).tolist())) == free if free else True


FRAMES: dict[str, Callable[[], tuple[Any, Any, str]]] = {
    "mixed": lambda: (table(), table(9, 1), "some"),
    "all columns missing": lambda: (table(), table(3).map(lambda _: None), "some"),
    "all cells NaN": lambda: (table(), table(3).astype(object).map(lambda _: np.nan), "some"),
    "unknown values": lambda: (table(), table(3).assign(text="new", category="new"), "some"),
    "integers later floats": lambda: (table(), table(4).assign(integer=0.5), "some"),
    "objects": lambda: (table().astype(object).to_numpy(), table(4).to_numpy(object), "some"),
    "names are integers": lambda: (pd.DataFrame(X), pd.DataFrame(X[:3]), "some"),
    "string dtype": lambda: (table().astype({"text": "string"}), table(3), "some"),
    "missing numbers": lambda: (np.where(X > 0.5, np.nan, X), np.full((2, 2), np.nan), "some"),
    "two rows": lambda: (np.array([[0.0], [1.0]]), np.array([[0.4]]), "two"),
    "two equal rows": lambda: (np.ones((2, 2)), np.zeros((1, 2)), "two"),
    "duplicates": lambda: (np.repeat([[0.0, 1], [3, 4]], 10, axis=0), np.ones((2, 2)), "few"),
    "constant numbers": lambda: (np.ones((20, 3)), np.zeros((2, 3)), "few"),
    "constant texts": lambda: (pd.DataFrame({"a": ["x"] * 9}), pd.DataFrame({"a": ["y"]}), "few"),
    "identifiers": lambda: (pd.DataFrame({"a": [*"abcdefg"]}), pd.DataFrame({"a": ["b"]}), "few"),
    "nothing": lambda: (np.full((9, 2), np.nan), np.zeros((1, 2)), "few"),
    "huge and tiny": lambda: (X[:40] * [1e300, 1e-300], X[:3] * 1e300, "some"),
    "largest": lambda: (
        X[:40] / np.abs(X).max() * 1.7e308,
        np.array([[1.7e308, -1.7e308]]),
        "some",
    ),
    "far outlier": lambda: (np.r_[X, [[1e200, 0]]], np.array([[-1e250, 1e250]]), "some"),
    "far apart later": lambda: (X * 1e-300, np.full((1, 2), 1e308), "some"),
    "subnormal": lambda: (np.arange(40).reshape(20, 2) * 5e-324, np.zeros((1, 2)), "some"),
    "one column": lambda: (X[:, :1], X[:3, :1], "some"),
    "more columns than rows": lambda: (WEIGHTS[:12, :20], WEIGHTS[20:22, :20], "some"),
}


#: Cases in which rows without any cell get the class shares.
EMPTY = ("all columns missing", "all cells NaN", "missing numbers", "nothing")


@each("case", FRAMES)
def test_tables(case: str) -> None:
    rows, new, kind = FRAMES[case]()
    y = labels(len(rows), kind)
    kept = rows.copy()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        classifier = SpectralGPClassifier(rank=12, random_state=0).fit(rows, y)
        check_outputs(classifier, new)
    assert {warning.category for warning in caught} == ({ColumnWarning} if case in EMPTY else set())
    importance = classifier.column_importance()
    total = sum(importance.values())
    assert total == pytest.approx(1.0) or all(value == 0 for value in importance.values())
    pd.testing.assert_frame_equal(pd.DataFrame(rows), pd.DataFrame(kept))


GRAPHS: dict[str, tuple[Any, Any, Any, set[str]]] = {
    # graph, rows to fit, new rows, graphs in use
    "knn": ("knn", X, X[:3], {"neighbours"}),
    "gaussian": ("gaussian", X, X[:3], {"gaussian"}),
    "hypergraph": ("hypergraph", X, X[:3], {"hypergraph"}),
    "sparse incidence": ("hypergraph", INCIDENCE, INCIDENCE[:3], {"given"}),
    "empty incidence": ("hypergraph", sp.csr_array((80, 3)), sp.csr_array((2, 3)), {"given"}),
    "weights": ("precomputed", WEIGHTS, WEIGHTS[:3], {"given"}),
    "sparse weights": ("precomputed", NEAR, NEAR[:3], {"given"}),
    "no weights": ("precomputed", np.zeros((80, 80)), np.zeros((2, 80)), {"given"}),
    "graph of X": (AdjacencyGraph.knn(X, 5), X, X[:3], {"given"}),
    "Gaussian graph of X": (GaussianGraph(X, 1.0), X, X[:3], {"given"}),
    "graph in place of X": ("auto", AdjacencyGraph.knn(X, 5), X[:3], {"given"}),
    "Gaussian graph in place of X": ("precomputed", GaussianGraph(X, 1.0), X[:3], {"given"}),
    "weights in place of X": ("auto", AdjacencyGraph(WEIGHTS), WEIGHTS[:3], {"given"}),
    "hypergraph of a table": (Hypergraph.from_table(table(80)), table(80), table(3), {"given"}),
    "hypergraph in place of X": ("auto", Hypergraph.from_table(table(80)), table(3), {"given"}),
}


@each("case", GRAPHS)
def test_graphs(case: str) -> None:
    graph, rows, new, used = GRAPHS[case]
    unconnected = "incidence" in case or case == "no weights"  # some rows have no path to a label
    with pytest.warns(UnlabelledComponentWarning) if unconnected else nullcontext():
        classifier = SpectralGPClassifier(graph=graph, rank=12, random_state=0).fit(rows, Y)
    assert set(classifier.graphs_) == used
    given_only = isinstance(rows, Graph) or sp.issparse(rows) or graph == "precomputed"
    assert all(name.startswith("given") for name in classifier.block_shares_) == given_only
    check_outputs(classifier, new)
    if rows is X:
        assert (classifier.transduction_ == TRUTH).mean() > 0.75
    if given_only:
        with pytest.raises(ValueError, match=r"^column_importance: expected"):
            classifier.column_importance()
        with pytest.raises(ValueError, match=r"^by: expected one of"):
            classifier.explain(new, by="columns")


def test_a_graph_that_was_not_built_from_the_rows() -> None:
    for graph in (AdjacencyGraph(WEIGHTS), GaussianGraph(X + 1.0, 0.5)):
        classifier = SpectralGPClassifier(graph=graph, random_state=0).fit(X, Y)
        assert (classifier.transduction_ == TRUTH).mean() > 0.7
        assert len(classifier.suggest(3)) == 3 and classifier.prediction_sets().shape == (80, 2)
        assert classifier.unsure().shape == (80,)
        for method in (classifier.predict, classifier.explain):
            if isinstance(graph, AdjacencyGraph):  # new nodes without edges
                assert len(method(X[:5])) == 5
                continue
            with pytest.raises(ValueError, match=r"^X: expected the fitted rows"):
                method(X)


def test_masked_cells_are_missing() -> None:
    hidden = X > 1.0
    masked = SpectralGPClassifier(blocks=["linear"]).fit(np.ma.masked_array(X, hidden), Y)
    missing = SpectralGPClassifier(blocks=["linear"]).fit(np.where(hidden, np.nan, X), Y)
    np.testing.assert_allclose(masked.label_distributions_, missing.label_distributions_)


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
@pytest.mark.parametrize("classifier", [SpectralGPClassifier(blocks=["linear"]), NETWORK])
def test_columns_are_matched_by_name(library: str, classifier: Any) -> None:
    frame = pd.DataFrame(X, columns=[f"column {j}" for j in range(X.shape[1])])
    convert: Any = {
        "pandas": lambda rows: rows,
        "polars": pl.from_pandas,
        "pyarrow": pa.Table.from_pandas,
    }[library]
    fitted = clone(classifier).fit(convert(frame), Y)
    assert fitted.feature_names_in_.tolist() == list(frame)
    reversed_columns = convert(frame[frame.columns[::-1]])
    assert_array_equal(fitted.predict_proba(reversed_columns), fitted.predict_proba(convert(frame)))
    with pytest.raises(ValueError, match="unseen at fit time:\n- other"):
        fitted.predict(convert(frame.rename(columns={"column 0": "other"})))


@pytest.mark.parametrize(
    "blocks",
    [["linear"], ["random-forest"], ("hypergraph-60", "radial-ranks"), ["weighted-linear"]],
)
def test_chosen_blocks(blocks: Any) -> None:
    classifier = SpectralGPClassifier(blocks=blocks, random_state=0).fit(X, Y)
    assert set(classifier.block_shares_) == set(blocks)
    check_outputs(classifier, X[:5])


def test_class_shares() -> None:
    y = np.where(np.arange(80) < 40, TRUTH, -1)
    y[:20:2] = -1
    plain = SpectralGPClassifier(blocks=["radial"], class_shares="labels").fit(X, y)
    given = SpectralGPClassifier(blocks=["radial"], class_shares={1: 9.0, 0: 1.0}).fit(X, y)
    known = 2 / 3
    factor = np.log(9 * (1 - known) / known)
    np.testing.assert_allclose(given.decision_function(X), plain.decision_function(X) + factor)
    np.testing.assert_allclose(given.loo_distributions_, plain.loo_distributions_)
    np.testing.assert_array_equal(given.prediction_sets(X), plain.prediction_sets(X))
    more, sampled = np.r_[X, X[TRUTH == 1]], np.r_[y, [-1] * 40]
    balanced = sampled.copy()
    balanced[np.flatnonzero(balanced == 1)[10:]] = -1
    moves = []
    for labels in (sampled, balanced):
        options: Any = {"blocks": ["radial"], "random_state": 0}
        auto = SpectralGPClassifier(**options).fit(more, labels).decision_function(X)
        plain = SpectralGPClassifier(**options, class_shares="labels").fit(more, labels)
        moves.append(np.median(auto - plain.decision_function(X)))
    assert 0 <= 10 * moves[0] < moves[1]
    every = SpectralGPClassifier(blocks=["radial"]).fit(X, TRUTH)  # no unlabelled row
    np.testing.assert_allclose(every._model.process.factors, 1.0)


def test_fit_on_a_sample_of_the_rows() -> None:
    frame = table(80)
    for rows, count in ((X, 40), (frame, 20), (X, 2)):
        options: Any = {"fit_rows": count, "rank": 10, "random_state": 0}
        classifier = SpectralGPClassifier(**options).fit(rows, Y)
        sample = classifier._sample
        assert len(sample) == max(count, 12) and set(range(12)) <= set(sample.tolist())
        assert classifier.label_distributions_.shape == (80, 2)
        scores = exact_scores(classifier._model.process, classifier._prepared.views.views)
        own = classifier._model.process.distributions(scores)
        np.testing.assert_allclose(classifier.label_distributions_[sample], own, atol=1e-5)
        rest = np.setdiff1d(np.arange(80), sample)
        new = rows.iloc[rest] if rows is frame else rows[rest]
        np.testing.assert_allclose(
            classifier.predict_proba(new), classifier.label_distributions_[rest], atol=1e-6
        )
    assert set(SpectralGPClassifier(fit_rows=40).fit(X, Y).suggest(5).tolist()) <= set(
        range(12, 80)
    )


def test_rows_are_independent_of_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = table()
    classifier = SpectralGPClassifier(rank=10, random_state=0).fit(frame, labels(60, "some"))
    together = classifier.predict_proba(frame)
    monkeypatch.setattr(gp_model, "_CHUNK", 7)
    # Scores are sums in single precision, whose order depends on the chunk.
    np.testing.assert_allclose(classifier.predict_proba(frame), together, rtol=0.0, atol=1e-6)


@pytest.mark.parametrize("per_class", [1, 2])
def test_thirty_classes(per_class: int) -> None:
    truth = np.arange(120) % 30
    points = (
        np.random.default_rng(0).normal(size=(120, 3)) * 0.2 + np.c_[truth, truth % 5, truth % 7]
    )
    y = np.where(np.arange(120) < 30 * per_class, truth, -1)
    classifier = SpectralGPClassifier(rank=60, random_state=0).fit(points, y)
    assert (classifier.transduction_ == truth).mean() > 0.6 + 0.15 * per_class
    check_outputs(classifier, points[-3:])


@pytest.mark.parametrize("mark", [-1, None, np.nan, ""])
def test_marks_of_unlabelled_rows(mark: Any) -> None:
    texts = isinstance(mark, str)
    y = np.array([f"class {c}" if texts else int(c) for c in TRUTH], dtype=object)
    y[12:] = mark
    classifier = SpectralGPClassifier(blocks=["radial"]).fit(X, pd.Series(y, index=range(80)[::-1]))
    assert classifier.classes_.tolist() == (["class 0", "class 1"] if texts else [0, 1])
    assert len(classifier.loo_distributions_) == 12
    expected = SpectralGPClassifier(blocks=["radial"]).fit(X, Y)
    np.testing.assert_allclose(classifier.label_distributions_, expected.label_distributions_)


def test_refitting_discards_the_first_fit() -> None:
    classifier = SpectralGPClassifier(blocks=["radial", "given-6"], random_state=0)
    classifier.fit(table(), labels(60, "some"))
    classifier.fit(X, Y)
    assert classifier.n_features_in_ == 2 and not hasattr(classifier, "feature_names_in_")
    classifier.fit(AdjacencyGraph(WEIGHTS), Y)
    assert list(classifier.block_shares_) == ["given-6"]


@each(
    ("message", "call"),
    [
        ("level", lambda c: c.prediction_sets(level=1.0)),
        ("level", lambda c: c.prediction_sets(level=0)),
        ("level", lambda c: c.unsure(level=1)),
        ("level", lambda c: c.unsure(X, level=-0.5)),
        ("by", lambda c: c.explain(X, by="cells")),
        ("k", lambda c: c.suggest(0)),
        ("k", lambda c: c.suggest(69)),
        ("among", lambda c: c.suggest(1, among=[80])),
    ],
)
def test_invalid_arguments_of_methods(message: str, call: Any) -> None:
    classifier = SpectralGPClassifier(blocks=["linear"], random_state=0).fit(X, Y)
    with pytest.raises(ValueError, match=f"^{message}: expected"):
        call(classifier)


@pytest.mark.parametrize("n_empty", [0, 2, 8])
def test_rows_without_hyperedges_displace_no_eigenvector(n_empty: int) -> None:
    rng = np.random.default_rng(0)
    incidence = (rng.random((40, 6)) < 0.3) * 1.0
    incidence[1::2, 0], incidence[::2, 0], incidence[:, 1] = 1, 0, 1
    incidence[40 - n_empty :] = 0
    y = np.full(40, -1)
    y[:20] = np.arange(20) % 2
    with pytest.warns(UnlabelledComponentWarning) if n_empty else nullcontext():
        classifier = SpectralGPClassifier(graph="hypergraph", random_state=0)
        classifier.fit(sp.csr_array(incidence), y)
    right = classifier.transduction_ == np.arange(40) % 2
    assert right[20 : 40 - n_empty].mean() > 0.8
