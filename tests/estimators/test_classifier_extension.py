"""Predictions for fitted rows equal those made at fitting, for tables exactly."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning

import lowrankgcn as lg
from lowrankgcn.estimators.gcn_features import table_features
from lowrankgcn.tables import Table
from tests.support.each import each

# Here a column often is the class itself.
pytestmark = pytest.mark.filterwarnings("ignore::lowrankgcn.exceptions.LabelWarning")

CARS = lg.datasets.load_cars("buying", as_frame=True)


def labels() -> Any:
    y = np.full(len(CARS.data), -1)
    y[CARS.training] = CARS.target.iloc[CARS.training]
    return y


@each(
    "options",
    [
        {"architecture": "low-rank", "filter": ["pseudoinverse", "constant"], "rank": 16},
        {"architecture": "reduced", "filter": "heat", "rank": 16, "hidden_widths": (8, 6)},
        {"architecture": "low-rank", "filter": "heat", "rank": 16, "hidden_widths": (8, 6)},
        {"architecture": "low-rank", "filter": "heat", "hidden_widths": ()},
        {"preset": "paper", "rank": 15, "max_iter": 10},
        {},
    ],
    ids=str,
)
def test_fitted_rows_of_a_table(options: dict[str, Any]) -> None:
    options = {"max_iter": 10, "n_restarts": 2} | options
    classifier = lg.GCNClassifier(random_state=0, dtype="float64", **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        classifier.fit(CARS.data, labels())
    again = classifier.predict_proba(CARS.data)
    assert_allclose(again, classifier.label_distributions_, rtol=0, atol=1e-9)
    few = classifier.predict_proba(CARS.data.iloc[[7, 1700]])
    assert_allclose(few, again[[7, 1700]], rtol=1e-12)


@each(
    "options",
    [
        {"architecture": "low-rank", "filter": ["pseudoinverse", "constant"], "rank": 16},
        {"architecture": "low-rank", "filter": ["heat", "linear"], "hidden_widths": (8, 6)},
        {"architecture": "reduced", "filter": ["heat", "linear"], "hidden_widths": (8, 6)},
        {"architecture": "full", "filter": ["quadratic", "heat"]},
        {"architecture": "full", "filter": "linear", "hidden_widths": (8, 6)},
        {"preset": "paper", "rank": 15, "n_restarts": 2},
    ],
    ids=str,
)
def test_distributions_are_the_mean_of_the_networks(options: dict[str, Any]) -> None:
    classifier = lg.GCNClassifier(random_state=0, dtype="float64", max_iter=10, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        classifier.fit(CARS.data, labels())
    assert len(classifier.networks_) == classifier.loss_curve_.shape[1] > 1
    raw = "preset" in options
    table = Table.read(CARS.data, "X")
    encoder = classifier.graph_.encoder
    dense = table_features(table, encoder, encoder.transform(table), raw=raw).to_dense()
    features = torch.from_numpy(dense)
    with torch.no_grad():
        logits = torch.stack([module(features) for module in classifier.networks_])
    expected = torch.softmax(logits, dim=2).mean(dim=0).numpy()
    assert_allclose(classifier.label_distributions_, expected, rtol=0, atol=1e-9)
    if options.get("architecture") != "full":
        assert_allclose(classifier.predict_proba(CARS.data), expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("kind", ["table", "points", "smoother"])
def test_fit_on_a_sample_of_the_rows(kind: str) -> None:
    rows = load_iris().data if kind != "table" else CARS.data.head(150).astype("category")
    y = np.where(np.arange(150) % 10 == 0, load_iris().target, -1)
    smoother = np.linspace(0.0, 1.0, 150) if kind == "smoother" else None
    options: Any = {"n_restarts": 1, "max_iter": 60, "random_state": 0, "smoother": smoother}
    classifier = lg.GCNClassifier(fit_rows=80, **options).fit(rows, y)
    sample = classifier._sample
    assert classifier.graph_.n_nodes == len(sample) == 80
    assert set(np.flatnonzero(y >= 0)) <= set(sample.tolist())
    assert classifier.label_distributions_.shape == (150, 3)
    assert classifier.unplaced_.shape == (150,)
    rest = np.setdiff1d(np.arange(150), sample)
    new = rows.iloc[rest] if kind == "table" else rows[rest]
    assert_allclose(classifier.predict_proba(new), classifier.label_distributions_[rest])
    if kind != "table":
        assert (classifier.transduction_ == load_iris().target).mean() > 0.85
    every = lg.GCNClassifier(fit_rows=80, architecture="full", **options).fit(rows, y)
    assert every.graph_.n_nodes == 150


def test_unplaced_rows_outside_the_sample() -> None:
    X = np.r_[np.random.default_rng(0).normal(size=(60, 2)), np.full((3, 2), 1e4)]
    y = np.where(np.arange(63) < 12, np.arange(63) % 2, -1)
    classifier = lg.GCNClassifier(graph="gaussian", bandwidth=2.0, fit_rows=30, random_state=0)
    with pytest.warns(lg.UnlabelledComponentWarning, match="3 of 63 rows"):
        classifier.fit(X, y)
    assert np.flatnonzero(classifier.unplaced_).tolist() == [60, 61, 62]
    assert_array_equal(classifier.label_distributions_[60:], 0.5)


def test_rows_of_unknown_values_are_uniform_with_a_warning() -> None:
    classifier = lg.GCNClassifier(random_state=0, max_iter=20, n_restarts=1)
    classifier.fit(CARS.data, labels())
    unknown = CARS.data.head(2).copy()
    unknown[:] = "never seen"
    with pytest.warns(lg.UnlabelledComponentWarning, match="2 of 2 rows"):
        shares = classifier.predict_proba(unknown)
    assert_array_equal(shares, np.full((2, 4), 0.25))


@pytest.mark.parametrize("graph", ["knn", "gaussian"])
def test_fitted_points_with_eigenvalues_near_one(graph: str) -> None:
    """A hundred points have 30 eigenvalues up to 1.02; near one the extension is damped."""
    iris = load_iris()
    rows = np.flatnonzero(np.arange(150) % 50 < 33)
    classifier = lg.GCNClassifier(graph=graph, rank=30, random_state=0, n_restarts=1)
    classifier.fit(iris.data[rows], iris.target[rows])
    assert np.abs(1 - classifier.eigenpairs_.eigenvalues).min() < 0.02
    again = classifier.predict(iris.data[rows])
    assert (again == classifier.transduction_).mean() > 0.96
    others = np.setdiff1d(np.arange(150), rows)
    assert classifier.score(iris.data[others], iris.target[others]) > 0.9
