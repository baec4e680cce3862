"""Columns that an earlier run, or the studio, added to a table.

>>> frame = pd.DataFrame({"size": ["1"], "prediction": ["a"], "probability": ["0.9"]})
>>> columns_of_earlier_run(frame)
['prediction', 'probability']
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from itertools import takewhile
from typing import Any

import pandas as pd
import pyarrow as pa

from lowrankgcn.files import read_texts

_MARKS = ("label_status", "label_accepted", "label_note")  # columns that the studio adds


def columns_of_earlier_run(frame: pd.DataFrame) -> list[str]:
    """Return the columns that an earlier run added to a table.

    A prediction is followed by its probability, and perhaps by the class without the own label and
    its probability, sets of classes, which rows are unsure, reasons, and probabilities of classes.
    The studio adds what is known about rows beside labels.
    """
    names = list(frame.columns)
    earlier: list[str] = [name for name in _MARKS if set(_MARKS) <= set(names)]
    for place, name in enumerate(names):
        if re.fullmatch(r"prediction(_\d+)?", str(name)):
            after = list(takewhile(partial(_is_added, frame), names[place + 1 :]))
            earlier += [name, *after] if after else []
    return earlier


def _is_added(frame: pd.DataFrame, name: str) -> bool:
    """Return whether a column has the name and the values of those after a prediction."""
    if re.fullmatch(r"classes_\d+(\.\d+)?|loo_class(_\d+)?|reason_\d+(_\d+)?", str(name)):
        return True
    if re.fullmatch(r"unsure(_\d+)?", str(name)):
        return bool(read_texts(frame, name).dropna().str.lower().isin(["true", "false"]).all())
    if not re.fullmatch(r"(loo_)?probability(_.+)?", str(name), re.DOTALL):
        return False
    texts = read_texts(frame, name).dropna().str.replace(",", ".", regex=False)
    return bool(pd.to_numeric(texts, errors="coerce").between(0, 1).all())


def earlier_note(columns: list[str], what: str) -> list[str]:
    """Return a note on columns of an earlier run, if there are any."""
    listed = ", ".join(map(repr, columns))
    return [f"columns {listed} of an earlier run are {what}"] if columns else []


def with_marks(
    frame: pd.DataFrame, marks: Mapping[str, Mapping[int, str]], labels: Any
) -> pd.DataFrame:
    """Add columns with what is known about rows beside their labels, if there is anything.

    Parameters
    ----------
    frame : DataFrame
    marks : mapping
        Rows by "skipped", "accepted" and "note", see the studio's ``State``.
    labels : (n,) array
        None in unlabelled rows.
    """
    if not any(marks.values()):
        return frame
    status = pd.Series(labels, frame.index, object).notna().map({True: "labelled", False: None})
    added = {name: pd.Series(None, frame.index, object) for name in _MARKS[1:]}
    for what, name in (("accepted", "label_accepted"), ("note", "label_note")):
        added[name].iloc[list(marks[what])] = list(marks[what].values())
        if what == "accepted":
            status.iloc[list(marks[what])] = "accepted"
    status.iloc[list(marks["skipped"])] = "skipped"
    texts = {_MARKS[0]: status, **added}
    taken = set(frame.columns)
    if taken & set(texts):
        listed = ", ".join(map(repr, _MARKS))
        raise ValueError(f"expected a table without the columns {listed}; rename them")
    return frame.assign(**{n: pd.array(c, pd.ArrowDtype(pa.string())) for n, c in texts.items()})
