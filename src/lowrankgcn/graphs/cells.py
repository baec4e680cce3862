"""Tables as columns of numbers or categories.

:func:`column_kind` is the one place that decides whether a column holds numbers, dates or
categories. :func:`read_cells` converts a pandas series or NumPy array accordingly; the rows become
plain numbers, and the values are Python objects, once per distinct value:

>>> import pandas as pd
>>> read_cells(pd.Series(["b", None, "a", "b"]), "letter")
Categories(codes=array([ 0, -1,  1,  0]), values=['b', 'a'], ordered=False, unit=None)
>>> read_cells(pd.Series([1.5, None, 2.0]), "length").missing
array([False,  True, False])
"""

from __future__ import annotations

import math
import numbers
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
import pyarrow as pa
import scipy.sparse as sp
from numpy.typing import NDArray

from lowrankgcn._validation import invalid

Name = str | int
Value = str | int | float | bool
Unit = Literal["datetime", "timedelta"]
ColumnKind = Literal["number", "date", "category"]

_NUMERIC = ("integer", "floating", "mixed-integer-float", "decimal")
_TIMES = ("datetime64", "datetime", "date")
_SAFE_INTEGER = 2**53  # floats represent all integers up to here


def column_kind(dtype: Any) -> ColumnKind:
    """Return what a column of this pandas, NumPy or Arrow dtype holds.

    Booleans, texts, categoricals and Python objects are categories; dates, times and durations are
    dates.

    Examples
    --------
    >>> import numpy as np
    >>> [column_kind(np.dtype(name)) for name in ("int8", "bool", "M8[s]", "O")]
    ['number', 'category', 'date', 'category']
    """
    if isinstance(dtype, pd.SparseDtype):
        dtype = dtype.subtype
    if isinstance(dtype, pd.CategoricalDtype) or pd.api.types.is_bool_dtype(dtype):
        return "category"
    if isinstance(dtype, pd.ArrowDtype) and pa.types.is_date(dtype.pyarrow_dtype):
        return "date"
    if isinstance(dtype, pd.PeriodDtype) or dtype.kind in "mM":
        return "date"
    return "number" if pd.api.types.is_numeric_dtype(dtype) else "category"


@dataclass(frozen=True, eq=False)
class Categories:
    """A column as positions in a list of distinct values."""

    codes: NDArray[Any]  # (n,) signed, -1 where missing
    values: list[Value]  # distinct
    ordered: bool = False  # whether the values have a meaningful order
    unit: Unit | None = None

    @property
    def missing(self) -> NDArray[np.bool_]:
        """Which cells are missing, shape (n,)."""
        return self.codes < 0


@dataclass(frozen=True, eq=False)
class Numbers:
    """A column of numbers; dates are microseconds since 1970 (UTC), durations microseconds."""

    data: NDArray[Any]  # (n,) integer or float64, arbitrary where missing
    missing: NDArray[np.bool_]  # (n,)
    unit: Unit | None = None

    def present(self) -> NDArray[Any]:
        """Return the numbers of the present cells."""
        return self.data[~self.missing]

    def as_categories(self) -> Categories:
        """Return the column with one category per distinct number."""
        codes, values = pd.factorize(self.data)
        codes[self.missing] = -1
        return Categories(codes, [_plain(value) for value in values.tolist()], unit=self.unit)


@dataclass(frozen=True, eq=False)
class Table:
    """Columns by name, or by position if the table has no names."""

    columns: dict[Name, Any]  # Series or ndarray, each of shape (n_rows,)
    n_rows: int
    named: bool


def read_table(frame: Any) -> Table:
    """Read a DataFrame, a structured array, an array (n, p), or anything pandas converts.

    Raises
    ------
    ValueError
        If `frame` is not a table, or two columns have the same name.
    """
    if sp.issparse(frame):
        raise invalid("frame", "a table (n, p)", f"a sparse {frame.format} matrix")
    if hasattr(frame, "to_pandas"):  # Arrow, Polars
        frame = frame.to_pandas()
    named = isinstance(frame, (pd.DataFrame, pd.Series, Mapping))
    if not named and hasattr(frame, "__array__") and not isinstance(frame, np.ma.MaskedArray):
        frame = np.asarray(frame)
        named = frame.dtype.names is not None
        if frame.ndim != (1 if named else 2):
            raise invalid("frame", "a table (n, p)", f"an array of shape {frame.shape}")
        fields = {name: frame[name] for name in frame.dtype.names or ()}
        return Table(fields if named else dict(enumerate(frame.T)), len(frame), named=named)
    try:
        frame = frame.to_frame() if isinstance(frame, pd.Series) else pd.DataFrame(frame)
    except (TypeError, ValueError):
        raise invalid("frame", "a table (n, p)", type(frame).__name__) from None
    names = [plain_name(name) for name in frame.columns]
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise invalid("frame", "unique column names", f"several columns named {repeated[0]!r}")
    columns = {name: frame.iloc[:, j] for j, name in enumerate(names)}
    return Table(columns, len(frame), named=named)


def match_table(frame: Any, names: Sequence[Name], used: Sequence[Name], argument: str) -> Table:
    """Read a table whose columns are those of a fitted one, with these names.

    Parameters
    ----------
    frame
        As for :func:`read_table`. Columns are matched by name, or by position if they have none.
    names, used : sequence of str or int
        All columns at fitting, and those that are needed.
    argument : str
        Name of the table in messages.
    """
    table = read_table(frame)
    columns = table.columns
    if not table.named:
        if len(columns) != len(names):
            raise invalid(argument, f"{len(names)} columns", len(columns))
        columns = dict(zip(names, columns.values(), strict=True))
    absent = [name for name in used if name not in columns]
    if absent:
        expected = f"column {', '.join(map(repr, absent))}"
        raise invalid(argument, expected, f"columns {list(columns)}")
    return Table(columns, table.n_rows, named=True)


def plain_name(name: Any) -> Name:
    """Convert a column name to a text or an integer, as JSON requires."""
    if isinstance(name, numbers.Integral) and not isinstance(name, (bool, np.bool_)):
        return int(name)
    return str(name)


def read_cells(column: Any, name: object) -> Categories | Numbers:
    """Read a pandas series or a 1-D NumPy array.

    Parameters
    ----------
    column : Series or ndarray, shape (n,)
        None, NaN, NaT and NA are missing; an empty text is not.
    name : object
        Name of the column, for messages.

    Returns
    -------
    Categories or Numbers
        By :func:`column_kind`; dates become numbers. A column of Python objects has the type that
        all its present cells share, if they do. Values other than texts, numbers and booleans are
        replaced by ``str(value)``.

    Raises
    ------
    ValueError
        If the column holds complex or infinite numbers, or objects that cannot be hashed.
    """
    if isinstance(column, np.ndarray):
        texts = column.dtype.kind in "UST"
        column = np.ascontiguousarray(column.astype(object) if texts else column)
        # pandas would convert objects to strings, which cannot hold halves of surrogate pairs.
        column = pd.Series(column, dtype=object if column.dtype == object else None, copy=False)
    dtype = column.dtype
    if isinstance(dtype, pd.SparseDtype):
        column = column.sparse.to_dense()
        dtype = column.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        values = [_plain(value) for value in dtype.categories.tolist()]
        return _merge(column.cat.codes.to_numpy(), values, ordered=True)
    if isinstance(dtype, pd.PeriodDtype):
        column = column.dt.to_timestamp()
    elif isinstance(dtype, pd.ArrowDtype):
        column = _from_arrow(column)
    elif isinstance(dtype, np.dtype) and dtype.kind == "O":
        column = _infer(column)
    if column_kind(column.dtype) == "category":
        try:
            codes, distinct = pd.factorize(column)
        except TypeError as error:
            raise invalid(f"column {name!r}", "hashable values", error) from None
        return _merge(codes, [_plain(value) for value in distinct.tolist()], ordered=False)
    return _numbers(column, name)


def _numbers(column: Any, name: object) -> Numbers:
    kind = column.dtype.kind
    if kind == "c":
        raise invalid(f"column {name!r}", "real numbers", f"dtype {column.dtype}")
    if kind == "f":
        data = column.to_numpy(dtype=np.float64, na_value=np.nan)
        if np.isinf(data).any():
            raise invalid(f"column {name!r}", "finite numbers", data[np.isinf(data)][0])
        return Numbers(data, np.isnan(data))
    missing = column.isna().to_numpy(dtype=bool)
    if kind in "Mm":
        if getattr(column.dt, "tz", None) is not None:
            column = column.dt.tz_convert("UTC").dt.tz_localize(None)
        times = column.to_numpy(dtype=f"{kind}8[us]")
        return Numbers(times.view(np.int64), missing, "datetime" if kind == "M" else "timedelta")
    target = np.int64 if kind == "i" else np.uint64
    return Numbers(column.to_numpy(dtype=target, na_value=0), missing)


def _from_arrow(column: Any) -> Any:
    """Convert Arrow dates and decimals to NumPy types."""
    kind = column.dtype.pyarrow_dtype
    if pa.types.is_date(kind):
        return column.astype("datetime64[us]")
    return column.astype("Float64") if pa.types.is_decimal(kind) else column


def _infer(column: Any) -> Any:
    """Convert a column of Python objects to the type that all its present cells have."""
    kind = pd.api.types.infer_dtype(column, skipna=True)
    try:
        if kind in _NUMERIC:
            return pd.Series(column.to_numpy(dtype=np.float64, na_value=np.nan))
        if kind in _TIMES:
            return pd.to_datetime(column)
        if kind == "timedelta":
            return pd.to_timedelta(column)
    except (OverflowError, TypeError, ValueError):
        pass  # integers of hundreds of digits, mixed time zones: kept as objects
    return column


def _plain(value: Any) -> Value:
    """Convert a value to a text, integer, float or boolean, as JSON requires."""
    if isinstance(value, bool):
        return value
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, float) and math.isfinite(value):
        # 1.0 equals 1: a missing cell turns a column of integers into floats.
        return int(value) if value.is_integer() and abs(value) <= _SAFE_INTEGER else value
    return str(value)


def _merge(codes: NDArray[Any], values: list[Value], *, ordered: bool) -> Categories:
    """Merge values that are equal after conversion."""
    position: dict[Value, int] = {}
    merged = [position.setdefault(value, len(position)) for value in values]
    if len(position) < len(values):
        codes = np.array([*merged, -1])[codes]  # -1 reads the last entry
    return Categories(codes, list(position), ordered)
