"""Column names in the first rows of a table, below titles and in merged cells.

>>> rows = [["Sales 2024"], ["name", "size", "", "price"], ["", "min", "max"], ["a", 1, 2, 3.5]]
>>> header = find_header(rows)
>>> header.first, header.last, header.names
(1, 2, ['name', 'size min', 'size max', 'price'])
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

Row = Sequence[Any]

SAMPLE = 40  # rows that show where the names are
_MOST_TITLES = 20
_NUMBER = re.compile(r"\s*[+-]?[\d.,]*\d\s*%?")


class Header(NamedTuple):
    """Rows of the column names.

    Attributes
    ----------
    first, last : int
        Positions of these rows: two rows if some cells are merged.
    names : list of cells
    """

    first: int
    last: int
    names: list[Any]


class HeaderLines(NamedTuple):
    """Numbers, from 1, of the first line or row that is not empty, and of those with the names."""

    start: int
    first: int
    last: int

    def notes(self, what: str) -> list[str]:
        """Return a note if the names are not in the first line alone."""
        lines = f"{what} {self.first}"
        if self.last > self.first:
            lines = f"{what}s {self.first} and {self.last}"
        elif self.first == self.start:
            return []
        above = ", below titles" if self.first > self.start else ", with merged cells"
        return [f"the column names are in {lines}{above} (--header-row names another {what})"]


def find_header(rows: Sequence[Row]) -> Header:
    """Find the column names in the first rows of a table.

    They are in the first row, unless rows that are at most half filled, which are titles, are
    followed by a row of texts above numbers. Two rows hold the names if the first one has gaps, as
    merged cells leave, and the second one has texts in all gaps. If names repeat below a row of
    several titles, these tell them apart.

    Parameters
    ----------
    rows : sequence of rows
        Without empty rows.
    """
    width = Counter(sorted(map(len, rows), reverse=True)).most_common(1)[0][0]
    start = 0
    while start < min(_MOST_TITLES, len(rows) - 1):
        top, below = rows[start : start + 2]
        if _are_merged(top, below) and _are_names(rows, start + 1):
            both = max(len(top), len(below))
            groups, under = _filled_forward(top, both), _texts(below, both)
            parts = zip(_texts(top, both), groups, under, strict=True)
            names = [f"{group} {name}".strip() if name else text for text, group, name in parts]
            return Header(start, start + 1, names)
        if not _is_title(top, width):
            break
        start += 1
    if start and not (len(_filled(rows[start])) >= width - 1 and _are_names(rows, start)):
        return Header(0, 0, list(rows[0]))
    names = list(rows[start])
    counts = Counter(names)
    if start and len(_filled(rows[start - 1])) > 1 and max(counts.values()) > 1:
        groups = _filled_forward(rows[start - 1], len(names))
        names = [
            f"{group} {name}" if counts[name] > 1 and group else name
            for group, name in zip(groups, names, strict=True)
        ]
    return Header(start, start, names)


def unique_names(names: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return different names, and those that occurred several times.

    >>> unique_names(["a", "b", "a", "a.1"])
    (['a', 'b', 'a.2', 'a.1'], ['a'])
    """
    taken, unique = set(names), list[str]()
    for place, name in enumerate(names):
        if name in names[:place]:
            number = 1
            while f"{name}.{number}" in taken:
                number += 1
            taken.add(name := f"{name}.{number}")
        unique.append(name)
    return unique, [name for name, count in Counter(names).items() if count > 1]


def with_unique_names(table: Any) -> tuple[Any, list[str]]:
    """Number repeated column names, with a note."""
    names, repeated = unique_names(table.column_names)
    if "" in repeated:
        raise ValueError("expected a name for every column, got several without; see --header-row")
    renamed = zip(table.column_names, names, strict=True)
    pairs = [f"{old!r} is called {new!r}" for old, new in renamed if old != new]
    notes = [f"column names repeat: another {', another '.join(pairs)}"] if pairs else []
    return table.rename_columns(names), notes


def _filled(row: Row) -> list[Any]:
    return [cell for cell in row if cell not in (None, "")]


def _is_number(cell: Any) -> bool:
    if isinstance(cell, str):
        return _NUMBER.fullmatch(cell) is not None
    return cell is not None


def _texts(row: Row, width: int) -> list[str]:
    cells = ["" if cell is None else str(cell) for cell in row]
    return cells + [""] * (width - len(cells))


def _filled_forward(row: Row, width: int) -> list[str]:
    filled = [""]
    for text in _texts(row, width):
        filled.append(text or filled[-1])
    return filled[1:]


def _is_title(row: Row, width: int) -> bool:
    few = len(_filled(row)) <= max(1, width // 2)
    return few and (width > 2 or len(row) < width)


def _are_merged(top: Row, below: Row) -> bool:
    """Return whether two rows may be names in merged cells: they fill each other's gaps."""
    width = max(len(top), len(below))
    texts, under = _texts(top, width), _texts(below, width)
    pairs = list(zip(texts, under, strict=True))
    gaps = any(not text and texts[place - 1] for place, text in enumerate(texts) if place)
    grouped = len(_filled(top)) > 1 and gaps and all(text or name for text, name in pairs)
    return grouped and ("" in under or len(set(under)) < width)


def _are_names(rows: Sequence[Row], place: int) -> bool:
    """Return whether a row may hold names: texts, not of the columns below, one above numbers."""
    row, rest = rows[place], rows[place + 1 :]
    columns = [[other[k] for other in rest if k < len(other)] for k in range(len(row))]
    named = [k for k, cell in enumerate(row) if cell not in (None, "")]
    texts = not any(_is_number(row[k]) or row[k] in columns[k] for k in named)
    return texts and any(any(map(_is_number, columns[k])) for k in named)
