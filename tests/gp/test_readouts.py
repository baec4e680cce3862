"""Class shares, prediction sets and suggestions beside brute force."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lowrankgcn.gp import suggestion
from lowrankgcn.gp.blocks import RadialBlock
from lowrankgcn.gp.conformal import prediction_sets
from lowrankgcn.gp.likelihood import CONSTANT
from lowrankgcn.gp.process import GaussianProcess
from lowrankgcn.gp.shares import apply_factors, share_factors
from lowrankgcn.gp.suggestion import choose_rows, entropy
from tests.support.oracles import reference_gp as reference


def distributions(seed: int, n: int, n_classes: int) -> np.ndarray:
    return np.random.default_rng(seed).dirichlet(np.full(n_classes, 0.5), n)


@given(st.integers(0, 99), st.integers(1, 8), st.lists(st.integers(1, 3), min_size=2, max_size=5))
def test_factors_of_class_shares(seed: int, n: int, counts: list[int]) -> None:
    classes = np.repeat(np.arange(len(counts)), counts)
    shares = distributions(seed, n, len(counts))
    factors = share_factors(shares, classes)
    np.testing.assert_allclose(factors, reference.share_factors(shares, classes.tolist()))
    np.testing.assert_allclose(apply_factors(shares, factors).sum(axis=1), 1.0)


def test_random_labels_are_trusted_more_than_balanced_ones() -> None:
    shares = np.repeat([[0.9, 0.1], [0.1, 0.9]], [95, 5], axis=0)
    balanced = share_factors(shares, np.array([0, 0, 0, 1, 1, 1]))
    sampled = share_factors(shares, np.array([0, 0, 0, 0, 0, 1]))
    assert balanced[0] / balanced[1] > 2 * sampled[0] / sampled[1] > 1
    many = share_factors(shares, np.repeat([0, 1], [60, 40]))
    assert 1 < many[0] / many[1] < 1.3  # hardly a draw by class
    before, after = (share_factors(shares, np.repeat([0, 1], n)) for n in ([3, 3], [4, 3]))
    np.testing.assert_allclose(before, after, rtol=0.4)  # one label more changes little
    even = share_factors(np.full((5, 2), 0.5), np.array([0, 1]))
    np.testing.assert_allclose(even, 1.0)
    certain = share_factors(np.array([[1.0, 0.0]] * 9), np.array([0, 1]))
    assert np.isfinite(certain).all() and (certain > 0).all()


def test_a_class_with_one_label_gains_no_share() -> None:
    """Unlike the classes with ten labels, it was hard to find."""
    shares = np.tile([0.25, 0.15, 0.6], (50, 1))
    factors = share_factors(shares, np.repeat([0, 1, 2], [10, 10, 1]))
    assert factors[2] <= 1 < factors[0]


@given(st.integers(0, 99), st.integers(2, 30), st.floats(0.01, 0.999))
def test_prediction_sets(seed: int, m: int, level: float) -> None:
    held_out, new = distributions(seed, m, 3), distributions(seed + 100, 6, 3)
    classes = np.arange(m) % 3
    sets = prediction_sets(new, held_out, classes, level)
    expected = reference.conformal_sets(new, held_out, classes.tolist(), level)
    assert [set(np.flatnonzero(row).tolist()) for row in sets] == expected
    assert sets.any(axis=1).all()
    assert (sets <= prediction_sets(new, held_out, classes, (1 + level) / 2)).all()


def test_prediction_sets_cover() -> None:
    generator = np.random.default_rng(0)
    shares = distributions(1, 4000, 4)
    truth = np.array([generator.choice(4, p=own) for own in shares])
    for level in (0.8, 0.9):
        sets = prediction_sets(shares[400:], shares[:400], truth[:400], level)
        covered = sets[np.arange(3600), truth[400:]].mean()
        assert abs(covered - level) < 0.04


def process(points: np.ndarray, labelled: list[int]) -> GaussianProcess:
    block = RadialBlock.fit("radial", "standard", points, 2.0)
    rows = block.represent({"standard": points[labelled]})
    empty = np.zeros((len(labelled), 2))
    index = np.arange(len(labelled))
    return GaussianProcess((block,), np.array([3.0]), (rows,), index, empty, 1.0, np.ones(2))


@pytest.mark.parametrize("labelled", [[], [0], [0, 7, 9]])
def test_suggestions_by_brute_force(labelled: list[int]) -> None:
    generator = np.random.default_rng(len(labelled))
    points = generator.normal(size=(25, 2))
    fitted, weights = process(points, labelled), generator.random(25)
    every = fitted.represent({"standard": points})
    candidates = np.setdiff1d(np.arange(3, 25), labelled)
    found = choose_rows(fitted, {"standard": points}, weights, candidates, 5, random_state=0)
    K = fitted.kernel(every, every)
    np.testing.assert_allclose(K.diagonal(), CONSTANT + 3.0)
    expected = reference.greedy_rows(K - CONSTANT, labelled, weights + 1e-9, candidates.tolist(), 5)
    assert found.tolist() == expected


def test_suggestions_from_a_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suggestion, "_POOL", 8)
    points = np.random.default_rng(0).normal(size=(60, 2))
    views = {"standard": points}
    candidates = np.arange(20, 60)
    found = choose_rows(process(points, [0]), views, np.ones(60), candidates, 6, random_state=1)
    assert len(set(found.tolist())) == 6 and set(found.tolist()) <= set(candidates.tolist())
    every = choose_rows(process(points, [0]), views, np.zeros(60), candidates, 40, random_state=1)
    assert sorted(every.tolist()) == candidates.tolist()


def test_duplicates_are_suggested_once() -> None:
    points = np.repeat([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0]], 5, axis=0)
    rows = choose_rows(
        process(points, []), {"standard": points}, np.ones(15), np.arange(15), 3, random_state=0
    )
    assert sorted(rows // 5) == [0, 1, 2]


def test_copies_of_labelled_rows_are_not_suggested() -> None:
    points = np.repeat([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0]], 5, axis=0)
    views, weights = {"standard": points}, np.repeat([9.0, 1.0, 1.0], 5)
    rows = choose_rows(process(points, [0]), views, weights, np.arange(1, 15), 2, random_state=0)
    assert sorted(rows // 5) == [1, 2]


def test_entropy_of_certain_rows() -> None:
    np.testing.assert_allclose(
        entropy(np.array([[1.0, 0.0], [0.25, 0.75]])), [0.0, 0.562], atol=1e-3
    )
