r"""Atomic writing of tables, in the format that the ending of the name says.

>>> import tempfile, pathlib
>>> with tempfile.TemporaryDirectory() as folder:
...     path = pathlib.Path(folder) / "cars.csv"
...     write_file(pd.DataFrame({"code": ["007", None], "p": [0.5, 1.0]}), path)
...     path.read_text()
'code,p\n007,0.5\n,1.0\n'
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as arrow_csv
import pyarrow.parquet as pq

from lowrankgcn._atomic import is_stream, replacing
from lowrankgcn._parallel import chunks
from lowrankgcn._progress import report_progress
from lowrankgcn._validation import invalid
from lowrankgcn.files.delimited import (
    COMPRESSIONS,
    DELIMITERS,
    find_names,
    open_packed,
    split_ending,
)
from lowrankgcn.files.reading import SUFFIXES, Format, TableFile
from lowrankgcn.files.records import as_days, write_excel, write_json
from lowrankgcn.tables import Cells
from lowrankgcn.tables.cells import is_list_of_numbers
from lowrankgcn.tables.texts import TextColumn

_TEXT: tuple[Format, ...] = ("csv", "tsv", "jsonl", "json")
_ROWS = 65_536  # written at a time
_FORMULA = r"^[=+\-@\t\r]"
_NUMBER = r"^[+-]?([0-9]+([.,][0-9]*)?|[.,][0-9]+)([eE][+-]?[0-9]+)?$"  # -5 is no formula
_LONG_INTEGER = r"^\s*[+-]?[0-9]{16,}\s*$"  # floats have fewer digits


def output_format(path: str | os.PathLike[str]) -> Format | None:
    """Return the format of a file by its ending; None for standard output, devices and pipes.

    Raises
    ------
    ValueError
        If the ending is unknown.

    Examples
    --------
    >>> from lowrankgcn.files import output_format
    >>> output_format("classified.csv.gz")
    'csv'
    >>> output_format("classified.doc")
    Traceback (most recent call last):
        ...
    ValueError: classified.doc: expected a name that ends in .csv, ..., got '.doc'
    """
    if os.fspath(path) == "-" or os.fspath(path).startswith("/dev/") or is_stream(path):
        return None
    ending, packed = split_ending(path)
    format = SUFFIXES.get(ending)
    if format is None or (packed and format not in _TEXT):
        texts = ", ".join(f".csv{one}" for one in COMPRESSIONS)
        expected = f"{', '.join(SUFFIXES)}, or, compressed, in {texts} and the like"
        raise invalid(
            os.fspath(path), f"a name that ends in {expected}", repr(os.path.splitext(path)[1])
        )
    return format


def write_file(
    frame: pd.DataFrame,
    path: str | os.PathLike[str],
    like: TableFile | None = None,
    *,
    safe: bool = False,
) -> None:
    r"""Write a table atomically to a file, or to standard output.

    Parameters
    ----------
    frame : DataFrame
        The index is not written.
    path : str or path
        The ending names the format, see :func:`output_format`. An existing file is replaced when
        writing is complete. "-" writes to standard output, as CSV, TSV or JSON lines.
    like : TableFile, optional
        The table that was read. CSV has its delimiter and its decimal mark; CSV columns of
        numbers and of unambiguous dates are written as such in the other formats.
    safe : bool
        Whether texts and names of columns that begin with =, +, -, @, a tab or a carriage return
        get an apostrophe before them in CSV and TSV, because spreadsheets would read them as
        formulas. Numbers stay as they are.

    Raises
    ------
    OSError
        If writing fails, for example on a full disk. An existing file is left unchanged.
    ValueError
        If the ending is unknown, or the format cannot hold the table: a workbook has at most
        1,048,576 rows.

    See Also
    --------
    read_file : Reads a table.

    Notes
    -----
    Text is UTF-8 with plain newlines; cells are quoted where needed, and missing cells are empty.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import pandas as pd
    >>> from lowrankgcn.files import write_file
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "cars.csv")
    ...     write_file(pd.DataFrame({"doors": [2, 4], "price": ["low", None]}), file)
    ...     file.read_text()
    'doors,price\n2,low\n4,\n'
    """
    with open_table(path, like, safe=safe) as table:
        block = _ROWS if table.delimited else max(1, len(frame))
        for start in range(0, max(1, len(frame)), block):
            report_progress("writing", start, len(frame))
            table.write(table.prepare(frame.iloc[start : start + block]))


@contextmanager
def open_table(
    path: str | os.PathLike[str], like: TableFile | None = None, *, safe: bool = False
) -> Iterator[TableSink]:
    """Open a table that is written block by block, and atomically to a file as a whole.

    Parameters and errors are those of :func:`write_file`. Rows for standard output appear as they
    are written.
    """
    format = output_format(path)
    if format is None:
        format = like.format if like is not None else "csv"
        format = format if format in ("csv", "tsv") else "jsonl" if "json" in format else "csv"
    if os.fspath(path) == "-":
        sys.stdout.flush()
        # Bytes: the terminal may have another encoding and other newlines.
        with TableSink(sys.stdout.buffer, format, like, safe) as table:
            yield table
        sys.stdout.buffer.flush()
        return
    with (
        replacing(path) as temporary,
        open(temporary, "wb") as file,
        open_packed(file, split_ending(path)[1]) as sink,
        TableSink(sink, format, like, safe) as table,
    ):
        yield table


class TableSink(ExitStack):
    """Rows on their way to an open file.

    Several threads may prepare blocks, which one of them writes in order. Only delimited text,
    Parquet and Arrow consist of more than one block.

    Parameters
    ----------
    sink : binary file
    format : str
    like : TableFile or None
        The table that was read.
    safe : bool
        See :func:`write_file`.
    """

    def __init__(
        self, sink: Any, format: Format, like: TableFile | None, safe: bool = False
    ) -> None:
        super().__init__()
        self._safe = safe
        self._sink, self._format, self._like = sink, format, like
        self._writer: Any = None  # once the first block is written
        decimal = "." if like is None else like.decimal
        delimiter = "\t" if format == "tsv" else ";" if decimal == "," else ","
        if like is not None and like.format == format:
            delimiter = like.delimiter
        self._style: Any = {"sep": delimiter, "decimal": decimal, "index": False}
        self._style |= {"lineterminator": "\n", "encoding": "utf-8"}

    @property
    def delimited(self) -> bool:
        """Whether the format is CSV or TSV."""
        return self._format in ("csv", "tsv")

    def prepare(self, frame: pd.DataFrame) -> Any:
        """Convert rows for :meth:`write`."""
        if self._format in ("csv", "tsv", "excel"):
            frame = frame.assign(**{str(name): _as_json(frame[name]) for name in _vectors(frame)})
        if self.delimited:
            frame = _without_formulas(frame) if self._safe else frame
            header = b"" if self._writer else _header(frame, self._style)
            return header, _delimited(frame, self._style)
        table = pa.Table.from_pandas(frame, preserve_index=False).replace_schema_metadata(None)
        if self._like is not None and self._like.texts:
            typed = [_typed(column, self._style["decimal"]) for column in table.columns]
            table = pa.table(typed, names=table.column_names)
        return table

    def write(self, block: Any) -> None:
        """Write what :meth:`prepare` returned."""
        if self.delimited:
            header, lines = block
            self._sink.write(lines if self._writer else header + lines)
            self._writer = True
        elif self._format == "excel":
            write_excel(block, self._sink)
        elif self._format in ("json", "jsonl"):
            write_json(block, self._sink, lines=self._format == "jsonl")
        else:
            if self._writer is None:
                new = pq.ParquetWriter if self._format == "parquet" else pa.ipc.new_file
                self._writer = self.enter_context(new(self._sink, block.schema))
            self._writer.write_table(block)


def _without_formulas(frame: pd.DataFrame) -> pd.DataFrame:
    """Put an apostrophe before texts that a spreadsheet reads as formulas."""
    texts = {}
    for name, column in frame.items():
        cells = pa.array(column, from_pandas=True)
        if pa.types.is_dictionary(cells.type):
            cells = cells.dictionary_decode()
        if pa.types.is_string(cells.type) or pa.types.is_large_string(cells.type):
            formula = pc.match_substring_regex(cells, _FORMULA)
            number = pc.match_substring_regex(cells, _NUMBER)
            risky = pc.and_(formula, pc.invert(number)).fill_null(False)
            if pc.any(risky).as_py():
                parts = (pa.scalar(text, cells.type) for text in ("'", ""))
                quoted = pc.binary_join_element_wise(next(parts), cells, next(parts))
                cells = pc.if_else(risky, quoted, cells)
                texts[name] = pd.array(cells, dtype=pd.ArrowDtype(cells.type))
    names = [f"'{name}" if re.match(_FORMULA, str(name)) else name for name in frame.columns]
    return frame.assign(**texts).set_axis(names, axis=1)


def _vectors(frame: pd.DataFrame) -> list[Any]:
    kinds = {name: getattr(dtype, "pyarrow_dtype", None) for name, dtype in frame.dtypes.items()}
    return [name for name, kind in kinds.items() if kind and is_list_of_numbers(kind)]


def _as_json(vectors: pd.Series) -> pd.Series:
    """Return vectors as JSON texts, which are read as vectors again."""
    values = pa.array(vectors).to_pylist()
    texts = [None if value is None else json.dumps(value) for value in values]
    return pd.Series(texts, vectors.index, pd.ArrowDtype(pa.string()))


def _header(frame: pd.DataFrame, style: Mapping[str, Any]) -> bytes:
    """Return the header as pandas writes it, all quoted if it would be read as other names."""
    first, delimiter = frame.head(1).to_csv(**style).encode("utf-8", "replace"), style["sep"]
    guess = None if delimiter in DELIMITERS else delimiter
    names = list(map(str, frame.columns))
    # Python's writer leaves a carriage return without quotes, which would end the line, and other
    # delimiters, which may split the header into more names.
    unclear = find_names(first, guess)[1] != names or "\r" in "".join(names)
    quoting = csv.QUOTE_ALL if unclear else csv.QUOTE_MINIMAL
    return bytes(frame.head(0).to_csv(quoting=quoting, **style).encode())


def _delimited(frame: pd.DataFrame, style: Mapping[str, Any]) -> bytes:
    """Return what pandas writes, by Arrow where that makes no difference: it is much faster."""
    lines = io.BytesIO()
    arrow = arrow_csv.WriteOptions(
        include_header=False, delimiter=style["sep"], quoting_style="none"
    )
    # Python's writer quotes the empty cells of a single column.
    plain = frame.shape[1] > 1 and all(map(_is_plain, frame.dtypes))
    for start, stop in chunks(len(frame), _ROWS):
        part, begin = frame.iloc[start:stop], lines.tell()
        if plain:
            texts = [_as_written(column, style["decimal"]) for _, column in part.items()]
            table = pa.table(texts, list(map(str, range(len(texts)))))
            try:
                arrow_csv.write_csv(table, lines, arrow)
                continue
            except pa.ArrowInvalid:  # a cell needs quotes
                lines.seek(begin)
                lines.truncate()
        quoting = csv.QUOTE_ALL if _has_returns(part) else csv.QUOTE_MINIMAL
        part.to_csv(lines, header=False, quoting=quoting, **style)
    return lines.getvalue()


def _is_plain(dtype: Any) -> bool:
    """Return whether Arrow writes a column of this type like pandas, see :func:`_as_written`."""
    if isinstance(dtype, pd.ArrowDtype):
        kind = dtype.pyarrow_dtype
        texts = pa.types.is_string(kind) or pa.types.is_large_string(kind)
        return bool(texts or pa.types.is_integer(kind))
    return isinstance(dtype, np.dtype) and (dtype == np.float64 or dtype.kind in "iu")


def _as_written(column: pd.Series, decimal: str) -> Any:
    """Return a column for Arrow, which would write 1.0 as 1, and 1e-05 with zeros."""
    if column.dtype != np.float64:
        return pa.array(column)
    floats, size = column.to_numpy(), np.abs(column.to_numpy())
    texts = pc.cast(pa.array(floats, from_pandas=True), pa.string())
    others = ~((size >= 1e-4) & (size < 1e15) & (floats != np.floor(floats))) & ~np.isnan(floats)
    written = pa.array(list(map(repr, floats[others].tolist())), pa.string())
    texts = pc.replace_with_mask(texts, pa.array(others), written)
    return texts if decimal == "." else pc.replace_substring(texts, ".", decimal)


def _has_returns(frame: pd.DataFrame) -> bool:
    others = [column for _, column in frame.select_dtypes(exclude=["number", "bool"]).items()]
    texts = [c if pd.api.types.is_string_dtype(c) else c.astype(str) for c in others]
    return any(column.str.contains("\r", regex=False).any() for column in texts)


def _typed(column: Any, decimal: str) -> Any:
    """Return texts as numbers or dates if all of them are, without doubt and without loss."""
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        return column
    texts = TextColumn(Cells.read(column, ""), decimal)
    with suppress(ValueError):  # infinite numbers
        if texts.kind == "date" and not texts.dates.ambiguous:
            times = pa.array(texts.typed.numbers, mask=texts.typed.missing)
            return as_days(times.cast(pa.timestamp("us")))
        if texts.kind == "number" and texts.numbers[1:] == ("plain", decimal):
            long = pc.any(pc.match_substring_regex(texts.cells.values, _LONG_INTEGER)).as_py()
            if texts.whole or not long:
                return pa.array(texts.typed.numbers, mask=texts.typed.missing)
    return column
