"""Tables with odd units, identifiers, booleans, missing and unlabelled cells."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.model_selection import GridSearchCV

import lowrankgcn as lg


def clusters(n: int = 90) -> tuple[Any, Any, Any]:
    """Points in three groups, their classes, and every fifth of these."""
    truth = np.arange(n) % 3
    X = np.random.default_rng(0).normal(size=(n, 2)) + 5.0 * np.eye(3)[truth, :2]
    return X, truth, np.where(np.arange(n) % 5 == 0, truth, -1)


def quick(**options: Any) -> lg.GCNClassifier:
    return lg.GCNClassifier(random_state=0, max_iter=30, n_restarts=1, **options)


def test_units_whose_squares_overflow_or_vanish() -> None:
    X, _, y = clusters()
    plain = quick().fit(X, y)
    for unit in (2.0**660, 2.0**-660):
        classifier = quick().fit(X * unit, y)
        expected = plain.label_distributions_
        assert_allclose(classifier.label_distributions_, expected, atol=1e-6)
        assert_allclose(classifier.predict_proba(X * unit), plain.predict_proba(X), atol=1e-6)


def test_numbers_whose_sums_overflow() -> None:
    X, _, y = clusters()
    with pytest.raises(ValueError, match=r"^X: expected numbers up to 1e\+295, got 1\.7e\+308$"):
        quick().fit(X / np.abs(X).max() * 1.7e308, y)


def test_identifier_columns_are_not_features() -> None:
    X, truth, y = clusters()
    table = pd.DataFrame({"name": [f"row {i}" for i in range(90)], "x": X[:, 0], "y": X[:, 1]})
    table["group"] = np.array(["a", "b", "b"])[truth]
    with pytest.warns(lg.ColumnWarning, match="column 'name' is left out: its values identify"):
        assert quick().fit(table, y).networks_[0].widths[0] == 4
    alone = pd.DataFrame({"name": table["name"]})
    with pytest.warns(lg.UnlabelledComponentWarning):
        classifier = quick().fit(alone, y)
    assert_allclose(classifier.label_distributions_[y < 0], 1 / 3)


@pytest.mark.parametrize("options", [{}, {"graph": "knn"}, {"bandwidth": 2.0}], ids=str)
def test_missing_numbers_count_as_the_median(options: dict[str, Any]) -> None:
    X, _, y = clusters()
    holes, masked = X.copy(), np.ma.masked_array(X, np.zeros(X.shape, bool))
    holes[3, 1], masked[3, 1] = np.nan, np.ma.masked
    X[3, 1] = np.nanmedian(holes[:, 1])
    new, filled = np.array([[np.nan, 1.0]]), np.array([[np.median(X[:, 0]), 1.0]])
    expected = quick(**options).fit(X, y)
    for given in (holes, pd.DataFrame(holes), masked):
        classifier = quick(**options).fit(given, y)
        assert_allclose(classifier.label_distributions_, expected.label_distributions_)
        assert_allclose(classifier.predict_proba(given), expected.predict_proba(X))
    for classifier in (expected, quick(**options).fit(holes, y)):
        assert_allclose(classifier.predict_proba(new), expected.predict_proba(filled))


def test_an_empty_column_of_numbers_has_no_effect() -> None:
    X, _, y = clusters()
    empty = np.column_stack([X, np.full(len(X), np.nan)])
    constant = np.column_stack([X, np.zeros(len(X))])
    expected = quick().fit(constant, y).label_distributions_
    assert_allclose(quick().fit(empty, y).label_distributions_, expected)


def test_sparse_columns_of_a_frame_are_numbers() -> None:
    X, _, y = clusters()
    dense = pd.DataFrame(np.maximum(X, 0.0), columns=["a", "b"])
    expected = quick().fit(dense, y).predict_proba(dense)
    for fill in (0.0, np.nan):
        sparse = dense.astype(pd.SparseDtype(float, fill))
        assert_allclose(quick().fit(sparse, y).predict_proba(sparse), expected)


def test_arrays_of_booleans_are_tables() -> None:
    X, _, y = clusters()
    classifier = quick().fit(X > 1, y)
    assert isinstance(classifier.graph_, lg.Hypergraph)
    expected = quick().fit(pd.DataFrame(X > 1), y).label_distributions_
    assert_allclose(classifier.label_distributions_, expected)


def test_unlabelled_rows_do_not_count_in_a_score() -> None:
    X, truth, y = clusters()
    classifier = quick().fit(X, y)
    right = classifier.predict(X) == truth
    assert classifier.score(X, truth) == right.mean()
    assert classifier.score(X, y) == right[y >= 0].mean()
    texts = np.where(y >= 0, np.array(["a", "b", "c"])[truth], "")
    assert quick().fit(X, texts).score(X, texts) > 0.8
    weights = np.arange(90.0)
    expected = np.average(right[y >= 0], weights=weights[y >= 0])
    assert_allclose(classifier.score(X, y, weights), expected)
    search = GridSearchCV(quick(architecture="low-rank"), {"rank": [3, 5]}, cv=3).fit(X, y)
    assert search.best_score_ > 0.6
    for labels, message in ((np.full(90, -1), "no label"), (truth[:80], "90 labels")):
        with pytest.raises(ValueError, match=f"^y: .*{message}"):
            classifier.score(X, labels)
    with pytest.raises(ValueError, match="sample_weight: expected a labelled row of positive"):
        classifier.score(X, y, np.where(y >= 0, 0.0, 1.0))


def test_minus_one_as_text_is_refused() -> None:
    X, truth, y = clusters()
    names = np.array(["ash", "elm", "oak"])[truth]
    names[y < 0] = -1
    with pytest.raises(ValueError, match=r"^y: expected '' or None .* got '-1'$"):
        quick().fit(X, names)
    signs = np.where(truth == 0, "-1", "+1")
    assert quick().fit(X, signs).classes_.tolist() == ["+1", "-1"]
