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


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary path in the same folder, renamed to `path` when the block succeeds.

    A process killed at any moment leaves either the old file or the complete new one. An exception,
    including Ctrl-C, keeps the old file and removes the temporary one. Devices and pipes are
    written to, not replaced.

    Raises
    ------
    OSError
        If the folder is not writable or full; the old file stays unchanged.
    """
    target = Path(os.path.realpath(path))  # keeps a symbolic link
    if target.is_dir():
        raise IsADirectoryError(f"{path} is a folder")
    if is_stream(path):
        with tempfile.TemporaryDirectory() as folder:
            beside = Path(folder) / "file"
            yield beside
            with open(beside, "rb") as source, open(path, "wb") as stream:
                shutil.copyfileobj(source, stream)
        return
    # A rename is atomic only within one file system, hence the same folder. Unlike tempfile's 0600
    # the file gets the usual permissions.
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
    """Return whether a path is a device, a pipe or a socket, which cannot be replaced."""
    return os.path.exists(path) and not (os.path.isfile(path) or os.path.isdir(path))


def _beside(target: Path) -> Path:
    # Names have at most 255 bytes, and a character up to four.
    return target.with_name(f".{target.name[:50]}.{secrets.token_hex(8)}")


def write_bytes(path: str | os.PathLike[str], data: bytes) -> None:
    """Write `data` to a file atomically."""
    with replacing(path) as beside:
        beside.write_bytes(data)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write `text` to a file atomically, in UTF-8 with plain newlines.

    Undecodable bytes, such as those of a file name, are escaped.
    """
    with replacing(path) as beside:
        beside.write_text(text, encoding="utf-8", errors="backslashreplace", newline="\n")


@contextmanager
def new_folder(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary folder that is renamed to `path` when the block succeeds.

    An exception, including Ctrl-C, removes the folder and its contents.

    Raises
    ------
    OSError
        If `path` exists already, or the folder cannot be created.

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
