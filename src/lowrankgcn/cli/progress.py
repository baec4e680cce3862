"""What moves on the terminal while the work lasts, and how long each step took."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from lowrankgcn._progress import listening

__all__ = ["Stopwatch", "bar", "measured_bar", "progress", "status"]

_WINDOW = 600.0  # seconds: steps of unlike length come in turns, and the time left averages them


@contextmanager
def status(text: str, *, shown: bool) -> Iterator[None]:
    """A moving line while the work lasts, on a terminal only."""
    console = Console(stderr=True)
    if not (shown and console.is_terminal):
        yield
        return
    with console.status(text):
        yield


@contextmanager
def bar(total: int, *, shown: bool) -> Iterator[Callable[[str], None]]:
    """A bar with the time left, on a terminal only; call what it gives before each of the steps."""
    console = Console(stderr=True)
    if not (shown and console.is_terminal):
        yield lambda text: None
        return
    columns = (
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.description}", markup=False),
    )
    with Progress(*columns, console=console, transient=True, speed_estimate_period=_WINDOW) as bars:
        task = bars.add_task("", total=total)
        begun = False

        def advance(text: str) -> None:
            nonlocal begun
            bars.update(task, description=text, advance=int(begun))
            begun = True

        yield advance


@contextmanager
def measured_bar(total: float, *, shown: bool) -> Iterator[Callable[[str, float, bool], None]]:
    """A bar with the time left, on a terminal only; tell it of each piece of work.

    Pieces may be of any size, in the units of `total`. One that was not done just now, because it
    was done before, makes the whole smaller: it says nothing about the time that the rest takes.
    """
    console = Console(stderr=True)
    if not (shown and console.is_terminal):
        yield lambda text, size, fresh: None
        return
    columns = (
        BarColumn(bar_width=24),
        TaskProgressColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.description}", markup=False),
    )
    with Progress(*columns, console=console, transient=True, speed_estimate_period=_WINDOW) as bars:
        task = bars.add_task("", total=total)
        lock = Lock()

        def advance(text: str, size: float, fresh: bool) -> None:
            nonlocal total
            with lock:
                total -= 0.0 if fresh else size
                done = size if fresh else 0.0
                bars.update(task, description=text, advance=done, total=total)

        yield advance


@contextmanager
def progress(text: str, *, shown: bool) -> Iterator[None]:
    """A line with the step that the library is at and a bar of it, on a terminal only.

    It begins with `text` and is gone when the work is done.
    """
    console = Console(stderr=True)
    if not (shown and console.is_terminal):
        yield
        return
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, transient=True) as bars:
        task = bars.add_task(text, total=None)

        def show(step: str, done: int, total: int) -> None:
            bars.update(task, description=step, completed=done, total=total or None)

        with listening(show):
            yield


class Stopwatch:
    """Seconds of named steps, in their order.

    >>> watch = Stopwatch()
    >>> with watch.timing("reading"):
    ...     pass
    >>> list(watch.seconds)
    ['reading']
    """

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def timing(self, step: str) -> Iterator[None]:
        """Add the time that the block takes to a step."""
        begin = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[step] = self.seconds.get(step, 0.0) + time.perf_counter() - begin
