"""Atomic file writes.

>>> import tempfile
>>> with tempfile.TemporaryDirectory() as folder:
...     path = Path(folder) / "note.txt"
...     with replacing(path) as beside:
...         _ = beside.write_text("all of it")
...     path.read_text()
'all of it'
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["is_stream", "new_folder", "replacing", "write_bytes", "write_text"]


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A path beside `path` to write to; it takes the place of `path` when the block ends well.

    A run killed at any moment leaves the old file or the whole new one; an exception, Ctrl-C too,
    leaves the old one and nothing beside it. A device or a pipe is written to, not replaced.

    Raises
    ------
    OSError
        If the folder cannot be written to or is full; the old file is then untouched.
    """
    target = Path(os.path.realpath(path))  # a link stays a link
    if target.is_dir():
        raise IsADirectoryError(f"{path} is a folder")
    if is_stream(path):
        with tempfile.TemporaryDirectory() as folder:
            beside = Path(folder) / "file"
            yield beside
            with open(beside, "rb") as source, open(path, "wb") as stream:
                shutil.copyfileobj(source, stream)
        return
    # In the same folder, because a rename is atomic only within one file system. Unlike tempfile's
    # 0600 the usual permissions hold, so that the file can be shared.
    beside = _beside(target)
    try:
        yield beside
        with open(beside, "rb+") as file:
            os.fsync(file.fileno())
        if target.exists():
            shutil.copymode(target, beside)
        os.replace(beside, target)
    except BaseException:
        with contextlib.suppress(OSError):
            beside.unlink(missing_ok=True)
        raise


def is_stream(path: str | os.PathLike[str]) -> bool:
    """Whether a path is a device, a pipe or a socket, which nothing can take the place of."""
    return os.path.exists(path) and not (os.path.isfile(path) or os.path.isdir(path))


def _beside(target: Path) -> Path:
    # A part of the name, as names have at most 255 bytes and letters up to four.
    return target.with_name(f".{target.name[:50]}.{secrets.token_hex(8)}")


def write_bytes(path: str | os.PathLike[str], data: bytes) -> None:
    """Put `data` in place of a file."""
    with replacing(path) as beside:
        beside.write_bytes(data)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Put `text`, in UTF-8 with plain newlines, in place of a file.

    Bytes of a file's name that are no text are escaped.
    """
    with replacing(path) as beside:
        beside.write_text(text, encoding="utf-8", errors="backslashreplace", newline="\n")


@contextmanager
def new_folder(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A folder to write to, which gets the name `path` when the block ends well.

    Until then it has a name with a dot before and a mark behind; an exception, Ctrl-C too, removes
    it with all that is in it.

    Raises
    ------
    OSError
        If there is something of that name already, or the folder cannot be made.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as there:
    ...     with new_folder(Path(there) / "parts") as beside:
    ...         _ = (beside / "first.txt").write_text("one")
    ...     [file.name for file in (Path(there) / "parts").iterdir()]
    ['first.txt']
    """
    target = Path(os.path.abspath(path))
    if target.exists() or target.is_symlink():
        raise FileExistsError(17, os.strerror(17), os.fspath(path))
    beside = _beside(target)
    beside.mkdir()
    try:
        yield beside
        os.rename(beside, target)
    except BaseException:
        shutil.rmtree(beside, ignore_errors=True)
        raise
