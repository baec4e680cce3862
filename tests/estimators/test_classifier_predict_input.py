"""Malformed calls of predict: each gets one clear error and not a word besides."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError

from lowrankgcn import AdjacencyGraph, GCNClassifier
from tests.input_problems import FRAME, LABELS, POINTS, TABLE, WEIGHTS, changed, quick


def fitted(X: Any, **options: Any) -> Callable[[], GCNClassifier]:
    return lambda: quick(**options).fit(X, LABELS)


PREDICTIONS: dict[str, tuple[Callable[[], GCNClassifier], Any, str]] = {
    "NaN": (
        fitted(POINTS),
        changed(POINTS, (0, 0), np.nan),
        r"X: expected numbers in all cells .* got NaN",
    ),
    "infinity": (fitted(POINTS), changed(POINTS, (0, 0), -np.inf), r"Input X contains infinity"),
    "too few columns": (fitted(POINTS), POINTS[:, :2], r"X has 2 features, but .* expecting 3"),
    "too many columns": (fitted(POINTS), np.ones((2, 4)), r"X has 4 features, but .* expecting 3"),
    "one dimension": (fitted(POINTS), POINTS[0], r"Expected 2D array, got 1D array"),
    "no rows": (fitted(POINTS), POINTS[:0], r"0 sample\(s\)"),
    "texts": (fitted(POINTS), TABLE.to_numpy(), r"X: expected numbers only"),
    "other columns": (fitted(FRAME), FRAME.rename(columns={"a": "d"}), r"unseen at fit time:\n- d"),
    "missing column": (fitted(FRAME), FRAME[["a", "b"]], r"now missing:\n- c"),
    "reordered columns": (fitted(FRAME), FRAME[["b", "a", "c"]], r"same order as they were in fit"),
    "missing column of a table": (fitted(TABLE), TABLE[["colour", "size"]], r"missing:\n- weight"),
    "other columns of a table": (
        fitted(TABLE),
        TABLE.rename(columns={"size": "length"}),
        r"unseen at fit time:\n- length",
    ),
    "reordered columns of a table": (
        fitted(TABLE),
        TABLE[["size", "colour", "weight"]],
        r"same order as they were in fit",
    ),
    "no rows of a table": (fitted(TABLE), TABLE[:0], r"at least one row, got 0 sample"),
    "texts where numbers were": (
        fitted(TABLE),
        TABLE.assign(weight="heavy"),
        r"column 'weight': expected numbers as at fitting, got 'heavy'",
    ),
    "infinity in a table": (
        fitted(TABLE),
        TABLE.assign(weight=np.inf),
        r"column 'weight': expected finite numbers",
    ),
    "points for a graph of weights": (
        fitted(AdjacencyGraph(WEIGHTS)),
        POINTS,
        r"X has 3 features, but .* expecting 24",
    ),
    "texts for a graph of points": (
        fitted(AdjacencyGraph.knn(POINTS, 4)),
        TABLE.to_numpy(),
        r"X: expected numbers only",
    ),
    "a graph made of other rows": (
        fitted(POINTS, graph=AdjacencyGraph.knn(POINTS + 1.0, 4)),
        POINTS,
        r"X: expected the fitted rows: see label_distributions_",
    ),
    "a graph of weights beside features": (
        fitted(POINTS, graph=AdjacencyGraph(WEIGHTS)),
        POINTS,
        r"X: expected the fitted rows: see label_distributions_",
    ),
    "negative weights": (
        fitted(WEIGHTS, graph="precomputed"),
        WEIGHTS - 1.0,
        r"X: expected weights >= 0, got -",
    ),
    "infinite weights": (
        fitted(WEIGHTS, graph="precomputed"),
        WEIGHTS + np.inf,
        r"contains infinity",
    ),
    "incidences other than 0 and 1": (
        fitted(sp.csr_array((POINTS > 0) * 1.0), graph="hypergraph"),
        sp.csr_array(np.full((2, 3), 0.5)),
        r"X: expected entries 0 and 1, got 0.5",
    ),
    "precomputed of another size": (
        fitted(WEIGHTS, graph="precomputed"),
        WEIGHTS[:, :3],
        r"X has 3 features, but .* expecting 24",
    ),
    "other hyperedges": (
        fitted(sp.csr_array((POINTS > 0) * 1.0), graph="hypergraph"),
        sp.csr_array(np.ones((2, 5))),
        r"X has 5 features, but .* expecting 3",
    ),
}


@pytest.mark.parametrize("name", PREDICTIONS)
def test_predict_says_what_is_wrong(name: str) -> None:
    make, X, message = PREDICTIONS[name]
    classifier = make()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for method in ("predict", "predict_proba", "decision_function"):
            with pytest.raises(ValueError, match=message):
                getattr(classifier, method)(X)


@pytest.mark.parametrize("X", [POINTS, None, "nonsense"])
def test_unfitted_says_so_first(X: Any) -> None:
    with pytest.raises(NotFittedError, match="not fitted yet"):
        GCNClassifier().predict(X)


def test_unknown_arguments() -> None:
    with pytest.raises(TypeError, match=re.escape("unexpected keyword argument 'ranks'")):
        GCNClassifier(ranks=3)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="positional argument"):
        GCNClassifier("auto")  # type: ignore[misc]
