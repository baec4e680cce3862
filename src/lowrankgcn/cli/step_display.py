"""Progress of the steps of a command: a bar on a terminal, lines elsewhere.

>>> describe("classifying", 200, 1000, 2.0)
'classifying: 200 of 1000 rows, 100 rows/s, 8.0 s left'
>>> describe("fitting the blocks", 0, 0, 12.0)
'fitting the blocks: 12.0 s'
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rich import progress
from rich.console import Console
from rich.text import Text

from lowrankgcn._format import count, duration, percent
from lowrankgcn._progress import Listener

#: Seconds until a step is reported in lines, and between the lines.
FIRST, EVERY = 3.0, 10.0
_ROWS = ("classifying", "predicting", "explaining", "reading the other rows")  # counted in rows
_SPAN = 600.0  # seconds; steps of different length alternate, so average over many of them


def describe(step: str, done: float, total: float, seconds: float) -> str:
    """Return how far a step is, its speed and the time left."""
    if not total or not done:
        return f"{step}: {duration(seconds)}"
    left = f"{duration(seconds * (total - done) / done)} left"
    if step not in _ROWS:
        return f"{step}: {percent(done / total, 0)}, {left}"
    speed = f"{count(round(done / max(seconds, 1e-9)))} rows/s"
    return f"{step}: {count(round(done))} of {count(round(total))} rows, {speed}, {left}"


class _Speed(progress.ProgressColumn):
    """Rows per second."""

    def render(self, task: Any) -> Text:
        """Return the speed of a step that is counted in rows."""
        known = task.speed and task.total and task.description in _ROWS
        return Text(f"{count(round(task.speed))} rows/s" if known else "")


@contextmanager
def bar(console: Console, text: str) -> Iterator[Listener]:
    """Show the current step and a bar on a terminal; yield the function that changes it."""
    with progress.Progress(
        progress.SpinnerColumn(),
        progress.TextColumn("{task.description}", markup=False),
        progress.BarColumn(),
        _Speed(),
        progress.TimeElapsedColumn(),
        progress.TimeRemainingColumn(),
        console=console,
        transient=True,
        speed_estimate_period=_SPAN,
    ) as bars:
        task = bars.add_task(text, total=None)

        def show(step: str, done: float, total: float) -> None:
            if step != bars.tasks[0].description:
                bars.reset(task)
            bars.update(task, description=step, completed=done, total=total or None)

        yield show


@contextmanager
def lines(text: str) -> Iterator[Listener]:
    """Print a line about the current step if it takes long; yield what changes it."""
    state: tuple[str, float, float, float] = (text, 0, 0, time.monotonic())
    ended = threading.Event()

    def show(step: str, done: float, total: float) -> None:
        nonlocal state
        state = (step, done, total, state[3] if step == state[0] else time.monotonic())

    def watch() -> None:
        wait = FIRST
        while not ended.wait(wait):
            wait = EVERY
            step, done, total, begin = state
            line = describe(step, done, total, time.monotonic() - begin)
            print(line, file=sys.stderr, flush=True)

    thread = threading.Thread(target=watch, name="progress", daemon=True)
    thread.start()
    try:
        yield show
    finally:
        ended.set()
        thread.join()
