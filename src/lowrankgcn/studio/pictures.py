r"""Pictures of rows: in files below the table's folder, as ``data:`` texts or bytes, or as pixels.

Only formats without scripts are shown, and they are recognised by their first bytes: an SVG file
is refused whatever its name is.

>>> picture_type(b"\x89PNG\r\n\x1a\n..."), picture_type(b"<svg>")
('image/png', None)
"""

from __future__ import annotations

import base64
import binascii
import os
import re
import stat
from collections import Counter, defaultdict
from collections.abc import Mapping
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa

from lowrankgcn._validation import invalid

LARGEST = 20_000_000  # bytes of a picture
_TYPES = {
    rb"\x89PNG\r\n\x1a\n": "image/png",
    rb"\xff\xd8\xff": "image/jpeg",
    rb"GIF8[79]a": "image/gif",
    rb"RIFF....WEBP": "image/webp",
    rb"BM....\0\0\0\0": "image/bmp",
    rb"....ftypavi[fs]": "image/avif",
}
_NAMES = re.compile(r"[^\0\r\n]+\.(png|jpe?g|gif|webp|bmp|avif)", re.IGNORECASE)
_DATA = re.compile(r"data:image/[\w.+-]+(;[\w=.-]+)*;base64,", re.IGNORECASE)
_SIZE = re.compile(r"(\d{1,4})x(\d{1,4})(x3)?")

# What makes numeric columns pixels that nobody announced: sides, rows looked at, the share of
# columns with the common lowest value, and by how much pixels of neighbouring lines are more alike
# than pixels half a line apart.
_SIDES, _SAMPLE, _COMMON, _MARGIN = range(5, 513), 400, 0.75, 0.05


def picture_type(data: bytes) -> str | None:
    """Return the media type of a picture, None if it is not one of those shown."""
    starts = (kind for start, kind in _TYPES.items() if re.match(start, data[:16], re.DOTALL))
    return next(starts, None)


def holds_pictures(column: pd.Series, texts: list[str]) -> bool:
    """Return whether a column holds pictures: as bytes, or as texts, of which some are given."""
    kind = getattr(column.dtype, "pyarrow_dtype", None)
    if kind is not None and (pa.types.is_struct(kind) or pa.types.is_binary(kind)):
        return any(picture_type(_bytes(cell) or b"") for cell in column.dropna().head(9))
    named = (_NAMES.fullmatch(text) or _DATA.match(text) for text in texts)
    return bool(texts) and sum(map(bool, named)) >= 0.9 * len(texts)


def _bytes(cell: Any) -> bytes | None:
    data = cell.get("bytes") if isinstance(cell, dict) else cell
    return data if isinstance(data, bytes) else None


def read_picture(cell: Any, folder: Path) -> tuple[bytes, str]:
    """Return the bytes and the media type of the picture in a cell.

    Parameters
    ----------
    cell : str, bytes or dict
        A path in `folder`, a ``data:`` text, bytes, or bytes and path as Hugging Face writes them.
    folder : Path

    Raises
    ------
    ValueError
        If there is none, it is too large, of another type, not readable, or outside the folder.
    """
    data = _bytes(cell)
    text = cell.get("path") if isinstance(cell, dict) else cell
    if data is None and isinstance(text, str) and text.strip():
        found = _DATA.match(text)
        data = _read_file(text.strip(), folder) if found is None else _decode(text[found.end() :])
    if data is None:
        raise invalid("picture", "a path, data: or bytes", "an empty cell")
    if len(data) > LARGEST:
        raise invalid("picture", f"at most {LARGEST // 10**6} MB", f"{len(data) / 1e6:.0f} MB")
    kind = picture_type(data)
    if kind is None:
        raise invalid("picture", "PNG, JPEG, GIF, WebP, BMP or AVIF", "other data")
    return data, kind


def _decode(text: str) -> bytes:
    if len(text) > 2 * LARGEST:
        raise invalid("picture", f"at most {LARGEST // 10**6} MB", f"{len(text) / 1e6:.0f} MB")
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise invalid("picture", "base64 text", "other characters") from None


def _read_file(name: str, folder: Path) -> bytes:
    """Return the first bytes of a regular file below a folder, without following links."""
    parts = name.split("/")
    if {"", "..", "."} & set(parts) or re.search(r"^[A-Za-z]:|[\\\0]", name):
        raise invalid("picture", "a path below the folder of the table", repr(name[:200]))
    path = folder.resolve()
    for part in parts:
        path /= part
        if path.is_symlink():
            raise invalid("picture", "a file that is not a link", repr(name[:200]))
    flags = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    try:
        descriptor = os.open(path, os.O_RDONLY | flags)
    except OSError as error:
        got = f"{name[:200]!r}: {error.strerror}"
        raise invalid("picture", "a file that can be read", got) from None
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise invalid("picture", "a file", repr(name[:200]))
        with open(descriptor, "rb", closefd=False) as file:
            return file.read(LARGEST + 1)
    finally:
        os.close(descriptor)


class Pixels(NamedTuple):
    """Columns of numbers that are the pixels of a picture, line by line.

    Attributes
    ----------
    columns : list of int
        Their positions in the table.
    height, width, channels : int
    low, high : float
        Values of black and white.
    """

    columns: list[int]
    height: int
    width: int
    channels: int
    low: float
    high: float

    def note(self, names: list[str]) -> str:
        """Say which columns are shown as a picture."""
        first, last = (repr(names[place]) for place in (self.columns[0], self.columns[-1]))
        shown = f"columns {first} to {last} are shown as pictures of {self.height} × {self.width}"
        return f"{shown} pixels (--image none shows numbers)"


def find_pixels(
    frame: pd.DataFrame, used: Mapping[str, str], left_out: Mapping[str, str], size: str | None
) -> Pixels | None:
    """Return the pixel columns of a table, if there are any.

    Parameters
    ----------
    frame : DataFrame
        Without the target.
    used, left_out : dict from str to str
        Kinds of the columns in use, and reasons of the others.
    size : str or None
        "8x8" or, with three colours for each pixel, "32x32x3"; "none" for no pixels. By default
        numeric columns whose names differ in numbers only are pixels if their count is a square,
        they have one range, and pixels in neighbouring lines are alike.

    Raises
    ------
    ValueError
        If the size is not a size, or there are not as many numeric columns of one kind of name.
    """
    if size == "none":
        return None
    groups: dict[str, list[int]] = defaultdict(list)
    for place, name in enumerate(frame.columns):
        if used.get(name) == "number" or left_out.get(name) == "constant":
            groups[re.sub(r"\d+", "#", str(name))].append(place)
    if size is not None:
        found = _SIZE.fullmatch(size)
        if found is None:
            raise invalid("--image", "HEIGHTxWIDTH such as 8x8 or 32x32x3, or none", repr(size))
        height, width, channels = int(found[1]), int(found[2]), 3 if found[3] else 1
        count = height * width * channels
        for places in (*groups.values(), list(chain(*groups.values()))):
            if len(places) == count > 0:
                return _pixels(places, height, width, channels, _numbers(frame, places))
        counts = Counter(map(len, groups.values())).most_common()
        listed = ", ".join(str(number) for number, _ in sorted(counts, reverse=True)[:3])
        raise invalid("--image", f"{count} numeric columns", f"{listed or 'none'} of similar name")
    for places in groups.values():
        side = round(len(places) ** 0.5)
        if side in _SIDES and side * side == len(places):
            values = _numbers(frame, places)
            if _look_like_pixels(values, side):
                return _pixels(places, side, side, 1, values)
    return None


def _numbers(frame: pd.DataFrame, places: list[int]) -> Any:
    """Return numbers of some rows, NaN where missing, shape (rows, columns)."""
    rows = np.linspace(0, len(frame) - 1, min(len(frame), _SAMPLE)).astype(int)
    some = frame.iloc[rows, places]
    return np.column_stack(
        [pd.to_numeric(some[name].astype(object), errors="coerce") for name in some.columns]
    ).astype(np.float64)


def _pixels(places: list[int], height: int, width: int, channels: int, values: Any) -> Pixels:
    known = values[~np.isnan(values)]
    low, high = (float(known.min()), float(known.max())) if len(known) else (0.0, 1.0)
    return Pixels(places, height, width, channels, low, high if high > low else low + 1.0)


def _look_like_pixels(values: Any, side: int) -> bool:
    """Return whether columns have one range and are alike above and beside each other."""
    if np.isnan(values).any() or len(values) < 10:
        return False
    low, high = values.min(axis=0), values.max(axis=0)
    span = high.max() - low.min()
    if (low == low.min()).mean() < _COMMON or (high - low > span / 2).mean() < 0.5:
        return False
    centred = values - values.mean(axis=0)
    spread = centred.std(axis=0)
    scores = centred[:, spread > 0] / spread[spread > 0] / len(values) ** 0.5
    places = np.flatnonzero(spread > 0)
    C = scores.T @ scores
    gaps = np.abs(places[:, None] - places[None, :])

    def alike(gap: int) -> float:
        return float(C[gaps == gap].mean()) if (gaps == gap).any() else 0.0

    half = max(alike(side // 2), alike(side // 2 + 1))
    return min(alike(1), alike(side)) > half + _MARGIN
