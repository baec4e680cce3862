"""Mean, standard deviation and exact order statistics of numeric columns in blocks.

Sums are sums of integers, and searches count, so neither depends on the division into blocks or the
order of rows.

>>> import dask.array as da, numpy as np
>>> from lowrankgcn.distributed.blocks import Blocks
>>> blocks = Blocks.from_collection(da.from_array(np.arange(12.0).reshape(6, 2), chunks=(2, 2)))
>>> columns = {0: Spread("f", 0.0, 10.0, 6)}
>>> found, units = survey(blocks, columns, {0: (2, 3)}, lambda block, names: {0: block[:, 0]})
>>> found[0].tolist(), units[0].centre, round(units[0].scale, 4)
([4.0, 6.0], 5.0, 3.4157)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from lowrankgcn.distributed.blocks import Blocks
from lowrankgcn.distributed.fixed_point import FixedSum, exponent_of
from lowrankgcn.distributed.selection import KeyKind, Search, numbers_from_keys, ordered_keys
from lowrankgcn.graphs.cells import Name

__all__ = ["Spread", "Units", "survey"]

_CONSTANT = 1e-12  # relative standard deviation up to which a column is constant


@final
@dataclass(frozen=True)
class Spread:
    """Type, extremes and number of the non-missing cells of a column."""

    kind: KeyKind
    low: Any
    high: Any
    present: int


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
@dataclass(frozen=True)
class _Query:
    """Counts and sums of a column in one pass; the sum is that of x or of (x − centre)²."""

    kind: KeyKind
    searches: tuple[Search, ...]  # searches in different intervals
    exponent: int | None = None
    centre: float | None = None


Measurement = tuple[tuple[Any, ...], FixedSum | None]
Reader = Callable[[Any, tuple[Name, ...]], Mapping[Name, NDArray[Any]]]


def survey(
    blocks: Blocks,
    columns: Mapping[Name, Spread],
    ranks: Mapping[Name, tuple[int, ...]],
    read: Reader,
) -> tuple[dict[Name, NDArray[Any]], dict[Name, Units]]:
    """Compute order statistics, and mean and standard deviation, of columns.

    Parameters
    ----------
    blocks : Blocks
    columns : mapping from name to Spread
    ranks : mapping from name to tuple of int
        Ranks from 0.
    read : callable
        ``read(block, names)`` returns the non-missing numbers of columns.

    Notes
    -----
    Two passes compute the units and begin the searches, which take at most four more.
    """
    searches = {name: _searches(column, ranks[name]) for name, column in columns.items()}
    centre: dict[Name, float] = {}
    units: dict[Name, Units] = {}
    while len(units) < len(columns) or any(not s.done for one in searches.values() for s in one):
        queries = {}
        for name, column in columns.items():
            intervals = {(s.low, s.high): s for s in searches[name] if not s.done}
            if name in units and not intervals:
                continue
            exponent = None if name in units else _exponent(column, centre.get(name))
            wanted = tuple(intervals.values())
            queries[name] = _Query(column.kind, wanted, exponent, centre.get(name))
        results = blocks.reduce(_measure, _join_measurements, queries, read)
        for name, query in queries.items():
            counts, total = results[name]
            keys = ((s.low, s.high) for s in query.searches)
            found = dict(zip(keys, counts, strict=True))
            searches[name] = tuple(
                s.narrowed(found[s.low, s.high]) if (s.low, s.high) in found else s
                for s in searches[name]
            )
            if total is None:
                continue
            if query.centre is None:
                centre[name] = total.mean()
            else:
                units[name] = _units(columns[name], query, total)
    numbers = {
        name: numbers_from_keys(np.array([s.low for s in found], np.uint64), columns[name].kind)
        for name, found in searches.items()
    }
    return numbers, units


def _searches(column: Spread, ranks: tuple[int, ...]) -> tuple[Search, ...]:
    if not ranks:
        return ()
    low, high = ordered_keys(np.array([column.low, column.high]), column.kind)
    return tuple(Search.start(rank, low, high) for rank in ranks)


def _exponent(column: Spread, centre: float | None) -> int:
    if centre is None:
        return exponent_of(max(abs(float(column.low)), abs(float(column.high))))
    return exponent_of(max(float(column.high) - centre, centre - float(column.low)))


def _units(column: Spread, query: _Query, total: FixedSum) -> Units:
    assert query.centre is not None and query.exponent is not None
    scale = float(np.ldexp(np.sqrt(total.mean()), query.exponent))
    if scale <= _CONSTANT * max(abs(float(column.low)), abs(float(column.high))):
        return Units(query.centre, float("inf"), 0.0, column.present)
    offset = max(float(column.high) - query.centre, query.centre - float(column.low))
    return Units(query.centre, scale, offset / scale, column.present)


def _measure(block: Any, queries: Mapping[Name, _Query], read: Reader) -> dict[Name, Measurement]:
    numbers = read(block, tuple(queries))
    return {name: _measure_column(numbers[name], query) for name, query in queries.items()}


def _measure_column(present: NDArray[Any], query: _Query) -> Measurement:
    keys = ordered_keys(present, query.kind) if query.searches else np.zeros(0, np.uint64)
    counts = tuple(search.count(keys) for search in query.searches)
    if query.exponent is None:
        return counts, None
    numbers = present.astype(np.float64)
    if query.centre is None:
        return counts, FixedSum.from_numbers(numbers, query.exponent)
    offsets = np.ldexp(numbers - query.centre, -query.exponent)
    return counts, FixedSum.from_numbers(np.square(offsets), 1)


def _join_measurements(
    one: dict[Name, Measurement], other: dict[Name, Measurement]
) -> dict[Name, Measurement]:
    joined = {}
    for name, (counts, total) in one.items():
        more, further = other[name]
        added = None if total is None or further is None else total + further
        joined[name] = tuple(a + b for a, b in zip(counts, more, strict=True)), added
    return joined
