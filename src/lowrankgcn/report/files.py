"""Files that are there whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["write_atomically"]


def write_atomically(path: Path, text: str) -> None:
    """Write a file in UTF-8 so that a killed run leaves the old file or the whole new one.

    Raises
    ------
    OSError
        If the folder cannot be written to or is full; the old file is then untouched.
    """
    # In the same folder, because a rename is atomic only within one file system. Unlike tempfile's
    # 0600 the usual permissions hold, so that the file can be shared.
    beside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with beside.open("x", encoding="utf-8", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
    except BaseException:  # Ctrl-C too must not leave the half-written file behind
        beside.unlink(missing_ok=True)
        raise
