"""Reading and writing tables; clear errors for files that are not tables."""

from __future__ import annotations

import datetime
import io
import re
from decimal import Decimal
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lowrankgcn.files import read_file, write_file
from tests.files.malformed import GOOD, UNREADABLE, parquet


def frame_of(path: Path, data: bytes | str, **options: str) -> pd.DataFrame:
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return read_file(path, **options).frame


class TestMalformed:
    def test_errors_are_one_line_with_the_file_name(self, tmp_path: Path) -> None:
        for case, (name, data, expected) in UNREADABLE.items():
            path = tmp_path / name
            path.write_bytes(data)
            with pytest.raises(ValueError) as caught:
                read_file(path)
            message = str(caught.value)
            assert message.startswith(f"{path}: "), case
            assert expected in message, case
            assert len(message.splitlines()) == 1, case

    def test_errors_of_the_operating_system(self, tmp_path: Path) -> None:
        with pytest.raises(FileNotFoundError):
            read_file(tmp_path / "nothing.csv")
        with pytest.raises(IsADirectoryError):
            read_file(tmp_path)

    def test_encoding(self, tmp_path: Path) -> None:
        for encoding in ("nothing-like-it", "hex", "rot13"):
            with pytest.raises(ValueError, match="encoding: expected a text encoding"):
                frame_of(tmp_path / "t.csv", GOOD, encoding=encoding)

    def test_format(self, tmp_path: Path) -> None:
        with pytest.raises(ValueError, match="format: expected one of"):
            read_file(tmp_path / "t.csv", "xlsx")  # type: ignore[arg-type]

    def test_delimiter_and_decimal(self, tmp_path: Path) -> None:
        for options, message in (
            ({"delimiter": ""}, "delimiter: expected one ASCII character, got ''"),
            ({"delimiter": "::"}, "delimiter: expected one ASCII character"),
            ({"delimiter": "§"}, "delimiter: expected one ASCII character"),
            ({"delimiter": '"'}, "delimiter: expected one ASCII character"),
            ({"decimal": ";"}, "decimal: expected one of '.', ',', got ';'"),
        ):
            with pytest.raises(ValueError, match=re.escape(message)):
                frame_of(tmp_path / "t.csv", GOOD, **options)
        for option in ("encoding", "delimiter"):
            with pytest.raises(ValueError, match=f"{option}: only for text, got Parquet data"):
                frame_of(tmp_path / "t.csv", parquet({"a": [1]}), **{option: ","})

    def test_addresses(self) -> None:
        for address in (
            "https://example.org/table.csv",
            "s3://bucket/table.parquet",
            Path("http://example.org/table.csv"),
            ["file:///table.csv"],
        ):
            with pytest.raises(ValueError, match="expected a file, got a URL; download it first"):
                read_file(address)


class TestText:
    def test_one_table_in_several_formats(self, tmp_path: Path) -> None:
        for name, data, delimiter in (
            ("t.csv", b"size,kind\n1.5,a\n2.5,\n", ","),
            ("t.csv", b"size;kind\n1.5;a\n2.5;\n", ";"),
            ("t.csv", b"size\tkind\n1.5\ta\n2.5\t\n", "\t"),
            ("t.tsv", b"size\tkind\n1.5\ta\n2.5\t\n", "\t"),
            ("t.txt", b"size|kind\n1.5|a\n2.5|\n", "|"),
            ("t", b"size,kind\r\n1.5,a\r\n2.5,\r\n", ","),
            ("t.csv", b"size,kind\r1.5,a\r2.5,\r", ","),
            ("t.csv", b"\xef\xbb\xbfsize,kind\n1.5,a\n2.5,", ","),
            ("t.csv", b'"size","kind"\n"1.5","a"\n"2.5",""\n', ","),
            ("t.csv", b"\nsize,kind\n\n1.5,a\n2.5,\n\n", ","),
            ("t.csv", "size,kind\n1.5,a\n2.5,\n".encode("utf-16"), ","),
            ("t.csv", "size,kind\n1.5,a\n2.5,\n".encode("utf-32"), ","),
        ):
            path = tmp_path / name
            path.write_bytes(data)
            table = read_file(path)
            assert table.delimiter == delimiter, data
            assert table.frame["size"].tolist() == ["1.5", "2.5"], data
            assert table.frame["kind"].fillna("none").tolist() == ["a", "none"], data

    def test_cells_keep_their_spelling(self, tmp_path: Path) -> None:
        cells = ["007", "1.50", "NA", "null", "1e3", " x ", "TRUE", "2024-02-30", "9" * 40, "-0"]
        data = "cell,more\n" + "".join(f"{cell},x\n" for cell in cells)
        frame = frame_of(tmp_path / "t.csv", data)
        assert frame["cell"].tolist() == cells
        write_file(frame, tmp_path / "again.csv")
        assert (tmp_path / "again.csv").read_text() == data

    def test_delimiters_quotes_and_newlines_in_cells(self, tmp_path: Path) -> None:
        data = 'a,b\n"x,y","say ""hi"""\n"two\nlines",5" pipe\n'
        frame = frame_of(tmp_path / "t.csv", data)
        assert frame["a"].tolist() == ["x,y", "two\nlines"]
        assert frame["b"].tolist() == ['say "hi"', '5" pipe']
        write_file(frame, tmp_path / "again.csv")
        pd.testing.assert_frame_equal(read_file(tmp_path / "again.csv").frame, frame)

    def test_a_delimiter_in_a_quoted_name(self, tmp_path: Path) -> None:
        frame = frame_of(tmp_path / "t.csv", '"a,b,c";d\n1;2\n')
        assert frame.columns.tolist() == ["a,b,c", "d"]

    def test_delimiter_and_decimal_mark_are_detected(self, tmp_path: Path) -> None:
        for text, delimiter, decimal in (
            ("a;b\n1,5;2\n2;x\n", ";", ","),
            ("a;b\n1.5;2\n2;x\n", ";", "."),
            ("a;b\n1;2\n2;x\n", ";", ","),  # where semicolons are usual, so are commas
            ("a;b\n1,5;2.5\n2;0.5\n", ";", ","),  # points are allowed as well
            ("a;b\n1,234;2.5\n12,345;0.5\n", ";", "."),  # thousands
            ("a;b\n1,2 or 3;x\n", ";", ","),
            ("a;b\n1,2 or 3;0.5\n", ";", "."),
            ("a\tb\n1,5\t2\n2\tx\n", "\t", ","),
            ("a\tb\n1\t2\n2\tx\n", "\t", "."),
            ("a\tb\n1,234\t2\n", "\t", "."),
            ("a|b\n-0,5e3|NA\nNA|1\n", "|", ","),
            ('a,b\n"1,5",2\n', ",", "."),
        ):
            (tmp_path / "t.csv").write_text(text)
            table = read_file(tmp_path / "t.csv")
            assert (table.delimiter, table.decimal, table.format) == (delimiter, decimal, "csv")

    def test_first_line_with_the_delimiter(self, tmp_path: Path) -> None:
        for first in ("sep=;\n", "sep=;\r\n", '"sep=;"\n'):
            (tmp_path / "t.csv").write_text(f"{first}a,b;c\n1,5;2\n")
            table = read_file(tmp_path / "t.csv")
            assert (table.frame.columns.tolist(), table.delimiter) == (["a,b", "c"], ";")
        (tmp_path / "t.csv").write_text("sep=;\na;b\n1;2;3\n")
        with pytest.raises(ValueError, match="line 3: expected 2 cells"):
            read_file(tmp_path / "t.csv")

    def test_a_late_decimal_comma(self, tmp_path: Path) -> None:
        (tmp_path / "t.csv").write_text("a;b\n" + "1;0.5\n" * 5000 + "1,5;0.5\n")
        assert read_file(tmp_path / "t.csv").decimal == ","

    def test_delimiter_and_decimal_mark_are_given(self, tmp_path: Path) -> None:
        (tmp_path / "t.csv").write_text('a,b;c\n"1,5",2;3\n')
        table = read_file(tmp_path / "t.csv", delimiter=",", decimal=",")
        assert (table.frame.columns.tolist(), table.decimal) == (["a", "b;c"], ",")
        for tab in ("\t", "\\t", "tab"):
            assert read_file(tmp_path / "t.csv", delimiter=tab).delimiter == "\t"
        (tmp_path / "t.tsv").write_text("a b\n1 2\n")
        assert read_file(tmp_path / "t.tsv", delimiter=" ").frame["b"].tolist() == ["2"]

    def test_text_that_is_not_utf8(self, tmp_path: Path) -> None:
        path = tmp_path / "t.csv"
        path.write_bytes("größe;x\n«grün» – 5 €;1\n".encode("cp1252"))
        table = read_file(path)
        assert table.frame["größe"].tolist() == ["«grün» – 5 €"]
        assert table.encoding == "cp1252"
        assert [note[:40] for note in table.notes] == ["the text is not UTF-8 and was read as cp"]
        path.write_bytes("grün;x\n1;2\n".encode("cp437"))  # 0x81, which cp1252 does not have
        with pytest.raises(ValueError, match="expected text in UTF-8, got the byte 0x81"):
            read_file(path)
        assert read_file(path, encoding="cp437").frame.columns[0] == "grün"
        assert read_file(path, encoding="cp437").notes == ()

    def test_another_encoding(self, tmp_path: Path) -> None:
        frame = frame_of(
            tmp_path / "t.csv", "farbe;x\ngrün;1\n".encode("cp1252"), encoding="cp1252"
        )
        assert frame["farbe"].tolist() == ["grün"]

    def test_a_long_cell(self, tmp_path: Path) -> None:
        frame = frame_of(tmp_path / "t.csv", f"a,b\n{'x' * 2_000_000},1\n")
        assert len(frame["a"][0]) == 2_000_000

    def test_a_long_name(self, tmp_path: Path) -> None:
        frame = frame_of(tmp_path / "t.csv", f"{'x' * 200_000},b\n007,1\n")
        assert frame.iloc[0].tolist() == ["007", "1"]

    def test_standard_input(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for data, format in [(GOOD.encode(), "csv"), (parquet({"a": [1]}), "parquet")]:
            monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))
            table = read_file("-")
            assert (table.format, table.name) == (format, "standard input")


class TestParquet:
    def test_types_are_kept(self, tmp_path: Path) -> None:
        columns = {
            "integers": pa.array([1, None], pa.int64()),
            "small": pa.array([1, None], pa.uint8()),
            "texts": ["007", None],
            "truths": [True, None],
            "dates": [datetime.date(2024, 1, 31), None],
            "times": pa.array(
                [datetime.datetime(2024, 1, 31, 12), None], pa.timestamp("us", "UTC")
            ),
            "prices": [Decimal("1.50"), None],
            "categories": pa.array(["x", None]).dictionary_encode(),
            "numbers": [0.1, None],
            "nothing": pa.nulls(2),
        }
        path, again = tmp_path / "t.parquet", tmp_path / "again.parquet"
        pq.write_table(pa.table(columns), path)
        write_file(read_file(path).frame, again)
        assert pq.read_table(again).equals(pq.read_table(path))

    def test_an_index_is_a_column(self, tmp_path: Path) -> None:
        path = tmp_path / "t.parquet"
        pd.DataFrame({"a": [1, 2]}, index=["x", "y"]).to_parquet(path)
        assert read_file(path).frame.columns.tolist() == ["a", "__index_level_0__"]

    def test_format_is_detected_by_content(self, tmp_path: Path) -> None:
        path = tmp_path / "t.csv"
        path.write_bytes(parquet({"a": [1]}))
        assert read_file(path).format == "parquet"
