"""What went wrong outside of the program, in one line."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import typer

__all__ = ["bad_input", "writing"]


@contextmanager
def bad_input(option: str | None = None) -> Iterator[None]:
    """Turn a ValueError, or a file that cannot be read, into one line and exit code 2.

    Only around calls that check what the user gave: elsewhere a ValueError is a defect, and its
    traceback is wanted.
    """
    try:
        yield
    except OSError as error:
        name = "" if error.filename is None else f"{error.filename}: "
        message = f"{name}{error.strerror or error}"
        raise typer.BadParameter(message, param_hint=option) from None
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint=option) from None


@contextmanager
def writing(path: str | os.PathLike[str], option: str = "--out") -> Iterator[None]:
    """Turn a failure to write to `path` into one line and exit code 2."""
    try:
        yield
    except OSError as error:
        message = f"cannot write to {os.fspath(path)}: {error.strerror or error}"
        raise typer.BadParameter(message, param_hint=option) from None
