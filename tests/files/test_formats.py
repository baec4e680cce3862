"""Compressed files, JSON, Arrow, Excel, and several files as one table."""

from __future__ import annotations

import bz2
import datetime
import gzip
import io
import lzma
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from lowrankgcn.files import choose_columns, delimited, read_file
from lowrankgcn.tables import Cells
from lowrankgcn.tables.texts import TextColumn
from tests.files.malformed import GOOD

PACKED = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": lambda data: pa.compress(data, "zstd", asbytes=True),
}


def workbook(rows: list[list[Any]], *others: str) -> bytes:
    """A workbook with these rows in its first sheet."""
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    for title in others:
        book.create_sheet(title).append(["other"])
    sink = io.BytesIO()
    book.save(sink)
    return sink.getvalue()


def replaced(data: bytes, member: str, old: bytes, new: bytes) -> bytes:
    """An archive with a part of a member replaced."""
    sink = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as source, zipfile.ZipFile(sink, "w", 8) as target:
        for part in source.infolist():
            text = source.read(part)
            if part.filename == member:
                assert old in text
                text = text.replace(old, new)
            target.writestr(part.filename, text)
    return sink.getvalue()


def read(path: Path, data: bytes) -> Any:
    path.write_bytes(data)
    return read_file(path)


class TestCompression:
    @pytest.mark.parametrize("ending", PACKED)
    def test_by_name_and_by_content(self, ending: str, tmp_path: Path) -> None:
        data = PACKED[ending](GOOD.encode())
        for name, format in (("t.csv" + ending, "csv"), ("t.CSV", "csv"), ("t", "csv")):
            table = read(tmp_path / name, data)
            assert (table.format, table.frame["size"].tolist()) == (format, ["1.5", "2.5", "3.5"])
        tabs = PACKED[ending](GOOD.replace(",", "\t").encode())
        assert read(tmp_path / f"t.tsv{ending}", tabs).format == "tsv"

    def test_standard_input(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for pack in PACKED.values():
            data = io.BytesIO(pack(GOOD.encode()))
            monkeypatch.setattr("sys.stdin", io.TextIOWrapper(data))
            assert read_file("-").frame["colour"].tolist() == ["red", "blue", "red"]

    def test_several_members(self, tmp_path: Path) -> None:
        head, tail = GOOD[:20].encode(), GOOD[20:].encode()
        for pack in PACKED.values():
            assert len(read(tmp_path / "t.csv.gz", pack(head) + pack(tail)).frame) == 3

    def test_other_formats(self, tmp_path: Path) -> None:
        pq.write_table(pa.table({"a": [1, 2]}), tmp_path / "t.parquet")
        packed = gzip.compress((tmp_path / "t.parquet").read_bytes())
        assert read(tmp_path / "t.parquet.gz", packed).format == "parquet"
        assert read(tmp_path / "t.jsonl.gz", gzip.compress(b'{"a": 1}')).format == "jsonl"

    @pytest.mark.parametrize("ending", PACKED)
    def test_a_bomb(self, ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(delimited, "_SMALL", 2**20)
        bomb = PACKED[ending](b"a,b\n" + b"0,0\n" * 2**21)
        with pytest.raises(ValueError, match=r"at most .* unpacked bytes, got more; unpack"):
            read(tmp_path / f"t.csv{ending}", bomb)


class TestJson:
    def test_lines_and_arrays(self, tmp_path: Path) -> None:
        lines = b'{"a": 1, "b": "x", "c": true}\n\n{"a": 2.5, "c": null, "d": "007"}\n'
        array = b'[{"a": 1, "b": "x", "c": true},\n {"a": 2.5, "c": null, "d": "007"}]'
        for name, data in (
            ("t.jsonl", lines),
            ("t.ndjson", lines),
            ("t.json", lines),
            ("t.json", array),
            ("t.jsonl", array),
            ("t", lines),
            ("t", array),
            ("t.json", "﻿".encode() + array),
            ("t.json", array.decode().encode("utf-16")),
        ):
            table = read(tmp_path / name, data)
            found = table.frame.astype(object).where(table.frame.notna(), None)
            assert found.to_dict("list") == {
                "a": [1.0, 2.5],
                "b": ["x", None],
                "c": [True, None],
                "d": [None, "007"],
            }
            assert table.format == ("json" if name == "t.json" else "jsonl")

    def test_types(self, tmp_path: Path) -> None:
        data = (
            b'{"n": 1, "t": "2024-01-31", "m": 1, "u": "\\ud800", "big": 123456789012345678901}\n'
            b'{"n": 2, "t": "2024-02-01T10:00:00", "m": "NA", "u": "x", "big": 1}\n'
            b'{"n": 3, "t": "2024-02-01", "m": 2.5, "u": "x", "big": 2}\n'
        )
        frame = read(tmp_path / "t.jsonl", data).frame
        assert frame["n"].tolist() == [1, 2, 3]
        assert frame["t"].tolist()[0] == "2024-01-31"  # texts stay as spelled
        assert frame["m"].tolist() == ["1", "NA", "2.5"]  # of several types: texts
        assert frame["u"].tolist()[0] == "?"
        assert frame["big"].tolist() == ["123456789012345678901", "1", "2"]
        frame["kind"] = ["a", "b", None]
        used = choose_columns(frame, "kind", drop=["u"]).used
        assert used == {"m": "number", "t": "date", "big": "number"}

    def test_many_lines(self, tmp_path: Path) -> None:
        lines = [f'{{"a": {i}, "b": "2024-01-{1 + i % 28:02}"}}\n' for i in range(200_000)]
        frame = read(tmp_path / "t.jsonl", "".join(lines).encode()).frame
        assert frame["a"].tolist() == list(range(200_000))
        assert frame["b"][5] == "2024-01-06"


class TestArrow:
    def test_files_and_streams(self, tmp_path: Path) -> None:
        columns = {
            "numbers": [1, None],
            "texts": pa.array(["x", "y"]).dictionary_encode(),
            "days": [datetime.date(2024, 1, 31), None],
        }
        table = pa.table(columns)
        paths = []
        for compression_name in ("uncompressed", "lz4", "zstd"):
            paths.append(tmp_path / f"{compression_name}.feather")
            pyarrow.feather.write_feather(table, paths[-1], compression=compression_name)
        paths.append(tmp_path / "t.arrow")
        with pa.ipc.new_stream(paths[-1], table.schema) as writer:
            writer.write_table(table)
        for path in paths:
            for name in (path, path.rename(path.with_suffix(".data"))):
                found = read_file(path if path.exists() else path.with_suffix(".data"))
                assert found.format == "arrow", name
                assert found.frame["numbers"].tolist()[0] == 1
                assert found.frame["texts"].tolist() == ["x", "y"]

    def test_invalid_arrays(self, tmp_path: Path) -> None:
        path, table = tmp_path / "t.arrow", pa.table({"a": ["x" * 999, "y" * 1]})
        with pa.ipc.new_stream(path, table.schema) as writer:
            writer.write_table(table)
        right, wrong = np.array([[0, 999, 1000], [0, 2**30, 1000]], np.int32)
        data = path.read_bytes()
        assert right.tobytes() in data
        path.write_bytes(data.replace(right.tobytes(), wrong.tobytes()))
        with pytest.raises(ValueError, match="not a valid Arrow file"):
            read_file(path)


class TestExcel:
    def test_gaps_in_the_header(self, tmp_path: Path) -> None:
        index = workbook([[None, "a"], [0, 1.5]])  # as pandas writes it
        assert read(tmp_path / "t.xlsx", index).frame.columns.tolist() == ["", "a"]
        gaps = workbook([["a", None, None, "b"], [0, None, None, 1]])
        assert read(tmp_path / "t.xlsx", gaps).frame.columns.tolist() == ["a", "b"]

    def test_formulas_with_and_without_results(self, tmp_path: Path) -> None:
        data = workbook([["a", "b"], [1, "=A2*2"], [2, "=A3*2"]])
        table = read(tmp_path / "t.xlsx", data)
        assert table.frame["b"].isna().all()
        assert table.notes[0].startswith("formulas without a stored result, taken as missing: 2; ")
        sheet, cell = "xl/worksheets/sheet1.xml", b'<c r="B2"><f>A2*2</f><v />'
        if cell not in zipfile.ZipFile(io.BytesIO(data)).read(sheet):
            cell = b'<c r="B2"><f>A2*2</f><v/>'
        for new, n_lost in (
            (b'<c r="B2"><f>A2*2</f><v>2</v>', 1),
            (b'<c r="B2" t="str"><f>A2*2</f><v></v>', 1),  # an empty text
            (b'<c r="B2"><f t="shared" si="0"/><v></v>', 2),
            (b'<c r="B2"><f>A2*2</f>', 2),
        ):
            notes = read(tmp_path / "t.xlsx", replaced(data, sheet, cell, new)).notes
            assert f"taken as missing: {n_lost};" in notes[0], new

    def test_types(self, tmp_path: Path) -> None:
        day, time = datetime.datetime(2024, 1, 31), datetime.datetime(2024, 1, 31, 10, 30)
        rows = [
            [],
            ["id", "size", "on", "day", "time", "text", 2024, "mixed", "none"],
            [1, 1.5, True, day, time, "007", 5, 3, None],
            [],
            [2, 2, False, None, day, "=1+1", 6, "NA", None],
            [3, "#DIV/0!", None, day, None, "", 7, 2.5, None],
        ]
        data = workbook(rows)
        table = read(tmp_path / "t.xlsx", data)
        frame = table.frame
        assert table.format == "excel"
        assert frame.columns.tolist() == [*rows[1][:6], "2024", "mixed", "none"]
        assert str(frame["id"].dtype) == "int64[pyarrow]"
        assert frame["size"].tolist()[:2] == [1.5, 2.0]
        assert frame["size"].isna().tolist() == [False, False, True]
        assert str(frame["day"].dtype) == "date32[day][pyarrow]"
        assert frame["time"][0] == pd.Timestamp(time)
        assert frame["text"][0] == "007"
        assert frame["2024"].tolist() == [5, 6, 7]
        assert frame["mixed"].tolist() == ["3", "NA", "2.5"]
        assert frame["none"].isna().all()
        assert table.notes == (
            "cells with errors such as #N/A, taken as missing: 1",
            "formulas without a stored result, taken as missing: 1; "
            "open and save the file in Excel",
        )
        kinds = {name: TextColumn(Cells.read(frame[name], name)).kind for name in frame}
        assert kinds["mixed"] == "number"
        assert (kinds["on"], kinds["day"], kinds["time"]) == ("category", "date", "date")

    def test_the_first_sheet_is_read(self, tmp_path: Path) -> None:
        table = read(tmp_path / "t.xlsx", workbook([["a"], [1]], "more", "notes"))
        assert table.frame["a"].tolist() == [1]
        note = "sheet 'Sheet' was read; the workbook also has 'more', 'notes'"
        assert table.notes == (f"{note} (--sheet reads another one)",)

    def test_cached_values_of_formulas(self, tmp_path: Path) -> None:
        data = workbook([["a", "b"], [1, "=A2+1"]])
        data = replaced(data, "xl/worksheets/sheet1.xml", b"<v />", b"<v>2</v>")
        assert read(tmp_path / "t.xlsx", data).frame["b"].tolist() == [2]

    def test_a_table_beside_empty_cells(self, tmp_path: Path) -> None:
        frame = read(tmp_path / "t.xlsx", workbook([[], [None, "a", "b"], [None, 1, None]])).frame
        assert frame.columns.tolist() == ["a", "b"]
        data = workbook([[None, "a"], ["first", 1], ["second", 2, ""]])
        assert read(tmp_path / "t.xlsx", data).frame.columns.tolist() == ["", "a"]

    def test_unusable_workbooks(self, tmp_path: Path) -> None:
        plain, sheet = workbook([["a", "b"], [1, 2]]), "xl/worksheets/sheet1.xml"
        entity = b'<!DOCTYPE x [<!ENTITY e "eeeeeeeeee">]><worksheet'
        for data, message in (
            (workbook([]), "at least one row"),
            (workbook([["a", "b"]]), "at least one row"),
            (workbook([["a"], [1, 2, 3]]), "a name for every column .* got 'a' for 3 columns"),
            (plain[:-30], "not a valid Excel workbook"),
            (replaced(plain, sheet, b"<worksheet", entity), "not a valid Excel workbook: a decl"),
            (replaced(plain, sheet, b'r="2"', b'r="2000000000"'), "at most 1048576 rows"),
            (replaced(plain, sheet, b"</sheetData>", b""), "not a valid Excel workbook"),
            (replaced(plain, sheet, b"<v>1</v>", b"<v>one</v>"), "not a valid Excel workbook"),
        ):
            with pytest.raises(ValueError, match=message):
                read(tmp_path / "t.xlsx", data)

    def test_a_bomb(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(delimited, "_SMALL", 2**20)
        zeros = b"<!--" + b"0" * 2**24 + b"--></worksheet>"
        data = replaced(workbook([["a"], [1]]), "xl/worksheets/sheet1.xml", b"</worksheet>", zeros)
        with pytest.raises(ValueError, match=r"expected at most .* bytes in the workbook"):
            read(tmp_path / "t.xlsx", data)

    def test_without_openpyxl(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        data = workbook([["a"], [1]])
        monkeypatch.setitem(sys.modules, "openpyxl", None)
        with pytest.raises(ValueError, match=r"pip install 'lowrankgcn\[excel\]'"):
            read(tmp_path / "t.xlsx", data)


class TestSeveralFiles:
    def test_patterns_and_lists(self, tmp_path: Path) -> None:
        (tmp_path / "b.csv").write_text("kind,size\nx,3\n")
        (tmp_path / "a.csv").write_text("size,kind\n1,\n007,y\n")
        pattern = str(tmp_path / "*.csv")
        table = read_file(pattern)
        assert table.frame["size"].tolist() == ["1", "007", "3"]
        assert table.frame.columns.tolist() == ["size", "kind"]
        assert (table.name, len(table.paths)) == (pattern, 2)
        table = read_file([tmp_path / "b.csv", tmp_path / "a.csv"])
        assert table.frame["size"].tolist() == ["3", "1", "007"]
        assert table.name == f"{tmp_path / 'b.csv'} and 1 other file"
        assert read_file([tmp_path / "a.csv"]).name == str(tmp_path / "a.csv")

    def test_a_file_named_like_a_pattern(self, tmp_path: Path) -> None:
        (tmp_path / "t[1].csv").write_text("a\n1\n")
        (tmp_path / "t1.csv").write_text("a\n2\n")
        assert read_file(tmp_path / "t[1].csv").frame["a"].tolist() == ["1"]

    def test_formats_and_decimal_marks_may_differ(self, tmp_path: Path) -> None:
        (tmp_path / "a.csv").write_text("size;kind\n1.5;x\n")
        (tmp_path / "b.csv").write_text("size\tkind\n2,5\ty\n")
        (tmp_path / "c.csv").write_bytes(gzip.compress("size,kind\n3.5,ü\n".encode("cp1252")))
        table = read_file(tmp_path / "?.csv")
        columns = choose_columns(table.frame, "kind", decimal=table.decimal)
        features = columns.features(table.frame, decimal=table.decimal)
        assert features["size"].numbers.tolist() == [1.5, 2.5, 3.5]
        assert (table.delimiter, table.decimal, len(table.notes)) == (";", ",", 1)

    def test_types_are_promoted(self, tmp_path: Path) -> None:
        pq.write_table(pa.table({"a": [1, 2], "b": pa.nulls(2)}), tmp_path / "a.parquet")
        pq.write_table(pa.table({"b": ["x"], "a": [0.5]}), tmp_path / "b.parquet")
        frame = read_file(tmp_path / "*.parquet").frame
        assert frame["a"].tolist() == [1.0, 2.0, 0.5]
        assert frame["b"].tolist()[2] == "x"

    def test_differences(self, tmp_path: Path) -> None:
        first, other = tmp_path / "a.csv", tmp_path / "b.csv"
        first.write_text("size,kind\n1,x\n")
        for text, message in (
            ("size\n1\n", f"{other}: expected the columns of {first}, got no column 'kind'"),
            ("kind,size,n\nx,1,2\n", f"{other}: expected the columns of {first}, got a column 'n'"),
            ("size,kind\n1\n", f"{other}: line 2: expected 2 cells"),
        ):
            other.write_text(text)
            with pytest.raises(ValueError) as caught:
                read_file(tmp_path / "*.csv")
            assert str(caught.value).startswith(message)
        pq.write_table(pa.table({"size": [1], "kind": ["x"]}), other)
        with pytest.raises(
            ValueError, match=r"b.csv: expected the types of .*a.csv, got others: Field size has"
        ):
            read_file([first, other])

    def test_nothing(self, tmp_path: Path) -> None:
        with pytest.raises(FileNotFoundError, match="no file matches this pattern"):
            read_file(tmp_path / "*.csv")
        with pytest.raises(ValueError, match="path: expected at least one file, got none"):
            read_file([])
