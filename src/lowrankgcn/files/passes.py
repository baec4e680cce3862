r"""Large tables read block by block, so that memory does not grow with the number of rows.

>>> import tempfile, pathlib
>>> with tempfile.TemporaryDirectory() as folder:
...     path = pathlib.Path(folder) / "cars.csv"
...     _ = path.write_text("doors;kind\n" + "2;a\n4;b\n" * 500)
...     table = open_blocks(path, least=0, block_bytes=2**10)
...     sizes = [len(frame) for frame in table.blocks()]
>>> table.names, sum(sizes), len(sizes) > 2
(('doors', 'kind'), 1000, True)
"""

from __future__ import annotations

import codecs
import lzma
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, final

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray
from pyarrow import csv as arrow_csv

from lowrankgcn._progress import report_progress
from lowrankgcn.estimators.row_sample import smallest_keys
from lowrankgcn.exceptions import prefix_errors
from lowrankgcn.files.delimited import (
    COMPRESSIONS,
    compression,
    decode_text,
    find_decimal,
    find_names,
    locate_error,
    split_ending,
    text_options,
    without_separator,
)
from lowrankgcn.files.header import with_unique_names
from lowrankgcn.files.reading import (
    SUFFIXES,
    Format,
    TableFile,
    check_columns,
    check_delimiter,
    find_files,
    joined_schema,
    refuse_options_of_text,
)

#: Bytes of a table in memory, from which on a command reads it block by block.
LEAST = 2**26
_BLOCK_BYTES = 2**23  # of text at a time; a row must fit into it
_BLOCK_ROWS = 2**16  # of Parquet and Arrow at a time
_HEAD = 2**20  # bytes that decide delimiter and encoding
_UNPACKED = 5  # typical ratio of the sizes of text and compressed text
_CELL_BYTES = 8
_WHOLE = 8  # memory of a command that reads a table as a whole, in sizes of the table
#: Labelled rows that a sample may have; of more, some are chosen at random.
MOST_LABELLED = 100_000


@final
@dataclass(frozen=True, eq=False)
class BlockFile:
    """A table in files, as :class:`TableFile`, without its rows.

    Attributes
    ----------
    file : TableFile
        Without rows.
    size : float
        About its bytes in memory.
    block_bytes : int
        Size of a block of text.
    decimal : str or None
        Decimal mark that the user named.
    """

    file: TableFile
    size: float
    block_bytes: int
    decimal: str | None = None

    def needs_memory(self) -> bool:
        """Return whether the whole table would probably not fit into the free memory."""
        try:
            lines = Path("/proc/meminfo").read_text().splitlines()
            free = next(int(line.split()[1]) for line in lines if line.startswith("MemAvailable"))
        except (OSError, StopIteration):  # another system
            return False
        return _WHOLE * self.size > 1024 * free

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(self.file.frame.columns)

    def blocks(self, step: str | None = None) -> Iterator[pd.DataFrame]:
        """Read the rows, as in :class:`TableFile`, numbered from 0 by the index.

        Parameters
        ----------
        step : str, optional
            Name of the step in reports of the progress, in bytes; no reports without it.

        Raises
        ------
        ValueError
            If a row has more or fewer cells than the header, or a cell cannot be read; the message
            names the file and, for text, the line.
        """
        done, start = 0, 0
        total = sum(path.stat().st_size for path in self.file.paths)
        for path in self.file.paths:
            size = path.stat().st_size
            with prefix_errors(path):
                for batch, share in _batches(path, self.file, self.block_bytes):
                    if not batch.num_rows:
                        continue
                    table = with_unique_names(pa.Table.from_batches([batch]))[0].select(self.names)
                    frame = _frame(table.cast(self._schema))
                    frame.index = pd.RangeIndex(start, start + len(frame))
                    start += len(frame)
                    if step is not None:
                        report_progress(step, round(done + share * size), total)
                    yield frame
            done += size

    def head(self) -> TableFile:
        """Return the first rows."""
        frame = next(self.blocks(), self.file.frame)
        decimal = self.decimal_of(frame)
        return replace(self.file, frame=frame, decimal=decimal)

    def decimal_of(self, frame: pd.DataFrame) -> str:
        """Return the decimal mark, if it is not known that of some rows."""
        if self.decimal is not None or not self.file.texts:
            return self.decimal or "."
        return find_decimal(pa.Table.from_pandas(frame), self.file.delimiter)

    @property
    def _schema(self) -> Any:
        types = [(name, dtype.pyarrow_dtype) for name, dtype in self.file.frame.dtypes.items()]
        return pa.schema(types)


def open_blocks(
    path: Any,
    *,
    encoding: str | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
    least: int | None = None,
    block_bytes: int = _BLOCK_BYTES,
) -> BlockFile | None:
    """Open a large table; None if it is small, or in a format that is read as a whole.

    Parameters
    ----------
    path, encoding, delimiter, decimal
        As for :func:`read_file`.
    least : int, optional
        Bytes of a large table in memory, :data:`LEAST` by default.
    block_bytes : int
        Size of a block of text.

    Raises
    ------
    ValueError
        If files have different columns, or a header cannot be read.
    OSError
        If a file is missing or not readable.
    """
    names, name = find_files(path)
    if "-" in names or not all(map(os.path.isfile, names)):
        return None
    paths = tuple(map(Path, names))
    formats = {_format(one) for one in paths}
    if len(formats) > 1 or None in formats:
        return None
    format: Any = formats.pop()
    size = 0.0
    for one in paths:
        with prefix_errors(one):
            size += _size(one, format)
    if size < (LEAST if least is None else least):
        return None
    heads = []
    for one in paths:
        with prefix_errors(one):
            heads.append(_head(one, format, encoding, delimiter))
    schema = joined_schema([head.frame for head in heads], names)
    notes = tuple(dict.fromkeys(note for head in heads for note in head.notes))
    about: Any = {"frame": _frame(schema.empty_table()), "name": name, "notes": notes}
    return BlockFile(replace(heads[0], **about, paths=paths), size, block_bytes, decimal)


def draw_rows(table: BlockFile, keep: Any, count: int, seed: int) -> tuple[pd.DataFrame, int, int]:
    """Draw a uniform sample of the rows, in one pass.

    Every row gets a random key, and those with the smallest keys are kept: the sample does not
    depend on the blocks.

    Parameters
    ----------
    table : BlockFile
    keep : callable
        Returns the priorities of the rows of a block. Rows of a positive one belong to any sample,
        unless they are more than :data:`MOST_LABELLED`.
    count : int
        Size of the sample, if that is more than the rows to keep.
    seed : int

    Returns
    -------
    frame : DataFrame
        The sample; its index has the numbers of the rows.
    n_rows : int
        Number of all rows.
    n_kept : int
        Number of rows to keep.
    """
    generator = np.random.default_rng(seed)
    parts: list[pd.DataFrame] = []
    keys: NDArray[np.float64] = np.empty(0)
    limit, n_rows, n_kept = 1.0, 0, 0
    for frame in table.blocks("reading"):
        drawn = generator.random(len(frame))
        priorities = keep(frame)
        drawn -= priorities
        n_rows, n_kept = n_rows + len(frame), n_kept + int((priorities > 0).sum())
        chosen = np.flatnonzero(drawn <= limit)
        parts.append(frame.iloc[chosen])
        keys = np.concatenate([keys, drawn[chosen]])
        if len(keys) > 2 * max(count, min(n_kept, MOST_LABELLED)):
            parts, keys = _smallest(parts, keys, count)
            largest = float(keys.max())
            limit = largest if n_kept > MOST_LABELLED else max(0.0, largest)
    parts, _ = _smallest(parts, keys, count)
    return parts[0], n_rows, n_kept


def _smallest(
    parts: list[pd.DataFrame], keys: NDArray[np.float64], count: int
) -> tuple[list[pd.DataFrame], NDArray[np.float64]]:
    rows = smallest_keys(keys, count, MOST_LABELLED)
    return [pd.concat(parts).iloc[rows]], keys[rows]


def _frame(table: Any) -> pd.DataFrame:
    frame: pd.DataFrame = table.to_pandas(types_mapper=pd.ArrowDtype, ignore_metadata=True)
    return frame


def _format(path: Path) -> Format | None:
    """Return the format of a file that can be read block by block."""
    ending, packed = split_ending(path)
    with open(path, "rb") as file:
        start = file.read(6)
    binary: dict[bytes, Format] = {b"PAR1": "parquet", b"ARROW1": "arrow"}
    format = next((one for magic, one in binary.items() if start.startswith(magic)), None)
    if format is None and SUFFIXES.get(ending) in ("csv", "tsv") and compression(start) == packed:
        return None if start.startswith(b"PK") else SUFFIXES[ending]
    return format if packed is None else None


def _size(path: Path, format: Format) -> float:
    """Return about how many bytes the table needs in memory."""
    if format in ("csv", "tsv"):
        return path.stat().st_size * (_UNPACKED if split_ending(path)[1] else 1)
    if format == "arrow":
        return path.stat().st_size
    try:
        about = pq.read_metadata(path)
    except (pa.ArrowException, OSError):
        return 0  # damaged: the usual reader says how
    return float(about.num_rows * about.num_columns * _CELL_BYTES)


def _head(path: Path, format: Format, encoding: str | None, delimiter: str | None) -> TableFile:
    """Return what is known of a file without its rows; its frame is an Arrow table."""
    if format in ("csv", "tsv"):
        with _unpacked(path) as stream:
            data = bytes(stream.read(_HEAD))
        text, encoding, notes = _decoded(data, encoding)
        delimiter = check_delimiter(delimiter) or ("\t" if format == "tsv" else None)
        text, separator = without_separator(text)
        delimiter, names, lines = find_names(text, delimiter or separator)
        file = TableFile(pd.DataFrame(), format, "", delimiter, ".", encoding)
        with _open_text(path, file, names, _BLOCK_BYTES) as reader:
            table, more = with_unique_names(reader.schema.empty_table())
        return replace(file, frame=table, notes=(*notes, *lines.notes("line"), *more))
    refuse_options_of_text(format, encoding=encoding, delimiter=delimiter)
    schema = pq.read_schema(path) if format == "parquet" else pa.ipc.open_file(path).schema
    table, notes = with_unique_names(schema.remove_metadata().empty_table())
    check_columns(table.schema)
    return TableFile(table, format, "", notes=tuple(notes))


def _decoded(data: bytes, encoding: str | None) -> tuple[bytes, str, list[str]]:
    """Decode the first bytes of a file without a line that is cut."""
    wide = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    end = len(data) & ~3 if wide else data.rfind(b"\n") + 1
    return decode_text(data[: end or None], encoding)


def _unpacked(path: Path) -> Any:
    """Open a file that may be compressed."""
    packed = COMPRESSIONS.get(os.path.splitext(path)[1].lower())
    if packed == "xz":
        return lzma.open(path)
    return pa.OSFile(str(path)) if packed is None else pa.input_stream(path, compression=packed)


def _open_text(path: Path, file: TableFile, names: Any, block_bytes: int) -> Any:
    """Open delimited text as an Arrow reader whose columns are all texts."""
    with _unpacked(path) as stream:
        data = without_separator(_decoded(bytes(stream.read(_HEAD)), file.encoding)[0])[0]
    lines = find_names(data, file.delimiter)[2]
    merged = lines.last > lines.first
    while True:
        options, stream = text_options(file.delimiter, names, block_bytes), _unpacked(path)
        options["read_options"].skip_rows = lines.last if merged else lines.first - 1
        if merged:
            options["read_options"].column_names = list(names)
        if file.encoding not in ("utf-8", "ascii"):
            stream = pa.transcoding_input_stream(
                stream if isinstance(stream, pa.NativeFile) else pa.PythonFile(stream),
                file.encoding,
                "utf-8",
            )
        try:
            reader = arrow_csv.open_csv(stream, **options)
        except pa.ArrowInvalid as error:
            raise _located(path, file, error) from None
        if reader.schema.names == list(names):
            return reader
        names = reader.schema.names  # Arrow parses odd quotes in the header differently


def _batches(path: Path, file: TableFile, block_bytes: int) -> Iterator[tuple[Any, float]]:
    """Yield the rows of a file as record batches, each with the share that has been read."""
    if file.format in ("csv", "tsv"):
        size, done = path.stat().st_size, 0
        packed = _UNPACKED if split_ending(path)[1] else 1
        reader = _open_text(path, file, file.frame.columns, block_bytes)
        last = ""
        with reader:
            while True:
                try:
                    batch = reader.read_next_batch()
                except StopIteration:
                    break
                except pa.ArrowInvalid as error:
                    raise _located(path, file, error) from None
                done += block_bytes
                if batch.num_rows:
                    last = str(batch.columns[-1][-1])
                    yield batch, min(1.0, done / max(1, size * packed))
        if "\n" in last or "\r" in last:  # an unclosed quote makes the rest of a file one cell
            _locate(path, file)
        return
    try:
        if file.format == "parquet":
            with pq.ParquetFile(path, pre_buffer=False, buffer_size=2**20) as parquet:
                total, done = parquet.metadata.num_rows, 0
                for batch in parquet.iter_batches(_BLOCK_ROWS):
                    batch.validate(full=True)  # Arrow data are used as they are in the file
                    done += batch.num_rows
                    yield batch, done / total
        elif file.format == "arrow":
            with pa.memory_map(str(path)) as source:
                arrow = pa.ipc.open_file(source)
                for number in range(arrow.num_record_batches):
                    batch = arrow.get_batch(number)
                    batch.validate(full=True)
                    for start in range(0, batch.num_rows, _BLOCK_ROWS):
                        part = batch.slice(start, _BLOCK_ROWS)
                        yield part, (number + 1) / arrow.num_record_batches
    except (pa.ArrowException, OSError) as error:
        raise ValueError(f"not a valid file: {str(error).splitlines()[0]}") from None


def _located(path: Path, file: TableFile, error: Exception) -> ValueError:
    """Return an error that names the first malformed line, if there is one."""
    if "UTF8" in str(error):
        advice = "name the encoding, such as --encoding cp1252, or convert the file to UTF-8"
        return ValueError(f"expected text in UTF-8, got other bytes after the first rows; {advice}")
    try:
        _locate(path, file)
    except ValueError as located:
        return located
    return ValueError(f"not a valid table: {str(error).splitlines()[0]}")


def _locate(path: Path, file: TableFile) -> None:
    """Raise a ValueError that names the first malformed line, if there is one."""
    with _unpacked(path) as stream:
        encoding = "utf-8-sig" if file.encoding == "utf-8" else file.encoding
        locate_error(stream, file.delimiter, encoding)
