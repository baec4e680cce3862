"""Tables to compare on, by name or from a file.

>>> load_task("cars").numbers.shape
(1728, 21)
>>> load_task("cats")
Traceback (most recent call last):
    ...
ValueError: dataset: expected one of 'iris', ..., 'spiral' or a file, got 'cats'
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np
from sklearn import datasets as sklearn_datasets

from lowrankgcn import datasets
from lowrankgcn._validation import invalid
from lowrankgcn.experiments.comparison.task import Task, make_task
from lowrankgcn.files import choose_columns, read_file

__all__ = ["NAMES", "load_task", "read_task"]


def _named(name: str, load: Callable[..., Any]) -> Task:
    data = load(as_frame=True)
    return make_task(name, data.data, np.asarray(data.target_names).astype(str)[data.target])


_LOADERS: dict[str, Callable[..., Any]] = {
    "iris": sklearn_datasets.load_iris,
    "wine": sklearn_datasets.load_wine,
    "breast_cancer": sklearn_datasets.load_breast_cancer,
    "digits": sklearn_datasets.load_digits,
    "cars": datasets.load_cars,
    "cars-buying": partial(datasets.load_cars, "buying"),
    "mushrooms": datasets.load_mushrooms,
    # Half of the paper's points: methods with n×n matrices are to take part.
    "spiral": partial(datasets.load_spiral, 1000),
}
NAMES = tuple(_LOADERS)


def load_task(name: str) -> Task:
    """A dataset by its name: one of ``NAMES``.

    Raises
    ------
    ValueError
        If there is no such dataset.
    OSError
        If its file is not there and cannot be fetched.
    """
    if name not in _LOADERS:
        expected = f"one of {', '.join(map(repr, NAMES))} or a file"
        raise invalid("dataset", expected, repr(name))
    return _named(name, _LOADERS[name])


def read_task(
    path: str | os.PathLike[str],
    target: str,
    *,
    drop: Iterable[str] = (),
    categorical: Iterable[str] = (),
    numeric: Iterable[str] = (),
) -> Task:
    """A table from a CSV, TSV or Parquet file.

    Parameters
    ----------
    path : path
    target : str
        Column of the classes; rows without one take part without being labelled or tested.
    drop, categorical, numeric : names
        Columns to leave out, and to use as categories or numbers whatever they look like.

    Raises
    ------
    ValueError
        If the file is no table, a column is not there, or there are fewer than two classes.
    OSError
        If the file cannot be read.
    """
    table = read_file(path)
    columns = choose_columns(table.frame, target, drop, categorical, numeric, decimal=table.decimal)
    notes = tuple(f"column {name} left out: {reason}" for name, reason in columns.left_out.items())
    rows = columns.features(table.frame, decimal=table.decimal)
    return make_task(os.fspath(path), rows, columns.labels(table.frame), notes=notes)
