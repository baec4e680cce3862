"""Tables as they come: odd units, identifiers, truth values, missing and unlabelled cells."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import lowrankgcn as lg


def clusters(n: int = 90) -> tuple[Any, Any, Any]:
    """Points in three groups, their classes, and every fifth of these."""
    truth = np.arange(n) % 3
    X = np.random.default_rng(0).normal(size=(n, 2)) + 5.0 * np.eye(3)[truth, :2]
    return X, truth, np.where(np.arange(n) % 5 == 0, truth, -1)


def quick(**options: Any) -> lg.GCNClassifier:
    return lg.GCNClassifier(random_state=0, max_iter=30, n_restarts=1, **options)


@pytest.mark.parametrize("unit", [2.0**660, 2.0**-660])
def test_units_whose_squares_are_no_numbers(unit: float) -> None:
    X, _, y = clusters()
    expected = quick().fit(X, y).label_distributions_
    classifier = quick().fit(X * unit, y)
    assert_allclose(classifier.label_distributions_, expected, atol=1e-6)
    assert_allclose(classifier.predict_proba(X * unit), quick().fit(X, y).predict_proba(X))


def test_an_identifier_is_no_feature() -> None:
    X, truth, y = clusters()
    table = pd.DataFrame({"name": [f"row {i}" for i in range(90)], "x": X[:, 0], "y": X[:, 1]})
    table["group"] = np.array(["a", "b", "b"])[truth]
    inputs = quick().fit(table, y)._model.inputs
    assert inputs.features(table).shape == (90, 4)
    alone = pd.DataFrame({"name": table["name"]})
    with pytest.warns(lg.UnlabelledComponentWarning):
        classifier = quick().fit(alone, y)
    assert_allclose(classifier.label_distributions_[y < 0], 1 / 3)
