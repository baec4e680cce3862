"""The journal of labels: JSON lines beside the table, which ``classify --labels`` reads.

>>> import tempfile
>>> frame = pd.DataFrame({"width": ["0.2", "1.4", "2.0"], "species": [None] * 3})
>>> with tempfile.TemporaryDirectory() as folder:
...     journal = Journal(Path(folder) / "iris.csv.labels.jsonl", "species", frame)
...     journal.append(Step([(0, "setosa"), (2, "setosa")]))
...     journal.append(Step([(2, None)]))
...     print(journal.path.read_text(), end="")
...     [step.changes for step in journal.read()]
{"row": 1, "species": "setosa", "cells": "36446ca6a5a2", "columns": "glUMNkRspqWi"}
{"row": 3, "species": "setosa", "cells": "7d3aa6f70b22", "columns": "glUMfTqm9wsi", "joined": true}
{"row": 3, "species": null, "cells": "7d3aa6f70b22", "columns": "glUMfTqm9wsi", "removed": true}
[[(0, 'setosa'), (2, 'setosa')], [(2, None)]]
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, Literal, NamedTuple, final

import pandas as pd

from lowrankgcn.exceptions import prefix_errors
from lowrankgcn.files.row_matching import RowMatcher, free_name

try:
    import fcntl
except ImportError:  # Windows: another writer is noticed when the file has grown
    fcntl = None  # type: ignore[assignment]

Kind = Literal["label", "undo", "redo"]
Change = tuple[int, str | None]  # a row and its new label, None to remove it
_LISTED = 5  # numbers of lines in a note


class Step(NamedTuple):
    """Changes that are made, undone and redone together.

    Attributes
    ----------
    changes : list of (row, label)
    kind : "label", "undo" or "redo"
    audited : bool
        Whether the row was drawn at random, to measure the accuracy.
    """

    changes: list[Change]
    kind: Kind = "label"
    audited: bool = False


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
    key, by_position
        How rows are found again, see :class:`RowMatcher`.

    Attributes
    ----------
    notes : list of str
        What the user should know: lines that were skipped, rows that were moved or changed since.
    """

    def __init__(
        self,
        path: Path,
        target: str,
        frame: pd.DataFrame,
        *,
        key: str | None = None,
        by_position: bool = False,
    ) -> None:
        self.path, self.notes = path, list[str]()
        self._target, self._n_rows = target, len(frame)
        self._rows = RowMatcher(frame, target, key=key, by_position=by_position)
        names = {target, *frame.columns}
        keys = ("row", "cells", "columns", "joined", "removed", "step", "audited")
        self._keys = {key: free_name(key, names) for key in keys}
        self._file: BinaryIO | None = None
        self._end = 0  # of what this process has read and written

    def read(self) -> list[Step]:
        """Return all steps in order.

        A last line without its end was never confirmed: the process was killed while it wrote the
        line. It is removed from the file. Other lines that are not labels are kept and skipped.

        Raises
        ------
        ValueError
            If no line is a label of a row; the message names the first. If labels do not match the
            rows, or another process writes to the file.
        """
        if not self.path.exists():
            return []
        file = self._open()
        file.seek(0)
        *lines, last = file.read().split(b"\n")
        begin = f'{{"{self._keys["row"]}": '.encode()
        broken = self._entry(last) is None and (last.startswith(begin) or begin.startswith(last))
        lines += [] if broken else [last]
        numbered = {k: self._entry(line) for k, line in enumerate(lines, 1) if line.strip()}
        entries = [entry for entry in numbered.values() if entry is not None]
        wrong = [k for k, entry in numbered.items() if entry is None]
        expected = f"{self._keys['row']!r} from 1 to {self._n_rows} and a text {self._target!r}"
        if wrong and not entries:
            advice = "correct the line, or move the file away to start anew"
            raise ValueError(f"{self.path}: line {wrong[0]}: expected {expected}; {advice}")
        if broken:
            file.truncate(os.path.getsize(self.path) - len(last))
        else:  # some editors leave out the end of the last line
            file.write(b"\n")
        self._end = os.path.getsize(self.path)
        rows = [entry["row"] - 1 for entry in entries]
        marks = ([entry[key] for entry in entries] for key in ("cells", "columns"))
        with prefix_errors(str(self.path)):
            places, notes = self._rows.find(rows, *marks)
        if wrong:
            listed = ", ".join(map(str, wrong[:_LISTED])) + (", …" if len(wrong) > _LISTED else "")
            notes.append(f"lines that are skipped, expected {expected}: {listed}")
        self.notes = [f"{self.path.name}: {note}" for note in notes]
        steps: list[Step] = []
        for row, entry in zip(places, entries, strict=True):
            if entry["joined"] is not True or not steps:
                kinds: dict[Any, Kind] = {"undo": "undo", "redo": "redo"}
                kind = kinds.get(str(entry["step"]), "label")
                steps.append(Step([], kind, entry["audited"] is True))
            if row is not None:
                steps[-1].changes.append((row, entry["name"]))
        return [step for step in steps if step.changes]

    def _entry(self, line: bytes) -> dict[str, Any] | None:
        """Return the values of a line by the usual names of their keys; None if it is no label."""
        with suppress(ValueError, KeyError, AttributeError, RecursionError):
            content = json.loads(line)
            entry = {key: content.get(name) for key, name in self._keys.items()}
            row, mark, name = entry["row"], entry["cells"], content[self._target]
            if not isinstance(entry["columns"], str | None):
                return None
            most = self._n_rows if mark is None else 2**53
            if isinstance(name, str):
                labelled = bool(name.strip()) and bool(name.encode())  # no half of a character
            else:
                labelled = name is None and entry["removed"] is True
            if type(row) is int and 1 <= row <= most and labelled and isinstance(mark, str | None):
                return entry | {"name": name}
        return None

    def append(self, step: Step) -> None:
        """Write a step and wait until it is on the disk; nothing is written on failure."""
        rows, names = zip(*step.changes, strict=True)
        data = bytearray()
        marks = zip(self._rows.hashes(rows), self._rows.column_hashes(rows), strict=True)
        for row, name, (cells, columns) in zip(rows, names, marks, strict=True):
            flags: dict[str, Any] = {
                "columns": columns,
                "joined": bool(data),
                "removed": name is None,
                "step": step.kind != "label" and step.kind,
                "audited": step.audited,
            }
            entry = {self._keys["row"]: row + 1, self._target: name, self._keys["cells"]: cells}
            entry |= {self._keys[key]: value for key, value in flags.items() if value}
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
