"""Rows that come later: placed without a new fit, much as a new fit would place them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_wine

import lowrankgcn as lg
from tests.support.cases.few_labels import ten_labels_per_class

# Up to three per cent of 500 rows differ between two fits. The standard deviation of that share is
# 0.008 for one split of the rows.
_HELD_OUT = 500
_SAMPLING = 0.025


def take(rows: Any, index: np.ndarray) -> Any:
    return rows.iloc[index] if isinstance(rows, pd.DataFrame) else rows[index]


def agreement_with_a_refit(
    rows: Any, classes: np.ndarray, *, splits: int = 2, **options: Any
) -> tuple[float, float]:
    """Share of rows to which two classifiers, fitted without and with the rows held out, agree.

    The first share is that of the rows held out, the second that of the rows in both fits.
    """
    shares = []
    for seed in range(splits):
        order = np.random.default_rng(seed).permutation(len(classes))
        new, old = np.sort(order[:_HELD_OUT]), np.sort(order[_HELD_OUT:])
        labels = np.full(len(classes), -1)
        labels[old] = ten_labels_per_class(classes[old], seed)
        early = lg.GCNClassifier(random_state=0, **options).fit(take(rows, old), labels[old])
        late = lg.GCNClassifier(random_state=0, **options).fit(rows, labels)
        same_new = early.predict(take(rows, new)) == late.transduction_[new]
        same_old = early.transduction_ == late.transduction_[old]
        shares.append((same_new.mean(), same_old.mean()))
    new_share, old_share = np.mean(shares, axis=0)
    return float(new_share), float(old_share)


_LOW_RANK: dict[str, Any] = {"architecture": "low-rank", "filter": "pseudoinverse"}


@pytest.mark.parametrize("options", [_LOW_RANK | {"rank": 10, "bandwidth": 3.5}, {"splits": 1}])
def test_points_agree_with_a_refit(options: dict[str, Any]) -> None:
    spiral = lg.datasets.load_spiral(500)
    new, old = agreement_with_a_refit(spiral.data, spiral.target, **options)
    assert new >= old - _SAMPLING
    assert new >= 0.98


@pytest.mark.parametrize(("options", "least"), [(_LOW_RANK | {"rank": 20}, 0.98), ({}, 0.95)])
def test_mushrooms_agree_with_a_refit(
    mushroom_rows: list[list[str]], options: dict[str, Any], least: float
) -> None:
    raw = pd.DataFrame(mushroom_rows).sample(2500, random_state=0)
    table = raw.drop(columns=[0, 11]).rename(columns=str)
    classes = (raw[0] == "p").to_numpy().astype(int)
    new, old = agreement_with_a_refit(table, classes, **options)
    assert new >= old - _SAMPLING
    assert new >= least


def test_cars_agree_with_a_refit() -> None:
    cars = lg.datasets.load_cars(as_frame=True)
    new, old = agreement_with_a_refit(cars.data, cars.target.to_numpy())
    assert new >= old - _SAMPLING
    assert new >= 0.97


@pytest.fixture(scope="module", params=["points", "table", "neighbours"])
def fitted(request: pytest.FixtureRequest) -> tuple[lg.GCNClassifier, Any]:
    """A classifier and its rows, on a Gaussian graph, a hypergraph and a graph of neighbours."""
    if request.param == "table":
        cars = lg.datasets.load_cars(as_frame=True)
        rows, classes = cars.data, cars.target.to_numpy()
    elif request.param == "points":
        spiral = lg.datasets.load_spiral(200)
        rows, classes = spiral.data, spiral.target
    else:
        wine = load_wine()
        rows, classes = wine.data, wine.target
    classifier = lg.GCNClassifier(random_state=0)
    return classifier.fit(rows, ten_labels_per_class(classes, 0)), rows


def test_rows_do_not_depend_on_each_other(fitted: tuple[lg.GCNClassifier, Any]) -> None:
    classifier, rows = fitted
    index = np.arange(0, len(rows), max(1, len(rows) // 40))
    together = classifier.predict_proba(take(rows, index))
    alone = [classifier.predict_proba(take(rows, index[i : i + 1]))[0] for i in range(len(index))]
    # The same sums in another order: rounding of single precision.
    np.testing.assert_allclose(np.array(alone), together, atol=1e-5)
    backwards = classifier.predict_proba(take(rows, index[::-1]))
    np.testing.assert_allclose(backwards[::-1], together, atol=1e-5)
    assert (classifier.predict(take(rows, index)) == classifier.classes_[together.argmax(1)]).all()


def test_fitted_rows_as_new_rows(fitted: tuple[lg.GCNClassifier, Any]) -> None:
    classifier, rows = fitted
    same = (classifier.predict(rows) == classifier.transduction_).mean()
    if isinstance(classifier.graph_, lg.Hypergraph):
        # Joined through the same hyperedges, a copy of a row is that row.
        shares = classifier.predict_proba(rows)
        np.testing.assert_allclose(shares, classifier.label_distributions_, atol=1e-3)
        assert same >= 0.999
    elif isinstance(classifier.graph_, lg.GaussianGraph):
        # A copy of a point is joined to the point itself, which has no loop.
        assert same >= 0.99
    else:
        # Among ten neighbours that edge weighs more.
        assert same >= 0.97
