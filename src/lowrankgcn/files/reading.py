r"""Reading table files; text cells stay as spelled in the file.

>>> import tempfile, pathlib
>>> with tempfile.TemporaryDirectory() as folder:
...     path = pathlib.Path(folder) / "cars.csv"
...     _ = path.write_text("code;price\n007;12,5\n008;\n")
...     table = read_file(path)
>>> table.format, table.delimiter, table.decimal, table.frame["code"].tolist()
('csv', ';', ',', ['007', '008'])
>>> table.frame["price"].isna().tolist()  # an empty cell is missing
[False, True]
"""

from __future__ import annotations

import errno
import glob
import os
import re
import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, final, get_args

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from lowrankgcn._format import plural
from lowrankgcn._validation import choice, invalid
from lowrankgcn.exceptions import prefix_errors
from lowrankgcn.files.decoding import COMPRESSIONS, decode_text, unpack
from lowrankgcn.files.delimited import find_decimal, parse_delimited
from lowrankgcn.files.excel import parse_excel
from lowrankgcn.files.records import parse_json

Format = Literal["csv", "tsv", "jsonl", "json", "parquet", "arrow", "excel"]

#: Format by ending.
SUFFIXES: dict[str, Format] = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".feather": "arrow",
    ".arrow": "arrow",
    ".xlsx": "excel",
}
_MAGIC: dict[bytes, Format] = {
    b"PAR1": "parquet",
    b"ARROW1": "arrow",
    b"\xff\xff\xff\xff": "arrow",  # a stream
    b"PK\x03\x04": "excel",
}
_BINARY = {"parquet": "Parquet", "arrow": "Arrow", "excel": "Excel"}
# First bytes of other file types that are commonly mistaken for tables.
_OTHERS = {
    b"\xd0\xcf\x11\xe0": "an old Excel workbook (.xls); save it as .xlsx or CSV",
    b"FEA1": "an old Feather file; save it as Parquet",
    b"\x89HDF": "an HDF5 file; save the table as Parquet",
    b"SQLite format 3": "a database; export the table as CSV",
    b"%PDF": "a PDF document",
}
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/+[^/]")  # a Path has one slash only
_ARROW = "Could not open Parquet input source '<Buffer>': "  # not useful in a message
_TAB = ("\\t", "tab")  # easier to type than a tab


@final
@dataclass(frozen=True, eq=False)
class TableFile:
    r"""A table read from one or more files.

    Attributes
    ----------
    frame : DataFrame
        Columns of Arrow types. CSV and TSV columns are texts as spelled in the file, so that
        writing reproduces the file; :func:`choose_columns` detects numbers and dates. Only empty
        cells are missing: "NA" is a text.
    format : {"csv", "tsv", "jsonl", "json", "parquet", "arrow", "excel"}
    name : str
        File name for messages.
    delimiter : str
        Cell delimiter of CSV and TSV.
    decimal : str
        Decimal mark of the texts, "." or ",".
    encoding : str
        Encoding of the text, in the spelling of Python.
    notes : tuple of str
        What was guessed or left out.
    paths : tuple of Path
        Files that were read; empty for standard input.

    See Also
    --------
    read_file : Reads a table.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from lowrankgcn.files import read_file
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "cars.csv")
    ...     _ = file.write_text("doors;price\n2;1,5\n4;\n")
    ...     table = read_file(file)
    >>> table.format, table.delimiter, table.decimal, table.frame.shape
    ('csv', ';', ',', (2, 2))
    """

    frame: pd.DataFrame
    format: Format
    name: str
    delimiter: str = ","
    decimal: str = "."
    encoding: str = "utf-8"
    notes: tuple[str, ...] = ()
    paths: tuple[Path, ...] = ()

    @property
    def texts(self) -> bool:
        """Whether cells are texts as spelled in the file, whatever they mean."""
        return self.format in ("csv", "tsv")


def read_file(
    path: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    format: Format | None = None,
    *,
    encoding: str | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
) -> TableFile:
    r"""Read a table from a file, from several files or from standard input.

    Parameters
    ----------
    path : str, path, or iterable of them
        "-" reads standard input. A pattern such as "data/\*.csv" reads all matching files in the
        order of their names. Several files must have the same columns, in any order.
    format : {"csv", "tsv", "jsonl", "json", "parquet", "arrow", "excel"}, optional
        By default determined by the content for binary formats, then by the file name. Files
        compressed by gzip, bzip2, Zstandard or xz are unpacked.
    encoding : str, optional
        Text encoding; by default UTF-8, or UTF-16 or UTF-32 if there is a byte order mark.
        Single-byte text that is not UTF-8 is read as cp1252, with a note.
    delimiter : str, optional
        Of CSV; by default the one of comma, semicolon, tab and bar that splits the header into most
        names, and the first row into as many cells.
    decimal : {".", ","}, optional
        Decimal mark; by default a comma if a column has decimal commas, or if the delimiter is a
        semicolon and no column has decimal points.

    Returns
    -------
    TableFile

    Raises
    ------
    OSError
        If a file is missing, a folder or not readable.
    ValueError
        If a file is not a table; the message names the file and, if known, the line.

    See Also
    --------
    write_file : Writes a table.
    choose_columns : Chooses the features.

    Notes
    -----
    The first line of CSV, and the first row of the first sheet of Excel, hold unique column names.
    Every row of CSV has as many cells; quoted cells may contain delimiters, newlines and doubled
    quotes. JSON has one object per line or one array of objects, without nested values. Files are
    read in one pass into memory.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from lowrankgcn.files import read_file
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "cars.tsv"
    ...     _ = path.write_text("price\tdoors\n12.50\t2\n9.00\t4\n")
    ...     read_file(path).frame["price"].tolist()
    ['12.50', '9.00']
    """
    if format is not None:
        choice(format, "format", get_args(Format))
    if decimal is not None:
        choice(decimal, "decimal", (".", ","))
    if delimiter is not None:
        delimiter = "\t" if delimiter in _TAB else delimiter
        if len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n\0':
            raise invalid("delimiter", "one ASCII character", repr(delimiter))
    paths, name = _find_files(path)
    files = [_read(one, format, encoding, delimiter) for one in paths]
    table = files[0].table if len(files) == 1 else _joined([file.table for file in files], paths)
    if decimal is None:
        texts = [file for file in files if file.format in ("csv", "tsv")]
        found = {find_decimal(file.table, file.delimiter) for file in texts}
        decimal = max(found, default=".", key=".,".index)  # a comma also allows points
    frame = table.to_pandas(types_mapper=pd.ArrowDtype, ignore_metadata=True)
    notes = tuple(dict.fromkeys(note for file in files for note in file.notes))
    known = tuple(Path(one) for one in paths if one != "-")
    first = files[0]
    return TableFile(
        frame, first.format, name, first.delimiter, decimal, first.encoding, notes, known
    )


def _find_files(path: Any) -> tuple[list[str], str]:
    """Return the files of a path, a pattern or several of them, and a name for all."""
    several = not isinstance(path, (str, os.PathLike))
    given = [os.fspath(one) for one in path] if several else [os.fspath(path)]
    found: list[str] = []
    for one in given:
        if os.path.exists(one) or one == "-":
            found.append(one)
        elif _URL.match(one):
            raise ValueError(f"{one}: expected a file, got a URL; download it first")
        elif glob.has_magic(one):
            matching = [f for f in sorted(glob.glob(one, recursive=True)) if os.path.isfile(f)]
            if not matching:
                raise FileNotFoundError(errno.ENOENT, "no file matches this pattern", one)
            found += matching
        else:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), one)
    if not found:
        raise invalid("path", "at least one file", "none")
    if len(given) > 1:
        return found, f"{given[0]} and {plural(len(found) - 1, 'other file')}"
    return found, "standard input" if given[0] == "-" else given[0]


@dataclass(frozen=True, eq=False)
class _File:
    """An Arrow table and how it was written."""

    table: Any
    format: Format
    delimiter: str = ","
    encoding: str = "utf-8"
    notes: tuple[str, ...] = ()


def _read(path: str, format: Format | None, encoding: str | None, delimiter: str | None) -> Any:
    data = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
    with prefix_errors("standard input" if path == "-" else path):
        stem, ending = os.path.splitext(path.lower())
        ending = os.path.splitext(stem)[1] if ending in COMPRESSIONS else ending
        file = _parse(unpack(data), format or SUFFIXES.get(ending), encoding, delimiter)
        _check(file.table)
        return file


def _parse(
    data: bytes, format: Format | None, encoding: str | None, delimiter: str | None
) -> _File:
    if not data or data.isspace():
        raise ValueError("the file is empty")
    for start, meaning in _OTHERS.items():
        if data.startswith(start):
            raise ValueError(f"expected a table, got {meaning}")
    magic = next((kind for start, kind in _MAGIC.items() if data.startswith(start)), None)
    format = magic or format
    if format in _BINARY:
        for option, given in (("encoding", encoding), ("delimiter", delimiter)):
            if given is not None:
                raise ValueError(f"{option}: only for text, got {_BINARY[format]} data")
        return _parse_binary(data, format)
    text, encoding, note = decode_text(data, encoding)
    notes = () if note is None else (note,)
    if format is None and delimiter is None and text.lstrip()[:2] in (b'{"', b"[{"):
        format = "jsonl"
    if format in ("json", "jsonl"):
        return _File(parse_json(text), format, ",", encoding, notes)
    table, delimiter = parse_delimited(text, delimiter or ("\t" if format == "tsv" else None))
    format = format or ("tsv" if delimiter == "\t" else "csv")
    return _File(table, format, delimiter, encoding, notes)


def _parse_binary(data: bytes, format: Format) -> _File:
    if format == "excel":
        table, found = parse_excel(data)
        return _File(table, format, notes=tuple(found))
    source = pa.BufferReader(data)
    try:
        if format == "parquet":
            table = pq.ParquetFile(source).read()
        elif data.startswith(b"ARROW1"):
            table = pa.ipc.open_file(source).read_all()
        else:
            table = pa.ipc.open_stream(source).read_all()
        table.validate(full=True)  # Arrow data are used as they are in the file
    except (pa.ArrowException, OSError, ValueError, KeyError) as error:
        reason = str(error).strip().splitlines()[0].removeprefix(_ARROW)
        raise ValueError(f"not a valid {_BINARY[format]} file: {reason}") from None
    return _File(table.replace_schema_metadata(None), format)  # pandas would parse it


def _joined(tables: list[Any], paths: list[str]) -> Any:
    """Return the rows of all tables, with the columns in the order of the first one."""
    names, schema = tables[0].column_names, tables[0].schema
    for table, path in zip(tables, paths, strict=True):
        missing = [name for name in names if name not in table.column_names]
        extra = [name for name in table.column_names if name not in names]
        if missing or extra:
            got = f"no column {missing[0]!r}" if missing else f"a column {extra[0]!r}"
            raise ValueError(f"{path}: expected the columns of {paths[0]}, got {got}")
        try:
            schema = pa.unify_schemas([schema, table.schema], promote_options="permissive")
        except pa.ArrowException as error:
            reason = str(error).splitlines()[0].removeprefix("Unable to merge: ")
            got = f"others: {reason}; convert the files to one type"
            raise invalid(path, f"the types of {paths[0]}", got) from None
    ordered = [table.select(names) for table in tables]
    return pa.concat_tables(ordered, promote_options="permissive")


def _check(table: Any) -> None:
    """Raise ValueError unless the table has rows, plain cells and unique column names."""
    repeated = [name for name, count in Counter(table.column_names).items() if count > 1]
    if repeated:
        raise ValueError(f"expected unique column names, got several columns named {repeated[0]!r}")
    for field in table.schema:
        if pa.types.is_nested(field.type):
            raise invalid(f"column {field.name!r}", "one value per cell", field.type)
    if 0 in table.shape:
        raise ValueError("expected at least one row below the header, got none")
