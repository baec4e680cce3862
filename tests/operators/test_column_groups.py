"""Products of rows of codes do not depend on the other rows."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lowrankgcn.operators.column_groups import product_of_rows
from tests.operator_contract import close

MANY = 5000  # rows that are worth tables of joint values


def table(sizes: list[int], n: int, seed: int) -> tuple[np.ndarray, dict[int, np.ndarray], int]:
    """Codes of columns with so many values, |E| for none, with the levels of the columns."""
    rng = np.random.default_rng(seed)
    ends = np.cumsum([0, *sizes])
    total = int(ends[-1])
    levels = {j: np.append(np.arange(a, b), total) for j, (a, b) in enumerate(pairwise(ends))}
    codes = np.column_stack([rng.choice(ids, n) for ids in levels.values()])
    return codes.astype(np.min_scalar_type(total)), levels, total


@settings(max_examples=20)
@given(
    sizes=st.lists(st.integers(0, 9), min_size=1, max_size=12),
    k=st.integers(1, 5),
    seed=st.integers(0, 9),
)
def test_rows_do_not_depend_on_the_other_rows(sizes: list[int], k: int, seed: int) -> None:
    codes, levels, total = table(sizes, MANY, seed)
    V = np.random.default_rng(seed + 1).normal(size=(total, k))
    product = product_of_rows(codes, levels, V)
    padded = np.vstack([V, np.zeros(k)])
    close(product, padded[codes].sum(axis=1))
    close(product_of_rows(codes[:1], levels, V), product[:1])
    close(product_of_rows(codes[7:100], levels, V), product[7:100])
    close(product_of_rows(codes[:4500], levels, V), product[:4500])


@pytest.mark.parametrize("n", [0, 1, MANY])
def test_a_column_of_many_values(n: int) -> None:
    codes, levels, total = table([2000, 3], n, 0)
    V = np.random.default_rng(1).normal(size=(total, 2))
    padded = np.vstack([V, np.zeros(2)])
    expected = padded[codes[:, 0]] + padded[codes[:, 1]]
    close(product_of_rows(codes, levels, V), expected)
