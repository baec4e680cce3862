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

__all__ = ["replacing", "write_bytes", "write_text"]


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
