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
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, final, get_args

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from lowrankgcn._format import plural
from lowrankgcn._validation import choice, invalid
from lowrankgcn.exceptions import prefix_errors
from lowrankgcn.files.delimited import (
    decode_text,
    find_decimal,
    parse_delimited,
    split_ending,
    unpack,
)
from lowrankgcn.files.records import parse_excel, parse_json
from lowrankgcn.tables.cells import is_picture

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
    files = []
    for one in paths:
        data = sys.stdin.buffer.read() if one == "-" else Path(one).read_bytes()
        with prefix_errors("standard input" if one == "-" else one):
            expected = format or SUFFIXES.get(split_ending(one)[0])
            files.append(_parse(unpack(data), expected, encoding, delimiter))
            _check(files[-1].frame)
    tables = [file.frame for file in files]
    if decimal is None:
        marks = {find_decimal(file.frame, file.delimiter) for file in files if file.texts}
        decimal = max(marks, default=".", key=".,".index)  # a comma also allows points
    table = tables[0] if len(files) == 1 else _joined(tables, paths)
    return replace(
        files[0],
        frame=table.to_pandas(types_mapper=pd.ArrowDtype, ignore_metadata=True),
        name=name,
        decimal=decimal,
        notes=tuple(dict.fromkeys(note for file in files for note in file.notes)),
        paths=tuple(Path(one) for one in paths if one != "-"),
    )


def _find_files(path: Any) -> tuple[list[str], str]:
    """Return the files of a path, a pattern or several of them, and a name for all."""
    several = not isinstance(path, (str, os.PathLike))
    wanted = [os.fspath(one) for one in path] if several else [os.fspath(path)]
    files: list[str] = []
    for one in wanted:
        if os.path.exists(one) or one == "-":
            files.append(one)
            continue
        if _URL.match(one):
            raise ValueError(f"{one}: expected a file, got a URL; download it first")
        matching = [f for f in sorted(glob.glob(one, recursive=True)) if os.path.isfile(f)]
        if not matching:
            pattern, absent = "no file matches this pattern", os.strerror(errno.ENOENT)
            raise FileNotFoundError(errno.ENOENT, pattern if glob.has_magic(one) else absent, one)
        files += matching
    if not files:
        raise invalid("path", "at least one file", "none")
    if len(wanted) > 1:
        return files, f"{wanted[0]} and {plural(len(files) - 1, 'other file')}"
    return files, "standard input" if wanted[0] == "-" else wanted[0]


def _parse(
    data: bytes, format: Format | None, encoding: str | None, delimiter: str | None
) -> TableFile:
    """Parse the bytes of a file; the result has an Arrow table in place of a frame."""
    if not data or data.isspace():
        raise ValueError("the file is empty")
    for start, meaning in _OTHERS.items():
        if data.startswith(start):
            raise ValueError(f"expected a table, got {meaning}")
    format = next((kind for start, kind in _MAGIC.items() if data.startswith(start)), format)
    if format in _BINARY:
        for option, value in (("encoding", encoding), ("delimiter", delimiter)):
            if value is not None:
                raise ValueError(f"{option}: only for text, got {_BINARY[format]} data")
        table, notes = parse_excel(data) if format == "excel" else (_parse_arrow(data, format), [])
        return TableFile(table, format, "", notes=tuple(notes))
    text, encoding, notes = decode_text(data, encoding)
    if format is None and delimiter is None and text.lstrip()[:2] in (b'{"', b"[{"):
        format = "jsonl"
    if format in ("json", "jsonl"):
        return TableFile(parse_json(text), format, "", encoding=encoding, notes=tuple(notes))
    table, delimiter = parse_delimited(text, delimiter or ("\t" if format == "tsv" else None))
    format = format or ("tsv" if delimiter == "\t" else "csv")
    return TableFile(table, format, "", delimiter, encoding=encoding, notes=tuple(notes))


def _parse_arrow(data: bytes, format: Format) -> Any:
    source = pa.BufferReader(data)
    try:
        if format == "parquet":
            table = pq.ParquetFile(source).read()
        else:
            is_file = data.startswith(b"ARROW1")
            table = (pa.ipc.open_file if is_file else pa.ipc.open_stream)(source).read_all()
        table.validate(full=True)  # Arrow data are used as they are in the file
    except (pa.ArrowException, OSError, ValueError, KeyError) as error:
        reason = str(error).strip().splitlines()[0].removeprefix(_ARROW)
        raise ValueError(f"not a valid {_BINARY[format]} file: {reason}") from None
    return table.replace_schema_metadata(None)  # pandas would parse it


def _joined(tables: list[Any], paths: list[str]) -> Any:
    """Return the rows of all tables, with the columns in the order of the first one."""
    names, schema = tables[0].column_names, tables[0].schema
    for table, path in zip(tables[1:], paths[1:], strict=True):
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
    return pa.concat_tables([t.select(names) for t in tables], promote_options="permissive")


def _check(table: Any) -> None:
    """Raise ValueError unless the table has rows, plain cells and unique column names."""
    names = table.column_names
    if len(set(names)) < len(names):
        repeated = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"expected unique column names, got several columns named {repeated!r}")
    for field in table.schema:
        if pa.types.is_nested(field.type) and not is_picture(field.type):
            raise invalid(f"column {field.name!r}", "one value per cell", field.type)
    if 0 in table.shape:
        raise ValueError("expected at least one row below the header, got none")
