"""Explanations add up to the log-odds, agree with definitions, and point the right way."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from lowrankgcn.estimators.gp_classifier import SpectralGPClassifier
from lowrankgcn.gp import process as process_module
from lowrankgcn.gp import recipe
from lowrankgcn.gp.likelihood import CONSTANT
from lowrankgcn.graphs import AdjacencyGraph
from tests.support.oracles import reference_gp as reference


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
        np.testing.assert_allclose(row.log_odds, reference.log_odds(own.tolist()), atol=1e-5)
        total = row.baseline + sum(one.amount for one in row.contributions)
        np.testing.assert_allclose(total, row.log_odds, atol=1e-9)
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
    process, views = model.process, model.maps.read(new)
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
            after.pop(name, 0.0) - before.pop(name, 0.0), odds[1] - odds[0], atol=1e-5
        )
        assert set(after) == set(before) <= set(table)  # no block is left
        for other, amount in after.items():
            np.testing.assert_allclose(amount, before[other], atol=1e-5)
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


def test_columns_have_their_shapley_values() -> None:
    table, truth = mixed_table(70, 5)
    table = table[["level", "kind", "text", "count"]]
    y = np.where(np.arange(70) < 30, truth, "")
    classifier = SpectralGPClassifier(rank=20, random_state=0).fit(table, y)
    maps, background = classifier._model.maps, classifier._model.background
    own = maps.parts(table)
    # The background holds 32 rows of the table.
    found = [
        next(
            i
            for i in range(70)
            if all(_equal(own[k][i], part[b]) for k, part in background.items())
        )
        for b in range(len(background["codes"]))
    ]
    assert len(set(found)) == 32
    (row,) = classifier.explain(table.iloc[[50]])
    pair = [classifier.classes_.tolist().index(name) for name in (row.predicted, row.runner_up)]
    sets = [frozenset(np.flatnonzero(bits)) for bits in np.ndindex(2, 2, 2, 2)]
    odds: dict[frozenset[int], float] = {}
    for chosen in sets:
        mixed = table.iloc[found].reset_index(drop=True)
        for k in chosen:
            mixed[mixed.columns[k]] = table.iloc[[50] * 32, k].reset_index(drop=True)
        logs = np.log(classifier.predict_proba(mixed))
        odds[chosen] = float((logs[:, pair[0]] - logs[:, pair[1]]).mean())
    expected = dict(zip(table, reference.shapley(odds.__getitem__, 4), strict=True))
    np.testing.assert_allclose(row.baseline, odds[frozenset()], atol=1e-5)
    amounts = {one.name: one.amount for one in row.contributions}
    for name, amount in expected.items():
        np.testing.assert_allclose(amounts.get(name, 0.0), amount, atol=1e-5)


def _equal(a: Any, b: Any) -> bool:
    return bool(np.array_equal(a, b, equal_nan=True))


def test_equal_columns_share_the_credit_and_noise_gets_none() -> None:
    generator = np.random.default_rng(0)
    classes = generator.integers(0, 2, 300)
    signal = classes * 4.0 + generator.normal(size=300)
    X = pd.DataFrame({"one": signal, "two": signal, "weak": classes + generator.normal(size=300)})
    for k in range(5):
        X[f"noise {k}"] = generator.normal(size=300)
    y = np.where(np.arange(300) < 40, classes, -1)
    explanation = SpectralGPClassifier(random_state=0).fit(X, y).explain(X.tail(20))
    frame = explanation.to_frame()
    sizes = frame[frame.kind == "column"].assign(amount=lambda f: f.amount.abs())
    mean = sizes.groupby("name").amount.mean()
    assert 0.8 < mean["one"] / mean["two"] < 1.25
    assert mean["two"] > 2 * mean["weak"]
    assert mean["two"] > 5 * max(mean[f"noise {k}"] for k in range(5))


def test_explanations_do_not_depend_on_other_rows(fitted: Any) -> None:
    classifier, new = fitted
    together, alone = classifier.explain(new), classifier.explain(new.iloc[[7]])
    a, b = ({one.name: one.amount for one in row.contributions} for row in (together[7], alone[0]))
    assert a.keys() == b.keys()
    np.testing.assert_allclose([a[name] for name in b], list(b.values()), atol=1e-5)


def test_lines_show_reasons_for_the_class_first(fitted: Any) -> None:
    classifier, new = fitted
    for row in classifier.explain(new):
        shown = [float(line.split()[0]) for line in row.lines("columns", 4)[1:]]
        largest = sorted((one.amount for one in row.contributions), key=abs, reverse=True)[:4]
        ordered = [a for a in largest if a > 0] + [a for a in largest if a < 0]
        np.testing.assert_allclose(shown[: len(ordered)], ordered, atol=0.0051)
        np.testing.assert_allclose(sum(shown), row.log_odds, atol=0.04)


def test_a_graph_object_counts_as_a_column() -> None:
    generator = np.random.default_rng(0)
    X = generator.normal(size=(80, 3))
    y = np.where(np.arange(80) < 25, X[:, 0] > 0, -1)
    graph = AdjacencyGraph.knn(X, 8)
    classifier = SpectralGPClassifier(graph=graph, random_state=0).fit(X, y)
    shares = classifier.predict_proba(X[40:50] + 0.01)
    names = set()
    for own, row in zip(shares, classifier.explain(X[40:50] + 0.01), strict=True):
        names |= {(one.kind, one.name) for one in row.contributions}
        total = row.baseline + sum(one.amount for one in row.contributions)
        np.testing.assert_allclose(total, reference.log_odds(own.tolist()), atol=1e-9)
    assert names == {("column", 0), ("column", 1), ("column", 2), ("block", "given")}


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
