"""Warnings about training that diverges, stands still or is cut short."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning

import lowrankgcn as lg


def fit(**options: Any) -> lg.GCNClassifier:
    X, classes = load_iris(return_X_y=True)
    y = np.full(150, -1)
    y[::10] = classes[::10]
    return lg.GCNClassifier(random_state=0, **options).fit(X, y)


def test_defaults_converge_on_iris() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit()


@pytest.mark.parametrize("table", [np.ones((60, 3)), np.full((60, 1), "same")])
def test_constant_rows_converge(table: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        classifier = lg.GCNClassifier(random_state=0, n_restarts=1)
        classifier.fit(table, np.arange(60) % 3)
    np.testing.assert_allclose(classifier.label_distributions_, 1 / 3, atol=0.01)


@pytest.mark.parametrize(("architecture", "step"), [("low-rank", 1e-6), ("reduced", 1e-4)])
def test_too_small_learning_rate_warns(architecture: str, step: float) -> None:
    with pytest.warns(ConvergenceWarning, match=r"has not converged.*raise max_iter"):
        fit(architecture=architecture, filter="heat", max_iter=60, learning_rate=step)
