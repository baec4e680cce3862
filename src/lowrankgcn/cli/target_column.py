"""The target column of a table: added if it is absent, filled with labels of other files.

>>> frame = pd.DataFrame({"kind": pd.array(["oak", None], pd.ArrowDtype(pa.string()))})
>>> before = read_texts(frame, "kind")
>>> with_new_labels(frame, before.fillna("elm"), before)["kind"].tolist()
['oak', 'elm']
"""

from __future__ import annotations

import difflib
import shlex
from contextlib import suppress
from typing import Any

import pandas as pd
import pyarrow as pa

from lowrankgcn.files import TableFile, read_texts

_LISTED = 5  # columns in a note


def with_target(file: TableFile, target: str, new: bool, notes: list[str]) -> pd.DataFrame:
    """Add an empty target column to a table without it, unless the name is a misspelling."""
    frame = file.frame
    having = [name for name, columns in file.sheets.items() if target in columns]
    if target not in frame.columns and len(file.sheets) > 1 and (having or not new):
        listed = ", ".join(map(repr, file.sheets))
        where = f"--sheet {shlex.quote(having[0])} has it" if having else "none of them has it"
        got = f"the sheet that was read has no column {target!r}; the sheets are {listed}; {where}"
        raise ValueError(f"--target: {got}")
    near = difflib.get_close_matches(target.lower(), [name.lower() for name in frame.columns])
    if target in frame.columns or near:
        return frame
    if not new or not target.strip():
        listed = ", ".join(map(repr, frame.columns[:_LISTED]))
        advice = "needs --labels, and lowrankgcn suggest chooses rows to label"
        got = f"got {target!r} (columns: {listed}, …); a table without classes {advice}"
        raise ValueError(f"target: expected a column of the table, {got}")
    notes.append(f"the table has no column {target!r}; it is added")
    return frame.assign(**{target: pd.array([None] * len(frame), pd.ArrowDtype(pa.string()))})


def with_new_labels(
    frame: pd.DataFrame, labels: pd.Series, before: pd.Series, kind: Any = None
) -> pd.DataFrame:
    """Write labels into the target column, in its type if they have it; clear removed ones."""
    target = labels.name
    texts = read_texts(frame, target).where(before.isna() & labels.isna(), labels)
    column = pa.array(texts, pa.string())
    with suppress(pa.ArrowException):  # new classes
        column = column.cast(kind or frame[target].dtype.pyarrow_dtype)
    return frame.assign(**{target: pd.array(column, dtype=pd.ArrowDtype(column.type))})
