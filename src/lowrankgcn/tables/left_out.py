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
from lowrankgcn.tables.texts import MISSING_TEXTS, TextColumn

Reason = Literal["identifier", "constant", "empty", "dropped"]

# Conventions, described in choose_columns.
_IDENTIFIER_SHARE = 0.9  # a text column with a larger share of distinct values is an identifier
#: Words in the names of integer columns that identify the rows if their values differ.
_IDENTIFIER_WORDS = frozenset("id key uuid row index nr no".split())
MIXED_SHARE = 0.8  # a category column with a larger share of numbers or dates is reported
_SHOWN = 5  # names in a note
_LEAST_FORMS, _SAMPLE = 10, 1000  # distinct texts that tell a form
_WORDS = 12  # different words in texts of one form, as many as months
_NUMBER, _CURRENCY = r"[0-9][0-9.,']*", "EUR|USD|GBP|CHF|JPY|CNY|INR|CAD|AUD|SEK|NOK|DKK|PLN|CZK"
_MONTH = r"[^\W\d_]{3,10}\.?"
#: What texts may be that are read neither as numbers nor as dates, by their form, and what to do.
_FORMS = {
    what: (re.compile(form), advice)
    for what, form, advice in (
        ("times", r"[0-9]{1,2}:[0-9]{2}(:[0-9]{2})?( ?[AaPp][Mm])?", "hours, such as 14.5"),
        (
            "dates with two digits of the year",
            r"[0-9]{1,2}([./-])[0-9]{1,2}\1[0-9]{2}",
            "them as 2024-12-31",
        ),
        (
            "dates with names of months that are not English",
            rf"([0-9]{{1,2}}\.?[ -])?{_MONTH}[ -](1[89]|20)[0-9]{{2}}",
            "them as 2024-12-31",
        ),
        (
            "numbers with a unit",
            rf"[+-]?({_NUMBER} ?[^\W\d_]{{1,4}}\.?|({_CURRENCY}) ?{_NUMBER})",
            "numbers in one unit, such as 12.5",
        ),
    )
}
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


def mixed_note(column: TextColumn, name: Name, use: str) -> str | None:
    """Return a note if nearly all cells, but not all, are numbers or dates.

    `use` is what becomes of the column otherwise.
    """
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


def form_note(column: TextColumn, use: str) -> str | None:
    """Return a note if nearly all texts may be numbers, times or dates that are not read as such.

    >>> from lowrankgcn.tables.cells import Cells
    >>> column = TextColumn(Cells.read(pd.Series([f"{k} min" for k in range(10, 30)]), "stay"))
    >>> form_note(column, "it is used as categories")
    "'10 min' and others may be numbers with a unit; it is used as categories; write ..."
    """
    if column.kind != "category" or column.cells.ordered:
        return None
    texts = [text.strip() for text in column.cells.values if isinstance(text, str)][:_SAMPLE]
    texts = [text for text in texts if text not in MISSING_TEXTS]
    for what, (form, advice) in _FORMS.items() if len(texts) >= _LEAST_FORMS else ():
        alike = [text for text in texts if form.fullmatch(text)]
        words = {re.sub(r"[\W\d_]", "", text) for text in alike}
        if len(alike) >= MIXED_SHARE * len(texts) and len(words) <= _WORDS:
            return f"{alike[0]!r} and others may be {what}; {use}; write {advice}"
    return None
