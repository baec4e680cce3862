"""Columns to hyperedges: every kind of column and table, bins, missing cells, odd columns."""

from __future__ import annotations

import datetime
import decimal
import importlib
import pickle
from contextlib import suppress
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import lowrankgcn as lg
from lowrankgcn.tables import Cells, Table, TableEncoder, column_kind
from tests.support.stored.saved_examples import through_json

TABLE = pd.DataFrame(
    {
        "colour": ["red", "blue", "red", None],
        "size": pd.Categorical(["S", "L", "L", "S"], ["S", "M", "L"]),
        "length": [1.5, 7.0, np.nan, 2.5],
    }
)


def names(frame: Any, **options: Any) -> list[str]:
    return list(TableEncoder.fit(frame, **options).hyperedge_names)


def column(cells: Any, **options: Any) -> tuple[list[str], list[int]]:
    """Labels and codes of a table of one column."""
    encoder, codes = TableEncoder.fit_transform(pd.DataFrame({"x": cells}), **options)
    return [name.removeprefix("x=") for name in encoder.hyperedge_names], codes[:, 0].tolist()


# --- kinds of columns -------------------------------------------------------------------------

DAYS = pd.to_datetime(["2020-01-03", None, "2020-01-01", "2020-01-03"])
DATES = [None if pd.isna(day) else day.date() for day in DAYS]
DECIMALS = [decimal.Decimal("0.7"), None, decimal.Decimal(0), decimal.Decimal("0.7")]
SAME_CODES = [1, 2, 0, 1]  # codes of two values, the second cell missing
TWO_VALUES: dict[str, Any] = {
    "str": pd.Series(["b", None, "a", "b"], dtype="str"),
    "string": pd.Series(["b", None, "a", "b"], dtype="string"),
    "object": pd.Series(["b", None, "a", "b"], dtype=object),
    "object with NaN": pd.Series(["b", np.nan, "a", "b"], dtype=object),
    "object with NA": pd.Series(["b", pd.NA, "a", "b"], dtype=object),
    "arrow text": pd.Series(["b", None, "a", "b"], dtype=pd.ArrowDtype(pa.string())),
    "category": pd.Series(pd.Categorical(["b", None, "a", "b"])),
    "category in its own order": pd.Series(pd.Categorical(["a", None, "b", "a"], ["c", "b", "a"])),
    "category of numbers": pd.Series(pd.Categorical([2.5, None, 1.5, 2.5])),
    "boolean": pd.Series([True, None, False, True], dtype="boolean"),
    "object booleans": pd.Series([True, None, False, True], dtype=object),
    "arrow booleans": pd.Series([True, None, False, True], dtype=pd.ArrowDtype(pa.bool_())),
    "Int64": pd.Series([7, None, 5, 7], dtype="Int64"),
    "large Int64": pd.Series([2**62 + 1, None, 2**62, 2**62 + 1], dtype="Int64"),
    "UInt8": pd.Series([7, None, 5, 7], dtype="UInt8"),
    "arrow integers": pd.Series([7, None, 5, 7], dtype=pd.ArrowDtype(pa.int16())),
    "integers read as float": pd.Series([7.0, np.nan, 5.0, 7.0]),
    "float32": pd.Series([0.7, np.nan, 0.5, 0.7], dtype=np.float32),
    "Float64": pd.Series([0.7, None, 0.5, 0.7], dtype="Float64"),
    "object numbers": pd.Series([0.7, None, 0, 0.7], dtype=object),
    "huge integers": pd.Series([3 * 10**40, None, 10**40, 3 * 10**40], dtype=object),
    "integers beyond floats": pd.Series([2 * 10**400, None, 10**400, 2 * 10**400], dtype=object),
    "decimals": pd.Series(
        [decimal.Decimal("0.7"), None, decimal.Decimal(0), decimal.Decimal("0.7")]
    ),
    "arrow decimals": pd.Series(
        [decimal.Decimal("0.7"), None, decimal.Decimal(0), decimal.Decimal("0.7")],
        dtype=pd.ArrowDtype(pa.decimal128(5, 2)),
    ),
    "days": pd.Series(DAYS),
    "days in nanoseconds": pd.Series(DAYS).astype("datetime64[ns]"),
    "days of a time zone": pd.Series(DAYS).dt.tz_localize("Europe/Berlin"),
    "date objects": pd.Series(DATES, dtype=object),
    "arrow dates": pd.Series(DATES, dtype=pd.ArrowDtype(pa.date32())),
    "periods": pd.Series(pd.PeriodIndex(DAYS, freq="D")),
    "time differences": pd.Series(pd.to_timedelta([3, None, 1, 3], unit="h")),
    "object time differences": pd.Series(
        [datetime.timedelta(3), None, datetime.timedelta(1), datetime.timedelta(3)], dtype=object
    ),
    "intervals": pd.cut(pd.Series([2.0, np.nan, 1.0, 2.0]), 2),
    "tuples": pd.Series([(2,), None, (1,), (2,)], dtype=object),
    "text and numbers": pd.Series(["b", None, 3, "b"], dtype=object),
    "bytes": pd.Series([b"b", None, b"a", b"b"], dtype=object),
    "sparse": pd.Series(pd.arrays.SparseArray([1.5, np.nan, 0.5, 1.5])),
}


@pytest.mark.parametrize("binning", ["quantile", "uniform"])
def test_every_kind_of_column(binning: Any) -> None:
    for kind, values in TWO_VALUES.items():
        frame = pd.DataFrame({"x": values})
        encoder, codes = TableEncoder.fit_transform(frame, binning=binning)
        assert codes[:, 0].tolist() == SAME_CODES, kind
        restored = through_json(encoder)
        assert restored == encoder, kind
        assert restored.transform(frame.iloc[[2, 0, 1]]).tolist() == [[0], [1], [2]], kind
        assert encoder.transform(frame.iloc[:0]).shape == (0, 1), kind
        alone = pd.DataFrame({"x": [None, None]}, dtype=object)  # all missing, of another type
        assert encoder.transform(alone).tolist() == [[2], [2]], kind
        with_edge = TableEncoder.fit_transform(frame, missing="edge")
        assert with_edge[1][:, 0].tolist() == SAME_CODES, kind
        assert with_edge[0].hyperedge_names[2] == "x=missing", kind
        left_out = TableEncoder.fit_transform(frame, missing="drop-column")
        assert left_out[1].shape == (4, 0), kind
        assert left_out[0].dropped == ("x",), kind


def test_column_kind_agrees_with_the_cells() -> None:
    for kind, values in TWO_VALUES.items():
        if values.dtype != object:  # the type of Python objects follows from their values
            assert column_kind(values.dtype) == Cells.read(values, "x").kind, kind


KINDS_OF_TABLES: list[tuple[Any, list[str]]] = [
        (np.array([["b", "x"], ["a", "x"]]), ["0=a", "0=b", "1=x"]),
        (np.array([[b"b", b"x"], [b"a", b"x"]]), ["0=a", "0=b", "1=x"]),
        (np.array([["b"], [""]], dtype=np.dtypes.StringDType()), ["0=", "0=b"]),
        (np.array([["b", 2.5], ["a", None]], dtype=object), ["0=a", "0=b", "1=(-inf, inf)"]),
        (np.array([[3, 1], [-1, 1]]), ["0=-1", "0=3", "1=1"]),
        (np.array([[3, 1], [4, 1]], dtype=">i2"), ["0=3", "0=4", "1=1"]),
        (np.array([[True], [False]]), ["0=False", "0=True"]),
        (np.array([[0.5], [1.5]], order="F"), ["0=(-inf, 1]", "0=(1, inf)"]),
        (np.array([["2020-01-01"], ["2020-01-03"]], dtype="M8[D]"),
         ["0=(-inf, 2020-01-02]", "0=(2020-01-02, inf)"]),
        ([["b", 1], ["a", 1]], ["0=a", "0=b", "1=1"]),
        ({"x": ["b", "a"]}, ["x=a", "x=b"]),
        (pd.Series(["b", "a"], name="x"), ["x=a", "x=b"]),
        (pa.table({"x": ["b", "a"]}), ["x=a", "x=b"]),
        (np.array([("b", 1), ("a", 1)], dtype=[("x", "U1"), ("y", "i4")]), ["x=a", "x=b", "y=1"]),
        (np.ma.array([[1, 2], [3, 4]], mask=[[0, 1], [0, 0]]), ["0=1", "0=3", "1=4"]),
        (pd.DataFrame({("a", 1): ["u"], 2: ["v"]}), ["('a', 1)=u", "2=v"]),
]  # fmt: skip


def test_every_kind_of_table() -> None:
    for array, expected in KINDS_OF_TABLES:
        encoder, codes = TableEncoder.fit_transform(array)
        assert list(encoder.hyperedge_names) == expected
        assert (encoder.transform(array) == codes).all()
        assert through_json(encoder) == encoder


def test_order_of_the_hyperedges() -> None:
    assert names(TABLE) == [
        "colour=blue",
        "colour=red",
        "size=S",  # the order of the categories; M does not occur
        "size=L",
        "length=(-inf, 2]",
        "length=(2, 4.75]",
        "length=(4.75, inf)",
    ]
    assert column([10, 9, 2, 10])[0] == ["2", "9", "10"]
    assert column(["10", "9", "2"])[0] == ["10", "2", "9"]
    assert column(["b", 10, "a", 9.5])[0] == ["9.5", "10", "a", "b"]
    assert column([True, False])[0] == ["False", "True"]


# --- bins -------------------------------------------------------------------------------------


def test_quantile_bins_hold_equally_many_rows() -> None:
    values = np.random.default_rng(0).standard_normal(1000)
    labels, codes = column(values, bins=8)
    assert len(labels) == 8
    assert np.bincount(codes).tolist() == [125] * 8


def test_many_bins() -> None:
    values = np.random.default_rng(0).permutation(4000) / 7
    values[7] = np.nan
    labels, codes = column(values, bins=40)
    assert len(labels) == 40
    assert codes[7] == 40
    assert set(np.bincount(codes)[:40].tolist()) <= {99, 100}


def test_equal_numbers_stay_together() -> None:
    labels, codes = column([0.0] * 60 + list(np.arange(1, 41) / 2), bins=5)
    assert np.bincount(codes).tolist() == [60, 20, 20]
    assert labels == ["(-inf, 0]", "(0, 10]", "(10, inf)"]


def test_few_numbers_are_kept_apart() -> None:
    # 99 zeros and one value: all quantiles are 0, yet the rare value is what counts.
    assert column([0.0] * 99 + [0.5])[0] == ["(-inf, 0.25]", "(0.25, inf)"]
    assert column([0] * 99 + [7])[0] == ["0", "7"]
    close = [1.0, np.nextafter(1.0, 2.0)]
    assert column(close)[1] == [0, 1]


def test_uniform_bins_have_equal_width() -> None:
    labels, codes = column([0.0, 1.0, 2.5, 2.6, 10.0, 4.0], bins=4, binning="uniform")
    assert labels == ["(-inf, 2.5]", "(2.5, 5]", "(7.5, inf)"]  # the third bin is empty
    assert codes == [0, 0, 0, 1, 2, 1]
    encoder = TableEncoder.fit(np.array([[0.0], [1.0], [2.5], [2.6], [10.0]]), bins=4,
                               binning="uniform")  # fmt: skip
    assert encoder.transform(np.array([[6.0]])).tolist() == [[encoder.n_hyperedges]]


@pytest.mark.parametrize("binning", ["quantile", "uniform"])
def test_huge_numbers(binning: Any) -> None:
    values = np.array([-1.7e308, -1.0, 0.5, 1.0, 2.0, 3.5, 1.7e308])
    labels, codes = column(values, bins=3, binning=binning)
    assert len(labels) == 3
    assert codes[0] == 0
    assert codes[-1] == 2


def test_bins_per_column_and_none() -> None:
    frame = pd.DataFrame({"x": np.arange(20) / 2, "y": np.arange(20), "z": np.arange(20) / 2})
    encoder = TableEncoder.fit(frame, bins={"x": 3, "y": None})
    assert [len(part.values) for part in encoder.columns] == [3, 20, 5]
    assert TableEncoder.fit(frame, bins=None).n_hyperedges == 60
    assert [part.binned for part in encoder.columns] == [True, False, True]
    assert column([0.25, 0.5, 0.25], bins=None) == (["0.25", "0.5"], [0, 1, 0])
    assert column(pd.to_datetime(["2020-01-02T10:00", "2020-01-01T00:00"]), bins=None)[0] == [
        "2020-01-01",
        "2020-01-02 10:00:00",
    ]
    assert column(pd.to_timedelta([90, 30], unit="min"), bins=None)[0] == [
        "0 days 00:30:00",
        "0 days 01:30:00",
    ]
    assert column([1.0, 2.0, 3.0], bins=1) == (["(-inf, inf)"], [0, 0, 0])


# --- missing cells, rare values, odd columns --------------------------------------------------


def test_missing_cells() -> None:
    cells = ["a", None, "b", "a", None]
    assert column(cells) == (["a", "b"], [0, 2, 1, 0, 2])
    assert column(cells, missing="edge") == (["a", "b", "missing"], [0, 2, 1, 0, 2])
    assert column(cells, missing="edge", min_count=2) == (["a", "missing"], [0, 1, 2, 0, 1])
    assert column(cells, missing="edge", min_count=3) == ([], [0] * 5)
    assert column(["a", ""], missing="edge") == (["", "a"], [1, 0])  # an empty text is a value
    encoder = TableEncoder.fit(TABLE, missing="drop-column")
    assert [part.name for part in encoder.columns] == ["size"]
    assert encoder.dropped == ("colour", "length")
    assert encoder.transform(pd.DataFrame({"size": ["L", None]})).tolist() == [[1], [2]]


def test_missing_cells_only_in_new_rows() -> None:
    encoder = TableEncoder.fit(pd.DataFrame({"x": ["a", "b"]}), missing="edge")
    assert encoder.hyperedge_names == ("x=a", "x=b")
    assert encoder.transform(pd.DataFrame({"x": [None, "b"]})).tolist() == [[2], [1]]


def test_column_without_values() -> None:
    for cells in ([None, None], [np.nan, np.nan], pd.to_datetime([None, None])):
        assert column(cells) == ([], [0, 0])
        assert column(cells, missing="edge") == (["missing"], [0, 0])
        encoder = TableEncoder.fit(pd.DataFrame({"x": cells}))
        assert encoder.transform(pd.DataFrame({"x": [None]})).tolist() == [[0]]


@pytest.mark.parametrize("binning", ["quantile", "uniform"])
def test_constant_column_is_one_hyperedge(binning: Any) -> None:
    for cells in ([3, 3], [0.5, 0.5], ["a", "a"], [False, False], DAYS[[0, 3]]):
        labels, codes = column(cells, binning=binning)
        assert len(labels) == 1
        assert codes == [0, 0]


def test_one_row() -> None:
    encoder, codes = TableEncoder.fit_transform(pd.DataFrame({"x": ["a"], "y": [1.5]}))
    assert codes.tolist() == [[0, 1]]
    assert encoder.n_hyperedges == 2


def test_code_type_grows_with_the_hyperedges() -> None:
    for n_values, dtype in ((255, np.uint8), (256, np.uint16), (70_000, np.uint32)):
        codes = TableEncoder.fit_transform(np.arange(n_values)[:, None], bins=None)[1]
        assert codes.dtype == dtype
        assert (codes[:, 0] == np.arange(n_values)).all()


def test_unusual_numpy_texts() -> None:
    """Missing texts and halves of surrogate pairs."""
    missing = np.array([["a"], [np.nan], ["b"]], np.dtypes.StringDType(na_object=np.nan))
    encoder, codes = TableEncoder.fit_transform(missing)
    assert encoder.hyperedge_names == ("0=a", "0=b")
    assert codes.ravel().tolist() == [0, 2, 1]
    encoder, codes = TableEncoder.fit_transform(np.array([["\ud800"], ["b"]]))
    assert encoder.hyperedge_names == ("0=b", "0=\ud800")
    assert codes.ravel().tolist() == [1, 0]
    structured = np.array([("b",), ("\ud800",)], dtype=[("text", "U2")])
    assert TableEncoder.fit_transform(structured)[0].hyperedge_names == ("text=b", "text=\ud800")


def test_frames_of_other_libraries() -> None:
    """Arrow and polars frames are read like those of pandas."""
    frame = pd.DataFrame(
        {
            "text": ["b", None, "a", "b"],
            "kind": pd.Categorical(["v", "u", None, "v"], ["w", "v", "u"]),
            "count": pd.array([7, None, 5, 7], dtype="Int64"),
            "length": [0.7, np.nan, 0.5, 0.7],
            "flag": pd.array([True, None, False, True], dtype="boolean"),
            "day": DAYS,
            "age": pd.to_timedelta([3, None, 1, 3], unit="h"),
        }
    )
    expected = Table.read(frame)
    others: list[Any] = [pa.Table.from_pandas(frame)]
    with suppress(ImportError):  # not required
        others.append(importlib.import_module("polars").from_pandas(frame))
    for other in others:
        table = Table.read(other)
        assert table.named and table.names == expected.names
        for name, cells in expected.items():
            assert table[name].kind == cells.kind
            assert table[name].texts() == cells.texts()
        assert TableEncoder.fit(other) == TableEncoder.fit(frame)
        y = ["a", "b", "a", "b"]
        shares = lg.SpectralGPClassifier(random_state=0).fit(frame, y).predict_proba(frame)
        classifier = lg.SpectralGPClassifier(random_state=0).fit(other, y)
        assert classifier.feature_names_in_.tolist() == list(frame)
        np.testing.assert_allclose(classifier.predict_proba(other), shares)
        np.testing.assert_allclose(classifier.predict_proba(frame), shares)
    twice = pa.table([[1], [2]], names=["x", "x"])
    with pytest.raises(ValueError, match="frame: expected columns of different names"):
        Table.read(twice)


def test_tables_are_pickled_with_their_cells() -> None:
    table = pickle.loads(pickle.dumps(Table.read(TABLE).take([0, 2])))
    assert table["colour"].values == ["red"]
    assert table.shape == (2, 3)
