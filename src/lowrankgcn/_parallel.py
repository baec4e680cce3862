"""Parallel work on row chunks, with results in row order.

Large computations run on chunks of rows that fit the cache. NumPy releases the interpreter lock
inside its loops, so plain threads process several chunks at once:

>>> import numpy as np
>>> x = np.arange(10.0)
>>> map_chunks(lambda start, stop: float(x[start:stop].sum()), len(x), 4)
[6.0, 22.0, 17.0]

The BLAS is limited to one thread while chunks run, because its own threads would compete with them.
The environment variable ``LOWRANKGCN_NUM_THREADS`` overrides the number of threads.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar, copy_context
from functools import cache
from numbers import Integral
from typing import Any, TypeVar

# Imported for its side effect: SciPy carries a BLAS of its own, which must be loaded before the
# controller below searches for libraries.
import scipy.linalg  # noqa: F401
from threadpoolctl import OpenBLASController, ThreadpoolController

from lowrankgcn._validation import invalid

Item = TypeVar("Item")
Result = TypeVar("Result")
Settings = list[tuple[Any, int]]  # libraries and their numbers of threads

# Measured: below these sizes starting threads (0.4 ms) costs more than they save.
_SMALL_PROBLEM = 20_000  # rows
_WORTH_A_THREAD = 4_000_000  # elementary steps, a few milliseconds
_VARIABLE = "LOWRANKGCN_NUM_THREADS"
_INLINE: ContextVar[bool] = ContextVar("lowrankgcn-inline-chunks", default=False)
_THREADS: ContextVar[int | None] = ContextVar("lowrankgcn-threads", default=None)
_LOCK = threading.Lock()
# What the active blocks have changed: the first one to enter changes the setting of the process,
# the others nothing, and the last one to leave restores it.
_LIMITED: list[Settings] = []
_RELEASE = getattr(OpenBLASController, "clear_controlling_thread", lambda force: None)


def chunks(n: int, size: int) -> list[tuple[int, int]]:
    """Return half-open row ranges (start, stop) of length `size` that cover 0..n-1.

    The last range may be shorter.

    Examples
    --------
    >>> chunks(5, 2)
    [(0, 2), (2, 4), (4, 5)]
    """
    return [(start, min(start + size, n)) for start in range(0, n, size)]


def thread_limit() -> int | None:
    """Return the number of threads set by :func:`limited_threads`, or None."""
    return _THREADS.get()


def available_threads() -> int:
    """Return the number of threads to use.

    It is that of :func:`limited_threads`, else ``LOWRANKGCN_NUM_THREADS``, else the number of
    processors of this process.
    """
    if (limit := _THREADS.get()) is not None:
        return limit
    text = os.environ.get(_VARIABLE, "").strip()
    if not text:
        affinity = getattr(os, "sched_getaffinity", None)  # not on every system
        return len(affinity(0)) if affinity else os.cpu_count() or 1
    if not text.isdecimal() or int(text) < 1:
        raise invalid(_VARIABLE, "an integer >= 1", repr(text))
    return int(text)


@contextmanager
def limited_threads(n_jobs: int | None) -> Iterator[None]:
    """Limit the number of threads inside a ``with`` block, also those of the BLAS.

    As in joblib, −1 stands for all processors and −2 for all but one; None changes nothing.

    Examples
    --------
    >>> with limited_threads(3):
    ...     available_threads()
    3
    """
    if n_jobs is None:
        yield
        return
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, Integral) or n_jobs == 0:
        raise invalid("n_jobs", "None or an integer other than 0", repr(n_jobs))
    count = int(n_jobs) if n_jobs > 0 else max(1, available_threads() + 1 + int(n_jobs))
    token = _THREADS.set(count)
    try:
        with ThreadpoolController().limit(limits=count, user_api="blas"):
            yield
    finally:
        _THREADS.reset(token)


def worthwhile_threads(work: int) -> int:
    """Return the number of threads worth starting for `work` elementary steps.

    Examples
    --------
    >>> worthwhile_threads(1000)
    1
    """
    return 1 if work < _WORTH_A_THREAD else available_threads()


def map_chunks(
    function: Callable[[int, int], Result], n: int, size: int, *, n_threads: int | None = None
) -> list[Result]:
    """Call ``function(start, stop)`` for every row chunk and return the results in row order.

    Parameters
    ----------
    function : callable
        Called with the half-open row range (start, stop); must be safe to run in several threads.
    n : int
        Number of rows.
    size : int
        Rows per chunk. Choose it from the cache size and not from the number of threads, so that
        sums over chunks do not depend on the latter.
    n_threads : int, optional
        Number of threads including the caller's; :func:`available_threads` by default.

    Returns
    -------
    list
        One result per chunk, in row order.

    Raises
    ------
    Exception
        The exception of the first chunk that failed; later chunks are not started.

    Notes
    -----
    A single chunk, or a call from inside another ``map_chunks``, runs in the calling thread.

    Examples
    --------
    >>> map_chunks(lambda start, stop: stop - start, 7, 3, n_threads=2)
    [3, 3, 1]
    """
    spans = chunks(n, size)
    if len(spans) <= 1 or _INLINE.get():
        return [function(start, stop) for start, stop in spans]
    with single_threaded_blas(), inline_chunks():
        threads = min(n_threads or available_threads(), len(spans))
        if threads == 1:
            return [function(start, stop) for start, stop in spans]
        with ThreadPoolExecutor(threads, "", _limit, (_blas_libraries()[1],)) as pool:
            # A copied context carries settings such as np.errstate into the thread.
            futures = [pool.submit(copy_context().run, function, a, b) for a, b in spans]
            try:
                return [future.result() for future in futures]
            finally:
                pool.shutdown(cancel_futures=True)


def map_in_order(
    function: Callable[[Item], Result], items: Iterable[Item], *, n_threads: int | None = None
) -> Iterator[Result]:
    """Yield ``function(item)`` for every item, in order; threads work ahead by a few items.

    Parameters
    ----------
    function : callable
        Must be safe to run in several threads. Its own chunks run in the thread that calls it.
    items : iterable
        Taken one by one by the calling thread. The chunks of the only item of a list may run in
        several threads.
    n_threads : int, optional
        :func:`available_threads` by default.

    Examples
    --------
    >>> list(map_in_order(lambda k: k * k, range(5), n_threads=2))
    [0, 1, 4, 9, 16]
    """

    def run(item: Item) -> Result:
        with inline_chunks():
            return function(item)

    if isinstance(items, list) and len(items) == 1:
        yield function(items[0])
        return
    threads = n_threads or available_threads()
    waiting: deque[Future[Result]] = deque()
    with (
        single_threaded_blas(),
        ThreadPoolExecutor(threads, "", _limit, (_blas_libraries()[1],)) as pool,
    ):
        try:
            for item in items:
                waiting.append(pool.submit(copy_context().run, run, item))
                if len(waiting) > threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            pool.shutdown(cancel_futures=True)


@contextmanager
def inline_chunks() -> Iterator[None]:
    """Run all chunks in the calling thread inside a ``with`` block.

    Examples
    --------
    >>> with inline_chunks():
    ...     map_chunks(lambda start, stop: threading.current_thread().name, 2, 1)
    ['MainThread', 'MainThread']
    """
    token = _INLINE.set(True)
    try:
        yield
    finally:
        _INLINE.reset(token)


@cache
def _blas_libraries() -> tuple[list[Any], list[Any]]:
    """Return the BLAS libraries with one setting per process, and those with one per thread."""
    # Searching the loaded libraries takes milliseconds, setting a limit microseconds.
    groups: tuple[list[Any], list[Any]] = [], []
    for library in ThreadpoolController().select(user_api="blas").lib_controllers:
        # An OpenBLAS on top of OpenMP keeps its setting per thread.
        openmp = getattr(library, "threading_layer", None) == "openmp"
        groups[library.internal_api == "openblas" and openmp].append(library)
    return groups


def _limit(libraries: list[Any]) -> Settings:
    """Limit libraries to one thread; return the libraries that had more, with their numbers."""
    before = [(library, library.get_num_threads()) for library in libraries]
    changed = [(library, threads) for library, threads in before if (threads or 1) > 1]
    for library, _ in changed:
        library.set_num_threads(1)
    return changed


@contextmanager
def single_threaded_blas() -> Iterator[None]:
    """Limit the BLAS to one thread inside a ``with`` block, then restore its setting.

    Examples
    --------
    >>> with single_threaded_blas():
    ...     pass  # many small products
    """
    shared, of_thread = _blas_libraries()
    before = _limit(of_thread)
    with _LOCK:
        _LIMITED.append(_limit(shared))
    try:
        yield
    finally:
        with _LOCK:
            settings = _LIMITED.pop()
            if settings:
                # In recent versions of threadpoolctl only the thread that limited OpenBLAS can
                # change the limit, unless it is released.
                _RELEASE(force=True)
                for library, threads in settings:
                    library.set_num_threads(threads)
                _RELEASE(force=True)
        for library, threads in before:
            library.set_num_threads(threads)


def single_threaded_blas_if_small(n: int) -> AbstractContextManager[None]:
    """Limit the BLAS to one thread for a problem of n ≤ 20 000 rows.

    Small products gain nothing from threads and become a hundred times slower on a busy machine.

    Examples
    --------
    >>> with single_threaded_blas_if_small(1000):
    ...     pass
    """
    return single_threaded_blas() if n <= _SMALL_PROBLEM else nullcontext()
