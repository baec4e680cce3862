r"""Text files: decompression, text encodings, and delimited text with exact error locations.

Compressed data are recognised by their first bytes:

>>> import gzip
>>> unpack(gzip.compress(b"size,kind"))
b'size,kind'
>>> decode_text("größe,kind".encode("cp1252"))[1:]
('cp1252', ['the text is not UTF-8 and was read as cp1252; name the encoding if letters are wrong'])
>>> table, delimiter, notes = parse_delimited(b"a;b\n1,5;x\n", None)
>>> delimiter, table.to_pydict()
(';', {'a': ['1,5'], 'b': ['x']})
"""

from __future__ import annotations

import codecs
import csv
import io
import itertools
import lzma
import os
import re
from collections.abc import Iterable
from contextlib import nullcontext, suppress
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv

from lowrankgcn._format import shorten
from lowrankgcn._validation import invalid
from lowrankgcn.files.header import SAMPLE, Header, HeaderLines, find_header
from lowrankgcn.tables.texts import count_marked

#: Arrow's name of the compression by ending.
COMPRESSIONS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd", ".xz": "xz"}
DELIMITERS = (",", ";", "\t", "|")

_MAGIC = {b"\x1f\x8b": "gzip", b"BZh": "bz2", b"\x28\xb5\x2f\xfd": "zstd", b"\xfd7zXZ\0": "xz"}
_BLOCK = 2**24  # unpacked or parsed at a time; Arrow requires a row to fit into one block
# Tables rarely shrink by more than this factor; a file that grows more could exhaust the memory.
_FACTOR = 200
_SMALL = 2**30  # results up to this size are always allowed
_BYTE_ORDER_MARKS = {  # UTF-32 first: its mark begins like that of UTF-16
    "utf-32": (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE),
    "utf-16": (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE),
}
_FALLBACK = "cp1252"
_NOTE = f"the text is not UTF-8 and was read as {_FALLBACK}; name the encoding if letters are wrong"
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")  # not in texts
_LONGEST_CELL = 2**27
_WITH_POINT = r"^\s*[+-]?[0-9]*\.[0-9]+\s*$"
_SEPARATOR = re.compile(rb'"?sep=([\t -~])"?\r?\n')
_SAMPLE = 1000  # rows in which numbers with decimal points are searched


def split_ending(path: str | os.PathLike[str]) -> tuple[str, str | None]:
    """Return the ending of a name in lower case, and the compression if another one follows.

    >>> split_ending("cars.CSV"), split_ending("cars.csv.zst")
    (('.csv', None), ('.csv', 'zstd'))
    """
    stem, ending = os.path.splitext(os.fspath(path).lower())
    packed = COMPRESSIONS.get(ending)
    return os.path.splitext(stem)[1] if packed else ending, packed


def largest_result(size: int) -> int:
    """Return how many bytes a compressed file of some size may contain."""
    return max(_SMALL, _FACTOR * size)


def compression(data: bytes) -> str | None:
    """Return Arrow's name of the compression of data, by their first bytes."""
    return next((kind for magic, kind in _MAGIC.items() if data.startswith(magic)), None)


def unpack(data: bytes) -> bytes:
    """Decompress data once if it is compressed.

    Raises
    ------
    ValueError
        If the data are damaged or incomplete, or grow to more than 1 GB and 200 times their size.
    """
    kind = compression(data)
    if kind is None:
        return data
    source: Any = pa.BufferReader(data)
    limit, unpacked = largest_result(len(data)), bytearray()
    try:
        stream = lzma.open(source) if kind == "xz" else pa.CompressedInputStream(source, kind)
        while len(unpacked) <= limit and (part := stream.read(_BLOCK)):
            unpacked += part
    except (OSError, EOFError, lzma.LZMAError) as error:
        raise ValueError(f"damaged or incomplete {kind} data: {error}") from None
    if len(unpacked) > limit:
        raise ValueError(f"expected at most {limit} unpacked bytes, got more; unpack it first")
    return bytes(unpacked)


def open_packed(target: Any, kind: str | None) -> Any:
    """Return a context that compresses what is written to it into a binary file."""
    if kind == "xz":
        return lzma.open(target, "wb")
    return nullcontext(target) if kind is None else pa.output_stream(target, compression=kind)


def decode_text(data: bytes, encoding: str | None = None) -> tuple[bytes, str, list[str]]:
    """Return text in UTF-8 without a byte order mark, its encoding, and a note if that is a guess.

    Parameters
    ----------
    data : bytes
    encoding : str, optional
        By default that of the byte order mark, or UTF-8. Single-byte text that is not UTF-8 is read
        as cp1252.

    Raises
    ------
    ValueError
        If the encoding is unknown, or the data are not such a text; the message names the line.
    """
    marked = [name for name, marks in _BYTE_ORDER_MARKS.items() if data.startswith(marks)]
    chosen = encoding or (marked[0] if marked else "utf-8")
    notes = []
    try:
        codec = codecs.lookup(chosen).name
        if b"\0" in data and not codec.startswith(("utf-16", "utf-32")):
            line = data.count(b"\n", 0, data.index(b"\0")) + 1
            raise ValueError(f"line {line}: expected text, got a NUL byte: not a text file")
        text = data.decode(chosen)
    except UnicodeDecodeError as error:
        if encoding is not None or marked or not _may_be_single_byte(data, error):
            place = min(error.start, len(data) - 1)
            line = data.count(b"\n", 0, place) + 1
            got = f"the byte {data[place]:#04x}; try another encoding, such as {_FALLBACK}"
            raise invalid(f"line {line}", f"text in {chosen.upper()}", got) from None
        text, codec, notes = data.decode(_FALLBACK), _FALLBACK, [_NOTE]
    except (LookupError, TypeError):
        raise invalid("encoding", "a text encoding that Python supports", repr(encoding)) from None
    plain = data if codec == "utf-8" else text.encode("utf-8", "replace")
    plain = plain.removeprefix(codecs.BOM_UTF8)
    if not plain or plain.isspace():
        raise ValueError("the file is empty")
    return plain, codec, notes


def _may_be_single_byte(data: bytes, error: UnicodeDecodeError) -> bool:
    """Return whether text that is not UTF-8 looks like cp1252 instead of damaged UTF-8."""
    if error.reason == "unexpected end of data" or _CONTROL.search(data):
        return False
    if data.decode(_FALLBACK, "ignore").encode(_FALLBACK) != data:  # five bytes have no meaning
        return False
    right = data.decode("utf-8", "ignore")
    n_right = len(right) - len(right.encode("ascii", "ignore"))
    n_wrong = data.decode("utf-8", "replace").count("\ufffd") - right.count("\ufffd")
    return n_right < n_wrong


def parse_delimited(
    data: bytes, delimiter: str | None, header_row: int | None = None
) -> tuple[Any, str, list[str]]:
    """Parse UTF-8 text as an Arrow table of texts; return it with its delimiter and notes.

    `header_row` is the number of the line with the column names, which are otherwise found.

    Raises
    ------
    ValueError
        If the header has no names, a row has more or fewer cells, or a quote is never closed.
    """
    data, separator = without_separator(data)
    delimiter, names, lines = find_names(data, delimiter or separator, header_row)
    notes = lines.notes("line")
    merged = lines.last > lines.first
    if merged or lines.first > 1:  # blank lines keep the line numbers
        before = itertools.islice(_lines(data), lines.last if merged else lines.first - 1)
        skipped = sum(len(line.encode()) for line in before)
        data = b"\n" * (lines.last if merged else lines.first - 1) + data[skipped:]
    try:
        table = _texts(data, delimiter, names, given=merged)
        if table.column_names != names:  # Arrow parses odd quotes in the header differently
            table = _texts(data, delimiter, table.column_names)
    except pa.ArrowInvalid as error:
        locate_error(data, delimiter)
        # Arrow requires the header to end with a newline.
        if data.strip().count(b"\n") + data.strip().count(b"\r") < 1:
            empty = pa.table({name: pa.array([], pa.string()) for name in names})
            return empty, delimiter, notes
        raise ValueError(f"not a valid table: {str(error).splitlines()[0]}") from None
    # An unclosed quote makes the rest of the file one cell.
    last = str(table.column(table.num_columns - 1)[-1]) if table.num_rows else ""
    if b'"' in data and ("\n" in last or "\r" in last or data.count(b'"') % 2):
        locate_error(data, delimiter)
    return table, delimiter, notes


def _texts(data: bytes, delimiter: str, names: list[str], *, given: bool = False) -> Any:
    options = text_options(delimiter, names, _BLOCK)
    if given:
        options["read_options"].column_names = names
    return arrow_csv.read_csv(pa.BufferReader(data), **options)


def text_options(delimiter: str, names: Iterable[str], block: int) -> dict[str, Any]:
    """Return Arrow's options to parse all columns in `names` as texts; it guesses any others."""
    types = dict.fromkeys(names, pa.string())
    return {
        "read_options": arrow_csv.ReadOptions(block_size=block),
        "parse_options": arrow_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
        "convert_options": arrow_csv.ConvertOptions(
            column_types=types, null_values=[""], strings_can_be_null=True
        ),
    }


def without_separator(data: bytes) -> tuple[bytes, str | None]:
    r"""Replace Excel's first line, which names the delimiter, by a blank one; return both.

    >>> without_separator(b"sep=;\na;b")
    (b'\na;b', ';')
    """
    first = _SEPARATOR.match(data)  # a blank line keeps the line numbers
    return (data, None) if first is None else (b"\n" + data[first.end() :], first[1].decode())


def find_names(
    data: bytes, delimiter: str | None, header_row: int | None = None
) -> tuple[str, list[str], HeaderLines]:
    """Return the delimiter that splits the header into most names, the names and their lines.

    Delimiters that split the first row into as many cells come first.
    """
    best, most = (delimiter or ",", list[str](), HeaderLines(1, 1, 1)), (False, 0)
    for candidate in (delimiter,) if delimiter else DELIMITERS:
        records, starts, ends = list[list[str]](), [1], list[int]()
        with suppress(csv.Error):  # a cell is too long
            reader = csv.reader(_lines(data), delimiter=candidate)
            for record in reader:
                if len(records) > SAMPLE:
                    break
                if record and (header_row is None or starts[-1] >= header_row):
                    records.append(record)
                    ends.append(reader.line_num)
                    starts.append(reader.line_num + 1)
                else:
                    starts[-1] = reader.line_num + 1
        if not records:
            continue
        first, last, names = Header(0, 0, records[0])
        if header_row is None:
            first, last, names = find_header(records)
        rank = (1 < len(names) == len([*records, []][last + 1]), len(names))
        if rank > most:
            end = ends[last] if last > first else starts[first]
            lines = HeaderLines(starts[0], starts[first], end)
            best, most = (candidate, names, lines), rank
    if header_row is not None and best[2].first != header_row:
        raise invalid("--header-row", "a line with column names", header_row)
    return best


def _lines(data: Any, encoding: str = "utf-8-sig") -> Any:
    source = io.BytesIO(data) if isinstance(data, bytes) else data
    return io.TextIOWrapper(source, encoding=encoding, newline="")


def locate_error(data: Any, delimiter: str, encoding: str = "utf-8-sig") -> None:
    """Raise a ValueError that names the first malformed line of bytes or an open file."""
    before = csv.field_size_limit(_LONGEST_CELL)
    records = csv.reader(_lines(data, encoding), delimiter=delimiter, strict=True)
    begin, expected = 1, 0
    try:
        for record in records:
            expected = expected or len(record)
            if record and len(record) != expected:
                got = f"{len(record)}: {shorten(delimiter.join(record))!r}"
                raise invalid(f"line {begin}", f"{expected} cells, as in the header", got)
            begin = records.line_num + 1
    except csv.Error as error:
        what = "an unclosed quote" if "end of data" in str(error) else str(error)
        raise invalid(f"line {begin}", "cells", what) from None
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
