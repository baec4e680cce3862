"""Excel workbooks, read and written with openpyxl."""

from __future__ import annotations

import datetime
import io
import re
import warnings
import zipfile
from typing import Any

import pyarrow as pa

from lowrankgcn._format import shorten
from lowrankgcn.files.decoding import largest_result
from lowrankgcn.files.records import as_column, as_days, as_text, python_values

MISSING = "Excel workbooks need openpyxl: pip install 'lowrankgcn[excel]'"

_MOST_ROWS, _MOST_COLUMNS, _LONGEST_TEXT = 1_048_576, 16_384, 32_767
_ERRORS = {"#NULL!", "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#N/A"}
_DECLARATION = b"<!DOCTYPE"  # never in a workbook; entities could grow without bound
# Formula cells without a value; that of a text formula may be an empty text.
_LOST = re.compile(
    rb"<(?:\w+:)?c\b(?![^>]*\bt=.str.)[^>]*>\s*<(?:\w+:)?f\b[^>]*(?:/>|>[^<]*</(?:\w+:)?f>)\s*"
    rb"(?:<(?:\w+:)?v\s*/>|<(?:\w+:)?v>\s*</|</(?:\w+:)?c>)"
)
_EXACT = 10**15  # Excel shows and keeps fifteen digits
_FIRST_DAY = datetime.datetime(1900, 3, 1)  # Excel counts a 29 February 1900
_UNWRITABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f]")  # not in XML
_ADVICE = "write CSV or Parquet"


def _openpyxl() -> Any:
    try:
        import openpyxl
    except ImportError:
        raise ValueError(MISSING) from None
    return openpyxl


def parse_excel(data: bytes) -> tuple[Any, list[str]]:
    """Parse the first sheet of a workbook as an Arrow table; also return notes.

    The first row that is not empty holds the column names. Formulas have the values that were saved
    with them. Errors such as #DIV/0! are missing cells.

    Raises
    ------
    ValueError
        If openpyxl is not installed, or the data are not a workbook, or are damaged.
    """
    load_workbook = _openpyxl().load_workbook
    try:
        with warnings.catch_warnings(), zipfile.ZipFile(io.BytesIO(data)) as archive:
            warnings.simplefilter("ignore")  # about formats and extensions, not about cells
            _check_archive(archive, largest_result(len(data)))
            book = load_workbook(io.BytesIO(data), read_only=True, data_only=True)
            sheet, *others = book.worksheets
            rows = list(_rows(sheet))
            path = getattr(sheet, "_worksheet_path", "")
            n_lost = len(_LOST.findall(archive.read(path))) if path in archive.namelist() else 0
    except _Refused:
        raise
    except Exception as error:  # zipfile and openpyxl raise errors of many types for damaged files
        raise ValueError(f"not a valid Excel workbook: {error or type(error).__name__}") from None
    names, *cells = rows or [[]]
    titles = ", ".join(repr(other.title) for other in others)
    n_errors = sum(value in _ERRORS for row in cells for value in row if isinstance(value, str))
    advice = "open and save the file in Excel"
    notes = {
        f"sheet {sheet.title!r} was read; the workbook also has {titles}": len(others),
        f"cells with errors such as #N/A, taken as missing: {n_errors}": n_errors,
        f"formulas without a stored result, taken as missing: {n_lost}; {advice}": n_lost,
    }
    return _table(names, cells), [note for note, count in notes.items() if count]


class _Refused(ValueError):
    """Error for a workbook that openpyxl reads, but that is refused."""


def _check_archive(archive: zipfile.ZipFile, limit: int) -> None:
    """Refuse an archive that is no workbook, has entities, or unpacks to more than `limit`."""
    parts = archive.infolist()
    if "xl/workbook.xml" not in archive.namelist():
        raise _Refused("expected an Excel workbook, got another zip archive; unpack it")
    if sum(part.file_size for part in parts) > limit:
        raise _Refused(f"expected at most {limit} bytes in the workbook, got more")
    for part in parts:
        if _DECLARATION in archive.read(part).replace(b"\0", b""):
            raise _Refused(f"not a valid Excel workbook: a declaration in {part.filename}")


def _rows(sheet: Any) -> Any:
    """Yield rows that are not empty, without the empty cells at their ends."""
    sheet.reset_dimensions()  # they may be wrong
    for number, row in enumerate(sheet.iter_rows(values_only=True), 1):
        if number > _MOST_ROWS:
            raise _Refused(f"expected at most {_MOST_ROWS} rows, got more")
        cells = list(row)
        while cells and (cells[-1] is None or cells[-1] == ""):
            cells.pop()
        if cells:
            yield cells


def _table(names: list[Any], rows: list[list[Any]]) -> Any:
    width = max(map(len, [names, *rows]))
    texts = ["" if name is None else as_text(name) for name in names]
    texts += [""] * (width - len(texts))
    columns, kept = [], []
    for place, name in enumerate(texts):
        cells = [row[place] if place < len(row) else None for row in rows]
        cells = [None if isinstance(c, str) and (not c or c in _ERRORS) else c for c in cells]
        if name or any(cell is not None for cell in cells):
            kept.append(name)
            columns.append(as_days(as_column(cells)))
    if (len(names) == 1 < len(kept)) or kept.count("") > 1:
        named = ", ".join(map(repr, filter(None, kept)))
        raise ValueError(
            "expected a name for every column in the first row that is not empty, got "
            f"{shorten(named)} for {len(kept)} columns; delete the rows above the column names"
        )
    return pa.table(columns, names=kept)


def write_excel(table: Any, sink: Any) -> None:
    """Write an Arrow table as the only sheet of a workbook; texts are never formulas.

    Raises
    ------
    ValueError
        If openpyxl is not installed, or a workbook cannot hold the table: too many rows or columns,
        too long texts, control characters.
    """
    openpyxl = _openpyxl()
    if table.num_rows >= _MOST_ROWS or table.num_columns > _MOST_COLUMNS:
        expected = f"at most {_MOST_ROWS} rows and {_MOST_COLUMNS} columns in a workbook"
        got = f"{table.num_rows + 1} and {table.num_columns}"
        raise ValueError(f"expected {expected}, got {got}; {_ADVICE}")
    columns = [
        [name, *(v if _keeps(v) else as_text(v) for v in python_values(table[name]))]
        for name in table.column_names
    ]
    for text in (cell for column in columns for cell in column if isinstance(cell, str)):
        if len(text) > _LONGEST_TEXT or _UNWRITABLE.search(text):
            expected = f"texts of at most {_LONGEST_TEXT} characters without control characters"
            raise ValueError(f"expected {expected} in a workbook, got another text; {_ADVICE}")
    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet("table")

    def cell_of(value: Any) -> Any:
        if not isinstance(value, str):
            return value
        cell = openpyxl.cell.WriteOnlyCell(sheet, value)
        cell.data_type = "s"  # openpyxl takes "=1+1" for a formula and "#N/A" for an error
        return cell

    for row in zip(*columns, strict=True):
        sheet.append([cell_of(value) for value in row])
    buffer = io.BytesIO()  # a full disk would leave an archive that cannot be closed
    book.save(buffer)
    sink.write(buffer.getvalue())


def _keeps(value: Any) -> bool:
    """Return whether Excel keeps a value; others are written as texts."""
    if isinstance(value, datetime.datetime):
        return value.tzinfo is None and value >= _FIRST_DAY
    if isinstance(value, datetime.date):
        return value >= _FIRST_DAY.date()
    return not isinstance(value, bytes) and not (isinstance(value, int) and abs(value) >= _EXACT)
