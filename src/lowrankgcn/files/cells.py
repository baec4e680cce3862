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

__all__ = ["MISSING_NUMBERS", "Cells"]

#: Texts that mean a missing number in a column whose other cells are numbers.
MISSING_NUMBERS = ("NA", "N/A", "n/a", "#N/A", "NaN", "nan", "null", "NULL", "None", "?", "-")

_LONG = 2**31  # largest size in bytes of an Arrow array of (short) strings
_YEAR_1, _YEAR_10000 = np.array(["0001", "10000"], "datetime64[us]").astype(np.int64).tolist()
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
        if isinstance(array, pa.ChunkedArray):
            if pa.types.is_string(array.type) and array.nbytes >= _LONG:
                array = array.cast(pa.large_string())
            array = array.combine_chunks()
        kind = array.type
        if pa.types.is_dictionary(kind):
            array, kind = array.dictionary_decode(), kind.value_type
        if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
            array = _finite(array.cast(pa.float64()))
        elif pa.types.is_timestamp(kind):
            array = _in_calendar(array)
        elif not (_is_text(kind) or _is_plain(kind)):
            try:
                array = array.cast(pa.string())
            except pa.ArrowException:
                raise ValueError(f"expected text or numbers, got {kind}") from None
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
        if pa.types.is_null(self.values.type) or not len(self.values):
            return "category"
        if not _is_text(self.values.type):
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
        if not _is_text(values.type):
            if pa.types.is_boolean(values.type) or pa.types.is_temporal(values.type):
                return None
            return values
        texts = pc.utf8_trim_whitespace(values.cast(pa.string()))
        known = pc.is_in(texts, pa.array(MISSING_NUMBERS))
        texts = pc.if_else(known, pa.scalar(None, pa.string()), texts)
        if self.decimal == ",":
            texts = pc.replace_substring(texts, ",", ".")
        for kind in (pa.int64(), pa.float64()):
            try:
                return _finite(pc.cast(texts, kind))
            except pa.ArrowInvalid:
                continue
        return None

    def _is_number(self, value: Any) -> bool:
        one = Cells(np.zeros(1, np.int64), pa.array([value], self.values.type), self.decimal)
        return one._numbers is not None


def _is_text(kind: Any) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _is_plain(kind: Any) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_boolean(kind) or pa.types.is_date(kind))


def _finite(numbers: Any) -> Any:
    """Convert NaN to null; raise ValueError for infinite numbers."""
    if not pa.types.is_floating(numbers.type):
        return numbers
    infinite = pc.is_inf(numbers)
    if pc.any(infinite).as_py():
        raise ValueError(f"expected finite numbers, got {numbers.filter(infinite)[0]}")
    return pc.if_else(pc.is_nan(numbers), pa.scalar(None, pa.float64()), numbers)


def _in_calendar(times: Any) -> Any:
    """Convert timestamps to microseconds; raise ValueError outside the years 1 to 9999."""
    zone = times.type.tz
    try:
        exact = times.type.unit != "ns"
        found = times.cast(pa.timestamp("us", zone), safe=exact)
        limits = pc.min_max(found.cast(pa.int64())).as_py()
        right = limits["min"] is None or (_YEAR_1 <= limits["min"] and limits["max"] < _YEAR_10000)
    except pa.ArrowInvalid:
        right = False
    if not right:
        raise ValueError("expected dates in the years 1 to 9999, got dates outside")
    return found


def _times(values: Any) -> Any:
    """Parse as timestamps; None if some value is not a date."""
    if not _is_text(values.type):
        if not pa.types.is_temporal(values.type):
            return None
        return values.cast(pa.timestamp("us"), safe=False)
    for kind in (pa.timestamp("us"), pa.timestamp("us", "UTC")):
        try:
            return pc.cast(values, kind).cast(pa.timestamp("us"))
        except pa.ArrowInvalid:
            continue
    return None
