"""Compressed files: gzip, bzip2, Zstandard and xz, recognised by their first bytes.

>>> import gzip
>>> unpack(gzip.compress(b"size,kind"))
b'size,kind'
>>> compression_of("cars.csv.zst")
'zstd'
"""

from __future__ import annotations

import lzma
import os
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
