"""Errors of users and files, reported in one line with exit code 2."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from glob import glob
from pathlib import Path
from typing import Any

import typer

from lowrankgcn._atomic import is_stream
from lowrankgcn.exceptions import EigensolverError, FastSumError

OVERWRITE = "name another file, or add --overwrite"


def option_error(option: str | None, message: str) -> typer.BadParameter:
    """Return an error about an option; the command prints it in one line and exits with code 2."""
    return typer.BadParameter(message, param_hint=option)


@contextmanager
def exit_on_user_error(option: str | None = None) -> Iterator[None]:
    """Report invalid input, unreadable files and lack of memory in one line, with exit code 2.

    Use it only around calls that check what the user gave: elsewhere a ValueError is a bug, whose
    traceback is wanted.
    """
    try:
        yield
    except OSError as error:
        name = "" if error.filename is None else f"{error.filename}: "
        message = f"{name}{error.strerror or error}"
        raise option_error(option, message) from None
    except (ValueError, EigensolverError, FastSumError) as error:
        raise option_error(option, str(error)) from None
    except MemoryError as error:
        raise option_error(option, f"not enough memory: {error}") from None


@contextmanager
def exit_on_write_error(path: str | os.PathLike[str], option: str = "--out") -> Iterator[None]:
    """Report a failure to write to `path` in one line, with exit code 2."""
    try:
        yield
    except BrokenPipeError:  # the reader closed the pipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        raise typer.Exit(0) from None
    except OSError as error:
        message = f"cannot write to {os.fspath(path)}: {error.strerror or error}"
        raise option_error(option, message) from None


def check_outputs(
    files: Mapping[str, Path | None],
    taken: Mapping[str, Path | None] | None = None,
    *,
    advice: str = "name another file",
) -> None:
    """Check before the work that files can be written, and overwrite nothing of the command.

    Parameters
    ----------
    files : mapping from option to path
        Outputs; None is skipped; "-", standard output, is allowed for ``--out`` only.
    taken : mapping from description to path
        Other files of the command; None and "-" are skipped.
    advice : str
        What to do if two files are the same.

    Raises
    ------
    typer.BadParameter
        If a path is a folder, its folder is missing or not writable, or two of the files are the
        same.
    """
    known = {os.path.realpath(path): name for name, path in (taken or {}).items() if path}
    for option, path in files.items():
        if path is None or (option == "--out" and str(path) == "-"):
            continue
        if str(path) == "-":
            raise option_error(option, "expected a file, got '-'")
        place, stream = os.path.realpath(path), is_stream(path)
        if not stream and (other := known.setdefault(place, option)) != option:
            raise option_error(option, f"{path} would overwrite {other}; {advice}")
        folder = os.path.dirname(place)
        with exit_on_write_error(path, option):
            if path.is_dir():
                raise IsADirectoryError(21, os.strerror(21))
            if not os.path.isdir(folder):
                raise FileNotFoundError(2, f"there is no folder {folder}")
            if not os.access(path if stream else folder, os.W_OK if stream else os.W_OK | os.X_OK):
                raise PermissionError(13, os.strerror(13))


def refuse(parameters: Mapping[str, Any], names: str, message: str) -> None:
    """Raise an error about the first of the named options that is in the command line."""
    for name in names.split():
        # Without the option, the parameter is None, or empty if it may be repeated.
        if parameters[name] not in (None, "auto", (), []) and parameters[name] is not False:
            raise option_error(f"--{name.rstrip('_')}", message)


def inputs(
    tables: Iterable[Path], labels: Iterable[Path] | None = None, edges: Path | None = None
) -> dict[str, Path | None]:
    """Return the files that a command reads, patterns expanded, by a description of each."""
    files = {"the table": tables, "--labels": labels or (), "--edges": [edges] if edges else ()}
    return {
        f"{name} {file}": Path(file)
        for name, paths in files.items()
        for path in paths
        for file in ([] if path.exists() else glob(str(path), recursive=True)) or [str(path)]
    }


def prepare_folder(folder: Path) -> None:
    """Make an output folder, and check that it is writable."""
    if folder.exists() and not folder.is_dir():
        raise option_error("--out", f"{folder} is a file, not a folder")
    with exit_on_write_error(folder):
        folder.mkdir(parents=True, exist_ok=True)
        if not os.access(folder, os.W_OK | os.X_OK):
            raise PermissionError(13, os.strerror(13))


@contextmanager
def collect_warnings() -> Iterator[list[str]]:
    """Collect the texts of UserWarnings, each once, instead of printing them."""
    texts: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            yield texts
        finally:
            for one in caught:
                text = " ".join(str(one.message).split())
                if issubclass(one.category, UserWarning) and text not in texts:
                    texts.append(text)
