"""Thread limits of torch for small problems."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import torch

from lowrankgcn._parallel import single_threaded_blas

# Measured: multiplications at a time from which several threads are faster than one.
_SMALL_WORK = 3 * 10**7
_lock = threading.Lock()


@contextmanager
def limit_threads(work: int) -> Iterator[None]:
    """Limit torch and the BLAS to one thread for less than 3e7 multiplications at a time.

    Threads that wait for each other after each small product are slower than one thread, and a
    thousand times slower on a busy machine. The limit holds for the calling thread only, and is
    lifted at the end of the ``with`` block.

    Examples
    --------
    >>> import torch
    >>> from lowrankgcn.nn import limit_threads
    >>> before = torch.get_num_threads()
    >>> with limit_threads(1000):
    ...     print(torch.get_num_threads())
    1
    >>> torch.get_num_threads() == before
    True
    """
    with _lock:
        before = torch.get_num_threads()
        limited = work <= _SMALL_WORK and before > 1
        if limited:
            # This sets the number of this thread and the default of all threads that use torch for
            # the first time later. Another thread resets the default.
            torch.set_num_threads(1)
            resetting = threading.Thread(target=torch.set_num_threads, args=(before,))
            resetting.start()
            resetting.join()
    if not limited:
        yield
        return
    try:
        with single_threaded_blas():
            yield
    finally:
        torch.set_num_threads(before)
