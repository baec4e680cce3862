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
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary path in the same folder, renamed to `path` when the block succeeds.

    A process killed at any moment leaves either the old file or the complete new one. An exception,
    including Ctrl-C, keeps the old file and removes the temporary one. On Linux the temporary file
    has no name until it is complete, so that a killed process does not leave it either. Devices and
    pipes are written to, not replaced.

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
    # Unlike tempfile's 0600 the file gets the usual permissions.
    if (file := _unnamed_file(target.parent)) is not None:
        try:
            yield Path(f"/proc/self/fd/{file}")
            if not os.fstat(file).st_size:
                raise FileNotFoundError(errno.ENOENT, "nothing was written", os.fspath(path))
            os.fsync(file)
            if target.exists():
                os.fchmod(file, stat.S_IMODE(target.stat().st_mode))
            _link(file, target)
        finally:
            os.close(file)
        return
    # A rename is atomic only within one file system, hence the same folder.
    temporary = _temporary_path(target)
    try:
        yield temporary
        with open(temporary, "rb+") as written:
            os.fsync(written.fileno())
        if target.exists():
            shutil.copymode(target, temporary)
        os.replace(temporary, target)
    except BaseException:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise


def _unnamed_file(folder: Path) -> int | None:
    """Open a new file without a name, of which nothing is left if the process is killed.

    None where the system has no such files.
    """
    if not (hasattr(os, "O_TMPFILE") and os.path.isdir("/proc/self/fd")):
        return None
    try:
        return os.open(folder, os.O_TMPFILE | os.O_RDWR, 0o666)
    except OSError as error:
        if error.errno in (errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL):  # of the file system
            return None
        raise


def _link(file: int, target: Path) -> None:
    """Give an unnamed file the name of `target`, which is replaced."""
    temporary = _temporary_path(target)
    # With a folder's descriptor, Python asks to follow the link in /proc.
    folder = os.open(target.parent, os.O_PATH)
    try:
        os.link(f"/proc/self/fd/{file}", temporary, src_dir_fd=folder, follow_symlinks=True)
        os.replace(temporary, target)
    except BaseException:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise
    finally:
        os.close(folder)


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
