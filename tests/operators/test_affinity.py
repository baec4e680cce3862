"""Affinities and the sampled rows on which errors of fast sums are measured."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from lowrankgcn.operators import MatrixOperator
from lowrankgcn.operators.affinity import Affinity, ExactRows
from lowrankgcn.operators.gaussian_sums import GaussianBlocks, PointCloud
from tests.support.contracts.operator_contract import block


def test_exact_without_reference_rows() -> None:
    operator = MatrixOperator(np.ones((3, 3)))
    plain = Affinity(operator, np.ones(3), np.full(3, 2.0))
    assert plain.exact
    assert (plain.error, plain.method) == (0.0, "exact")
    assert not Affinity(operator, np.ones(3), np.full(3, 2.0), 1e-3, "fast", operator).exact


def sample_rows(scale: np.ndarray, seed: int) -> ExactRows:
    cloud = PointCloud.from_points(np.zeros((len(scale), 1)), 1.0)
    return ExactRows.sample(GaussianBlocks(cloud), scale, seed)


@given(
    scales=st.lists(st.floats(0, 1e200), min_size=1, max_size=60),
    seed=st.integers(0, 5),
)
def test_rows_are_distinct_and_contain_the_lowest_degrees(scales: list[float], seed: int) -> None:
    scale = np.array(scales)
    rows = sample_rows(scale, seed)
    index, risky = rows.index, rows.index[: rows.n_always]
    assert len(np.unique(index)) == len(index)
    assert ((index >= 0) & (index < len(scale))).all()
    others = np.delete(scale, risky)
    assert others.max(initial=0.0) <= scale[risky].min()
    assert_array_equal(index, sample_rows(scale, seed).index)


def test_number_of_rows() -> None:
    for n in (1, 7, 9, 40, 2100, 10**6):
        rows = sample_rows(np.ones(n), 0)
        assert rows.n_always == min(8, n)
        # Up to eight of those drawn may be among the risky ones.
        assert min(n, 8) <= len(rows.index) <= 40


def test_extrapolation_is_exact_for_all_rows_and_for_equal_rows() -> None:
    squares = block(20, 3) ** 2
    blocks = GaussianBlocks(PointCloud.from_points(block(20, 2), 1.0))
    for n_always in (8, 20):
        rows = ExactRows(blocks, np.arange(20), n_always)
        assert_allclose(rows.estimate_total(squares), squares.sum(axis=0))
    few = ExactRows(blocks, np.arange(13), 8)
    assert_allclose(few.estimate_total(np.ones((13, 2))), [20.0, 20.0])


def test_extrapolation_is_right_on_average() -> None:
    squares = block(500, 1) ** 2
    scale = np.arange(500.0)
    totals = []
    for seed in range(300):
        rows = sample_rows(scale, seed)
        totals.append(rows.estimate_total(squares[rows.index])[0])
    assert_allclose(np.mean(totals), squares.sum(), rtol=0.05)
