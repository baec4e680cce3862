"""What users should know about their labels: spellings of one class, columns that contain it.

>>> spelling_notes(["elm", "Elm ", "oak"])
["classes 'Elm ', 'elm' differ only by blanks, case or zeros; if they are one class, correct ..."]
"""

from __future__ import annotations

import re
import shlex
from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Any

from lowrankgcn.exceptions import MARKER_ADVICE, LabelWarning, warn_caller, without_options
from lowrankgcn.tables import Table

#: Texts that often mark unlabelled rows, in lower case.
MARKERS = frozenset(
    "na n/a #n/a nan null none ? - -- -1 unknown unlabelled unlabeled missing tbd todo".split()
)

_ABBREVIATED = {"y": "yes", "n": "no", "t": "true", "f": "false"}
_WITHOUT_VALUES = ("text", "vector")
_LEAST_LABELS = 10  # from which a column with one value for each class is suspicious


def plain_name(name: str) -> str:
    """Return a class without differences of spelling; "3.0" is 3."""
    text = " ".join(name.split()).casefold()
    return text[:-2] if re.fullmatch(r"-?[0-9]+\.0", text) else text


def spelling_notes(labels: Iterable[str]) -> list[str]:
    """Return a note on each group of classes that differ only by spelling, or are abbreviated."""
    counts, groups = Counter(labels), defaultdict[str, list[str]](list)
    for name in sorted(counts):
        groups[_ABBREVIATED.get(plain_name(name), plain_name(name))].append(name)
    notes = []
    for names in groups.values():
        listed = ", ".join(map(repr, names))
        if len({*map(plain_name, names)}) > 1:
            usual = max(names, key=lambda one: (plain_name(one) not in _ABBREVIATED, counts[one]))
            merged = f"{usual}={','.join(name for name in names if name != usual)}"
            option = f"(--merge-classes {shlex.quote(merged)} merges them)"
            notes.append(f"classes {listed} may be one class; if so, correct the table {option}")
        elif len(names) > 1:
            advice = "if they are one class, correct the table (--ignore-case merges them)"
            notes.append(f"classes {listed} differ only by blanks, case or zeros; {advice}")
    return notes


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
    """Warn of spellings, of texts that often mark unlabelled rows, and of columns with the class.

    Such texts are classes beyond doubt if other rows are unlabelled. Only a table whose columns
    were chosen is searched for the class.

    Parameters
    ----------
    labels : Labels
    rows : Rows
    """
    names = labels.classes.tolist()
    of_rows = labels.classes[labels.codes].tolist()
    notes = (
        spelling_notes(map(str, of_rows)) if all(isinstance(name, str) for name in names) else []
    )
    markers = MARKERS - {"-1"} if {"1", "+1"} & set(names) else MARKERS  # two signs are classes
    for name in names if len(labels.index) == labels.n_rows else ():
        if isinstance(name, str) and plain_name(name) in markers:
            notes.append(f"{name!r} is a class of {of_rows.count(name)} rows; {MARKER_ADVICE}")
    if rows.columns is not None and isinstance(rows.data, Table):
        whole = [name for name, kind in rows.columns.used.items() if kind not in _WITHOUT_VALUES]
        notes += leak_notes(of_rows, labels.index, rows.data, whole)
    for note in notes:
        warn_caller(without_options(note), LabelWarning)
