"""Tables to compare methods on: the original rows, a numeric version of them, and their classes.

>>> frame = pd.DataFrame({"size": [1, 3, None, 1, 3], "colour": ["red", "blue", *3 * ["red"]]})
>>> task = ComparisonTask("things", frame, ["yes", "no", None, "no", "yes"])
>>> task.classes, task.class_names
(array([ 1,  0, -1,  0,  1]), ('no', 'yes'))
>>> task.numbers  # the missing size becomes the mean of the others
array([[-1.,  0.,  1.],
       [ 1.,  1.,  0.],
       [ 0.,  0.,  1.],
       [-1.,  0.,  1.],
       [ 1.,  0.,  1.]])
>>> load_task("cats")
Traceback (most recent call last):
    ...
ValueError: dataset: expected one of 'iris', ..., 'spiral' or a file, got 'cats'
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import partial
from typing import Any, final

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn import datasets as sklearn_datasets

from lowrankgcn import datasets
from lowrankgcn._validation import invalid
from lowrankgcn.tables import Cells, Table
from lowrankgcn.tables.cells import Name

_LARGEST = 1e150  # squares, which variances need, stay finite


@final
class ComparisonTask:
    """A table with known classes, prepared for all methods.

    Parameters
    ----------
    name : str
    rows : table of any kind, (n, p)
        Methods that need complete numbers get the means of their columns for missing ones.
    target : (n,) array
        Classes, sorted by name. Missing and empty ones are unknown, and so is a class of a single
        row, which cannot be both learned and tested.
    notes : tuple of str

    Attributes
    ----------
    name : str
    rows : Table, (n, p)
        Input of this library's classifiers.
    numbers : (n, d) array of float64
        Input of the other methods: numbers and dates standardised over all rows, one indicator for
        every value of the other columns.
    categorical : bool
        Whether any column is not numeric.
    classes : (n,) array of int
        Index into `class_names`; −1 where the class is unknown.
    class_names : tuple of str
    notes : tuple of str
        Changes made to the table.

    Raises
    ------
    ValueError
        If there are no columns, numbers whose squares are infinite, or fewer than two classes of
        two rows.
    """

    def __init__(self, name: str, rows: Any, target: Any, *, notes: tuple[str, ...] = ()) -> None:
        self.name, self.rows = name, Table.read(rows, "rows")
        if not self.rows.names:
            raise invalid("columns", "at least one feature column", "none")
        self.classes, self.class_names, class_notes = _read_classes(target)
        self.notes = notes + class_notes
        numeric = [cells for _, cells in self.rows.items() if cells.kind == "number"]
        self.categorical = len(numeric) < len(self.rows.names)
        if missing := sum(int(cells.missing.sum()) for cells in numeric):
            note = f"missing numbers, replaced by means where a method needs them: {missing}"
            self.notes += (note,)
        self.numbers = np.hstack([_as_numbers(cells, name) for name, cells in self.rows.items()])

    @property
    def n_rows(self) -> int:
        """Number of rows, including those of unknown class."""
        return len(self.rows)

    @property
    def class_sizes(self) -> dict[str, int]:
        """Number of rows of each class."""
        sizes = np.bincount(self.classes[self.classes >= 0]).tolist()
        return dict(zip(self.class_names, sizes, strict=True))

    def reordered(self, order: NDArray[np.intp]) -> ComparisonTask:
        """Return the table with its rows in another order."""
        other = copy(self)
        other.rows = self.rows.take(order)
        other.numbers, other.classes = self.numbers[order], self.classes[order]
        return other


def _read_classes(target: Any) -> tuple[NDArray[np.intp], tuple[str, ...], tuple[str, ...]]:
    """Return class codes, class names and notes."""
    column = pd.Series(target).reset_index(drop=True).map(str, na_action="ignore")
    sizes = column[column != ""].value_counts()
    single = sorted(sizes.index[sizes == 1])
    codes, names = pd.factorize(column.where(column.isin(sizes.index[sizes > 1])), sort=True)
    if len(names) < 2:
        raise invalid("target", "at least two classes with two rows each", f"{len(names)}")
    notes = []
    if single:
        named = ", ".join(single[:3]) + (", …" if len(single) > 3 else "")
        notes.append(f"classes of a single row are treated as unknown: {named}")
    unknown = int((codes < 0).sum())
    if unknown:
        notes.append(f"rows of unknown class, used unlabelled and not tested: {unknown}")
    return codes.astype(np.intp), tuple(names), tuple(notes)


def _as_numbers(cells: Cells, name: Name) -> NDArray[np.float64]:
    """Standardise numbers and dates; return an indicator for every value of other columns."""
    if cells.kind == "category":
        texts = np.array([*map(str, cells.values), ""], dtype=object)[cells.codes]
        return np.asarray(pd.get_dummies(texts, dtype=np.float64))
    values = pd.Series(cells.as_floats(name, cells.unit))
    if (largest := values.abs().max()) > _LARGEST:
        raise invalid(f"column {name!r}", f"numbers up to {_LARGEST:g}", f"{largest:g}")
    scaled = (values - values.mean()) / (values.std(ddof=0) or 1.0)
    return np.asarray(scaled.fillna(0.0))[:, None]


_LOADERS: dict[str, Callable[..., Any]] = {
    "iris": sklearn_datasets.load_iris,
    "wine": sklearn_datasets.load_wine,
    "breast_cancer": sklearn_datasets.load_breast_cancer,
    "digits": sklearn_datasets.load_digits,
    "cars": datasets.load_cars,
    "cars-buying": partial(datasets.load_cars, "buying"),
    "mushrooms": datasets.load_mushrooms,
    # Half of the paper's points, so that methods with n×n matrices can take part.
    "spiral": partial(datasets.load_spiral, 1000),
}
NAMES = tuple(_LOADERS)


def load_task(name: str) -> ComparisonTask:
    """Load a dataset by its name, one of ``NAMES``.

    Raises
    ------
    ValueError
        If there is no such dataset.
    OSError
        If its file is missing and cannot be downloaded.
    """
    if name not in _LOADERS:
        raise invalid("dataset", f"one of {', '.join(map(repr, NAMES))} or a file", repr(name))
    data = _LOADERS[name](as_frame=True)
    return ComparisonTask(name, data.data, np.asarray(data.target_names).astype(str)[data.target])
