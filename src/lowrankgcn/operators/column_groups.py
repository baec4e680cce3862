"""Groups of joined columns of codes, so that one pass processes several columns.

The codes of columns with 3 and 2 values become one mixed-radix code with 6 cells. Sums over the
cells, such as the number of rows in each, add up to sums over the values:

>>> import numpy as np
>>> codes = np.array([[0, 3], [2, 3], [2, 4], [1, 3]], dtype=np.uint8)
>>> (group,) = join_columns(codes, {0: np.array([0, 1, 2]), 1: np.array([3, 4])})
>>> group.cells, group.codes
(6, array([0, 4, 5, 2], dtype=uint8))
>>> group.add_cells(histogram(group))  # rows with id 0, 1, 2 (first column), 3, 4 (second column)
array([1., 1., 2., 3., 1.])
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lowrankgcn._parallel import chunks, map_chunks
from lowrankgcn.operators.base import FloatArray
from lowrankgcn.operators.factors import scale_rows

__all__ = [
    "ColumnGroup",
    "gather_sum",
    "histogram",
    "join_columns",
    "product_of_rows",
    "scatter_sum",
]

# Chunk sizes were measured at 10⁶ rows, 21 columns and 21 vectors; the neighbouring powers of two
# are within a third.
_MAX_CELLS = 600  # a table with this many rows, and a histogram of its square, stay in the cache
_JOIN_ROWS = 2**18
_HISTOGRAM_ROWS = 2**20  # long, because every part has a histogram of all cells
_GATHER_ENTRIES = 2**18  # entries of the result: in the cache, yet long enough for two threads
_SCATTER_ROWS = 2**15
_TABLED_ROWS = 4096  # fewer rows do not pay for tables of all joint values


@dataclass(frozen=True, eq=False)
class ColumnGroup:
    """Joined columns: one code per row, and the hyperedges of each code."""

    columns: tuple[int, ...]
    codes: NDArray[Any]  # (n,), unsigned
    hyperedges: NDArray[np.intp]  # (columns, cells): id per column and cell, |E| for none

    @property
    def cells(self) -> int:
        """Number of joint values."""
        return int(self.hyperedges.shape[1])

    @cached_property
    def own(self) -> NDArray[np.intp]:
        """Hyperedges of the columns, ascending, with |E| last if a row may have none."""
        return np.unique(self.hyperedges)

    @cached_property
    def _indicator(self) -> sp.csr_array:
        """Sparse matrix (own, cells): number of columns of a cell with an own hyperedge."""
        rows = np.searchsorted(self.own, self.hyperedges).ravel()
        cells = np.tile(np.arange(self.cells), len(self.columns))
        shape = (len(self.own), self.cells)
        return sp.coo_array((np.ones(len(rows)), (rows, cells)), shape=shape).tocsr()

    def add_cells(self, values: NDArray[Any]) -> FloatArray:
        """Sum (cells, ...) over the cells of every own hyperedge, shape (own, ...)."""
        sums: FloatArray = self._indicator @ values
        return sums

    def add_cell_pairs(self, values: NDArray[Any]) -> FloatArray:
        """Sum (cells,) over the cells that two own hyperedges share, shape (own, own)."""
        weights = sp.diags_array(values.astype(np.float64))
        sums: FloatArray = (self._indicator @ weights @ self._indicator.T).toarray()
        return sums


def join_columns(
    codes: NDArray[Any], levels: dict[int, NDArray[np.intp]]
) -> tuple[ColumnGroup, ...]:
    """Join columns greedily into few groups of at most 600 joint values.

    Fewer for few rows, as a histogram should not have more cells than rows. A single column may
    have more.

    Parameters
    ----------
    codes : ndarray, shape (n, p)
        Hyperedge per row and column.
    levels : dict
        Ids of every column to use: consecutive, then possibly one larger than all others for
        "none".

    Returns
    -------
    tuple of ColumnGroup
        The groups, starting with the columns of most values.
    """
    n = len(codes)
    max_cells = min(_MAX_CELLS, max(math.isqrt(n), 16))
    packed = _pack({j: len(ids) for j, ids in levels.items()}, max_cells)
    cells = [math.prod(len(levels[j]) for j in columns) for columns in packed]
    joint = [np.empty(n, dtype=np.min_scalar_type(k - 1)) for k in cells]

    def join_rows(start: int, stop: int) -> None:
        for columns, target in zip(packed, joint, strict=True):
            code = target[start:stop]
            for k, j in enumerate(columns):
                size = len(levels[j])
                # "None" lies beyond the ids of the column; it becomes the last level.
                local = np.minimum(codes[start:stop, j] - codes.dtype.type(levels[j][0]), size - 1)
                if k == 0:
                    code[:] = local
                else:
                    code *= size
                    np.add(code, local, out=code, casting="unsafe")

    map_chunks(join_rows, n, _JOIN_ROWS)
    return tuple(
        ColumnGroup(columns, code, _cell_hyperedges([levels[j] for j in columns]))
        for columns, code in zip(packed, joint, strict=True)
    )


def _pack(sizes: dict[int, int], max_cells: int) -> list[tuple[int, ...]]:
    """Partition columns into sets whose sizes multiply to at most `max_cells`, largest first."""
    left = sorted(sizes, key=lambda j: (-sizes[j], j))
    packed = []
    while left:
        members, cells, rest = [left[0]], sizes[left[0]], []
        for j in left[1:]:
            if cells * sizes[j] <= max_cells:
                members.append(j)
                cells *= sizes[j]
            else:
                rest.append(j)
        packed.append(tuple(members))
        left = rest
    return packed


def _cell_hyperedges(levels: Sequence[NDArray[np.intp]]) -> NDArray[np.intp]:
    digits = np.indices([len(ids) for ids in levels]).reshape(len(levels), -1)
    return np.stack([ids[digit] for ids, digit in zip(levels, digits, strict=True)])


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


def gather_sum(groups: Sequence[ColumnGroup], V: FloatArray, out: NDArray[Any]) -> NDArray[Any]:
    """Write Σ_j V[codes[:, j]] into `out`, shape (n,) or (n, k) for V (m,) or (m, k)."""
    # The zero row after the last belongs to "none".
    padded = np.concatenate([V, np.zeros((1, *V.shape[1:]))])
    tables = [padded[group.hyperedges].sum(axis=0).astype(out.dtype) for group in groups]
    if not tables:
        out[...] = 0
        return out

    def gather(start: int, stop: int) -> None:
        target = out[start:stop]
        buffer = np.empty_like(target)
        # Codes are within bounds; mode="clip" avoids the copy of the checking mode.
        np.take(tables[0], groups[0].codes[start:stop], axis=0, out=target, mode="clip")
        for table, group in zip(tables[1:], groups[1:], strict=True):
            np.take(table, group.codes[start:stop], axis=0, out=buffer, mode="clip")
            np.add(target, buffer, out=target)

    width = math.prod(out.shape[1:])
    map_chunks(gather, len(out), max(_GATHER_ENTRIES // max(width, 1), 512))
    return out


def product_of_rows(
    codes: NDArray[Any], levels: dict[int, NDArray[np.intp]], V: FloatArray
) -> FloatArray:
    """Compute Σ_j V[codes[:, j]], shape (n, k).

    Parameters
    ----------
    codes : ndarray, shape (n, p)
        Hyperedge per row and column, len(V) for none.
    levels : dict
        Ids of the columns as in :func:`join_columns`.
    V : ndarray, shape (m, k)
    """
    out = np.zeros((len(codes), V.shape[1]))
    if len(codes) >= _TABLED_ROWS:
        return gather_sum(join_columns(codes, levels), V, out)
    padded = np.concatenate([V, np.zeros((1, V.shape[1]))])
    for j in levels:
        out += padded[codes[:, j]]
    return out


def scatter_sum(
    groups: Sequence[ColumnGroup], X: NDArray[Any], scale: FloatArray | None = None
) -> list[FloatArray]:
    """Sum the scaled rows of X per cell of every group: (cells,) for X (n,), (cells, k) for (n, k).

    Rows are converted to double precision in chunks.
    """
    n, width = len(X), len(groups)
    offsets = np.cumsum([0, *(group.cells for group in groups)])
    shape = (int(offsets[-1]), *X.shape[1:])

    def one_hot(start: int, stop: int) -> sp.csr_array:
        indices = np.empty((stop - start, width), dtype=np.int32)
        for k, group in enumerate(groups):
            np.add(group.codes[start:stop], offsets[k], out=indices[:, k], casting="unsafe")
        pointers = np.arange(0, indices.size + 1, width, dtype=np.int32)
        data = (np.ones(indices.size), indices.ravel(), pointers)
        return sp.csr_array(data, shape=(stop - start, shape[0]))

    def scatter(first: int, last: int) -> FloatArray:
        total = np.zeros(shape)
        for start, stop in chunks(last - first, _SCATTER_ROWS):
            rows = slice(first + start, first + stop)
            part = scale_rows(X[rows], None if scale is None else scale[rows])
            total += one_hot(rows.start, rows.stop).T @ part.astype(np.float64, copy=False)
        return total

    # At most 16 parts, because each has sums of all cells.
    parts = map_chunks(scatter, n, max(8 * _SCATTER_ROWS, -(-n // 16))) if groups else []
    total = sum(parts, np.zeros(shape))
    return [total[start:stop] for start, stop in pairwise(offsets)]
