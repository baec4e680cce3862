"""Products of table features, computed from codes, equal those of the stored matrix."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import lowrankgcn as lg
from lowrankgcn.estimators import inputs as module
from lowrankgcn.estimators.inputs import Inputs, PointInputs, TableInputs

N = 300


def table(seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    group = rng.integers(3, size=N)
    columns: dict[str, Any] = {
        f"c{j}": np.where(rng.random(N) < 0.6, group, rng.integers(4 + j, size=N)).astype(str)
        for j in range(4)
    }
    columns["identifier"] = [f"row {i // 2}" if i < 200 else f"only {i}" for i in range(N)]
    columns["x"] = rng.normal(size=N) + group
    columns["y"] = rng.integers(50, size=N)
    made = pd.DataFrame(columns)
    made.loc[rng.random(N) < 0.1, ["c1", "x"]] = None
    made["group"] = group
    return made


@pytest.mark.parametrize("raw", [False, True])
@pytest.mark.parametrize("kind", ["table", "points"])
def test_projections(kind: str, raw: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_CHUNK_ROWS", 70)
    rows: Any = table().drop(columns="group")
    fitted: Inputs
    if kind == "table":
        graph = lg.Hypergraph.from_table(rows)
        fitted = TableInputs.fit(rows, graph, raw_features=raw)
    else:
        rows, graph = rows[["y"]].to_numpy(float) * [[1.0, 3.0, 0.0]] + 1.0, None
        fitted = PointInputs.fit(rows, raw_features=raw)
    features = fitted.features(rows)
    assert features.shape == (N, fitted.width)
    U = np.random.default_rng(1).normal(size=(N, 11))
    for dtype, atol in ((np.float64, 1e-10), (np.float32, 1e-3)):
        inner, squares = fitted.project(rows, U.astype(dtype), graph)
        assert inner.dtype == np.float64
        assert_allclose(inner, U.T @ features, rtol=0, atol=atol)
        assert squares == pytest.approx(np.square(features).sum(), rel=1e-12)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"filter": ["heat", "constant"], "rank": 12},
        {"architecture": "reduced", "filter": "heat", "rank": 12, "hidden_widths": (6, 5)},
    ],
    ids=str,
)
def test_fit_from_codes_equals_fit_from_the_matrix(
    options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = table()
    labels = np.where(np.arange(N) % 10 == 0, rows.pop("group"), -1)
    given = {"random_state": 0, "dtype": "float64", "max_iter": 30, "n_restarts": 2} | options
    lean = lg.GCNClassifier(**given).fit(rows, labels)

    def project(self: TableInputs, X: Any, U: Any, graph: Any) -> Any:
        features = self.features(X)
        return U.T @ features, float(np.square(features).sum())

    monkeypatch.setattr(TableInputs, "project", project)
    dense = lg.GCNClassifier(**given).fit(rows, labels)
    assert_allclose(lean.label_distributions_, dense.label_distributions_, rtol=0, atol=1e-6)
    assert_allclose(
        lean.predict_proba(rows[:40]), dense.predict_proba(rows[:40]), rtol=0, atol=1e-6
    )


def test_memory_does_not_grow_with_the_categories() -> None:
    """Stored in double precision, the indicators of this table would take 160 MB."""
    rng = np.random.default_rng(0)
    group = rng.integers(2, size=20_000)
    rows = pd.DataFrame(
        {
            "wide": rng.integers(1000, size=20_000).astype(str),
            "narrow": np.where(rng.random(20_000) < 0.9, group, 1 - group).astype(str),
        }
    )
    labels = np.where(np.arange(20_000) % 500 == 0, group, -1)
    classifier = lg.GCNClassifier(random_state=0, max_iter=3, n_restarts=1, hidden_widths=(4,))
    tracemalloc.start()
    try:
        classifier.fit(rows, labels)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert classifier.networks_[0].widths[0] == 1002
    assert peak < 60e6
