r"""Counts of rows shared by pairs of hyperedges, by the number of cells of a row.

A row with l cells that are not missing has degree l (all weights are one), so that with the pair
counts C_l = H_lᵀH_l of the rows of each level l

.. math:: H^T D^{-1} H = \sum_l C_l / l, \qquad H^T D^{-1/2} X = \sum_l H_l^T X_l / \sqrt{l},

for any power of the degrees. Counts are integers, and numbers are added as integers in small
units, so the result does not depend on the blocks or the order of rows.

>>> import numpy as np, pandas as pd
>>> from lowrankgcn.graphs import TableEncoder
>>> table = pd.DataFrame({"x": ["a", "b", "a"], "y": ["c", "c", None]})
>>> counts = count_block(table, Counting(TableEncoder.fit(table), ()))
>>> {level: pairs.tolist() for level, pairs in counts.pairs.items()}
{1: [[1, 0, 0], [0, 0, 0], [0, 0, 0]], 2: [[1, 0, 1], [0, 1, 1], [1, 1, 2]]}
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from lowrankgcn._parallel import chunks
from lowrankgcn.distributed.blocks import Blocks
from lowrankgcn.distributed.encoding import FittedTable
from lowrankgcn.distributed.survey import Units
from lowrankgcn.graphs import TableEncoder
from lowrankgcn.graphs.cells import Name, Numbers, read_cells, read_table
from lowrankgcn.operators import FloatArray
from lowrankgcn.operators.codes import CodeFactor

__all__ = [
    "Counting",
    "Counts",
    "NumberColumn",
    "count_block",
    "count_table",
    "first_rows",
    "weighted",
]

_ROWS = 2**16  # rows of a chunk, whose sums are exact in floating point
_EXACT = 53  # bits of integers that floating-point sums hold
_MOST_BITS = 40  # 1e-12 of the standard deviation is precise enough


@final
@dataclass(frozen=True)
class NumberColumn:
    """A column of numbers z = (x − centre)/scale, counted in units of 2^-bits."""

    name: Name
    units: Units
    bits: int

    @classmethod
    def from_units(cls, name: Name, units: Units, n_rows: int) -> NumberColumn:
        """Choose the smallest units in which sums over a chunk and over all rows are exact."""
        # Chunks are summed in floating point, which must be exact for 2¹⁶ rows of the largest
        # number. The magnitudes of all rows add up to at most n, because the mean square is one.
        of_chunk = _EXACT - 16 - int(np.ceil(np.log2(max(units.largest, 1.0)))) - 1
        of_all = 62 - n_rows.bit_length()
        return cls(name, units, min(of_chunk, of_all, _MOST_BITS))

    def whole(self, column: Any) -> FloatArray:
        """Return integers as floats, 0 for missing cells, shape (n,)."""
        cells = read_cells(column, self.name)
        if not isinstance(cells, Numbers) or not cells.any_present():
            return np.zeros(len(column))
        z = (cells.data.astype(np.float64) - self.units.centre) / self.units.scale
        if cells.missing is not None:
            z[cells.missing] = 0.0
        return np.rint(np.ldexp(z, self.bits))


@final
@dataclass(frozen=True, eq=False)
class Counting:
    """Encoder and numeric columns of the table to count."""

    encoder: TableEncoder
    numbers: tuple[NumberColumn, ...]


@final
@dataclass(frozen=True, eq=False)
class Counts:
    """Counts for every number l of non-missing cells that occurs.

    Attributes
    ----------
    rows : dict from int to int
        Number of rows with l cells.
    pairs : dict from int to (|E|, |E|) int array
        C_l, for l > 0.
    sums : dict from int to (|E|, c) int array
        H_lᵀ z of the number columns, in their units.
    """

    rows: dict[int, int]
    pairs: dict[int, NDArray[np.int64]]
    sums: dict[int, NDArray[np.int64]]

    def __add__(self, other: Counts) -> Counts:
        """Add two results."""
        return Counts(
            _added(self.rows, other.rows),
            _added(self.pairs, other.pairs),
            _added(self.sums, other.sums),
        )


def _added(one: dict[int, Any], other: dict[int, Any]) -> dict[int, Any]:
    total = dict(one)
    for level, value in other.items():
        total[level] = total[level] + value if level in total else value
    return dict(sorted(total.items()))


def count_table(blocks: Blocks, fitted: FittedTable) -> tuple[Counts, Counting]:
    """Count all blocks; one pass.

    Notes
    -----
    O(n g²) for g groups of columns, and O(n g c) for c columns of numbers. A block gives
    |E|² + |E| c integers for every number of cells that its rows have.
    """
    numbers = tuple(
        NumberColumn.from_units(name, units, fitted.n_rows) for name, units in fitted.units.items()
    )
    counting = Counting(fitted.encoder, numbers)
    return blocks.reduce(count_block, _add, counting), counting


def _add(one: Counts, other: Counts) -> Counts:
    return one + other


def count_block(block: Any, counting: Counting) -> Counts:
    """Count the rows of one block."""
    n_edges = counting.encoder.n_hyperedges
    codes = counting.encoder.transform(block)
    levels = (codes < n_edges).sum(axis=1, dtype=np.int64)
    whole = _whole_numbers(block, counting)
    rows, pairs, sums = {}, {}, {}
    for level in np.unique(levels).tolist():
        chosen = levels == level
        every = bool(chosen.all())
        rows[level] = int(chosen.sum())
        if level == 0:
            continue
        own = codes if every else np.asfortranarray(codes[chosen])
        pairs[level] = CodeFactor(own, n_edges).pair_counts()
        sums[level] = _sums(own, whole if every else whole[chosen], n_edges)
    return Counts(rows, pairs, sums)


def _whole_numbers(block: Any, counting: Counting) -> FloatArray:
    table = read_table(block)
    result = np.zeros((table.n_rows, len(counting.numbers)))
    for j, column in enumerate(counting.numbers):
        result[:, j] = column.whole(table.columns[column.name])
    return result


def _sums(codes: NDArray[Any], whole: FloatArray, n_edges: int) -> NDArray[np.int64]:
    total = np.zeros((n_edges, whole.shape[1]), np.int64)
    if whole.shape[1]:
        for start, stop in chunks(len(codes), _ROWS):
            factor = CodeFactor(codes[start:stop], n_edges)
            total += factor.transpose_product(whole[start:stop]).astype(np.int64)
    return total


def weighted(counts: dict[int, NDArray[Any]], weight: Callable[[int], float]) -> FloatArray:
    """Return Σ_l weight(l) counts_l."""
    total = None
    for level, values in counts.items():
        part = weight(level) * values.astype(np.float64)
        total = part if total is None else total + part
    assert total is not None
    return total


def first_rows(blocks: Blocks, encoder: TableEncoder, limit: int) -> NDArray[np.int64]:
    """Return the first row of every hyperedge, then the first `limit` rows without hyperedges."""
    n_edges = encoder.n_hyperedges
    firsts = np.full(n_edges, np.iinfo(np.int64).max)
    bare: list[int] = []
    start = 0
    for of_edges, of_bare, length in blocks.collect(_first_rows, encoder, limit):
        seen = of_edges < length
        np.minimum.at(firsts, np.flatnonzero(seen), start + of_edges[seen])
        bare += [start + row for row in of_bare[: limit - len(bare)]]
        start += length
    return np.append(firsts, np.array(bare, np.int64))


def _first_rows(
    block: Any, encoder: TableEncoder, limit: int
) -> tuple[NDArray[np.int64], list[int], int]:
    codes = encoder.transform(block)
    n_edges = encoder.n_hyperedges
    firsts = np.full(n_edges + 1, len(codes), np.int64)
    backwards = np.arange(len(codes))[::-1]
    for column in codes.T:
        # The last assignment wins, which is the first row.
        firsts[column[::-1]] = backwards
    bare = np.flatnonzero((codes == n_edges).all(axis=1))
    return firsts[:n_edges], bare[:limit].tolist(), len(codes)
