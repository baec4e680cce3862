"""Work on row chunks, on all available processors, with results in row order.

Everything large in the package is done in chunks of rows that fit the cache; NumPy releases the
interpreter lock inside its loops, so plain threads run several chunks at once:

>>> import numpy as np
>>> x = np.arange(10.0)
>>> map_chunks(lambda start, stop: float(x[start:stop].sum()), len(x), 4)
[6.0, 22.0, 17.0]

A BLAS that starts its own threads inside every chunk would fight with them, so it is held to one
thread while chunks run. The environment variable ``LOWRANKGCN_NUM_THREADS`` overrides the number
of threads.
"""

from __future__ import annotations

import contextvars
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from typing import TypeVar

# Imported for its side effect: SciPy carries a BLAS of its own, which must be loaded before the
# controller below looks for libraries.
import scipy.linalg  # noqa: F401
from threadpoolctl import ThreadpoolController

from lowrankgcn._validation import invalid, positive_int

__all__ = [
    "available_threads",
    "chunks",
    "inline_chunks",
    "map_chunks",
    "single_threaded_blas",
    "single_threaded_blas_if_small",
    "worthwhile_threads",
]

Result = TypeVar("Result")

_SMALL_PROBLEM = 20_000
_WORTH_A_THREAD = 4_000_000
_VARIABLE = "LOWRANKGCN_NUM_THREADS"
_in_worker = threading.local()


def chunks(n: int, size: int) -> list[tuple[int, int]]:
    """Half-open row ranges (start, stop) of length `size`, the last one shorter, that cover 0..n-1.

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
    """Threads worth starting for `work` elementary steps: one below a few milliseconds.

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
        Rows per chunk; choose it from the cache size and never from the number of threads, so that
        sums over chunks have the same bits on every machine.
    n_threads : int, optional
        Number of threads, the caller's included; :func:`available_threads` when omitted.

    Returns
    -------
    list
        One result per chunk, in row order whatever the order of execution.

    Raises
    ------
    Exception
        Whatever `function` raised for the first chunk that failed; later chunks are not started.

    Notes
    -----
    One chunk, or a call from inside another ``map_chunks``, runs inline. Otherwise the cost is that
    of starting the threads, about 0.4 ms.

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
    """Run all chunks of this thread in this thread, where others look after parallel work.

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
    # slow thread holds up nobody.
    def work() -> None:
        _in_worker.active = True
        try:
            while True:
                with lock:
                    i = None if errors else next(queue, None)
                if i is None:
                    return
                try:
                    results[i] = function(*spans[i])
                except BaseException as error:
                    errors[i] = error
        finally:
            _in_worker.active = False

    if threads == 1:
        work()
    else:
        with ThreadPoolExecutor(threads - 1, initializer=_enter_worker) as executor:
            for _ in range(threads - 1):
                # A copied context carries settings such as np.errstate into the thread.
                executor.submit(contextvars.copy_context().run, work)
            work()
    if errors:
        # Chunks start in row order, so every chunk before a failed one has run: the first failure
        # is the same for any number of threads.
        raise errors[min(errors)]
    return [results[i] for i in range(len(spans))]


@cache
def _controller() -> ThreadpoolController:
    # Looking through the loaded libraries takes milliseconds, setting a limit microseconds.
    return ThreadpoolController()


_blas_lock = threading.Lock()


@contextmanager
def single_threaded_blas() -> Iterator[None]:
    """Hold the BLAS to one thread inside a ``with`` block, then restore its setting.

    Examples
    --------
    >>> with single_threaded_blas():
    ...     pass  # many small products
    """
    # The setting belongs to the process. If each of several overlapping uses saved and restored it,
    # the last to leave would restore the 1 that another had set; so only the first one does. One
    # that outlasts it runs on with more threads, which costs time but changes nothing else.
    if not _blas_lock.acquire(blocking=False):
        yield
        return
    try:
        with _controller().limit(limits=1, user_api="blas"):
            yield
    finally:
        _blas_lock.release()


def single_threaded_blas_if_small(n: int) -> AbstractContextManager[None]:
    """Hold the BLAS to one thread for a problem of n ≤ 20 000 rows; leave it alone for larger ones.

    Small products gain nothing from threads and lose a hundredfold when a neighbour is busy.

    Examples
    --------
    >>> with single_threaded_blas_if_small(1000):
    ...     pass
    """
    return single_threaded_blas() if n <= _SMALL_PROBLEM else nullcontext()


def _enter_worker() -> None:
    # An OpenBLAS on top of OpenMP keeps its setting per thread; it ends with the thread.
    openblas = _controller().select(internal_api="openblas")
    openblas.select(threading_layer="openmp").limit(limits=1)
