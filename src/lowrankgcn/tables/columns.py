"""Fitted columns: hyperedges of values or bins, and scores of numbers.

A column is fitted to cells and then applied to those of new rows:

>>> import pandas as pd
>>> from lowrankgcn.tables.cells import Cells
>>> cells = Cells.read(pd.Series([1.0, 2.0, 5.0, 9.0]), "x")
>>> bins = Encoding.fit(cells, "x", bins=2)
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
from itertools import pairwise
from typing import Annotated, Any, Literal, final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lowrankgcn._codec import saved
from lowrankgcn._validation import invalid
from lowrankgcn.tables.cells import Cells, Name, Unit, Value, lower_boolean, spell, spell_short

Binning = Literal["quantile", "uniform"]
FloatArray = NDArray[np.float64]

_FEW_LIMITS = 25  # measured: up to here, comparing whole columns beats a binary search per row
_SAMPLE = 4096  # rows that decide whether a column has few distinct numbers
_CONSTANT = 1e-12  # relative spread up to which a column is constant
_LARGEST = 1e100  # new numbers, in units of the largest fitted one, are clipped here
_TINY = 1e-290  # fitted numbers below are zero: slopes between their ranks would overflow
_LEVELS = ["low", "average", "high"]
_THIRD = 1 / math.sqrt(3)  # a third of even ranks with deviation one is as near to zero
_VECTORS = 1000  # that decide about the effective number of dimensions
_KNOTS = 1000  # numbers whose ranks are stored; ranks between them are interpolated


@saved
@final
@dataclass(frozen=True)
class Encoding:
    """Hyperedges of a column: one for each value, or for each bin of its numbers.

    Attributes
    ----------
    name : str or int
    values : tuple
        Values, or numbers of bins, with a hyperedge; None stands for missing cells.
    shares : tuple of float
        Shares of the fitted rows that have the values.
    unit : {"datetime", "timedelta"} or None
    limits : tuple of float, or None without bins
        Ascending. Bin k holds the numbers above ``limits[k - 1]`` up to and including
        ``limits[k]``; the outermost bins are unbounded.
    """

    name: Name
    values: tuple[Value | None, ...]
    shares: tuple[float, ...]
    unit: Unit | None = None
    limits: tuple[float, ...] | None = None

    @classmethod
    def fit(
        cls,
        cells: Cells,
        name: Name,
        bins: int | None = None,
        *,
        binning: Binning = "quantile",
        min_count: int = 1,
        missing: bool = False,
        most: int = 0,
    ) -> Encoding:
        """Fit to a column.

        Parameters
        ----------
        bins : int, optional
            Number of bins of numbers, at least one of which is present. By default, every distinct
            number is a value.
        binning : {"quantile", "uniform"}
            Bins with equally many rows (equal numbers share a bin) or of equal width.
        min_count : int
            Minimum number of rows of a value.
        missing : bool
            Whether missing cells are a value.
        most : int
            If positive, the largest number of values, which then are in the order of their
            frequency. Otherwise they are sorted, numbers before texts, and missing cells last.
        """
        limits = None if bins is None else _bin_limits(cells, bins, binning)
        categories = cells.as_categories() if limits is None else _binned(cells, limits)
        values = [*categories.values, None]  # code -1 is the last
        codes = np.add(categories.codes, 1, dtype=np.intp)
        counts = np.roll(np.bincount(codes, minlength=len(values)), -1)
        counts[-1] *= missing
        order = np.argsort(-counts, kind="stable")[:most] if most else np.arange(len(values))
        kept = [int(k) for k in order if counts[k] >= min_count]
        if not most and not categories.ordered:
            # Numbers come before texts, and missing cells last.
            kept.sort(key=lambda k: (values[k] is None, isinstance(values[k], str), values[k]))
        shares = counts[kept] / max(1, len(cells))
        kept_values = tuple(values[k] for k in kept)
        return cls(name, kept_values, tuple(shares.tolist()), cells.unit, limits)

    @property
    def binned(self) -> bool:
        """Whether the values are bins of numbers, not only their missing cells."""
        return self.limits is not None and self.values != (None,)

    @property
    def labels(self) -> tuple[str, ...]:
        """Values, or intervals of the bins, as texts."""
        names: Any = {v: spell(v, self.unit) for v in self.values if v is not None}
        if self.limits is not None:
            texts = ["-inf", *(spell_short(limit, self.unit) for limit in self.limits), "inf"]
            names = {k: f"({low}, {high}]" for k, (low, high) in enumerate(pairwise(texts))}
            names[len(self.limits)] = f"({texts[-2]}, inf)"
        return tuple("missing" if value is None else names[value] for value in self.values)

    def positions(self, values: Sequence[Value | None]) -> list[int]:
        """Return where values are among those of the column, their number for unknown ones.

        Booleans are the same as their texts, which is how text files spell them.
        """
        none = len(self.values)
        place = {lower_boolean(value): k for k, value in enumerate(self.values)}
        place |= {value: k for k, value in enumerate(self.values)}
        return [place.get(v, place.get(lower_boolean(v), none)) for v in values]

    def encode(self, cells: Cells) -> NDArray[Any]:
        """Return the position of every cell in `values`, their number for none."""
        if self.limits is not None:
            if cells.numbers is None or cells.unit != self.unit:
                cells = Cells(cells.missing, cells.as_floats(self.name, self.unit), unit=self.unit)
            cells = _binned(cells, self.limits)
        elif cells.unit != self.unit and not cells.missing.all():
            expected = f"{self.unit or 'plain'} values as at fitting"
            raise invalid(f"column {self.name!r}", expected, f"{cells.unit or 'plain'} values")
        cells = cells.as_categories()
        places = np.array(self.positions([*cells.values, None]))
        return np.asarray(places.astype(np.min_scalar_type(len(self.values)))[cells.codes])


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
        mean = float(values @ counts) / len(numbers)
        deviation = float(np.sqrt((values - mean) ** 2 @ counts / len(numbers)))
        if deviation <= _CONSTANT * (1 + abs(mean)):
            deviation = math.inf
        ranks = np.cumsum(counts) - (counts + len(numbers)) / 2  # from the middle; ties share one
        ranks = ranks / (np.sqrt(ranks**2 @ counts / len(numbers)) or 1.0)
        most = min(len(values), _KNOTS) if ranked and deviation < math.inf else 0
        kept = np.unique(np.linspace(0, len(values) - 1, most).round().astype(np.intp))
        knots, ranks = values[kept], ranks[kept]
        return cls(name, cells.unit, exponent, median, mean, deviation, knots, ranks)

    def levels(self, cells: Cells) -> list[str]:
        """Return in which third of the fitted cells each one is, in words; empty if missing."""
        ranks = self.read(cells)[1]
        words = ["early", "average", "late"] if self.unit == "datetime" else _LEVELS
        thirds = np.where(cells.missing, 3, np.digitize(ranks, [-_THIRD, _THIRD]))
        return [[*words, ""][third] for third in thirds]

    def read(self, cells: Cells) -> tuple[FloatArray, FloatArray]:
        """Return standard scores and standardised ranks, each of shape (n,)."""
        standard, filled = self.standard(cells)
        return standard, np.interp(filled, self.knots, self.ranks) if len(self.knots) else standard

    def standard(self, cells: Cells) -> tuple[FloatArray, FloatArray]:
        """Return standard scores and the numbers that they are scores of."""
        with np.errstate(over="ignore"):
            numbers = np.ldexp(cells.as_floats(self.name, self.unit), -self.exponent)
        filled = np.where(cells.missing, self.median, np.clip(numbers, -_LARGEST, _LARGEST))
        return (filled - self.mean) / self.deviation, filled


@saved
@final
@dataclass(frozen=True, eq=False)
class VectorScores:
    """Scores of vectors: offsets from the mean vector in one unit, which keeps their distances.

    The variances of all entries add up to the effective number of dimensions, the participation
    ratio (Σλ)² / Σλ² of the eigenvalues λ of the covariance. A vector thus weighs as much as that
    many columns of numbers.

    Attributes
    ----------
    name : str or int
    mean : (d,) array
        Mean of the fitted vectors; missing ones count as the mean.
    unit : float
        Infinite if all vectors are equal.
    """

    name: Name
    mean: Annotated[FloatArray, "d"]
    unit: float

    @classmethod
    def fit(cls, cells: Cells, name: Name) -> VectorScores:
        """Fit to a column of vectors, at least one of which is present."""
        vectors = cells.numbers[~cells.missing].astype(np.float64)
        exponent = int(np.frexp(np.abs(vectors).max())[1])  # squares do not overflow
        mean = np.ldexp(vectors, -exponent).mean(axis=0)
        offsets = np.ldexp(vectors, -exponent) - mean
        total = float((offsets**2).sum(axis=1).mean())
        if total <= (_CONSTANT * (1 + np.abs(mean).max())) ** 2:
            return cls(name, np.ldexp(mean, exponent), math.inf)
        sample = offsets[:: -(-len(offsets) // _VECTORS)]
        small = sample if len(sample) < sample.shape[1] else sample.T
        squares = float((sample**2).sum()) ** 2 / float(((small @ small.T) ** 2).sum())
        return cls(name, np.ldexp(mean, exponent), math.ldexp(math.sqrt(total / squares), exponent))

    def read(self, cells: Cells) -> FloatArray:
        """Return the scores of cells, shape (n, d)."""
        if cells.missing.all():
            return np.zeros((len(cells), len(self.mean)))
        if cells.kind != "vector" or cells.numbers.shape[1] != len(self.mean):
            got = f"{cells.numbers.shape[1]} numbers" if cells.kind == "vector" else cells.kind
            raise invalid(f"column {self.name!r}", f"vectors of {len(self.mean)} numbers", got)
        offsets = np.where(cells.missing[:, None], 0.0, cells.numbers - self.mean)
        return np.asarray(offsets / self.unit, np.float64)


def is_few_integers(cells: Cells, most: int) -> bool:
    """Return whether all present cells are at most `most` distinct integers, or none is present."""
    if cells.kind != "number":
        return bool(cells.missing.all())
    distinct = _few_distinct(cells.numbers[~cells.missing], most)
    return distinct is not None and bool((distinct == np.floor(distinct)).all())


def _bin_limits(cells: Cells, bins: int, binning: Binning) -> tuple[float, ...]:
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


def _binned(cells: Cells, limits: Sequence[float]) -> Cells:
    """Return numbers as categories, the numbers of their bins."""
    places: NDArray[Any] = np.zeros(len(cells), dtype=np.int8)
    if len(limits) > _FEW_LIMITS:
        places = np.searchsorted(np.asarray(limits), cells.numbers, side="left")
    else:
        for limit in limits:
            places += cells.numbers > limit
    places[cells.missing] = -1
    return Cells(cells.missing, codes=places, values=[*range(len(limits) + 1)], ordered=True)
