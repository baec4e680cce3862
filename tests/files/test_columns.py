"""Types of columns, and the choice of features."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from lowrankgcn.files import Columns, choose_columns
from lowrankgcn.files.cells import Cells
from tests.saved_examples import through_json


def kind(*values: Any, decimal: str = ".") -> str:
    return Cells.from_column(pd.Series(values, name="x"), decimal).kind


class TestKind:
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

    def test_categories(self) -> None:
        for values in (
            ("a", "b"),
            ("007", "123"),
            ("+049", "1"),
            ("1", "two"),
            ("1,5", "2,5"),
            ("1.2.3", "4"),
            ("NA", "?"),
            ("true", "false"),
            (True, False),
            (None, None),
            ("31.12.2024", "1.1.2025"),
            ("2024-02-30", "2024-01-01"),
        ):
            assert kind(*values) == "category", values

    def test_dates(self) -> None:
        for values in (
            ("2024-01-31", "2024-02-01", None),
            ("2024-01-31T10:00", "2024-01-31 11:00:00.5"),
            ("2024-01-31T10:00:00Z", "2024-01-31T10:00:00+02:00"),
            (datetime.date(2024, 1, 31), None),
            (pd.Timestamp("2024-01-31", tz="UTC"), None),
        ):
            assert kind(*values) == "date", values

    def test_decimal_commas(self) -> None:
        cells = Cells.from_column(pd.Series(["1,5", "2", None]), ",")
        assert cells.kind == "number"
        np.testing.assert_array_equal(cells.as_numbers(), [1.5, 2.0, np.nan])

    def test_whole_numbers(self) -> None:
        assert Cells.from_column(pd.Series(["3", "1"])).as_numbers().dtype == np.int64
        assert Cells.from_column(pd.Series(["3", None])).as_numbers().tolist()[0] == 3.0
        assert Cells.from_column(pd.Series(["9" * 40, "1"])).as_numbers().dtype == np.float64

    def test_times_are_in_utc(self) -> None:
        cells = Cells.from_column(pd.Series(["2024-01-31T10:00:00+02:00", None]))
        times = cells.as_dates()
        assert times[0] == np.datetime64("2024-01-31T08:00:00")
        assert np.isnat(times[1])

    def test_times_outside_the_calendar(self) -> None:
        for seconds in [10**12, -(10**12), 10**15]:
            times = pa.array([0, seconds], pa.timestamp("s"))
            with pytest.raises(ValueError, match="years 1 to 9999"):
                Cells.from_column(pd.Series(times, dtype=pd.ArrowDtype(times.type)))

    def test_categories_are_sorted(self) -> None:
        categories = Cells.from_column(pd.Series(["b", None, "a", "b"])).as_categories()
        assert categories.categories.tolist() == ["a", "b"]
        assert categories.codes.tolist() == [1, -1, 0, 1]

    def test_numbers_as_categories(self) -> None:
        categories = Cells.from_column(pd.Series([2.5, 1.0, 2.5, np.nan])).as_categories()
        assert categories.categories.tolist() == ["1", "2.5"]
        assert categories.codes.tolist() == [1, 0, 1, -1]

    def test_cells_of_several_types(self) -> None:
        with pytest.raises(ValueError, match="values of one type"):
            Cells.from_column(pd.Series([1, "x"], dtype=object))
        with pytest.raises(ValueError, match="expected text or numbers, got binary"):
            Cells.from_column(pd.Series([b"\xff"], dtype=object))


def table(**columns: Any) -> pd.DataFrame:
    return pd.DataFrame({**columns, "kind": ["a", "b"] + [None] * 8})


class TestChoice:
    def test_left_out(self) -> None:
        frame = table(
            name=[f"x{i}" for i in range(10)],
            nearly=["same", "same", *(f"x{i}" for i in range(8))],
            number=range(10),
            measure=[i / 8 for i in range(10)],
            unit=["m"] * 10,
            zero=[0.0] * 10,
            nothing=[None] * 10,
            some=["m", None] * 5,
            colour=["red", "blue"] * 5,
            day=[f"2024-01-{i + 10}" for i in range(10)],
        )
        columns = choose_columns(frame, "kind")
        assert columns.used == {
            "nearly": "category",
            "measure": "number",
            "some": "category",
            "colour": "category",
            "day": "date",
        }
        assert columns.left_out == {
            "name": "identifier",
            "number": "identifier",
            "unit": "constant",
            "zero": "constant",
            "nothing": "empty",
        }

    def test_named_columns_are_kept(self) -> None:
        frame = table(
            number=[str(i) for i in range(10)], year=[1990 + i for i in range(10)], unit=["m"] * 10
        )
        columns = choose_columns(
            frame, "kind", drop=["unit"], categorical=["number"], numeric=["year"]
        )
        assert columns.used == {"number": "category", "year": "number"}
        assert columns.left_out == {"unit": "dropped"}
        assert columns.features(frame)["number"].dtype == "category"

    def test_wrong_names(self) -> None:
        frame = table(size=[i / 8 for i in range(10)], colour=["red", "blue"] * 5)
        calls: list[tuple[dict[str, Any], str]] = [
            (
                {"target": "Kind"},
                "target: expected a column of the table, got 'Kind'; did you mean",
            ),
            ({"target": "kind", "drop": ["x"]}, "drop: expected a column of the table, got 'x'"),
            ({"target": "kind", "drop": ["kind"]}, "drop: expected columns not named in target"),
            (
                {"target": "kind", "drop": ["size"], "numeric": ["size"]},
                "numeric: expected columns not named in drop, got 'size'",
            ),
            ({"target": "kind", "numeric": ["colour"]}, "'colour': expected numbers, got 'red'"),
            ({"target": "kind", "drop": ["size", "colour"]}, "'size' is left out"),
        ]
        for options, expected in calls:
            with pytest.raises(ValueError) as caught:
                choose_columns(frame, **options)
            assert expected in str(caught.value)

    def test_as_json_and_back(self) -> None:
        columns = choose_columns(table(size=[i / 8 for i in range(10)], m=["m"] * 10), "kind")
        again = through_json(columns, Columns)
        assert (again.target, again.used, again.left_out) == (
            columns.target,
            columns.used,
            columns.left_out,
        )

    def test_malformed_json(self) -> None:
        for columns, message in (
            (None, "value: expected Columns"),
            (Columns(1, {}, {}), "target: expected str"),
            (Columns("a", 3, {}), "used: expected"),
            (Columns("a", {"b": "text"}, {}), "used: expected"),
            (Columns("a", {}, {"b": "number"}), "left_out: expected"),
            (Columns("a", {}, {1: "empty"}), "left_out: expected"),
        ):
            with pytest.raises(ValueError, match=message):
                through_json(columns, Columns)


class TestFeatures:
    def test_columns_of_another_table(self) -> None:
        frame = table(size=[i / 8 for i in range(10)], colour=["red", "blue"] * 5)
        columns = choose_columns(frame, "kind")
        other = pd.DataFrame({"colour": ["green"], "size": ["7"], "more": ["?"]})
        features = columns.features(other)
        assert features.columns.tolist() == ["size", "colour"]
        assert features["size"].tolist() == [7]

    def test_missing_columns_are_named(self) -> None:
        columns = Columns("kind", {"size": "number", "colour": "category"}, {})
        with pytest.raises(ValueError, match="expected columns 'size', 'colour', got 'x'"):
            columns.features(pd.DataFrame({"x": [1]}))

    def test_texts_where_numbers_were(self) -> None:
        columns = Columns("kind", {"size": "number"}, {})
        with pytest.raises(ValueError, match="column 'size': expected numbers, got 'large'"):
            columns.features(pd.DataFrame({"size": ["1", "large"]}))

    def test_other_values_where_dates_were(self) -> None:
        columns = Columns("kind", {"day": "date"}, {})
        for value in ("today", 1.5, 7):
            with pytest.raises(ValueError, match=f"column 'day': expected dates, got {value!r}"):
                columns.features(pd.DataFrame({"day": [value]}))

    def test_columns_in_chunks(self) -> None:
        chunked = pa.chunked_array([["1.5", "2"], ["2", None]])
        frame = pa.table({"a": chunked}).to_pandas(types_mapper=pd.ArrowDtype)
        features = Columns("kind", {"a": "number"}, {}).features(frame)
        np.testing.assert_array_equal(features["a"], [1.5, 2.0, 2.0, np.nan])

    def test_arrow_dictionaries(self) -> None:
        values = pa.array(["x", "y", None, "x"]).dictionary_encode()
        frame = pa.table({"a": values}).to_pandas(types_mapper=pd.ArrowDtype)
        features = Columns("kind", {"a": "category"}, {}).features(frame)
        assert features["a"].cat.codes.tolist() == [0, 1, -1, 0]


class TestLabels:
    def test_only_empty_cells_are_unlabelled(self) -> None:
        frame = pd.DataFrame({"kind": ["NA", "-1", None, " ", "null", "a "]})
        labels = Columns("kind", {}, {}).labels(frame)
        assert labels.tolist() == ["NA", "-1", None, None, "null", "a "]

    def test_integers_keep_their_spelling(self) -> None:
        frame = pd.DataFrame({"kind": pd.array([-1, 3, None], dtype="Int64")})
        assert Columns("kind", {}, {}).labels(frame).tolist() == ["-1", "3", None]

    def test_identifiers_are_not_classes(self) -> None:
        frame = pd.DataFrame({"kind": [*(f"row {i}" for i in range(1500)), None]})
        with pytest.raises(ValueError, match="expected classes, got 1500 different values"):
            Columns("kind", {}, {}).labels(frame)

    def test_unusable_labels(self) -> None:
        for cells, message in (
            (["a", None], "column 'kind': expected labels of at least two classes, got 'a' only"),
            ([None, " "], "column 'kind': expected labels of at least two classes, got empty"),
            ([i / 8 for i in range(1, 30)], "expected classes, got 29 different numbers in 29"),
        ):
            with pytest.raises(ValueError, match=message):
                Columns("kind", {}, {}).labels(pd.DataFrame({"kind": cells}))
        with pytest.raises(ValueError, match="target: expected a column of the table"):
            Columns("kind", {}, {}).labels(pd.DataFrame({"sort": ["a", "b"]}))

    def test_many_whole_numbers_are_classes(self) -> None:
        frame = pd.DataFrame({"kind": [*map(str, range(50)), None]})
        assert Columns("kind", {}, {}).labels(frame).nunique() == 50
