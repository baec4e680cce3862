"""Labels of rows in blocks; only labelled rows are transferred.

>>> import dask.array as da, numpy as np
>>> y = da.from_array(np.array([-1, 3, -1, 5, 3]), chunks=2)
>>> labels = read_lazy_labels(y)
>>> labels.classes.tolist(), labels.index.tolist(), labels.codes.tolist(), labels.n_rows
([3, 5], [1, 3, 4], [0, 1, 0], 5)
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from dask.dataframe.utils import UNKNOWN_CATEGORIES
from numpy.typing import NDArray

from lowrankgcn._validation import finite_array, invalid
from lowrankgcn.distributed.blocks import Blocks, is_collection
from lowrankgcn.estimators.labels import Labels, labelled_cells, read_labels

__all__ = ["lazy_labels", "lazy_rows_at", "read_lazy_labels", "read_weights"]


def read_lazy_labels(y: Any) -> Labels:
    """Read the labels of a Dask Series or array, or of any argument of :func:`read_labels`."""
    if not is_collection(y):
        return read_labels(y)
    if y.ndim != 1:
        raise invalid("y", "one column of labels", f"{y.ndim} dimensions")
    index, known, count = lazy_labels(y)
    dtype = getattr(Blocks.from_collection(y).empty, "dtype", None)
    if isinstance(dtype, pd.CategoricalDtype) and UNKNOWN_CATEGORIES not in dtype.categories:
        categorical = pd.Categorical(known, categories=dtype.categories, ordered=dtype.ordered)
        read = read_labels(categorical)
    else:
        read = read_labels(known)
    return Labels(read.classes, index[read.index], read.codes, count)


def lazy_labels(y: Any) -> tuple[NDArray[np.intp], NDArray[Any], int]:
    """Return the numbers of the labelled rows, their labels, and the number of all rows."""
    if not is_collection(y):
        return labelled_cells(y)
    index, values, start = [], [], 0
    for rows, labels, length in Blocks.from_collection(y).collect(labelled_cells):
        index.append(rows + start)
        values.append(labels)
        start += length
    return np.concatenate(index), np.concatenate(values), start


def lazy_rows_at(value: Any, index: NDArray[np.intp], count: int, name: str) -> Any:
    """Return some rows of a Dask collection or array, which must have `count` rows."""
    if value is None:
        return None
    if np.ndim(value) == 0:
        raise invalid(name, f"{count} rows, as many as y has labels", repr(value))
    lazy = is_collection(value)
    blocks = Blocks.from_collection(value) if lazy else None
    lengths = blocks.lengths() if blocks else (len(value),)
    if sum(lengths) != count:
        raise invalid(name, f"{count} rows, as many as y has labels", sum(lengths))
    if blocks is not None:
        return blocks.take(index, lengths)
    return value.iloc[index] if hasattr(value, "iloc") else np.asarray(value)[index]


def read_weights(sample_weight: Any, labels: Labels) -> NDArray[np.float64] | None:
    """Return the weights of the labelled rows, or None if no weights are given."""
    if sample_weight is None:
        return None
    given = lazy_rows_at(sample_weight, labels.index, labels.n_rows, "sample_weight")
    weights = finite_array(given, "sample_weight", ndim=1)
    if weights.min() < 0 or not weights.any():
        expected = "numbers >= 0, with a positive number for at least one labelled row"
        raise invalid("sample_weight", expected, f"minimum {weights.min():g}")
    return weights
