"""Texts of files as numbers, dates and categories."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lowrankgcn.tables import Cells
from lowrankgcn.tables.columns import Encoding
from lowrankgcn.tables.texts import TextColumn


def read(column: Any, decimal: str = ".") -> TextColumn:
    return TextColumn(Cells.read(column, "x"), decimal)


def numbers(column: TextColumn, **options: Any) -> np.ndarray:
    return column.as_numbers(**options).as_floats("x")


def times(column: TextColumn, *order: Any) -> np.ndarray:
    cells = column.as_dates(*order)
    return np.where(cells.missing, np.datetime64("NaT", "us"), cells.numbers.view("M8[us]"))


def kind(*values: Any, decimal: str = ".") -> str:
    return read(pd.Series(values, name="x"), decimal).kind


class TestKind:
    def test_names_of_months(self) -> None:
        for texts, expected in (
            (["Mar 05, 2023", "April 1, 2024"], ["2023-03-05", "2024-04-01"]),
            (["5 March 2023", "6. Sept 2024", "1st May 2024"], ["2023-03-05", "2024-09-06"]),
            (["05-Mar-2023", "2023-03-06", "Mon, 06 Mar 2023"], ["2023-03-05", "2023-03-06"]),
            (["Mar 5, 2023 2:30 pm", None], ["2023-03-05T14:30"]),
            (["Jan 2023", "Feb 2023"], ["2023-01-01", "2023-02-01"]),
        ):
            column = read(pd.Series(texts, name="x"))
            assert column.kind == "date" and not column.dates.ambiguous
            found = times(column)[: len(expected)]
            assert (found == np.array(expected, "M8[us]")).all(), texts
        for texts in (["Maybe 5, 2023"], ["March", "May"], ["Mar 32, 2023"], ["Room 5, 2023"]):
            assert kind(*texts) == "category", texts

    def test_numbers(self) -> None:
        for values in (
            ("1", "2"),
            ("1.5", "-2e3", None),
            (" 1", "2 "),
            ("+1", ".5", "5."),
            ("0", "0.5", "-0.5"),
            ("12", "NA", "?", "-", "null"),
            ("9" * 40, "1"),
            (1, 2),
            (1.5, None),
            (Decimal("1.5"), Decimal("2")),
        ):
            assert kind(*values) == "number", values

    def test_formatted_numbers(self) -> None:
        for texts, decimal, expected in (
            (["64,058.57", "1,234", "950.1", "-12", None], ".", [64058.57, 1234, 950.1, -12, None]),
            (["64.058,57", "1.234", "950,1"], ".", [64058.57, 1234, 950.1]),
            (["64.058,57", "1.234", "950,1"], ",", [64058.57, 1234, 950.1]),
            (["1,234", "5,678"], ",", [1.234, 5.678]),
            (["$1,234", "$5,678"], ",", [1.234, 5.678]),
            (["(1,234.50)", "7", "($3)"], ".", [-1234.5, 7, -3]),
            (["(1.234,5)", "7,25"], ".", [-1234.5, 7.25]),
            (["64,058.57", "1.5"], ",", [64058.57, 1.5]),
            (["64 058,57", "1 234 567", "5"], ",", [64058.57, 1234567, 5]),
            (["64\u202f058.5", "64\xa0058", "64\u2009058"], ".", [64058.5, 64058, 64058]),
            (["1'234.5", "1’234’567"], ".", [1234.5, 1234567]),
            (["58 %", "7%", "-0.5\xa0%", "?"], ".", [58, 7, -0.5, None]),
            (["$ 12", "-$5", "$-5", "- $ 1,000", "$.5"], ".", [12, -5, -5, -1000, 0.5]),
            (["12 €", "12,50€", "€ 3", "4"], ",", [12, 12.5, 3, 4]),
            (["+$1e3", "5 £", "1"], ".", None),
            (["$1", "€1"], ".", None),
            (["5 %", "0.05"], ".", None),
            (["$5 €"], ".", None),
            (["1,23", "4,5"], ".", [1.23, 4.5]),
            (["1,2345", "1,234,56"], ".", None),
            (["1,234 567", "1"], ".", None),
            (["0,123", "1,234"], ".", [0.123, 1.234]),
            (["007 %", "5 %"], ".", None),
            (["$007", "$12"], ".", None),
            (["030 123", "040 123"], ".", None),
            (["1e999", "$5"], ".", None),
        ):
            cells = read(pd.Series(texts), decimal)
            assert cells.kind == ("category" if expected is None else "number"), texts
            if expected is not None:
                np.testing.assert_array_equal(numbers(cells), np.array(expected, float))

    @given(
        st.lists(st.integers(-(10**12), 10**12), min_size=1, max_size=5),
        st.sampled_from([",.", " .", "\u202f,", ".,", "'."]),
        st.sampled_from(["{}", "$ {}", "{} %", "{}€"]),
        st.integers(1, 4),
    )
    def test_formatted_numbers_are_exact(
        self, cents: list[int], marks: str, unit: str, digits: int
    ) -> None:
        expected = [number / 10**digits for number in cents]
        swap = str.maketrans({",": marks[0], ".": marks[1]})
        texts = [unit.format(f"{number:,.{digits}f}".translate(swap)) for number in expected]
        texts.append(unit.format(f"1{marks[0]}234{marks[1]}5"))  # what a point means is clear
        cells = read(pd.Series(texts), marks[1])
        assert cells.kind == "number"
        np.testing.assert_array_equal(numbers(cells), [*expected, 1234.5])

    @given(st.lists(st.text("0123456789.,-+eE $€%'", max_size=8), min_size=1, max_size=4))
    def test_any_texts(self, texts: list[str]) -> None:
        for decimal in (".", ","):
            cells = read(pd.Series(texts, dtype=object), decimal)
            try:
                kind = cells.kind
            except ValueError as error:
                assert "finite" in str(error)
                continue
            right, present, other, share = cells.parsed("number")
            formatted = kind == "number" and cells.numbers.style == "formatted"
            assert not formatted or (other, share) == (None, 1)
            assert right <= present
            assert np.isfinite(numbers(cells, unreadable_as_missing=True)).sum() <= len(texts)

    def test_categories(self) -> None:
        for values in (
            ("a", "b"),
            ("007", "123"),
            ("+049", "1"),
            ("1", "two"),
            ("1,5", "2,5", "x"),
            ("1.2.3", "4"),
            ("NA", "?"),
            ("true", "false"),
            (True, False),
            (None, None),
            ("2024-02-30", "2024-01-01"),
            ("30.02.2024", "01.01.2024"),
            ("31.12.2024", "12/31/2024"),
            ("31/12/2024", "12/31/2024"),
            ("01.01.0000", "01.01.2024"),
            ("1/2/2024 13:00 pm", "1/2/2024"),
            ("1/2/2024 24:30", "1/2/2024"),
            ("1/2/24 2:30 pm", "1/2/24"),
        ):
            assert kind(*values) == "category", values

    def test_dates(self) -> None:
        for values in (
            ("2024-01-31", "2024-02-01", None),
            ("2024-01-31T10:00", "2024-01-31 11:00:00.5"),
            ("2024-01-31T10:00:00Z", "2024-01-31T10:00:00+02:00"),
            (datetime.date(2024, 1, 31), None),
            (pd.Timestamp("2024-01-31", tz="UTC"), None),
            ("2024-01-31", "NA", " 2024-02-01 ", "?"),
            ("31.12.2024", "1.1.2025", None),
            ("31/12/2024 10:30", "01/02/2024"),
            ("12/31/2024 2:30 PM", "1/2/2024"),
            ("31-12-2024", "-"),
            ("2024/12/31", "2024/1/1 10:00:00.25"),
            ("31.12.9999", "01.01.0001"),
        ):
            assert kind(*values) == "date", values

    def test_decimal_commas(self) -> None:
        cells = read(pd.Series(["1,5", "2", None]), ",")
        assert cells.kind == "number"
        np.testing.assert_array_equal(numbers(cells), [1.5, 2.0, np.nan])

    def test_whole_numbers(self) -> None:
        assert read(pd.Series(["3", "1"])).as_numbers().numbers.dtype == np.int64
        assert numbers(read(pd.Series(["3", None])))[0] == 3.0
        assert read(pd.Series(["9" * 40, "1"])).as_numbers().numbers.dtype == np.float64

    def test_times_are_in_utc(self) -> None:
        cells = read(pd.Series(["2024-01-31T10:00:00+02:00", None]))
        found = times(cells)
        assert found[0] == np.datetime64("2024-01-31T08:00:00")
        assert np.isnat(found[1])

    def test_order_of_day_and_month(self) -> None:
        for cells, decimal, day, month in (
            (["13/02/2024", "01/02/2024"], ".", 1, 2),
            (["02/13/2024", "01/02/2024"], ".", 2, 1),
            (["03/04/2024", "01/02/2024"], ".", 2, 1),
            (["03/04/2024", "01/02/2024"], ",", 1, 2),  # decimal commas: the day is first
            (["03.04.2024", "01.02.2024"], ".", 1, 2),
            (["03-04-2024", "01-02-2024"], ".", 2, 1),
        ):
            found = times(read(pd.Series(cells), decimal))
            assert found[1] == np.datetime64(f"2024-{month:02}-{day:02}"), cells

    @given(
        st.lists(st.datetimes(), min_size=1, max_size=5),
        st.sampled_from("./-"),
        st.booleans(),
        st.sampled_from(["", " %H:%M", " %H:%M:%S", " %H:%M:%S.%f", " %I:%M %p"]),
    )
    def test_dates_are_exact(
        self, dates: list[datetime.datetime], mark: str, day_first: bool, clock: str
    ) -> None:
        day = "{0:%d}{1}{0:%m}{1}{0.year:04}" if day_first else "{0:%m}{1}{0:%d}{1}{0.year:04}"
        texts = [day.format(time, mark) + time.strftime(clock) for time in dates]
        parts = {"S": "second", "f": "microsecond", "M": "minute", "I": "hour", "H": "hour"}
        kept = {name for letter, name in parts.items() if f"%{letter}" in clock}
        expected = [time.replace(**dict.fromkeys({*parts.values()} - kept, 0)) for time in dates]
        order = "day first" if day_first else "month first"
        found = times(read(pd.Series(texts)), order)
        assert found.astype("datetime64[us]").tolist() == expected

    def test_times_outside_the_calendar(self) -> None:
        far = [10**12, -(10**12), 10**15, 9 * 10**12]
        columns = [pa.array([0, seconds], pa.timestamp("s")) for seconds in far]
        columns += [pa.array([0, days], pa.int32()).cast(pa.date32()) for days in (10**7, -(10**6))]
        for far_times in columns:
            with pytest.raises(ValueError, match="years 1 to 9999"):
                read(pd.Series(far_times, dtype=pd.ArrowDtype(far_times.type)))

    def test_categories_are_sorted(self) -> None:
        categories = read(pd.Series(["b", None, "a", "b"])).as_categories()
        assert categories.values == ["a", "b"]
        assert categories.codes.tolist() == [1, -1, 0, 1]

    def test_dates_as_categories(self) -> None:
        days = pd.Series([datetime.date(2024, 1, 31), None])
        assert read(days).as_categories().values == ["2024-01-31"]

    def test_numbers_as_categories(self) -> None:
        categories = read(pd.Series([2.5, 1.0, 2.5, np.nan])).as_categories()
        assert categories.values == ["1", "2.5"]
        assert categories.codes.tolist() == [1, 0, 1, -1]

    def test_cells_of_several_types(self) -> None:
        assert kind(1, "x") == "category"
        column = read(pd.Series([True, "True", "x", 2], dtype=object))
        assert column.as_categories().values == ["2", "true", "x"]
        nested = pa.array([["a"], ["b"]])
        with pytest.raises(ValueError, match="'x': expected texts, numbers or dates, got list"):
            Cells.read(nested, "x")


def test_booleans_are_the_same_in_files_and_frames() -> None:
    flags = [True, False, True, False]
    files = [read(pd.Series(texts)) for texts in (list("ab"), ["True", "FALSE"])]
    other, flag = (column.as_categories() for column in files)
    for fitted in (pd.Series(flags), pd.Series(flags, dtype=object), pd.Series(["true", "false"])):
        column = Encoding.fit(Cells.read(fitted, "x"), "x")
        assert column.encode(flag).tolist() == column.encode(Cells.read(fitted[:2], "x")).tolist()
        assert column.encode(other).tolist() == [2, 2]
    numbers = Encoding.fit(Cells.read(pd.Series([0, 1]), "x"), "x")
    assert numbers.encode(Cells.read(pd.Series(flags), "x")).tolist() == [1, 0, 1, 0]
