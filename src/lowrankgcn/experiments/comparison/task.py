"""What is compared on: rows as they come, the same rows as numbers, and their classes.

>>> frame = pd.DataFrame({"size": [1, 3, None, 1, 3], "colour": ["red", "blue", *3 * ["red"]]})
>>> task = make_task("things", frame, ["yes", "no", None, "no", "yes"])
>>> task.classes, task.class_names
(array([ 1,  0, -1,  0,  1]), ('no', 'yes'))
>>> task.numbers  # the missing size is the mean of the others
array([[-1.,  0.,  1.],
       [ 1.,  1.,  0.],
       [ 0.,  0.,  1.],
       [-1.,  0.,  1.],
       [ 1.,  0.,  1.]])
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lowrankgcn._validation import invalid

__all__ = ["Task", "make_task"]

_LARGEST = 1e150  # variances are sums of squares


@final
@dataclass(frozen=True, eq=False)
class Task:
    """A table whose classes are known, or most of them.

    Attributes
    ----------
    name : str
    rows : DataFrame, (n, p)
        What ``GCNClassifier`` gets.
    numbers : (n, d) array of float64
        What other methods get: numbers and dates standardised over all rows, an indicator for every
        value of the other columns.
    categorical : bool
        Whether any column is not numeric.
    classes : (n,) array of int
        Index into `class_names`; −1 where the class is not known.
    class_names : tuple of str
    notes : tuple of str
        What was done to the table, for people to read.
    """

    name: str
    rows: pd.DataFrame
    numbers: NDArray[np.float64]
    categorical: bool
    classes: NDArray[np.intp]
    class_names: tuple[str, ...]
    notes: tuple[str, ...] = ()

    @property
    def n_rows(self) -> int:
        """Number of rows, those of unknown class included."""
        return len(self.rows)

    def reordered(self, order: NDArray[np.intp]) -> Task:
        """The same table with its rows in another order."""
        return replace(
            self,
            rows=self.rows.iloc[order].reset_index(drop=True),
            numbers=self.numbers[order],
            classes=self.classes[order],
        )


def make_task(name: str, rows: pd.DataFrame, target: Any, *, notes: tuple[str, ...] = ()) -> Task:
    """Put rows and their classes into the form that all methods take.

    Parameters
    ----------
    name : str
    rows : DataFrame, (n, p)
        Numeric columns are numbers, all others but dates categories. In a table of numbers alone,
        missing ones become their column's mean for every method; another table goes to
        ``GCNClassifier`` as it is, and only the other methods get means.
    target : (n,) array
        Classes, in the order of their names; missing and empty ones are not known. A class of one
        row can not be both learned and tested and counts as not known.
    notes : tuple of str

    Raises
    ------
    ValueError
        If there are no columns, numbers whose squares are infinite, or fewer than two classes of
        two rows.
    """
    if rows.shape[1] == 0:
        raise invalid("columns", "at least one column beside the target", "none")
    classes, names, said = _read_classes(target)
    numeric = [column for column in rows if is_numeric(rows[column])]
    for column in numeric:
        values = _values(rows[column])
        largest = np.abs(values[np.isfinite(values)]).max(initial=0.0)
        if largest > _LARGEST:
            raise invalid(f"column {column!r}", f"numbers up to {_LARGEST:g}", f"{largest:g}")
    if len(numeric) == rows.shape[1]:
        missing = int(rows.isna().to_numpy().sum())
        if missing:
            rows = rows.astype(np.float64).fillna(rows.mean())
            said += (f"{missing} missing numbers replaced by the means of their columns",)
    return Task(
        name=name,
        rows=rows,
        numbers=_as_numbers(rows, numeric),
        categorical=len(numeric) < rows.shape[1],
        classes=classes,
        class_names=names,
        notes=notes + said,
    )


def is_numeric(column: pd.Series) -> bool:
    """Whether a column holds numbers rather than categories or truth values."""
    dtype = column.dtype
    return bool(pd.api.types.is_numeric_dtype(dtype) and not pd.api.types.is_bool_dtype(dtype))


def _read_classes(target: Any) -> tuple[NDArray[np.intp], tuple[str, ...], tuple[str, ...]]:
    column = pd.Series(target).reset_index(drop=True)
    column = column.astype(object).where(column.notna() & (column.astype(str) != ""), None)
    sizes = column.value_counts()
    single = sizes.index[sizes < 2]
    column = column.where(~column.isin(single), None)
    try:
        codes, values = pd.factorize(column, sort=True)
    except TypeError:  # texts beside numbers
        codes, values = pd.factorize(column.map(str, na_action="ignore"), sort=True)
    if len(values) < 2:
        expected = "at least two classes with two rows each"
        raise invalid("target", expected, f"{len(values)}")
    notes = []
    if len(single):
        named = ", ".join(sorted(map(str, single))[:3]) + (", …" if len(single) > 3 else "")
        notes.append(f"classes of a single row count as unknown: {named}")
    unknown = int((codes < 0).sum())
    if unknown:
        notes.append(f"{unknown} rows of unknown class take part without being labelled or tested")
    return codes.astype(np.intp), tuple(map(str, values)), tuple(notes)


def _as_numbers(rows: pd.DataFrame, numeric: list[Any]) -> NDArray[np.float64]:
    parts = []
    for name in rows:
        column = rows[name]
        if name in numeric or pd.api.types.is_datetime64_any_dtype(column.dtype):
            values = _values(column)
            finite = values[np.isfinite(values)]
            mean, spread = (finite.mean(), finite.std()) if finite.size else (0.0, 1.0)
            scaled = (np.where(np.isfinite(values), values, mean) - mean) / (spread or 1.0)
            parts.append(scaled[:, None])
        else:
            texts = column.astype(object).where(column.notna(), "").map(str)
            codes, _ = pd.factorize(texts, sort=True)
            parts.append(np.eye(codes.max() + 1)[codes])
    return np.concatenate(parts, axis=1)


def _values(column: pd.Series) -> NDArray[np.float64]:
    if pd.api.types.is_datetime64_any_dtype(column.dtype):
        column = (column - column.min()) / pd.Timedelta(days=1)
    values: NDArray[np.float64] = column.to_numpy(np.float64, na_value=np.nan)
    return values
