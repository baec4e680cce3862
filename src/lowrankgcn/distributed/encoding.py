"""Table encoder of a table in blocks, equal to that of the table in memory.

>>> import dask.dataframe as dd, pandas as pd
>>> from lowrankgcn.distributed.blocks import Blocks
>>> from lowrankgcn.graphs import TableEncoder
>>> table = pd.DataFrame({"colour": ["red", "blue"] * 10, "length": [k / 7 for k in range(20)]})
>>> fitted = fit_table(Blocks.from_collection(dd.from_pandas(table, npartitions=4)))
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
from numpy.typing import NDArray

from lowrankgcn._validation import invalid
from lowrankgcn.distributed.blocks import Blocks
from lowrankgcn.distributed.survey import Spread, Units, survey
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

__all__ = ["FittedTable", "fit_table"]


@final
@dataclass(frozen=True, eq=False)
class FittedTable:
    """Encoder of a table, and the units of its binned columns.

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
    One pass, and about six more over binned columns. Two of these compute mean and standard
    deviation and begin the search for the edges of the bins.
    """
    sketch = blocks.reduce(sketch_block, join_sketches)
    mixed = frozenset(name for name, column in sketch.columns.items() if column.kind == "mixed")
    if mixed:  # columns with numbers in some blocks and texts in others
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
    """Return whether a numeric column is binned; a few distinct integers are not."""
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
    # Every bin contains its upper edge or the largest number, so none is empty.
    return BinnedColumn(name, inner, tuple(range(len(inner) + 1)), column.unit)


def _survey(
    blocks: Blocks, columns: Mapping[Name, ColumnSketch]
) -> tuple[dict[Name, Any], dict[Name, Units]]:
    """Return the edges of the bins and the units of the columns."""
    spreads = {
        name: Spread(column.number_kind, column.low, column.high, column.present)
        for name, column in columns.items()
    }
    ranks = {name: _ranks(column) for name, column in columns.items()}
    found, units = survey(blocks, spreads, ranks, _numbers)
    edges = {
        name: found[name]
        if column.many
        else separating_edges(np.array(sorted(column.counts or {})))
        for name, column in columns.items()
    }
    return edges, units


def _ranks(column: ColumnSketch) -> tuple[int, ...]:
    return tuple(quantile_ranks(column.present, DEFAULT_BINS).tolist()) if column.many else ()


def _numbers(block: Any, names: tuple[Name, ...]) -> dict[Name, NDArray[Any]]:
    """Return the non-missing numbers of some columns of a block."""
    table = read_table(block)
    cells = {name: read_cells(table.columns[name], name) for name in names}
    return {
        name: found.present() if isinstance(found, Numbers) else np.zeros(0)
        for name, found in cells.items()
    }
