"""What is being done right now, for whoever wants to show it.

Work that lasts tells its steps; nobody has to listen:

>>> with listening(lambda step, done, total: print(step, done, total)):
...     tell("training", 1, 3)
training 1 3
>>> tell("training", 2, 3)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["Listener", "listener", "listening", "tell", "unheard"]

#: Called with the name of a step, how much of it is done, and how much there is (0: not known).
Listener = Callable[[str, int, int], None]

_LISTENER: ContextVar[Listener | None] = ContextVar("lowrankgcn-listener", default=None)


def tell(step: str, done: int = 0, total: int = 0) -> None:
    """Say what is being done."""
    heard = _LISTENER.get()
    if heard is not None:
        heard(step, done, total)


def listener() -> Listener | None:
    """Who listens, if anybody; to be called from other threads, which do not know."""
    return _LISTENER.get()


@contextmanager
def listening(heard: Listener) -> Iterator[None]:
    """Call `heard` at every step until the block ends."""
    token = _LISTENER.set(heard)
    try:
        yield
    finally:
        _LISTENER.reset(token)


@contextmanager
def unheard() -> Iterator[Listener]:
    """Keep the steps within the block to itself; what it gives still reaches the listener.

    >>> with listening(lambda *step: print(*step)), unheard() as outside:
    ...     tell("training", 1, 3)
    ...     outside("part", 1, 5)
    part 1 5
    """
    outer = _LISTENER.get()
    token = _LISTENER.set(None)
    try:
        yield outer if outer is not None else lambda step, done, total: None
    finally:
        _LISTENER.reset(token)
