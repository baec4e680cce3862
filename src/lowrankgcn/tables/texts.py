"""Columns of files: texts as numbers, dates or categories.

Each distinct text is parsed once:

>>> import pandas as pd
>>> column = FileColumn.read(pd.Series(["12", "7", None, "NA"]))
>>> column.kind, column.as_numbers().as_floats("size").tolist()
('number', [12.0, 7.0, nan, nan])
>>> FileColumn.read(pd.Series(["007", "12"])).kind  # codes, not numbers
'category'
>>> FileColumn.read(pd.Series(["$ 1,234.50", "$ 7"])).as_numbers().numbers.tolist()
[1234.5, 7.0]
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, final

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from lowrankgcn.tables.cells import Cells, ColumnKind, Unit, as_numpy, lower_boolean, spell
from lowrankgcn.tables.dates import DateOrder, Dates, are_dates, parse_dates

#: Texts that mean a missing cell in a column whose other cells are numbers or dates.
MISSING_TEXTS = ("NA", "N/A", "n/a", "#N/A", "NaN", "nan", "null", "NULL", "None", "?", "-")

_SEARCHED = 10_000  # values among which one for a message is searched
_CODE = r"^[^0-9.,]*0[0-9]"  # leading zeros: codes, not numbers
_BLANK = "[ \u00a0\u2009\u202f]"  # also no-break, thin and narrow ones
_ONE_COMMA = r"^[^0-9.,]*[0-9]{1,3},[0-9]{3}[^0-9.,]*$"
_BEFORE = rf"^(?:[+-]?{_BLANK}*\p{{Sc}}?|\p{{Sc}}{_BLANK}*[+-]){_BLANK}*"
_AFTER = rf"(?:[eE][+-]?[0-9]+)?{_BLANK}*[\p{{Sc}}%]?$"


@final
@dataclass(frozen=True, eq=False)
class FileColumn:
    """A column of a file, and what its texts may mean.

    Attributes
    ----------
    cells : Cells
        As spelled in the file, or in the type of the file.
    decimal : str
        "," if numbers may have decimal commas.
    """

    cells: Cells
    decimal: str = "."

    @classmethod
    def read(cls, column: Any, decimal: str = ".") -> FileColumn:
        """Read a column of any type (:meth:`Cells.read`)."""
        return cls(Cells.read(column, getattr(column, "name", None)), decimal)

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
        texts, (numbers, style) = self._texts, self._numbers
        if style != "mixed" and numbers.null_count < len(numbers):
            if not pc.any(pc.match_substring_regex(texts, _CODE)).as_py():
                return "number"
        empty = texts.null_count == len(texts)
        return "category" if empty or self.dates is None else "date"

    @cached_property
    def typed(self) -> Cells:
        """The cells as numbers or dates if they are, else as spelled."""
        if self.kind == "category":
            return self.cells
        return self.as_numbers() if self.kind == "number" else self.as_dates()

    @property
    def n_distinct(self) -> int:
        """Number of distinct values; texts of the same number count once."""
        cells = self.typed
        values = cells.codes if cells.numbers is None else cells.numbers
        return len(pd.unique(values[~cells.missing]))

    @property
    def whole(self) -> bool:
        """Whether all numbers are integers."""
        return self.kind == "number" and self.typed.numbers.dtype.kind in "iu"

    @property
    def formatted(self) -> bool:
        """Whether numbers have thousands separators, percent or currency signs."""
        return self.kind == "number" and self._numbers[1] == "formatted"

    def with_its_decimal(self) -> FileColumn:
        """Return the column with decimal commas if more of its texts are numbers then."""
        if self.decimal == "," or self.kind == "number":
            return self
        texts = self._texts.filter(pc.match_substring(self._texts, ","))
        commas, points = (
            pc.sum(pc.match_substring_regex(texts, _formatted(mark))).as_py() or 0 for mark in ",."
        )
        return replace(self, decimal=",") if commas > points else self

    @property
    def ambiguous_number(self) -> str | None:
        """A number such as 1,234 if all commas of the column may also be decimal commas."""
        if self.decimal == "," or not self.formatted:
            return None
        texts = self._texts.filter(pc.match_substring_regex(self._texts, "[,.]"))
        clear = not len(texts) or not pc.all(pc.match_substring_regex(texts, _ONE_COMMA)).as_py()
        return None if clear else str(texts[0])

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
        valid = self._numbers[0].is_valid() if kind == "number" else are_dates(self._texts)
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
        numbers, style = self._numbers
        incomplete = style == "mixed" and not unreadable_as_missing
        if incomplete or len(numbers) < len(self.cells.values):
            raise ValueError(f"expected numbers, got {self.parsed('number')[2] or self._first!r}")
        return self._at_codes(numbers, None)

    @cached_property
    def dates(self) -> Dates | None:
        """Distinct texts as dates; None if some are not dates."""
        return parse_dates(self._texts, prefer_day=self.decimal == ",")

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
        return self._at_codes(dates.times.cast(pa.int64()), "datetime")

    def as_categories(self) -> Cells:
        """Return the cells as categories, sorted by their text; "True" is "true"."""
        cells = self.cells.as_categories()
        places, distinct = pd.factorize(lower_booleans(spelled(cells)), sort=True)
        codes = np.append(places, -1)[cells.codes]
        return Cells(cells.missing, codes=codes, values=distinct.tolist(), ordered=True)

    def _at_codes(self, values: Any, unit: Unit | None) -> Cells:
        """Return cells with the meanings of their texts, an Arrow array of numbers."""
        missing = np.append(as_numpy(values.is_null()), True)[self.cells.codes]
        numbers = np.append(as_numpy(values.fill_null(0)), 0)[self.cells.codes]
        return Cells(missing, numbers, unit=unit)

    @property
    def _first(self) -> Any:
        """A value as a message quotes it."""
        cells = self.cells.as_categories()
        return spell(cells.values[0], cells.unit) if cells.unit else cells.values[0]

    @cached_property
    def _numbers(self) -> tuple[Any, Literal["plain", "formatted", "mixed"]]:
        """Distinct texts as Arrow numbers, null where missing or not numbers.

        Formatted numbers have thousands separators or a unit. Their decimal mark is the other one
        than in the table if more texts are numbers then. Mixed texts are not all numbers.
        """
        plain = _cast(pc.replace_substring(self._texts, self.decimal, "."))
        if plain is not None:
            infinite = plain.filter(pc.is_inf(plain))
            if len(infinite):
                raise ValueError(f"expected finite numbers, got {infinite[0]}")
            return plain, "plain"
        mark, other = self.decimal, "." if self.decimal == "," else ","
        nothing = pa.scalar(None, pa.string())
        kept, swapped = (
            pc.if_else(pc.match_substring_regex(self._texts, _formatted(m)), self._texts, nothing)
            for m in (mark, other)
        )
        # "1,5" alone is no number where points are decimal; "1.234,5" is.
        clear = mark == "," or pc.any(pc.match_substring_regex(swapped, r"[.].*,")).as_py()
        if clear and swapped.null_count < kept.null_count:
            kept, mark = swapped, other
        units = set(pc.replace_substring_regex(kept.drop_null(), r"[^\p{Sc}%]", "").to_pylist())
        signs = units - {""}
        if len("".join(signs)) > 1 or units == {"%", ""}:  # several units
            kept = pa.nulls(len(kept), pa.string())
        digits = pc.replace_substring_regex(kept, f"[^0-9eE+{mark}-]", "")
        numbers = _cast(pc.replace_substring(digits, mark, "."))
        # "1e999" may be a code.
        numbers = pc.if_else(pc.is_inf(numbers), pa.scalar(None, numbers.type), numbers)
        complete = numbers.null_count == self._texts.null_count
        return numbers, "formatted" if complete else "mixed"


def spelled(categories: Cells) -> list[str]:
    """Return the values of categories as text files spell them."""
    texts = (spell(value, categories.unit) for value in categories.values)
    pairs = zip(texts, categories.values, strict=True)
    return [text.lower() if isinstance(value, bool) else text for text, value in pairs]


def lower_booleans(texts: Any) -> NDArray[Any]:
    """Return texts with "true" and "false" in lower case, as booleans of binary formats are read.

    >>> lower_booleans(["True", "FALSE", "Truth", None]).tolist()
    ['true', 'false', 'Truth', None]
    """
    return np.array([lower_boolean(text) for text in texts], dtype=object)


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
