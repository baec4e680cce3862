"""What moves on the terminal while the work lasts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

__all__ = ["bar", "status"]

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
    with Progress(
        *columns, console=console, transient=True, speed_estimate_period=_WINDOW
    ) as progress:
        task = progress.add_task("", total=total)
        begun = False

        def advance(text: str) -> None:
            nonlocal begun
            progress.update(task, description=text, advance=int(begun))
            begun = True

        yield advance
