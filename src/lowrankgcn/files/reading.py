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
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, final, get_args

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

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
from lowrankgcn.files.header import with_unique_names
from lowrankgcn.files.records import parse_excel, parse_json
from lowrankgcn.tables import Cells, Table
from lowrankgcn.tables.cells import is_list_of_numbers, is_picture

Format = Literal["csv", "tsv", "jsonl", "json", "parquet", "arrow", "excel"]

#: Name of the column of vectors from a file beside the table.
VECTORS = "vectors"

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
    sheets : dict from str to list of str
        Column names by sheet of a workbook.
    vectors : (n, d) array or None
        One vector for each row, from a file beside the table.

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
    sheets: dict[str, list[str]] = field(default_factory=dict)
    vectors: NDArray[Any] | None = None

    def rows(self, frame: pd.DataFrame | None = None) -> Table:
        """Return the rows, or those of another frame, with the column "vectors" if it is there."""
        table = Table.read(self.frame if frame is None else frame)
        if self.vectors is None:
            return table
        if VECTORS in table.names:
            raise ValueError(f"--vectors: the table has a column {VECTORS!r} already")
        return table.with_column(VECTORS, Cells(np.zeros(len(table), bool), self.vectors))

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
    sheet: str | int | None = None,
    header_row: int | None = None,
    vectors: str | os.PathLike[str] | None = None,
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
    sheet : str or int, optional
        Name of the sheet of a workbook, or its number from 1; by default the first one.
    header_row : int, optional
        Line of CSV, or row of a sheet, with the column names, from 1. By default the first one
        that is not empty, below titles and with merged cells if there are any, with a note.
    vectors : path, optional
        NumPy file (.npy) with one vector for each row; see :meth:`TableFile.rows`.

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
    If several columns have the same name, the later ones get numbers, with a note. Every row of CSV
    has as many cells; quoted cells may contain delimiters, newlines and doubled quotes. JSON has
    one object per line or one array of objects; lists of equally many numbers are vectors. Files
    are read in one pass into memory.

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
    delimiter = check_delimiter(delimiter)
    paths, name = find_files(path)
    files = []
    for one in paths:
        data = sys.stdin.buffer.read() if one == "-" else Path(one).read_bytes()
        with prefix_errors("standard input" if one == "-" else one):
            expected = format or SUFFIXES.get(split_ending(one)[0])
            where = None if sheet is None else str(sheet)
            files.append(_parse(unpack(data), expected, encoding, delimiter, where, header_row))
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
        vectors=None if vectors is None else _read_vectors(vectors, table.num_rows),
    )


def _read_vectors(path: str | os.PathLike[str], n_rows: int) -> NDArray[Any]:
    """Read one vector for each row from a NumPy file."""
    with prefix_errors(os.fspath(path)):
        try:
            vectors: NDArray[Any] = np.load(path, allow_pickle=False)
            known = vectors.ndim == 2 and vectors.dtype.kind in "fiu" and vectors.shape[1] > 0
        except (ValueError, EOFError, AttributeError):
            raise ValueError("expected a NumPy file (.npy) of numbers") from None
        if not known or len(vectors) != n_rows:
            expected = f"an array of numbers with {plural(n_rows, 'row')}, as the table"
            raise ValueError(f"expected {expected}, got {vectors.dtype} of shape {vectors.shape}")
        if not np.isfinite(vectors).all():
            raise ValueError("expected finite numbers, got NaN or infinity")
    return vectors.astype(np.float32 if vectors.dtype == np.float32 else np.float64, copy=False)


def check_delimiter(delimiter: str | None) -> str | None:
    """Return a valid delimiter; "tab" is one."""
    delimiter = "\t" if delimiter in _TAB else delimiter
    if delimiter is not None and (
        len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n\0'
    ):
        raise invalid("delimiter", "one ASCII character", repr(delimiter))
    return delimiter


def find_files(path: Any) -> tuple[list[str], str]:
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
    data: bytes,
    format: Format | None,
    encoding: str | None,
    delimiter: str | None,
    sheet: str | None,
    header_row: int | None,
) -> TableFile:
    """Parse the bytes of a file; the result has an Arrow table in place of a frame."""
    if not data or data.isspace():
        raise ValueError("the file is empty")
    for start, meaning in _OTHERS.items():
        if data.startswith(start):
            raise ValueError(f"expected a table, got {meaning}")
    format = next((kind for start, kind in _MAGIC.items() if data.startswith(start)), format)
    about: dict[str, Any] = {}
    notes: list[str] = []
    if format in _BINARY:
        refuse_options_of_text(_BINARY[format], encoding=encoding, delimiter=delimiter)
    if format == "excel":
        table, notes, about["sheets"] = parse_excel(data, sheet, header_row)
    elif sheet is not None:
        raise ValueError("--sheet: only for Excel workbooks")
    elif format in _BINARY:
        table = _parse_arrow(data, format)
    else:
        text, about["encoding"], notes = decode_text(data, encoding)
        if format is None and delimiter is None and text.lstrip()[:2] in (b'{"', b"[{"):
            format = "jsonl"
        if format in ("json", "jsonl"):
            table = parse_json(text)
        else:
            delimiter = delimiter or ("\t" if format == "tsv" else None)
            table, about["delimiter"], more = parse_delimited(text, delimiter, header_row)
            format, notes = format or ("tsv" if about["delimiter"] == "\t" else "csv"), notes + more
    if header_row is not None and format not in ("csv", "tsv", "excel"):
        raise ValueError("--header-row: only for CSV, TSV and Excel workbooks")
    table, more = with_unique_names(table)
    notes += more
    check_columns(table.schema)
    if 0 in table.shape:
        titles = list(about.get("sheets", ()))
        advice = f"; --sheet reads one of {', '.join(map(repr, titles))}" if titles[1:] else ""
        raise ValueError(f"expected at least one row below the header, got none{advice}")
    return TableFile(table, format or "csv", "", notes=tuple(notes), **about)


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
    schema = joined_schema(tables, paths)
    parts = [table.select(schema.names) for table in tables]
    return pa.concat_tables(parts, promote_options="permissive")


def joined_schema(tables: list[Any], paths: list[str]) -> Any:
    """Return the columns of all tables, in the order of the first one, with types for all rows."""
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
    return schema


def refuse_options_of_text(name: str, **options: Any) -> None:
    """Raise ValueError if an option of text is given for another format."""
    for option, value in options.items():
        if value is not None:
            raise ValueError(f"{option}: only for text, got {name} data")


def check_columns(schema: Any) -> None:
    """Raise ValueError unless every cell has one value or a vector."""
    for column in schema:
        known = is_list_of_numbers(column.type) or is_picture(column.type)
        if pa.types.is_nested(column.type) and not known:
            raise invalid(f"column {column.name!r}", "one value or vector per cell", column.type)
