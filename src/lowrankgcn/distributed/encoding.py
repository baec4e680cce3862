"""A table encoder fitted to a table in many blocks: the one that a single table would get.

>>> import dask.dataframe as dd, pandas as pd
>>> from lowrankgcn.distributed.blocks import Blocks
>>> from lowrankgcn.graphs import TableEncoder
>>> table = pd.DataFrame({"colour": ["red", "blue"] * 10, "length": [k / 7 for k in range(20)]})
>>> fitted = fit_table(Blocks.of(dd.from_pandas(table, npartitions=4)))
>>> fitted.encoder == TableEncoder.fit(table)
True
>>> fitted.units["length"].present, round(fitted.units["length"].centre, 6)
(20, 1.357143)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from lowrankgcn._validation import invalid
from lowrankgcn.distributed.blocks import Blocks
from lowrankgcn.distributed.fixed_point import FixedSum, exponent_of
from lowrankgcn.distributed.selection import KeyKind, Search, numbers_of, ordered_keys
from lowrankgcn.distributed.vocabulary import (
    MOST_HYPEREDGES,
    ColumnSketch,
    join_sketches,
    sketch_block,
)
from lowrankgcn.graphs import TableEncoder
from lowrankgcn.graphs.cells import Name, Numbers, read_cells, read_table
from lowrankgcn.graphs.columns import (
    BinnedColumn,
    CategoryColumn,
    ColumnEncoding,
    inner_edges,
    quantile_ranks,
    separating_edges,
)
from lowrankgcn.graphs.table import DEFAULT_BINS

__all__ = ["FittedTable", "Units", "fit_table"]

_CONSTANT = 1e-12  # columns vary if their spread is more than rounding of their size


@final
@dataclass(frozen=True)
class Units:
    """Mean and standard deviation of a column of numbers.

    Attributes
    ----------
    centre, scale : float
        The scale is infinite for a constant column.
    largest : float
        Largest magnitude of (x − centre)/scale.
    present : int
        Number of cells that are not missing.
    """

    centre: float
    scale: float
    largest: float
    present: int


@final
@dataclass(frozen=True, eq=False)
class FittedTable:
    """Which value of a table is which hyperedge, and the units of its binned columns.

    Attributes
    ----------
    encoder : TableEncoder
    lengths : tuple of int
        Number of rows of each block.
    units : dict from name to Units
    """

    encoder: TableEncoder
    lengths: tuple[int, ...]
    units: dict[Name, Units]

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return sum(self.lengths)


def fit_table(blocks: Blocks) -> FittedTable:
    """Fit an encoder to all blocks.

    Returns
    -------
    FittedTable
        With the encoder that :meth:`TableEncoder.fit` gives for the whole table, except that a
        categorical whose blocks list different categories has them sorted.

    Raises
    ------
    ValueError
        As :meth:`TableEncoder.fit`, and if there are more than 4096 hyperedges.

    Notes
    -----
    One pass; with binned columns about six more over these alone: two for their mean and standard
    deviation, in which the search for the edges of the bins begins.
    """
    sketch = blocks.reduce(sketch_block, join_sketches)
    mixed = frozenset(name for name, column in sketch.columns.items() if column.kind == "mixed")
    if mixed:  # numbers in some blocks, texts in others: objects
        sketch = blocks.reduce(sketch_block, join_sketches, mixed)
    if not sum(sketch.lengths) or not sketch.columns:
        shape = (sum(sketch.lengths), len(sketch.columns))
        raise invalid("X", "at least one row and one column", f"shape {shape}")
    binned = {name: column for name, column in sketch.columns.items() if _is_binned(column)}
    edges, units = _survey(blocks, binned) if binned else ({}, {})
    columns = tuple(
        _binned(name, column, edges[name]) if name in binned else _values(name, column)
        for name, column in sketch.columns.items()
    )
    encoder = TableEncoder(tuple(sketch.columns), columns)
    if encoder.n_hyperedges > MOST_HYPEREDGES:
        widest = max(columns, key=lambda column: column.n_hyperedges)
        raise invalid(
            "X",
            f"a table with at most {MOST_HYPEREDGES} distinct values in all",
            f"{encoder.n_hyperedges}, {widest.n_hyperedges} of them in column {widest.name!r}",
        )
    return FittedTable(encoder, sketch.lengths, units)


def _is_binned(column: ColumnSketch) -> bool:
    """Whether numbers are binned: all but few distinct integers."""
    if column.kind != "numbers":
        return False
    if column.many or column.unit is not None:
        return True
    return not all(float(value).is_integer() for value in column.counts or {})


def _values(name: Name, column: ColumnSketch) -> ColumnEncoding:
    counts = column.counts or {}
    if column.kind == "numbers":
        distinct = Numbers(np.array(sorted(counts)), unit=column.unit).as_categories()
        return CategoryColumn(name, tuple(sorted(distinct.values)), column.unit)
    if column.order is not None:
        return CategoryColumn(name, tuple(v for v in column.order if v in counts), column.unit)
    ordered = sorted(counts, key=lambda value: (isinstance(value, str), value))
    return CategoryColumn(name, tuple(ordered), column.unit)


def _binned(name: Name, column: ColumnSketch, edges: Any) -> ColumnEncoding:
    inner = inner_edges(edges, column.low, column.high)
    # Every bin holds its upper edge or the largest number: none is empty.
    return BinnedColumn(name, inner, tuple(range(len(inner) + 1)), column.unit)


@final
@dataclass(frozen=True)
class _Query:
    """What a pass asks of a column: counts for searches, and a sum of x or of (x − centre)²."""

    kind: KeyKind
    searches: tuple[Search, ...]
    exponent: int | None = None
    centre: float | None = None


Answer = tuple[tuple[Any, ...], FixedSum | None]


def _survey(
    blocks: Blocks, columns: Mapping[Name, ColumnSketch]
) -> tuple[dict[Name, Any], dict[Name, Units]]:
    """Edges of the bins and units of the columns."""
    searches = {name: _searches(column) for name, column in columns.items()}
    centre: dict[Name, float] = {}
    units: dict[Name, Units] = {}
    while len(units) < len(columns) or any(not s.done for one in searches.values() for s in one):
        queries = {}
        for name, column in columns.items():
            unfinished = tuple(dict.fromkeys(s for s in searches[name] if not s.done))
            if name in units and not unfinished:
                continue
            exponent = None if name in units else _exponent(column, centre.get(name))
            queries[name] = _Query(column.number_kind, unfinished, exponent, centre.get(name))
        answers = blocks.reduce(_ask, _join_answers, queries)
        for name, query in queries.items():
            counts, total = answers[name]
            found = dict(zip(query.searches, counts, strict=True))
            searches[name] = tuple(
                s.narrowed(found[s]) if s in found else s for s in searches[name]
            )
            if total is None:
                continue
            if query.centre is None:
                centre[name] = total.mean()
            else:
                units[name] = _units(columns[name], query, total)
    return {name: _edges(columns[name], found) for name, found in searches.items()}, units


def _searches(column: ColumnSketch) -> tuple[Search, ...]:
    if not column.many:
        return ()
    ends = np.array([column.low, column.high])
    low, high = ordered_keys(ends, column.number_kind)
    ranks = quantile_ranks(column.present, DEFAULT_BINS)
    return tuple(Search.start(rank, low, high) for rank in ranks.tolist())


def _edges(column: ColumnSketch, searches: tuple[Search, ...]) -> Any:
    if not column.many:
        return separating_edges(np.array(sorted(column.counts or {})))
    return numbers_of(np.array([s.low for s in searches], np.uint64), column.number_kind)


def _exponent(column: ColumnSketch, centre: float | None) -> int:
    if centre is None:
        return exponent_of(max(abs(float(column.low)), abs(float(column.high))))
    return exponent_of(max(float(column.high) - centre, centre - float(column.low)))


def _units(column: ColumnSketch, query: _Query, total: FixedSum) -> Units:
    assert query.centre is not None and query.exponent is not None
    scale = float(np.ldexp(np.sqrt(total.mean()), query.exponent))
    if scale <= _CONSTANT * max(abs(float(column.low)), abs(float(column.high))):
        return Units(query.centre, float("inf"), 0.0, column.present)
    offset = max(float(column.high) - query.centre, query.centre - float(column.low))
    return Units(query.centre, scale, offset / scale, column.present)


def _ask(block: Any, queries: Mapping[Name, _Query]) -> dict[Name, Answer]:
    table = read_table(block)
    return {name: _answer(table.columns[name], name, query) for name, query in queries.items()}


def _answer(column: Any, name: Name, query: _Query) -> Answer:
    cells = read_cells(column, name)
    present = cells.present() if isinstance(cells, Numbers) else np.zeros(0)
    keys = ordered_keys(present, query.kind) if query.searches else np.zeros(0, np.uint64)
    counts = tuple(search.count(keys) for search in query.searches)
    if query.exponent is None:
        return counts, None
    numbers = present.astype(np.float64)
    if query.centre is None:
        return counts, FixedSum.of(numbers, query.exponent)
    offsets = np.ldexp(numbers - query.centre, -query.exponent)
    return counts, FixedSum.of(np.square(offsets), 1)


def _join_answers(one: dict[Name, Answer], other: dict[Name, Answer]) -> dict[Name, Answer]:
    joined = {}
    for name, (counts, total) in one.items():
        more, further = other[name]
        added = None if total is None or further is None else total + further
        joined[name] = tuple(a + b for a, b in zip(counts, more, strict=True)), added
    return joined
