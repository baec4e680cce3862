"""Hashes of rows, which journals of earlier versions contain."""

from __future__ import annotations

import datetime

import pandas as pd
import pyarrow as pa

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
