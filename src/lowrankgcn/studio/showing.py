"""How the page shows columns: as title, text, link, picture, date, number or category.

What a column is used for and how it is shown are two questions: an identifier can be the title of
its row, and a constant is still a number.

>>> frame = pd.DataFrame({
...     "name": ["Cox Orange", "Boskoop", "Elstar"],
...     "page": ["https://apple.example/1", "https://apple.example/2", None],
...     "weight": ["150", "210", "180"],
... })
>>> shown = show_columns(frame, {"weight": "number"}, {"name": "identifier", "page": "identifier"})
>>> [column["show"] for column in shown.columns], shown.title
(['category', 'link', 'number'], 0)
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from lowrankgcn.studio.pictures import holds_pictures

_PICTURE = "picture"  # text of a cell with bytes
_SAMPLE = 400  # rows from which it is decided how a column is shown
_MOST = 0.9  # share of the cells that must be links
_TEXT, _TITLE = 60, 120  # mean letters from which a column is text to read, and of a title
_LINK = re.compile(r"https?://[^\s<>\"']+")
_TITLES = {"title", "name", "headline", "subject", "caption", "titel", "titre", "título", "betreff"}


class Shown(NamedTuple):
    """Columns as the page shows them, and the position of the title, if there is one."""

    columns: list[dict[str, str]]
    title: int | None


def show_columns(
    frame: pd.DataFrame, used: Mapping[str, str], left_out: Mapping[str, str]
) -> Shown:
    """Decide how columns are shown, from the cells of a few hundred rows.

    Parameters
    ----------
    frame : DataFrame
        Without the target.
    used, left_out : dict from str to str
        Kinds of the columns in use, and reasons of the others.
    """
    rows = np.linspace(0, len(frame) - 1, min(len(frame), _SAMPLE)).astype(int)
    columns, titles = [], list[tuple[int, int]]()
    for place, name in enumerate(frame.columns):
        some = frame[name].iloc[rows]
        texts = _present(some)
        kind = used.get(name) or left_out[name]
        show = kind if kind in ("number", "date") else _show(texts, kind)
        show = "image" if holds_pictures(some, texts) else show
        columns.append({"name": name, "kind": kind, "show": show})
        if show in ("text", "category") and (rank := _title_rank(name, kind, texts)):
            titles.append((rank, place))
    return Shown(columns, min(titles)[1] if titles else None)


def cell_texts(column: pd.Series) -> Any:
    """Return the cells of a column as an Arrow array of texts; bytes have none."""
    array = pa.array(column, from_pandas=True)
    array = array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
    if pa.types.is_struct(array.type):
        names = array.type.get_field_index("path")
        texts = array.field(names) if names >= 0 else pa.nulls(len(array), pa.large_string())
        texts = pc.coalesce(texts.cast(pa.large_string()), pa.scalar(_PICTURE, pa.large_string()))
        return pc.if_else(array.is_valid(), texts, None)
    if pa.types.is_nested(array.type):
        lengths = pc.list_value_length(array).cast(pa.large_string())
        parts = lengths, *(pa.scalar(text, pa.large_string()) for text in ("numbers", " "))
        return pc.binary_join_element_wise(*parts)
    try:
        return array.cast(pa.large_string())
    except pa.ArrowInvalid:  # bytes
        return pc.if_else(array.is_valid(), pa.scalar(_PICTURE, pa.large_string()), None)


def _present(column: pd.Series) -> list[str]:
    return [text for text in cell_texts(column).drop_null().to_pylist() if text.strip()]


def _show(texts: list[str], kind: str) -> str:
    if texts and sum(bool(_LINK.fullmatch(text.strip())) for text in texts) >= _MOST * len(texts):
        return "link"
    if kind == "text" or (texts and np.mean([len(text) for text in texts]) > _TEXT):
        return "text"
    return "number" if texts and all(map(_is_number, texts)) else "category"


def _is_number(text: str) -> bool:
    return re.fullmatch(r"[-+]?\d+([.,]\d+)?([eE][-+]?\d+)?", text.strip()) is not None


def _title_rank(name: str, kind: str, texts: list[str]) -> int:
    """Return how well a column can be the title of its row, 1 is best; 0 if it cannot."""
    if not texts or np.mean([len(text) for text in texts]) > _TITLE:
        return 0
    words = re.findall(r"[^\W\d_]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower())
    if not _TITLES.isdisjoint(words):
        return 1 if len(words) == 1 else 2
    several = np.mean([len(text.split()) for text in texts]) >= 2
    return 3 if several and kind in ("identifier", "text") else 0


def has_own_positions(kinds: Collection[str]) -> bool:
    """Return whether rows with columns of some kinds are points in two or three dimensions."""
    return len(kinds) in (2, 3) and set(kinds) == {"number"}
