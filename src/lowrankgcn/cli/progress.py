"""What moves on the terminal while the work lasts, and how long each step took."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from lowrankgcn._progress import listening

__all__ = ["Stopwatch", "progress", "status"]


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
