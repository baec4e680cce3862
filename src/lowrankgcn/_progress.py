"""Progress reports of long computations.

Code reports its steps; a listener, such as a progress bar, may show them:

>>> with listening(lambda step, done, total: print(step, done, total)):
...     report_progress("training", 1, 3)
training 1 3
>>> report_progress("training", 2, 3)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

#: Called with the name of a step, the amount done, and the total amount (0 if unknown).
Listener = Callable[[str, int, int], None]

_LISTENER: ContextVar[Listener | None] = ContextVar("lowrankgcn-listener", default=None)


def report_progress(step: str, done: int = 0, total: int = 0) -> None:
    """Pass a step to the current listener, if there is one."""
    current = _LISTENER.get()
    if current is not None:
        current(step, done, total)


@contextmanager
def listening(function: Listener | None) -> Iterator[None]:
    """Call `function` at every step inside a ``with`` block."""
    token = _LISTENER.set(function)
    try:
        yield
    finally:
        _LISTENER.reset(token)
