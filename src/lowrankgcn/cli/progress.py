"""A run of a command: its progress on the terminal, its console, warnings and times."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import ClassVar

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from lowrankgcn._progress import listening
from lowrankgcn.cli.errors import collect_warnings, exit_on_user_error

_SPAN = 600.0  # seconds; steps of different length alternate, so average over many of them


class Run:
    """A run of a command.

    Parameters
    ----------
    quiet, as_json : bool
        The options of the command; the console is silent then.
    rows_printed : bool
        Whether standard output has rows of a table, so that the console is standard error.

    Attributes
    ----------
    console : Console
    warnings : list of str
    seconds : dict from step to float
        In the order of the steps.

    Examples
    --------
    >>> run = Run(quiet=True)
    >>> with run.step("reading"):
    ...     pass
    >>> list(run.seconds)
    ['reading']
    """

    process_begin: ClassVar[float | None] = None  # if the process runs one command only

    def __init__(
        self, *, quiet: bool = False, as_json: bool = False, rows_printed: bool = False
    ) -> None:
        self.quiet, self.as_json = quiet, as_json
        self.console = Console(highlight=False, quiet=quiet or as_json, stderr=rows_printed)
        self.warnings: list[str] = []
        self.seconds: dict[str, float] = {}
        self._begin = self.process_begin or time.perf_counter()

    def total(self) -> float:
        """Return the seconds since the process, or else this run, began."""
        return time.perf_counter() - self._begin

    @contextmanager
    def progress(self, text: str) -> Iterator[Callable[[str, float, float], None]]:
        """Show the current step of the library, at first `text`, and a bar of it.

        The display is on standard error, and only if that is a terminal. The yielded function shows
        a step, the amount of work done, and the total amount.
        """
        console = Console(stderr=True)
        console.quiet = self.quiet or not console.is_terminal
        columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), BarColumn())
        times = (TimeElapsedColumn(), TimeRemainingColumn())
        with Progress(
            *columns,
            *times,
            console=console,
            transient=True,
            speed_estimate_period=_SPAN,
            disable=console.quiet,
        ) as bars:
            task = bars.add_task(text, total=None)

            def show(step: str, done: float, total: float) -> None:
                bars.update(task, description=step, completed=done, total=total or None)

            with listening(None if bars.disable else show):
                yield show

    @contextmanager
    def timing(self, step: str) -> Iterator[None]:
        """Add the time of the block to a step."""
        begin = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[step] = self.seconds.get(step, 0.0) + time.perf_counter() - begin

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Show and time a step."""
        with self.progress(name), self.timing(name):
            yield

    @contextmanager
    def loading(self) -> Iterator[None]:
        """Show and time the import of libraries; garbage is collected later, which is faster."""
        with self.step("loading"):
            gc.disable()
            try:
                yield
            finally:
                gc.enable()

    @contextmanager
    def computing(self, text: str) -> Iterator[None]:
        """Show a computation, report invalid input in one line, and print its warnings."""
        with self.progress(text), exit_on_user_error(), collect_warnings() as texts:
            yield
        self.warnings += texts
        for warning in () if self.quiet else texts:
            typer.echo(f"warning: {warning}", err=True)
