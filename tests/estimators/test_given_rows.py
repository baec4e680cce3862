"""Rows given by weights or incidences, and graphs in place of rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_digits, load_iris
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score

import lowrankgcn as lg
from tests.support.cases.few_labels import ten_labels_per_class

IRIS = load_iris()
POINTS = (IRIS.data - IRIS.data.mean(axis=0)) / IRIS.data.std(axis=0)
LABELS = ten_labels_per_class(IRIS.target, 0)
CARS = lg.datasets.load_cars(as_frame=True)


def weights(left: np.ndarray, right: np.ndarray, bandwidth: float = 1.0) -> np.ndarray:
    squares = np.square(left).sum(axis=1)[:, None] + np.square(right).sum(axis=1)
    return np.exp(-np.maximum(squares - 2 * left @ right.T, 0.0) / bandwidth**2)


def precomputed(**options: Any) -> lg.GCNClassifier:
    return lg.GCNClassifier(**({"graph": "precomputed", "random_state": 0} | options))


@pytest.mark.parametrize(
    ("loops", "form"), [(True, np.asarray), (False, sp.csr_array), (True, sp.coo_array)]
)
def test_fitted_rows_given_again(loops: bool, form: Any) -> None:
    """Measured: 97 to 100 % of the classes, since 30 of 150 eigenvalues reach 1 and are damped."""
    matrix = weights(POINTS, POINTS)
    np.fill_diagonal(matrix, float(loops))
    classifier = precomputed().fit(form(matrix), LABELS)
    assert (classifier.transduction_ == IRIS.target).mean() > 0.85
    again = classifier.predict(form(matrix))
    assert (again == classifier.transduction_).mean() > 0.96
    few = classifier.predict_proba(matrix[[3, 90]])
    assert_allclose(few, classifier.predict_proba(form(matrix))[[3, 90]], rtol=0, atol=1e-12)


def test_fitted_rows_given_again_below_the_damped_eigenvalues() -> None:
    matrix = weights(POINTS, POINTS)
    classifier = precomputed(rank=8, dtype="float64", tol=1e-10).fit(matrix, LABELS)
    assert classifier.eigenpairs_.eigenvalues.max() < 0.9
    again = classifier.predict_proba(matrix)
    assert_allclose(again, classifier.label_distributions_, rtol=0, atol=1e-6)


def test_weights_of_new_rows_agree_with_a_refit() -> None:
    """Measured over four draws: 96.5 % of the digits held out get the class of a fit with them."""
    digits = load_digits()
    order = np.random.default_rng(0).permutation(1797)
    new, old = np.sort(order[:400]), np.sort(order[400:])
    matrix = weights(digits.data, digits.data, 25.0)
    labels = np.full(1797, -1)
    labels[old] = ten_labels_per_class(digits.target[old], 0)
    early = precomputed().fit(matrix[np.ix_(old, old)], labels[old])
    late = precomputed().fit(matrix, labels)
    predicted = early.predict(matrix[np.ix_(new, old)])
    assert (predicted == late.transduction_[new]).mean() >= 0.95
    right = (predicted == digits.target[new]).mean()
    assert right > (late.transduction_[new] == digits.target[new]).mean() - 0.02


def test_cross_validation_of_weights() -> None:
    matrix = sp.csr_array(weights(POINTS, POINTS))
    quick = precomputed(architecture="low-rank", filter="heat", rank=15, n_restarts=1)
    scores = cross_val_score(quick, matrix, IRIS.target, cv=StratifiedKFold(3))
    assert scores.mean() > 0.85
    search = GridSearchCV(quick, {"rank": [1, 15]}, cv=StratifiedKFold(2))
    search.fit(matrix, IRIS.target)
    assert search.best_params_ == {"rank": 15}
    assert search.predict(matrix[:4]).shape == (4,)


def test_a_row_without_weights_is_uniform_with_a_warning() -> None:
    classifier = precomputed().fit(weights(POINTS, POINTS), LABELS)
    rows = np.zeros((2, 150))
    rows[1, 0] = 1.0
    with pytest.warns(lg.UnlabelledComponentWarning, match="1 of 2 rows"):
        shares = classifier.predict_proba(rows)
    assert_array_equal(shares[0], np.full(3, 1 / 3))
    assert shares[1].argmax() == classifier.transduction_[0]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"architecture": "reduced", "filter": "heat", "rank": 16},
        {"architecture": "low-rank", "filter": ["pseudoinverse", "constant"], "rank": 16},
    ],
    ids=str,
)
def test_incidence_rows(options: dict[str, Any]) -> None:
    """A copy of a row has the same hyperedges and the same prediction."""
    incidence = lg.Hypergraph.from_table(CARS.data).incidence.to_sparse()
    labels = ten_labels_per_class(CARS.target.to_numpy(), 0)
    given = {"random_state": 0, "max_iter": 30, "n_restarts": 1, "dtype": "float64"} | options
    classifier = lg.GCNClassifier(graph="hypergraph", **given).fit(incidence, labels)
    again = classifier.predict_proba(incidence)
    assert_allclose(again, classifier.label_distributions_, rtol=0, atol=1e-9)
    few = classifier.predict_proba(incidence[:3].toarray())
    assert_allclose(few, again[:3], rtol=0, atol=1e-12)


def letters(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """A table of eight columns that follow a hidden class, and the class.

    Its eigenvalues are simple. Those of the cars are not: a network on the eigenvectors alone
    depends there on the basis of an eigenspace, which rounding chooses.
    """
    rng = np.random.default_rng(seed)
    truth = rng.integers(3, size=n)
    table = np.empty((n, 8), object)
    for j in range(8):
        noise = rng.random(n) < 0.4
        table[:, j] = np.where(noise, rng.integers(4, size=n), (truth * (j + 1) + j) % 4)
    return table.astype(str), truth


def test_incidence_rows_agree_with_a_refit() -> None:
    """Measured over three draws: 97 to 100 % of the classes are those of a fit with the rows."""
    table, truth = letters(600, 0)
    incidence = lg.Hypergraph.from_table(table).incidence.to_sparse()
    labels = np.full(600, -1)
    labels[:500] = ten_labels_per_class(truth[:500], 0)
    options: dict[str, Any] = {"graph": "hypergraph", "random_state": 0, "n_restarts": 1}
    early = lg.GCNClassifier(**options).fit(incidence[:500], labels[:500])
    late = lg.GCNClassifier(**options).fit(incidence, labels)
    assert np.diff(late.eigenpairs_.eigenvalues).min() > 1e-3
    assert (early.predict(incidence[500:]) == late.transduction_[500:]).mean() >= 0.95


@pytest.mark.parametrize(
    ("make", "unit"),
    [
        (lambda X: lg.AdjacencyGraph.knn(X, 8), 1.0),
        (lambda X: lg.AdjacencyGraph.knn(X, 8), 1e-200),
        (lambda X: lg.GaussianGraph(X, 1.0), 1.0),
    ],
    ids=["neighbours", "small numbers", "Gaussian"],
)
def test_graph_objects_made_of_the_same_points(make: Any, unit: float) -> None:
    """Features with a graph, and the graph alone."""
    rows = unit * POINTS
    graph = make(rows)
    for classifier in (
        lg.GCNClassifier(graph=graph, random_state=0, n_restarts=1).fit(rows, LABELS),
        lg.GCNClassifier(random_state=0, n_restarts=1).fit(graph, LABELS),
    ):
        assert classifier.n_features_in_ == 4
        assert (classifier.predict(rows) == classifier.transduction_).mean() > 0.95


def test_a_graph_of_a_table_accepts_rows_of_the_table() -> None:
    labels = ten_labels_per_class(CARS.target.to_numpy(), 0)
    graph = lg.Hypergraph.from_table(CARS.data)
    classifier = lg.GCNClassifier(random_state=0).fit(POINTS.tolist(), LABELS)
    classifier.fit(graph, labels)
    assert list(classifier.feature_names_in_) == list(CARS.data.columns)
    again = classifier.predict_proba(CARS.data.head(50))
    assert_allclose(again, classifier.label_distributions_[:50], atol=1e-5)
    incidence = graph.incidence.to_sparse()
    classifier.fit(lg.Hypergraph(incidence), labels)
    assert not hasattr(classifier, "feature_names_in_")
    assert classifier.n_features_in_ == 21
    again = classifier.predict_proba(incidence[:50])
    assert_allclose(again, classifier.label_distributions_[:50], atol=1e-5)


def test_a_graph_of_weights_accepts_weights() -> None:
    matrix = weights(POINTS, POINTS)
    alone = lg.GCNClassifier(random_state=0).fit(lg.AdjacencyGraph(matrix), LABELS)
    given = precomputed().fit(matrix, LABELS)
    assert_allclose(alone.predict_proba(matrix[:9]), given.predict_proba(matrix[:9]), rtol=1e-9)
