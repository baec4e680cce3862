"""Encodings of one column as hyperedges: one per value, or one per bin.

An encoding is fitted to a column and then applied to new rows:

>>> import pandas as pd
>>> from lowrankgcn.graphs.cells import read_cells
>>> cells = read_cells(pd.Series([1.0, 2.0, 5.0, 9.0]), "x")
>>> column, hyperedges = fit_column(cells, "x", bins=2)
>>> column.labels, hyperedges
(('(-inf, 2]', '(2, inf)'), array([0, 0, 1, 1], dtype=uint8))
>>> column.encode(read_cells(pd.Series([-7.0, 3.0, None]), "x"))  # 2 means no hyperedge
array([0, 1, 2], dtype=uint8)
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal, final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lowrankgcn._codec import saved
from lowrankgcn._validation import invalid
from lowrankgcn.graphs.cells import Categories, Numbers, Unit, Value

Binning = Literal["quantile", "uniform"]

_FEW_EDGES = 25  # measured: up to here, comparing whole columns beats a binary search per row
_SAMPLE = 4096  # rows that decide whether a column has few distinct numbers


class ColumnEncoding(ABC):
    """Hyperedges of one column, numbered 0..n_hyperedges-1 within the column."""

    name: str | int
    unit: Unit | None  # unit of dates and durations
    missing_edge: bool  # whether missing cells have a hyperedge, the last one

    @property
    @abstractmethod
    def _value_labels(self) -> tuple[str, ...]:
        """Label of every hyperedge except that of missing cells."""

    @abstractmethod
    def _locate(self, cells: Categories | Numbers) -> tuple[NDArray[Any], list[int]]:
        """Return each cell's position in a list of hyperedges (-1 if missing), and the list."""

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """Label of every hyperedge: the value, the interval of the bin, or "missing"."""
        return (*self._value_labels, "missing") if self.missing_edge else self._value_labels

    @property
    def n_hyperedges(self) -> int:
        """Number of hyperedges of the column."""
        return len(self.labels)

    def encode(self, cells: Categories | Numbers) -> NDArray[Any]:
        """Return the hyperedge of every cell, n_hyperedges for none, shape (n,), unsigned."""
        if cells.unit != self.unit and not cells.missing.all():
            raise invalid(
                f"column {self.name!r}",
                f"{self.unit or 'plain'} values as at fitting",
                f"{cells.unit or 'plain'} values",
            )
        positions, hyperedges = self._locate(cells)
        none = self.n_hyperedges
        hyperedges.append(none - 1 if self.missing_edge else none)  # position -1: missing cells
        return np.asarray(np.array(hyperedges, np.min_scalar_type(none))[positions])


@saved
@final
@dataclass(frozen=True)
class CategoryColumn(ColumnEncoding):
    """One hyperedge per value; values that are not listed have none."""

    name: str | int
    values: tuple[Value, ...]
    unit: Unit | None = None
    missing_edge: bool = False

    def __post_init__(self) -> None:
        if len(set(self.values)) < len(self.values):
            raise invalid("values", "distinct values", repr(self.values)[:100])
        if self.unit and any(isinstance(value, str) for value in self.values):
            raise invalid("values", f"numbers with a {self.unit}", repr(self.values)[:100])

    @property
    def _value_labels(self) -> tuple[str, ...]:
        return tuple(_label(value, self.unit) for value in self.values)

    def _locate(self, cells: Categories | Numbers) -> tuple[NDArray[Any], list[int]]:
        if isinstance(cells, Numbers):
            cells = cells.as_categories()
        rank = {value: k for k, value in enumerate(self.values)}
        return cells.codes, [rank.get(value, self.n_hyperedges) for value in cells.values]


@saved
@final
@dataclass(frozen=True)
class BinnedColumn(ColumnEncoding):
    """One hyperedge per kept bin of numbers; the outermost bins are unbounded.

    Bin k holds the numbers above ``edges[k - 1]`` up to and including ``edges[k]``.
    """

    name: str | int
    edges: tuple[float, ...]  # ascending bin limits
    kept: tuple[int, ...]  # bins with a hyperedge, ascending
    unit: Unit | None = None
    missing_edge: bool = False

    def __post_init__(self) -> None:
        if any(a >= b for numbers in (self.edges, self.kept) for a, b in pairwise(numbers)):
            got = f"{self.edges!r} and {self.kept!r}"
            raise invalid("edges and kept", "ascending numbers", got[:100])
        if any(abs(edge) >= 2**64 for edge in self.edges if type(edge) is int):
            raise invalid("edges", "integers of 64 bits", repr(self.edges)[:100])
        if self.kept and not (self.kept[0] >= 0 and self.kept[-1] <= len(self.edges)):
            raise invalid("kept", f"bins in 0..{len(self.edges)}", repr(self.kept)[:100])

    @property
    def _value_labels(self) -> tuple[str, ...]:
        texts = [_edge_label(edge, self.unit) for edge in self.edges]
        lower = ["(-inf", *(f"({text}" for text in texts)]
        upper = [*(f"{text}]" for text in texts), "inf)"]
        return tuple(f"{lower[k]}, {upper[k]}" for k in self.kept)

    def _locate(self, cells: Categories | Numbers) -> tuple[NDArray[Any], list[int]]:
        if isinstance(cells, Categories):
            cells = _as_numbers(cells, self.name)
        rank = {number: k for k, number in enumerate(self.kept)}
        hyperedges = [rank.get(k, self.n_hyperedges) for k in range(len(self.edges) + 1)]
        return _bin_numbers(cells, self.edges), hyperedges


def fit_column(
    cells: Categories | Numbers,
    name: str | int,
    *,
    bins: int | None = 5,
    binning: Binning = "quantile",
    missing_edge: bool = False,
    min_count: int = 1,
) -> tuple[ColumnEncoding, NDArray[Any]]:
    """Fit the hyperedges of a column.

    Parameters
    ----------
    cells : Categories or Numbers
        The column.
    name : str or int
        Its name.
    bins : int or None
        Number of bins for numbers; None makes every distinct number a category, as do integers
        with at most `bins` distinct values.
    binning : {"quantile", "uniform"}
        Bins with equally many rows (equal numbers share a bin) or of equal width.
    missing_edge : bool
        Whether missing cells form a hyperedge.
    min_count : int
        Minimum number of rows of a hyperedge.

    Returns
    -------
    encoding : ColumnEncoding
        The fitted column.
    hyperedges : ndarray, shape (n,)
        The encoding applied to `cells`.
    """
    edges = _bin_edges(cells, bins, binning) if isinstance(cells, Numbers) and bins else None
    if isinstance(cells, Numbers) and edges is not None:
        positions, n_values = _bin_numbers(cells, edges), len(edges) + 1
    else:
        cells = cells.as_categories() if isinstance(cells, Numbers) else cells
        positions, n_values = cells.codes, len(cells.values)
    counts = np.bincount(positions[positions >= 0], minlength=n_values)
    chosen = np.flatnonzero(counts >= min_count).tolist()
    missing_edge = missing_edge and len(positions) - int(counts.sum()) >= min_count
    encoding: ColumnEncoding
    if isinstance(cells, Categories):
        values = [cells.values[k] for k in chosen]
        if not cells.ordered:
            values.sort(key=lambda value: (isinstance(value, str), value))  # numbers before texts
        encoding = CategoryColumn(name, tuple(values), cells.unit, missing_edge)
    else:
        encoding = BinnedColumn(name, edges or (), tuple(chosen), cells.unit, missing_edge)
    return encoding, encoding.encode(cells)


def _bin_edges(cells: Numbers, bins: int, binning: Binning) -> tuple[float, ...] | None:
    """Return the bin limits, or None if every distinct value becomes a category."""
    present = cells.present()
    if not present.size:
        return None
    distinct = _few_distinct(present, bins)
    if distinct is not None and cells.unit is None and (distinct == np.floor(distinct)).all():
        return None
    low, high = float(present.min()), float(present.max())
    if binning == "uniform":
        number = np.arange(1, bins)
        if math.isfinite(bins * (high - low)):
            edges = low + number * (high - low) / bins  # exact where the edge is a number
        else:
            edges = low * (1 - number / bins) + high * (number / bins)
    elif distinct is not None:
        # Half-way between few distinct numbers; quantiles would merge rare and frequent values.
        middle = distinct[:-1] / 2 + distinct[1:] / 2
        edges = np.where(middle < distinct[1:], middle, distinct[:-1])
    else:
        last = -(-np.arange(1, bins) * present.size // bins) - 1  # rank of a bin's last number
        edges = np.partition(present, last)[last]
    inside = (edges >= present.min()) & (edges < present.max())
    return tuple(np.unique(edges[inside]).tolist())


def _few_distinct(present: NDArray[Any], limit: int) -> NDArray[Any] | None:
    """Return the distinct numbers, ascending, if there are at most `limit`, else None."""
    # A sample decides most columns without a pass over all rows.
    if len(pd.unique(present[:: max(1, present.size // _SAMPLE)])) > limit:
        return None
    distinct = pd.unique(present)
    return np.sort(distinct) if len(distinct) <= limit else None


def _bin_numbers(cells: Numbers, edges: Sequence[float]) -> NDArray[Any]:
    """Return the bin of every number, -1 where missing."""
    positions: NDArray[Any]
    if len(edges) <= _FEW_EDGES:
        positions = np.zeros(len(cells.data), dtype=np.int8)
        for edge in edges:
            positions += cells.data > edge
    else:
        positions = np.searchsorted(np.asarray(edges), cells.data, side="left")
    positions[cells.missing] = -1
    return positions


def _as_numbers(cells: Categories, name: str | int) -> Numbers:
    """Convert categories that are numbers or booleans to numbers."""
    for value in cells.values:
        if isinstance(value, str):
            raise invalid(f"column {name!r}", "numbers as at fitting", repr(value))
    data = np.array([*cells.values, 0], dtype=np.float64)[cells.codes]
    return Numbers(data, cells.codes < 0, cells.unit)


def _label(value: Value, unit: Unit | None) -> str:
    if unit is None:
        return str(value)
    if unit == "timedelta":
        return str(pd.Timedelta(microseconds=round(float(value))))
    text = str(np.datetime64(round(float(value)), "us"))
    return text.removesuffix(".000000").removesuffix("T00:00:00")


def _edge_label(edge: float, unit: Unit | None) -> str:
    return f"{edge:.6g}" if unit is None and isinstance(edge, float) else _label(edge, unit)
