r"""Text tables: which delimiter they have, and where exactly one is not a table.

>>> table, delimiter = parse_delimited(b"a;b\n1,5;x\n", None)
>>> delimiter, table.to_pydict()
(';', {'a': ['1,5'], 'b': ['x']})
"""

from __future__ import annotations

import csv
import io
from typing import Any

import pyarrow as pa
from pyarrow import csv as arrow_csv

__all__ = ["DELIMITERS", "parse_delimited"]

DELIMITERS = (",", ";", "\t", "|")

_BLOCK = 2**24  # a row has to fit into one
_LONGEST_CELL = 2**27
_SHOWN = 40  # characters of a row in a message


def parse_delimited(data: bytes, delimiter: str | None) -> tuple[Any, str]:
    """Read UTF-8 text as an Arrow table of texts, and say which delimiter it has.

    Raises
    ------
    ValueError
        If the header has no names, a row has more or fewer cells, or a quote is never closed.
    """
    delimiter, names = _header(data, delimiter)
    try:
        table = _texts(data, delimiter, names)
        if table.column_names != names:  # Arrow takes odd quotes in the header in another way
            table = _texts(data, delimiter, table.column_names)
    except pa.ArrowInvalid as error:
        _locate(data, delimiter)
        if data.count(b"\n") + data.count(b"\r") <= 1:  # Arrow wants the header's line to end
            return pa.table({name: pa.array([], pa.string()) for name in names}), delimiter
        raise ValueError(f"expected a table, got an error: {str(error).splitlines()[0]}") from None
    if _may_be_open(table, data):
        _locate(data, delimiter)
    return table, delimiter


def _texts(data: bytes, delimiter: str, names: list[str]) -> Any:
    """All cells as texts; columns that are not in `names` as what they look like."""
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
    """The delimiter that splits the header into most names, the earlier one if equal."""
    best: tuple[str, list[str]] = (delimiter or ",", [])
    for candidate in (delimiter,) if delimiter else DELIMITERS:
        records = csv.reader(_lines(data), delimiter=candidate)
        try:
            names = next((record for record in records if record), [])
        except csv.Error:
            continue
        if len(names) > len(best[1]):
            best = candidate, names
    return best


def _lines(data: bytes) -> Any:
    return io.TextIOWrapper(io.BytesIO(data), encoding="utf-8-sig", newline="")


def _may_be_open(table: Any, data: bytes) -> bool:
    """Whether a quote may have been open at the end: it takes all that follows into one cell."""
    if b'"' not in data or not table.num_rows:
        return False
    last = table.column(table.num_columns - 1)[-1].as_py() or ""
    return "\n" in last or "\r" in last or data.count(b'"') % 2 == 1


def _locate(data: bytes, delimiter: str) -> None:
    """Raise an error that names the first line that is wrong; return if none is."""
    before = csv.field_size_limit(_LONGEST_CELL)
    records = csv.reader(_lines(data), delimiter=delimiter, strict=True)
    begin, expected = 1, 0
    try:
        for record in records:
            expected = expected or len(record)
            if record and len(record) != expected:
                shown = delimiter.join(record)
                shown = shown if len(shown) <= _SHOWN else shown[: _SHOWN - 1] + "…"
                raise ValueError(
                    f"line {begin}: expected {expected} cells, as the header has, got "
                    f"{len(record)}: {shown!r}"
                )
            begin = records.line_num + 1
    except csv.Error as error:
        what = "a quote that is never closed" if "end of data" in str(error) else str(error)
        raise ValueError(f"line {begin}: expected cells, got {what}") from None
    finally:
        csv.field_size_limit(before)
