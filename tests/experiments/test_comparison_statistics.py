"""Intervals and ranks beside SciPy's."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import rankdata, ttest_1samp

from lowrankgcn.experiments.comparison.statistics import interval, mean_ranks

accuracies = st.lists(st.integers(0, 1000).map(lambda k: k / 1000), min_size=2, max_size=30)


@given(accuracies)
def test_interval_is_that_of_the_t_test(values: list[float]) -> None:
    mean, half = interval(values)
    assert mean == pytest.approx(np.mean(values))
    if np.std(values) < 1e-12:
        assert half == pytest.approx(0, abs=1e-9)
        return
    expected = ttest_1samp(values, 0.0).confidence_interval(0.95)
    assert (mean - half, mean + half) == pytest.approx((expected.low, expected.high))


def test_interval_of_few_values() -> None:
    assert interval([0.5, math.nan]) == (0.5, pytest.approx(math.nan, nan_ok=True))
    assert all(map(math.isnan, interval([math.nan])))
    assert interval([0.1, math.nan, 0.3]) == interval([0.1, 0.3])


@given(st.integers(1, 6), st.integers(1, 6), st.randoms(use_true_random=False))
def test_ranks_are_scipys(splits: int, methods: int, random) -> None:
    values = np.array([[random.randint(0, 3) / 3 for _ in range(methods)] for _ in range(splits)])
    expected = np.mean([rankdata(-row, method="average") for row in values], axis=0)
    assert mean_ranks(values) == pytest.approx(expected)
    assert mean_ranks(values).sum() == pytest.approx(methods * (methods + 1) / 2)


def test_failures_rank_last() -> None:
    assert mean_ranks([[math.nan, 0.0, 1.0], [0.5, math.nan, math.nan]]).tolist() == [2, 2.25, 1.75]
