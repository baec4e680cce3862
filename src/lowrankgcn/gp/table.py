"""Numeric features of tables with numbers, categories and missing cells.

A numeric column gives its standard scores or ranks as a feature. A column of categories gives one
centred indicator for each value. Missing numbers are replaced by the median and marked by an
indicator; a missing category is a value of its own.

>>> import pandas as pd
>>> table = pd.DataFrame({"size": [1.0, 2.0, None, 9.0, None], "kind": list("aabbc")})
>>> features = TableFeatures.fit(table)
>>> features.names  # the value "c" occurs once only
('size', 'size', 'kind', 'kind')
>>> features.read(table).standard.round(2).tolist()[2]
[-0.41, 0.6, -0.4, 0.6]
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from lowrankgcn._codec import saved
from lowrankgcn._validation import expect_shape, invalid
from lowrankgcn.graphs.cells import (
    Categories,
    Name,
    Numbers,
    Unit,
    Value,
    match_table,
    read_cells,
    read_table,
)
from lowrankgcn.operators import FloatArray

_FARTHEST = 5.0  # standard scores are clipped here
_LARGEST = 1e100  # new numbers, in units of the largest fitted one, are clipped here
_TINY = 1e-290  # fitted numbers below are zero: slopes between their ranks would overflow
_MOST_VALUES = 200  # values of a category with an indicator, the most frequent ones
_KNOTS = 1000  # numbers whose ranks are stored; ranks between them are interpolated
_CONSTANT = 1e-12  # relative spread up to which a column is constant
_BINS = (3, 8)  # quantile bins of the numbers as hyperedges, coarse and fine
# Columns have a common unit if the 0.9-quantile of their deviations is at most this many medians.
_COMMON_UNIT = 2.0
# Two or three numbers are coordinates of points if their deviations differ by at most this factor.
_MOST_COORDINATES, _COORDINATE_RATIO = 3, 2.5


@saved
@final
@dataclass(frozen=True, eq=False)
class NumberColumn:
    """A numeric column in units of 2^exponent, so that sums and squares do not overflow.

    Attributes
    ----------
    name : str or int
    unit : {"datetime", "timedelta"} or None
    exponent : int
    median, mean, deviation : float
        Of the fitted cells; missing ones count as the median.
    knots, ranks : (k,) arrays
        Ascending numbers and their standardised ranks. Empty for coordinates of points, which keep
        their standard score in place of the rank.
    missing : float
        Share of missing cells; zero if fewer than two are missing, which gives no indicator.
    """

    name: Name
    unit: Unit | None
    exponent: int
    median: float
    mean: float
    deviation: float
    knots: FloatArray
    ranks: FloatArray
    missing: float

    def __post_init__(self) -> None:
        expect_shape(self.knots, "knots", None)
        expect_shape(self.ranks, "ranks", len(self.knots))
        if not self.deviation > 0 or (np.diff(self.knots) <= 0).any():
            raise invalid("knots", "ascending numbers with a deviation > 0", "other numbers")

    @classmethod
    def fit(cls, cells: Numbers, name: Name) -> NumberColumn | None:
        """Fit to a column; return None if it is constant or empty."""
        present = cells.present().astype(np.float64)
        if not len(present):
            return None
        exponent = int(np.frexp(np.abs(present).max())[1])
        present = np.ldexp(present, -exponent)
        present[np.abs(present) < _TINY] = 0.0
        median = float(np.median(present))
        n_missing = len(cells.data) - len(present)
        values, counts = np.unique(present, return_counts=True)
        place = int(np.searchsorted(values, median))
        if n_missing and (place == len(values) or values[place] != median):
            values, counts = np.insert(values, place, median), np.insert(counts, place, 0)
        counts[place] += n_missing
        n, mean = counts.sum(), float(np.average(values, weights=counts))
        deviation = float(np.sqrt(np.average((values - mean) ** 2, weights=counts)))
        if deviation <= _CONSTANT * (1 + abs(mean)):
            return None
        ranks = np.cumsum(counts) - (counts - 1) / 2  # ties have their mean rank
        spread = np.sqrt(np.average((ranks - (n + 1) / 2) ** 2, weights=counts))
        ranks = (ranks - (n + 1) / 2) / spread
        if len(values) > _KNOTS:
            kept = np.unique(np.linspace(0, len(values) - 1, _KNOTS).round().astype(np.intp))
            values, ranks = values[kept], ranks[kept]
        missing = float(n_missing / n) if n_missing >= 2 else 0.0
        return cls(name, cells.unit, exponent, median, mean, deviation, values, ranks, missing)

    @property
    def n_features(self) -> int:
        """Number of features: the number, and the indicator of missing cells."""
        return 1 + (self.missing > 0)

    @property
    def n_cells(self) -> int:
        """Number of columns of hyperedges: one for each binning, and that of missing cells."""
        return len(_BINS) + (self.missing > 0)

    def read(self, cells: Categories | Numbers, out: TableRows, at: int, cell: int) -> None:
        """Write the features from column `at` on, and the cells from column `cell` on."""
        if cells.missing.all():  # the type of an empty column does not matter
            data = np.full(len(out.standard), np.nan)
        elif isinstance(cells, Categories) or cells.unit != self.unit:
            expected = f"{self.unit or 'number'}s as at fitting"
            got = "texts or other categories" if isinstance(cells, Categories) else cells.unit
            raise invalid(f"column {self.name!r}", expected, got or "numbers")
        else:
            with np.errstate(over="ignore"):
                data = np.ldexp(cells.data.astype(np.float64), -self.exponent)
            data = np.clip(data, -_LARGEST, _LARGEST)
            data[cells.missing] = np.nan
        absent = np.isnan(data)
        filled = np.where(absent, self.median, data)
        score = (filled - self.mean) / self.deviation
        out.standard[:, at] = out.ranks[:, at] = np.clip(score, -_FARTHEST, _FARTHEST)
        if len(self.knots):
            out.ranks[:, at] = np.interp(filled, self.knots, self.ranks)
        out.cells[:, cell : cell + len(_BINS)] = data[:, None]
        if self.missing:
            out.standard[:, at + 1] = out.ranks[:, at + 1] = absent - self.missing
            out.cells[:, cell + len(_BINS)] = np.where(absent, 1.0, np.nan)


@saved
@final
@dataclass(frozen=True)
class ValueColumn:
    """A column of categories.

    Attributes
    ----------
    name : str or int
    values : tuple
        Values with an indicator; None stands for missing cells.
    shares : tuple of float
        Their shares of the fitted rows.
    """

    name: Name
    values: tuple[Value | None, ...]
    shares: tuple[float, ...]

    def __post_init__(self) -> None:
        if len(self.shares) != len(self.values) or len(set(self.values)) < len(self.values):
            raise invalid("values", "distinct values with their shares", repr(self.values)[:100])

    @classmethod
    def fit(cls, cells: Categories, name: Name) -> ValueColumn | None:
        """Fit to a column; return None if no two rows are alike, or all are."""
        values = [*cells.values, None]  # code -1 reads the last
        counts = np.bincount(cells.codes + (cells.codes < 0) * len(values), minlength=len(values))
        order = np.argsort(-counts, kind="stable")[:_MOST_VALUES]
        kept = [int(k) for k in order if counts[k] >= 2]  # a value of one row does not generalise
        if not kept or counts[kept[0]] == len(cells.codes):
            return None
        shares = counts[kept] / len(cells.codes)
        return cls(name, tuple(values[k] for k in kept), tuple(shares.tolist()))

    @property
    def n_features(self) -> int:
        """Number of values with an indicator."""
        return len(self.values)

    @property
    def n_cells(self) -> int:
        """One column of hyperedges."""
        return 1

    def read(self, cells: Categories | Numbers, out: TableRows, at: int, cell: int) -> None:
        """Write the features from column `at` on, and the cells to column `cell`."""
        if isinstance(cells, Numbers):
            cells = cells.as_categories()
        place = {value: k for k, value in enumerate(self.values)}
        codes = np.array([place.get(value, -1) for value in [*cells.values, None]])[cells.codes]
        indicators = (codes[:, None] == np.arange(len(self.values))) - np.array(self.shares)
        out.standard[:, at : at + len(self.values)] = indicators
        out.ranks[:, at : at + len(self.values)] = indicators
        out.cells[:, cell] = np.where(codes < 0, np.nan, codes)


Column = NumberColumn | ValueColumn


@final
@dataclass(frozen=True, eq=False)
class TableRows:
    """Rows of a table as numbers.

    Attributes
    ----------
    standard : (q, d) array
        Standard scores of the numbers, and centred indicators.
    ranks : (q, d) array
        The same with standardised ranks in place of the scores.
    cells : (q, p) array
        Numbers and codes of values for the hypergraph, NaN for cells without a hyperedge.
    """

    standard: FloatArray
    ranks: FloatArray
    cells: FloatArray


@saved
@final
@dataclass(frozen=True, eq=False)
class TableFeatures:
    """Fitted columns of a table; constant columns are left out.

    Attributes
    ----------
    all_names : tuple of str or int
        All columns of the fitted table.
    columns : tuple of NumberColumn and ValueColumn
    """

    all_names: tuple[Name, ...]
    columns: tuple[Column, ...]

    def __post_init__(self) -> None:
        if not {column.name for column in self.columns} <= set(self.all_names):
            raise invalid("columns", "columns of the table", "others")

    @classmethod
    def fit(cls, X: Any) -> TableFeatures:
        """Fit to a DataFrame or an array of shape (n, p)."""
        table = read_table(X)
        columns = []
        for name, column in table.columns.items():
            cells = read_cells(column, name)
            kind: Any = NumberColumn if isinstance(cells, Numbers) else ValueColumn
            if (fitted := kind.fit(cells, name)) is not None:
                columns.append(fitted)
        return cls(tuple(table.columns), _as_coordinates(tuple(columns)))

    def read(self, X: Any) -> TableRows:
        """Compute the features of rows.

        Parameters
        ----------
        X : DataFrame or (q, p) array
            A DataFrame is matched by column names, an array by position.

        Raises
        ------
        ValueError
            If a column is missing, infinite, or of another kind than at fitting.
        """
        table = match_table(X, self.all_names, [column.name for column in self.columns], "X")
        shape = (table.n_rows, len(self.names))
        rows = TableRows(np.empty(shape), np.empty(shape), np.empty((shape[0], self.n_cells)))
        at = cell = 0
        for column in self.columns:
            column.read(read_cells(table.columns[column.name], column.name), rows, at, cell)
            at, cell = at + column.n_features, cell + column.n_cells
        return rows

    @property
    def n_cells(self) -> int:
        """Number of columns of :attr:`TableRows.cells`."""
        return sum(column.n_cells for column in self.columns)

    @cached_property
    def names(self) -> tuple[Name, ...]:
        """Column of every feature, shape (d,)."""
        return tuple(c.name for c in self.columns for _ in range(c.n_features))

    @cached_property
    def owners(self) -> NDArray[np.intp]:
        """Position in `columns` of every feature, shape (d,)."""
        return np.repeat(np.arange(len(self.columns)), [c.n_features for c in self.columns])

    @cached_property
    def bins(self) -> dict[int, int | None]:
        """Number of bins of every column of cells; None for codes of values."""
        kinds: list[int | None] = []
        for column in self.columns:
            binned = isinstance(column, NumberColumn)
            kinds += [*_BINS, *[None] * (column.n_cells - len(_BINS))] if binned else [None]
        return dict(enumerate(kinds))

    @cached_property
    def common_unit(self) -> FloatArray | None:
        """Factors that turn standard scores into a common unit, shape (d,); None without one.

        The numbers are assumed to share a unit if at least half of the columns are numeric and
        their standard deviations are comparable.
        """
        numeric = [c for c in self.columns if isinstance(c, NumberColumn)]
        if len(numeric) < 2 or 2 * len(numeric) < len(self.columns) or not len(numeric[0].knots):
            return None
        spread = _deviations(numeric)[0]
        if np.quantile(spread, 0.9) > _COMMON_UNIT * np.median(spread):
            return None
        factors, relative = [], iter((spread / spread.mean()).tolist())
        for column in self.columns:
            first = [next(relative)] if isinstance(column, NumberColumn) else [1.0]
            factors += first + [1.0] * (column.n_features - 1)
        return np.array(factors)


def _deviations(columns: Sequence[NumberColumn]) -> tuple[FloatArray, int]:
    """Return the deviations of columns in units of 2^exponent, and the exponent."""
    largest = max(column.exponent for column in columns)
    return np.array([math.ldexp(c.deviation, c.exponent - largest) for c in columns]), largest


def _as_coordinates(columns: tuple[Column, ...]) -> tuple[Column, ...]:
    """Give two or three numbers of similar spread the same unit: they are coordinates of points."""
    numeric = [column for column in columns if isinstance(column, NumberColumn)]
    if not 2 <= len(columns) == len(numeric) <= _MOST_COORDINATES:
        return columns
    spread, largest = _deviations(numeric)
    if spread.max() > _COORDINATE_RATIO * spread.min():
        return columns
    nothing = np.zeros(0)

    def convert(column: NumberColumn) -> NumberColumn:
        shift = column.exponent - largest
        median, mean = math.ldexp(column.median, shift), math.ldexp(column.mean, shift)
        unit = float(spread.mean())
        values: Any = {"exponent": largest, "median": median, "mean": mean, "deviation": unit}
        return replace(column, **values, knots=nothing, ranks=nothing)

    return tuple(convert(column) for column in numeric)
