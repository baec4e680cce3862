r"""Tables as records: JSON (one object per line, or one array of objects), and Excel workbooks.

>>> table = parse_json(b'{"size": 1.5, "kind": "a"}\n{"size": 2}\n')
>>> table.to_pydict()
{'size': [1.5, 2.0], 'kind': ['a', None]}
"""

from __future__ import annotations

import datetime
import io
import json
import re
import warnings
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice, zip_longest
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import json as arrow_json

from lowrankgcn._format import shorten
from lowrankgcn._validation import invalid
from lowrankgcn.files.delimited import largest_result
from lowrankgcn.files.header import SAMPLE, Header, HeaderLines, find_header
from lowrankgcn.tables.cells import is_list_of_numbers

# Keys that differ between records would fill the memory with missing cells.
_MOST_CELLS, _LARGEST_FACTOR = 2**28, 20
_ROWS = 10_000  # written at a time
_SAMPLE = 1000  # records whose keys are counted before all are read
_BLOCK = 2**24  # Arrow requires a record to fit into one block

_WITHOUT_OPENPYXL = "Excel workbooks need openpyxl: pip install 'lowrankgcn[excel]'"

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


def parse_json(data: bytes) -> Any:
    """Parse UTF-8 text as an Arrow table; a missing key is a missing cell.

    Numbers, texts and booleans keep their types. A column of several types becomes texts.

    Raises
    ------
    ValueError
        If the text is not JSON lines and not an array, a record is not an object, or a value is an
        object or a list of others than numbers; the message names the line or the record.
    """
    if data.lstrip()[:1] == b"{" and (table := _read_lines(data)) is not None:
        return table
    records, n_values = [], 0
    for place, record in _records(data):
        if not isinstance(record, dict):
            got = shorten(json.dumps(record))
            raise ValueError(f"{place}: expected an object of column names and values, got {got}")
        records.append(record)
        n_values += len(record)
        for name, value in record.items():
            numbers = isinstance(value, list) and all(type(v) in (int, float) for v in value)
            if isinstance(value, (dict, list)) and not numbers:
                got = f"{shorten(json.dumps(value))}; give every value a key of its own"
                raise invalid(f"{place}: column {name!r}", "one value per cell", got)
    names = dict.fromkeys(name for record in records for name in record)
    if len(names) * len(records) > max(_MOST_CELLS, _LARGEST_FACTOR * n_values):
        raise ValueError(f"expected records with the same keys, got {len(names)} different keys")
    columns = {name: as_column([record.get(name) for record in records]) for name in names}
    return pa.table({as_text(name): column for name, column in columns.items()})


def _read_lines(data: bytes) -> Any:
    """Read lines with Arrow, which is fast; return None if they are not plain records."""
    with suppress(pa.ArrowException, ValueError, TypeError):
        sample = [set(record) for _, record in islice(_records(data), _SAMPLE)]
        if len(set[str]().union(*sample)) > _LARGEST_FACTOR * len(sample[0]):
            return None
        options = arrow_json.ReadOptions(block_size=_BLOCK)
        table = arrow_json.read_json(pa.BufferReader(data), options)
        # Arrow takes texts such as dates for times: they stay as spelled.
        texts = [(f.name, pa.string()) for f in table.schema if pa.types.is_timestamp(f.type)]
        if texts:
            parsing = arrow_json.ParseOptions(explicit_schema=pa.schema(texts))
            table = arrow_json.read_json(pa.BufferReader(data), options, parsing)
        kinds = table.schema.types
        nested = any(pa.types.is_nested(kind) and not is_list_of_numbers(kind) for kind in kinds)
        return None if nested else table
    return None


def _records(data: bytes) -> Iterator[tuple[str, Any]]:
    """Yield places and values: the elements of an array, or the lines."""
    if data.lstrip()[:1] == b"[":
        values = _parse(data, "the array")
        yield from ((f"record {number}", value) for number, value in enumerate(values, 1))
        return
    for number, line in enumerate(data.split(b"\n"), 1):
        if line.strip():
            yield f"line {number}", _parse(line, f"line {number}")


def _parse(text: bytes, place: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:  # also for thousands of digits or brackets
        raise ValueError(f"{place}: not valid JSON: {error}") from None


def as_column(values: list[Any]) -> Any:
    """Return Python values as an Arrow array of one type; as texts if they are of several types."""
    try:
        return pa.array(values, from_pandas=True)
    except (pa.ArrowException, OverflowError, TypeError, ValueError):
        texts = [None if value is None or value != value else as_text(value) for value in values]
        return pa.array(texts, pa.string())


def as_days(column: Any) -> Any:
    """Return an Arrow array of times as dates if all are at midnight; other arrays as they are."""
    if pa.types.is_timestamp(column.type):
        days = column.cast(pa.date32(), safe=False)
        if pc.all(pc.equal(days.cast(column.type), column)).as_py():
            return days
    return column


def as_text(value: Any) -> str:
    """Return the text of a value; dates in ISO 8601."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime.datetime):
        midnight = value.time() == datetime.time() and value.tzinfo is None
        return str(value.date()) if midnight else value.isoformat(" ")
    return str(value).encode("utf-8", "replace").decode()  # half a surrogate pair is not a text


def python_values(column: Any) -> list[Any]:
    """Return Arrow values as Python's, None for NaN and infinity.

    Columns with times outside of the years 1 to 9999 become texts.
    """
    if pa.types.is_floating(column.type):
        column = pc.if_else(pc.is_finite(column), column, pa.scalar(None, column.type))
    try:
        values: list[Any] = column.to_pylist()
    except OverflowError:
        values = column.cast(pa.string()).to_pylist()
    return values


def write_json(table: Any, sink: Any, *, lines: bool) -> None:
    """Write an Arrow table to a binary file: one record per line, or an array of such lines."""
    encode = json.JSONEncoder(ensure_ascii=False, default=as_text).encode
    begin, between, end = (b"", b"\n", b"\n") if lines else (b"[\n", b",\n", b"\n]\n")
    rows = zip(*map(python_values, table.columns), strict=True)
    records = (encode(dict(zip(table.column_names, row, strict=True))).encode() for row in rows)
    while chunk := list(islice(records, _ROWS)):
        sink.write(begin + between.join(chunk))
        begin = between
    sink.write(end)


def _openpyxl() -> Any:
    try:
        import openpyxl
    except ImportError:
        raise ValueError(_WITHOUT_OPENPYXL) from None
    return openpyxl


def parse_excel(
    data: bytes, sheet: str | None = None, header_row: int | None = None
) -> tuple[Any, list[str], dict[str, list[str]]]:
    """Parse a sheet of a workbook as an Arrow table; also return notes, and names by sheet.

    Formulas have the values that were saved with them. Errors such as #DIV/0! are missing cells.

    Parameters
    ----------
    data : bytes
    sheet : str, optional
        Name or number of the sheet; by default the first one.
    header_row : int, optional
        Number of the row with the column names, which are otherwise found.

    Raises
    ------
    ValueError
        If openpyxl is not installed, the data are not a workbook, or are damaged, or there is no
        such sheet or row.
    """
    load_workbook = _openpyxl().load_workbook
    try:
        with warnings.catch_warnings(), zipfile.ZipFile(io.BytesIO(data)) as archive:
            warnings.simplefilter("ignore")  # about formats and extensions, not about cells
            _check_archive(archive, largest_result(len(data)))
            book = load_workbook(io.BytesIO(data), read_only=True, data_only=True)
            titles = [one.title for one in book.worksheets]
            place = _place(titles, sheet)
            sampled = [list(islice(_rows(one), SAMPLE)) for one in book.worksheets]
            numbered = [] if place is None else list(_rows(book.worksheets[place]))
            path = getattr(book.worksheets[place or 0], "_worksheet_path", "")
            n_lost = len(_LOST.findall(archive.read(path))) if path in archive.namelist() else 0
    except Exception as error:  # zipfile and openpyxl raise errors of many types for damaged files
        raise ValueError(f"not a valid Excel workbook: {error or type(error).__name__}") from None
    found = [find_header([row for _, row in rows]).names if rows else [] for rows in sampled]
    sheets = {
        title: ["" if name is None else as_text(name) for name in names]
        for title, names in zip(titles, found, strict=True)
    }
    if place is None:
        listed = ", ".join(map(repr, titles))
        raise ValueError(f"--sheet: expected {listed} or a number from 1, got {sheet!r}")
    names, rows, lines = _below_header(numbered, header_row)
    n_errors = sum(value in _ERRORS for row in rows for value in row if isinstance(value, str))
    others = ", ".join(map(repr, titles[:place] + titles[place + 1 :]))
    advice = "open and save the file in Excel"
    read = f"sheet {titles[place]!r} was read; the workbook also has {others}"
    notes = {
        f"{read} (--sheet reads another one)": len(titles) - 1 if sheet is None else 0,
        f"cells with errors such as #N/A, taken as missing: {n_errors}": n_errors,
        f"formulas without a stored result, taken as missing: {n_lost}; {advice}": n_lost,
    }
    table = []
    for name, *cells in zip_longest(names, *rows):
        cells = [None if isinstance(c, str) and (not c or c in _ERRORS) else c for c in cells]
        if name not in (None, "") or any(cell is not None for cell in cells):
            table.append(("" if name is None else as_text(name), as_days(as_column(cells))))
    kept = [name for name, _ in table]
    if (len(names) == 1 < len(kept)) or kept.count("") > 1:
        named = ", ".join(map(repr, filter(None, kept)))
        raise ValueError(
            f"expected a name for every column in row {lines.first}, got {shorten(named)} for "
            f"{len(kept)} columns; --header-row names the row with the column names"
        )
    columns = [column for _, column in table]
    read_notes = [*(note for note, count in notes.items() if count), *lines.notes("row")]
    return pa.table(columns, names=kept), read_notes, sheets


def _place(titles: list[str], sheet: str | None) -> int | None:
    """Return the position of a sheet by its name or number; None if there is none."""
    if sheet is None or sheet in titles:
        return titles.index(sheet) if sheet in titles else 0
    number = int(sheet) if sheet.isdecimal() else 0
    return number - 1 if 1 <= number <= len(titles) else None


def _below_header(
    numbered: list[tuple[int, list[Any]]], header_row: int | None
) -> tuple[list[Any], list[list[Any]], HeaderLines]:
    """Return column names, the rows below them, and their numbers in the sheet."""
    if header_row is not None:
        below = [one for one in numbered if one[0] >= header_row]
        if not below or below[0][0] != header_row:
            raise invalid("--header-row", "a row with column names", header_row)
        numbered = below
    if not numbered:
        return [], [], HeaderLines(1, 1, 1)
    rows = [row for _, row in numbered]
    header = Header(0, 0, rows[0]) if header_row is not None else find_header(rows[:SAMPLE])
    lines = HeaderLines(numbered[0][0], numbered[header.first][0], numbered[header.last][0])
    return header.names, rows[header.last + 1 :], lines


def _check_archive(archive: zipfile.ZipFile, limit: int) -> None:
    """Refuse an archive that is no workbook, has entities, or unpacks to more than `limit`."""
    if "xl/workbook.xml" not in archive.namelist():
        raise ValueError("another zip archive; unpack it")
    if sum(part.file_size for part in archive.infolist()) > limit:
        raise ValueError(f"expected at most {limit} bytes in the workbook, got more")
    for name in archive.namelist():
        if _DECLARATION in archive.read(name).replace(b"\0", b""):
            raise ValueError(f"a declaration in {name}")


def _rows(sheet: Any) -> Iterator[tuple[int, list[Any]]]:
    """Yield the numbers and cells of rows that are not empty, without empty cells at their ends."""
    sheet.reset_dimensions()  # they may be wrong
    for number, row in enumerate(sheet.iter_rows(values_only=True), 1):
        if number > _MOST_ROWS:
            raise ValueError(f"expected at most {_MOST_ROWS} rows, got more")
        cells = list(row)
        while cells and cells[-1] in (None, ""):
            cells.pop()
        if cells:
            yield number, cells


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
