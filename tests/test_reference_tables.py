"""The table oracle against tables worked out by hand, and against pandas and NumPy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from tests.support.oracles.reference_tables import (
    MISSING,
    bin_numbers,
    cut_points,
    node_sets,
    table_hyperedges,
    table_incidence,
)

COLOURS = {
    "colour": ["red", "red", "blue", None, "red"],
    "size": ["S", "L", "L", "L", "M"],
}


def rows_by_value(**options: Any) -> dict[tuple[str, Any], set[int]]:
    found = table_hyperedges(COLOURS, **options)
    return {(edge.column, edge.value): set(edge.rows) for edge in found}


SIZES = {("size", "S"): {0}, ("size", "L"): {1, 2, 3}, ("size", "M"): {4}}
RED_BLUE = {("colour", "red"): {0, 1, 4}, ("colour", "blue"): {2}}


def test_missing_cells() -> None:
    assert rows_by_value() == RED_BLUE | SIZES
    assert rows_by_value(missing="edge") == RED_BLUE | {("colour", MISSING): {3}} | SIZES
    assert rows_by_value(missing="drop-column") == SIZES


def test_incidence_and_weights() -> None:
    found = table_hyperedges(COLOURS, column_weights={"size": 2.5})
    H, weights = table_incidence(found, 5)
    assert H.tolist() == [
        [1, 0, 1, 0, 0],
        [1, 0, 0, 1, 0],
        [0, 1, 0, 1, 0],
        [0, 0, 0, 1, 0],
        [1, 0, 0, 0, 1],
    ]
    assert weights.tolist() == [1, 1, 2.5, 2.5, 2.5]
    shuffled = [3, 0, 4, 2, 1]
    assert node_sets(H, weights) == node_sets(H[:, shuffled], weights[shuffled])
    assert node_sets(H, weights) != node_sets(H, np.ones(5))


def test_bins_by_hand() -> None:
    cells = [0, 1, 2, 3, None, 10]
    assert bin_numbers(cells, 2, "quantile") == [0, 0, 0, 1, None, 1]  # the median 2 is a border
    assert bin_numbers(cells, 2, "quantile", closed="left") == [0, 0, 1, 1, None, 1]
    assert bin_numbers(cells, 5, "uniform") == [0, 0, 0, 1, None, 4]
    assert bin_numbers(cells, 5, "uniform", closed="left") == [0, 0, 1, 1, None, 4]
    assert bin_numbers([7.0, 7.0], 3, "uniform") == [0, 0]
    assert bin_numbers([None, math.nan], 3, "quantile") == [None, None]
    assert len(set(bin_numbers([0, 0, 0, 0, 9], 4, "quantile"))) == 2
    assert cut_points([1, 2, 5, 9], 2, "quantile") == [2]
    assert cut_points([1, 2, 5, 9], 2, "quantile", quantiles="linear") == [3.5]


def test_few_numbers_are_kept_apart() -> None:
    def sizes(cells: list[float], bins: int, **options: Any) -> list[int]:
        found = table_hyperedges({"x": cells}, numeric=["x"], bins=bins, **options)
        return [len(edge.rows) for edge in found]

    whole, halves = [1, 1, 1, 1, 2, 3], [0.5, 0.5, 0.5, 0.5, 0.75, 3.0]
    assert sizes(whole, 3) == sizes(halves, 3) == sizes(whole, 3, binning="uniform") == [4, 1, 1]
    assert sizes(whole, 3, keep_few=False) == [4, 2]  # borders 1 and 1
    assert sizes(halves, 3, binning="uniform") == [5, 1]
    assert sizes(whole, 2) == [4, 2]


_quarters = st.integers(-20, 20).map(lambda i: i / 4)


@given(st.lists(_quarters, min_size=2, max_size=12, unique=True), st.sampled_from([2, 4]))
def test_bins_are_those_of_pandas(cells: list[float], bins: int) -> None:
    column = pd.Series(cells)
    equal_width = pd.cut(column, bins, labels=False)
    assert _partition(bin_numbers(cells, bins, "uniform")) == _partition(equal_width)
    equal_count = pd.qcut(column, bins, labels=False)
    ours = bin_numbers(cells, bins, "quantile", quantiles="linear")
    assert _partition(ours) == _partition(equal_count)


def _partition(labels: Any) -> list[int]:
    values = list(labels)
    return [values.index(value) for value in values]
