"""Atomic file writes.

>>> import tempfile
>>> with tempfile.TemporaryDirectory() as folder:
...     path = Path(folder) / "note.txt"
...     with replacing(path) as temporary:
...         _ = temporary.write_text("all of it")
...     path.read_text()
'all of it'
"""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
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
    target.parent.stat()  # raises an error that names a missing folder
    if is_stream(path):
        with tempfile.TemporaryDirectory() as folder:
            temporary = Path(folder) / "file"
            yield temporary
            with open(temporary, "rb") as source, open(path, "wb") as stream:
                shutil.copyfileobj(source, stream)
        return
    # A rename is atomic only within one file system, hence the same folder. Unlike tempfile's 0600
    # the file gets the usual permissions.
    temporary = _temporary_path(target)
    try:
        yield temporary
        with open(temporary, "rb+") as file:
            os.fsync(file.fileno())
        if target.exists():
            shutil.copymode(target, temporary)
        os.replace(temporary, target)
    except BaseException:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise


def is_stream(path: str | os.PathLike[str]) -> bool:
    """Return whether a path is a device, a pipe or a socket, which cannot be replaced."""
    return os.path.exists(path) and not (os.path.isfile(path) or os.path.isdir(path))


def _temporary_path(target: Path) -> Path:
    # Names have at most 255 bytes, and a character up to four.
    return target.with_name(f".{target.name[:50]}.{secrets.token_hex(8)}")


def write_bytes(path: str | os.PathLike[str], data: bytes) -> None:
    """Write `data` to a file atomically."""
    with replacing(path) as temporary:
        temporary.write_bytes(data)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write `text` to a file atomically, in UTF-8 with plain newlines.

    Undecodable bytes, such as those of a file name, are escaped.
    """
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8", errors="backslashreplace", newline="\n")


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
    ...     with new_folder(Path(there) / "parts") as temporary:
    ...         _ = (temporary / "first.txt").write_text("one")
    ...     [file.name for file in (Path(there) / "parts").iterdir()]
    ['first.txt']
    """
    target = Path(os.path.abspath(path))
    if os.path.lexists(target):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), os.fspath(path))
    temporary = _temporary_path(target)
    temporary.mkdir()
    try:
        yield temporary
        os.rename(temporary, target)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
