"""Affinities and the sampled rows on which errors of fast sums are measured."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from lowrankgcn.operators import DenseOperator
from lowrankgcn.operators.affinity import Affinity, sample_rows
from lowrankgcn.operators.gaussian import extrapolate
from tests.operator_contract import block


def test_exact_without_reference_rows() -> None:
    operator = DenseOperator(np.ones((3, 3)))
    plain = Affinity(operator, np.ones(3), np.full(3, 2.0))
    assert plain.exact
    assert (plain.error, plain.method) == (0.0, "exact")
    assert not Affinity(operator, np.ones(3), np.full(3, 2.0), 1e-3, "fast", operator).exact


@given(
    scales=st.lists(st.floats(0, 1e200), min_size=1, max_size=60),
    seed=st.integers(0, 5),
)
def test_rows_are_distinct_and_contain_the_lowest_degrees(scales: list[float], seed: int) -> None:
    scale = np.array(scales)
    risky, drawn = sample_rows(scale, seed)
    index = np.concatenate([risky, drawn])
    assert len(np.unique(index)) == len(index)
    assert ((index >= 0) & (index < len(scale))).all()
    others = np.delete(scale, risky)
    assert others.max(initial=0.0) <= scale[risky].min()
    for one, two in zip((risky, drawn), sample_rows(scale, seed), strict=True):
        assert_array_equal(one, two)


def test_number_of_rows() -> None:
    for n in (1, 7, 9, 40, 2100, 10**6):
        risky, drawn = sample_rows(np.ones(n), 0)
        assert len(risky) == min(8, n)
        # Up to eight of those drawn may be among the risky ones.
        assert min(n, 8) - 8 <= len(drawn) <= 32
        assert len(risky) + len(drawn) >= min(n, 8)


def test_extrapolation_is_exact_for_all_rows_and_for_equal_rows() -> None:
    squares = block(20, 3) ** 2
    assert_allclose(extrapolate(squares, 8, 20), squares.sum(axis=0))
    assert_allclose(extrapolate(squares, 20, 20), squares.sum(axis=0))
    assert_allclose(extrapolate(np.ones((13, 2)), 8, 1000), [1000.0, 1000.0])


def test_extrapolation_is_right_on_average() -> None:
    squares = block(500, 1) ** 2
    scale = np.arange(500.0)
    totals = []
    for seed in range(300):
        risky, drawn = sample_rows(scale, seed)
        totals.append(extrapolate(squares[np.concatenate([risky, drawn])], len(risky), 500)[0])
    assert_allclose(np.mean(totals), squares.sum(), rtol=0.05)
