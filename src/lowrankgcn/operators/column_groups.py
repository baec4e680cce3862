"""Groups of joined columns of codes, so that one pass processes several columns.

The codes of columns with 3 and 2 values become one mixed-radix code with 6 cells. Sums over the
cells, such as the number of rows in each, add up to sums over the values:

>>> import numpy as np
>>> codes = np.array([[0, 3], [2, 3], [2, 4], [1, 3]], dtype=np.uint8)
>>> (group,) = join_columns(codes, {0: np.array([0, 1, 2]), 1: np.array([3, 4])}, 5)
>>> group.cells, group.codes
(6, array([0, 4, 5, 2], dtype=uint8))
>>> group.members @ histogram(group)  # rows with id 0, 1, 2 (first column), 3, 4 (second column)
array([1., 1., 2., 3., 1.])
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lowrankgcn._parallel import chunks, map_chunks
from lowrankgcn.operators.base import FloatArray
from lowrankgcn.operators.factors import scale_rows

# Chunk sizes were measured at 10⁶ rows, 21 columns and 21 vectors; the neighbouring powers of two
# are within a third.
_MAX_CELLS = 600  # a table with this many rows, and a histogram of its square, stay in the cache
_JOIN_ROWS = 2**18
_HISTOGRAM_ROWS = 2**20  # long, because every part has a histogram of all cells
_GATHER_ENTRIES = 2**18  # entries of the result: in the cache, yet long enough for two threads
_SCATTER_ROWS = 2**15


@final
@dataclass(frozen=True, eq=False)
class ColumnGroup:
    """Joined columns: one code per row, and the hyperedges of each code.

    Attributes
    ----------
    codes : (n,) array, unsigned
        Cell of every row.
    own : (m,) int array
        Hyperedges of the columns, ascending.
    members : (m, cells) csr_array
        1 where a cell belongs to an own hyperedge.
    """

    codes: NDArray[Any]
    own: NDArray[np.intp]
    members: sp.csr_array

    @property
    def cells(self) -> int:
        """Number of joint values."""
        return int(self.members.shape[1])


def join_columns(
    codes: NDArray[Any], levels: dict[int, NDArray[np.intp]], none: int
) -> tuple[ColumnGroup, ...]:
    """Join columns greedily into few groups of at most 600 joint values.

    Fewer for few rows, as a histogram should not have more cells than rows. A single column may
    have more.

    Parameters
    ----------
    codes : ndarray, shape (n, p)
        Hyperedge per row and column.
    levels : dict
        Ids of every column to use: consecutive, then possibly `none`.
    none : int
        Larger than all ids; stands for no hyperedge.

    Returns
    -------
    tuple of ColumnGroup
        The groups, starting with the columns of most values.
    """
    n = len(codes)
    packed = _pack(levels, min(_MAX_CELLS, max(math.isqrt(n), 16)))
    cells = [math.prod(len(levels[j]) for j in columns) for columns in packed]
    joint = [np.zeros(n, dtype=np.min_scalar_type(k - 1)) for k in cells]

    def join_rows(start: int, stop: int) -> None:
        for columns, target in zip(packed, joint, strict=True):
            code = target[start:stop]
            for k, j in enumerate(columns):
                size = len(levels[j])
                # "None" lies beyond the ids of the column; it becomes the last level.
                local = np.minimum(codes[start:stop, j] - codes.dtype.type(levels[j][0]), size - 1)
                if k:
                    code *= size
                np.add(code, local, out=code, casting="unsafe")

    map_chunks(join_rows, n, _JOIN_ROWS)
    return tuple(
        _group(code, [levels[j] for j in columns], none)
        for columns, code in zip(packed, joint, strict=True)
    )


def _pack(levels: dict[int, NDArray[np.intp]], max_cells: int) -> list[list[int]]:
    """Partition columns into lists whose sizes multiply to at most `max_cells`, largest first."""
    packed: list[list[int]] = []
    cells: list[int] = []
    for j in sorted(levels, key=lambda j: (-len(levels[j]), j)):
        size = len(levels[j])
        place = next((k for k, own in enumerate(cells) if own * size <= max_cells), len(cells))
        if place == len(cells):
            packed.append([])
            cells.append(1)
        packed[place].append(j)
        cells[place] *= size
    return packed


def _group(codes: NDArray[Any], levels: list[NDArray[np.intp]], none: int) -> ColumnGroup:
    cells = np.arange(math.prod(len(column) for column in levels))
    ids = np.empty((len(levels), len(cells)), np.intp)
    for k, column in reversed(list(enumerate(levels))):  # the last column is the last digit
        cells, digit = np.divmod(cells, len(column))
        ids[k] = column[digit]
    column, cell = np.nonzero(ids < none)
    own, row = np.unique(ids[column, cell], return_inverse=True)
    entries = (np.ones(len(cell)), (row, cell))
    return ColumnGroup(codes, own, sp.csr_array(entries, shape=(len(own), ids.shape[1])))


def histogram(
    group: ColumnGroup, other: ColumnGroup | None = None, weights: FloatArray | None = None
) -> NDArray[Any]:
    """Count rows (or add weights) per cell of a group, or per pair of cells of two groups."""
    shape = (group.cells,) if other is None else (group.cells, other.cells)
    total = np.zeros(math.prod(shape), dtype=np.int64 if weights is None else np.float64)
    # bincount holds the interpreter lock, so threads would not help.
    for start, stop in chunks(len(group.codes), _HISTOGRAM_ROWS):
        index = group.codes[start:stop].astype(np.intp)
        if other is not None:
            index *= other.cells
            index += other.codes[start:stop]
        part = None if weights is None else weights[start:stop]
        total += np.bincount(index, part, minlength=len(total))
    return total.reshape(shape)


def gather_sum(groups: Sequence[ColumnGroup], V: FloatArray, out: NDArray[Any]) -> None:
    """Add Σ_j V[codes[:, j]] to `out`, shape (n,) or (n, k) for V (m,) or (m, k)."""
    tables = [(group.members.T @ V[group.own]).astype(out.dtype) for group in groups]

    def gather(start: int, stop: int) -> None:
        target = out[start:stop]
        buffer = np.empty_like(target)
        for table, group in zip(tables, groups, strict=True):
            # Codes are within bounds; mode="clip" avoids the copy of the checking mode.
            np.take(table, group.codes[start:stop], axis=0, out=buffer, mode="clip")
            np.add(target, buffer, out=target)

    width = math.prod(out.shape[1:])
    map_chunks(gather, len(out), max(_GATHER_ENTRIES // max(width, 1), 512))


def scatter_sum(
    groups: Sequence[ColumnGroup], X: NDArray[Any], scale: FloatArray | None, out: FloatArray
) -> None:
    """Write sums of the scaled rows of X, (n,) or (n, k), per hyperedge of a group into `out`.

    Rows are converted to double precision in chunks.
    """

    def one_hot(group: ColumnGroup, rows: slice) -> sp.csr_array:
        codes = group.codes[rows].astype(np.int32)
        entries = (np.ones(len(codes)), codes, np.arange(len(codes) + 1, dtype=np.int32))
        return sp.csr_array(entries, shape=(len(codes), group.cells))

    def scatter(first: int, last: int) -> list[FloatArray]:
        totals = [np.zeros((group.cells, *X.shape[1:])) for group in groups]
        for start, stop in chunks(last - first, _SCATTER_ROWS):
            rows = slice(first + start, first + stop)
            part = scale_rows(X[rows], None if scale is None else scale[rows])
            for group, total in zip(groups, totals, strict=True):
                total += one_hot(group, rows).T @ part.astype(np.float64, copy=False)
        return totals

    # At most 16 parts, because each has sums of all cells.
    parts = map_chunks(scatter, len(X), max(8 * _SCATTER_ROWS, -(-len(X) // 16)))
    for group, sums in zip(groups, zip(*parts, strict=True), strict=True):
        out[group.own] = group.members @ sum(sums)
