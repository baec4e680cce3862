"""Conversion of rows into features of the network and coordinates of the graph.

Features are numeric columns in units of their standard deviation, and centred indicator columns of
categories. The graph uses points whose columns have comparable ranges, or the table itself. Neither
depends on the units of the columns.

>>> import numpy as np
>>> X = np.array([[0.0, 1e6], [1.0, 1e6 + 2], [2.0, 1e6 + 4]])
>>> inputs = PointInputs.fit(X)
>>> inputs.features(X).round(3).tolist()
[[-1.225, -1.225], [0.0, 0.0], [1.225, 1.225]]
>>> inputs.rows(X).tolist()
[[-0.5, -0.5], [0.0, 0.0], [0.5, 0.5]]
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lowrankgcn._codec import saved
from lowrankgcn._parallel import chunks
from lowrankgcn._validation import invalid
from lowrankgcn.estimators.rows import take
from lowrankgcn.operators import FloatArray
from lowrankgcn.tables import Table, TableEncoder
from lowrankgcn.tables.columns import Scores

# Relative spread up to which a column is constant.
_CONSTANT = 1e-12
# Coordinates are rounded to this grid, coarser than rounding errors and finer than the data, so
# that equal distances stay equal in other units.
_GRID = 2.0**20
# Outliers beyond this many interquartile ranges do not affect the unit of a column.
_QUARTILE_RANGES = 10.0
_CHUNK_ENTRIES = 2**20  # features that are computed at a time


@saved
@final
@dataclass(frozen=True, eq=False)
class PointInputs:
    """Numeric columns.

    Attributes
    ----------
    median : (d,) array
        Replaces missing numbers; origin of the scaled points.
    centre, scale : (d,) arrays
        Mean and standard deviation; infinite for constant columns, whose feature is then zero; 0
        and 1 without scaling.
    unit : (d,) array or None
        Range (at most ten interquartile ranges) for the graph; None without scaling.
    """

    median: Annotated[FloatArray, "d"]
    centre: Annotated[FloatArray, "d"]
    scale: Annotated[FloatArray, "d"]
    unit: Annotated[FloatArray | None, "d"]

    @property
    def width(self) -> int:
        """Number N₀ of features, one for each column."""
        return len(self.centre)

    @classmethod
    def fit(
        cls, X: FloatArray, *, raw_features: bool = False, raw_points: bool = False
    ) -> PointInputs:
        """Fit to the columns of X, shape (n, d)."""
        median = pd.DataFrame(X).median().fillna(0.0).to_numpy()
        X = _filled(X, median)
        centre, scale = np.zeros(X.shape[1]), np.ones(X.shape[1])
        if not raw_features:
            centre, scale = _standard_units(X)
        if raw_points:
            return cls(median, centre, scale, None)
        low, high = np.quantile(X, [0.25, 0.75], axis=0)
        spread, robust = np.ptp(X, axis=0), _QUARTILE_RANGES * (high - low)
        unit = np.where((robust > 0) & (robust < spread), robust, spread)
        unit[unit <= _CONSTANT * np.abs(X).max(axis=0)] = np.inf
        return cls(median, centre, scale, unit)

    def features(self, X: Any) -> FloatArray:
        """Standardise the columns, shape (q, N₀)."""
        scaled: FloatArray = (_filled(X, self.median) - self.centre) / self.scale
        return scaled

    def rows(self, X: Any) -> Any:
        """Scale the points to the ranges of the columns, on a fine grid."""
        X = _filled(X, self.median)
        return X if self.unit is None else np.round((X - self.median) / self.unit * _GRID) / _GRID


@saved
@final
@dataclass(frozen=True, eq=False)
class TableInputs:
    """Tables: indicator columns of the categories, and scores of the numeric columns.

    Attributes
    ----------
    encoder : TableEncoder
        Encoder of the hypergraph.
    shown : (N,) int array
        Hyperedges with an indicator column: categories (not bins) of more than one row.
    means : (N,) array
        Means of the indicators, subtracted; zero without scaling.
    scores : tuple of Scores
        Of the numeric columns; none without scaling.
    """

    encoder: TableEncoder
    shown: Annotated[NDArray[np.intp], "s"]
    means: Annotated[FloatArray, "s"]
    scores: tuple[Scores, ...]

    def __post_init__(self) -> None:
        binned = [column.name for column in self.encoder.columns if column.binned]
        if any(column.name not in binned for column in self.scores):
            raise invalid("scores", f"scores of columns among {binned}", "others")
        total = self.encoder.n_hyperedges
        bounded = np.concatenate([[-1], self.shown, [total]])
        if (bounded[1:] <= bounded[:-1]).any():
            raise invalid("shown", f"ascending integers in 0..{total - 1}", "other values")

    @property
    def width(self) -> int:
        """Number N₀ of features: indicators and numeric columns."""
        return len(self.shown) + len(self.scores)

    @classmethod
    def fit(cls, X: Table, encoder: TableEncoder, *, raw_features: bool = False) -> TableInputs:
        """Fit to the table that the encoder was fitted to."""
        total, columns = encoder.n_hyperedges, encoder.columns
        if not total:
            raise invalid("X", "a cell that is not missing", "missing cells only")
        if raw_features:  # the incidence matrix itself, as in the paper
            return cls(encoder, np.arange(total), np.zeros(total), ())
        scores = [
            Scores.fit(X[column.name], column.name, ranked=False)
            for column in columns
            if column.binned
        ]
        # Values of a single row do not generalise, and an identifier would give n columns.
        means = np.concatenate([np.zeros(len(c.shares)) if c.binned else c.shares for c in columns])
        shown = np.flatnonzero(means * X.n_rows > 1.5)
        shown = shown if len(shown) or scores else np.flatnonzero(means)[:1]
        return cls(encoder, shown, means[shown], tuple(scores))

    def features(self, X: Any) -> FloatArray:
        """Compute centred indicators, then standardised numbers."""
        table, count = self.encoder.match(X, "X"), len(self.shown)
        codes = self.encoder.transform(table)
        place = np.full(self.encoder.n_hyperedges + 1, -1)
        place[self.shown] = np.arange(count)
        rows, columns = np.nonzero(place[codes] >= 0)
        result = np.zeros((len(codes), self.width))
        result[rows, place[codes[rows, columns]]] = 1.0
        result[:, :count] -= self.means
        for j, column in enumerate(self.scores, count):
            result[:, j] = column.read(table[column.name])[0]
        return result

    def rows(self, X: Any) -> Any:
        """Return the rows as the graph uses them: not changed."""
        return X


#: Fitted conversion of rows; both kinds have the same methods.
Inputs = PointInputs | TableInputs


def project(inputs: Inputs, X: Any, U: NDArray[Any]) -> tuple[FloatArray, float]:
    """Compute UᵀF, shape (r, N₀), and the sum of the squares of the features F.

    Parameters
    ----------
    inputs : PointInputs or TableInputs
    X : fitted rows
    U : (n, r) array
    """
    inner, squares = np.zeros((U.shape[1], inputs.width)), 0.0
    for start, stop in chunks(len(U), max(1, _CHUNK_ENTRIES // max(1, inputs.width))):
        F = inputs.features(take(X, slice(start, stop)))
        inner += U[start:stop].astype(np.float64, copy=False).T @ F
        squares += float(np.vdot(F, F))
    return inner, squares


def _filled(X: FloatArray, median: FloatArray) -> FloatArray:
    """Replace missing numbers."""
    missing = np.isnan(X)
    return np.where(missing, median, X) if missing.any() else X


def _standard_units(X: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return mean and standard deviation of each column; infinite if constant."""
    centre = X.sum(axis=0) / len(X)
    # A second pass corrects the rounding error of a mean far from zero.
    centre = centre + (X - centre).sum(axis=0) / len(X)
    offsets = X - centre
    # A power of two is factored out, so that squares neither overflow nor vanish.
    exponent = np.frexp(np.abs(offsets).max(axis=0))[1]
    mean_square = np.square(np.ldexp(offsets, -exponent)).sum(axis=0) / len(X)
    scale = np.ldexp(np.sqrt(mean_square), exponent)
    scale[scale <= _CONSTANT * np.abs(X).max(axis=0)] = np.inf
    return centre, scale
