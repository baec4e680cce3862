"""From the bytes of a file to plain text: decompression and text encodings.

Compressed data are recognised by their first bytes:

>>> import gzip
>>> unpack(gzip.compress(b"size,kind"))
b'size,kind'
>>> compression_of("cars.csv.zst")
'zstd'
>>> decode_text("größe,kind".encode("cp1252"))[1:]
('cp1252', 'the text is not UTF-8 and was read as cp1252; name the encoding if letters are wrong')
"""

from __future__ import annotations

import codecs
import lzma
import os
import re
from contextlib import nullcontext
from typing import Any

import pyarrow as pa

#: Arrow's name of the compression by ending.
COMPRESSIONS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd", ".xz": "xz"}

_MAGIC = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bz2",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"\xfd7zXZ\0": "xz",
}
_BLOCK = 2**24
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


def compression_of(path: str | os.PathLike[str]) -> str | None:
    """Return the compression that the ending of a name stands for."""
    return COMPRESSIONS.get(os.path.splitext(path)[1].lower())


def largest_result(size: int) -> int:
    """Return how many bytes a compressed file of some size may contain."""
    return max(_SMALL, _FACTOR * size)


def unpack(data: bytes) -> bytes:
    """Decompress data once if it is compressed.

    Raises
    ------
    ValueError
        If the data are damaged or incomplete, or grow to more than 1 GB and 200 times their size.
    """
    kind = next((kind for magic, kind in _MAGIC.items() if data.startswith(magic)), None)
    if kind is None:
        return data
    source: Any = pa.BufferReader(data)
    parts, left = [], largest_result(len(data))
    try:
        stream = lzma.open(source) if kind == "xz" else pa.CompressedInputStream(source, kind)
        while part := stream.read(_BLOCK):
            left -= len(part)
            if left < 0:
                limit = largest_result(len(data))
                raise ValueError(
                    f"expected at most {limit} unpacked bytes, got more; unpack it first"
                )
            parts.append(part)
    except (OSError, EOFError, lzma.LZMAError) as error:
        raise ValueError(f"damaged or incomplete {kind} data: {error}") from None
    return b"".join(parts)


def open_packed(target: Any, kind: str | None) -> Any:
    """Return a context that compresses what is written to it into a binary file."""
    if kind is None:
        return nullcontext(target)
    if kind == "xz":
        return lzma.open(target, "wb")
    return pa.output_stream(target, compression=kind)


def decode_text(data: bytes, encoding: str | None = None) -> tuple[bytes, str, str | None]:
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
    chosen, note = encoding or (marked[0] if marked else "utf-8"), None
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
            raise ValueError(
                f"line {line}: expected text in {chosen.upper()}, got the byte {data[place]:#04x}; "
                f"try another encoding, such as {_FALLBACK}"
            ) from None
        text, codec, note = data.decode(_FALLBACK), _FALLBACK, _NOTE
    except (LookupError, TypeError):
        raise ValueError(
            f"encoding: expected a text encoding that Python supports, got {encoding!r}"
        ) from None
    plain = data if codec == "utf-8" else text.encode("utf-8", "replace")
    plain = plain.removeprefix(codecs.BOM_UTF8)
    if not plain or plain.isspace():
        raise ValueError("the file is empty")
    return plain, codec, note


def _may_be_single_byte(data: bytes, error: UnicodeDecodeError) -> bool:
    """Return whether text that is not UTF-8 looks like cp1252 instead of damaged UTF-8."""
    if error.reason == "unexpected end of data" or _CONTROL.search(data):
        return False
    try:
        data.decode(_FALLBACK)  # five bytes have no meaning
    except UnicodeDecodeError:
        return False
    right = data.decode("utf-8", "ignore")
    n_right = len(right) - len(right.encode("ascii", "ignore"))
    n_wrong = data.decode("utf-8", "replace").count("\ufffd") - right.count("\ufffd")
    return n_right < n_wrong
