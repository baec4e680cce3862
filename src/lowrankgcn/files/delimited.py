r"""Parsing delimited text, with exact error locations.

>>> table, delimiter = parse_delimited(b"a;b\n1,5;x\n", None)
>>> delimiter, table.to_pydict()
(';', {'a': ['1,5'], 'b': ['x']})
"""

from __future__ import annotations

import csv
import io
import re
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv

from lowrankgcn._format import shorten
from lowrankgcn.tables.texts import count_marked

DELIMITERS = (",", ";", "\t", "|")

_BLOCK = 2**24  # Arrow requires a row to fit into one block
_LONGEST_CELL = 2**27

_WITH_POINT = r"^\s*[+-]?[0-9]*\.[0-9]+\s*$"
_SEPARATOR = re.compile(rb'"?sep=([\t -~])"?\r?\n')
_SAMPLE = 1000  # rows in which numbers with decimal points are searched


def parse_delimited(data: bytes, delimiter: str | None) -> tuple[Any, str]:
    """Parse UTF-8 text as an Arrow table of texts; return it with its delimiter.

    Raises
    ------
    ValueError
        If the header has no names, a row has more or fewer cells, or a quote is never closed.
    """
    if found := _SEPARATOR.match(data):  # Excel's first line; a blank one keeps the line numbers
        delimiter, data = delimiter or found[1].decode(), b"\n" + data[found.end() :]
    delimiter, names = _header(data, delimiter)
    try:
        table = _texts(data, delimiter, names)
        if table.column_names != names:  # Arrow parses odd quotes in the header differently
            table = _texts(data, delimiter, table.column_names)
    except pa.ArrowInvalid as error:
        _locate(data, delimiter)
        # Arrow requires the header to end with a newline.
        if data.count(b"\n") + data.count(b"\r") <= 1:
            return pa.table({name: pa.array([], pa.string()) for name in names}), delimiter
        raise ValueError(f"not a valid table: {str(error).splitlines()[0]}") from None
    if _may_be_open(table, data):
        _locate(data, delimiter)
    return table, delimiter


def _texts(data: bytes, delimiter: str, names: list[str]) -> Any:
    """Parse all columns in `names` as texts; Arrow infers the types of any others."""
    return arrow_csv.read_csv(
        pa.BufferReader(data),
        read_options=arrow_csv.ReadOptions(block_size=_BLOCK),
        parse_options=arrow_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
        convert_options=arrow_csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()),
            null_values=[""],
            strings_can_be_null=True,
        ),
    )


def _header(data: bytes, delimiter: str | None) -> tuple[str, list[str]]:
    """Return the delimiter that splits the header into most names, and the names.

    Delimiters that split the first row into as many cells come first.
    """
    best: tuple[str, list[str]] = (delimiter or ",", [])
    most = (False, 0)
    for candidate in (delimiter,) if delimiter else DELIMITERS:
        records = filter(None, csv.reader(_lines(data), delimiter=candidate))
        try:
            names = next(records, [])
        except csv.Error:
            continue
        rank = (len(names) > 1 and len(names) == _width(records), len(names))
        if rank > most:
            best, most = (candidate, names), rank
    return best


def _width(records: Any) -> int:
    """Return the number of cells of the next record, 0 if there is none or it is too long."""
    try:
        return len(next(records, []))
    except csv.Error:
        return 0


def _lines(data: bytes) -> Any:
    return io.TextIOWrapper(io.BytesIO(data), encoding="utf-8-sig", newline="")


def _may_be_open(table: Any, data: bytes) -> bool:
    """Return whether a quote may be unclosed, so that the rest of the file is one cell."""
    if b'"' not in data or not table.num_rows:
        return False
    last = table.column(table.num_columns - 1)[-1].as_py() or ""
    return "\n" in last or "\r" in last or data.count(b'"') % 2 == 1


def _locate(data: bytes, delimiter: str) -> None:
    """Raise a ValueError that names the first malformed line, if there is one."""
    before = csv.field_size_limit(_LONGEST_CELL)
    records = csv.reader(_lines(data), delimiter=delimiter, strict=True)
    begin, expected = 1, 0
    try:
        for record in records:
            expected = expected or len(record)
            if record and len(record) != expected:
                raise ValueError(
                    f"line {begin}: expected {expected} cells, as in the header, got "
                    f"{len(record)}: {shorten(delimiter.join(record))!r}"
                )
            begin = records.line_num + 1
    except csv.Error as error:
        what = "an unclosed quote" if "end of data" in str(error) else str(error)
        raise ValueError(f"line {begin}: expected cells, got {what}") from None
    finally:
        csv.field_size_limit(before)


def find_decimal(table: Any, delimiter: str) -> str:
    """Return the decimal mark of a table of texts.

    It is a comma if some column has numbers with decimal commas. Otherwise it is a comma if the
    delimiter is a semicolon and no number has a decimal point, and a point in all other cases.
    Commas that are only followed by groups of three digits separate thousands.
    """
    if delimiter == ",":  # a comma in quotes separates thousands
        return "."
    for n_texts, commas, points in map(count_marked, table.columns):
        if n_texts == commas > points:
            return ","
    sample = table.slice(0, _SAMPLE)
    points = any(pc.any(pc.match_substring_regex(c, _WITH_POINT)).as_py() for c in sample.columns)
    return "," if delimiter == ";" and not points else "."
