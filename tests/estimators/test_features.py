"""Features given by rows and products equal a stored matrix and train the same networks."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from numpy.testing import assert_allclose

import lowrankgcn as lg
from lowrankgcn.estimators import fitting
from lowrankgcn.estimators.features import ScaledFeatures, TableFeatures
from lowrankgcn.estimators.inputs import TableInputs
from lowrankgcn.training import Features, TensorFeatures, predict_held_out, train

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


def features_of(rows: pd.DataFrame, raw: bool) -> tuple[TableFeatures, np.ndarray]:
    graph = lg.Hypergraph.from_table(rows)
    inputs = TableInputs.fit(rows, graph, raw_features=raw)
    return TableFeatures.from_table(inputs, rows, graph), inputs.features(rows)


@pytest.mark.parametrize("raw", [False, True])
def test_products_of_a_table(raw: bool) -> None:
    features, dense = features_of(table().drop(columns="group"), raw)
    assert features.shape == dense.shape
    rng = np.random.default_rng(1)
    assert_allclose(features.dense().numpy(), dense, rtol=0, atol=0)
    index = rng.permutation(N)[:20]
    assert_allclose(features.take(torch.as_tensor(index)).numpy(), dense[index], rtol=0, atol=0)
    U = rng.normal(size=(N, 11))
    expected = U.T @ dense
    assert_allclose(features.inner(torch.as_tensor(U)).numpy(), expected, rtol=0, atol=1e-11)
    single = features.inner(torch.as_tensor(U, dtype=torch.float32))
    assert single.dtype == torch.float64
    assert_allclose(single.numpy(), expected, rtol=0, atol=1e-4)
    W = rng.normal(size=(dense.shape[1], 5))
    assert_allclose(features.times(torch.as_tensor(W)).numpy(), dense @ W, rtol=0, atol=1e-11)
    rounded = features.times(torch.as_tensor(W, dtype=torch.float32))
    assert rounded.dtype == torch.float32
    assert_allclose(rounded.numpy(), dense @ W, rtol=0, atol=1e-4)
    assert features.square_sum() == pytest.approx(np.square(dense).sum(), rel=1e-12)


def test_tensors_of_two_types() -> None:
    rng = np.random.default_rng(0)
    X, U, W = (torch.as_tensor(rng.normal(size=s)) for s in ((70, 4), (70, 3), (4, 2)))
    features = TensorFeatures(X)
    assert features.shape == (70, 4)
    assert torch.equal(features.inner(U), U.T @ X)
    mixed = features.inner(U.float())
    assert mixed.dtype == torch.float64
    assert_allclose(mixed.numpy(), (U.float().double().T @ X).numpy(), rtol=1e-13)
    assert features.times(W.float()).dtype == torch.float32
    assert_allclose(features.times(W).numpy(), (X @ W).numpy(), rtol=0, atol=1e-14)
    assert features.square_sum() == pytest.approx(float((X**2).sum()))


def test_scaled_features() -> None:
    rng = np.random.default_rng(0)
    X, U = torch.as_tensor(rng.normal(size=(50, 4))), torch.as_tensor(rng.normal(size=(50, 3)))
    like = torch.empty(0, dtype=torch.float32)
    seen = ScaledFeatures(TensorFeatures(X), 2.0, (U.T @ X).numpy(), like)
    index, W = torch.tensor([3, 1]), torch.as_tensor(rng.normal(size=(4, 2))).float()
    for got, expected in (
        (seen.take(index), 2 * X[index]),
        (seen.inner(U.float()), 2 * U.T @ X),
        (seen.times(W), 2 * X @ W.double()),
        (seen.dense(), 2 * X),
    ):
        assert got.dtype == torch.float32
        assert_allclose(got.numpy(), expected.numpy(), rtol=1e-5, atol=1e-6)
    unknown = ScaledFeatures(TensorFeatures(X), 2.0, None, like)
    assert_allclose(unknown.inner(U).numpy(), seen.inner(U).numpy(), rtol=1e-6)
    assert seen.square_sum() == pytest.approx(4 * float((X**2).sum()))


@pytest.mark.parametrize(
    ("kind", "depth"),
    [("low-rank", 1), ("low-rank", 3), ("reduced", 2), ("identity", 3), ("full", 2)],
)
def test_training_with_features_equals_training_with_the_matrix(kind: str, depth: int) -> None:
    rows = table().drop(columns="group")
    features, dense = features_of(rows, raw=False)
    L = lg.Laplacian(lg.Hypergraph.from_table(rows))
    widths = (dense.shape[1], *(5, 4)[: depth - 1], 3)
    kernels: Any = {
        "identity": lambda: lg.operators.IdentityOperator(N),
        "full": lambda: lg.kernel(L, "linear"),
    }.get(kind, lambda: lg.kernel(L, "heat", rank=6))()
    build = lg.nn.ReducedOrderGCN if kind == "reduced" else lg.nn.GCN
    network = build(kernels, widths, bias=True, dtype=torch.float64)
    index = np.arange(0, N, 10)
    targets = table()["group"].to_numpy()[index]
    options: dict[str, Any] = {"max_iter": 20, "optimizer": "adam"}
    one, other = (
        train(network, X, index, targets, seeds=[1, 2], **options) for X in (dense, features)
    )
    assert_allclose(other.loss_curve, one.loss_curve, rtol=1e-7)
    for rows_wanted in (None, index[:4]):
        logits = [one.logits(network, X, rows_wanted).numpy() for X in (dense, features)]
        assert_allclose(logits[1], logits[0], rtol=0, atol=1e-10)
    folds = np.arange(len(index))[None] % 3 == np.arange(3)[:, None]
    held = [
        predict_held_out(network, X, index, targets, folds, **options) for X in (dense, features)
    ]
    assert_allclose(held[1], held[0], rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"architecture": "low-rank", "filter": ["heat", "constant"], "rank": 12},
        {"architecture": "reduced", "filter": "heat", "rank": 12, "hidden_widths": (6, 5)},
        {"architecture": "full", "filter": "linear"},
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

    class Stored:
        @staticmethod
        def from_table(inputs: TableInputs, X: Any, graph: lg.Hypergraph) -> Features:
            return TensorFeatures(torch.from_numpy(inputs.features(X)))

    monkeypatch.setattr(fitting, "TableFeatures", Stored)
    dense = lg.GCNClassifier(**given).fit(rows, labels)
    assert_allclose(lean.label_distributions_, dense.label_distributions_, rtol=0, atol=1e-6)
    assert_allclose(
        lean.predict_proba(rows[:40]), dense.predict_proba(rows[:40]), rtol=0, atol=1e-6
    )


def test_table_features_are_dense_only_at_full_rank(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(self: TableFeatures) -> Any:
        raise AssertionError("the whole matrix was built")

    monkeypatch.setattr(TableFeatures, "dense", refused)
    rows = table()
    labels = np.where(np.arange(N) % 10 == 0, rows.pop("group"), -1)
    lg.GCNClassifier(random_state=0, max_iter=20, n_restarts=1).fit(rows, labels)
    with pytest.raises(AssertionError, match="the whole matrix"):
        lg.GCNClassifier(architecture="full", max_iter=20).fit(rows, labels)


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


def test_features_of_another_size_are_refused() -> None:
    rows = table().drop(columns="group")
    features, _ = features_of(rows, raw=False)
    network = lg.nn.GCN(lg.operators.IdentityOperator(N), (5, 3))
    with pytest.raises(ValueError, match=r"X: expected shape \(300, 5\), got shape \(300, "):
        train(network, features, [0, 1], [0, 1])
