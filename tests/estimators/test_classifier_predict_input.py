"""Malformed calls of predict: each raises one clear error and no warning."""

from __future__ import annotations

import re
from functools import cache, partial
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError

from lowrankgcn import AdjacencyGraph, GCNClassifier
from tests.support.cases.input_problems import (
    FRAME,
    LABELS,
    POINTS,
    TABLE,
    WEIGHTS,
    assert_refused,
    changed,
    quick,
)

# Here a column often is the class itself.
pytestmark = pytest.mark.filterwarnings("ignore::lowrankgcn.exceptions.LabelWarning")

INCIDENCE = sp.csr_array((POINTS > 0) * 1.0)
FITTED: dict[str, tuple[Any, dict[str, Any]]] = {
    "points": (POINTS, {}),
    "frame": (FRAME, {}),
    "table": (TABLE, {}),
    "weights": (WEIGHTS, {"graph": "precomputed"}),
    "incidence": (INCIDENCE, {"graph": "hypergraph"}),
    "graph of weights": (AdjacencyGraph(WEIGHTS), {}),
    "graph of neighbours": (AdjacencyGraph.knn(POINTS, 4), {}),
    "graph of other points": (POINTS, {"graph": AdjacencyGraph.knn(POINTS + 1.0, 4)}),
    "weights with features": (POINTS, {"graph": AdjacencyGraph(WEIGHTS)}),
}


@cache
def fitted(name: str) -> GCNClassifier:
    X, options = FITTED[name]
    return quick(**options).fit(X, LABELS)


PREDICTIONS: dict[str, tuple[str, Any, str]] = {
    "infinity": ("points", changed(POINTS, (0, 0), -np.inf), r"Input X contains infinity"),
    "too few columns": ("points", POINTS[:, :2], r"X has 2 features, but .* expecting 3"),
    "too many columns": ("points", np.ones((2, 4)), r"X has 4 features, but .* expecting 3"),
    "one dimension": ("points", POINTS[0], r"Expected 2D array, got 1D array"),
    "no rows": ("points", POINTS[:0], r"0 sample\(s\)"),
    "texts": ("points", TABLE.to_numpy(), r"X: expected numbers only"),
    "other columns": ("frame", FRAME.rename(columns={"a": "d"}), r"unseen at fit time:\n- d"),
    "missing column": ("frame", FRAME[["a", "b"]], r"now missing:\n- c"),
    "missing column of a table": ("table", TABLE[["colour", "size"]], r"missing:\n- weight"),
    "other columns of a table": (
        "table",
        TABLE.rename(columns={"size": "length"}),
        r"unseen at fit time:\n- length",
    ),
    "no rows of a table": ("table", TABLE[:0], r"at least one row, got 0 sample"),
    "texts where numbers were": (
        "table",
        TABLE.assign(weight="heavy"),
        r"column 'weight': expected numbers, got 'heavy'",
    ),
    "infinity in a table": (
        "table",
        TABLE.assign(weight=np.inf),
        r"column 'weight': expected finite numbers",
    ),
    "points for a graph of weights": (
        "graph of weights",
        POINTS,
        r"X has 3 features, but .* expecting 24",
    ),
    "texts for a graph of points": (
        "graph of neighbours",
        TABLE.to_numpy(),
        r"X: expected numbers only",
    ),
    "a graph made of other rows": (
        "graph of other points",
        POINTS,
        r"X: expected the fitted rows .see label_distributions_",
    ),
    "a graph of weights with features": (
        "weights with features",
        POINTS,
        r"X: expected the fitted rows .see label_distributions_",
    ),
    "negative weights": (
        "weights",
        WEIGHTS - 1.0,
        r"X: expected weights >= 0, got -",
    ),
    "infinite weights": (
        "weights",
        WEIGHTS + np.inf,
        r"contains infinity",
    ),
    "incidences other than 0 and 1": (
        "incidence",
        sp.csr_array(np.full((2, 3), 0.5)),
        r"X: expected entries 0 and 1, got 0.5",
    ),
    "precomputed of another size": (
        "weights",
        WEIGHTS[:, :3],
        r"X has 3 features, but .* expecting 24",
    ),
    "other hyperedges": (
        "incidence",
        sp.csr_array(np.ones((2, 5))),
        r"X has 5 features, but .* expecting 3",
    ),
}


def test_malformed_calls_of_predict() -> None:
    for name, (model, X, message) in PREDICTIONS.items():
        for method in ("predict", "predict_proba", "decision_function"):
            call = partial(getattr(fitted(model), method), X)
            assert_refused(f"{method}: {name}", call, message)


def test_an_unfitted_classifier_raises_first() -> None:
    for X in (POINTS, None, "nonsense"):
        with pytest.raises(NotFittedError, match="not fitted yet"):
            GCNClassifier().predict(X)


def test_unknown_arguments() -> None:
    with pytest.raises(TypeError, match=re.escape("unexpected keyword argument 'ranks'")):
        GCNClassifier(ranks=3)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="positional argument"):
        GCNClassifier("auto")  # type: ignore[misc]
