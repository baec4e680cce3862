"""Threads of torch and the BLAS for small products.

>>> with limit_threads(1000):
...     torch.get_num_threads()
1
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

import torch

from lowrankgcn._parallel import single_threaded_blas, thread_limit

# Measured: multiplications at a time from which several threads are faster than one.
_SMALL_WORK = 3 * 10**7


@contextmanager
def limit_threads(work: int) -> Iterator[None]:
    """Limit torch and the BLAS to one thread for less than 3e7 multiplications at a time.

    For more, torch uses the number of threads of ``limited_threads``, if it is limited.

    Threads that wait for each other after each small product are slower than one thread, and a
    thousand times slower on a busy machine. The limit is lifted at the end of the ``with`` block.

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
    before = torch.get_num_threads()
    threads = 1 if work <= _SMALL_WORK else thread_limit() or before
    if threads == before:
        yield
        return
    torch.set_num_threads(threads)
    try:
        with single_threaded_blas() if threads == 1 else nullcontext():
            yield
    finally:
        torch.set_num_threads(before)
