"""Partitions of Dask collections: tasks on their rows, lengths, schema checks.

>>> import dask.dataframe as dd, pandas as pd
>>> frame = dd.from_pandas(pd.DataFrame({"x": range(10)}), npartitions=3)
>>> Partitions.from_collection(frame).measure()
(4, 3, 3)
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple, final

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
from dask.delayed import Delayed, delayed

from lowrankgcn._parallel import inline_chunks, single_threaded_blas
from lowrankgcn._validation import invalid
from lowrankgcn.exceptions import prefix_errors
from lowrankgcn.tables import column_kind

# The end of `dask.config.set` would remove defaults that were loaded after its beginning.
with suppress(ImportError):
    import distributed  # noqa: F401

_KILLED = (
    "workers died repeatedly while processing the same partition, probably because they ran out of "
    "memory; use smaller partitions, or fewer workers with more memory each"
)
# Labels in memory and models are part of the graph, whatever their size.
_LARGE_GRAPHS = {"distributed.admin.large-graph-warning-threshold": "1 TB"}
# For starting workers. By default they return freed memory to the system at once, so that each
# temporary array costs page faults, which doubles the time of predictions (docs/scale.md).
KEEP_MEMORY = {"distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": None}
_COLLECTIONS = (da.Array, dd.DataFrame, dd.Series)


def take(values: Any, rows: Any) -> Any:
    """Return some rows of a DataFrame, a Series or an array, by an index array or a slice."""
    return values.iloc[rows] if hasattr(values, "iloc") else values[rows]


def compute(*tasks: Any, run: Callable[..., Any] = dask.compute) -> tuple[Any, ...]:
    """Run tasks on the active Dask client, or on threads of this process if there is none.

    Parameters
    ----------
    *tasks : Delayed or collection of Dask
    run : callable
        ``dask.persist`` leaves the results on the workers.

    Raises
    ------
    ConnectionError
        If the scheduler is lost, or workers repeatedly die while running the same task.
    """
    try:
        with dask.config.set(_LARGE_GRAPHS):
            return run(*tasks)  # type: ignore[no-any-return]  # Dask is untyped
    except Exception as error:
        name = type(error).__name__  # dask.distributed may not be installed
        if name == "KilledWorker":
            raise ConnectionError(_KILLED) from error
        if name.endswith(("CancelledError", "ClosedClientError", "CommClosedError")):
            raise ConnectionError(f"the Dask scheduler was lost; start again: {error}") from error
        raise


@final
@dataclass(frozen=True, eq=False)
class Partitions:
    """Partitions of consecutive rows of a Dask collection.

    Attributes
    ----------
    tasks : tuple of Delayed
        Each returns a DataFrame, a Series or an array.
    empty : DataFrame, Series or array
        A partition without rows, for types and names.
    collection : DataFrame, Series or array of Dask
    lengths : tuple of float
        Number of rows of every partition, NaN where it is unknown.
    """

    tasks: tuple[Delayed, ...]
    empty: Any
    collection: Any
    lengths: tuple[float, ...]

    @classmethod
    def from_collection(cls, collection: Any) -> Partitions:
        """Return the partitions of a collection; arrays are split by rows only."""
        if isinstance(collection, da.Array):
            if collection.ndim > 1:
                collection = collection.rechunk({1: -1})
            empty = np.empty((0, *collection.shape[1:]), collection.dtype)
            tasks = tuple(collection.to_delayed().ravel().tolist())
            return cls(tasks, empty, collection, collection.chunks[0])
        # Unused columns are not read. Further optimisation would put several Parquet files into one
        # partition, and different ones for different columns.
        tasks = tuple(collection.simplify().to_delayed(optimize_graph=False))
        return cls(tasks, collection._meta, collection, (float("nan"),) * len(tasks))

    @classmethod
    def from_rows(cls, X: Any) -> Partitions:
        """Return the partitions of X, which must be a Dask DataFrame or a 2-D Dask array."""
        if not isinstance(X, _COLLECTIONS):
            got = f"{type(X).__name__}, while another argument is a Dask collection"
            raise invalid("X", "a Dask DataFrame or array", got)
        if X.ndim != 2 or not X.shape[1]:
            got = f"{X.ndim}-D" if X.ndim != 2 else "no column"
            raise invalid("X", "a table with rows and columns", got)
        if isinstance(X, dd.DataFrame) and not X.columns.is_unique:
            name = X.columns[X.columns.duplicated()][0]
            raise invalid("X", "columns of different names", f"several named {name!r}")
        return cls.from_collection(X)

    def measure(self) -> tuple[int, ...]:
        """Return the number of rows of every partition; compute it if necessary."""
        if not np.isnan(self.lengths).any():
            return tuple(map(int, self.lengths))
        if isinstance(self.empty, pd.DataFrame):
            first = self.collection.iloc[:, :1]  # Parquet reads this column only
            with suppress(KeyError):  # not in all partitions, see `conformed`
                return compute(*map(delayed(len), Partitions.from_collection(first).tasks))
        return compute(*map(delayed(len), self.tasks))

    def map(
        self, function: Callable[..., Any], *constants: Any, labels: tuple[Any, Any] | None = None
    ) -> list[Delayed]:
        """Return tasks ``function(part, *constants)``, one for each :class:`Part`.

        Parameters
        ----------
        function : callable
            Its errors name the partition.
        *constants : object or Delayed
            Not within other objects: Dask would lose a persisted one if a worker dies.
        labels : (y, sample_weight), optional
            Labels of the rows, and their weights or None.
        """
        task = delayed(_apply, pure=False)
        columns = [[None] * len(self.tasks)] * 2 if labels is None else self._align(*labels)
        parts = enumerate(zip(self.tasks, *columns, strict=True))
        return [task(function, self.empty, number, *part, *constants) for number, part in parts]

    def _align(self, y: Any, sample_weight: Any) -> list[list[Any]]:
        """Return the labels and the weights of each partition, as tasks or in memory."""
        if y is None:
            raise invalid("y", "labels", "None")
        if isinstance(y, _COLLECTIONS):
            if y.ndim != 1:
                raise invalid("y", "one column of labels", f"{y.ndim} dimensions")
            if isinstance(y, dd.Series) and not (y.dtype == "category" and y.cat.known):
                y = y.astype(object)  # partitions may have different dtypes and categories
        elif not isinstance(y, (np.ndarray, pd.Series)):
            extension = pd.api.types.is_extension_array_dtype(y)
            # As objects, a number beside a text stays a number.
            y = pd.Series(y) if extension else np.array(y, dtype=object)
        return [self._divide("y", y), self._divide("sample_weight", sample_weight)]

    def _divide(self, name: str, values: Any) -> list[Any]:
        """Return the part of a column for each partition.

        A collection with as many partitions, of equal or unknown lengths, is not computed for this.
        """
        if values is None:
            return [None] * len(self.tasks)
        if isinstance(values, _COLLECTIONS):
            other = Partitions.from_collection(values)
            if np.array_equal(self.lengths, other.lengths, equal_nan=True):
                return list(other.tasks)
            (values,) = compute(values)
        if not hasattr(values, "dtype"):
            values = np.asarray(values)
        ends = np.cumsum([0, *self.measure()])
        if len(values) != ends[-1]:
            raise invalid(name, f"{ends[-1]} entries, as many as X has rows", len(values))
        return [take(values, slice(start, stop)) for start, stop in pairwise(ends)]


class Part(NamedTuple):
    """A partition in memory: its number, its rows, and their labels and weights if there are any.

    Rows have the columns of the collection. There are as many labels and weights.
    """

    number: int
    rows: Any
    y: Any
    sample_weight: Any


def _apply(function: Callable[..., Any], empty: Any, number: int, *arguments: Any) -> Any:
    rows, y, weights, *constants = arguments
    # The scheduler runs several tasks in parallel.
    with inline_chunks(), single_threaded_blas(), prefix_errors(f"partition {number}"):
        part = Part(number, conformed(rows, empty), y, weights)
        for name, values in (("y", y), ("sample_weight", weights)):
            if values is not None and len(values) != len(rows):
                got = f"{len(values)}; divide both into the same partitions"
                raise invalid(name, f"{len(rows)} entries, as many as X has rows", got)
        return function(part, *constants)


def conformed(part: Any, empty: Any) -> Any:
    """Return the rows of a partition with the columns of `empty`, in the same order.

    Columns may have other dtypes and categories than in `empty` if the cells are of the same kind.

    Raises
    ------
    ValueError
        If columns are missing, unexpected or of another kind.

    Examples
    --------
    >>> empty = pd.DataFrame({"x": [0.5], "y": [1]}).head(0)
    >>> conformed(pd.DataFrame({"y": [1], "x": [2]}), empty).columns.tolist()
    ['x', 'y']
    """
    if not isinstance(empty, pd.DataFrame):
        if part.shape[1:] != empty.shape[1:] or column_kind(part.dtype) != column_kind(empty.dtype):
            expected = f"{empty.shape[1]} columns of {empty.dtype}"
            raise invalid("X", expected, f"shape {part.shape} of {part.dtype}")
        return part
    for name in part.columns.symmetric_difference(empty.columns, sort=False):
        got = "another one," if name in part.columns else "none named"
        raise invalid("X", "the columns of the collection", f"{got} {name!r}")
    types = {}
    for name, dtype in empty.dtypes.items():
        if column_kind(part[name].dtype) != column_kind(dtype):
            if part[name].notna().any():
                raise invalid("X", f"{dtype} in column {name!r}", part[name].dtype)
            # A column without values may have any dtype. Integers cannot be missing.
            types[name] = "float64" if column_kind(dtype) == "number" else dtype
    return part[empty.columns].astype(types)
