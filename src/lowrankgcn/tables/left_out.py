"""Why columns are left out, and the notes that say so.

>>> left_out_notes({"unit": "constant", "code": "dropped"})
["column 'unit' is left out: all its values are equal"]
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Literal

import pandas as pd

from lowrankgcn.tables.cells import Name
from lowrankgcn.tables.texts import TextColumn

Reason = Literal["identifier", "constant", "empty", "dropped"]

# Conventions, described in choose_columns.
_IDENTIFIER_SHARE = 0.9  # a text column with a larger share of distinct values is an identifier
#: Words in the names of integer columns that identify the rows if their values differ.
_IDENTIFIER_WORDS = frozenset("id key uuid row index nr no".split())
MIXED_SHARE = 0.8  # a category column with a larger share of numbers or dates is reported
_SHOWN = 5  # names in a note
_REASONS = {  # of one column, and of several
    "identifier": (
        "its values identify the rows (--categorical, --numeric or --text keeps it)",
        "their values identify the rows (--categorical, --numeric or --text keeps them)",
    ),
    "constant": ("all its values are equal", "all values of each are equal"),
    "empty": ("all its cells are empty", "all their cells are empty"),
}


def left_out_notes(
    left_out: Mapping[Name, Reason], reasons: Iterable[str] = tuple(_REASONS)
) -> list[str]:
    """Return why columns are left out that the user did not drop."""
    notes = []
    for reason in reasons:
        one, several = _REASONS[reason]
        names = [repr(name) for name, why in left_out.items() if why == reason]
        listed = ", ".join(names[:_SHOWN]) + (f", … ({len(names)})" if names[_SHOWN:] else "")
        if len(names) == 1:
            notes.append(f"column {listed} is left out: {one}")
        elif names:
            notes.append(f"columns {listed} are left out: {several}")
    return notes


def reason_to_leave_out(column: TextColumn, name: Name, n_rows: int) -> Reason | None:
    """Return why a column is left out, or None."""
    cells, numbers = column.typed, column.typed.numbers
    present = int((~column.cells.missing).sum())
    if cells.kind == "vector":
        if not present:
            return "empty"
        known = numbers[~cells.missing]
        return "constant" if present == len(cells) and (known == known[0]).all() else None
    values = cells.codes if numbers is None else numbers
    n_distinct = len(pd.unique(values[~cells.missing]))  # texts of the same number count once
    if not present:
        return "empty"
    if cells.ordered:  # the type of the column says that these are categories
        return None
    if not cells.missing.any() and n_distinct == 1:
        return "constant"
    if column.kind == "category":
        return "identifier" if n_distinct > max(1, _IDENTIFIER_SHARE * present) else None
    if not column.whole or column.numbers.style == "formatted" or n_distinct < len(cells):
        return None
    ascending = numbers[1:] > numbers[:-1]
    consecutive = int(numbers.max()) - int(numbers.min()) < n_rows
    words = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", str(name)).lower()  # rowId
    named = not _IDENTIFIER_WORDS.isdisjoint(re.findall(r"[^\W\d_]+", words))
    numbered = consecutive or ascending.all() or not ascending.any()
    return "identifier" if named or numbered else None


def mixed_note(column: TextColumn, name: Name, reason: Reason | None) -> str | None:
    """Return a note if nearly all cells, but not all, are numbers or dates."""
    use = "it is used as categories" if reason is None else "it is left out"
    advices: dict[Literal["number", "date"], str] = {
        "number": f"--numeric {name!r} reads other cells as missing",
        "date": "correct the other cells to use it as dates",
    }
    texts = column.kind == "category" and not column.cells.ordered
    for kind, advice in advices.items() if texts else ():
        parsed, present, other, share = column.parsed(kind)
        if other is not None and parsed >= MIXED_SHARE * present and share > 0.5:
            return f"{parsed} of {present} cells are {kind}s, {other!r} is not; {use} ({advice})"
    return None
