"""What users should know about their labels: spellings of one class, columns that contain it.

>>> spelling_notes(["elm", "Elm ", "oak"])
["classes 'Elm ', 'elm' differ only by blanks, case or zeros; if they are one class, correct ..."]
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import pandas as pd

from lowrankgcn.exceptions import LabelWarning, warn_caller, without_options
from lowrankgcn.tables import Table

_LEAST_LABELS = 10  # from which a column with one value for each class is suspicious


def plain_name(name: str) -> str:
    """Return a class without differences of spelling; "3.0" is 3."""
    text = " ".join(name.split()).casefold()
    return text[:-2] if re.fullmatch(r"-?[0-9]+\.0", text) else text


def spelling_notes(classes: Iterable[str]) -> list[str]:
    """Return a note on each group of classes that differ only by spelling."""
    names = pd.Series(sorted(classes), dtype=object)
    advice = "if they are one class, correct the table"
    return [
        f"classes {', '.join(map(repr, same))} differ only by blanks, case or zeros; {advice}"
        for _, same in names.groupby(names.map(plain_name))
        if len(same) > 1
    ]


def leak_notes(labels: Any, rows: Any, features: Table, names: Iterable[Any]) -> list[str]:
    """Return a note on each of the named columns that may be another name of the class.

    These have one value for each class and another one for each other class, in all of at least
    ten labelled rows and twice as many as classes.

    Parameters
    ----------
    labels : sequence
        Of the labelled rows.
    rows : int array
        Labelled rows of `features`.
    features : Table
    names : columns
    """
    n_classes, notes = len(set(labels)), []
    for name in names if len(labels) >= max(_LEAST_LABELS, 2 * n_classes) else ():
        codes = features[name].take(rows).as_categories().codes.tolist()
        pairs = set(zip(codes, labels, strict=True))
        if -1 not in codes and len(pairs) == len(set(codes)) == n_classes:
            reason = "each class has a value of its own; if so, leave it out"
            option = f" (--drop {str(name)!r})"
            notes.append(f"column {name!r} may be another name of the class: {reason}{option}")
    return notes


def warn_of_labels(labels: Any, rows: Any) -> None:
    """Warn of spellings and, for a table whose columns were chosen, of columns with the class.

    Parameters
    ----------
    labels : Labels
    rows : Rows
    """
    names = labels.classes.tolist()
    notes = spelling_notes(names) if all(isinstance(name, str) for name in names) else []
    if rows.columns is not None and isinstance(rows.data, Table):
        whole = [name for name, kind in rows.columns.used.items() if kind != "text"]
        of_rows = labels.classes[labels.codes].tolist()
        notes += leak_notes(of_rows, labels.index, rows.data, whole)
    for note in notes:
        warn_caller(without_options(note), LabelWarning)
