"""One column of a table, read once.

:meth:`Cells.read` reads a pandas series, an Arrow array or a NumPy array. Rows become plain
numbers; values are Python objects, one for each distinct value:

>>> import pandas as pd
>>> cells = Cells.read(pd.Series(["b", None, "a", "b"]), "letter")
>>> cells.kind, cells.codes.tolist(), cells.values
('category', [0, -1, 1, 0], ['b', 'a'])
>>> cells = Cells.read(pd.Series([1.5, None, 2.0]), "length")
>>> cells.kind, cells.missing.tolist()
('number', [False, True, False])
"""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Any, Literal, final

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from lowrankgcn._validation import invalid

Name = str | int
Value = str | int | float | bool
Unit = Literal["datetime", "timedelta"]
ColumnKind = Literal["number", "date", "category", "vector"]

_NUMERIC = ("integer", "floating", "mixed-integer-float", "decimal")  # kinds of Python objects
_SAFE_INTEGER = 2**53  # floats represent all integers up to here
_CALENDAR = (-62_135_596_800_000_000, 253_402_300_799_999_999)  # years 1 to 9999 in microseconds


def column_kind(dtype: Any) -> ColumnKind:
    """Return what a column of this pandas or NumPy type holds.

    Booleans, texts, categoricals and Python objects are categories; dates and durations are dates;
    times of day are numbers.

    Examples
    --------
    >>> import numpy as np
    >>> [column_kind(np.dtype(name)) for name in ("int8", "bool", "M8[s]", "O")]
    ['number', 'category', 'date', 'category']
    """
    return Cells.read(pd.Series(dtype=dtype), "").kind


@final
@dataclass(frozen=True, eq=False)
class Cells:
    """The cells of a column: numbers, or positions in a list of distinct values.

    Attributes
    ----------
    missing : (n,) bool array
    numbers : (n,) int64, uint64 or float64 array, (n, d) float64 array, or None for categories
        Arbitrary where missing. Dates are microseconds since 1970 (UTC), durations microseconds,
        and vectors of equal length are the rows of a matrix.
    codes : (n,) int array, or None for numbers
        Positions in `values`, −1 where missing.
    values : list
        Distinct values; none for numbers.
    ordered : bool
        Whether the values have a meaningful order.
    unit : {"datetime", "timedelta"} or None

    See Also
    --------
    Table : Columns by name.

    Examples
    --------
    >>> import pandas as pd
    >>> from lowrankgcn.tables import Cells
    >>> Cells.read(pd.Series(["b", None, "a", "b"]), "letter").texts()
    ['b', 'missing', 'a', 'b']
    """

    missing: NDArray[np.bool_]
    numbers: Any = None
    codes: Any = None
    values: list[Value] = field(default_factory=list)
    ordered: bool = False
    unit: Unit | None = None

    @classmethod
    def read(cls, column: Any, name: object) -> Cells:
        """Read a pandas series, an Arrow array or a 1-D NumPy array.

        Parameters
        ----------
        column : Series, Arrow array or ndarray, shape (n,)
            None, NaN, NaT and NA are missing; an empty text is not. The kind follows from the type
            (``column_kind``). A column of Python objects has the type that all its present
            cells share, if they do. Lists and arrays of equally many numbers are vectors. Values
            other than texts, numbers and booleans are replaced by ``str(value)``.
        name : object
            Name of the column, for messages.

        Raises
        ------
        ValueError
            If the column holds complex or infinite numbers, dates outside the years 1 to 9999,
            vectors of several lengths, or objects that cannot be hashed.
        """
        dtype = getattr(column, "dtype", None)  # Arrow arrays have none
        if isinstance(dtype, np.dtype) and dtype.kind in "fiu" and dtype.itemsize <= 8:
            return _read_numbers(np.ascontiguousarray(column), name)
        if isinstance(column, np.ndarray):
            # pandas would convert objects to strings, which cannot hold halves of surrogate pairs.
            objects = object if column.dtype.kind in "OUST" else None
            column = np.ascontiguousarray(column, objects or column.dtype.newbyteorder("="))
            column = pd.Series(column, dtype=objects, copy=False)
        elif isinstance(column, (pa.Array, pa.ChunkedArray)):
            column = pd.Series(column, dtype=pd.ArrowDtype(column.type), copy=False)
        dtype = column.dtype
        if isinstance(dtype, pd.SparseDtype):
            column = column.sparse.to_dense()
        elif isinstance(dtype, pd.PeriodDtype):
            column = column.dt.to_timestamp()
        elif isinstance(dtype, pd.ArrowDtype) and pa.types.is_dictionary(dtype.pyarrow_dtype):
            column = pa.array(column, from_pandas=True).to_pandas()
        if column.dtype.kind == "c":
            expected = "real numbers. Complex data not supported"
            raise invalid(f"column {name!r}", expected, f"dtype {column.dtype}")
        if isinstance(column.dtype, pd.CategoricalDtype):
            codes, values = column.cat.codes.to_numpy(), column.cat.categories.tolist()
            return cls.of_categories(codes, values, ordered=True)
        if (array := _as_arrow(column)) is not None:
            vectors = pa.types.is_nested(array.type)
            return _read_vectors(array, name) if vectors else _read_arrow(array, name)
        if isinstance(dtype, pd.ArrowDtype):
            raise invalid(f"column {name!r}", "texts, numbers or dates", dtype.pyarrow_dtype)
        try:
            codes, distinct = pd.factorize(column.to_numpy(object))
        except TypeError as error:
            raise invalid(f"column {name!r}", "hashable values", error) from None
        return cls.of_categories(codes, distinct.tolist())

    @classmethod
    def of_categories(cls, codes: NDArray[Any], values: Any, *, ordered: bool = False) -> Cells:
        """Return categories; values that are equal after conversion are merged."""
        position: dict[Value, int] = {}
        merged = [position.setdefault(_plain(value), len(position)) for value in values]
        if len(position) < len(merged):
            codes = np.array([*merged, -1])[codes]  # -1 reads the last entry
        return cls(codes < 0, codes=codes, values=list(position), ordered=ordered)

    def __len__(self) -> int:
        return len(self.missing)

    @property
    def kind(self) -> ColumnKind:
        """What the column holds; durations are dates."""
        if self.numbers is None:
            return "category"
        if self.numbers.ndim == 2:
            return "vector"
        return "number" if self.unit is None else "date"

    def take(self, rows: Any) -> Cells:
        """Return the cells of some rows, by an index array or a slice, as if only they existed."""
        missing = self.missing[rows]
        if self.numbers is not None:
            return replace(self, missing=missing, numbers=self.numbers[rows])
        codes, values = self.codes[rows].copy(), self.values
        if not self.ordered:
            codes[~missing], places = pd.factorize(codes[~missing])
            values = [values[k] for k in places]
        return replace(self, missing=missing, codes=codes, values=values)

    def as_categories(self) -> Cells:
        """Return the column with one category for each distinct number."""
        if self.numbers is None:
            return self
        codes = np.full(len(self), -1)
        codes[~self.missing], values = pd.factorize(self.numbers[~self.missing])
        return replace(Cells.of_categories(codes, values.tolist()), unit=self.unit)

    def as_floats(self, name: object, unit: Unit | None = None) -> NDArray[np.float64]:
        """Return the numbers with NaN where missing; booleans are 0 and 1.

        Raises
        ------
        ValueError
            If present cells are texts, or in another unit than `unit`.
        """
        if self.missing.all():  # the type of an empty column does not matter
            return np.full(len(self), np.nan)
        texts = (repr(value) for value in self.values if isinstance(value, str))
        kind = "vector" if self.kind == "vector" else self.unit or "number"
        other = next(texts, None if kind == (unit or "number") else f"{kind}s")
        if other is not None:
            raise invalid(f"column {name!r}", f"{unit or 'number'}s as at fitting", other)
        numbers = self.numbers
        if numbers is None:
            numbers = np.array([*self.values, np.nan], np.float64)[self.codes]
        return np.where(self.missing, np.nan, numbers.astype(np.float64))

    def texts(self) -> list[str]:
        """Return the cells as people read them."""
        if self.kind == "vector":
            length = f"{self.numbers.shape[1]} numbers"
            return ["missing" if missing else length for missing in self.missing]
        cells = self.as_categories()
        spelled = [*(spell_short(value, self.unit) for value in cells.values), "missing"]
        return [spelled[code] for code in cells.codes]


def spell(value: Value, unit: Unit | None) -> str:
    """Return a value as text.

    >>> spell(True, None), spell(86_400_000_000, "datetime")
    ('True', '1970-01-02')
    """
    if unit == "timedelta":
        return str(pd.Timedelta(microseconds=round(float(value))))
    if unit == "datetime":
        text = str(np.datetime64(round(float(value)), "us"))
        return text.removesuffix(".000000").removesuffix("T00:00:00").replace("T", " ")
    return str(value)


def lower_boolean(value: Any) -> Any:
    """Return "true" or "false" for booleans and their texts; other values as they are.

    Text files may spell booleans with capitals.

    >>> [lower_boolean(value) for value in (True, "FALSE", "Truth", None)]
    ['true', 'false', 'Truth', None]
    """
    text = str(value).lower()
    return text if text in ("true", "false") else value


def spell_short(value: Value, unit: Unit | None) -> str:
    """Return a value as text, numbers with six digits."""
    return f"{value:.6g}" if unit is None and isinstance(value, float) else spell(value, unit)


def plain_name(name: Any) -> Name:
    """Convert a column name to a text or an integer, as JSON requires."""
    if isinstance(name, numbers.Integral) and not isinstance(name, (bool, np.bool_)):
        return int(name)
    return str(name)


def _plain(value: Any) -> Value:
    """Convert a value to a text, integer, float or boolean, as JSON requires."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    if isinstance(value, numbers.Integral) and not isinstance(value, bool):
        return int(value)
    if isinstance(value, float) and math.isfinite(value):
        # 1.0 equals 1: a missing cell turns a column of integers into floats.
        return int(value) if value.is_integer() and abs(value) <= _SAFE_INTEGER else value
    return value if isinstance(value, bool) else str(value)


def _as_arrow(column: Any) -> Any:
    """Return a series as an Arrow array of texts, numbers, dates, booleans or lists of numbers.

    None if it is none of these. Python objects have the type that all of them share.
    """
    try:
        if column.dtype == object and pd.api.types.infer_dtype(column, skipna=True) in _NUMERIC:
            column = column.to_numpy(np.float64, na_value=np.nan)  # maybe beyond 64 bits
        array = pa.array(column, from_pandas=True)
        array = array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
        if pa.types.is_binary(array.type) or is_picture(array.type):
            return _bytes_as_texts(array)
        if isinstance(array, pa.FixedShapeTensorArray):
            array = array.storage
        if is_list_of_numbers(array.type):
            tuples = column.dtype == object and any(isinstance(cell, tuple) for cell in column)
            return None if tuples else array
        if pa.types.is_nested(array.type) or isinstance(array, pa.ExtensionArray):
            return None  # tuples, intervals
        return array
    except (pa.ArrowException, OverflowError, TypeError, ValueError):
        return None


def is_list_of_numbers(kind: Any) -> bool:
    """Return whether the cells of an Arrow type are vectors."""
    lists = pa.types.is_list(kind), pa.types.is_large_list(kind), pa.types.is_fixed_size_list(kind)
    entry = kind.value_type if any(lists) else kind
    return any(lists) and (pa.types.is_integer(entry) or pa.types.is_floating(entry))


def _read_vectors(array: Any, name: object) -> Cells:
    """Read an Arrow array of lists of numbers as a matrix."""
    missing = np.asarray(array.is_null())
    present = array.drop_null()
    lengths = pc.list_value_length(present)
    shortest, longest = pc.min_max(lengths).as_py().values() if len(present) else (0, 0)
    if shortest != longest or not (longest or missing.all()):
        expected = "vectors of the same length, at least one number"
        raise invalid(f"column {name!r}", expected, f"{shortest} to {longest} numbers")
    entries = np.asarray(present.flatten().cast(pa.float64()), np.float64)
    if not np.isfinite(entries).all():
        raise invalid(f"column {name!r}", "vectors of finite numbers", "NaN or infinity")
    numbers = np.zeros((len(array), longest))
    numbers[~missing] = entries.reshape(-1, longest)
    return Cells(missing, numbers)


def is_picture(kind: Any) -> bool:
    """Return whether an Arrow type has bytes and perhaps their path, as Hugging Face writes it."""
    place = kind.get_field_index("bytes") if pa.types.is_struct(kind) else -1
    return place >= 0 and bool(pa.types.is_binary(kind.field(place).type))


def _bytes_as_texts(array: Any) -> Any:
    """Return bytes that are texts; others by a hash, so that equal pictures are one value."""
    if pa.types.is_binary(array.type):
        try:
            return array.cast(pa.large_string())
        except pa.ArrowInvalid:
            cells = array.to_pylist()
    else:
        cells = [cell and (cell["bytes"] or cell.get("path")) for cell in array.to_pylist()]
    texts = [cell if isinstance(cell, str) or not cell else _hash(cell) for cell in cells]
    return pa.array([text or None for text in texts], pa.large_string())


def _hash(data: bytes) -> str:
    return blake2b(data, digest_size=12).hexdigest()


def _read_arrow(array: Any, name: object) -> Cells:
    """Read an Arrow array of texts, numbers, dates or booleans."""
    kind, missing = array.type, np.asarray(array.is_null())
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        floats = np.asarray(array.cast(pa.float64()))
        return _read_numbers(floats, name)
    if pa.types.is_integer(kind):
        target = np.uint64 if pa.types.is_unsigned_integer(kind) else np.int64
        return Cells(missing, np.asarray(array.fill_null(0)).astype(target, copy=False))
    if pa.types.is_temporal(kind):
        return _read_times(array, missing, name)
    if not pa.types.is_boolean(kind):
        array = array.cast(pa.large_string())  # texts of a column may exceed 2 GB
    encoded = array.dictionary_encode()
    codes = np.asarray(encoded.indices.fill_null(-1))
    return Cells(missing, codes=codes, values=encoded.dictionary.to_pylist())


def _read_numbers(numbers: NDArray[Any], name: object) -> Cells:
    """Read an array of floats, NaN where missing, or of integers."""
    if numbers.dtype.kind != "f":
        target = np.uint64 if numbers.dtype.kind == "u" else np.int64
        return Cells(np.zeros(len(numbers), bool), numbers.astype(target, copy=False))
    floats = numbers.astype(np.float64, copy=False)
    if len(infinite := floats[np.isinf(floats)]):
        raise invalid(f"column {name!r}", "finite numbers", infinite[0])
    return Cells(np.isnan(floats), floats)


def _read_times(array: Any, missing: NDArray[np.bool_], name: object) -> Cells:
    """Read Arrow dates, times of day and durations as microseconds."""
    kind = array.type
    unit: Unit | None = "datetime"
    target = pa.timestamp("us", getattr(kind, "tz", None))
    if pa.types.is_duration(kind):
        target, unit = pa.duration("us"), "timedelta"
    elif pa.types.is_time(kind):
        target, unit = pa.time64("us"), None
    try:
        exact = getattr(kind, "unit", "s") != "ns"  # nanoseconds are rounded
        numbers = np.asarray(array.cast(target, safe=exact).cast(pa.int64()).fill_null(0))
    except pa.ArrowInvalid:  # not in 64 bits
        numbers = np.full(len(array), _CALENDAR[1] + 1)
    outside = (numbers < _CALENDAR[0]) | (numbers > _CALENDAR[1])
    if unit == "datetime" and outside.any():
        raise invalid(f"column {name!r}", "dates in the years 1 to 9999", "dates outside")
    return Cells(missing, numbers, unit=unit)
