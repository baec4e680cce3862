"""Choice of the columns used as features, and their types.

>>> import pandas as pd
>>> frame = pd.DataFrame(
...     {
...         "id": ["c1", "c2", "c3", "c4"],
...         "doors": ["2", "4", "4", "2"],
...         "colour": ["red", "red", "blue", None],
...         "unit": ["km", "km", "km", "km"],
...         "price": ["high", None, "low", None],
...     }
... )
>>> columns = choose_columns(frame, "price")
>>> columns.used, columns.left_out
({'doors': 'number', 'colour': 'category'}, {'id': 'identifier', 'unit': 'constant'})
>>> columns.features(frame).dtypes.tolist()
[dtype('int64'), CategoricalDtype(categories=['blue', 'red'], ordered=False, ...)]
>>> columns.labels(frame).tolist()
['high', None, 'low', None]
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, final

import numpy as np
import pandas as pd

from lowrankgcn._codec import saved
from lowrankgcn._validation import invalid
from lowrankgcn.exceptions import prefix_errors
from lowrankgcn.files.cells import Cells
from lowrankgcn.graphs.cells import ColumnKind

Reason = Literal["identifier", "constant", "empty", "dropped"]

_IDENTIFIER_SHARE = 0.9  # a text column with a larger share of distinct values is an identifier
# More classes than this, and than half of the labelled rows, are measurements or identifiers.
_MAX_FLOAT_CLASSES = 20  # numbers with a fraction
_MAX_CLASSES = 1000  # other values; more would exhaust memory
_LISTED = 8  # names in a message


@saved
@final
@dataclass(frozen=True, eq=False)
class Columns:
    """Columns that are used, with their types, and columns that are left out.

    Attributes
    ----------
    target : str
        Column of the classes.
    used : dict from column to {"number", "date", "category"}
        In the order of the table.
    left_out : dict from column to {"identifier", "constant", "empty", "dropped"}
    """

    target: str
    used: dict[str, ColumnKind]
    left_out: dict[str, Reason]

    def features(self, frame: pd.DataFrame, *, decimal: str = ".") -> pd.DataFrame:
        """Return the used columns as int64 or float64 numbers, dates and categories.

        Parameters
        ----------
        frame : DataFrame
            The table, or another table with the same column names in any order.
        decimal : str
            Decimal mark, see :attr:`TableFile.decimal`.

        Raises
        ------
        ValueError
            If columns are missing, or cells of numeric or date columns cannot be parsed.
        """
        absent = [name for name in self.used if name not in frame.columns]
        if absent:
            plural = "columns" if len(absent) > 1 else "the column"
            raise ValueError(f"expected {plural} {_listed(absent)}, got {_listed(frame.columns)}")
        typed = {}
        for name, meaning in self.used.items():
            with prefix_errors(f"column {name!r}"):
                typed[name] = Cells.from_column(frame[name], decimal).as_kind(meaning)
        return pd.DataFrame(typed, copy=False)

    def labels(self, frame: pd.DataFrame) -> Any:
        """Return the classes as texts, spelled as in the table; None in unlabelled rows.

        "NA", "-1" and similar texts are classes; empty and blank cells are unlabelled.

        Raises
        ------
        ValueError
            If the column does not exist, fewer than two classes are labelled, or the values are
            measurements or identifiers instead of classes.
        """
        if self.target not in frame.columns:
            raise _unknown("target", self.target, frame.columns)
        labels = read_texts(frame, self.target)
        check_classes(labels)
        return labels


def choose_columns(
    frame: pd.DataFrame,
    target: str,
    drop: Iterable[str] = (),
    categorical: Iterable[str] = (),
    numeric: Iterable[str] = (),
    *,
    decimal: str = ".",
) -> Columns:
    """Choose the columns of a table that are used as features.

    Parameters
    ----------
    frame : DataFrame
        The result of :func:`read_file`, or any other table.
    target : str
        Column of the classes.
    drop : names
        Columns to leave out.
    categorical, numeric : names
        Columns to use as categories or numbers, overriding detection.
    decimal : str
        Decimal mark, see :attr:`TableFile.decimal`.

    Returns
    -------
    Columns
        Empty columns, constant columns and identifiers are left out unless `categorical` or
        `numeric` name them. Identifiers are texts that differ in more than 90 % of the rows and
        integers that differ in all rows. A text column is numeric if all cells are numbers ("NA"
        and similar texts are missing) without leading zeros, a date if all cells are in ISO 8601,
        and categorical otherwise.

    Raises
    ------
    ValueError
        If a name is unknown or given twice, no column is left, or a numeric column contains
        infinite numbers or texts.

    Notes
    -----
    Cost: one pass over the table.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"year": ["1970", "1980", "1990"], "class": ["a", None, "b"]})
    >>> choose_columns(frame, "class", numeric=["year"]).used
    {'year': 'number'}
    >>> choose_columns(frame, "clas")
    Traceback (most recent call last):
        ...
    ValueError: target: expected a column of the table, got 'clas'; did you mean 'class'?
    """
    named = {"drop": tuple(drop), "categorical": tuple(categorical), "numeric": tuple(numeric)}
    check_names(frame.columns, target, named)
    used: dict[str, ColumnKind] = {}
    left_out: dict[str, Reason] = {}
    for name in frame.columns:
        if name == target:
            continue
        if name in named["drop"]:
            left_out[name] = "dropped"
            continue
        with prefix_errors(f"column {name!r}"):
            cells = Cells.from_column(frame[name], decimal)
            if name in named["numeric"]:
                cells.as_numbers()
                used[name] = "number"
            elif name in named["categorical"]:
                used[name] = "category"
            elif (reason := _reason(cells)) is not None:
                left_out[name] = reason
            else:
                used[name] = cells.kind
    if not used:
        why = ", ".join(f"{name!r} is left out ({reason})" for name, reason in left_out.items())
        got = f"none: {why}" if why else "none"
        raise ValueError(f"expected a feature column besides {target!r}, got {got}")
    return Columns(target, used, left_out)


def read_texts(frame: pd.DataFrame, column: str) -> Any:
    """Return a column as a Series of texts, None where cells are empty or blank."""
    with prefix_errors(f"column {column!r}"):
        cells = Cells.from_column(frame[column])
    texts = [text if text and text.strip() else None for text in cells.texts]
    values = np.array([*texts, None], dtype=object)[cells.codes]
    return pd.Series(values, index=frame.index, name=column, dtype=object)


def check_classes(labels: pd.Series) -> None:
    """Raise ValueError unless texts, None in unlabelled rows, are two or more classes."""
    counts = labels.value_counts()
    with prefix_errors(f"column {labels.name!r}"):
        if len(counts) < 2:
            got = f"{counts.index[0]!r} only" if len(counts) else "empty cells only"
            raise ValueError(f"expected labels of at least two classes, got {got}")
        cells = Cells.from_column(labels)
        fractions = cells.kind == "number" and not cells.whole
        most = _MAX_FLOAT_CLASSES if fractions else _MAX_CLASSES
        if len(counts) > max(most, counts.sum() / 2):
            what = "numbers" if fractions else "values"
            got = f"{len(counts)} different {what} in {counts.sum()} rows"
            raise ValueError(f"expected classes, got {got}")


def _reason(cells: Cells) -> Reason | None:
    """Return why a column is left out, or None."""
    present, total = int((cells.codes >= 0).sum()), len(cells.codes)
    if not present:
        return "empty"
    if present == total and cells.constant:
        return "constant"
    if cells.kind == "category":
        return "identifier" if cells.n_distinct > max(1, _IDENTIFIER_SHARE * present) else None
    counts = cells.kind == "number" and cells.whole
    return "identifier" if counts and cells.n_distinct == total else None


def check_names(
    columns: Collection[str], target: str, named: Mapping[str, tuple[str, ...]]
) -> None:
    """Raise ValueError unless the target and the columns named in options exist and differ."""
    if target not in columns:
        raise _unknown("target", target, columns)
    taken = {target: "target"}
    for option, names in named.items():
        for name in names:
            if name not in columns:
                raise _unknown(option, name, columns)
            if taken.get(name, option) != option:
                raise invalid(option, f"columns not named in {taken[name]}", repr(name))
            taken[name] = option


def _unknown(option: str, name: str, columns: Iterable[str]) -> ValueError:
    names = [str(column) for column in columns]
    near = difflib.get_close_matches(name, names, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else f" (columns: {_listed(names)})"
    return ValueError(f"{option}: expected a column of the table, got {name!r}{hint}")


def _listed(names: Iterable[str]) -> str:
    every = [repr(str(name)) for name in names]
    return ", ".join(every[:_LISTED]) + (f", … ({len(every)})" if len(every) > _LISTED else "")
