"""What went wrong outside of the program, in one line."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import typer

from lowrankgcn._atomic import is_stream
from lowrankgcn.exceptions import EigensolverError, FastSumError

__all__ = ["bad_input", "check_apart", "check_writable", "noted_warnings", "writing"]


@contextmanager
def bad_input(option: str | None = None) -> Iterator[None]:
    """Turn a ValueError, or a file that cannot be read, into one line and exit code 2.

    So are numbers that no solver can handle, and too many of them. Only around calls that check
    what the user gave: elsewhere a ValueError is a defect, and its traceback is wanted.
    """
    try:
        yield
    except OSError as error:
        name = "" if error.filename is None else f"{error.filename}: "
        message = f"{name}{error.strerror or error}"
        raise typer.BadParameter(message, param_hint=option) from None
    except (ValueError, EigensolverError, FastSumError) as error:
        raise typer.BadParameter(str(error), param_hint=option) from None
    except MemoryError as error:
        raise typer.BadParameter(f"not enough memory: {error}", param_hint=option) from None


@contextmanager
def writing(path: str | os.PathLike[str], option: str = "--out") -> Iterator[None]:
    """Turn a failure to write to `path` into one line and exit code 2."""
    try:
        yield
    except BrokenPipeError:  # who reads has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        raise typer.Exit(0) from None
    except OSError as error:
        message = f"cannot write to {os.fspath(path)}: {error.strerror or error}"
        raise typer.BadParameter(message, param_hint=option) from None


def check_writable(path: Path | None, option: str, *, dash: bool = False) -> None:
    """Find out before the work whether a file can be written; with `dash`, "-" can.

    Raises
    ------
    typer.BadParameter
        If it is a folder, or its folder is missing or may not be written to.
    """
    if path is None or (dash and str(path) == "-"):
        return
    if str(path) == "-":
        raise typer.BadParameter("expected a file, got '-'", param_hint=option)
    if is_stream(path):
        with writing(path, option):
            if not os.access(path, os.W_OK):
                raise PermissionError(13, os.strerror(13))
        return
    folder = Path(os.path.realpath(path)).parent
    with writing(path, option):
        if path.is_dir():
            raise IsADirectoryError(21, os.strerror(21))
        if not folder.is_dir():
            raise FileNotFoundError(2, f"there is no folder {folder}")
        if not os.access(folder, os.W_OK | os.X_OK):
            raise PermissionError(13, os.strerror(13))


def check_apart(files: Mapping[str, Path | None], kept: Mapping[str, Path]) -> None:
    """Find out before the work whether a file would take the place of another.

    Parameters
    ----------
    files : mapping from option to path
        What is written; None is not wanted, "-" is standard output.
    kept : mapping from name to path
        What is read and has to stay.

    Raises
    ------
    typer.BadParameter
        If two of them are the same file.
    """
    taken = {os.path.realpath(path): name for name, path in kept.items() if str(path) != "-"}
    for option, path in files.items():
        if path is None or str(path) == "-" or is_stream(path):
            continue
        place = os.path.realpath(path)
        if place in taken:
            message = f"{path} would take the place of {taken[place]}"
            raise typer.BadParameter(message, param_hint=option)
        taken[place] = option


@contextmanager
def noted_warnings() -> Iterator[list[str]]:
    """Collect warnings meant for users, each text once, instead of printing them."""
    texts: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            yield texts
        finally:
            for warning in caught:
                text = " ".join(str(warning.message).split())
                if issubclass(warning.category, UserWarning) and text not in texts:
                    texts.append(text)
