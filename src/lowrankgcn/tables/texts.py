"""Columns of files: texts as numbers, dates or categories.

Each distinct text is parsed once:

>>> import pandas as pd
>>> column = TextColumn(Cells.read(pd.Series(["12", "7", None, "NA"]), "size"))
>>> column.kind, column.as_numbers().as_floats("size").tolist()
('number', [12.0, 7.0, nan, nan])
>>> TextColumn(Cells.read(pd.Series(["007", "12"]), "code")).kind  # codes, not numbers
'category'
>>> prices = TextColumn(Cells.read(pd.Series(["$ 1,234.50", "($ 7)"]), "price"))
>>> prices.as_numbers().numbers.tolist()
[1234.5, -7.0]
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple, final

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from lowrankgcn.tables.cells import Cells, ColumnKind, lower_boolean, spell
from lowrankgcn.tables.dates import DateOrder, Dates, each_date, parse_dates

#: Texts that mean a missing cell in a column whose other cells are numbers or dates.
MISSING_TEXTS = ("", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "null", "NULL", "None", "?", "-")

_CODE = r"^[^0-9.,]*0[0-9]"  # leading zeros: codes, not numbers
_BLANK = "[ \u00a0\u2009\u202f]"  # also no-break, thin and narrow ones
_BOTH = "[.].*,"  # a decimal comma after points between thousands
_SENTENCE, _FEW = "^[^0-9]{30,}$", 100  # long texts without a digit, among the first texts
_ONE_COMMA = r"^[^0-9.,]*[0-9]{1,3},[0-9]{3}[^0-9.,]*$"
_NUMPY = r"np[.][a-z]+[0-9]+\(([^()]*)\)"
_BEFORE = rf"^(?:[+-]?{_BLANK}*\p{{Sc}}?|\p{{Sc}}{_BLANK}*[+-]){_BLANK}*"
_AFTER = rf"(?:[eE][+-]?[0-9]+)?{_BLANK}*[\p{{Sc}}%]?$"


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
    order : {"day first", "month first"} or None
        Of dates whose year is last, if it is known.
    alone : bool
        Whether the meaning of a text does not depend on the others, and other texts than numbers or
        dates are missing. This is so for a part of a column whose kind, decimal mark and order are
        known.
    """

    cells: Cells
    decimal: str = "."
    order: DateOrder | None = None
    alone: bool = False

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
        are dates (see :func:`parse_dates`), and categories otherwise. An empty column and one of
        pandas' type category hold categories. Numbers may have thousands separators, and a percent
        sign or the sign of one currency, which are ignored. Durations are numbers.
        """
        if self.cells.kind == "vector" or self._vectors is not None:
            return "vector"
        if self.cells.kind != "category":
            return "date" if self.cells.unit == "datetime" else "number"
        if self.cells.ordered or self._texts.null_count == len(self._texts):
            return "category"
        # Sentences are neither numbers nor dates, which all texts would have to be.
        if pc.any(pc.match_substring_regex(self._texts[:_FEW], _SENTENCE)).as_py():
            return "category"
        codes = pc.any(pc.match_substring_regex(self._texts, _CODE)).as_py()
        if self.numbers.style != "mixed" and not codes:
            return "number"
        return "date" if self.dates.times.null_count == self._texts.null_count else "category"

    @cached_property
    def typed(self) -> Cells:
        """The cells as numbers or dates if they are, else as spelled."""
        if self.kind == "vector":
            return self.as_vectors()
        if self.kind == "category":
            return self.cells
        return self.as_numbers() if self.kind == "number" else self.as_dates()

    @property
    def whole(self) -> bool:
        """Whether all cells are integers."""
        return self.kind == "number" and self.typed.numbers.dtype.kind in "iu"

    @property
    def comma_note(self) -> str | None:
        """What the user should know about commas in numbers that may be read in two ways."""
        texts = self._texts.filter(pc.match_substring_regex(self._texts, "[,.]"))
        if self.numbers.decimal == ",":
            clear = self.decimal == "," or pc.any(pc.match_substring_regex(texts, _BOTH)).as_py()
            return None if clear else "numbers are read with decimal commas"
        doubtful = pc.all(pc.match_substring_regex(texts, _ONE_COMMA)).as_py()
        if self.numbers.style != "formatted" or not len(texts) or not doubtful:
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
        known = np.asarray(self._texts.is_valid())
        right = (self.numbers.values if kind == "number" else self.dates.times).is_valid()
        if not len(known):
            return 0, 0, None, 0.0
        counts = np.bincount(self.cells.codes[~self.cells.missing], minlength=len(known))
        others = np.flatnonzero(known & ~np.asarray(right))
        other = str(self.cells.values[others[0]]) if len(others) else None
        share = 1 - len(others) / max(1, known.sum())
        present = int(counts[known].sum())
        return present - int(counts[others].sum()), present, other, share

    def n_unreadable(self, kind: Literal["number", "date"]) -> int:
        """Count the cells that are not numbers or dates on their own."""
        values = self.numbers.values if kind == "number" else self.dates.times
        if values.null_count == self._texts.null_count:
            return 0
        readable, present, *_ = self.parsed(kind)
        return present - readable

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
        if self.cells.numbers is not None and self.cells.unit != "datetime":
            return replace(self.cells, unit=None)
        other = None if unreadable_as_missing or self.alone else self.parsed("number")[2]
        return self._at_codes(self.numbers.values, "numbers", other)

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
        if self.cells.unit == "datetime":
            return self.cells
        column = replace(self, order=order)
        expected = "dates" if order is None else f"dates with the {order}"
        times = column.dates.times.cast(pa.int64())
        other = None if self.alone else column.parsed("date")[2]
        return replace(self._at_codes(times, expected, other), unit="datetime")

    def as_vectors(self) -> Cells:
        """Return the cells as vectors.

        Raises
        ------
        ValueError
            If the cells are not vectors.
        """
        if self.cells.kind == "vector" or self.cells.missing.all():
            return self.cells
        if self._vectors is None:
            got = self.cells.values[0] if self.cells.values else self.cells.kind
            raise ValueError(f"expected vectors, got {got!r}")
        vectors = Cells.read(self._vectors, "")
        codes = np.where(self.cells.missing, -1, self.cells.codes)
        return replace(
            vectors, missing=np.append(vectors.missing, True)[codes], numbers=vectors.numbers[codes]
        )

    @cached_property
    def _vectors(self) -> Any:
        """Distinct texts as Arrow lists of numbers, if they are lists such as "[1, 0.5]".

        NumPy prints them as "[np.float64(1.0), np.float64(0.5)]", and arrays as "[1.  0.5]".
        """
        texts = pc.replace_substring_regex(self._texts, _NUMPY, r"\1")
        if not len(texts) or texts.null_count == len(texts):
            return None
        lists = pc.match_substring_regex(texts, r"^\[[0-9eE+.,\s-]+\]$")
        if not lists.drop_null()[0].as_py() or not pc.all(lists).as_py():
            return None
        try:
            rows = [None if text is None else _numbers_in(text) for text in texts.to_pylist()]
        except ValueError:
            return None
        return pa.array(rows, pa.list_(pa.float64()))

    def as_categories(self) -> Cells:
        """Return the cells as categories, sorted by their text if they have no order.

        "True" is "true".
        """
        cells = self.cells.as_categories()
        texts = np.array([lower_boolean(text) for text in spelled(cells)], dtype=object)
        places, distinct = pd.factorize(texts, sort=not cells.ordered)
        codes = np.append(places, -1)[cells.codes]
        return Cells(cells.missing, codes=codes, values=distinct.tolist(), ordered=True)

    def _at_codes(self, values: Any, expected: str, other: str | None) -> Cells:
        """Return cells with the meanings of their texts, unless one is another text."""
        cells = self.cells.as_categories()
        if len(values) < len(cells.values):  # of another type
            first = cells.values[0]
            other = repr(spell(first, cells.unit) if cells.unit else first)
            raise ValueError(f"expected {expected}, got {other}")
        if other is not None:
            advice = "correct such cells or leave them empty"
            raise ValueError(f"expected {expected}, got {other!r}; {advice}")
        missing = np.append(np.asarray(values.is_null()), True)[cells.codes]
        return Cells(missing, np.append(np.asarray(values.fill_null(0)), 0)[cells.codes])

    @cached_property
    def numbers(self) -> Numbers:
        """Distinct texts as numbers."""
        texts, mark = _signed(self._texts), self.decimal
        plain = _cast(_pointed(self._texts, mark))
        if plain is None and mark == "." and not self.alone:
            _, commas, points = count_marked(texts)
            mark = "," if commas > points else "."
            plain = _cast(_pointed(self._texts, mark))
        if plain is not None:
            infinite = plain.filter(pc.is_inf(plain))
            if len(infinite) and not self.alone:
                raise ValueError(f"expected finite numbers, got {infinite[0]}")
            plain = pc.if_else(pc.is_inf(plain), pa.scalar(None, plain.type), plain)
            return Numbers(plain, "plain", mark)
        if not self.alone:
            _, commas, points = count_marked(texts, "[,.]")
            mark = mark if commas == points else "," if commas > points else "."
        nothing = pa.scalar(None, pa.string())
        kept = pc.if_else(pc.match_substring_regex(texts, _formatted(mark)), texts, nothing)
        units = set(pc.replace_substring_regex(kept.drop_null(), r"[^\p{Sc}%]", "").to_pylist())
        if not self.alone and (len("".join(units)) > 1 or units == {"%", ""}):  # several units
            kept = pa.nulls(len(kept), pa.string())
        digits = pc.replace_substring_regex(kept, f"[^0-9eE+{mark}-]", "")
        values = _cast(_pointed(digits, mark))
        # "1e999" may be a code.
        values = pc.if_else(pc.is_inf(values), pa.scalar(None, values.type), values)
        complete = values.null_count == texts.null_count
        return Numbers(values, "formatted" if complete else "mixed", mark)

    @cached_property
    def dates(self) -> Dates:
        """Distinct texts as dates."""
        if self.alone:
            return Dates(each_date(self._texts, self.order))
        return parse_dates(self._texts, self.order, prefer_day=self.decimal == ",")


def _numbers_in(text: str) -> list[float]:
    """Return the numbers of a list, between commas or, in printed arrays, between blanks.

    >>> _numbers_in("[1, 0.5]"), _numbers_in("[1.  0.5]")
    ([1, 0.5], [1.0, 0.5])
    """
    numbers: list[float] = json.loads(text) if "," in text else list(map(float, text[1:-1].split()))
    return numbers


def _signed(texts: Any) -> Any:
    """Return texts with a minus in place of parentheses, as accountants write negative numbers."""
    return pc.replace_substring_regex(texts, r"^\(\s*([^()]*[0-9][^()]*)\)$", r"-\1")


def plain_numbers(column: Any, decimal: str) -> Cells | None:
    """Read a Series of Arrow texts as numbers, faster than :class:`TextColumn`.

    None if another column is given, or some of the texts are not numbers without formatting.

    >>> texts = pd.Series(["1.5", None], dtype=pd.ArrowDtype(pa.string()))
    >>> plain_numbers(texts, ".").as_floats("")
    array([1.5, nan])
    """
    if not (isinstance(column.dtype, pd.ArrowDtype) and column.dtype.pyarrow_dtype == pa.string()):
        return None
    texts = pa.array(column)
    try:
        floats = pc.cast(texts if decimal == "." else _pointed(texts, decimal), pa.float64())
    except pa.ArrowInvalid:
        return None
    numbers = np.asarray(floats.fill_null(0.0))
    return Cells(np.asarray(texts.is_null()), numbers) if np.isfinite(numbers).all() else None


def _pointed(texts: Any, mark: str) -> Any:
    return pc.replace_substring(texts, mark, ".")


def count_marked(texts: Any, marks: str = ",") -> tuple[int, int, int]:
    """Count texts with marks (a pattern), and numbers among them with decimal commas or points.

    >>> count_marked(pa.array(["1,5", "1,234", "red, blue", "7"]))
    (3, 2, 1)
    """
    texts = _signed(texts.filter(pc.match_substring_regex(texts, marks)))
    commas, points = (
        pc.sum(pc.match_substring_regex(texts, _formatted(mark))).as_py() or 0 for mark in ",."
    )
    return len(texts), commas, points


def spelled(categories: Cells) -> list[str]:
    """Return the values of categories as text files spell them."""
    texts = ((value, spell(value, categories.unit)) for value in categories.values)
    return [text.lower() if isinstance(value, bool) else text for value, text in texts]


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
