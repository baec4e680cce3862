"""The table oracle against tables worked out by hand, and against pandas and NumPy."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.cases import strategies
from tests.support.oracles import reference
from tests.support.oracles.reference_tables import (
    MISSING,
    bin_numbers,
    cut_points,
    is_missing,
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


def test_min_count() -> None:
    kept = {("colour", "red"): {0, 1, 4}, ("size", "L"): {1, 2, 3}}
    assert rows_by_value(min_count=2) == rows_by_value(min_count=3, missing="edge") == kept
    assert rows_by_value(min_count=4) == {}


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


def test_values_of_different_type_differ() -> None:
    cells = [True, 1, 1.0, "1", math.nan, None]
    rows = [edge.rows for edge in table_hyperedges({"x": cells})]
    assert rows == [{0}, {1, 2}, {3}]


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


def test_bins_none_and_bins_per_column() -> None:
    table = {"x": [1, 1, 2, 3], "y": [1, 2, 3, 4]}
    every = table_hyperedges(table, numeric=["x", "y"], bins=None)
    assert [edge.value for edge in every] == [1, 2, 3, 1, 2, 3, 4]
    some = table_hyperedges(table, numeric=["x", "y"], bins={"x": 2, "y": 4})
    assert [len(edge.rows) for edge in some] == [2, 2, 1, 1, 1, 1]


_quarters = st.integers(-20, 20).map(lambda i: i / 4)


@given(st.lists(_quarters, min_size=2, max_size=12, unique=True), st.sampled_from([2, 4]))
def test_bins_are_those_of_pandas(cells: list[float], bins: int) -> None:
    column = pd.Series(cells)
    equal_width = pd.cut(column, bins, labels=False)
    assert _partition(bin_numbers(cells, bins, "uniform")) == _partition(equal_width)
    equal_count = pd.qcut(column, bins, labels=False)
    ours = bin_numbers(cells, bins, "quantile", quantiles="linear")
    assert _partition(ours) == _partition(equal_count)


@given(st.lists(_quarters, min_size=1, max_size=12), st.integers(2, 5))
def test_borders_are_order_statistics_or_those_of_numpy(cells: list[float], bins: int) -> None:
    for k, border in enumerate(cut_points(cells, bins, "quantile"), start=1):
        rank = -(-len(cells) * k // bins)
        assert border == sorted(cells)[rank - 1]
    linear = cut_points(cells, bins, "quantile", quantiles="linear")
    np.testing.assert_allclose(
        [float(cut) for cut in linear], np.quantile(cells, np.arange(1, bins) / bins), atol=1e-12
    )


def _partition(labels: Any) -> list[int]:
    values = list(labels)
    return [values.index(value) for value in values]


def test_cars_from_its_columns() -> None:
    sizes = (4, 4, 4, 3, 3, 3)
    rows = list(itertools.product(*map(range, sizes)))
    columns = {f"c{j}": [row[j] for row in rows] for j in range(6)}
    H, weights = table_incidence(table_hyperedges(columns), len(rows))
    assert H.shape == (1728, 21)
    assert reference.hypergraph_rank(reference.hypergraph(H, weights)) == 16


def test_mushrooms_from_its_columns(mushroom_rows: list[list[str]]) -> None:
    cells = {f"c{j}": [row[j] for row in mushroom_rows] for j in range(1, 23)}
    columns = {name: [None if c == "?" else c for c in column] for name, column in cells.items()}
    assert len(table_hyperedges(columns, missing="drop-column")) == 112
    assert len(table_hyperedges(columns, missing="ignore")) == 116
    assert len(table_hyperedges(columns, missing="edge")) == 117


@pytest.mark.parametrize("missing", [True, False])
@given(data=st.data())
def test_tables_hold_their_raw_cells(missing: bool, data: st.DataObject) -> None:
    case = data.draw(strategies.tables(missing=missing))
    assert list(case.frame.columns) == list(case.columns)
    for name, cells in case.columns.items():
        assert case.frame[name].isna().tolist() == [is_missing(cell) for cell in cells]
        present = [cell for cell in cells if not is_missing(cell)]
        assert case.frame[name].dropna().tolist() == present
        is_number = pd.api.types.is_numeric_dtype(case.frame[name])
        is_bool = pd.api.types.is_bool_dtype(case.frame[name])
        assert (name in case.numeric) == (is_number and not is_bool)
        assert missing or len(present) == len(cells)


@given(strategies.tables(), strategies.table_options())
def test_every_row_has_at_most_one_hyperedge_per_column(case: Any, options: dict[str, Any]) -> None:
    found = table_hyperedges(case.columns, numeric=case.numeric, **options)
    H, weights = table_incidence(found, len(case.frame))
    assert np.all(weights == 1)
    assert np.all(H.sum(axis=0) >= options["min_count"])
    for name in case.columns:
        mine = H[:, [edge.column == name for edge in found]]
        assert np.all(mine.sum(axis=1) <= 1)
        if options["missing"] == "edge" and options["min_count"] == 1:
            assert np.all(mine.sum(axis=1) == 1)
