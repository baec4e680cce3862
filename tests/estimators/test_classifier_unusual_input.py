"""Unusual input that works without a warning."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from lowrankgcn import Hypergraph
from tests.support.cases.input_problems import FRAME, LABELS, POINTS, TABLE, N, changed, quick

# Here a column often is the class itself.
pytestmark = pytest.mark.filterwarnings("ignore::lowrankgcn.exceptions.LabelWarning")

WORKING: dict[str, tuple[Any, dict[str, Any]]] = {
    "points": (POINTS, {}),
    "integers": (POINTS.round().astype(int), {}),
    "lists": (POINTS.tolist(), {}),
    "single precision": (POINTS.astype(np.float32), {}),
    "frame": (FRAME, {}),
    "nullable frame": (FRAME.astype("Float64"), {}),
    "numbers as objects": (POINTS.astype(object), {}),
    "one column": (POINTS[:, :1], {}),
    "more columns than rows": (np.tile(POINTS, 20), {}),
    "a constant column": (changed(POINTS, (slice(None), 1), 7.0), {}),
    "constant features": (np.ones((N, 3)), {}),
    "constant features of a Gaussian graph": (np.ones((N, 3)), {"graph": "gaussian"}),
    "constant features of neighbours": (np.ones((N, 3)), {"graph": "knn"}),
    "constant features as in the paper": (np.ones((N, 3)), {"preset": "paper", "max_iter": 5}),
    "rows twice": (np.repeat(POINTS[: N // 2], 2, axis=0), {}),
    "a huge column": (POINTS * [1.0, 1e150, 1.0], {}),
    "a tiny column": (POINTS * [1.0, 1e-150, 1.0], {}),
    "table": (TABLE, {}),
    "table of texts": (TABLE.astype(str).to_numpy(), {}),
    "table as lists": (TABLE.astype(str).to_numpy().tolist(), {}),
    "categories": (TABLE.astype("category"), {}),
    "booleans": (FRAME > 0, {}),
    "missing cells": (TABLE.mask(np.eye(N, 3, dtype=bool)), {}),
    "an all-missing column": (TABLE.assign(size=np.nan), {}),
    "an all-missing column of objects": (TABLE.assign(size=None), {}),
    "a constant table": (TABLE.assign(colour="red")[["colour"]], {}),
    "a table of numbers": (FRAME, {"graph": "hypergraph"}),
    "a table of numbers without names": (POINTS, {"graph": "hypergraph"}),
    "dates": (TABLE.assign(day=pd.date_range("2024", periods=N)), {}),
    "integer names": (TABLE.set_axis([0, 1, 2], axis=1), {}),
    "rank n": (POINTS, {"rank": N, "architecture": "low-rank"}),
    "rank 1": (POINTS, {"rank": 1, "architecture": "reduced"}),
    "no hidden layer": (POINTS, {"hidden_widths": ()}),
    "two hidden layers": (POINTS, {"hidden_widths": [4, 4]}),
    "one width": (POINTS, {"hidden_widths": 4}),
    "class weights": (POINTS, {"class_weight": {1: 3}}),
    "balanced": (POINTS, {"class_weight": "balanced"}),
}


@pytest.mark.parametrize("part", [0, 1, 2])
@pytest.mark.filterwarnings("ignore::lowrankgcn.DegenerateCutWarning")
def test_unusual_input_works_without_a_warning(part: int) -> None:
    for name, (X, options) in list(WORKING.items())[part::3]:
        classifier = quick(**options).fit(X, LABELS)
        for shares in (classifier.label_distributions_, classifier.predict_proba(X)):
            assert shares.shape == (N, 2), name
            assert np.isfinite(shares).all(), name
            np.testing.assert_allclose(shares.sum(axis=1), 1.0, rtol=1e-12, err_msg=name)


def test_two_rows_are_enough() -> None:
    classifier = quick(max_iter=100).fit([[0.0, 1.0], [1.0, 0.0]], [0, 1])
    assert classifier.transduction_.tolist() == [0, 1]


def test_unknown_values_of_a_table_are_no_hyperedge() -> None:
    classifier = quick().fit(TABLE, LABELS)
    new = pd.DataFrame({"colour": ["green"], "size": [2], "weight": [None]})
    assert np.isfinite(classifier.predict_proba(new)).all()


def test_hypergraph_object_with_its_table() -> None:
    classifier = quick(graph=Hypergraph.from_table(TABLE, bins=3)).fit(TABLE, LABELS)
    assert classifier.transduction_.shape == (N,)
