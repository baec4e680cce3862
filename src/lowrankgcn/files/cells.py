"""Columns of text files: parsing texts as numbers, dates or categories.

Each distinct text is parsed once:

>>> import pandas as pd
>>> column = Cells.from_column(pd.Series(["12", "7", None, "NA"]))
>>> column.kind, column.n_distinct, column.as_numbers().tolist()
('number', 2, [12.0, 7.0, nan, nan])
>>> Cells.from_column(pd.Series(["007", "12"])).kind  # codes, not numbers
'category'
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from lowrankgcn.graphs.cells import ColumnKind, column_kind

#: Texts that mean a missing number in a column whose other cells are numbers.
MISSING_NUMBERS = ("NA", "N/A", "n/a", "#N/A", "NaN", "nan", "null", "NULL", "None", "?", "-")

_CODE = r"^[+-]?0[0-9]"  # leading zeros: codes, not numbers


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
        elif pa.types.is_timestamp(kind):
            array = _in_calendar(array)
        elif not (pa.types.is_integer(kind) or pa.types.is_boolean(kind) or pa.types.is_date(kind)):
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
        are in ISO 8601, and categories otherwise. An empty column holds categories.
        """
        if not len(self.values):
            return "category"
        if not pa.types.is_large_string(self.values.type):
            return column_kind(pd.ArrowDtype(self.values.type))
        if self._numbers is not None and self._numbers.null_count < len(self.values):
            if not pc.any(pc.match_substring_regex(self.values, _CODE)).as_py():
                return "number"
        return "date" if _times(self.values) is not None else "category"

    @property
    def whole(self) -> bool:
        """Whether all numbers are integers."""
        numbers = self._numbers
        return numbers is not None and pa.types.is_integer(numbers.type)

    def as_kind(self, kind: ColumnKind) -> Any:
        """Return all cells as numbers, dates or categories."""
        if kind == "number":
            return self.as_numbers()
        return self.as_dates() if kind == "date" else self.as_categories()

    def as_numbers(self) -> NDArray[Any]:
        """Return all cells as integers if all are, else as float64 with NaN where missing.

        Raises
        ------
        ValueError
            If a cell is not a number; the message quotes it.
        """
        numbers = self._numbers
        if numbers is None:
            wrong = next(value for value in self.values.to_pylist() if not self._is_number(value))
            raise ValueError(f"expected numbers, got {wrong!r}")
        return self._at_codes(numbers)

    def as_dates(self) -> NDArray[Any]:
        """Return all cells as UTC times, NaT where missing.

        Raises
        ------
        ValueError
            If a cell is not a date.
        """
        times = _times(self.values)
        if times is None:
            raise ValueError(f"expected dates, got {self.values[0].as_py()!r}")
        return self._at_codes(times)

    def _at_codes(self, values: Any) -> NDArray[Any]:
        """Return the value of every cell; NaN or NaT if it is missing."""
        cells = values.take(pa.array(self.codes, mask=self.codes < 0))
        array: NDArray[Any] = cells.to_numpy(zero_copy_only=False)
        return array

    def as_categories(self) -> pd.Categorical:
        """Return all cells as categories, sorted by their text."""
        codes, distinct = pd.factorize(self.texts, sort=True)
        return pd.Categorical.from_codes(np.append(codes, -1)[self.codes], categories=distinct)

    @cached_property
    def texts(self) -> NDArray[Any]:
        """Texts of `values`, object array, None for missing ones."""
        texts: NDArray[Any] = self.values.cast(pa.string()).to_numpy(zero_copy_only=False)
        return texts

    @cached_property
    def _numbers(self) -> Any:
        """Distinct values as Arrow numbers, null where missing; None if some are not numbers."""
        values = self.values
        if pa.types.is_boolean(values.type) or pa.types.is_temporal(values.type):
            return None
        if not pa.types.is_large_string(values.type):
            return values
        texts = pc.utf8_trim_whitespace(values.cast(pa.string()))
        known = pc.is_in(texts, pa.array(MISSING_NUMBERS))
        texts = pc.if_else(known, pa.scalar(None, pa.string()), texts)
        if self.decimal == ",":
            texts = pc.replace_substring(texts, ",", ".")
        return _finite(_first_cast(texts, pa.int64(), pa.float64()))

    def _is_number(self, value: Any) -> bool:
        one = Cells(np.zeros(1, np.int64), pa.array([value], self.values.type), self.decimal)
        return one._numbers is not None


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
    """Convert timestamps to microseconds; raise ValueError outside the years 1 to 9999."""
    try:
        found = times.cast(pa.timestamp("us", times.type.tz), safe=times.type.unit != "ns")
        years = pc.min_max(pc.year(found.cast(pa.timestamp("us")))).as_py()
    except pa.ArrowInvalid:  # not in 64 bits
        years = {"min": 0, "max": 0}
    if years["min"] is not None and not 1 <= years["min"] <= years["max"] <= 9999:
        raise ValueError("expected dates in the years 1 to 9999, got dates outside")
    return found


def _times(values: Any) -> Any:
    """Parse as timestamps; None if some value is not a date."""
    times = values if pa.types.is_temporal(values.type) else None
    if pa.types.is_large_string(values.type):
        times = _first_cast(values, pa.timestamp("us"), pa.timestamp("us", "UTC"))
    return None if times is None else times.cast(pa.timestamp("us"), safe=False)
