"""One thread where a second one would cost more than it does."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from lowrankgcn._parallel import single_threaded_blas

__all__ = ["threads_for"]

_SMALL_WORK = 3 * 10**7


@contextmanager
def threads_for(work: int) -> Iterator[None]:
    """Hold torch and the BLAS to one thread for less than 3e7 multiplications at a time.

    Larger work gets what the caller has set, which is also restored afterwards. Threads that wait
    for each other after each small product are slower than one, and a thousandfold beside a busy
    neighbour.

    Examples
    --------
    >>> before = torch.get_num_threads()
    >>> with threads_for(1000):
    ...     print(torch.get_num_threads())
    1
    >>> torch.get_num_threads() == before
    True
    """
    before = torch.get_num_threads()
    if work > _SMALL_WORK or before == 1:
        yield
        return
    torch.set_num_threads(1)
    try:
        with single_threaded_blas():
            yield
    finally:
        torch.set_num_threads(before)
