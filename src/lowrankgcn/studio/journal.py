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
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import Any, BinaryIO, final

import numpy as np
import pandas as pd
import pyarrow as pa

try:
    import fcntl
except ImportError:  # Windows: another writer is noticed when the file has grown
    fcntl = None  # type: ignore[assignment]

_ADVICE = "if this is another table, move the file away"
Change = tuple[int, str | None]  # a row and its new label, None to remove it


def free_name(name: str, columns: Collection[str]) -> str:
    """Return a name that no column has."""
    while name in columns:
        name += "_"
    return name


@final
class Rows:
    """The rows of a table, recognised by their cells.

    Parameters
    ----------
    frame : DataFrame
    target : str
        Column that may change.
    """

    def __init__(self, frame: pd.DataFrame, target: str) -> None:
        names = sorted(name for name in frame.columns if name != target)
        cells = frame.reindex(columns=names or [""])  # without columns, Arrow has no rows
        table = pa.Table.from_pandas(cells, preserve_index=False)
        self._batches = table.to_batches()  # taking rows of a table in pieces would copy it
        self._starts = np.cumsum([0, *(batch.num_rows for batch in self._batches)])

    def marks(self, rows: Sequence[int]) -> list[str]:
        """Return hashes of the cells of rows; 5 and 5.0 are the same number."""
        wanted = np.asarray(rows, np.int64)
        places = np.searchsorted(self._starts, wanted, side="right") - 1
        found = np.empty(len(wanted), object)
        for k in np.unique(places):
            own = np.flatnonzero(places == k)
            part = self._batches[k].take(pa.array(wanted[own] - self._starts[k]))
            columns = [[_plain(cell) for cell in column.to_pylist()] for column in part.columns]
            texts = ("\x1f".join(cells).encode() for cells in zip(*columns, strict=True))
            found[own] = [blake2b(text, digest_size=6).hexdigest() for text in texts]
        return found.tolist()

    def find(
        self, rows: Sequence[int], marks: Sequence[str | None]
    ) -> tuple[list[int | None], list[str]]:
        """Find labelled rows again in a table that may have been sorted or edited.

        Parameters
        ----------
        rows : sequence of int
            Where the rows were.
        marks : sequence of str or None
            Their hashes; None in journals of older versions.

        Returns
        -------
        rows : list of int or None
            Where they are; None if they were deleted.
        notes : list of str
            What the user should know.
        """
        n = int(self._starts[-1])
        known = sorted({row for row in rows if row < n})
        here = dict(zip(known, self.marks(known), strict=True))
        pairs = dict.fromkeys(zip(rows, marks, strict=True))
        lost = [(row, mark) for row, mark in pairs if mark and here.get(row) != mark]
        if not lost:
            return list(rows), []
        kept = {row for row, mark in pairs if here.get(row) == mark}
        wanted, places = {mark for _, mark in lost}, defaultdict(list)
        for row, mark in enumerate(self.marks(range(n))):
            if mark in wanted and row not in kept:
                places[mark].append(row)
        found = {pair: places[pair[1]].pop(0) for pair in lost if places[pair[1]]}
        stay = {pair: None if found or pair[0] >= n else pair[0] for pair in lost}
        at: dict[Any, int | None] = {**stay, **found}
        gone = sum(row is None for row in at.values())
        changed = 0 if found else len({row for row, _ in lost if row < n} - kept)
        notes = [
            f"{text}: {count}"
            for text, count in (
                ("labels that moved with their rows", len(found)),
                ("labels that are left out because their rows are gone", gone),
                (f"labels of rows whose cells have changed since ({_ADVICE})", changed),
            )
            if count
        ]
        return [at.get(pair, pair[0]) for pair in zip(rows, marks, strict=True)], notes


def _plain(cell: Any) -> str:
    """Return a cell as text; a spreadsheet may write numbers differently."""
    if cell is None:
        return ""
    try:
        number = float(cell)
        return repr(number) if number == number else ""
    except (TypeError, ValueError, OverflowError):
        return str(cell).strip().encode(errors="replace").decode()


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
        self._target, self._n_rows, self._rows = target, len(frame), Rows(frame, target)
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
        lines = file.read().split(b"\n")
        entries = [self._entry(line, k) for k, line in enumerate(lines[:-1], 1) if line.strip()]
        if lines[-1]:
            entries += self._last(file, lines[-1], len(lines))
        self._end = os.path.getsize(self.path)
        rows = [entry[self._row] - 1 for entry in entries]
        found, notes = self._rows.find(rows, [entry.get(self._cells) for entry in entries])
        self.notes = [f"{self.path.name}: {note}" for note in notes]
        changes: list[list[Change]] = []
        for row, entry in zip(found, entries, strict=True):
            if entry.get(self._joined) is not True or not changes:
                changes.append([])
            if row is not None:
                changes[-1].append((row, entry[self._target]))
        return [group for group in changes if group]

    def _last(self, file: BinaryIO, line: bytes, number: int) -> list[dict[str, Any]]:
        """Complete a last line without its end, or remove it."""
        try:
            entry = [self._entry(line, number)]
            file.write(b"\n")  # some editors leave it out
        except ValueError:
            begin = f'{{"{self._row}": '.encode()
            if not (line.startswith(begin) or begin.startswith(line)):
                raise
            file.truncate(os.path.getsize(self.path) - len(line))
            entry = []
        return entry

    def _entry(self, line: bytes, number: int) -> dict[str, Any]:
        with suppress(ValueError, KeyError, TypeError):
            entry: dict[str, Any] = json.loads(line)
            row, name, mark = entry[self._row], entry[self._target], entry.get(self._cells)
            label = (
                bool(name.strip()) if isinstance(name, str) else entry.get(self._removed) is True
            )
            most = self._n_rows if mark is None else 2**53
            if type(row) is int and 1 <= row <= most and label and isinstance(mark, str | None):
                return entry
        expected = f"{self._row!r} from 1 to {self._n_rows} and a text {self._target!r}"
        advice = "correct the line, or move the file away to start anew"
        raise ValueError(f"{self.path}: line {number}: expected {expected}; {advice}")

    def append(self, changes: Iterable[Change]) -> None:
        """Write changes and wait until they are on the disk; nothing is written on failure."""
        changes = list(changes)
        lines: list[str] = []
        for (row, name), mark in zip(
            changes, self._rows.marks([r for r, _ in changes]), strict=True
        ):
            entry = {self._row: row + 1, self._target: name, self._cells: mark}
            entry |= {self._joined: True} if lines else {}
            entry |= {self._removed: True} if name is None else {}
            lines.append(json.dumps(entry, ensure_ascii=False) + "\n")
        data = "".join(lines).encode()
        if self._file is not None and not self.path.exists():
            # Somebody has deleted the journal: what it contained can still be read.
            self._file.seek(0)
            data = self._file.read() + data
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
