"""The choice of features, and labels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from lowrankgcn.files import Columns, choose_columns, read_file
from tests.support.each import each
from tests.support.stored.saved_examples import through_json


def floats(features: Any, name: str) -> Any:
    return features[name].as_floats(name)


def days(features: Any, name: str) -> list[str]:
    return features[name].texts()


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
        assert columns.features(frame)["number"].kind == "category"

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

    def test_amounts_are_not_identifiers(self) -> None:
        amounts = table(price=[f"$ {i},000" for i in range(1, 11)])
        assert choose_columns(amounts, "kind").used == {"price": "number"}

    def test_quoted_decimal_commas_in_a_comma_separated_file(self, tmp_path: Path) -> None:
        path, rng = tmp_path / "quoted.csv", np.random.default_rng(0)
        numbers = rng.integers(100, 9999, 40) / 100
        frame = pd.DataFrame({"price": numbers, "width": numbers[::-1], "size": numbers * 1000})
        frame["kind"] = ["a", "b"] * 20
        quoted = frame.assign(
            price=[f"{x:.2f} €".replace(".", ",") for x in frame["price"]],
            size=[f"{x:,.0f}" for x in frame["size"]],
        )
        quoted.to_csv(path, index=False)
        table = read_file(path)
        columns = choose_columns(table.frame, "kind", decimal=table.decimal)
        first, second = columns.notes
        assert first == "column 'price': numbers are read with decimal commas"
        assert second.startswith("column 'size': the comma of '")
        assert columns.used == dict.fromkeys(("price", "width", "size"), "number")
        assert columns.decimal_commas == ("price",)
        for rows in (table.frame, frame, quoted):
            found = columns.features(rows).as_matrix()
            np.testing.assert_allclose(found, frame[["price", "width", "size"]], atol=0.5)
            np.testing.assert_allclose(found[:, 0], frame["price"])
        plain = choose_columns(frame, "kind")
        np.testing.assert_allclose(floats(plain.features(quoted), "price"), frame["price"])

    @each(
        ("cells", "expected", "note"),
        [
            (["1,5", "2,25", "7", "NA"], "number", "decimal commas"),
            (["0,123", "0,456", "1,789"], "number", "decimal commas"),
            (["1,234", "2,345", "7"], "number", "thousands separator"),
            (["1,234", "2,345,678", "7"], "number", None),
            (["1,234", "2,345.50", "7"], "number", None),
            (["1,234", "2,345.50", "1,5"], "category", None),
            (["1.234,50", "2,5"], "number", None),
            (["1,2", "3,4", "1,2,3"], "category", None),  # lists
            (["1.5", "2,5"], "number", "decimal commas"),
            (["red", "blue, green"], "category", None),
        ],
    )
    def test_commas(self, cells: list[str], expected: str, note: str | None) -> None:
        rows = pd.DataFrame({"v": cells * 4, "kind": ["a", "b"] * (2 * len(cells))})
        columns = choose_columns(rows, "kind")
        assert columns.used == {"v": expected}
        assert [note in text for text in columns.notes if "comma" in text] == [True] * bool(note)

    def test_different_integers_are_identifiers_by_order_or_name(self) -> None:
        unsorted = [31, 7, 12, 90, 55, 8, 41, 3, 77, 20]
        counted = {
            "ascending": sorted(unsorted),
            "descending": sorted(unsorted, reverse=True),
            "shuffled": [4, 9, 2, 7, 5, 11, 3, 10, 6, 8],
        }
        names = ["customer_id", "rowId", "Nr.", "ID", "customerID", "IDNumber", "no 2", "api-key"]
        used = ["salary", "idle", "width", "note", "monkey", "nrs", "arrow", "reindexed"]
        frame = table(**counted, **dict.fromkeys([*names, *used], unsorted))
        columns = choose_columns(frame, "kind")
        assert columns.left_out == dict.fromkeys([*counted, *names], "identifier")
        assert columns.used == dict.fromkeys(used, "number")
        twice = table(customer_id=[3, 3, *unsorted[2:]], number=[1, 1, *range(2, 10)])
        assert not choose_columns(twice, "kind").left_out
        assert choose_columns(frame, "kind", numeric=["ID"]).used["ID"] == "number"

    def test_nearly_numbers_and_dates_are_reported(self) -> None:
        numbers, days = [f"{i}.5" for i in range(9)], [f"{i + 10}.01.2024" for i in range(9)]
        reads = "(--numeric 'v' reads other cells as missing)"
        for cells, note in (
            (["<5", *numbers], f"9 of 10 cells are numbers, '<5' is not; it is left out {reads}"),
            (
                ["n.a.", "n.a.", *numbers[:7], "0.5"],
                f"8 of 10 cells are numbers, 'n.a.' is not; it is used as categories {reads}",
            ),
            (
                ["NA", "$1,000", "x", *numbers[:7]],
                f"8 of 9 cells are numbers, 'x' is not; it is left out {reads}",
            ),
            (
                ["31.02.2024", *days],
                "9 of 10 cells are dates, '31.02.2024' is not; it is left out (correct the other "
                "cells to use it as dates)",
            ),
            (["x", "y", "z", *numbers[:7]], None),
            (["1"] * 9 + ["x"], None),  # two values are categories
            (["007", *numbers], None),
            (["2024-02-30", *days], "9 of 10 cells are dates, '2024-02-30' is not; it is left"),
        ):
            columns = choose_columns(table(v=cells, w=[i / 8 for i in range(10)]), "kind")
            assert columns.used["w"] == "number"
            assert columns.unreadable_as_missing == ()
            if note is None:
                assert columns.notes == ()
            else:
                assert columns.notes[0].startswith(f"column 'v': {note}"), columns.notes

    def test_texts_that_may_be_numbers_or_dates_are_reported(self) -> None:
        """Times, years of two digits, months that are not English, and units."""
        names = ["Januar", "Februar", "März", "Mai", "Juni", "Juli", "Oktober", "Dezember"]
        columns: dict[str, tuple[list[str], str | None]] = {
            "at": ([f"{h}:{m}0" for h in range(4) for m in range(5)], "may be times"),
            "us": ([f"{k % 12 + 1}/{k + 1}/24" for k in range(20)], "two digits of the year"),
            "tag": ([f"{k + 1}. {names[k % 8]} 2024" for k in range(20)], "not English"),
            "stay": ([f"{k} min" for k in range(20)], "may be numbers with a unit"),
            "price": ([f"EUR {k + 10}.50" for k in range(20)], "may be numbers with a unit"),
            "flat": ([f"{k // 4}{'abcdefghijklmnopqrst'[k]}" for k in range(20)], None),
            "few": ([f"{k % 3} min" for k in range(20)], None),
            "code": ([f"K{k + 10}" for k in range(20)], None),
        }
        frame = pd.DataFrame({name: cells for name, (cells, _) in columns.items()})
        frame = pd.concat([frame, frame]).assign(kind=["a", "b"] * 20)
        notes = choose_columns(frame, "kind").notes
        for name, (cells, part) in columns.items():
            about = [note for note in notes if note.startswith(f"column {name!r}: ")]
            assert len(about) == (part is not None), notes
            assert part is None or (part in about[0] and repr(cells[0]) in about[0]), about

    def test_other_cells_of_numeric_columns_are_missing(self) -> None:
        frame = table(v=["<5", "n.a.", "NA", *(f"{i}.5" for i in range(7))])
        columns = choose_columns(frame, "kind", numeric=["v"])
        (note,) = columns.notes
        assert note == (
            "column 'v': cells that are not numbers, such as '<5', are read as missing (2 of 9)"
        )
        again = through_json(columns, Columns)
        assert again.unreadable_as_missing == ("v",)
        expected = [np.nan] * 3 + [i + 0.5 for i in range(7)]
        np.testing.assert_array_equal(floats(again.features(frame), "v"), expected)
        other = pd.DataFrame({"v": ["x", "1,000.5"]})
        np.testing.assert_array_equal(floats(again.features(other), "v"), [np.nan, 1000.5])
        assert again.features(other[:1])["v"].missing.all()
        complete = choose_columns(frame[3:], "kind", numeric=["v"])
        assert (complete.unreadable_as_missing, complete.notes) == ((), ())
        with pytest.raises(ValueError, match="column 'v': expected numbers, got '<5'"):
            complete.features(frame)
        half = table(v=["x", "1.5"] * 5)
        with pytest.raises(ValueError, match="column 'v': expected numbers, got 'x'"):
            choose_columns(half, "kind", numeric=["v"])

    def test_as_json_and_back(self) -> None:
        frame = table(
            size=[i / 8 for i in range(10)],
            m=["m"] * 10,
            day=[f"{i + 10}/01/2024" for i in range(10)],
            note=[f"a {'good' if i % 3 else 'bad'} day {i}" for i in range(10)],
        )
        columns = choose_columns(frame, "kind")
        again = through_json(columns, Columns)
        for name in ("target", "used", "left_out", "dates"):
            assert getattr(again, name) == getattr(columns, name)
        assert again.texts["note"].grams == columns.texts["note"].grams
        for name, cells in again.features(frame).items():
            assert cells.texts() == columns.features(frame)[name].texts()


class TestFeatures:
    def test_columns_of_another_table(self) -> None:
        frame = table(size=[i / 8 for i in range(10)], colour=["red", "blue"] * 5)
        columns = choose_columns(frame, "kind")
        other = pd.DataFrame({"colour": ["green"], "size": ["7"], "more": ["?"]})
        features = columns.features(other)
        assert features.names == ("size", "colour")
        assert features["size"].numbers.tolist() == [7]

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

    def test_empty_columns_have_no_type(self) -> None:
        columns = Columns("kind", {"day": "date", "size": "number", "colour": "category"}, {})
        for kind in ("float64", "boolean", "datetime64[s]", "object"):
            empty = pd.Series([None, None], dtype=kind)
            features = columns.features(pd.DataFrame(dict.fromkeys(columns.used, empty)))
            assert all(cells.missing.all() for _, cells in features.items())
            assert [cells.kind for _, cells in features.items()] == ["date", "number", "category"]

    def test_dates_keep_the_order_of_day_and_month(self) -> None:
        frame = table(day=[f"{10 + i}/01/2024" for i in range(10)])
        columns = choose_columns(frame, "kind")
        assert (columns.dates, columns.notes) == ({"day": "day first"}, ())
        other = pd.DataFrame({"day": ["01/02/2024", "2024-02-03", None]})
        with pytest.raises(ValueError, match="column 'day': expected dates with the day first"):
            columns.features(other)
        other = pd.DataFrame({"day": ["01/02/2024", "?"]})
        assert days(columns.features(other), "day") == ["2024-02-01", "missing"]
        assert columns.features(other[1:])["day"].missing.all()
        with pytest.raises(ValueError, match=r"expected dates with the day first, got '1/13/2024'"):
            columns.features(pd.DataFrame({"day": ["1/2/2024", "1/13/2024"]}))
        iso = pd.DataFrame({"day": ["2024-02-03"]})
        assert days(columns.features(iso), "day") == ["2024-02-03"]

    def test_ambiguous_dates_are_reported(self) -> None:
        frame = table(day=[f"{1 + i}/01/2024" for i in range(10)])
        columns = choose_columns(frame, "kind")
        assert columns.dates == {"day": "month first"}
        (note,) = columns.notes
        assert note.startswith("column 'day': dates are read with the month first; if this is")
        assert choose_columns(frame, "kind", decimal=",").dates == {"day": "day first"}

    def test_times_of_day_and_durations_are_numbers(self) -> None:
        times = pa.array([3600, None], pa.time32("s"))
        spans = pa.array([90, None], pa.duration("s"))
        frame = pa.table({"at": times, "for": spans}).to_pandas(types_mapper=pd.ArrowDtype)
        features = Columns("kind", {"at": "number", "for": "number"}, {}).features(frame)
        expected = [[3600e6, 90e6], [np.nan, np.nan]]  # microseconds, whatever the file has
        np.testing.assert_array_equal(features.as_matrix(), expected)

    def test_columns_in_chunks(self) -> None:
        chunked = pa.chunked_array([["1.5", "2"], ["2", None]])
        frame = pa.table({"a": chunked}).to_pandas(types_mapper=pd.ArrowDtype)
        features = Columns("kind", {"a": "number"}, {}).features(frame)
        np.testing.assert_array_equal(floats(features, "a"), [1.5, 2.0, 2.0, np.nan])

    def test_arrow_dictionaries(self) -> None:
        values = pa.array(["x", "y", None, "x"]).dictionary_encode()
        frame = pa.table({"a": values}).to_pandas(types_mapper=pd.ArrowDtype)
        features = Columns("kind", {"a": "category"}, {}).features(frame)
        assert features["a"].codes.tolist() == [0, 1, -1, 0]


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
