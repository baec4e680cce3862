"""Writing of tables: formats by the ending, types, and what was written is read again."""

from __future__ import annotations

import bz2
import datetime
import gzip
import io
import json
import lzma
import os
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lowrankgcn.files import TableFile, output_format, read_file, records, write_file, writing
from tests.support.each import each

ENDINGS = (
    ".csv .tsv .tab .jsonl .ndjson .json .parquet .pq .feather .arrow .xlsx "
    ".csv.gz .tsv.bz2 .csv.zst .jsonl.xz .json.gz"
).split()
TYPED = [ending for ending in ENDINGS if not ending.startswith((".csv", ".t"))]


def table_of(path: Path, text: str) -> TableFile:
    path.write_text(text)
    return read_file(path)


class TestFormats:
    def test_endings(self, tmp_path: Path) -> None:
        frame = pd.DataFrame({"a": ["x", None, "z"], "b": [0.5, 1.0, 1 / 3]})
        for ending in ENDINGS:
            path = tmp_path / f"t{ending.upper() if len(ending) == 4 else ending}"
            write_file(frame, path)
            assert output_format(path) == read_file(path).format, ending
            found = read_file(path).frame
            assert found["a"].isna().tolist() == [False, True, False], ending
            assert found["b"].astype("float64").tolist() == frame["b"].tolist(), ending

    def test_unknown_endings(self, tmp_path: Path) -> None:
        for name in ("t", "t.txt", "t.xls", "t.csv.zip", "t.gz", "t.parquet.gz", "csv", ".csv"):
            for call in (output_format, lambda path: write_file(pd.DataFrame({"a": [1]}), path)):
                with pytest.raises(ValueError, match=r"expected a name that ends in \.csv, "):
                    call(tmp_path / name)
        assert list(tmp_path.iterdir()) == []
        assert output_format("-") is None
        assert output_format("/dev/null") is None

    def test_text(self, tmp_path: Path) -> None:
        frame = pd.DataFrame({"a": ["x", None], "b": [0.5, 1.0]})
        for name, expected in (
            ("t.csv", "a,b\nx,0.5\n,1.0\n"),
            ("t.tsv", "a\tb\nx\t0.5\n\t1.0\n"),
            ("t.jsonl", '{"a": "x", "b": 0.5}\n{"a": null, "b": 1.0}\n'),
            ("t.json", '[\n{"a": "x", "b": 0.5},\n{"a": null, "b": 1.0}\n]\n'),
        ):
            write_file(frame, tmp_path / name)
            assert (tmp_path / name).read_bytes() == expected.encode()
            for ending, unpacked in ((".gz", gzip), (".bz2", bz2), (".xz", lzma)):
                path = tmp_path / f"{name}{ending}"
                write_file(frame, path)
                assert unpacked.decompress(path.read_bytes()) == expected.encode()

    def test_delimiter_and_decimal_mark_of_the_input(self, tmp_path: Path) -> None:
        for text, name, expected in (
            ("a;b\n1,5;x\n", "o.csv", "a;b;p\n1,5;x;0,25\n"),
            ("a;b\n1.5;x\n", "o.csv", "a;b;p\n1.5;x;0.25\n"),
            ("a|b\n1.5|x\n", "o.csv", "a|b|p\n1.5|x|0.25\n"),
            ("a;b\n1,5;x\n", "o.tsv", "a\tb\tp\n1,5\tx\t0,25\n"),
            ("a\tb\n1,5\tx\n", "o.csv", "a\tb\tp\n1,5\tx\t0,25\n"),
            ("a,b\n1.5,x;y\n", "o.csv", "a,b,p\n1.5,x;y,0.25\n"),
        ):
            table = table_of(tmp_path / "t.csv", text)
            write_file(table.frame.assign(p=[0.25]), tmp_path / name, table)
            assert (tmp_path / name).read_text() == expected
        (tmp_path / "t.tsv").write_text("a\tb\n1,5\tx;y\n")
        write_file(
            read_file(tmp_path / "t.tsv").frame, tmp_path / "o.csv", read_file(tmp_path / "t.tsv")
        )
        assert (tmp_path / "o.csv").read_text() == 'a;b\n1,5;"x;y"\n'

    def test_texts_become_numbers_and_dates(self, tmp_path: Path) -> None:
        text = (
            "count;size;code;day;time;mixed;long;huge;either;price\n"
            "1;1,5;007;31.12.2024;31.12.2024 10:30;1;12345678901234567890;1e999;1/2/2024;$ 1.000\n"
            "NA;2;008;01.01.2025;;x;1;2;2/3/2024;$ 5\n"
        )
        table = table_of(tmp_path / "t.csv", text)
        expected = {
            "count": [1, None],
            "size": [1.5, 2.0],
            "code": ["007", "008"],
            "day": [datetime.date(2024, 12, 31), datetime.date(2025, 1, 1)],
            "time": [datetime.datetime(2024, 12, 31, 10, 30), None],
            "mixed": ["1", "x"],
            "long": ["12345678901234567890", "1"],
            "huge": ["1e999", "2"],
            "either": ["1/2/2024", "2/3/2024"],  # the order of day and month is a guess
            "price": ["$ 1.000", "$ 5"],  # numbers would lose the currency
            "p": [0.25, 0.5],
        }
        frame = table.frame.assign(p=expected["p"])
        write_file(frame, tmp_path / "o.parquet", table)
        found = pq.read_table(tmp_path / "o.parquet")
        assert found.to_pydict() == expected
        assert pa.types.is_integer(found.schema.field("count").type)
        write_file(frame, tmp_path / "o.feather", table)
        assert pa.ipc.open_file(tmp_path / "o.feather").read_all().to_pydict() == expected
        write_file(frame, tmp_path / "o.jsonl", table)
        records = [json.loads(line) for line in (tmp_path / "o.jsonl").read_text().splitlines()]
        assert records[0] == {
            **{name: values[0] for name, values in expected.items()},
            "day": "2024-12-31",
            "time": "2024-12-31 10:30:00",
        }
        write_file(frame, tmp_path / "o.xlsx", table)
        rows = list(openpyxl.load_workbook(tmp_path / "o.xlsx").active.values)
        assert rows[0] == tuple(expected)
        midnight = [datetime.datetime.combine(day, datetime.time()) for day in expected["day"]]
        by_row = zip(*(expected | {"day": midnight}).values(), strict=True)
        assert rows[1:] == list(by_row)

    def test_standard_output(
        self, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
    ) -> None:
        for name, expected in (
            ("t.csv", b"a\n1\n"),
            ("t.jsonl", b'{"a": "1"}\n'),
            ("t.json", b'{"a": "1"}\n'),
            ("t.parquet", b"a\n1\n"),
            ("t.xlsx", b"a\n1\n"),
        ):
            write_file(pd.DataFrame({"a": ["1"]}), tmp_path / name)
            table = read_file(tmp_path / name)
            write_file(table.frame, "-", table)
            assert capfdbinary.readouterr().out == expected, name
        write_file(pd.DataFrame({"a": [1], "b": [2]}), tmp_path / "t.tsv")
        table = read_file(tmp_path / "t.tsv")
        write_file(table.frame, "-", table)
        assert capfdbinary.readouterr().out == b"a\tb\n1\t2\n"
        pipe = tmp_path / "pipe"
        os.mkfifo(pipe)
        with ThreadPoolExecutor() as pool:
            read = pool.submit(pipe.read_bytes)
            write_file(table.frame, pipe, table)
            assert read.result() == b"a\tb\n1\t2\n"

    def test_text_to_standard_output_of_another_encoding(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        sink = io.BytesIO()
        monkeypatch.setattr("sys.stdout", io.TextIOWrapper(sink, "ascii", newline="\r\n"))
        write_file(pd.DataFrame({"a": ["grün"]}), "-")
        assert sink.getvalue() == "a\ngrün\n".encode()

    @each("ending", TYPED)
    def test_a_failure_leaves_the_old_file(self, ending: str, tmp_path: Path) -> None:
        path = tmp_path / f"t{ending}"
        path.write_text("old")
        frame = pd.DataFrame({"a": [1, "x", object()]})
        with pytest.raises((pa.ArrowException, TypeError)):
            write_file(frame, path)
        assert path.read_text() == "old"
        assert list(tmp_path.iterdir()) == [path]


class TestExcel:
    def test_texts_are_not_formulas(self, tmp_path: Path) -> None:
        texts = ["=1+1", "=HYPERLINK(1)", "#N/A", "+1", "@x", "'x", " x ", "TRUE", "2024-01-01"]
        write_file(pd.DataFrame({"=a": texts}), tmp_path / "t.xlsx")
        sheet = openpyxl.load_workbook(tmp_path / "t.xlsx").active
        cells = [row[0] for row in sheet.iter_rows()]
        assert [cell.value for cell in cells] == ["=a", *texts]
        assert {cell.data_type for cell in cells} == {"s"}

    def test_what_excel_would_change_is_text(self, tmp_path: Path) -> None:
        frame = pd.DataFrame(
            {
                "digits": [1234567890123456, 1],
                "old": [datetime.date(1850, 1, 1), None],
                "zone": pd.to_datetime(["2024-01-01T10:00Z", "2024-01-02T10:00Z"]),
                "price": [Decimal("1.50"), None],
                "empty": [np.nan, 0.5],
            }
        )
        write_file(frame, tmp_path / "t.xlsx")
        rows = list(openpyxl.load_workbook(tmp_path / "t.xlsx").active.values)
        assert rows[1] == (
            "1234567890123456",
            "1850-01-01",
            "2024-01-01 10:00:00+00:00",
            1.5,
            None,
        )

    def test_limits(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        path = tmp_path / "t.xlsx"
        for frame, message in (
            (
                pd.DataFrame({"a": np.zeros(1_048_576)}),
                "at most 1048576 rows and 16384 columns",
            ),
            (pd.DataFrame(np.zeros((1, 16_385))).add_prefix("c"), "and 16384 columns"),
            (pd.DataFrame({"a": ["x" * 32_768]}), "at most 32767 characters"),
            (pd.DataFrame({"a": ["\x01"]}), "without control characters"),
        ):
            with pytest.raises(ValueError, match=f"{message}.*; write CSV or Parquet"):
                write_file(frame, path)
        monkeypatch.setitem(records.__dict__, "_MOST_ROWS", 3)
        write_file(pd.DataFrame({"a": [1, 2]}), path)
        assert read_file(path).frame["a"].tolist() == [1, 2]


@each("marks", [",.", ";,", "\t."])
def test_arrow_writes_what_pandas_writes(marks: str, monkeypatch: pytest.MonkeyPatch) -> None:
    delimiter, decimal = marks
    monkeypatch.setattr(writing, "_ROWS", 4)
    numbers = [0.0, -0.0, 1.0, 9.9e-5, 1e15, 1e16, np.nan, np.inf, -1 / 3, 1e-6, 0.5, 2.0]
    cells = ["a", "", "1.0", None, 'q"q', "x,y", "x;y", "x\ty", "l\nm", " b ", "é", "NA"]
    for number in range(5):
        texts = [cells[(3 * number + place) % 12] for place in range(12)]
        columns = {
            "float, 64": numbers,
            "integer": range(-6, 6),
            "nullable": pd.array([None, 10**17 + 1] * 6, dtype=pd.ArrowDtype(pa.int64())),
            "plain": pd.array(["a", None, ""] * 4, dtype=pd.ArrowDtype(pa.string())),
            "texts": pd.array(texts, dtype=pd.ArrowDtype(pa.string())),
        }
        for names in (["float, 64", "integer", "plain"], ["texts"], list(columns)):
            frame = pd.DataFrame(columns)[names]
            style: Any = {"sep": delimiter, "decimal": decimal, "lineterminator": "\n"}
            style["index"] = False
            written = writing._header(frame, style) + writing._delimited(frame, style)
            assert written.decode() == frame.to_csv(**style)


def _characters(*excluded: str) -> st.SearchStrategy[str]:
    return st.characters(codec="utf-8", exclude_characters=excluded)


TEXTS = st.text(_characters("\0"), min_size=1, max_size=8)
CONTROL = "".join(map(chr, [*range(9), 11, 12, *range(14, 32), 0xFFFE, 0xFFFF, 13]))
PLAIN = st.text(_characters(*CONTROL), min_size=1, max_size=8)
NUMBERS = st.integers(-(2**63), 2**63 - 1)
FLOATS = st.floats(allow_nan=False, allow_infinity=False)


def _same(frame: pd.DataFrame, path: Path) -> None:
    write_file(frame, path)
    found = read_file(path).frame
    assert found.columns.tolist() == frame.columns.tolist()
    for name in frame:
        expected = [None if pd.isna(value) else value for value in frame[name]]
        assert [None if pd.isna(value) else value for value in found[name]] == expected, path


@pytest.mark.parametrize(
    "frame",
    [{"a;b;c": ["u;v;w"], "d": ["e"]}, {"|": ["|"], "| 2": ["|"]}, {"a|b": ["1;2|3"], "c": ["4"]}],
    ids=str,
)
def test_other_delimiters_in_names_and_cells(frame: dict[str, list[str]], tmp_path: Path) -> None:
    for ending in (".csv", ".tsv"):
        _same(pd.DataFrame(frame), tmp_path / f"t{ending}")


@each("ending", ENDINGS)
@settings(
    max_examples=max(25, settings().max_examples),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(data=st.data())
def test_what_is_written_is_read(ending: str, tmp_path: Path, data: st.DataObject) -> None:
    texts = PLAIN if ending == ".xlsx" else TEXTS
    n = data.draw(st.integers(1, 4))

    def column(values: st.SearchStrategy[Any]) -> list[Any]:
        return data.draw(st.lists(st.none() | values, min_size=n, max_size=n))

    name = data.draw(texts)
    first = [value or "x" for value in column(texts)]  # a row of empty cells is not a row
    columns: dict[str, Any] = {name: first, f"{name} 2": column(texts)}
    if ending in TYPED and ending != ".xlsx":
        columns["numbers"] = pd.array(column(NUMBERS), dtype="Int64")
        columns["floats"] = pd.array(column(FLOATS), dtype="Float64")
        columns["truths"] = pd.array(column(st.booleans()), dtype="boolean")
    elif ending == ".xlsx":
        columns["numbers"] = pd.array(column(st.integers(1 - 10**15, 10**15 - 1)), dtype="Int64")
        columns["truths"] = pd.array(column(st.booleans()), dtype="boolean")
    _same(pd.DataFrame(columns), tmp_path / f"t{ending}")
