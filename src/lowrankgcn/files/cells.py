"""Columns of text files: parsing texts as numbers, dates or categories.

Each distinct text is parsed once:

>>> import pandas as pd
>>> column = Cells.from_column(pd.Series(["12", "7", None, "NA"]))
>>> column.kind, column.n_distinct, column.as_numbers().tolist()
('number', 2, [12.0, 7.0, nan, nan])
>>> Cells.from_column(pd.Series(["007", "12"])).kind  # codes, not numbers
'category'
>>> Cells.from_column(pd.Series(["$ 1,234.50", "$ 7"])).as_numbers().tolist()
[1234.5, 7.0]
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, final

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from lowrankgcn.files.dates import DateOrder, Dates, are_dates, parse_dates
from lowrankgcn.tables.cells import ColumnKind, column_kind

#: Texts that mean a missing cell in a column whose other cells are numbers or dates.
MISSING_TEXTS = ("NA", "N/A", "n/a", "#N/A", "NaN", "nan", "null", "NULL", "None", "?", "-")

_CALENDAR = (-62_135_596_800_000_000, 253_402_300_799_999_999)  # years 1 to 9999 in microseconds
_SEARCHED = 10_000  # values among which one for a message is searched
_CODE = r"^[^0-9.,]*0[0-9]"  # leading zeros: codes, not numbers
_BLANK = "[ \u00a0\u2009\u202f]"  # also no-break, thin and narrow ones
_ONE_COMMA = r"^[^0-9.,]*[0-9]{1,3},[0-9]{3}[^0-9.,]*$"
_BEFORE = rf"^(?:[+-]?{_BLANK}*\p{{Sc}}?|\p{{Sc}}{_BLANK}*[+-]){_BLANK}*"
_AFTER = rf"(?:[eE][+-]?[0-9]+)?{_BLANK}*[\p{{Sc}}%]?$"


@final
@dataclass(frozen=True, eq=False)
class Cells:
    """A column as positions in the list of its distinct values.

    Attributes
    ----------
    codes : (n,) int array
        Positions in `values`, −1 for missing cells.
    values : Arrow array
        Distinct values (for floating-point numbers: all cells), as texts or in the file's type.
    decimal : str
        "," if numbers may have decimal commas.
    """

    codes: NDArray[Any]
    values: Any
    decimal: str = "."

    @classmethod
    def from_column(cls, column: Any, decimal: str = ".") -> Cells:
        """Encode a column of any type.

        Raises
        ------
        ValueError
            If the cells are not texts, numbers, booleans or dates.
        """
        try:
            array = pa.array(column, from_pandas=True)
        except (pa.ArrowException, TypeError, ValueError):
            raise ValueError("expected values of one type, got several types") from None
        if pa.types.is_dictionary(array.type):
            array = array.cast(array.type.value_type)
        kind = array.type
        if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
            array = _finite(array.cast(pa.float64()))
        elif pa.types.is_timestamp(kind) or pa.types.is_date(kind):
            array = _in_calendar(array)
        elif pa.types.is_time(kind) or pa.types.is_duration(kind):
            array = array.cast(pa.int64() if kind.bit_width == 64 else pa.int32())
        elif not (pa.types.is_integer(kind) or pa.types.is_boolean(kind)):
            try:
                array = array.cast(pa.large_string())  # texts of a column may exceed 2 GB
            except pa.ArrowException:
                raise ValueError(f"expected text or numbers, got {kind}") from None
        if isinstance(array, pa.ChunkedArray):
            array = array.combine_chunks()
        if pa.types.is_floating(array.type):  # mostly distinct: do not search for copies
            place = np.arange(len(array))
            return cls(np.where(array.is_valid(), place, -1), array, decimal)
        encoded = array.dictionary_encode()
        codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        return cls(codes, encoded.dictionary, decimal)

    @property
    def _meanings(self) -> Any:
        """Numbers or other values; different texts may have the same meaning."""
        return self._numbers if self.kind == "number" else self.values

    @property
    def n_distinct(self) -> int:
        """Number of distinct values; texts of the same number count once."""
        return int(pc.count_distinct(self._meanings).as_py())

    @property
    def constant(self) -> bool:
        """Whether all values are present and equal."""
        limits = pc.min_max(self._meanings).as_py()
        return not self._meanings.null_count and bool(limits["min"] == limits["max"])

    @cached_property
    def kind(self) -> ColumnKind:
        """What the column holds.

        Texts are numbers if all of them parse as numbers, none with a leading zero, dates if all
        are dates (see :func:`parse_dates`), and categories otherwise. An empty column holds
        categories. Numbers may have thousands separators, and a percent sign or the sign of one
        currency, which are ignored.
        """
        if not len(self.values):
            return "category"
        if not self._is_text:
            return column_kind(pd.ArrowDtype(self.values.type))
        if self._numbers is not None and self._numbers.null_count < len(self.values):
            if not pc.any(pc.match_substring_regex(self.values, _CODE)).as_py():
                return "number"
        if self._known.null_count == len(self.values):
            return "category"
        return "date" if self.dates is not None else "category"

    @property
    def whole(self) -> bool:
        """Whether all numbers are integers."""
        numbers = self._numbers
        return numbers is not None and pa.types.is_integer(numbers.type)

    @property
    def formatted(self) -> bool:
        """Whether numbers have thousands separators, percent or currency signs."""
        return self.kind == "number" and self._plain is None

    @property
    def has_decimal_commas(self) -> bool:
        """Whether decimal commas make more texts numbers, in a table with decimal points."""
        if self.decimal == "," or not self._is_text or self.kind == "number":
            return False
        texts = self._known.filter(pc.match_substring(self._known, ","))
        commas, points = (
            pc.sum(pc.match_substring_regex(texts, _formatted(mark))).as_py() or 0 for mark in ",."
        )
        return bool(commas > points)

    @property
    def ambiguous_number(self) -> str | None:
        """A number such as 1,234 if all commas of the column may also be decimal commas."""
        if self.decimal == "," or not self._is_text or not self.formatted:
            return None
        texts = self._known.filter(pc.match_substring_regex(self._known, "[,.]"))
        clear = not len(texts) or not pc.all(pc.match_substring_regex(texts, _ONE_COMMA)).as_py()
        return None if clear else str(texts[0])

    @cached_property
    def dates(self) -> Dates | None:
        """Distinct values as dates; None if some are not dates."""
        return self._parse_dates(None)

    def _parse_dates(self, order: DateOrder | None) -> Dates | None:
        if pa.types.is_temporal(self.values.type):
            return Dates(self.values.cast(pa.timestamp("us"), safe=False))
        if not self._is_text:
            return None
        return parse_dates(self._known, order, prefer_day=self.decimal == ",")

    def as_numbers(self, *, lenient: bool = False) -> NDArray[Any]:
        """Return all cells as integers if all are, else as float64 with NaN where missing.

        Parameters
        ----------
        lenient : bool
            Whether texts that are not numbers are missing.

        Raises
        ------
        ValueError
            If a cell is not a number; the message quotes it.
        """
        numbers = self._numbers
        if numbers is None and self._is_text and lenient:
            numbers = self._readable
        if numbers is None:
            wrong = self.parsed("number")[2] or self.values[0].as_py()
            raise ValueError(f"expected numbers, got {wrong!r}")
        return _numpy(self._at_codes(numbers))

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
        if not self._is_text:
            return 0, 0, None, 0.0
        known = _numpy(self._known.is_valid())
        found = self._readable.is_valid() if kind == "number" else are_dates(self._known)
        right = _numpy(found) & known
        counts = np.bincount(self.codes[self.codes >= 0], minlength=len(known))
        others = np.flatnonzero(known & ~right)
        other = self.values[int(others[0])].as_py() if len(others) else None
        share = right.sum() / max(1, known.sum())
        return int(counts[right].sum()), int(counts[known].sum()), other, float(share)

    def as_dates(self, order: DateOrder | None = None) -> NDArray[Any]:
        """Return all cells as UTC times, NaT where missing.

        Parameters
        ----------
        order : {"day first", "month first"}, optional
            Of texts whose year is last.

        Raises
        ------
        ValueError
            If a cell is not a date.
        """
        dates = self.dates if order is None else self._parse_dates(order)
        if dates is None:
            expected = "dates" if order is None else f"dates with the {order}"
            raise ValueError(f"expected {expected}, got {self._wrong_date(order)!r}")
        return _numpy(self._at_codes(dates.times))

    def _wrong_date(self, order: DateOrder | None) -> Any:
        """Return a value that is not a date."""
        for value in self.values[:_SEARCHED].to_pylist():
            if self._alone(value)._parse_dates(order) is None:
                return value
        return self.values[0].as_py()

    def as_arrow(self) -> Any:
        """Return all cells as Arrow integers, numbers, dates or times, or as they are."""
        if self.kind == "number":
            return self._at_codes(self._numbers)
        if self.dates is None:
            return self._at_codes(self.values)
        days = self.dates.times.cast(pa.date32(), safe=False)
        midnight = pc.all(pc.equal(days.cast(pa.timestamp("us")), self.dates.times)).as_py()
        return self._at_codes(days if midnight else self.dates.times)

    def _at_codes(self, values: Any) -> Any:
        """Return the value of every cell, null if it is missing."""
        return values.take(pa.array(self.codes, mask=self.codes < 0))

    def as_categories(self) -> pd.Categorical:
        """Return all cells as categories, sorted by their text; "True" is "true"."""
        codes, distinct = pd.factorize(lower_booleans(self.texts), sort=True)
        return pd.Categorical.from_codes(np.append(codes, -1)[self.codes], categories=distinct)

    @cached_property
    def texts(self) -> NDArray[Any]:
        """Texts of `values`, object array, None for missing ones."""
        return _numpy(self.values.cast(pa.string()))

    @cached_property
    def _numbers(self) -> Any:
        """Distinct values as Arrow numbers, null where missing; None if some are not numbers."""
        values = self.values
        if pa.types.is_boolean(values.type) or pa.types.is_temporal(values.type):
            return None
        if not self._is_text:
            return values
        if self._plain is not None:
            return _finite(self._plain)
        complete = self._readable.null_count == self._known.null_count
        return self._readable if complete else None

    @cached_property
    def _plain(self) -> Any:
        """Distinct texts as Arrow numbers; None if some are not numbers or are formatted."""
        texts = self._known
        if self.decimal == ",":
            texts = pc.replace_substring(texts, ",", ".")
        return _first_cast(texts, pa.int64(), pa.float64())

    @cached_property
    def _readable(self) -> Any:
        """Distinct texts as numbers, perhaps formatted; null where missing or not numbers.

        The decimal mark is the other one than in the table if more texts are numbers then.
        """
        forms = []
        for decimal in (self.decimal, "." if self.decimal == "," else ","):
            fits = pc.match_substring_regex(self._known, _formatted(decimal))
            kept = pc.if_else(fits, self._known, pa.scalar(None, pa.string()))
            forms.append((kept, decimal))
        (kept, decimal), (other, other_decimal) = forms
        # "1,5" alone is no number where points are decimal; "1.234,5" is.
        clear = decimal == "," or pc.any(pc.match_substring_regex(other, r"[.].*,")).as_py()
        if clear and other.null_count < kept.null_count:
            kept, decimal = other, other_decimal
        units = pc.unique(pc.replace_substring_regex(kept.drop_null(), r"[^\p{Sc}%]", ""))
        if not _one_unit(units.to_pylist()):
            return pa.nulls(len(kept), pa.float64())
        digits = pc.replace_substring_regex(kept, f"[^0-9eE+{decimal}-]", "")
        digits = pc.replace_substring(digits, decimal, ".")
        numbers = _first_cast(digits, pa.int64(), pa.float64())
        if pa.types.is_floating(numbers.type):  # "1e999" may be a code
            numbers = pc.if_else(pc.is_inf(numbers), pa.scalar(None, pa.float64()), numbers)
        return numbers

    @property
    def _is_text(self) -> bool:
        return bool(pa.types.is_large_string(self.values.type))

    @cached_property
    def _known(self) -> Any:
        """Distinct texts without blanks around them, null if they mean a missing cell."""
        texts = pc.utf8_trim_whitespace(self.values.cast(pa.string()))
        missing = pc.is_in(texts, pa.array(MISSING_TEXTS))
        return pc.if_else(missing, pa.scalar(None, pa.string()), texts)

    def _alone(self, value: Any) -> Cells:
        return Cells(np.zeros(1, np.int64), pa.array([value], self.values.type), self.decimal)


def lower_booleans(texts: Any) -> NDArray[Any]:
    """Return texts with "true" and "false" in lower case, as booleans of binary formats are read.

    >>> lower_booleans(["True", "FALSE", "Truth", None]).tolist()
    ['true', 'false', 'Truth', None]
    """
    spelled = {t: t.lower() for t in texts if t is not None and t.lower() in ("true", "false")}
    return np.array([spelled.get(text, text) for text in texts], dtype=object)


def _formatted(decimal: str) -> str:
    """Return the pattern of numbers, perhaps with thousands separators and a unit."""
    comma = "." if decimal == "," else ","
    groups = "|".join(f"(?:{mark}[0-9]{{3}})+" for mark in (f"[{comma}]", _BLANK, "['’]"))
    whole = f"(?:[0-9]+|[1-9][0-9]{{0,2}}(?:{groups}))"
    return f"{_BEFORE}(?:{whole}(?:[{decimal}][0-9]*)?|[{decimal}][0-9]+){_AFTER}"


def _one_unit(units: list[str]) -> bool:
    """Return whether all numbers are percent, or all are in one currency or without a sign."""
    if "%" in units:
        return len(units) == 1
    signs = [unit for unit in units if unit]
    return not signs or (len(signs) == 1 and len(signs[0]) == 1)


def _numpy(values: Any) -> NDArray[Any]:
    array: NDArray[Any] = values.to_numpy(zero_copy_only=False)
    return array


def _first_cast(texts: Any, *kinds: Any) -> Any:
    """Return the texts as the first of some types that fits all of them, or None."""
    for kind in kinds:
        try:
            return pc.cast(texts, kind)
        except pa.ArrowInvalid:
            continue
    return None


def _finite(numbers: Any) -> Any:
    """Convert NaN to null; raise ValueError for infinite numbers."""
    if numbers is None or not pa.types.is_floating(numbers.type):
        return numbers
    infinite = pc.is_inf(numbers)
    if pc.any(infinite).as_py():
        raise ValueError(f"expected finite numbers, got {numbers.filter(infinite)[0]}")
    return pc.if_else(pc.is_nan(numbers), pa.scalar(None, pa.float64()), numbers)


def _in_calendar(times: Any) -> Any:
    """Convert times to microseconds; raise ValueError outside the years 1 to 9999."""
    kind = times.type
    zone = kind.tz if pa.types.is_timestamp(kind) else None
    try:
        # Nanoseconds are rounded; Arrow's years of far times are wrong.
        found = times.cast(pa.timestamp("us", zone), safe=getattr(kind, "unit", "s") != "ns")
        limits = pc.min_max(found.cast(pa.int64())).as_py()
    except pa.ArrowInvalid:  # not in 64 bits
        limits = {"min": _CALENDAR[1], "max": _CALENDAR[0]}
    if limits["min"] is not None:
        if not _CALENDAR[0] <= limits["min"] <= limits["max"] <= _CALENDAR[1]:
            raise ValueError("expected dates in the years 1 to 9999, got dates outside")
    return times if pa.types.is_date(kind) else found  # dates keep their texts
