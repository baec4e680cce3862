"""Hashes of rows, which journals of earlier versions contain."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from lowrankgcn.files.row_matching import RowMatcher


def test_hashes_do_not_change() -> None:
    columns = {
        "text": pa.array(["é", " 5 ", "1_000", None]),
        "number": pa.array([1.5, float("nan"), -0.0, 1e-7]),
        "count": pa.array([1, None, 2**60, 4]),
        "truth": pa.array([True, False, None, True]),
        "day": pa.array([datetime.date(2020, 1, 2)] * 4),
        "vector": pa.array([[1.0, 2.0], None, [], [3.0]]),
        "empty": pa.nulls(4),
    }
    frame = pa.table(columns).to_pandas(types_mapper=pd.ArrowDtype)
    expected = ["589f0ee3f4e6", "61f75ac1f2de", "ecc627928ba8", "0c310854e3c8"]
    assert RowMatcher(frame, "class").hashes(range(4)) == expected
    pieces = pd.concat([frame[:1], frame[1:]])
    assert RowMatcher(pieces, "class").hashes([3, 1]) == [expected[3], expected[1]]
    assert len(set(RowMatcher(frame[[]], "class").hashes(range(4)))) == 1


def _found(
    before: pd.DataFrame, rows: list[int], now: pd.DataFrame, **options: Any
) -> list[int | None]:
    old = RowMatcher(before, "class")
    marks = old.hashes(rows), old.column_hashes(rows)
    return RowMatcher(now, "class", **options).find(rows, *marks)[0]


def test_rows_are_found_by_the_columns_that_both_tables_have() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(50, 3)).round(2), columns=["a", "b", "c"])
    frame["id"] = [f"r{k}" for k in range(50)]
    frame["class"] = None
    order = rng.permutation(50)
    rows = [3, 17, 40, 41]
    expected = [int(np.flatnonzero(order == row)[0]) for row in rows]
    for now in (
        frame.assign(new=1),
        frame.drop(columns="b"),
        frame.drop(columns=["a", "id"]).assign(new="x"),
        frame.assign(a=frame["a"] * 2 + 1),  # a column in other units
    ):
        assert _found(frame, rows, now) == rows
        assert _found(frame, rows, now.iloc[order].reset_index(drop=True)) == expected
    wide = pd.DataFrame(rng.integers(2, size=(50, 100))).add_prefix("zero")
    wide = pd.concat([wide, frame], axis=1)
    fewer = wide.drop(columns=["a", "zero0"]).iloc[order].reset_index(drop=True)
    assert _found(wide, rows, fewer) == expected
    gone = frame.drop(index=17).drop(columns="a").reset_index(drop=True)
    assert _found(frame, rows, gone) == [3, None, 39, 40]


def test_rows_that_cannot_be_found_are_refused_with_ways_out() -> None:
    frame = pd.DataFrame({"id": range(8), "sex": list("fmfmfmfm"), "class": None})
    turned = frame.iloc[::-1].reset_index(drop=True).assign(size=range(8))
    rows = [0, 1, 6]
    for now in (turned.drop(columns="id"), turned[["size", "class"]]):
        with pytest.raises(ValueError, match=r"--key .* --by-position"):
            _found(frame, rows, now)
        assert _found(frame, [*rows, 7], now, by_position=True) == [0, 1, 6, 7]
    assert _found(frame, rows, turned.assign(sex="f"), key="id") == [7, 6, 1]
    old = RowMatcher(frame, "class").hashes(rows)  # a journal of an earlier version
    with pytest.raises(ValueError, match="--by-position"):
        RowMatcher(turned, "class").find(rows, old)
    with pytest.raises(ValueError, match="expected a column"):
        RowMatcher(frame, "class", key="name")


def test_labels_before_and_after_a_new_column_are_those_of_one_row() -> None:
    frame = pd.DataFrame({"a": range(10), "class": None})
    before, now = RowMatcher(frame, "class"), RowMatcher(frame.assign(b=1), "class")
    marks = [
        [*one([4]), *two([4])]
        for one, two in ((before.hashes, now.hashes), (before.column_hashes, now.column_hashes))
    ]
    assert now.find([4, 4], *marks) == ([4, 4], [])
