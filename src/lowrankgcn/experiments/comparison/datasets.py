"""Tables to compare on, by name or from a file.

>>> load_task("cars").numbers.shape
(1728, 21)
>>> load_task("cats")
Traceback (most recent call last):
    ...
ValueError: dataset: expected one of 'iris', ..., 'spiral' or a file, got 'cats'
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np
from sklearn import datasets as sklearn_datasets

from lowrankgcn import datasets
from lowrankgcn._validation import invalid
from lowrankgcn.experiments.comparison.task import Task, make_task
from lowrankgcn.files import TableFile, choose_columns

__all__ = ["NAMES", "file_task", "load_task"]


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


def file_task(table: TableFile, target: str, *, drop: Iterable[str] = ()) -> Task:
    """A table that was read from a file.

    Parameters
    ----------
    table : TableFile
    target : str
        Column of the classes; rows without one take part without being labelled or tested.
    drop : names
        Columns to leave out, besides those that say nothing.

    Raises
    ------
    ValueError
        If a column is not there, none is left, or there are fewer than two classes.
    """
    columns = choose_columns(table.frame, target, drop, decimal=table.decimal)
    left_out = columns.left_out.items()
    return make_task(
        table.name,
        columns.features(table.frame, decimal=table.decimal),
        columns.labels(table.frame),
        notes=tuple(f"column {name} left out: {reason}" for name, reason in left_out),
    )
