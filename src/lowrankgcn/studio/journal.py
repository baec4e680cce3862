"""The journal of labels: JSON lines beside the table, which ``classify --labels`` reads.

>>> import tempfile
>>> with tempfile.TemporaryDirectory() as folder:
...     journal = Journal(Path(folder) / "iris.csv.labels.jsonl", "species", ["width"], 3)
...     journal.append([(0, "setosa"), (2, "setosa")])
...     journal.append([(2, None)])
...     print(journal.path.read_text(), end="")
...     journal.read()
{"row": 1, "species": "setosa"}
{"row": 3, "species": "setosa"}
{"row": 3, "species": null, "removed": true}
[(0, 'setosa'), (2, 'setosa'), (2, None)]
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import final

from lowrankgcn._validation import invalid

Change = tuple[int, str | None]  # a row and its new label, None to remove it


@final
class Journal:
    """An append-only file of labels.

    Parameters
    ----------
    path : path
    target : str
        Column of the classes.
    columns : names
        All columns of the table; the key of row numbers is not one of them.
    n_rows : int
    """

    def __init__(self, path: Path, target: str, columns: Collection[str], n_rows: int) -> None:
        if target == "removed":
            raise invalid("target", "a name other than 'removed', which journals use", "'removed'")
        self.path, self._target, self._n_rows = path, target, n_rows
        self._row = "row"
        while self._row in (target, *columns):
            self._row += "_"

    def read(self) -> list[Change]:
        """Return all changes in order.

        A last line without its end was never confirmed: the process was killed while it wrote the
        line. It is removed from the file.

        Raises
        ------
        ValueError
            If a line is not a label of a row; the message names it.
        """
        if not self.path.exists():
            return []
        data = self.path.read_bytes()
        complete = data[: data.rfind(b"\n") + 1]
        if len(complete) < len(data):
            os.truncate(self.path, len(complete))
        return [self._change(line, k) for k, line in enumerate(complete.split(b"\n")[:-1], 1)]

    def _change(self, line: bytes, number: int) -> Change:
        try:
            entry = json.loads(line)
            row, name = entry[self._row], entry[self._target]
        except (ValueError, KeyError, TypeError):
            row, name, entry = 0, None, {}
        label = bool(name.strip()) if isinstance(name, str) else entry.get("removed") is True
        if type(row) is int and 1 <= row <= self._n_rows and label:
            return row - 1, name
        expected = f"{self._row!r} from 1 to {self._n_rows} and a text {self._target!r}"
        advice = "correct the line, or move the file away to start anew"
        raise ValueError(f"{self.path}: line {number}: expected {expected}; {advice}")

    def append(self, changes: Iterable[Change]) -> None:
        """Write changes and wait until they are on the disk; nothing is written on failure."""
        lines = []
        for row, name in changes:
            entry = {self._row: row + 1, self._target: name}
            entry |= {"removed": True} if name is None else {}
            lines.append(json.dumps(entry, ensure_ascii=False) + "\n")
        with open(self.path, "ab") as file:
            before = file.tell()
            try:
                file.write("".join(lines).encode())
                file.flush()
                os.fsync(file.fileno())
            except OSError:  # a full disk
                os.truncate(self.path, before)
                raise
