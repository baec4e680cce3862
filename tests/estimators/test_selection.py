"""Comparison of candidates: folds, scores and shares, with and without weights."""

from __future__ import annotations

from dataclasses import astuple

import numpy as np
import pytest
from sklearn.datasets import load_iris

import lowrankgcn as lg
from lowrankgcn.estimators.candidates import Candidate
from lowrankgcn.estimators.selection import Score, share_out, stratified_folds

CODES = np.repeat([0, 1, 2], [6, 5, 4])
FOLDS = stratified_folds(CODES, np.random.default_rng(0))


def distributions(seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).dirichlet(np.ones(3), size=FOLDS.shape)


def test_weights_equal_repeated_labels() -> None:
    """A label of weight three is that label three times."""
    weights = np.random.default_rng(1).integers(1, 4, len(CODES)).astype(float)
    shares = distributions()
    score = Score.from_held_out(shares, FOLDS, CODES, weights)
    times = weights.astype(int)
    repeated = Score.from_held_out(
        np.repeat(shares, times, axis=1), np.repeat(FOLDS, times, axis=1), np.repeat(CODES, times)
    )
    assert score.loss == pytest.approx(repeated.loss, rel=1e-12)
    assert score.accuracy == pytest.approx(repeated.accuracy, rel=1e-12)
    assert score.deviation == pytest.approx(repeated.deviation, rel=1e-12)


def test_scaling_all_weights_has_no_effect() -> None:
    shares, weights = distributions(), np.linspace(1.0, 2.0, len(CODES))
    one, other = (
        Score.from_held_out(shares, FOLDS, CODES, unit * weights) for unit in (1.0, 1e250)
    )
    assert one.loss == pytest.approx(other.loss) and one.count == pytest.approx(other.count)
    equal = Score.from_held_out(shares, FOLDS, CODES, np.full(len(CODES), 7.0))
    assert astuple(equal) == pytest.approx(
        astuple(Score.from_held_out(shares, FOLDS, CODES)), rel=1e-12
    )
    assert equal.count == len(CODES) > one.count > 0.9 * len(CODES)


def test_labels_of_weight_zero_are_never_held_out() -> None:
    weights = np.ones(len(CODES))
    weights[[0, 1, 2, 3, 6, 14]] = 0.0
    folds = stratified_folds(CODES, np.random.default_rng(0), weights=weights)
    assert not folds[:, weights == 0].any()
    # Two labels of the first class are left: one of them stays in every fold.
    assert (folds[:, [4, 5]].sum(axis=1) <= 1).all()
    weights[:] = 0.0
    weights[[0, 6]] = 1.0
    assert len(stratified_folds(CODES, np.random.default_rng(0), weights=weights)) == 0


def test_shares_follow_the_weighted_loss() -> None:
    candidates = [Candidate("full", (), ()), Candidate("full", (), (8,))]
    scores = [Score(0.5, 0.8, 0.0, 10.0), Score(1.0, 0.6, 0.0, 10.0)]
    shares = share_out(candidates, scores, best=False)
    assert shares[0] / shares[1] == pytest.approx(np.exp(0.3 * 10.0 * 0.5))
    assert share_out(candidates, [Score.unknown()] * 2, best=False).tolist() == [0.5, 0.5]


def test_weights_affect_the_selection() -> None:
    """Wrong labels of hardly any weight change the scores as little as they change the networks."""
    iris = load_iris()
    generator = np.random.default_rng(0)
    y = np.where(generator.random(150) < 0.3, iris.target, -1)
    wrong = np.flatnonzero(y >= 0)[::3]
    y[wrong] = generator.permutation(y[wrong])
    weights = np.ones(150)
    weights[wrong] = 1e-6
    options = {"random_state": 0, "n_restarts": 1, "max_iter": 60}
    plain = lg.GCNClassifier(**options).fit(iris.data, y)
    weighted = lg.GCNClassifier(**options).fit(iris.data, y, sample_weight=weights)
    best = weighted.selection_.best
    assert best["cv_accuracy"] > 0.9 > plain.selection_.best["cv_accuracy"]
    assert best["cv_loss"] < 0.5 * plain.selection_.best["cv_loss"]


def test_few_labels_with_a_weight_are_enough() -> None:
    iris = load_iris()
    weights = np.zeros(150)
    weights[[0, 60, 61, 120]] = 1.0
    classifier = lg.GCNClassifier(random_state=0, n_restarts=1, max_iter=40)
    classifier.fit(iris.data, iris.target, sample_weight=weights)
    assert (classifier.transduction_ == iris.target).mean() > 0.8
