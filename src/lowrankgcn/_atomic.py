"""Files that are there whole or not at all.

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
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["new_folder", "replacing", "write_bytes", "write_text"]


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A path beside `path` to write to; it takes the place of `path` when the block ends well.

    A run killed at any moment leaves the old file or the whole new one; an exception, Ctrl-C too,
    leaves the old one and nothing beside it.

    Raises
    ------
    OSError
        If the folder cannot be written to or is full; the old file is then untouched.
    """
    target = Path(os.path.realpath(path))  # a link stays a link
    if target.is_dir():
        raise IsADirectoryError(f"{path} is a folder")
    # In the same folder, because a rename is atomic only within one file system. Unlike tempfile's
    # 0600 the usual permissions hold, so that the file can be shared.
    beside = target.with_name(f".{target.name[:100]}.{secrets.token_hex(8)}")
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


def write_bytes(path: str | os.PathLike[str], data: bytes) -> None:
    """Put `data` in place of a file."""
    with replacing(path) as beside:
        beside.write_bytes(data)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Put `text`, in UTF-8 with plain newlines, in place of a file."""
    with replacing(path) as beside:
        beside.write_text(text, encoding="utf-8", newline="\n")


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
    beside = target.with_name(f".{target.name[:100]}.{secrets.token_hex(8)}")
    beside.mkdir()
    try:
        yield beside
        os.rename(beside, target)
    except BaseException:
        shutil.rmtree(beside, ignore_errors=True)
        raise
