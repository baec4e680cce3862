"""scikit-learn's transformers and checks with frames of pandas and polars before a classifier."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn import config_context
from sklearn.compose import make_column_transformer
from sklearn.datasets import make_blobs
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils import estimator_checks as checks

import lowrankgcn as lg
from lowrankgcn.gp import recipe
from tests.support.each import each

CLASSIFIERS = (
    lg.SpectralGPClassifier(rank=20, random_state=0),
    lg.GCNClassifier(rank=8, max_iter=60, n_restarts=1, random_state=0),
)
# Not check_dataframe_column_names_consistency: columns in another order are matched by name.
CHECKS = (
    "check_fit_idempotent",
    "check_n_features_in_after_fitting",
    "check_fit2d_predict1d",
    "check_classifier_data_not_an_array",
    "check_classifiers_one_label",
    "check_methods_sample_order_invariance",
)
FRAMES = {"pandas": pd.DataFrame, "polars": pl.DataFrame}


@pytest.fixture(autouse=True)
def few_trees(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recipe, "_TREES", 10)


@each("classifier", CLASSIFIERS)
@each("output", FRAMES)
@each("name", CHECKS)
def test_checks_with_frames_as_output(name: str, output: str, classifier: Any) -> None:
    # Our own use of transformers must not depend on the setting either.
    with config_context(transform_output=output):
        getattr(checks, name)(type(classifier).__name__, classifier)


@each("classifier", CLASSIFIERS)
@each("output", FRAMES)
def test_pipelines_of_frames(output: str, classifier: Any) -> None:
    X, truth = make_blobs(90, centers=3, n_features=3, cluster_std=1.5, random_state=3)
    y = np.where(np.arange(90) < 30, truth, -1)
    columns = {name: X[:, j].tolist() for j, name in enumerate("abc")}
    frame = FRAMES[output](columns | {"kind": np.where(truth == 1, "one", "other").tolist()})
    encode = make_column_transformer(
        (StandardScaler(), list("abc")),
        (OneHotEncoder(sparse_output=False), ["kind"]),
        verbose_feature_names_out=False,
    )
    plain = make_pipeline(encode, classifier)
    expected = plain.fit(frame, y).predict_proba(frame)
    framed = make_pipeline(encode, classifier).set_output(transform=output).fit(frame, y)
    assert framed[-1].feature_names_in_.tolist() == ["a", "b", "c", "kind_one", "kind_other"]
    np.testing.assert_allclose(framed.predict_proba(frame), expected, atol=1e-6)
    assert framed.score(frame, truth) > 0.9
    with config_context(transform_output=output):
        scores = cross_val_score(plain, frame, truth, cv=3)
    assert scores.mean() > 0.9
