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

import contextvars
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from typing import Any, TypeVar, final

# Imported for its side effect: SciPy carries a BLAS of its own, which must be loaded before the
# controller below searches for libraries.
import scipy.linalg  # noqa: F401
from threadpoolctl import OpenBLASController, ThreadpoolController

from lowrankgcn._validation import invalid, positive_int

__all__ = [
    "SharedLimit",
    "available_threads",
    "chunks",
    "inline_chunks",
    "map_chunks",
    "single_threaded_blas",
    "single_threaded_blas_if_small",
    "worthwhile_threads",
]

Result = TypeVar("Result")

# Measured: below these sizes starting threads (0.4 ms) costs more than they save.
_SMALL_PROBLEM = 20_000  # rows
_WORTH_A_THREAD = 4_000_000  # elementary steps, a few milliseconds
_VARIABLE = "LOWRANKGCN_NUM_THREADS"
_in_worker = threading.local()


def chunks(n: int, size: int) -> list[tuple[int, int]]:
    """Return half-open row ranges (start, stop) of length `size` that cover 0..n-1.

    The last range may be shorter.

    Examples
    --------
    >>> chunks(5, 2)
    [(0, 2), (2, 4), (4, 5)]
    """
    n = positive_int(n, "n", minimum=0)
    size = positive_int(size, "size")
    return [(start, min(start + size, n)) for start in range(0, n, size)]


def available_threads() -> int:
    """Return ``LOWRANKGCN_NUM_THREADS`` if set, else the number of processors of this process."""
    text = os.environ.get(_VARIABLE, "").strip()
    if text:
        if not text.isdecimal() or int(text) < 1:
            raise invalid(_VARIABLE, "an integer >= 1", repr(text))
        return int(text)
    if hasattr(os, "process_cpu_count"):  # Python 3.13
        return os.process_cpu_count() or 1
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0)) or 1
    return os.cpu_count() or 1


def worthwhile_threads(work: int) -> int:
    """Return the number of threads worth starting for `work` elementary steps.

    Examples
    --------
    >>> worthwhile_threads(1000)
    1
    """
    return 1 if work < _WORTH_A_THREAD else available_threads()


def map_chunks(
    function: Callable[[int, int], Result],
    n: int,
    size: int,
    *,
    n_threads: int | None = None,
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
    threads = available_threads() if n_threads is None else positive_int(n_threads, "n_threads")
    if len(spans) <= 1 or getattr(_in_worker, "active", False):
        return [function(start, stop) for start, stop in spans]
    with single_threaded_blas():
        return _run(function, spans, min(threads, len(spans)))


@contextmanager
def inline_chunks() -> Iterator[None]:
    """Run all chunks in the calling thread inside a ``with`` block.

    Examples
    --------
    >>> with inline_chunks():
    ...     map_chunks(lambda start, stop: threading.current_thread().name, 2, 1)
    ['MainThread', 'MainThread']
    """
    before = getattr(_in_worker, "active", False)
    _in_worker.active = True
    try:
        yield
    finally:
        _in_worker.active = before


def _run(
    function: Callable[[int, int], Result], spans: list[tuple[int, int]], threads: int
) -> list[Result]:
    results: dict[int, Result] = {}
    errors: dict[int, BaseException] = {}
    lock = threading.Lock()
    queue = iter(range(len(spans)))

    # Each thread draws the next chunk until none is left: cheaper than one future per chunk, and a
    # slow thread delays no other.
    def work() -> None:
        with inline_chunks():
            while True:
                with lock:
                    i = None if errors else next(queue, None)
                if i is None:
                    return
                try:
                    results[i] = function(*spans[i])
                except BaseException as error:
                    errors[i] = error

    if threads == 1:
        work()
    else:
        own = (_blas_libraries()[1],)  # the setting of a thread ends with it
        with ThreadPoolExecutor(threads - 1, initializer=_limit, initargs=own) as executor:
            for _ in range(threads - 1):
                # A copied context carries settings such as np.errstate into the thread.
                executor.submit(contextvars.copy_context().run, work)
            work()
    if errors:
        # Chunks start in row order, so every chunk before a failed one has run: the first failure
        # is the same for any number of threads.
        raise errors[min(errors)]
    return [results[i] for i in range(len(spans))]


@final
class SharedLimit:
    """A process-wide setting that overlapping ``with`` blocks of several threads share.

    The first block to enter applies the setting and the last one to leave undoes it. If every block
    saved and restored the setting itself, a block that entered second and left last would restore
    the limited value for good.

    Parameters
    ----------
    apply : callable
        Applies the setting and returns a function that undoes it.

    Examples
    --------
    >>> def apply():
    ...     print("limited")
    ...     return lambda: print("restored")
    >>> limit = SharedLimit(apply)
    >>> with limit.hold(), limit.hold():
    ...     print("working")
    limited
    working
    restored
    """

    def __init__(self, apply: Callable[[], Callable[[], None]]) -> None:
        self._apply = apply
        self._undo: Callable[[], None] | None = None
        self._holders = 0
        self._lock = threading.Lock()

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Keep the setting applied inside a ``with`` block."""
        with self._lock:
            if self._undo is None:
                self._undo = self._apply()
            self._holders += 1
        try:
            yield
        finally:
            with self._lock:
                self._holders -= 1
                if not self._holders and self._undo is not None:
                    undo, self._undo = self._undo, None
                    undo()


@cache
def _blas_libraries() -> tuple[list[Any], list[Any]]:
    """Return the BLAS libraries with one setting per process, and those with one per thread."""
    # Searching the loaded libraries takes milliseconds, setting a limit microseconds.
    libraries = ThreadpoolController().select(user_api="blas").lib_controllers
    # An OpenBLAS on top of OpenMP keeps its setting per thread.
    shared: list[Any] = []
    own: list[Any] = []
    for library in libraries:
        layer = getattr(library, "threading_layer", None)
        per_thread = library.internal_api == "openblas" and layer == "openmp"
        (own if per_thread else shared).append(library)
    return shared, own


def _limit(libraries: list[Any]) -> Callable[[], None]:
    """Limit libraries to one thread; return a function that undoes it."""
    before = [(lib, lib.get_num_threads()) for lib in libraries]
    changed = [(lib, threads) for lib, threads in before if threads is not None and threads > 1]
    for lib, _ in changed:
        lib.set_num_threads(1)

    def undo() -> None:
        for lib, threads in changed:
            lib.set_num_threads(threads)

    return undo


def _limit_shared_blas() -> Callable[[], None]:
    limiting_thread = threading.current_thread()
    undo = _limit(_blas_libraries()[0])

    def undo_in_any_thread() -> None:
        # In recent versions of threadpoolctl only the thread that limited OpenBLAS can change the
        # limit. The last thread to leave may be another one, so it takes over control first.
        release = getattr(OpenBLASController, "clear_controlling_thread", lambda force: None)
        release(force=threading.current_thread() is not limiting_thread)
        undo()
        release(force=False)

    return undo_in_any_thread


_SHARED_BLAS_LIMIT = SharedLimit(_limit_shared_blas)


@contextmanager
def single_threaded_blas() -> Iterator[None]:
    """Limit the BLAS to one thread inside a ``with`` block, then restore its setting.

    Examples
    --------
    >>> with single_threaded_blas():
    ...     pass  # many small products
    """
    undo = _limit(_blas_libraries()[1])
    try:
        with _SHARED_BLAS_LIMIT.hold():
            yield
    finally:
        undo()


def single_threaded_blas_if_small(n: int) -> AbstractContextManager[None]:
    """Limit the BLAS to one thread for a problem of n ≤ 20 000 rows.

    Small products gain nothing from threads and become a hundred times slower on a busy machine.

    Examples
    --------
    >>> with single_threaded_blas_if_small(1000):
    ...     pass
    """
    return single_threaded_blas() if n <= _SMALL_PROBLEM else nullcontext()
