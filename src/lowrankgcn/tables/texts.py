"""Columns of files: texts as numbers, dates or categories.

Each distinct text is parsed once:

>>> import pandas as pd
>>> column = TextColumn(Cells.read(pd.Series(["12", "7", None, "NA"]), "size"))
>>> column.kind, column.as_numbers().as_floats("size").tolist()
('number', [12.0, 7.0, nan, nan])
>>> TextColumn(Cells.read(pd.Series(["007", "12"]), "code")).kind  # codes, not numbers
'category'
>>> TextColumn(Cells.read(pd.Series(["$ 1,234.50", "$ 7"]), "price")).as_numbers().numbers.tolist()
[1234.5, 7.0]
>>> dates = parse_dates(pa.array(["31/12/2024", "1/2/2025 2:30 pm"]))
>>> dates.order, dates.times.to_pylist()[1].isoformat()
('day first', '2025-02-01T14:30:00')
>>> parse_dates(pa.array(["1/2/2025"])).ambiguous
True
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from typing import Any, Literal, NamedTuple, final

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from lowrankgcn.tables.cells import Cells, ColumnKind, as_numpy, lower_boolean, spell

DateOrder = Literal["day first", "month first"]

#: Texts that mean a missing cell in a column whose other cells are numbers or dates.
MISSING_TEXTS = ("NA", "N/A", "n/a", "#N/A", "NaN", "nan", "null", "NULL", "None", "?", "-")

_SEARCHED = 10_000  # values among which one for a message is searched
_CODE = r"^[^0-9.,]*0[0-9]"  # leading zeros: codes, not numbers
_BLANK = "[ \u00a0\u2009\u202f]"  # also no-break, thin and narrow ones
_BOTH = "[.].*,"  # a decimal comma after points between thousands
_ONE_COMMA = r"^[^0-9.,]*[0-9]{1,3},[0-9]{3}[^0-9.,]*$"
_BEFORE = rf"^(?:[+-]?{_BLANK}*\p{{Sc}}?|\p{{Sc}}{_BLANK}*[+-]){_BLANK}*"
_AFTER = rf"(?:[eE][+-]?[0-9]+)?{_BLANK}*[\p{{Sc}}%]?$"
_CLOCK = (
    r"(?:(?:,?\s+|T)(?P<hour>[0-9]{1,2}):(?P<minute>[0-9]{2})"
    r"(?::(?P<second>[0-9]{2})(?:\.(?P<fraction>[0-9]{1,6}))?)?\s*(?P<half>[AaPp][Mm])?)?"
)
_YEAR, _MONTH, _DAY = "(?P<year>[0-9]{4})", "(?P<month>[0-9]{1,2})", "(?P<day>[0-9]{1,2})"
_DATES = {
    order: re.compile(rf"{first}(?P<mark>[./-]){second}(?P=mark){third}{_CLOCK}")
    for order, first, second, third in (
        ("year first", _YEAR, _MONTH, _DAY),
        ("month first", _MONTH, _DAY, _YEAR),
        ("day first", _DAY, _MONTH, _YEAR),
    )
}


class Numbers(NamedTuple):
    """Numbers of texts.

    Attributes
    ----------
    values : Arrow array
        Null where texts are missing or not numbers.
    style : {"plain", "formatted", "mixed"}
        Formatted numbers have thousands separators, percent or currency signs. Mixed texts are not
        all numbers.
    decimal : {".", ","}
        Decimal mark.
    """

    values: Any
    style: Literal["plain", "formatted", "mixed"]
    decimal: str


class Dates(NamedTuple):
    """Times of texts, in UTC where these have a time zone.

    Attributes
    ----------
    times : Arrow array of microseconds
    order : {"day first", "month first"} or None
        None if the year comes first.
    ambiguous : bool
        Whether the other order would give other dates.
    """

    times: Any
    order: DateOrder | None = None
    ambiguous: bool = False


@final
@dataclass(frozen=True, eq=False)
class TextColumn:
    """What the texts of a column may mean.

    Attributes
    ----------
    cells : Cells
        As spelled in the file, or in the type of the file.
    decimal : str
        Decimal mark of the table. The column has the other one if more of its texts are numbers
        then.
    """

    cells: Cells
    decimal: str = "."

    @cached_property
    def _texts(self) -> Any:
        """Distinct texts without blanks around them, null if they mean a missing cell.

        None of them if the column has another type.
        """
        values = self.cells.values
        if not all(isinstance(value, str) for value in values):
            values = []
        texts = pc.utf8_trim_whitespace(pa.array(values, pa.string()))
        missing = pc.is_in(texts, pa.array(MISSING_TEXTS))
        return pc.if_else(missing, pa.scalar(None, pa.string()), texts)

    @cached_property
    def kind(self) -> ColumnKind:
        """What the column holds.

        Texts are numbers if all of them parse as numbers, none with a leading zero, dates if all
        are dates (see :func:`parse_dates`), and categories otherwise. An empty column holds
        categories. Numbers may have thousands separators, and a percent sign or the sign of one
        currency, which are ignored. Durations are numbers.
        """
        if self.cells.kind != "category":
            return "date" if self.cells.unit == "datetime" else "number"
        if self._texts.null_count == len(self._texts):
            return "category"
        codes = pc.any(pc.match_substring_regex(self._texts, _CODE)).as_py()
        if self.numbers.style != "mixed" and not codes:
            return "number"
        return "category" if self.dates is None else "date"

    @cached_property
    def typed(self) -> Cells:
        """The cells as numbers or dates if they are, else as spelled."""
        if self.kind == "category":
            return self.cells
        return self.as_numbers() if self.kind == "number" else self.as_dates()

    @property
    def whole(self) -> bool:
        """Whether all cells are integers."""
        return self.kind == "number" and self.typed.numbers.dtype.kind in "iu"

    @property
    def formatted(self) -> bool:
        """Whether numbers have thousands separators, percent or currency signs."""
        return self.kind == "number" and self.numbers.style == "formatted"

    @property
    def comma_note(self) -> str | None:
        """What the user should know about commas in numbers that may be read in two ways."""
        texts = self._texts.filter(pc.match_substring_regex(self._texts, "[,.]"))
        if self.numbers.decimal == ",":
            clear = self.decimal == "," or pc.any(pc.match_substring_regex(texts, _BOTH)).as_py()
            return None if clear else "numbers are read with decimal commas"
        doubtful = pc.all(pc.match_substring_regex(texts, _ONE_COMMA)).as_py()
        if not self.formatted or not len(texts) or not doubtful:
            return None
        advice = "(--decimal ',' reads decimal commas)"
        return f"the comma of {str(texts[0])!r} is read as a thousands separator {advice}"

    def parsed(self, kind: Literal["number", "date"]) -> tuple[int, int, str | None, float]:
        """Count the texts that are numbers or dates on their own.

        Returns
        -------
        cells, present : int
            Number of such cells, and of cells that are not missing.
        other : str or None
            The first other text.
        share : float
            Share of such texts among the distinct texts.
        """
        known = as_numpy(self._texts.is_valid())
        if not len(known):
            return 0, 0, None, 0.0
        if kind == "number":
            valid = self.numbers.values.is_valid()
        else:  # in the order of day, month and year that fits most texts
            every = (_times(self._texts, order).is_valid() for order in _DATES)
            valid = max(every, key=np.count_nonzero)
        right = as_numpy(valid) & known
        counts = np.bincount(self.cells.codes[~self.cells.missing], minlength=len(known))
        others = np.flatnonzero(known & ~right)
        other = str(self.cells.values[others[0]]) if len(others) else None
        share = right.sum() / max(1, known.sum())
        return int(counts[right].sum()), int(counts[known].sum()), other, float(share)

    def as_numbers(self, *, unreadable_as_missing: bool = False) -> Cells:
        """Return the cells as numbers.

        Parameters
        ----------
        unreadable_as_missing : bool
            Whether texts that are not numbers are missing.

        Raises
        ------
        ValueError
            If a cell is not a number; the message quotes it.
        """
        if self.cells.missing.all():  # the type of an empty column does not matter
            return Cells(self.cells.missing, np.zeros(len(self.cells), np.int64))
        if self.cells.numbers is not None and self.cells.unit != "datetime":
            return replace(self.cells, unit=None)
        incomplete = self.numbers.style == "mixed" and not unreadable_as_missing
        if incomplete or len(self._texts) < len(self.cells.values):
            raise ValueError(f"expected numbers, got {self.parsed('number')[2] or self._first!r}")
        return self._at_codes(self.numbers.values)

    def as_dates(self, order: DateOrder | None = None) -> Cells:
        """Return the cells as dates.

        Parameters
        ----------
        order : {"day first", "month first"}, optional
            Of texts whose year is last.

        Raises
        ------
        ValueError
            If a cell is not a date.
        """
        cells = self.cells
        if cells.unit == "datetime":
            return cells
        if cells.missing.all():
            return Cells(cells.missing, np.zeros(len(cells), np.int64), unit="datetime")
        dates = self.dates if order is None else parse_dates(self._texts, order)
        if dates is None or cells.kind != "category" or len(dates.times) < len(cells.values):
            expected = "dates" if order is None else f"dates with the {order}"
            alone = self._texts[:_SEARCHED].drop_null().to_pylist()
            wrong = (text for text in alone if parse_dates(pa.array([text]), order) is None)
            raise ValueError(f"expected {expected}, got {next(wrong, self._first)!r}")
        return replace(self._at_codes(dates.times.cast(pa.int64())), unit="datetime")

    def as_categories(self) -> Cells:
        """Return the cells as categories, sorted by their text; "True" is "true"."""
        cells = self.cells.as_categories()
        texts = np.array([lower_boolean(text) for text in spelled(cells)], dtype=object)
        places, distinct = pd.factorize(texts, sort=True)
        codes = np.append(places, -1)[cells.codes]
        return Cells(cells.missing, codes=codes, values=distinct.tolist(), ordered=True)

    def _at_codes(self, values: Any) -> Cells:
        """Return cells with the meanings of their texts, an Arrow array of numbers."""
        missing = np.append(as_numpy(values.is_null()), True)[self.cells.codes]
        return Cells(missing, np.append(as_numpy(values.fill_null(0)), 0)[self.cells.codes])

    @property
    def _first(self) -> Any:
        """A value as a message quotes it."""
        cells = self.cells.as_categories()
        return spell(cells.values[0], cells.unit) if cells.unit else cells.values[0]

    @cached_property
    def numbers(self) -> Numbers:
        """Distinct texts as numbers."""
        texts, mark = self._texts, self.decimal
        plain = _cast(pc.replace_substring(texts, mark, "."))
        if plain is None:
            _, commas, points = count_marked(texts, "," if mark == "." else "[,.]")
            mark = mark if commas == points else "," if commas > points else "."
            plain = _cast(pc.replace_substring(texts, mark, "."))
        if plain is not None:
            infinite = plain.filter(pc.is_inf(plain))
            if len(infinite):
                raise ValueError(f"expected finite numbers, got {infinite[0]}")
            return Numbers(plain, "plain", mark)
        nothing = pa.scalar(None, pa.string())
        kept = pc.if_else(pc.match_substring_regex(texts, _formatted(mark)), texts, nothing)
        units = set(pc.replace_substring_regex(kept.drop_null(), r"[^\p{Sc}%]", "").to_pylist())
        if len("".join(units)) > 1 or units == {"%", ""}:  # several units
            kept = pa.nulls(len(kept), pa.string())
        digits = pc.replace_substring_regex(kept, f"[^0-9eE+{mark}-]", "")
        values = _cast(pc.replace_substring(digits, mark, "."))
        # "1e999" may be a code.
        values = pc.if_else(pc.is_inf(values), pa.scalar(None, values.type), values)
        complete = values.null_count == texts.null_count
        return Numbers(values, "formatted" if complete else "mixed", mark)

    @cached_property
    def dates(self) -> Dates | None:
        """Distinct texts as dates; None if some are not dates."""
        return parse_dates(self._texts, prefer_day=self.decimal == ",")


def count_marked(texts: Any, marks: str = ",") -> tuple[int, int, int]:
    """Count texts with marks (a pattern), and numbers among them with decimal commas or points.

    >>> count_marked(pa.array(["1,5", "1,234", "red, blue", "7"]))
    (3, 2, 1)
    """
    texts = texts.filter(pc.match_substring_regex(texts, marks))
    commas, points = (
        pc.sum(pc.match_substring_regex(texts, _formatted(mark))).as_py() or 0 for mark in ",."
    )
    return len(texts), commas, points


def spelled(categories: Cells) -> list[str]:
    """Return the values of categories as text files spell them."""
    texts = (spell(value, categories.unit) for value in categories.values)
    pairs = zip(texts, categories.values, strict=True)
    return [text.lower() if isinstance(value, bool) else text for text, value in pairs]


def parse_dates(
    texts: Any, order: DateOrder | None = None, *, prefer_day: bool = False
) -> Dates | None:
    """Parse all texts as dates; return None if some text is not a date.

    Dates are in ISO 8601, or have day, month and year between points, slashes or hyphens.

    Parameters
    ----------
    texts : Arrow array
        Nulls are missing.
    order : {"day first", "month first"}, optional
        By default the one in which all texts are dates. If both are, the day is first between
        points, and the month otherwise.
    prefer_day : bool
        Whether the day is first in all these cases.
    """
    for kind in (pa.timestamp("us"), pa.timestamp("us", "UTC")):
        try:
            times = pc.cast(texts, kind).cast(pa.timestamp("us"), safe=False)
        except pa.ArrowInvalid:
            continue
        years = pc.min_max(pc.year(times)).as_py()
        inside = years["min"] is None or 1 <= years["min"] <= years["max"] <= 9999
        return Dates(times) if inside else None
    first = texts.drop_null()[0].as_py()
    orders: list[Any] = [one for one, date in _DATES.items() if date.fullmatch(first)]
    if prefer_day or re.match("[0-9]+[.]", first):
        orders.reverse()
    readings = [
        Dates(times, None if one == "year first" else one)
        for one in orders
        if one in (order or one, "year first")
        and (times := _times(texts, one)).null_count == texts.null_count
    ]
    if not readings:
        return None
    return readings[0]._replace(ambiguous=not readings[0].times.equals(readings[-1].times))


def _times(texts: Any, order: str) -> Any:
    """Return timestamps, null where a text is no date or the date does not exist."""
    times = [None if text is None else _time(text, order) for text in texts.to_pylist()]
    return pa.array(times, pa.timestamp("us"))


def _time(text: str, order: str) -> datetime | None:
    if (date := _DATES[order].fullmatch(text)) is None:
        return None
    hour, half = int(date["hour"] or 0), date["half"]
    if half and not 1 <= hour <= 12:
        return None
    if half:  # hours 12, 1, …, 11 before or after noon
        hour = hour % 12 + 12 * (half.lower() == "pm")
    year, month, day, minute, second = (
        int(date[part] or 0) for part in ("year", "month", "day", "minute", "second")
    )
    fraction = int((date["fraction"] or "").ljust(6, "0"))
    try:
        return datetime(year, month, day, hour, minute, second, fraction)
    except ValueError:
        return None


def _formatted(decimal: str) -> str:
    """Return the pattern of numbers, perhaps with thousands separators and a unit."""
    comma = "." if decimal == "," else ","
    groups = "|".join(f"(?:{mark}[0-9]{{3}})+" for mark in (f"[{comma}]", _BLANK, "['’]"))
    whole = f"(?:[0-9]+|[1-9][0-9]{{0,2}}(?:{groups}))"
    return f"{_BEFORE}(?:{whole}(?:[{decimal}][0-9]*)?|[{decimal}][0-9]+){_AFTER}"


def _cast(texts: Any) -> Any:
    """Return texts as integers, or else as floats, NaN as null; None if some are not numbers."""
    for kind in (pa.int64(), pa.float64()):
        try:
            numbers = pc.cast(texts, kind)
        except pa.ArrowInvalid:
            continue
        return pc.if_else(pc.is_nan(numbers), pa.scalar(None, kind), numbers)
    return None
