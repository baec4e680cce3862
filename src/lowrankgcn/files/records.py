r"""Tables in JSON: one object per line, or one array of objects.

>>> table = parse_json(b'{"size": 1.5, "kind": "a"}\n{"size": 2}\n')
>>> table.to_pydict()
{'size': [1.5, 2.0], 'kind': ['a', None]}
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterator
from itertools import islice
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import json as arrow_json

from lowrankgcn._format import shorten

# Keys that differ between records would fill the memory with missing cells.
_MOST_CELLS, _LARGEST_FACTOR = 2**28, 20
_ROWS = 10_000  # written at a time
_SAMPLE = 1000  # records whose keys are counted before all are read
_BLOCK = 2**24  # Arrow requires a record to fit into one block


def parse_json(data: bytes) -> Any:
    """Parse UTF-8 text as an Arrow table; a missing key is a missing cell.

    Numbers, texts and booleans keep their types. A column of several types becomes texts.

    Raises
    ------
    ValueError
        If the text is not JSON lines and not an array, a record is not an object, or a value is a
        list or an object; the message names the line or the record.
    """
    table = _read_lines(data)
    return _read_records(data) if table is None else table


def _read_lines(data: bytes) -> Any:
    """Read lines with Arrow, which is fast; return None if they are not plain records."""
    if data.lstrip()[:1] != b"{":
        return None
    try:
        sample = [record for _, record in islice(_records(data), _SAMPLE)]
        if len({name for record in sample for name in record}) > _LARGEST_FACTOR * len(sample[0]):
            return None
        options = arrow_json.ReadOptions(block_size=_BLOCK)
        table = arrow_json.read_json(pa.BufferReader(data), options)
        if any(map(pa.types.is_nested, table.schema.types)):
            return None
        # Arrow takes texts such as dates for times: they stay as spelled.
        texts = [(f.name, pa.string()) for f in table.schema if pa.types.is_timestamp(f.type)]
        if texts:
            parsing = arrow_json.ParseOptions(explicit_schema=pa.schema(texts))
            table = arrow_json.read_json(pa.BufferReader(data), options, parsing)
        return table
    except (pa.ArrowException, ValueError, TypeError):
        return None


def _read_records(data: bytes) -> Any:
    records, n_values = [], 0
    for place, record in _records(data):
        if not isinstance(record, dict):
            got = shorten(json.dumps(record))
            raise ValueError(f"{place}: expected an object of column names and values, got {got}")
        records.append(record)
        n_values += len(record)
        for name, value in record.items():
            if isinstance(value, (dict, list)):
                raise ValueError(
                    f"{place}: column {name!r}: expected one value per cell, got "
                    f"{shorten(json.dumps(value))}; give every value a key of its own"
                )
    names = dict.fromkeys(name for record in records for name in record)
    if len(names) * len(records) > max(_MOST_CELLS, _LARGEST_FACTOR * n_values):
        raise ValueError(f"expected records with the same keys, got {len(names)} different keys")
    columns = {name: as_column([record.get(name) for record in records]) for name in names}
    return pa.table({as_text(name): column for name, column in columns.items()})


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
    names = table.column_names
    rows = zip(*(python_values(table[name]) for name in names), strict=True)
    separator = begin
    while chunk := list(islice(rows, _ROWS)):
        records = (encode(dict(zip(names, row, strict=True))).encode() for row in chunk)
        sink.write(separator + between.join(records))
        separator = between
    sink.write(end)
