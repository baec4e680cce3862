"""Accuracy of the defaults with ten labels per class, compared with logistic regression.

``lowrankgcn compare`` measures more data, more splits and more methods.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

import lowrankgcn as lg
from tests.support.cases.few_labels import ten_labels_per_class


@pytest.mark.slow
@pytest.mark.parametrize(
    ("load", "margin", "splits"),
    [(load_iris, -0.02, 6), (load_wine, -0.02, 6), (load_digits, 0.05, 1)],
)
def test_defaults_compared_with_logistic_regression(
    load: Callable[[], Any], margin: float, splits: int
) -> None:
    data = load()
    standardised = StandardScaler().fit_transform(data.data)
    ours, theirs = [], []
    for seed in range(splits):
        labels = ten_labels_per_class(data.target, seed)
        known = labels >= 0
        classifier = lg.GCNClassifier(random_state=seed).fit(data.data, labels)
        peer = LogisticRegression(max_iter=5000).fit(standardised[known], labels[known])
        ours.append((classifier.transduction_ == data.target)[~known].mean())
        theirs.append((peer.predict(standardised) == data.target)[~known].mean())
    assert np.mean(ours) >= np.mean(theirs) + margin
