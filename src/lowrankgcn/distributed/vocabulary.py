"""Values and number statistics of the columns of a table, block by block.

One pass counts the values of every column. Columns with many numbers take a few more passes for
mean and standard deviation, and for the edges of their bins, which are the same order statistics as
in :meth:`TableEncoder.fit`.

>>> import pandas as pd
>>> first = sketch_block(pd.DataFrame({"x": ["a", "b", "a"]}))
>>> second = sketch_block(pd.DataFrame({"x": ["c", None, "b"]}))
>>> join_sketches(first, second).columns["x"].counts
{'a': 2, 'b': 2, 'c': 1}
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Set
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
import pandas as pd

from lowrankgcn._validation import invalid
from lowrankgcn.distributed.selection import KeyKind
from lowrankgcn.graphs.cells import Categories, Name, Numbers, Unit, Value, read_cells, read_table
from lowrankgcn.graphs.table import DEFAULT_BINS

__all__ = ["MOST_HYPEREDGES", "ColumnSketch", "TableSketch", "join_sketches", "sketch_block"]

#: Largest number of hyperedges, because the Gram matrix of hyperedges is stored.
MOST_HYPEREDGES = 4096

NOTHING: frozenset[Name] = frozenset()


@final
@dataclass(frozen=True, eq=False)
class ColumnSketch:
    """Values of one column in some blocks.

    Attributes
    ----------
    kind : {"nothing", "values", "numbers", "mixed"}
        Only missing cells; categories; numbers; categories in some blocks and numbers in others.
    unit : "datetime", "timedelta" or None
    counts : dict
        Number of rows of every value; for numbers only up to five distinct values.
    order : tuple or None
        Ordered categories of a categorical column.
    number_kind : {"f", "i", "u"}
        Floats, signed or unsigned integers.
    present : int
        Number of cells that are not missing.
    low, high : number
        Smallest and largest number.
    many : bool
        Whether there are more than five distinct numbers, which are not counted.
    """

    kind: str
    unit: Unit | None = None
    counts: dict[Value, int] | None = None
    order: tuple[Value, ...] | None = None
    number_kind: KeyKind = "f"
    present: int = 0
    low: Any = None
    high: Any = None
    many: bool = False


@final
@dataclass(frozen=True, eq=False)
class TableSketch:
    """Lengths and columns of some blocks.

    Attributes
    ----------
    lengths : tuple of int
        Number of rows of each block.
    columns : dict from name to ColumnSketch
    """

    lengths: tuple[int, ...]
    columns: dict[Name, ColumnSketch]


def sketch_block(block: Any, as_values: Set[Name] = NOTHING) -> TableSketch:
    """Summarise the columns of a block; columns in `as_values` are categories."""
    table = read_table(block)
    columns = {}
    for name, column in table.columns.items():
        cells = read_cells(column, name)
        if isinstance(cells, Numbers) and name in as_values:
            cells = cells.as_categories()
        columns[name] = _sketch(cells, name, table.n_rows)
    return TableSketch((table.n_rows,), columns)


def _sketch(cells: Categories | Numbers, name: Name, n_rows: int) -> ColumnSketch:
    if not n_rows or not cells.any_present():
        order = tuple(cells.values) if isinstance(cells, Categories) and cells.ordered else None
        return ColumnSketch("nothing", cells.unit, order=order)
    if isinstance(cells, Categories):
        counts = np.bincount(cells.codes[cells.codes >= 0], minlength=len(cells.values))
        found = {value: int(n) for value, n in zip(cells.values, counts.tolist(), strict=True) if n}
        _check_number(name, len(found))
        order = tuple(cells.values) if cells.ordered else None
        return ColumnSketch("values", cells.unit, found, order, present=int(counts.sum()))
    present = cells.present()
    distinct = pd.unique(present)
    few = len(distinct) <= DEFAULT_BINS
    kinds: dict[str, KeyKind] = {"i": "i", "u": "u"}
    return ColumnSketch(
        "numbers",
        cells.unit,
        dict(Counter(present.tolist())) if few else None,
        number_kind=kinds.get(present.dtype.kind, "f"),
        present=len(present),
        low=present.min().item(),
        high=present.max().item(),
        many=not few,
    )


def join_sketches(one: TableSketch, other: TableSketch) -> TableSketch:
    """Combine the summaries of two groups of blocks.

    Raises
    ------
    ValueError
        If a column has too many values, or blocks differ in their columns.
    """
    if list(one.columns) != list(other.columns):
        expected = f"columns {list(one.columns)} in all blocks"
        raise invalid("X", expected, f"{list(other.columns)}")
    columns = {name: _join(one.columns[name], other.columns[name], name) for name in one.columns}
    return TableSketch(one.lengths + other.lengths, columns)


def _join(one: ColumnSketch, other: ColumnSketch, name: Name) -> ColumnSketch:
    if one.kind == "nothing" or other.kind == "nothing":
        known, bare = (other, one) if one.kind == "nothing" else (one, other)
        return replace(known, order=known.order or bare.order, unit=known.unit or bare.unit)
    if one.unit != other.unit:
        raise invalid(f"column {name!r}", "one kind of values", f"{one.unit} and {other.unit}")
    if one.kind != other.kind:
        return ColumnSketch("mixed", one.unit, present=one.present + other.present)
    if one.kind == "mixed":
        return replace(one, present=one.present + other.present)
    present = one.present + other.present
    counts: dict[Value, int] | None = None
    if one.counts is not None and other.counts is not None:
        counts = dict(Counter(one.counts) + Counter(other.counts))
    if one.kind == "values":
        assert counts is not None
        _check_number(name, len(counts))
        order = one.order if one.order == other.order else None
        return ColumnSketch("values", one.unit, counts, order, present=present)
    if counts is not None and len(counts) > DEFAULT_BINS:
        counts = None
    return ColumnSketch(
        "numbers",
        one.unit,
        counts,
        number_kind=one.number_kind if one.number_kind == other.number_kind else "f",
        present=present,
        low=min(one.low, other.low),
        high=max(one.high, other.high),
        many=counts is None,
    )


def _check_number(name: Name, count: int) -> None:
    if count > MOST_HYPEREDGES:
        expected = f"at most {MOST_HYPEREDGES} distinct values (drop identifier columns)"
        raise invalid(f"column {name!r}", expected, f"{count} or more")
