"""The journal of labels: JSON lines beside the table, which ``classify --labels`` reads.

>>> import tempfile
>>> frame = pd.DataFrame({"width": ["0.2", "1.4", "2.0"], "species": [None] * 3})
>>> with tempfile.TemporaryDirectory() as folder:
...     journal = Journal(Path(folder) / "iris.csv.labels.jsonl", "species", frame)
...     journal.append(Step([(0, "setosa"), (2, "setosa")]))
...     journal.append(Step([(2, None)], marks=[Mark(2, "skipped", "true")]))
...     print(journal.path.read_text(), end="")
...     [step.changes for step in journal.read()]
{"row": 1, "species": "setosa", "cells": "36446ca6a5a2", "columns": "glUMNkRspqWi"}
{"row": 3, "species": "setosa", "cells": "7d3aa6f70b22", "columns": "glUMfTqm9wsi", "joined": true}
{"row": 3, "species": null, "cells": "7d3aa6f70b22", "columns": "glUMfTqm9wsi", "removed": true}
{"row": 3, "species": null, "skipped": true, "cells": "7d3aa6f70b22", ...
[[(0, 'setosa'), (2, 'setosa')], [(2, None)]]
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, Literal, NamedTuple, final

import pandas as pd

from lowrankgcn._format import listed
from lowrankgcn._validation import is_unicode
from lowrankgcn.exceptions import prefix_errors
from lowrankgcn.files.row_matching import RowMatcher, free_name

try:
    import fcntl
except ImportError:  # Windows: another writer is noticed when the file has grown
    fcntl = None  # type: ignore[assignment]

Kind = Literal["label", "undo", "redo"]
What = Literal["skipped", "accepted", "note"]
Change = tuple[int, str | None]  # a row and its new label, None to remove it
_KEYS = (
    *("row", "cells", "columns", "joined", "removed", "step", "audited", "settled"),
    *("skipped", "accepted", "note", "classes", "by", "time", "written", "digest"),
)
_LISTED = 5  # numbers of lines in a note


class Mark(NamedTuple):
    """What is known about a row beside its label; None takes it back.

    Attributes
    ----------
    row : int
    what : "skipped", "accepted" or "note"
        The row has no class that the user knows; its prediction was accepted as it is; a text.
    value : str or None
        "true", the accepted class, or the text.
    """

    row: int
    what: What
    value: str | None


class Step(NamedTuple):
    """Changes that are made, undone and redone together.

    Attributes
    ----------
    changes : list of (row, label)
    kind : "label", "undo" or "redo"
    audited : bool
        Whether the row was drawn at random, to measure the accuracy.
    marks : sequence of Mark
    classes : tuple of str or None
        All classes in their new order, if that changes.
    settled : bool
        Whether the labels decide between those of several people.
    by, time : str or None
        Who made the changes, and when (UTC).
    """

    changes: list[Change]
    kind: Kind = "label"
    audited: bool = False
    marks: Sequence[Mark] = ()
    classes: tuple[str, ...] | None = None
    settled: bool = False
    by: str | None = None
    time: str | None = None

    @property
    def rows(self) -> list[int]:
        """The rows of all changes and marks."""
        rows = [row for row, _ in self.changes] + [mark.row for mark in self.marks]
        return list(dict.fromkeys(rows))


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
    written : dict from str to str
        Names of the files that earlier studios wrote, and digests of their contents.
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
        self.path, self.notes, self.written = path, list[str](), dict[str, str]()
        self._target, self._n_rows = target, len(frame)
        self._rows = RowMatcher(frame, target, key=key, by_position=by_position)
        names = {target, *frame.columns}
        self._keys = {key: free_name(key, names) for key in _KEYS}
        self._file: BinaryIO | None = None
        self._end = 0  # of what this process has read and written

    def read(self) -> list[Step]:
        """Return all steps in order; no other studio can write from now on.

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
        data = file.read()
        last = data[data.rfind(b"\n") + 1 :]
        broken = self._is_broken(last)
        steps = self.parse(data)
        if broken:
            file.truncate(os.path.getsize(self.path) - len(last))
        elif last:  # some editors leave out the end of the last line
            file.write(b"\n")
        self._end = os.path.getsize(self.path)
        return steps

    def parse(self, data: bytes) -> list[Step]:
        """Return the steps of a journal, see :meth:`read`."""
        *lines, last = data.split(b"\n")
        lines += [] if self._is_broken(last) else [last]
        numbered = {k: self._entry(line) for k, line in enumerate(lines, 1) if line.strip()}
        entries = [entry for entry in numbered.values() if entry is not None]
        wrong = [k for k, entry in numbered.items() if entry is None]
        expected = f"{self._keys['row']!r} from 1 to {self._n_rows} and a text {self._target!r}"
        if wrong and not entries:
            advice = "correct the line, or move the file away to start anew"
            raise ValueError(f"{self.path}: line {wrong[0]}: expected {expected}; {advice}")
        of_rows = [entry for entry in entries if entry["row"] is not None]
        marks = ([entry[key] for entry in of_rows] for key in ("cells", "columns"))
        with prefix_errors(str(self.path)):
            places, notes = self._rows.find([entry["row"] - 1 for entry in of_rows], *marks)
        if wrong:
            notes.append(f"lines that are skipped, expected {expected}: {listed(wrong, _LISTED)}")
        self.notes = [f"{self.path.name}: {note}" for note in notes]
        steps, marked = list[Step](), list[list[Mark]]()
        following = iter(places)
        for entry in entries:
            if entry["written"] is not None:
                self.written[entry["written"]] = entry["digest"]
                continue
            if entry["joined"] is not True or not steps:
                steps.append(_begun(entry))
                marked.append([])
            if entry["row"] is None:
                steps[-1] = steps[-1]._replace(classes=tuple(entry["classes"]))
            elif (row := next(following)) is not None:
                if entry["what"] == "label":
                    steps[-1].changes.append((row, entry["name"]))
                else:
                    marked[-1].append(Mark(row, entry["what"], entry["name"]))
        complete = (step._replace(marks=tuple(m)) for step, m in zip(steps, marked, strict=True))
        return [one for one in complete if one.changes or one.marks or one.classes is not None]

    def _is_broken(self, last: bytes) -> bool:
        begins = [f'{{"{self._keys[key]}": '.encode() for key in ("row", "classes", "written")]
        starts = any(last.startswith(begin) or begin.startswith(last) for begin in begins)
        return self._entry(last) is None and starts

    def _entry(self, line: bytes) -> dict[str, Any] | None:
        """Return the values of a line by the usual names of their keys; None if it is no label."""
        with suppress(ValueError, KeyError, AttributeError, RecursionError):
            content = json.loads(line)
            entry = {key: content.get(name) for key, name in self._keys.items()}
            if isinstance(entry["written"], str):
                return entry | {"digest": str(entry["digest"])}
            if entry["row"] is None and isinstance(names := entry["classes"], list):
                valid = all(
                    isinstance(name, str) and name.strip() and name.encode() for name in names
                )
                return entry if valid and len(set(names)) == len(names) else None
            row, mark, name = entry["row"], entry["cells"], content[self._target]
            if not isinstance(entry["columns"], str | None):
                return None
            most = self._n_rows if mark is None else 2**53
            what = "label"
            for key in ("skipped", "accepted", "note"):
                if entry[key] is not None:
                    what, name = key, entry[key]
            if what == "skipped" and name is True:
                name = "true"
            if isinstance(name, str):
                valid = bool(name.strip()) and bool(name.encode())  # no half of a character
            else:
                valid = (
                    name is False if what != "label" else name is None and entry["removed"] is True
                )
                name = None
            if type(row) is int and 1 <= row <= most and valid and isinstance(mark, str | None):
                return entry | {"name": name, "what": what}
        return None

    def append(self, step: Step) -> None:
        """Write a step and wait until it is on the disk; nothing is written on failure."""
        about: dict[str, Any] = {
            "step": step.kind if step.kind != "label" else None,
            "audited": step.audited or None,
            "settled": step.settled or None,
            "by": step.by,
            "time": step.time,
        }
        lines = [] if step.classes is None else [{"classes": list(step.classes), **about}]
        entries = [*((row, "label", name) for row, name in step.changes), *step.marks]
        rows = [row for row, _, _ in entries]
        hashes = zip(self._rows.hashes(rows), self._rows.column_hashes(rows), strict=True)
        for (row, what, value), (cells, columns) in zip(entries, hashes, strict=True):
            line: dict[str, Any] = {"row": row + 1, "label": None}
            if what == "skipped":
                line[what] = value is not None
            else:
                line[what] = value or (None if what == "label" else False)
            line |= {"cells": cells, "columns": columns or None, "joined": bool(lines) or None}
            line["removed"] = (what == "label" and value is None) or None
            lines.append(line | about)
        keys = self._keys | {"label": self._target}
        self._write(
            [
                {keys[k]: value for k, value in line.items() if value is not None or k == "label"}
                for line in lines
            ]
        )

    def append_written(self, name: str, digest: str) -> None:
        """Remember a file that was written, so that a later studio may replace it."""
        self.written[name] = digest
        self._write([{self._keys["written"]: name, self._keys["digest"]: digest}])

    def _write(self, lines: list[dict[str, Any]]) -> None:
        texts = (json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
        data = bytearray("".join(texts).encode())
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


def _begun(entry: dict[str, Any]) -> Step:
    """Return an empty step with what its first line says about all of it."""
    kinds: dict[Any, Kind] = {"undo": "undo", "redo": "redo"}
    by, time = (
        text if isinstance(text := entry[key], str) and is_unicode(text) else None
        for key in ("by", "time")
    )
    return Step(
        [],
        kinds.get(str(entry["step"]), "label"),
        audited=entry["audited"] is True,
        settled=entry["settled"] is True,
        by=by,
        time=time,
    )
