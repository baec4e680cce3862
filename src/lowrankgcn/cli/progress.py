"""Progress bars on a terminal, and the time of each step."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    SpinnerColumn,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from lowrankgcn._progress import listening

_TEXT = TextColumn("{task.description}", markup=False)
_SPAN = 600.0  # seconds; steps of different length alternate, so average over many of them


def _bars(*columns: Any, shown: bool) -> Progress:
    """Return a progress display on standard error, silent unless that is a terminal."""
    console = Console(stderr=True)
    console.quiet = quiet = not (shown and console.is_terminal)
    return Progress(
        *columns, console=console, transient=True, speed_estimate_period=_SPAN, disable=quiet
    )


@contextmanager
def progress(text: str, *, shown: bool) -> Iterator[None]:
    """Show the current step of the library, at first `text`, and a bar of it."""
    with _bars(SpinnerColumn(), _TEXT, BarColumn(), TimeElapsedColumn(), shown=shown) as bars:
        task = bars.add_task(text, total=None)

        def show(step: str, done: int, total: int) -> None:
            bars.update(task, description=step, completed=done, total=total or None)

        with listening(None if bars.disable else show):
            yield


@contextmanager
def loading(watch: Stopwatch, *, shown: bool) -> Iterator[None]:
    """Show and time the import of libraries; garbage is collected later, which is faster."""
    with progress("loading", shown=shown), watch.timing("loading"):
        gc.disable()
        try:
            yield
        finally:
            gc.enable()


@contextmanager
def bar(*, shown: bool) -> Iterator[Callable[[str, float, float], None]]:
    """Show a bar with the remaining time.

    Call the yielded function with a text, the amount of work done, and the total amount.
    """
    columns = (BarColumn(bar_width=24), TaskProgressColumn(), TimeRemainingColumn(), _TEXT)
    with _bars(*columns, shown=shown) as bars:
        task = bars.add_task("", total=None)

        def show(text: str, done: float, total: float) -> None:
            bars.update(task, description=text, completed=done, total=total)

        yield show


class Stopwatch:
    """Seconds of named steps, in their order, and since the process began.

    >>> watch = Stopwatch()
    >>> with watch.timing("reading"):
    ...     pass
    >>> list(watch.seconds)
    ['reading']
    """

    process_begin: ClassVar[float | None] = None  # if the process runs one command only

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._begin = self.process_begin or time.perf_counter()

    def total(self) -> float:
        """Return the seconds since the process, or else this watch, began."""
        return time.perf_counter() - self._begin

    @contextmanager
    def timing(self, step: str) -> Iterator[None]:
        """Add the time of the block to a step."""
        begin = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[step] = self.seconds.get(step, 0.0) + time.perf_counter() - begin
