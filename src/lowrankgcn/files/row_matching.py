"""Rows of a table, found again by their cells after the table was sorted or edited.

>>> table = pd.DataFrame({"width": ["0.2", "1.40", "2.0"], "species": [None] * 3})
>>> matcher = RowMatcher(table, "species")
>>> hashes = matcher.hashes([0, 2])
>>> hashes
['36446ca6a5a2', '7d3aa6f70b22']
>>> RowMatcher(table[::-1], "species").find([0, 2], hashes)
([2, 0], ['labels that moved with their rows: 2'])

Rows of a table with other columns are found by the cells of the columns that both have.

>>> other = table[::-1].assign(colour=["red", "blue", "red"])
>>> RowMatcher(other, "species").find([0, 2], hashes, matcher.column_hashes([0, 2]))
([2, 0], ['labels that moved with their rows: 2'])
"""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections import defaultdict
from collections.abc import Collection, Sequence
from functools import cached_property
from hashlib import blake2b
from typing import Any, final

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from lowrankgcn._format import listed

_ADVICE = "if this is another table, move the file away"
_WAYS_OUT = (
    "--key COLUMN names a column that identifies the rows, --by-position keeps row numbers, or "
    "move the file away"
)
_NAME, _CELL = 4, 8  # characters of the hash of a column's name, and of a cell
_LISTED = 3  # columns in an error
_MOST_COLUMNS = 24  # in the hashes of a row
_CHANCE = 1e-3  # probability of labels that seem to be in place by chance

Entry = tuple[int, str | None, str | None]  # row, hash and hashes of columns


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
    key : str, optional
        Column that identifies the rows.
    by_position : bool
        Whether rows are where they were, whatever their cells.
    """

    def __init__(
        self,
        frame: pd.DataFrame,
        target: str,
        *,
        key: str | None = None,
        by_position: bool = False,
    ) -> None:
        names = sorted(name for name in frame.columns if name != target)
        cells = frame.reindex(columns=names or [""])  # without columns, Arrow has no rows
        self._cells = pa.Table.from_pandas(cells, preserve_index=False)
        self._names = {_short_hash(name, _NAME): name for name in names}
        self._key, self._by_position = key, by_position
        if key is not None and key not in names:
            raise ValueError(f"--key: expected a column of the table, got {key!r}")

    def hashes(self, rows: Sequence[int]) -> list[str]:
        """Return hashes of the cells of rows; 5 and 5.0 are the same number."""
        return _hashes(self._cells.take(pa.array(rows, pa.int64())))

    def column_hashes(self, rows: Sequence[int]) -> list[str]:
        """Return hashes of the single cells of rows, each after a hash of the column's name."""
        cells = self._cells.take(pa.array(rows, pa.int64()))
        parts = [
            [code + cell for cell in _cell_hashes(cells[self._names[code]]).to_pylist()]
            for code in self._stored
        ]
        return ["".join(row) for row in zip(*parts, strict=True)] if parts else [""] * len(rows)

    @cached_property
    def _stored(self) -> list[str]:
        """Hashes of the names of the columns that identify rows best."""
        codes = list(self._names)
        if len(codes) > _MOST_COLUMNS:
            counts = {code: pc.count_distinct(self._cells[self._names[code]]) for code in codes}
            codes.sort(key=lambda code: (self._names[code] != self._key, -counts[code].as_py()))
        return codes[:_MOST_COLUMNS]

    def find(
        self,
        rows: Sequence[int],
        hashes: Sequence[str | None],
        column_hashes: Sequence[str | None] | None = None,
    ) -> tuple[list[int | None], list[str]]:
        """Find rows again.

        Parameters
        ----------
        rows : sequence of int
            Where the rows were.
        hashes : sequence of str or None
            Their hashes; None if they are not known.
        column_hashes : sequence of str or None, optional
            Hashes of their single cells.

        Returns
        -------
        rows : list of int or None
            Where they are; None if they were deleted.
        notes : list of str
            What the user should know.

        Raises
        ------
        ValueError
            If the cells do not say which rows they are.
        """
        n = self._cells.num_rows
        entries: list[Entry] = list(
            zip(rows, hashes, column_hashes or [None] * len(rows), strict=True)
        )
        if self._by_position:
            places = [row if row < n else None for row in rows]
            return places, _notes(deleted=len({row for row in rows if row >= n}))
        existing = sorted({row for row in rows if row < n})
        hash_now = dict(zip(existing, self.hashes(existing), strict=True))
        marked = [entry for entry in dict.fromkeys(entries) if entry[1] is not None]
        lost, place = marked, dict[Entry, int | None]()
        if self._key is None:
            lost = [entry for entry in marked if hash_now.get(entry[0]) != entry[1]]
            place |= self._moved(
                lost, {row for row, mark, _ in marked if hash_now.get(row) == mark}
            )
            others = [entry for entry in lost if entry not in place]
            if len(others) < len(marked):  # otherwise some columns are new, gone or rewritten
                others = [entry for entry in others if self._has_other_columns(entry)]
            place |= self._placed(others)
        else:
            place |= self._placed(lost)
        lost = [entry for entry in lost if entry not in place]
        # If no row has moved, cells were edited in place. Otherwise the other rows were deleted.
        moved = sum(row not in (None, entry[0]) for entry, row in place.items())
        place |= {entry: None if moved or entry[0] >= n else entry[0] for entry in lost}
        deleted = sum(row is None for row in place.values())
        edited = 0 if moved else len({row for row, _, _ in lost if row < n})
        return [place.get(entry, entry[0]) for entry in entries], _notes(moved, deleted, edited)

    def _moved(self, lost: list[Entry], unmoved: set[int]) -> dict[Entry, int | None]:
        """Return rows that have all cells of lost ones."""
        if not lost:
            return {}
        wanted = {mark for _, mark, _ in lost}
        candidates: dict[str | None, list[int]] = defaultdict(list)
        for row, mark in enumerate(_hashes(self._cells)):
            if mark in wanted and row not in unmoved:
                candidates[mark].append(row)
        pairs = dict.fromkeys((row, mark) for row, mark, _ in lost)
        moved = {pair: candidates[pair[1]].pop(0) for pair in pairs if candidates[pair[1]]}
        return {entry: moved[entry[:2]] for entry in lost if entry[:2] in moved}

    def _has_other_columns(self, entry: Entry) -> bool:
        names = set(_split(entry[2] or ""))
        fewer = len(names) < min(len(self._names), _MOST_COLUMNS)
        return bool(names) and (fewer or not names <= set(self._names))

    def _placed(self, lost: list[Entry]) -> dict[Entry, int | None]:
        """Find rows by the cells of the columns that they share with the table."""
        groups: dict[tuple[str, ...], list[Entry]] = defaultdict(list)
        for entry in lost:
            groups[tuple(_split(entry[2] or ""))].append(entry)
        place: dict[Entry, int | None] = {}
        for codes, entries in groups.items():
            place |= self._placed_by(codes, entries)
        return place

    def _placed_by(self, codes: tuple[str, ...], entries: list[Entry]) -> dict[Entry, int | None]:
        """Find rows whose labels were given when the table had these columns."""
        shared: list[str] = []
        n = self._cells.num_rows
        wanted, now = [""] * len(entries), [""] * n
        for code in codes:
            name = self._names.get(code)
            if name is None or self._key not in (None, name):
                continue
            cells = _cell_hashes(self._cells[name]).to_pylist()
            before = [_split(entry[2] or "")[code] for entry in entries]
            present = set(cells)
            if self._key is None and 2 * sum(cell in present for cell in before) < len(before):
                continue  # rewritten
            shared.append(name)
            wanted = [one + cell for one, cell in zip(wanted, before, strict=True)]
            now = [one + cell for one, cell in zip(now, cells, strict=True)]
        rows: dict[str, list[int]] = {one: [] for one in wanted}
        for row, one in enumerate(now):
            if one in rows:
                rows[one].append(row)
        candidates = [rows[one] for one in wanted]
        missing = sum(not some for some in candidates)
        if not shared or (2 * missing > len(entries) and self._key is None):
            raise ValueError(f"its labels do not match the rows of the table; {_WAYS_OUT}")
        pairs = list(zip(entries, candidates, strict=True))
        if all(entry[0] in some for entry, some in pairs):
            chances = {entry[0]: len(some) / n for entry, some in pairs}
            if np.prod(list(chances.values())) < _CHANCE:
                return {entry: entry[0] for entry in entries}
        for some in rows.values():
            if len(some) > 1 and len(set(self.hashes(some))) > 1:
                several = " and ".join(str(row + 1) for row in some[:2])
                columns = listed(map(repr, shared), _LISTED)
                problem = f"rows {several} have the same cells in {columns}"
                raise ValueError(
                    f"its labels do not belong to one row each: {problem}; {_WAYS_OUT}"
                )
        # Equal rows get a label each.
        return {e: some.pop(0) if len(some) > 1 else next(iter(some), None) for e, some in pairs}


def _notes(moved: int = 0, deleted: int = 0, edited: int = 0) -> list[str]:
    counts = {
        "labels that moved with their rows": moved,
        "labels that are left out because their rows are gone": deleted,
        f"labels of rows whose cells have changed since ({_ADVICE})": edited,
    }
    return [f"{text}: {count}" for text, count in counts.items() if count]


def _split(hashes: str) -> dict[str, str]:
    """Return the hashes of cells by that of their columns."""
    step = _NAME + _CELL
    starts = range(0, len(hashes), step)
    return {hashes[k : k + _NAME]: hashes[k + _NAME : k + step] for k in starts}


def _short_hash(text: str, length: int) -> str:
    digest = blake2b(text.encode(errors="replace"), digest_size=3 * length // 4).digest()
    return urlsafe_b64encode(digest).decode()


def _cell_hashes(column: Any) -> pa.Array:
    """Return hashes of the cells of a column; each distinct cell is read once."""
    texts = _texts(column.combine_chunks()).dictionary_encode()
    codes = [_short_hash(text, _CELL) for text in texts.dictionary.to_pylist()]
    return pa.array(codes, pa.large_string()).take(texts.indices)


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
