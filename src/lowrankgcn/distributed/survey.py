"""Mean, standard deviation and exact order statistics of columns of numbers in many blocks.

Sums are of integers and searches count, so that neither depends on how the rows are cut into blocks
nor on their order.

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
from lowrankgcn.distributed.selection import KeyKind, Search, numbers_of, ordered_keys
from lowrankgcn.graphs.cells import Name

__all__ = ["Spread", "Units", "survey"]

_CONSTANT = 1e-12  # columns vary if their spread is more than rounding of their size


@final
@dataclass(frozen=True)
class Spread:
    """Type, ends and number of the cells of a column that are not missing."""

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
    """What a pass asks of a column: counts for searches, and a sum of x or of (x − centre)²."""

    kind: KeyKind
    searches: tuple[Search, ...]  # of different intervals
    exponent: int | None = None
    centre: float | None = None


Answer = tuple[tuple[Any, ...], FixedSum | None]
Reader = Callable[[Any, tuple[Name, ...]], Mapping[Name, NDArray[Any]]]


def survey(
    blocks: Blocks,
    columns: Mapping[Name, Spread],
    ranks: Mapping[Name, tuple[int, ...]],
    read: Reader,
) -> tuple[dict[Name, NDArray[Any]], dict[Name, Units]]:
    """Numbers of the given ranks, and units, of columns.

    Parameters
    ----------
    blocks : Blocks
    columns : mapping from name to Spread
    ranks : mapping from name to tuple of int
        From 0.
    read : callable
        ``read(block, names)`` gives the numbers of columns that are not missing.

    Notes
    -----
    Two passes for the units, in which the searches begin, and at most four more for these.
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
            asked = tuple(intervals.values())
            queries[name] = _Query(column.kind, asked, exponent, centre.get(name))
        answers = blocks.reduce(_ask, _join_answers, queries, read)
        for name, query in queries.items():
            counts, total = answers[name]
            asked_for = ((s.low, s.high) for s in query.searches)
            found = dict(zip(asked_for, counts, strict=True))
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
        name: numbers_of(np.array([s.low for s in found], np.uint64), columns[name].kind)
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


def _ask(block: Any, queries: Mapping[Name, _Query], read: Reader) -> dict[Name, Answer]:
    numbers = read(block, tuple(queries))
    return {name: _answer(numbers[name], query) for name, query in queries.items()}


def _answer(present: NDArray[Any], query: _Query) -> Answer:
    keys = ordered_keys(present, query.kind) if query.searches else np.zeros(0, np.uint64)
    counts = tuple(search.count(keys) for search in query.searches)
    if query.exponent is None:
        return counts, None
    numbers = present.astype(np.float64)
    if query.centre is None:
        return counts, FixedSum.from_numbers(numbers, query.exponent)
    offsets = np.ldexp(numbers - query.centre, -query.exponent)
    return counts, FixedSum.from_numbers(np.square(offsets), 1)


def _join_answers(one: dict[Name, Answer], other: dict[Name, Answer]) -> dict[Name, Answer]:
    joined = {}
    for name, (counts, total) in one.items():
        more, further = other[name]
        added = None if total is None or further is None else total + further
        joined[name] = tuple(a + b for a, b in zip(counts, more, strict=True)), added
    return joined
