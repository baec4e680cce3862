r"""Tables from CSV, TSV and Parquet files, every cell as the file spells it.

>>> import tempfile, pathlib
>>> with tempfile.TemporaryDirectory() as folder:
...     path = pathlib.Path(folder) / "cars.csv"
...     _ = path.write_text("code;price\n007;12,5\n008;\n")
...     table = read_file(path)
>>> table.format, table.delimiter, table.frame["code"].tolist()
('csv', ';', ['007', '008'])
>>> table.frame["price"].isna().tolist()  # an empty cell is missing
[False, True]
"""

from __future__ import annotations

import codecs
import os
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, final

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from lowrankgcn._validation import choice
from lowrankgcn.files.delimited import parse_delimited

__all__ = ["Format", "TableFile", "read_file"]

Format = Literal["csv", "tsv", "parquet"]

_SUFFIXES: dict[str, Format] = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
}
_PARQUET = b"PAR1"
# How files begin that people take for tables.
_OTHERS = {
    b"PK\x03\x04": "a zip archive or an Excel workbook; save the sheet as CSV",
    b"\xd0\xcf\x11\xe0": "an Excel workbook; save the sheet as CSV",
    b"\x1f\x8b": "compressed by gzip; unpack it",
    b"BZh": "compressed by bzip2; unpack it",
    b"\xfd7zXZ": "compressed by xz; unpack it",
    b"\x28\xb5\x2f\xfd": "compressed by zstd; unpack it",
    b"ARROW1": "an Arrow or Feather file; save it as Parquet",
    b"\x89HDF": "an HDF5 file; save the table as Parquet",
    b"SQLite format 3": "a database; export the table as CSV",
    b"%PDF": "a PDF document",
}
_MARKS = {  # the longer ones first: UTF-32 begins like UTF-16
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_CHUNK = 2**24
_ARROW = "Could not open Parquet input source '<Buffer>': "  # says nothing to the user


@final
@dataclass(frozen=True, eq=False)
class TableFile:
    """A table as it is in a file.

    Attributes
    ----------
    frame : DataFrame
        Columns of Arrow types. Of CSV and TSV all are texts, as spelled in the file, so that
        writing them gives back what was read; :func:`choose_columns` finds numbers and dates among
        them. Empty cells are missing, and nothing else is: "NA" is a text.
    format : {"csv", "tsv", "parquet"}
    name : str
        The file, for messages.
    delimiter : str
        Between the cells of CSV and TSV.
    """

    frame: pd.DataFrame
    format: Format
    name: str
    delimiter: str = ","

    @property
    def decimal(self) -> str:
        """The decimal mark: where cells are apart by semicolons, numbers may have commas."""
        return "," if self.delimiter == ";" else "."


def read_file(
    path: str | os.PathLike[str], format: Format | None = None, *, encoding: str | None = None
) -> TableFile:
    r"""Read a table from a file or from standard input.

    Parameters
    ----------
    path : str or path
        "-" stands for standard input.
    format : {"csv", "tsv", "parquet"}, optional
        By default what the name ends with, else what the file looks like. The delimiter of CSV is
        the one of comma, semicolon, tab and bar that splits the header into most names.
    encoding : str, optional
        Of text; UTF-8 by default, or UTF-16 and UTF-32 with a byte order mark.

    Returns
    -------
    TableFile

    Raises
    ------
    OSError
        If the file cannot be read: it is missing, a folder, not allowed.
    ValueError
        If it is no table; one line that names the file, and the line in it where there is one.

    Notes
    -----
    The first line has the names of the columns, all different. Every row has as many cells. Cells
    in quotes may hold delimiters, newlines and doubled quotes. Cost: one pass, in memory.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "cars.tsv"
    ...     _ = path.write_text("price\tdoors\n12.50\t2\n9.00\t4\n")
    ...     read_file(path).frame["price"].tolist()
    ['12.50', '9.00']
    """
    name = "standard input" if os.fspath(path) == "-" else os.fspath(path)
    if format is not None:
        choice(format, "format", ("csv", "tsv", "parquet"))
    data = sys.stdin.buffer.read() if os.fspath(path) == "-" else Path(path).read_bytes()
    try:
        return _parse(data, format or _SUFFIXES.get(Path(name).suffix.lower()), name, encoding)
    except ValueError as error:
        raise ValueError(f"{name}: {' '.join(str(error).split())}") from None


def _parse(data: bytes, format: Format | None, name: str, encoding: str | None) -> TableFile:
    if not data.strip():
        raise ValueError("the file is empty")
    if data.startswith(_PARQUET):
        format = "parquet"
    if format == "parquet":
        table = _parquet(data)
        delimiter = ","
    else:
        for start, meaning in _OTHERS.items():
            if data.startswith(start):
                raise ValueError(f"expected a table as CSV, TSV or Parquet, got {meaning}")
        table, delimiter = parse_delimited(_utf8(data, encoding), "\t" if format == "tsv" else None)
        format = format or ("tsv" if delimiter == "\t" else "csv")
    _check(table)
    frame = table.to_pandas(types_mapper=pd.ArrowDtype, ignore_metadata=True)
    return TableFile(frame, format, name, delimiter)


def _utf8(data: bytes, encoding: str | None) -> bytes:
    """The text in UTF-8, checked, without a byte order mark."""
    marked = next((name for mark, name in _MARKS.items() if data.startswith(mark)), None)
    chosen = encoding or marked or "utf-8-sig"
    try:
        codec = codecs.lookup(chosen)
        decoder = codec.incrementaldecoder()
        if not codec._is_text_encoding:  # "hex", "zip" and such
            raise LookupError
    except (LookupError, TypeError):
        raise ValueError(f"encoding: expected one that Python knows, got {encoding!r}") from None
    if b"\0" in data and not codec.name.startswith(("utf-16", "utf-32")):
        line = data.count(b"\n", 0, data.index(b"\0")) + 1
        raise ValueError(f"line {line}: expected text, got a NUL byte: not a table of text")
    parts = []
    for start in range(0, len(data), _CHUNK):
        try:
            text = decoder.decode(data[start : start + _CHUNK], start + _CHUNK >= len(data))
        except UnicodeDecodeError as error:
            place = min(start + error.start, len(data) - 1)
            line = data.count(b"\n", 0, place) + 1
            raise ValueError(
                f"line {line}: expected text in {chosen.removesuffix('-sig').upper()}, got the "
                f"byte {data[place]:#04x}; is it in another encoding, such as cp1252?"
            ) from None
        if codec.name != "utf-8":  # with the mark, it is another codec
            parts.append(text.encode("utf-8", "replace"))
    plain = b"".join(parts) if parts else data
    if not plain.strip():
        raise ValueError("the file is empty")
    return plain


def _parquet(data: bytes) -> Any:
    try:
        return pq.ParquetFile(pa.BufferReader(data)).read()
    except (pa.ArrowException, OSError, ValueError) as error:
        reason = str(error).strip().splitlines()[0].removeprefix(_ARROW)
        raise ValueError(f"expected a whole Parquet file, got one that is not: {reason}") from None


def _check(table: Any) -> None:
    """Refuse what is no table of plain cells with columns of different names."""
    repeated = [name for name, count in Counter(table.column_names).items() if count > 1]
    if repeated:
        raise ValueError(f"expected columns of different names, got several named {repeated[0]!r}")
    for field in table.schema:
        if pa.types.is_nested(field.type):
            raise ValueError(
                f"column {field.name!r}: expected one value in a cell, got {field.type}"
            )
    if not table.num_columns or not table.num_rows:
        raise ValueError("expected at least one row below the header, got none")
