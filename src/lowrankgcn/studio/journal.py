"""The journal of labels: JSON lines beside the table, which ``classify --labels`` reads.

>>> import tempfile
>>> frame = pd.DataFrame({"width": ["0.2", "1.4", "2.0"], "species": [None] * 3})
>>> with tempfile.TemporaryDirectory() as folder:
...     journal = Journal(Path(folder) / "iris.csv.labels.jsonl", "species", frame)
...     journal.append([(0, "setosa"), (2, "setosa")])
...     journal.append([(2, None)])
...     print(journal.path.read_text(), end="")
...     journal.read()
{"row": 1, "species": "setosa", "cells": "36446ca6a5a2"}
{"row": 3, "species": "setosa", "cells": "7d3aa6f70b22", "joined": true}
{"row": 3, "species": null, "cells": "7d3aa6f70b22", "removed": true}
[[(0, 'setosa'), (2, 'setosa')], [(2, None)]]
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, final

import pandas as pd

from lowrankgcn.files.row_matching import RowMatcher, free_name

try:
    import fcntl
except ImportError:  # Windows: another writer is noticed when the file has grown
    fcntl = None  # type: ignore[assignment]

Change = tuple[int, str | None]  # a row and its new label, None to remove it


@final
class Journal:
    """An append-only file of labels.

    Parameters
    ----------
    path : path
    target : str
        Column of the classes.
    frame : DataFrame
        The table. Keys of the journal are not names of its columns.

    Attributes
    ----------
    notes : list of str
        What the user should know about rows that were moved or changed since their label.
    """

    def __init__(self, path: Path, target: str, frame: pd.DataFrame) -> None:
        self.path, self.notes = path, list[str]()
        self._target, self._n_rows, self._rows = target, len(frame), RowMatcher(frame, target)
        names = {target, *frame.columns}
        keys = ("row", "cells", "joined", "removed")
        self._row, self._cells, self._joined, self._removed = (free_name(k, names) for k in keys)
        self._file: BinaryIO | None = None
        self._end = 0  # of what this process has read and written

    def read(self) -> list[list[Change]]:
        """Return all changes in order; rows that were labelled together are one list.

        A last line without its end was never confirmed: the process was killed while it wrote the
        line. It is removed from the file.

        Raises
        ------
        ValueError
            If a line is not a label of a row; the message names it. If another process writes to
            the file.
        """
        if not self.path.exists():
            return []
        file = self._open()
        file.seek(0)
        *lines, last = file.read().split(b"\n")
        entries = [self._entry(line, k) for k, line in enumerate(lines, 1) if line.strip()]
        try:
            if last:
                entries.append(self._entry(last, len(lines) + 1))
                file.write(b"\n")  # some editors leave it out
        except ValueError:
            begin = f'{{"{self._row}": '.encode()
            if not (last.startswith(begin) or begin.startswith(last)):
                raise
            file.truncate(os.path.getsize(self.path) - len(last))
        self._end = os.path.getsize(self.path)
        rows = [entry[self._row] - 1 for entry in entries]
        places, notes = self._rows.find(rows, [entry.get(self._cells) for entry in entries])
        self.notes = [f"{self.path.name}: {note}" for note in notes]
        changes: list[list[Change]] = []
        for row, entry in zip(places, entries, strict=True):
            if entry.get(self._joined) is not True or not changes:
                changes.append([])
            if row is not None:
                changes[-1].append((row, entry[self._target]))
        return [group for group in changes if group]

    def _entry(self, line: bytes, number: int) -> dict[str, Any]:
        with suppress(ValueError, KeyError, TypeError):
            entry: dict[str, Any] = json.loads(line)
            row, name, mark = entry[self._row], entry[self._target], entry.get(self._cells)
            labelled = name.strip() if isinstance(name, str) else entry.get(self._removed) is True
            most = self._n_rows if mark is None else 2**53
            if type(row) is int and 1 <= row <= most and labelled and isinstance(mark, str | None):
                return entry
        expected = f"{self._row!r} from 1 to {self._n_rows} and a text {self._target!r}"
        advice = "correct the line, or move the file away to start anew"
        raise ValueError(f"{self.path}: line {number}: expected {expected}; {advice}")

    def append(self, changes: Iterable[Change]) -> None:
        """Write changes and wait until they are on the disk; nothing is written on failure."""
        rows, names = zip(*changes, strict=True)
        data = bytearray()
        for row, name, mark in zip(rows, names, self._rows.hashes(rows), strict=True):
            entry = {self._row: row + 1, self._target: name, self._cells: mark}
            entry |= {self._joined: True} if data else {}
            entry |= {self._removed: True} if name is None else {}
            data += json.dumps(entry, ensure_ascii=False).encode() + b"\n"
        if self._file is not None and not self.path.exists():
            # Somebody has deleted the journal: what it contained can still be read.
            self._file.seek(0)
            data[:0] = self._file.read()
            self.close()
        file = self._open()
        before = os.path.getsize(self.path)
        same = os.path.samestat(os.fstat(file.fileno()), os.stat(self.path))
        if before != self._end or not same:  # an editor may put another file in its place
            message = "was changed by another program; restart the studio to read it"
            raise OSError(f"{self.path.name} {message}. This label is not saved.")
        try:
            while data:
                data = data[file.write(data) :]
            os.fsync(file.fileno())
            self._end = os.path.getsize(self.path)
        except OSError:  # a full disk
            file.truncate(before)
            raise

    def _open(self) -> BinaryIO:
        """Return the file, which no other studio has open."""
        if self._file is None:
            file = open(self.path, "a+b", buffering=0)
            try:
                if fcntl is not None:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                file.close()
                advice = "label there, or end it and start this one again"
                raise ValueError(
                    f"{self.path}: another studio has this table open; {advice}"
                ) from None
            except OSError:
                pass  # some file systems have no locks
            self._file = file
        return self._file

    def __del__(self) -> None:
        """Let others write to the file when this object is no longer used."""
        self.close()

    def close(self) -> None:
        """Let others write to the file."""
        if self._file is not None:
            self._file.close()
        self._file, self._end = None, 0
