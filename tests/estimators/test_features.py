"""Features of networks, and their products with eigenvectors."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import lowrankgcn as lg
from lowrankgcn.estimators.gcn_features import table_features
from lowrankgcn.tables import Table, TableEncoder

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
def test_projections(raw: bool) -> None:
    """Products with sparse indicators and their means equal those with the matrix of features."""
    rows = Table.read(table().drop(columns="group"))
    features = table_features(rows, *TableEncoder.fit_transform(rows), raw=raw)
    dense = features.to_dense()
    assert dense.shape == features.matrix.shape
    U = np.random.default_rng(1).normal(size=(N, 11))
    for dtype, atol in ((np.float64, 1e-10), (np.float32, 1e-3)):
        inner = features.project(U.astype(dtype))
        assert inner.dtype == np.float64
        assert_allclose(inner, U.T @ dense, rtol=0, atol=atol)


def test_features_of_a_table() -> None:
    """Centred indicators of values of two or more rows, then standard scores."""
    rows = table().drop(columns="group")
    read = Table.read(rows)
    found = table_features(read, *TableEncoder.fit_transform(read)).to_dense()
    expected = []
    for name in ("c0", "c1", "c2", "c3", "identifier"):
        counts = rows[name].value_counts()
        expected += [rows[name] == value for value in sorted(counts.index[counts > 1])]
    for name in ("x", "y"):
        filled = rows[name].fillna(rows[name].median())
        expected.append((filled - filled.mean()) / filled.std(ddof=0))
    columns = np.array(expected, dtype=float)
    assert_allclose(found, (columns - columns.mean(axis=1, keepdims=True)).T, atol=1e-12)


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
    rows = rows.astype("category")
    labels = np.where(np.arange(20_000) % 500 == 0, group, -1)
    classifier = lg.GCNClassifier(random_state=0, max_iter=3, n_restarts=1, hidden_widths=(4,))
    classifier.fit(rows[:1000], labels[:1000])  # imports torch
    tracemalloc.start()
    try:
        classifier.fit(rows, labels)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert classifier.networks_[0].widths[0] == 1002
    assert peak < 60e6
