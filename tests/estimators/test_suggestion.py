"""Suggested rows: comparison with a naive rule, properties, and gain in accuracy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_digits

import lowrankgcn as lg
from lowrankgcn.estimators import first_rows
from lowrankgcn.estimators import suggestion as rule
from lowrankgcn.estimators.suggestion import embedding, greedy_rows, suggest, uncertainty
from tests import strategies

CHEAP: dict[str, Any] = {"architecture": "reduced", "filter": "pseudoinverse", "random_state": 0}


def naive(
    Phi: np.ndarray, uncertain: np.ndarray, labelled: list[int], candidates: list[int], k: int
) -> list[int]:
    """The rule with dense n×n covariances, from the beginning for every row."""
    K = Phi @ Phi.T

    def covariance(known: list[int]) -> np.ndarray:
        gain = K[:, known] @ np.linalg.inv(
            K[np.ix_(known, known)] + rule._NOISE * np.eye(len(known))
        )
        return K - gain @ K[known]

    left = np.diag(covariance(labelled)) / np.diag(K) if labelled else np.ones(len(K))
    weights = 1 - (1 - uncertain) * (1 - rule._DOUBT * left)
    chosen: list[int] = []
    for _ in range(k):
        S = covariance([*labelled, *chosen]) if labelled or chosen else K
        reduction = (weights[:, None] * S**2).sum(axis=0) / (rule._NOISE + np.diag(S))
        scores = {i: weights[i] * reduction[i] for i in candidates if i not in chosen}
        chosen.append(max(scores, key=lambda i: (scores[i], -i)))
    return chosen


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.integers(6, 14), st.integers(1, 4), st.integers(0, 3))
def test_greedy_rows_are_those_of_the_naive_rule(seed: int, n: int, rank: int, known: int) -> None:
    generator = np.random.default_rng(seed)
    Phi, uncertain = generator.normal(size=(n, rank)), generator.uniform(size=n)
    labelled = generator.permutation(n)[:known].tolist()
    candidates = [i for i in range(n) if i not in labelled]
    found = greedy_rows(Phi, uncertain, labelled, candidates, 3)
    assert found.tolist() == naive(Phi, uncertain, labelled, candidates, 3)


def test_uncertainty_and_embedding() -> None:
    assert uncertainty(np.array([[0.2, 0.5, 0.3]])).tolist() == pytest.approx([0.8])
    laplacian = lg.Laplacian(lg.AdjacencyGraph(np.ones((6, 6)) - np.eye(6)))
    Phi = embedding(lg.eigenpairs(laplacian, 1), 2)
    assert np.square(Phi).sum() == pytest.approx(6.0)


# --- properties -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def digits() -> tuple[lg.GCNClassifier, np.ndarray, np.ndarray]:
    data = load_digits()
    y = np.full(len(data.target), -1)
    y[:20] = data.target[:20]
    return lg.GCNClassifier(**CHEAP).fit(data.data, y), y, data.target


def test_suggestions_are_distinct_unlabelled_and_repeatable(digits: Any) -> None:
    classifier, y, _ = digits
    rows = classifier.suggest(25)
    assert rows.dtype == np.intp and len(set(rows.tolist())) == 25
    assert (y[rows] == -1).all()
    assert rows.tolist() == classifier.suggest(25).tolist()
    assert classifier.suggest(5).tolist() == rows[:5].tolist()  # greedy: the first ones stay


def test_only_rows_among_those_given(digits: Any) -> None:
    classifier, y, _ = digits
    among = np.arange(10, 200)
    assert set(classifier.suggest(30, among=among)) <= set(range(20, 200))
    mask = np.zeros(len(y), bool)
    mask[among] = True
    assert (
        classifier.suggest(30, among=mask).tolist() == classifier.suggest(30, among=among).tolist()
    )
    assert sorted(classifier.suggest(180, among=among)) == list(range(20, 200))


def test_malformed_calls_of_suggest(digits: Any) -> None:
    calls: list[tuple[dict[str, Any], str]] = [
        ({"k": 0}, "k: expected an integer >= 1, got 0"),
        ({"k": 2.5}, "k: expected an integer >= 1, got 2.5"),
        ({"k": 1778}, "k: expected at most 1777, the number of rows without a label, got 1778"),
        ({"k": 3, "among": [30, 31]}, "k: expected at most 2"),
        ({"k": 1, "among": [5000]}, "among: expected indices in 0..1796"),
    ]
    for arguments, message in calls:
        with pytest.raises(ValueError) as caught:
            digits[0].suggest(**arguments)
        assert message in str(caught.value)


def test_classifiers_from_files_have_no_graph(digits: Any, tmp_path: Any) -> None:
    lg.save(digits[0], tmp_path / "model")
    with pytest.raises(ValueError, match="a classifier fitted in this process"):
        lg.load(tmp_path / "model").suggest(3)


def test_duplicates_come_last() -> None:
    combinations = [(a, b, c) for a in "xy" for b in "pq" for c in "mn"]
    table = pd.DataFrame(combinations * 3, columns=["a", "b", "c"])
    y = ["one", *[""] * 6, "two", *[""] * 16]
    classifier = lg.GCNClassifier(max_iter=20, **CHEAP).fit(table, y)
    rows = classifier.suggest(22)
    assert set(rows[:6] % 8) == set(range(1, 7))  # neither those with a label nor any twice
    assert len(set(rows.tolist())) == 22
    points = np.repeat(np.random.default_rng(0).normal(size=(12, 2)), 3, axis=0)
    first = first_rows(points, 12, graph="knn")
    assert len(np.unique(points[first], axis=0)) == 12


def test_unlabelled_components_come_first_by_size() -> None:
    generator = np.random.default_rng(0)
    sizes = (40, 10, 25, 1)
    centres = np.repeat(np.arange(4) * 1000.0, sizes)
    points = generator.normal(size=(76, 2)) + centres[:, None]
    W = np.exp(-np.square(points[:, None] - points[None]).sum(axis=2))
    W = np.where(centres[:, None] == centres, W + 0.01, 0.0) * (1 - np.eye(76))
    y = np.full(76, -1)
    y[[0, 1]] = 0, 1
    classifier = lg.GCNClassifier(graph="precomputed", **CHEAP)
    with pytest.warns(lg.UnlabelledComponentWarning):
        classifier.fit(W, y)
    rows = classifier.suggest(3)
    assert (centres[rows[:2]] / 1000).tolist() == [2, 1]
    assert rows[2] != 75  # a single row is an outlier, not a part
    assert 75 in classifier.suggest(74)


def test_full_rank_classifiers_suggest_too() -> None:
    cars = lg.datasets.load_cars(as_frame=True)
    y = np.full(1728, -1)
    y[cars.training] = cars.target.iloc[cars.training]
    options = {"architecture": "full", "filter": "linear", "max_iter": 20}
    classifier = lg.GCNClassifier(random_state=0, **options).fit(cars.data, y)
    assert classifier.eigenpairs_ is None
    assert not np.isin(classifier.suggest(5), cars.training).any()


def test_outliers_are_not_chosen() -> None:
    generator = np.random.default_rng(1)
    points = generator.normal(size=(300, 2))
    points[150:, 0] += 6.0
    points = np.r_[points, [[3.0, 40.0], [3.0, -40.0], [60.0, 3.0]]]
    y = np.full(303, -1)
    y[[0, 150]] = 0, 1
    classifier = lg.GCNClassifier(graph="knn", **CHEAP).fit(points, y)
    assert classifier.suggest(10).max() < 300


@settings(max_examples=12, deadline=None)
@given(strategies.tables(min_rows=5), st.integers(1, 5))
def test_first_rows_of_generated_tables(case: strategies.TableCase, k: int) -> None:
    rows = first_rows(case.frame, k, graph="hypergraph")
    assert len(set(rows.tolist())) == k and rows.max() < len(case.frame)


# --- the first labels -------------------------------------------------------------------------


def test_first_rows_find_the_classes() -> None:
    spiral = lg.datasets.load_spiral(100, random_state=0)
    assert len(set(spiral.target[first_rows(spiral.data, 5)])) == 5
    data = load_digits()
    assert len(set(data.target[first_rows(data.data, 20)])) == 10  # nine by chance


def test_first_rows_with_labels_of_one_class() -> None:
    spiral = lg.datasets.load_spiral(100, random_state=0)
    orb = np.flatnonzero(spiral.target == 2)
    rows = first_rows(spiral.data, 4, labelled=orb[::5])
    assert not np.isin(rows, orb).any()
    by_mask = first_rows(spiral.data, 4, labelled=np.isin(np.arange(500), orb[::5]))
    assert by_mask.tolist() == rows.tolist()
    with pytest.raises(ValueError, match="k: expected at most 500"):
        first_rows(spiral.data, 501)
    with pytest.raises(ValueError, match="graph"):
        first_rows(spiral.data, 5, graph="spiral")


def test_suggestions_find_unknown_classes() -> None:
    """With labels of two orbs of five, predictions are confident but far from labels elsewhere."""
    spiral = lg.datasets.load_spiral(100, random_state=0)
    seen = []
    for seed in range(6):
        start = np.random.default_rng(seed).choice(
            200, 2, replace=False
        )  # rows of the first two orbs
        y = np.full(500, -1)
        y[start] = 0, 1
        classifier = lg.GCNClassifier(rank=20, **CHEAP).fit(spiral.data, y)
        rows = classifier.suggest(5)
        seen.append(len({*spiral.target[start], *spiral.target[rows]}))
    assert np.mean(seen) >= 3.5


# --- what it gains ----------------------------------------------------------------------------


def test_twenty_suggested_digits_beat_forty_random_ones() -> None:
    data = load_digits()
    graph = lg.AdjacencyGraph.knn(data.data, 10)

    def fit(labelled: Any) -> lg.GCNClassifier:
        y = np.full(len(data.target), -1)
        y[labelled] = data.target[labelled]
        return lg.GCNClassifier(graph=graph, **CHEAP).fit(data.data, y)

    gains = []
    for seed in range(3):
        generator = np.random.default_rng(seed)
        apart = generator.random(len(data.target)) < 0.5
        pool = generator.permutation(np.flatnonzero(~apart))
        start = np.array([pool[data.target[pool] == digit][0] for digit in range(10)])
        suggested = np.r_[start, fit(start).suggest(10, among=~apart)]
        rest = pool[~np.isin(pool, start)]
        right = [
            (fit(labelled).transduction_[apart] == data.target[apart]).mean()
            for labelled in (suggested, np.r_[start, rest[:30]])
        ]
        gains.append(right[0] - right[1])
    assert np.mean(gains) > 0


def test_memory_is_linear_in_the_rows() -> None:
    codes = np.random.default_rng(0).integers(0, 4, size=(50_000, 6)) + 4 * np.arange(6)
    laplacian = lg.Laplacian(lg.Hypergraph.from_codes(codes, 24))
    rows = suggest(laplacian, None, np.array([0, 1]), 20)
    assert len(set(rows.tolist())) == 20
