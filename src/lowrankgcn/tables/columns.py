"""Fitted columns: hyperedges of values or bins, and scores of numbers.

A column is fitted to cells and then applied to those of new rows:

>>> import pandas as pd
>>> from lowrankgcn.tables.cells import Cells
>>> cells = Cells.read(pd.Series([1.0, 2.0, 5.0, 9.0]), "x")
>>> bins = Bins.fit(cells, "x", bins=2)
>>> bins.labels, bins.encode(cells)
(('(-inf, 2]', '(2, inf)'), array([0, 0, 1, 1], dtype=uint8))
>>> new = Cells.read(pd.Series([-7.0, 3.0, None]), "x")
>>> bins.encode(new)  # 2 means no hyperedge
array([0, 1, 2], dtype=uint8)
>>> Scores.fit(cells, "x").read(new)[0].round(2).tolist()  # a missing cell is the median
[-3.61, -0.4, -0.24]
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lowrankgcn._codec import saved
from lowrankgcn._validation import invalid
from lowrankgcn.tables.cells import Cells, Name, Unit, Value, spell, spell_short

Binning = Literal["quantile", "uniform"]
FloatArray = NDArray[np.float64]

_FEW_EDGES = 25  # measured: up to here, comparing whole columns beats a binary search per row
_SAMPLE = 4096  # rows that decide whether a column has few distinct numbers
_CONSTANT = 1e-12  # relative spread up to which a column is constant
_LARGEST = 1e100  # new numbers, in units of the largest fitted one, are clipped here
_TINY = 1e-290  # fitted numbers below are zero: slopes between their ranks would overflow
_KNOTS = 1000  # numbers whose ranks are stored; ranks between them are interpolated


@saved
@final
@dataclass(frozen=True)
class Values:
    """One hyperedge for each value; values that are not listed have none.

    Attributes
    ----------
    name : str or int
    values : tuple
        None stands for missing cells.
    shares : tuple of float
        Shares of the fitted rows that have the values.
    unit : {"datetime", "timedelta"} or None
    """

    name: Name
    values: tuple[Value | None, ...]
    shares: tuple[float, ...]
    unit: Unit | None = None

    @classmethod
    def fit(
        cls, cells: Cells, name: Name, *, min_count: int = 1, missing: bool = False, most: int = 0
    ) -> Values:
        """Fit to a column; every distinct number is a value.

        Parameters
        ----------
        min_count : int
            Minimum number of rows of a value.
        missing : bool
            Whether missing cells are a value.
        most : int
            If positive, the largest number of values, which then are in the order of their
            frequency. Otherwise they are sorted, numbers before texts, and missing cells last.
        """
        cells = cells.as_categories()
        values = [*cells.values, None]  # code -1 is the last
        codes = np.add(cells.codes, 1, dtype=np.intp)
        counts = np.roll(np.bincount(codes, minlength=len(values)), -1)
        counts[-1] *= missing
        order = np.argsort(-counts, kind="stable")[:most] if most else np.arange(len(values))
        kept = [int(k) for k in order if counts[k] >= min_count]
        if not most and not cells.ordered:
            kept.sort(key=lambda k: _sort_key(values[k]))
        shares = counts[kept] / max(1, len(cells))
        return cls(name, tuple(values[k] for k in kept), tuple(shares.tolist()), cells.unit)

    @property
    def labels(self) -> tuple[str, ...]:
        """Values as texts."""
        unit = self.unit
        return tuple("missing" if value is None else spell(value, unit) for value in self.values)

    @property
    def n_hyperedges(self) -> int:
        """Number of values."""
        return len(self.values)

    def encode(self, cells: Cells) -> NDArray[Any]:
        """Return the position of every cell in `values`, their number for none."""
        if self.values == (None,):
            return np.where(cells.missing, 0, 1).astype(np.uint8)
        if cells.unit != self.unit and not cells.missing.all():
            expected = f"{self.unit or 'plain'} values as at fitting"
            raise invalid(f"column {self.name!r}", expected, f"{cells.unit or 'plain'} values")
        none = len(self.values)
        cells = cells.as_categories()
        place = {value: k for k, value in enumerate(self.values)}
        places = [place.get(value, none) for value in [*cells.values, None]]
        return np.asarray(np.array(places, np.min_scalar_type(none))[cells.codes])


@saved
@final
@dataclass(frozen=True)
class Bins:
    """One hyperedge per kept bin of numbers; the outermost bins are unbounded.

    Bin k holds the numbers above ``edges[k - 1]`` up to and including ``edges[k]``.
    """

    name: Name
    edges: tuple[float, ...]  # ascending bin limits
    kept: tuple[int, ...]  # bins with a hyperedge, ascending
    unit: Unit | None = None
    missing_edge: bool = False  # whether missing cells have a hyperedge, the last one

    @classmethod
    def fit(
        cls,
        cells: Cells,
        name: Name,
        bins: int,
        *,
        binning: Binning = "quantile",
        min_count: int = 1,
        missing: bool = False,
    ) -> Bins:
        """Fit to a column of numbers with at least one present cell.

        Parameters
        ----------
        bins : int
        binning : {"quantile", "uniform"}
            Bins with equally many rows (equal numbers share a bin) or of equal width.
        min_count : int
            Minimum number of rows of a bin.
        missing : bool
            Whether missing cells form a hyperedge.
        """
        edges = _bin_edges(cells, bins, binning)
        places = _bin_numbers(cells, edges)
        counts = np.bincount(places[places >= 0], minlength=len(edges) + 1)
        kept = tuple(np.flatnonzero(counts >= min_count).tolist())
        missing = missing and int(cells.missing.sum()) >= min_count
        return cls(name, edges, kept, cells.unit, missing)

    @property
    def labels(self) -> tuple[str, ...]:
        """Intervals of the bins."""
        texts = [spell_short(edge, self.unit) for edge in self.edges]
        lower = ["(-inf", *(f"({text}" for text in texts)]
        upper = [*(f"{text}]" for text in texts), "inf)"]
        return (*(f"{lower[k]}, {upper[k]}" for k in self.kept), *["missing"] * self.missing_edge)

    @property
    def n_hyperedges(self) -> int:
        """Number of kept bins, and one for missing cells."""
        return len(self.kept) + self.missing_edge

    def encode(self, cells: Cells) -> NDArray[Any]:
        """Return the bin of every cell among the kept ones, `n_hyperedges` for none."""
        if cells.numbers is None or cells.unit != self.unit:
            cells = Cells(cells.missing, cells.as_floats(self.name, self.unit), unit=self.unit)
        none = self.n_hyperedges
        place = {number: k for k, number in enumerate(self.kept)}
        places = [place.get(k, none) for k in range(len(self.edges) + 1)]
        places.append(none - self.missing_edge)  # of missing cells, code -1
        dtype = np.min_scalar_type(none)
        return np.asarray(np.array(places, dtype)[_bin_numbers(cells, self.edges)])


#: Hyperedges of one column, numbered 0..n_hyperedges-1 within the column.
Encoding = Values | Bins


@saved
@final
@dataclass(frozen=True, eq=False)
class Scores:
    """Standard scores and ranks of numbers, in units of 2^exponent so that squares do not overflow.

    Attributes
    ----------
    name : str or int
    unit : {"datetime", "timedelta"} or None
    exponent : int
    median, mean, deviation : float
        Of the fitted cells; missing ones count as the median. The deviation of a constant column
        is infinite.
    knots, ranks : (k,) arrays
        Ascending numbers and their standardised ranks; empty if the scores take their place.
    """

    name: Name
    unit: Unit | None
    exponent: int
    median: float
    mean: float
    deviation: float
    knots: Annotated[FloatArray, "k"]
    ranks: Annotated[FloatArray, "k"]

    @classmethod
    def fit(cls, cells: Cells, name: Name, *, ranked: bool = True) -> Scores:
        """Fit to a column of numbers with at least one present cell; `ranked` adds ranks."""
        numbers = cells.as_floats(name, cells.unit)
        exponent = int(np.frexp(np.nanmax(np.abs(numbers)))[1])
        numbers = np.ldexp(numbers, -exponent)
        numbers[np.abs(numbers) < _TINY] = 0.0
        median = float(np.median(numbers[~cells.missing]))
        numbers[cells.missing] = median
        values, counts = np.unique(numbers, return_counts=True)
        mean = float(np.average(values, weights=counts))
        deviation = float(np.sqrt(np.average((values - mean) ** 2, weights=counts)))
        if deviation <= _CONSTANT * (1 + abs(mean)):
            deviation = math.inf
        ranks = np.cumsum(counts) - (counts + len(numbers)) / 2  # from the middle; ties share one
        ranks = ranks / (np.sqrt(np.average(ranks**2, weights=counts)) or 1.0)
        most = min(len(values), _KNOTS) if ranked and deviation < math.inf else 0
        kept = np.unique(np.linspace(0, len(values) - 1, most).round().astype(np.intp))
        knots, ranks = values[kept], ranks[kept]
        return cls(name, cells.unit, exponent, median, mean, deviation, knots, ranks)

    def read(self, cells: Cells) -> tuple[FloatArray, FloatArray]:
        """Return standard scores and standardised ranks, each of shape (n,)."""
        with np.errstate(over="ignore"):
            numbers = np.ldexp(cells.as_floats(self.name, self.unit), -self.exponent)
        filled = np.where(cells.missing, self.median, np.clip(numbers, -_LARGEST, _LARGEST))
        standard = (filled - self.mean) / self.deviation
        return standard, np.interp(filled, self.knots, self.ranks) if len(self.knots) else standard


def is_few_integers(cells: Cells, most: int) -> bool:
    """Return whether all present cells are at most `most` distinct integers, or none is present."""
    if cells.numbers is None or cells.unit is not None:
        return bool(cells.missing.all())
    distinct = _few_distinct(cells.numbers[~cells.missing], most)
    return distinct is not None and bool((distinct == np.floor(distinct)).all())


def _bin_edges(cells: Cells, bins: int, binning: Binning) -> tuple[float, ...]:
    """Return the bin limits."""
    present = cells.numbers[~cells.missing]
    low, high = float(present.min()), float(present.max())
    if binning == "uniform":
        number = np.arange(1, bins)
        if math.isfinite(bins * (high - low)):
            edges = low + number * (high - low) / bins  # exact where the edge is a number
        else:
            edges = low * (1 - number / bins) + high * (number / bins)
    elif (distinct := _few_distinct(present, bins)) is not None:
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


def _bin_numbers(cells: Cells, edges: Sequence[float]) -> NDArray[Any]:
    """Return the bin of every number, -1 where missing."""
    places: NDArray[Any]
    if len(edges) <= _FEW_EDGES:
        places = np.zeros(len(cells), dtype=np.int8)
        for edge in edges:
            places += cells.numbers > edge
    else:
        places = np.searchsorted(np.asarray(edges), cells.numbers, side="left")
    places[cells.missing] = -1
    return places


def _sort_key(value: Value | None) -> tuple[bool, bool, Any]:
    """Order numbers before texts, and missing cells last."""
    return value is None, isinstance(value, str), 0 if value is None else value
