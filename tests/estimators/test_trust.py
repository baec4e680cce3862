"""Rows that fit no class, and rare classes: what SpectralGPClassifier does with them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits, make_blobs
from sklearn.metrics import confusion_matrix, recall_score

import lowrankgcn as lg
from lowrankgcn.estimators.model_files import read_model
from lowrankgcn.gp import recipe
from lowrankgcn.gp.conformal import Novelty

# Here a column often is the class itself, and classes differ by spelling.
pytestmark = pytest.mark.filterwarnings("ignore::lowrankgcn.exceptions.LabelWarning")


@pytest.fixture(autouse=True)
def few_trees(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recipe, "_TREES", 30)


def draw(truth: np.ndarray, classes: Any, count: int, seed: int) -> np.ndarray:
    """Labels of `count` random rows of some classes, -1 elsewhere."""
    generator = np.random.default_rng(seed)
    y = np.full(len(truth), -1)
    for c in classes:
        rows = generator.choice(np.flatnonzero(truth == c), count, replace=False)
        y[rows] = truth[rows]
    return y


@pytest.fixture(scope="module")
def digits() -> tuple[np.ndarray, np.ndarray]:
    X, truth = load_digits(return_X_y=True)
    return X[:900], truth[:900]


def test_digits_without_labels_are_unsure(digits: Any) -> None:
    X, truth = digits
    y = draw(truth, range(9), 10, 0)
    marked = lg.SpectralGPClassifier(random_state=0).fit(X, y).unsure()
    assert marked[truth == 9].mean() > 3 * marked[truth != 9].mean()
    assert marked[truth == 9].mean() > 0.3 and marked[truth != 9].mean() < 0.1
    assert not marked[y >= 0].any()


def test_false_alarms_follow_the_level(digits: Any) -> None:
    X, truth = digits
    shares = []
    for seed in range(3):
        y = draw(truth, range(10), 10, seed)
        classifier = lg.SpectralGPClassifier(random_state=0).fit(X, y)
        shares.append([classifier.unsure(level=level)[y < 0].mean() for level in (0.5, 0.8, 0.95)])
    found = np.mean(shares, axis=0)
    assert (np.abs(found - [0.5, 0.2, 0.05]) < [0.1, 0.07, 0.04]).all()


def test_novelty_is_computed_on_request_only(
    digits: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured: list[int] = []
    measures = Novelty.measures

    def counted(self: Novelty, views: Any) -> Any:
        measured.append(1)
        return measures(self, views)

    monkeypatch.setattr(Novelty, "measures", counted)
    X, truth = digits
    classifier = lg.SpectralGPClassifier(random_state=0, fit_rows=300)
    classifier.fit(X, draw(truth, range(10), 5, 0))
    classifier.predict_proba(X[:50]), classifier.prediction_sets(), classifier.suggest(2)
    lg.save(classifier, tmp_path / "model")
    model = read_model(tmp_path / "model")
    model.classify(X[:50])
    assert not measured
    model.classify(X[:50], level=0.9)
    assert measured == [1]


def test_outliers_and_other_categories_are_unsure() -> None:
    generator = np.random.default_rng(0)
    kind = generator.choice(list("ab"), 300)
    table = pd.DataFrame({"kind": kind})
    for k in range(3):
        table[f"size {k}"] = generator.normal(size=300) + 3 * (kind == "a")
    for k in range(4):
        table[f"trait {k}"] = np.where(generator.random(300) < 0.1, "x", kind)
    y = np.where(np.arange(300) < 40, kind, "")
    classifier = lg.SpectralGPClassifier(random_state=0).fit(table, y)
    new = table.tail(3).copy()
    new.iloc[0, 1:4] = [40.0, -40.0, 40.0]
    new.iloc[1, [0, 4, 5, 6, 7]] = "never seen"
    assert classifier.unsure(new).tolist() == [True, True, False]


def test_few_labels_mark_nothing() -> None:
    X, truth = make_blobs(100, centers=3, random_state=0)
    classifier = lg.SpectralGPClassifier(random_state=0).fit(X, draw(truth, range(3), 6, 0))
    assert not classifier.unsure().any() and not classifier.unsure(X + 1e3).any()
    assert classifier.unsure(X + 1e3, level=0.9).all()


@pytest.mark.parametrize(("spread", "level", "least"), [(2.0, 0.9, 0.3), (1.0, 0.95, 0.7)])
def test_rows_outside_the_sample(spread: float, level: float, least: float) -> None:
    """A hidden class between the others is found in overlapping clusters and in separate ones."""
    X, truth = make_blobs(400, centers=4, cluster_std=spread, random_state=1)
    shares = []
    for seed in range(4):
        y = draw(truth, range(3), 10, seed)
        whole = lg.SpectralGPClassifier(random_state=0, fit_rows=400).fit(X, y)
        sampled = lg.SpectralGPClassifier(random_state=0, fit_rows=200).fit(X, y)
        marked = sampled.unsure(level=level)
        rest = np.setdiff1d(np.arange(400), sampled._sample)
        np.testing.assert_array_equal(marked[rest], sampled.unsure(X, level)[rest])
        assert (marked == whole.unsure(level=level)).mean() > 0.8
        assert marked[truth == 3].mean() > marked[truth != 3].mean()
        shares.append([marked[truth == 3].mean(), marked[truth != 3].mean()])
    hidden, others = np.mean(shares, axis=0)
    assert hidden > least and others < 2 * (1 - level)


@pytest.mark.parametrize("shares", ["auto", "equal"])
def test_files_hold_the_evidence(shares: str, tmp_path: Path) -> None:
    X, truth = make_blobs(200, centers=3, random_state=0)
    table = pd.DataFrame(X, columns=["a", "b"])
    classifier = lg.SpectralGPClassifier(random_state=0, class_shares=shares)
    classifier.fit(table, draw(truth, range(3), 15, 0))
    lg.save(classifier, tmp_path / "model", fitted_rows=False)
    found = read_model(tmp_path / "model")
    new = table * 3
    expected, marked = classifier.predict_proba(new), classifier.unsure(new)
    sets = classifier.prediction_sets(new, 0.8)
    shares, none, nobody = found.classify(new)
    np.testing.assert_allclose(shares, expected, rtol=1e-12)
    assert none is None and nobody is None
    shares, stored, unsure = found.classify(new, 0.8)
    np.testing.assert_allclose(shares, expected, rtol=1e-12)
    np.testing.assert_array_equal(stored, sets)
    np.testing.assert_array_equal(unsure, marked)
    assert 0 < marked.sum() < len(marked)
    again = lg.load(tmp_path / "model")
    for name in ("accuracy", "balanced_accuracy", "f1", "log_loss"):
        assert getattr(again, f"loo_{name}_") == getattr(classifier, f"loo_{name}_")


def test_networks_have_no_evidence(tmp_path: Path) -> None:
    X, truth = make_blobs(60, centers=2, random_state=0)
    table = pd.DataFrame(X, columns=["a", "b"])
    network = lg.GCNClassifier(max_iter=5, n_restarts=1, random_state=0)
    lg.save(network.fit(table, draw(truth, range(2), 5, 0)), tmp_path / "model")
    found = read_model(tmp_path / "model")
    shares, sets, unsure = found.classify(table)
    assert shares.shape == (60, 2) and sets is None and unsure is None
    with pytest.raises(ValueError, match=r"^level: expected no level, because networks"):
        found.classify(table, 0.9)


@pytest.fixture(scope="module")
def rare() -> tuple[pd.DataFrame, np.ndarray]:
    """Overlapping classes, one of them rare."""
    generator = np.random.default_rng(0)
    truth = np.where(generator.random(1200) < 0.06, "ill", "well").astype(object)
    X = generator.normal(size=(1200, 4)) + 1.2 * (truth == "ill")[:, None]
    return pd.DataFrame(X), truth


def test_equal_shares_find_rare_classes(rare: Any) -> None:
    X, truth = rare
    y = np.where(np.arange(1200) < 300, truth, "")  # labels drawn at random
    found = {}
    for shares in ("labels", "equal"):
        classifier = lg.SpectralGPClassifier(class_shares=shares, random_state=0).fit(X, y)
        found[shares] = recall_score(truth[300:], classifier.transduction_[300:], pos_label="ill")
    assert found["equal"] > found["labels"] + 0.1


def test_equal_shares_are_those_of_a_mapping(rare: Any) -> None:
    X, truth = rare
    y = np.where(np.arange(1200) < 100, truth, "")
    equal = lg.SpectralGPClassifier(class_shares="equal", random_state=0).fit(X, y)
    given = {"ill": 2.0, "well": 2.0}
    mapping = lg.SpectralGPClassifier(class_shares=given, random_state=0).fit(X, y)
    plain = lg.SpectralGPClassifier(class_shares="labels", random_state=0).fit(X, y)
    np.testing.assert_allclose(equal.label_distributions_, mapping.label_distributions_)
    np.testing.assert_array_equal(equal.prediction_sets(), plain.prediction_sets())
    counts = np.array([(y == "ill").sum(), (y == "well").sum()])
    odds = plain.loo_distributions_ / counts
    np.testing.assert_allclose(equal.loo_distributions_, odds / odds.sum(axis=1, keepdims=True))
    np.testing.assert_allclose(mapping.loo_distributions_, plain.loo_distributions_)


def test_a_class_with_one_label_does_not_take_over() -> None:
    """Six spellings of two classes, ten labels of five of them and one of the sixth."""
    generator = np.random.default_rng(0)
    truth = generator.integers(0, 2, 560)
    X = generator.normal(size=(560, 2)) + 3.0 * truth[:, None]
    spelling = generator.integers(0, 3, 560)
    names = np.array([["No", "N", "no"], ["Yes", "yes", "Y"]])[truth, spelling]
    y = np.full(560, "", dtype=object)
    for name in np.unique(names):
        y[np.flatnonzero(names == name)[: 1 if name == "No" else 10]] = name
    classifier = lg.SpectralGPClassifier(random_state=0).fit(X, y)
    assert (classifier.transduction_ == "No").mean() < 0.1
    sides = np.isin(classifier.transduction_, ["Yes", "yes", "Y"])
    assert (sides == truth).mean() > 0.9


def test_labels_drawn_class_by_class_have_equal_shares(rare: Any) -> None:
    X, truth = rare
    y = np.full(1200, "", dtype=object)
    for name in ("ill", "well"):
        y[np.flatnonzero(truth == name)[:20]] = name
    equal, plain = (
        lg.SpectralGPClassifier(class_shares=shares, random_state=0).fit(X, y)
        for shares in ("equal", "labels")
    )
    np.testing.assert_allclose(equal.label_distributions_, plain.label_distributions_)


@pytest.mark.parametrize("shares", ["auto", "labels", "equal"])
def test_confusion_by_leave_one_out_is_that_of_scikit_learn(rare: Any, shares: str) -> None:
    X, truth = rare
    y = np.where(np.arange(1200) < 60, truth, "")
    y[100], truth = "other", np.where(np.arange(1200) == 100, "other", truth)  # one label
    classifier = lg.SpectralGPClassifier(class_shares=shares, random_state=0).fit(X, y)
    predicted = classifier.classes_[classifier.loo_distributions_.argmax(axis=1)]
    known = truth[y != ""]
    assert ("other" in predicted) == (shares == "equal")
    expected = confusion_matrix(known, predicted, labels=classifier.classes_)
    np.testing.assert_array_equal(classifier.evidence_.confusion, expected)
