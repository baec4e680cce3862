"""Column names: sheets, titles, merged cells, repeated names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import openpyxl
import pytest

from lowrankgcn.files import TableFile, read_file
from lowrankgcn.files.header import find_header
from tests.cli.commands import call

DATA = [["a", 1, 2.5], ["b", 3, 4.5], ["c", 5, 6.5]]
PLAIN = ["name", "low", "high"]
GROUPS = [["name", "size", None], [None, "low", "high"]]


def written(folder: Path, rows: list[list[Any]], kind: str) -> Path:
    """Return a file with these rows, padded or ragged."""
    path = folder / f"t.{kind.partition('-')[0]}"
    if kind == "xlsx":
        book = openpyxl.Workbook()
        for row in rows:
            book.active.append(row)
        book.save(path)
        return path
    width = max(map(len, rows)) if kind == "csv-padded" else 0
    padded = ([*row, *[None] * (width - len(row))] for row in rows)
    lines = (",".join("" if cell is None else str(cell) for cell in row) for row in padded)
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize("kind", ["xlsx", "csv", "csv-padded"])
def test_where_the_names_are(kind: str, tmp_path: Path) -> None:
    """Titles and merged cells, each with a note."""
    for rows, names, note in (
        ([PLAIN], PLAIN, None),
        ([["Prices 2024"], [], PLAIN], PLAIN, " 3, below titles"),
        ([["Prices"], ["made on 2024-01-02"], PLAIN], PLAIN, " 3, below titles"),
        (GROUPS, ["name", "size low", "size high"], "s 1 and 2, with merged cells"),
        ([["Prices"], *GROUPS], ["name", "size low", "size high"], "s 2 and 3, below titles"),
    ):
        path = written(tmp_path, [*rows, *DATA], kind)
        table = read_file(path)
        assert table.frame.columns.tolist() == names, rows
        assert list(map(str, table.frame.iloc[0])) == ["a", "1", "2.5"]
        assert len(table.frame) == 3
        what = "row" if kind == "xlsx" else "line"
        expected = note and f"the column names are in {what}{note}"
        assert [text.partition(" (")[0] for text in table.notes] == ([expected] if note else [])


def test_rows_that_are_no_titles() -> None:
    """The first row has the names in all doubtful cases."""
    for rows in (
        [["a", "b"], ["1", "2", "3"], ["1", "2", "3"]],
        [["a"], ["x", "y"], ["u", "v"]],
        [["", "a", "b"], ["r1", "x", "y"], ["r2", "x", "z"]],
        [["name", ""], ["x", "1"], ["y", "2"]],
        [["id", None, "value"], ["A", "foo", "NA"], ["B", "bar", "3"]],
        [["text"], ["hello, you"], ["x"]],
        [["a", "b", "c"]],
    ):
        assert find_header(rows) == (0, 0, rows[0])


def test_lines_are_counted_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("Prices\n\nname,low,high\na,1,2\nb,3\n")
    with pytest.raises(ValueError, match="line 5: expected 3 cells, as in the header, got 2"):
        read_file(path)
    path.write_text("x\ny,z\nname,low\na,1\n")
    assert read_file(path, header_row=3).frame.columns.tolist() == ["name", "low"]
    with pytest.raises(ValueError, match="--header-row: expected a line with column names, got 9"):
        read_file(path, header_row=9)


@pytest.mark.parametrize("kind", ["xlsx", "csv", "parquet"])
def test_repeated_names(kind: str, tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = tmp_path / "t.parquet"
    if kind == "parquet":
        pq.write_table(pa.table([[1], [2], [3]], names=["a", "b", "a"]), path)
    else:
        path = written(tmp_path, [["a", "b", "a"], [1, 2, 3]], kind)
    table = read_file(path)
    assert table.frame.columns.tolist() == ["a", "b", "a.1"]
    assert table.notes == ("column names repeat: another 'a' is called 'a.1'",)


def test_sheets(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, book = tmp_path / "t.xlsx", openpyxl.Workbook()
    book.active.title = "About"
    book.active.append(["written", "by"])
    book.active.append(["2024", "me"])
    sheet = book.create_sheet("The data")
    for row in [["kind", *PLAIN], *([("x", "y", None)[k % 3], *row] for k, row in enumerate(DATA))]:
        sheet.append(row)
    book.save(path)

    def names(table: TableFile) -> list[str]:
        return table.frame.columns.tolist()

    assert names(read_file(path)) == ["written", "by"]
    for sheet in ("The data", "2", 2):
        table = read_file(path, sheet=sheet)
        assert names(table) == ["kind", *PLAIN] and not table.notes
    book.active.delete_rows(2)
    book.save(path.with_name("cover.xlsx"))
    with pytest.raises(ValueError, match="got none; --sheet reads one of 'About', 'The data'"):
        read_file(path.with_name("cover.xlsx"))
    with pytest.raises(ValueError, match="--sheet: expected 'About', 'The data' or a number"):
        read_file(path, sheet="3")
    assert call("classify", str(path), "--target", "kind") == 2
    error = capsys.readouterr().err
    assert "the sheets are 'About', 'The data'; --sheet 'The data' has it" in error
    assert len(error.splitlines()) == 1
    assert call("classify", str(path), "--target", "kind", "--sheet", "2", "--json") == 0
    with pytest.raises(ValueError, match="--sheet: only for Excel"):
        read_file(written(tmp_path, DATA, "csv"), sheet="2")
