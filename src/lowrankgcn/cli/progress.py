"""What moves on the terminal while the work lasts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console

__all__ = ["status"]


@contextmanager
def status(text: str, *, shown: bool) -> Iterator[None]:
    """A moving line while the work lasts, on a terminal only."""
    console = Console(stderr=True)
    if not (shown and console.is_terminal):
        yield
        return
    with console.status(text):
        yield
