"""Which columns of a table are learned from, and as what.

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
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, final, get_args

import numpy as np
import pandas as pd

from lowrankgcn._validation import invalid
from lowrankgcn.files.cells import Cells, Meaning

__all__ = ["Columns", "Reason", "choose_columns", "read_labels_of", "texts_of"]

Reason = Literal["identifier", "constant", "empty", "dropped"]

# Texts of which more than this share are different name the rows rather than describe them.
_MOST_DISTINCT = 0.9
_MOST_CLASSES = 20  # of measurements
_MOST_FEW_CLASSES = 1000  # with a row or two each; names of the rows would fill the memory
_LISTED = 8  # names in a message


@final
@dataclass(frozen=True, eq=False)
class Columns:
    """Which columns are used, as what, and which are left out.

    Attributes
    ----------
    target : str
        Column of the classes.
    used : mapping from column to {"number", "date", "category"}
        In the order of the table.
    left_out : mapping from column to {"identifier", "constant", "empty", "dropped"}
    """

    target: str
    used: Mapping[str, Meaning]
    left_out: Mapping[str, Reason]

    def features(self, frame: pd.DataFrame, *, decimal: str = ".") -> pd.DataFrame:
        """The used columns, typed: numbers as int64 or float64, dates, and categories.

        Parameters
        ----------
        frame : DataFrame
            The table, or another with columns of these names in any order.
        decimal : str
            Its decimal mark, see :attr:`TableFile.decimal`.

        Raises
        ------
        ValueError
            If columns are missing, or cells are no numbers or dates where there were such.
        """
        absent = [name for name in self.used if name not in frame.columns]
        if absent:
            plural = "columns" if len(absent) > 1 else "the column"
            raise ValueError(f"expected {plural} {_listed(absent)}, got {_listed(frame.columns)}")
        typed = {}
        for name, meaning in self.used.items():
            with _naming(name):
                typed[name] = _typed(Cells.of(frame[name], decimal), meaning)
        return pd.DataFrame(typed, copy=False)

    def labels(self, frame: pd.DataFrame) -> Any:
        """Classes as texts, as they are spelled in the table; None in rows to classify."""
        return read_labels_of(frame, self.target)

    def to_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return {
            "target": self.target,
            "used": [[name, meaning] for name, meaning in self.used.items()],
            "left_out": [[name, reason] for name, reason in self.left_out.items()],
        }

    @classmethod
    def from_dict(cls, data: Any) -> Columns:
        """Restore what :meth:`to_dict` gave.

        Raises
        ------
        ValueError
            If it is something else.
        """
        try:
            target, used, left_out = data["target"], dict(data["used"]), dict(data["left_out"])
        except (KeyError, TypeError, ValueError):
            raise invalid("columns", "target, used and left_out", repr(data)[:100]) from None
        right = (
            isinstance(target, str)
            and all(meaning in get_args(Meaning) for meaning in used.values())
            and all(reason in get_args(Reason) for reason in left_out.values())
            and all(isinstance(name, str) for name in (*used, *left_out))
        )
        if not right:
            raise invalid("columns", "names with what they mean", repr(data)[:100])
        return cls(target, used, left_out)


def choose_columns(
    frame: pd.DataFrame,
    target: str,
    drop: Iterable[str] = (),
    categorical: Iterable[str] = (),
    numeric: Iterable[str] = (),
    *,
    decimal: str = ".",
) -> Columns:
    """Look at the columns of a table.

    Parameters
    ----------
    frame : DataFrame
        As :func:`read_file` gives it, or any other.
    target : str
        Column of the classes.
    drop : names
        Columns to leave out.
    categorical, numeric : names
        Columns to use as categories or numbers, whatever they look like.
    decimal : str
        Decimal mark, see :attr:`TableFile.decimal`.

    Returns
    -------
    Columns
        Left out are, unless named in `categorical` or `numeric`: empty columns; constant ones; and
        identifiers, which are texts that differ in more than nine rows of ten, and integers that
        differ in all of them. Texts are numbers if all cells are ("NA" and the like missing ones),
        none with a leading zero; dates if all are in ISO 8601; else categories.

    Raises
    ------
    ValueError
        If a name is not in the table or is given twice, no column is left, or one holds infinite
        numbers, or none where `numeric` wants them.

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
    _check_names(frame, target, named)
    used: dict[str, Meaning] = {}
    left_out: dict[str, Reason] = {}
    for name in frame.columns:
        if name == target:
            continue
        if name in named["drop"]:
            left_out[name] = "dropped"
            continue
        with _naming(name):
            cells = Cells.of(frame[name], decimal)
            if name in named["numeric"]:
                cells.as_numbers()
                used[name] = "number"
            elif name in named["categorical"]:
                used[name] = "category"
            elif (reason := _reason(cells)) is not None:
                left_out[name] = reason
            else:
                used[name] = cells.meaning
    if not used:
        why = ", ".join(f"{name!r} is left out ({reason})" for name, reason in left_out.items())
        raise ValueError(f"expected a column to learn from beside {target!r}, got none: {why}")
    return Columns(target, used, left_out)


def texts_of(frame: pd.DataFrame, column: str) -> Any:
    """A column as a Series of texts, None in cells that are empty or blank."""
    with _naming(column):
        cells = Cells.of(frame[column])
    texts = [text if text and text.strip() else None for text in cells.texts]
    values = np.array([*texts, None], dtype=object)[cells.codes]
    return pd.Series(values, index=frame.index, name=column, dtype=object)


def read_labels_of(frame: pd.DataFrame, target: str) -> Any:
    """Labels of a table's target column as a Series of texts, None in empty cells.

    Cells of blanks only are empty; "NA", "-1" and the like are classes.

    Raises
    ------
    ValueError
        If the column is not there, no row is labelled, all labels are of one class, or they are
        measurements or names of the rows rather than classes.
    """
    if target not in frame.columns:
        raise _unknown("target", target, frame.columns)
    labels = texts_of(frame, target)
    counts = labels.value_counts()
    if len(counts) < 2:
        got = f"{counts.index[0]!r} only" if len(counts) else "empty cells only"
        raise ValueError(f"column {target!r}: expected labels of at least two classes, got {got}")
    cells = Cells.of(frame[target])
    if cells.meaning == "number" and not cells.whole:
        total = int(counts.sum())
        if len(counts) > max(_MOST_CLASSES, total / 2):
            got = f"{len(counts)} different numbers in {total} rows"
            raise ValueError(f"column {target!r}: expected classes, got {got}")
    if len(counts) > max(_MOST_FEW_CLASSES, counts.sum() / 2):
        got = f"{len(counts)} different values in {counts.sum()} rows"
        raise ValueError(f"column {target!r}: expected classes, got {got}")
    return labels


@contextmanager
def _naming(column: str) -> Iterator[None]:
    """Have errors name the column."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"column {column!r}: {error}") from None


def _typed(cells: Cells, meaning: Meaning) -> Any:
    if meaning == "number":
        return cells.as_numbers()
    return cells.as_dates() if meaning == "date" else cells.as_categories()


def _reason(cells: Cells) -> Reason | None:
    """Why a column is left out, None if it is not."""
    present, total = cells.n_present, len(cells.codes)
    if not present:
        return "empty"
    if present == total and cells.constant:
        return "constant"
    if cells.meaning == "category":
        return "identifier" if cells.n_distinct > max(1, _MOST_DISTINCT * present) else None
    counts = cells.meaning == "number" and cells.whole
    return "identifier" if counts and cells.n_distinct == total else None


def _check_names(frame: pd.DataFrame, target: str, named: Mapping[str, tuple[str, ...]]) -> None:
    if target not in frame.columns:
        raise _unknown("target", target, frame.columns)
    taken = {target: "target"}
    for option, names in named.items():
        for name in names:
            if name not in frame.columns:
                raise _unknown(option, name, frame.columns)
            if taken.get(name, option) != option:
                raise invalid(option, "columns that are not in " + taken[name], repr(name))
            taken[name] = option


def _unknown(option: str, name: str, columns: Iterable[str]) -> ValueError:
    names = [str(column) for column in columns]
    near = difflib.get_close_matches(name, names, n=1)
    told = f"; did you mean {near[0]!r}?" if near else f" (columns: {_listed(names)})"
    return ValueError(f"{option}: expected a column of the table, got {name!r}{told}")


def _listed(names: Iterable[str]) -> str:
    every = [repr(str(name)) for name in names]
    return ", ".join(every[:_LISTED]) + (f", … ({len(every)})" if len(every) > _LISTED else "")
