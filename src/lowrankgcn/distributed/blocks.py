"""Row blocks of Dask collections: one task per block and pass, with tree reduction.

Every step over many rows has the same form: a pure function computes a small result from one block
of rows, and the results are joined in order. Tasks have no state, so the scheduler can repeat them
on another worker. Joining integers is exact and does not depend on the division into blocks.

>>> import dask.dataframe as dd, pandas as pd
>>> frame = dd.from_pandas(pd.DataFrame({"x": range(10)}), npartitions=3)
>>> blocks = Blocks.from_collection(frame)
>>> blocks.lengths()
(4, 3, 3)
>>> blocks.reduce(lambda block: int(block["x"].sum()), lambda a, b: a + b)
45
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar, final

import dask
import dask.array as da
import dask.dataframe as dd
import dask.threaded
import numpy as np
import pandas as pd
from dask.delayed import Delayed, delayed
from numpy.typing import NDArray

from lowrankgcn._parallel import inline_chunks, single_threaded_blas
from lowrankgcn._validation import invalid

__all__ = ["Blocks", "KeptBlocks", "compute", "is_collection", "joined_rows", "run_task"]

Result = TypeVar("Result")

_FAN_IN = 8  # results that one task joins
_JOINED_BY_CLIENT = 64  # results that the client joins itself; tasks join larger numbers
# Exceptions of dask.distributed, by name because it may not be imported.
_LOST = (
    "CancelledError",
    "ClosedClientError",
    "CommClosedError",
    "FutureCancelledError",
    "FuturesCancelledError",
)
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
    with _translate_dask_errors():
        results: tuple[Any, ...] = dask.compute(*tasks)
    return results


@contextmanager
def _translate_dask_errors() -> Iterator[None]:
    try:
        yield
    except Exception as error:
        if type(error).__name__ in _LOST:
            raise ConnectionError(
                f"the Dask scheduler was lost, with all intermediate results: {error}"
            ) from error
        if type(error).__name__ == _KILLED:
            raise ConnectionError(
                "workers died repeatedly while processing the same block of rows, probably because "
                "they ran out of memory; use smaller blocks, or fewer workers with more memory each"
            ) from error
        raise


@final
@dataclass(frozen=True, eq=False)
class Blocks:
    """Blocks of consecutive rows.

    Attributes
    ----------
    tasks : tuple of Delayed
        Each gives a DataFrame, a Series or an array.
    empty : DataFrame, Series or array
        A block without rows, for types and names.
    """

    tasks: tuple[Delayed, ...]
    empty: Any

    @classmethod
    def from_collection(cls, collection: Any) -> Blocks:
        """Return the blocks of a Dask DataFrame, Series or array; arrays are split by rows only."""
        if isinstance(collection, da.Array):
            if collection.ndim > 1:
                collection = collection.rechunk({axis: -1 for axis in range(1, collection.ndim)})
            tasks = tuple(collection.to_delayed().ravel().tolist())
            return cls(tasks, np.empty((0, *collection.shape[1:]), collection.dtype))
        if isinstance(collection, (dd.DataFrame, dd.Series)):
            # Unused columns are not read. Further optimisation would put several Parquet files into
            # one block, and different ones for different columns.
            lean = collection.simplify()
            return cls(tuple(lean.to_delayed(optimize_graph=False)), collection._meta)
        raise invalid("X", "a Dask DataFrame or array", type(collection).__name__)

    def map(self, function: Callable[..., Any], *shared: Any) -> list[Delayed]:
        """Return one task per block: ``function(block, *shared)``.

        Shared arguments are sent once, not once per block.
        """
        once = [delayed(value, traverse=False) for value in shared]
        task = delayed(run_task, pure=False)
        return [task(function, block, *once) for block in self.tasks]

    def reduce(
        self,
        function: Callable[..., Result],
        join: Callable[[Result, Result], Result],
        *shared: Any,
    ) -> Result:
        """Return ``function(block, *shared)`` of all blocks, joined in their order."""
        level = self.map(function, *shared)
        joined = delayed(_join, pure=False)
        while len(level) > 1:
            starts = range(0, len(level), _FAN_IN)
            level = [joined(join, level[start : start + _FAN_IN]) for start in starts]
        (result,) = compute(*level)
        return result  # type: ignore[no-any-return]  # Dask is untyped

    def collect(self, function: Callable[..., Result], *shared: Any) -> list[Result]:
        """Return ``function(block, *shared)`` of every block."""
        return list(compute(*self.map(function, *shared)))

    def kept(self) -> KeptBlocks:
        """Compute the blocks and keep them on the workers."""
        with _translate_dask_errors():
            return KeptBlocks(Blocks(tuple(dask.persist(*self.tasks)), self.empty))

    def lengths(self) -> tuple[int, ...]:
        """Return the number of rows of every block."""
        return tuple(self.collect(len))

    def take(self, index: NDArray[np.intp], lengths: Sequence[int]) -> Any:
        """Return the rows with the given ascending numbers as one table or array in memory."""
        tasks = []
        task = delayed(_take, pure=False)
        start = 0
        for block, length in zip(self.tasks, lengths, strict=True):
            first, last = np.searchsorted(index, [start, start + length])
            if last > first:
                tasks.append(task(block, index[first:last] - start))
            start += length
        return joined_rows(compute(*tasks), self.empty)


@final
@dataclass(frozen=True, eq=False)
class KeptBlocks:
    """Blocks that are stored on the workers, for hundreds of passes.

    Attributes
    ----------
    blocks : Blocks

    Examples
    --------
    >>> kept = Blocks.from_collection(da.arange(10, chunks=4)).kept()
    >>> int(kept.reduce(np.sum, lambda a, b: a + b))
    45
    """

    blocks: Blocks

    @cached_property
    def _graph(self) -> dict[Any, Any]:
        return {key: value for task in self.blocks.tasks for key, value in dict(task.dask).items()}

    def reduce(
        self, function: Callable[[Any], Result], join: Callable[[Result, Result], Result]
    ) -> Result:
        """Return ``function(block)`` of all blocks, joined in their order.

        This takes half the time of :meth:`Blocks.reduce`, because the task graph is built directly
        and the client joins the last results.
        """
        mark = uuid.uuid4().hex
        graph = dict(self._graph)
        level = []
        for number, task in enumerate(self.blocks.tasks):
            level.append(f"part-{mark}-{number}")
            graph[level[-1]] = (run_task, function, task.key)
        while len(level) > _JOINED_BY_CLIENT:
            groups = [level[i : i + _FAN_IN] for i in range(0, len(level), _FAN_IN)]
            level = [f"join-{mark}-{len(groups)}-{i}" for i in range(len(groups))]
            graph |= {key: (_join, join, group) for key, group in zip(level, groups, strict=True)}
        get = dask.base.get_scheduler() or dask.threaded.get
        with _translate_dask_errors():
            parts = list(get(graph, level))
        result: Result = _join(join, parts)
        return result


def joined_rows(parts: Sequence[Any], empty: Any) -> Any:
    """Concatenate pieces of a collection; return `empty` if there are none."""
    if not parts:
        return empty
    if isinstance(parts[0], (pd.DataFrame, pd.Series)):
        return pd.concat(parts) if len(parts) > 1 else parts[0]
    return np.concatenate(parts)


def run_task(function: Callable[..., Any], block: Any, *shared: Any) -> Any:
    """Return ``function(block, *shared)``, computed in a single thread."""
    # The scheduler runs several tasks in parallel.
    with inline_chunks(), single_threaded_blas():
        return function(block, *shared)


def _join(join: Callable[[Any, Any], Any], parts: list[Any]) -> Any:
    total = parts[0]
    for part in parts[1:]:
        total = join(total, part)
    return total


def _take(block: Any, rows: NDArray[np.intp]) -> Any:
    return block.iloc[rows] if hasattr(block, "iloc") else block[rows]
