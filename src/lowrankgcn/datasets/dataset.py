"""The return value of every loader: samples, classes and training nodes.

>>> from lowrankgcn.datasets import load_cars
>>> load_cars()
<Dataset: 1728 rows, 6 features, 4 classes, 20 training nodes>
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from typing import Any, final

import numpy as np
import pandas as pd
from numpy.typing import NDArray


@final
@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """Samples, their classes, and training nodes.

    Attributes
    ----------
    data : ndarray or pandas.DataFrame, shape (n, n_features)
    target : ndarray of int64 or pandas.Series, shape (n,)
        Class of each row, an index into ``target_names``.
    feature_names : tuple of str
    target_names : tuple of str
    training : ndarray of intp
        Sorted 0-based indices of the training nodes.
    DESCR : str
        Description and origin of the data.

    See Also
    --------
    load_spiral, load_cars, load_mushrooms : Loaders.

    Examples
    --------
    >>> import lowrankgcn as lg
    >>> cars = lg.datasets.load_cars()
    >>> cars
    <Dataset: 1728 rows, 6 features, 4 classes, 20 training nodes>
    >>> cars.target_names[cars.target[0]]
    'unacc'
    """

    data: Any
    target: Any
    feature_names: tuple[str, ...]
    target_names: tuple[str, ...]
    training: NDArray[np.intp]
    DESCR: str

    def __repr__(self) -> str:
        n, d = self.data.shape
        classes, training = len(self.target_names), len(self.training)
        return f"<Dataset: {n} rows, {d} features, {classes} classes, {training} training nodes>"


def assemble(
    name: str,
    data: NDArray[Any],
    target: NDArray[Any],
    feature_names: tuple[str, ...],
    target_names: tuple[str, ...],
    training: NDArray[Any],
    frame_target: str | None,
) -> Dataset:
    """Assemble arrays, or with `frame_target` (the target's name) a DataFrame and a Series.

    The description is the file of the given `name` in the folder ``descriptions``.
    """
    rows: Any = data
    classes: Any = target.astype(np.int64)
    if frame_target is not None:
        rows = pd.DataFrame(data, columns=list(feature_names))
        classes = pd.Series(classes, name=frame_target)
    text = files("lowrankgcn.datasets").joinpath("descriptions", f"{name}.txt").read_text("utf-8")
    return Dataset(rows, classes, feature_names, target_names, training.astype(np.intp), text)
