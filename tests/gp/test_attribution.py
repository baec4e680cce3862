"""Explanations add up to the log-odds, agree with definitions, and point the right way."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from lowrankgcn.estimators.spectral_gp import SpectralGPClassifier
from lowrankgcn.gp import process as process_module
from lowrankgcn.gp import recipe
from lowrankgcn.gp.likelihood import CONSTANT
from tests import reference_gp as reference


def mixed_table(n: int, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Columns of all kinds with missing cells, and three classes."""
    generator = np.random.default_rng(seed)
    kind = generator.choice(list("abc"), n)
    level = generator.normal(size=n)
    truth = np.array([{"a": "red", "b": "green", "c": "blue"}[k] for k in kind], dtype=object)
    table = pd.DataFrame(
        {
            "level": level,
            "count": generator.integers(0, 9, n),
            "flag": generator.random(n) < 0.5,
            "day": pd.Timestamp("2020-01-01") + pd.to_timedelta(generator.integers(0, 99, n), "D"),
            "kind": pd.Categorical(kind),
            "text": generator.choice(["x", "y", "z"], n),
        }
    )
    for k, name in enumerate(table):
        if name not in ("count", "flag"):
            table.loc[generator.random(n) < 0.1 + k / 50, name] = None
    return table, truth


@pytest.fixture(scope="module")
def fitted() -> tuple[SpectralGPClassifier, pd.DataFrame]:
    table, truth = mixed_table(80, 0)
    y = np.where(np.arange(80) < 30, truth, "")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recipe, "_TREES", 20)
        classifier = SpectralGPClassifier(rank=20, random_state=0).fit(table, y)
    new, _ = mixed_table(25, 1)
    new.loc[0] = [np.nan, 3, True, pd.NaT, np.nan, None]
    new.loc[1, "text"] = "unknown"
    return classifier, new


@pytest.mark.parametrize("by", ["columns", "rows", "blocks"])
def test_contributions_add_up_to_the_log_odds(fitted: Any, by: str) -> None:
    classifier, new = fitted
    explanation, shares = classifier.explain(new, by=by), classifier.predict_proba(new)
    assert len(explanation) == len(new) and explanation.by == by
    for own, row in zip(shares, explanation, strict=True):
        assert row.predicted == classifier.classes_[own.argmax()]
        np.testing.assert_allclose(row.log_odds, reference.log_odds(own.tolist()), atol=1e-8)
        total = row.baseline + sum(one.amount for one in row.contributions)
        np.testing.assert_allclose(total, row.log_odds, atol=1e-8)
        sizes = [abs(one.amount) for one in row.contributions]
        assert sizes == sorted(sizes, reverse=True) and row.log_odds >= 0
        np.testing.assert_allclose(
            [row.probability, row.runner_up_probability], np.sort(own)[::-1][:2]
        )
    sums = explanation.to_frame().groupby("row")["amount"].sum()
    np.testing.assert_allclose(sums, [row.log_odds for row in explanation], atol=1e-8)
    assert str(explanation).count("rather than") == len(new)


def test_contributions_of_rows_and_blocks_by_definition(fitted: Any) -> None:
    classifier, new = fitted
    model, classes = classifier._model, classifier.classes_.tolist()
    process, views = model.process, model.views(new)
    K = {
        block.name: amplitude * block.kernel(block.represent(views), known)
        for block, amplitude, known in zip(
            process.blocks, process.amplitudes, process.labelled, strict=True
        )
    }
    total = sum(K.values())
    by_rows, by_blocks = classifier.explain(new, by="rows"), classifier.explain(new, by="blocks")
    for i, (of_rows, of_blocks) in enumerate(zip(by_rows, by_blocks, strict=True)):
        first, second = classes.index(of_rows.predicted), classes.index(of_rows.runner_up)
        slope = process.temperature * (process.alpha[:, first] - process.alpha[:, second])
        for one in of_rows.contributions:
            k = model.labelled.tolist().index(one.name)
            assert one.value == classes[model.codes[k]]
            np.testing.assert_allclose(one.amount, total[i, k] * slope[k], atol=1e-6)
        for one in of_blocks.contributions:
            np.testing.assert_allclose(one.amount, K[one.name][i] @ slope, atol=1e-6)
        shares = np.log(process.factors[first] / process.factors[second])
        np.testing.assert_allclose(of_rows.baseline, CONSTANT * slope.sum() + shares, atol=1e-9)


def signed(row: Any, second: Any) -> dict[Any, float]:
    """Return the contributions to the odds of one class over another."""
    sign = 1.0 if row.predicted == second else -1.0
    return {one.name: sign * one.amount for one in row.contributions}


def test_a_column_changes_its_own_contribution_only() -> None:
    table, truth = mixed_table(60, 2)
    y = np.where(np.arange(60) < 30, np.where(truth == "red", 1, 0), -1)
    blocks = ("linear", "linear-ranks", "weighted-linear")
    classifier = SpectralGPClassifier(blocks=blocks, random_state=0).fit(table, y)
    first, second = table.iloc[[31]].copy(), table.iloc[[31]].copy()
    for name, cells in {"level": (0.3, np.nan), "kind": ("a", "b"), "text": ("x", None)}.items():
        first[name], second[name] = cells
        odds = classifier.decision_function(pd.concat([second, first]))
        before, after = (signed(classifier.explain(row)[0], 1) for row in (second, first))
        np.testing.assert_allclose(
            after.pop(name, 0.0) - before.pop(name, 0.0), odds[1] - odds[0], atol=1e-9
        )
        assert set(after) == set(before) <= set(table)  # no block is left
        for other, amount in after.items():
            np.testing.assert_allclose(amount, before[other], atol=1e-9)
        second = first.copy()


def test_signs_agree_with_the_labels(fitted: Any) -> None:
    classifier, _ = fitted
    table, _ = mixed_table(40, 3)
    table["kind"] = "a"
    for row in classifier.explain(table.dropna().head(5), by="columns"):
        assert row.predicted == "red"
        amounts = {one.name: one.amount for one in row.contributions}
        assert amounts["kind"] > 0
        assert amounts["kind"] == max(amounts[name] for name in table)
    for row in classifier.explain(table.dropna().head(5), by="rows"):
        red = [one.amount for one in row.contributions if one.value == "red"]
        others = [one.amount for one in row.contributions if one.value == row.runner_up]
        assert sum(red) > 0 > sum(others) - sum(red)


def test_inducing_rows_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process_module, "EXACT_ROWS", 20)
    monkeypatch.setattr(process_module, "INDUCING_ROWS", 9)
    X = np.random.default_rng(0).normal(size=(70, 3))
    y = np.where(X[:, 0] > 0, "above", "below").astype(object)
    y[::7] = None
    classifier = SpectralGPClassifier(blocks=["linear", "radial"], random_state=0).fit(X, y)
    (row,) = classifier.explain(X[:1], by="rows")
    assert len(row.contributions) == 9
    assert all(y[one.name] == one.value for one in row.contributions)
    total = row.baseline + sum(one.amount for one in row.contributions)
    np.testing.assert_allclose(total, row.log_odds, atol=1e-6)
    assert (
        classifier.loo_accuracy_ > 0.8
        and (classifier.predict(X) == np.where(X[:, 0] > 0, "above", "below")).mean() > 0.8
    )
