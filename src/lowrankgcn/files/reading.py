r"""Reading CSV, TSV and Parquet files; text cells stay as spelled in the file.

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
from lowrankgcn.exceptions import prefix_errors
from lowrankgcn.files.delimited import parse_delimited

Format = Literal["csv", "tsv", "parquet"]

_SUFFIXES: dict[str, Format] = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
}
_PARQUET = b"PAR1"
# First bytes of other file types that are commonly mistaken for tables.
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
_BYTE_ORDER_MARKS = {  # UTF-32 first: its mark begins like that of UTF-16
    "utf-32": (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE),
    "utf-16": (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE),
}
_ARROW = "Could not open Parquet input source '<Buffer>': "  # not useful in a message


@final
@dataclass(frozen=True, eq=False)
class TableFile:
    """A table read from a file.

    Attributes
    ----------
    frame : DataFrame
        Columns of Arrow types. CSV and TSV columns are texts as spelled in the file, so that
        writing reproduces the file; :func:`choose_columns` detects numbers and dates. Only empty
        cells are missing: "NA" is a text.
    format : {"csv", "tsv", "parquet"}
    name : str
        File name for messages.
    delimiter : str
        Cell delimiter of CSV and TSV.
    """

    frame: pd.DataFrame
    format: Format
    name: str
    delimiter: str = ","

    @property
    def decimal(self) -> str:
        """Decimal mark: a comma if the delimiter is a semicolon, else a point."""
        return "," if self.delimiter == ";" else "."


def read_file(
    path: str | os.PathLike[str], format: Format | None = None, *, encoding: str | None = None
) -> TableFile:
    r"""Read a table from a file or from standard input.

    Parameters
    ----------
    path : str or path
        "-" reads standard input.
    format : {"csv", "tsv", "parquet"}, optional
        By default determined by the file name, then by the content. The CSV delimiter is the one
        of comma, semicolon, tab and bar that splits the header into most names.
    encoding : str, optional
        Text encoding; by default UTF-8, or UTF-16 or UTF-32 if there is a byte order mark.

    Returns
    -------
    TableFile

    Raises
    ------
    OSError
        If the file is missing, a folder or not readable.
    ValueError
        If the file is not a table; the message names the file and, if known, the line.

    Notes
    -----
    The first line holds unique column names, and every row has as many cells. Quoted cells may
    contain delimiters, newlines and doubled quotes. The file is read in one pass into memory.

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
    with prefix_errors(name):
        return _parse(data, format or _SUFFIXES.get(Path(name).suffix.lower()), name, encoding)


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
                raise ValueError(f"expected CSV, TSV or Parquet, got {meaning}")
        table, delimiter = parse_delimited(_utf8(data, encoding), "\t" if format == "tsv" else None)
        format = format or ("tsv" if delimiter == "\t" else "csv")
    _check(table)
    frame = table.to_pandas(types_mapper=pd.ArrowDtype, ignore_metadata=True)
    return TableFile(frame, format, name, delimiter)


def _utf8(data: bytes, encoding: str | None) -> bytes:
    """Decode and return the text in UTF-8, without a byte order mark."""
    marked = [name for name, marks in _BYTE_ORDER_MARKS.items() if data.startswith(marks)]
    chosen = encoding or (marked[0] if marked else "utf-8")
    try:
        codec = codecs.lookup(chosen).name
        if b"\0" in data and not codec.startswith(("utf-16", "utf-32")):
            line = data.count(b"\n", 0, data.index(b"\0")) + 1
            raise ValueError(f"line {line}: expected text, got a NUL byte: not a text file")
        text = data.decode(chosen)
    except UnicodeDecodeError as error:
        place = min(error.start, len(data) - 1)
        line = data.count(b"\n", 0, place) + 1
        raise ValueError(
            f"line {line}: expected text in {chosen.upper()}, got the byte {data[place]:#04x}; "
            "try another encoding, such as cp1252"
        ) from None
    except (LookupError, TypeError):
        raise ValueError(
            f"encoding: expected a text encoding that Python supports, got {encoding!r}"
        ) from None
    plain = data if codec == "utf-8" else text.encode("utf-8", "replace")
    plain = plain.removeprefix(codecs.BOM_UTF8)
    if not plain.strip():
        raise ValueError("the file is empty")
    return plain


def _parquet(data: bytes) -> Any:
    try:
        return pq.ParquetFile(pa.BufferReader(data)).read()
    except (pa.ArrowException, OSError, ValueError) as error:
        reason = str(error).strip().splitlines()[0].removeprefix(_ARROW)
        raise ValueError(f"not a valid Parquet file: {reason}") from None


def _check(table: Any) -> None:
    """Raise ValueError unless the table has rows, plain cells and unique column names."""
    repeated = [name for name, count in Counter(table.column_names).items() if count > 1]
    if repeated:
        raise ValueError(f"expected unique column names, got several columns named {repeated[0]!r}")
    for field in table.schema:
        if pa.types.is_nested(field.type):
            raise ValueError(
                f"column {field.name!r}: expected one value per cell, got {field.type}"
            )
    if not table.num_columns or not table.num_rows:
        raise ValueError("expected at least one row below the header, got none")
