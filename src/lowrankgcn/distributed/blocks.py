"""Blocks of rows of Dask collections: tasks, lengths, schema checks.

>>> import dask.dataframe as dd, pandas as pd
>>> frame = dd.from_pandas(pd.DataFrame({"x": range(10)}), npartitions=3)
>>> Blocks.from_collection(frame).lengths()
(4, 3, 3)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, final

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
from dask.dataframe.dispatch import concat
from dask.delayed import Delayed, delayed
from dask.highlevelgraph import HighLevelGraph

from lowrankgcn._parallel import inline_chunks, single_threaded_blas
from lowrankgcn._validation import invalid
from lowrankgcn.tables import column_kind

# The end of `dask.config.set` would remove defaults that were loaded after its beginning.
with suppress(ImportError):
    import distributed  # noqa: F401

# Exceptions of dask.distributed, by name because it may not be installed.
_LOST = (
    "CancelledError",
    "ClosedClientError",
    "CommClosedError",
    "FutureCancelledError",
    "FuturesCancelledError",
)
# Labels in memory and models are part of the graph, whatever their size.
NO_ADVICE = {"distributed.admin.large-graph-warning-threshold": "1 TB"}
_KILLED = "KilledWorker"  # several workers died while running the same task


def is_collection(value: Any) -> bool:
    """Return whether a value is a Dask DataFrame, Series or array.

    >>> is_collection(np.zeros(3)), is_collection(da.zeros(3))
    (False, True)
    """
    return isinstance(value, (da.Array, dd.DataFrame, dd.Series))


def compute(*tasks: Delayed) -> tuple[Any, ...]:
    """Run tasks on the active Dask client, or on threads of this process if there is none.

    Raises
    ------
    ConnectionError
        If the scheduler is lost, or workers repeatedly die while running the same task.
    """
    try:
        with dask.config.set(NO_ADVICE):
            results: tuple[Any, ...] = dask.compute(*tasks)
        return results
    except Exception as error:
        if type(error).__name__ in _LOST:
            raise ConnectionError(f"the Dask scheduler was lost; start again: {error}") from error
        if type(error).__name__ == _KILLED:
            raise ConnectionError(
                "workers died repeatedly while processing the same block of rows, probably because "
                "they ran out of memory; use smaller blocks, or fewer workers with more memory each"
            ) from error
        raise


@final
@dataclass(frozen=True, eq=False)
class Blocks:
    """Blocks of consecutive rows of a Dask collection.

    Attributes
    ----------
    tasks : tuple of Delayed
        Each gives a DataFrame, a Series or an array.
    empty : DataFrame, Series or array
        A block without rows, for types and names.
    collection : DataFrame, Series or array of Dask
    """

    tasks: tuple[Delayed, ...]
    empty: Any
    collection: Any

    @classmethod
    def from_collection(cls, collection: Any) -> Blocks:
        """Return the blocks of a Dask DataFrame, Series or array; arrays are split by rows only."""
        if isinstance(collection, da.Array):
            if collection.ndim > 1:
                collection = collection.rechunk({1: -1})
            empty = np.empty((0, *collection.shape[1:]), collection.dtype)
            return cls(tuple(collection.to_delayed().ravel().tolist()), empty, collection)
        # Unused columns are not read. Further optimisation would put several Parquet files into one
        # block, and different ones for different columns.
        lean = collection.simplify()
        return cls(tuple(lean.to_delayed(optimize_graph=False)), collection._meta, collection)

    @classmethod
    def from_rows(cls, X: Any) -> Blocks:
        """Return the blocks of X, which must be a Dask DataFrame or a 2-D Dask array."""
        if not is_collection(X):
            got = f"{type(X).__name__}, while another argument is a Dask collection"
            raise invalid("X", "a Dask DataFrame or array", got)
        if X.ndim != 2:
            raise invalid("X", "a table with rows and columns", f"{X.ndim}-D")
        blocks = cls.from_collection(X)
        if not blocks.empty.shape[1]:
            raise invalid("X", "at least one column", "none")
        if isinstance(blocks.empty, pd.DataFrame) and not X.columns.is_unique:
            name = X.columns[X.columns.duplicated()][0]
            raise invalid("X", "columns of different names", f"several named {name!r}")
        return blocks

    @property
    def numbers(self) -> range:
        """Numbers of the blocks."""
        return range(len(self.tasks))

    def known_lengths(self) -> tuple[float, ...]:
        """Return the number of rows of every block, NaN where it must be computed."""
        if isinstance(self.collection, da.Array):
            return tuple(self.collection.chunks[0])
        return (float("nan"),) * len(self.tasks)

    def lengths(self) -> tuple[int, ...]:
        """Return the number of rows of every block; compute it if necessary."""
        known = self.known_lengths()
        if not np.isnan(known).any():
            return tuple(map(int, known))
        if isinstance(self.empty, pd.DataFrame):
            first = self.collection[[self.empty.columns[0]]]  # Parquet reads this column only
            with suppress(KeyError):  # not in all blocks, see `conformed`
                return compute(*Blocks.from_collection(first).map(len))
        return compute(*self.map(len))

    def may_match(self, other: Blocks) -> bool:
        """Return whether the blocks are as many, and as long where lengths are known."""
        pairs = zip(self.known_lengths(), other.known_lengths(), strict=False)
        same = all(a == b or math.isnan(a + b) for a, b in pairs)
        return same and len(self.tasks) == len(other.tasks)

    def map(self, function: Callable[..., Any], *arguments: Sequence[Any]) -> list[Delayed]:
        """Return a task ``function(block, …)`` per block, with its entry of each argument."""
        task = delayed(_in_one_thread, pure=False)
        return [
            task(function, block, *own) for block, *own in zip(self.tasks, *arguments, strict=True)
        ]


def _in_one_thread(function: Callable[..., Any], block: Any, *own: Any) -> Any:
    # The scheduler runs several tasks in parallel.
    with inline_chunks(), single_threaded_blas():
        return function(block, *own)


def conformed(block: Any, empty: Any, number: int) -> Any:
    """Return the rows of a block with the columns of `empty`, in the same order.

    Columns may have other dtypes and categories than in `empty` if the cells are of the same kind.

    Raises
    ------
    ValueError
        If columns are missing, unexpected or of another kind; it names block and column.

    Examples
    --------
    >>> empty = pd.DataFrame({"x": [0.5], "y": [1]}).head(0)
    >>> conformed(pd.DataFrame({"y": [1], "x": [2]}), empty, 0).columns.tolist()
    ['x', 'y']
    """
    if not isinstance(empty, pd.DataFrame):
        if not isinstance(block, np.ndarray) or block.shape[1:] != empty.shape[1:]:
            got = f"{type(block).__name__} of shape {getattr(block, 'shape', None)}"
            expected = f"a NumPy array with {empty.shape[1]} columns in partition {number}"
            raise invalid("X", expected, got)
        if column_kind(block.dtype) != column_kind(empty.dtype):
            raise invalid("X", f"{empty.dtype} in partition {number}", block.dtype)
        return block
    other = block.columns.symmetric_difference(empty.columns, sort=False)
    if len(other):
        expected = f"the columns of the collection in partition {number}"
        got = "another one," if other[0] in block.columns else "none named"
        raise invalid("X", expected, f"{got} {other[0]!r}")
    block = block[empty.columns]
    types = {}
    for name, dtype in empty.dtypes.items():
        if column_kind(block[name].dtype) == column_kind(dtype):
            continue
        if block[name].notna().any():
            expected = f"{dtype} in column {name!r} of partition {number}"
            raise invalid("X", expected, block[name].dtype)
        # A column without values may have any dtype. Integers cannot be missing.
        types[name] = "float64" if column_kind(dtype) == "number" else dtype
    return block.astype(types)


def joined_rows(parts: Sequence[Any]) -> Any:
    """Concatenate blocks; categories that differ are united.

    >>> parts = [pd.DataFrame({"x": pd.Categorical([value])}) for value in ("red", "blue")]
    >>> joined_rows(parts)["x"].dtype.categories.tolist()
    ['red', 'blue']
    """
    filled = [part for part in parts if len(part)] or parts[:1]
    if isinstance(filled[0], pd.DataFrame):
        return concat(filled, ignore_index=True) if len(filled) > 1 else filled[0]
    return np.concatenate(filled)


def lazy_array(
    tasks: Sequence[Delayed], lengths: Sequence[float], shape: tuple[int, ...], dtype: Any
) -> Any:
    """Return blocks of rows as one Dask array; unknown lengths are NaN."""
    # da.concatenate would remove empty blocks; the chunks must match those of X.
    name = f"rows-{dask.base.tokenize([task.key for task in tasks])}"
    keys = {(name, i, *(0 for _ in shape)): task.key for i, task in enumerate(tasks)}
    graph = HighLevelGraph.from_collections(name, keys, dependencies=tasks)
    chunks = (tuple(lengths), *((size,) for size in shape))
    return da.Array(graph, name, chunks, dtype=dtype, meta=np.empty((0, *shape), dtype))
