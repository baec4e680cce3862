"""Rows of a table, found again by their cells after the table was sorted or edited.

>>> table = pd.DataFrame({"width": ["0.2", "1.40", "2.0"], "species": [None] * 3})
>>> hashes = RowMatcher(table, "species").hashes([0, 2])
>>> hashes
['36446ca6a5a2', '7d3aa6f70b22']
>>> RowMatcher(table[::-1], "species").find([0, 2], hashes)
([2, 0], ['labels that moved with their rows: 2'])
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from hashlib import blake2b
from typing import Any, final

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

_ADVICE = "if this is another table, move the file away"


def free_name(name: str, columns: Collection[str]) -> str:
    """Return a name that no column has."""
    while name in columns:
        name += "_"
    return name


@final
class RowMatcher:
    """The rows of a table, recognised by hashes of their cells.

    Parameters
    ----------
    frame : DataFrame
    target : str
        Column that may change.
    """

    def __init__(self, frame: pd.DataFrame, target: str) -> None:
        names = sorted(name for name in frame.columns if name != target)
        cells = frame.reindex(columns=names or [""])  # without columns, Arrow has no rows
        self._cells = pa.Table.from_pandas(cells, preserve_index=False)

    def hashes(self, rows: Sequence[int]) -> list[str]:
        """Return hashes of the cells of rows; 5 and 5.0 are the same number."""
        return _hashes(self._cells.take(pa.array(rows, pa.int64())))

    def find(
        self, rows: Sequence[int], hashes: Sequence[str | None]
    ) -> tuple[list[int | None], list[str]]:
        """Find rows again.

        Parameters
        ----------
        rows : sequence of int
            Where the rows were.
        hashes : sequence of str or None
            Their hashes; None if they are not known.

        Returns
        -------
        rows : list of int or None
            Where they are; None if they were deleted.
        notes : list of str
            What the user should know.
        """
        n = self._cells.num_rows
        existing = sorted({row for row in rows if row < n})
        hash_now = dict(zip(existing, self.hashes(existing), strict=True))
        entries = dict.fromkeys(zip(rows, hashes, strict=True))
        lost = [(row, mark) for row, mark in entries if mark and hash_now.get(row) != mark]
        if not lost:
            return list(rows), []
        unmoved = {row for row, mark in entries if hash_now.get(row) == mark}
        wanted, candidates = {mark for _, mark in lost}, defaultdict(list)
        for row, mark in enumerate(_hashes(self._cells)):
            if mark in wanted and row not in unmoved:
                candidates[mark].append(row)
        moved = {entry: candidates[entry[1]].pop(0) for entry in lost if candidates[entry[1]]}
        # If no row has moved, cells were edited in place. Otherwise the other rows were deleted.
        rest = {entry: None if moved or entry[0] >= n else entry[0] for entry in lost}
        place: dict[Any, int | None] = {**rest, **moved}
        deleted = sum(row is None for row in place.values())
        edited = 0 if moved else len({row for row, _ in lost if row < n} - unmoved)
        counts = {
            "labels that moved with their rows": len(moved),
            "labels that are left out because their rows are gone": deleted,
            f"labels of rows whose cells have changed since ({_ADVICE})": edited,
        }
        notes = [f"{text}: {count}" for text, count in counts.items() if count]
        return [place.get(entry, entry[0]) for entry in zip(rows, hashes, strict=True)], notes


def _hashes(cells: pa.Table) -> list[str]:
    """Return a hash of each row. Journals contain these hashes, so they must not change."""
    texts = [_texts(column.combine_chunks()) for column in cells.columns]
    rows = pc.binary_join_element_wise(*texts, pa.scalar("\x1f", pa.large_string())).to_pylist()
    return [blake2b(row.encode(), digest_size=6).hexdigest() for row in rows]


def _texts(column: Any) -> pa.Array:
    """Return the cells of a column as texts; each distinct cell is read once."""
    if pa.types.is_nested(column.type):
        return pa.array(map(_text, column.to_pylist()), pa.large_string())
    coded = column.dictionary_encode()
    texts = pa.array(map(_text, coded.dictionary.to_pylist()), pa.large_string())
    return texts.take(coded.indices).fill_null("")


def _text(cell: Any) -> str:
    """Return a cell as text; a spreadsheet may write numbers differently."""
    if cell is None:
        return ""
    try:
        number = float(cell)
        return repr(number) if number == number else ""
    except (TypeError, ValueError, OverflowError):
        return str(cell).strip().encode(errors="replace").decode()
