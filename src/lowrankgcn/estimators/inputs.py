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

from dataclasses import dataclass, field
from typing import Annotated, Any, final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lowrankgcn._codec import MAY_BE_INFINITE, saved
from lowrankgcn._parallel import map_chunks
from lowrankgcn._validation import expect_shape, invalid
from lowrankgcn.graphs import Graph, Hypergraph, TableEncoder
from lowrankgcn.graphs.cells import Name, Numbers, read_cells
from lowrankgcn.graphs.columns import BinnedColumn
from lowrankgcn.operators import FloatArray
from lowrankgcn.operators.codes import CodeFactor

# Relative spread up to which a column is constant.
_CONSTANT = 1e-12
# Coordinates are rounded to this grid, coarser than rounding errors and finer than the data, so
# that equal distances stay equal in other units.
_GRID = 2.0**20
# Outliers beyond this many interquartile ranges do not affect the unit of a column.
_QUARTILE_RANGES = 10.0
_CHUNK_ROWS = 65536  # sums over rows are fast in large chunks


def _check_scales(scale: FloatArray, name: str) -> None:
    """Refuse scales that are not positive; those of constant columns are infinite."""
    if not (scale > 0).all():
        raise invalid(name, "numbers > 0", "other values")


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
    scale: Annotated[FloatArray, "d", _check_scales] = field(metadata=MAY_BE_INFINITE)
    unit: Annotated[FloatArray | None, "d", _check_scales] = field(metadata=MAY_BE_INFINITE)

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

    def project(self, X: Any, U: NDArray[Any], graph: Graph | None) -> tuple[FloatArray, float]:
        """Compute UᵀF, shape (r, N₀), and the sum of the squares of the features F.

        Parameters
        ----------
        X : rows given to `fit`
        U : (n, r) array
        graph : Graph or None
            For tables, the hypergraph given to `fit`.
        """

        def term(start: int, stop: int) -> tuple[FloatArray, float]:
            F = self.features(X[start:stop])
            return U[start:stop].astype(np.float64, copy=False).T @ F, float(np.vdot(F, F))

        inner, squares = zip(*map_chunks(term, len(U), _CHUNK_ROWS), strict=True)
        return np.sum(inner, axis=0), sum(squares)

    def rows(self, X: Any) -> Any:
        """Scale the points to the ranges of the columns, on a fine grid."""
        X = _filled(X, self.median)
        return X if self.unit is None else np.round((X - self.median) / self.unit * _GRID) / _GRID


@saved
@final
@dataclass(frozen=True, eq=False)
class TableInputs:
    """Tables: indicator columns of the categories, and the numeric columns.

    Attributes
    ----------
    encoder : TableEncoder
        Encoder of the hypergraph.
    shown : (N,) int array
        Hyperedges with an indicator column: categories (not bins) of more than one row.
    means : (N,) array
        Means of the indicators, subtracted; zero without scaling.
    names : tuple of column names
        Numeric columns.
    numbers : PointInputs
        Their medians, means and standard deviations.
    """

    encoder: TableEncoder
    shown: Annotated[NDArray[np.intp], "s"]
    means: Annotated[FloatArray, "s"]
    names: tuple[Name, ...]
    numbers: PointInputs

    def __post_init__(self) -> None:
        binned = [c.name for c in self.encoder.columns if isinstance(c, BinnedColumn)]
        if any(name not in binned for name in self.names):
            raise invalid("names", f"columns among {binned}", repr(self.names)[:100])
        expect_shape(self.numbers.centre, "centre", len(self.names))
        total = self.encoder.n_hyperedges
        bounded = np.concatenate([[-1], self.shown, [total]])
        if (bounded[1:] <= bounded[:-1]).any():
            raise invalid("shown", f"ascending integers in 0..{total - 1}", "other values")

    @property
    def width(self) -> int:
        """Number N₀ of features: indicators and numeric columns."""
        return len(self.shown) + len(self.names)

    @classmethod
    def fit(cls, X: Any, graph: Hypergraph, *, raw_features: bool = False) -> TableInputs:
        """Fit to the table that `graph` was made from."""
        encoder = graph.encoder
        assert encoder is not None
        if not encoder.n_hyperedges:
            raise invalid("X", "a cell that is not missing", "missing cells only")
        every = np.arange(encoder.n_hyperedges)
        if raw_features:  # the incidence matrix itself, as in the paper
            nothing = PointInputs.fit(np.zeros((1, 0)), raw_points=True)
            return cls(encoder, every, np.zeros(len(every)), (), nothing)
        names = tuple(c.name for c in encoder.columns if isinstance(c, BinnedColumn))
        binned = [column.name in names for column in encoder.columns]
        shown = every[~np.repeat(binned, np.diff(encoder.offsets))]
        sizes = graph.incidence.transpose_product(np.ones(graph.n_nodes))
        # Values of a single row do not generalise, and an identifier would give n columns.
        shared = shown[sizes[shown] > 1]
        shown = shared if len(shared) or names else shown[:1]
        numbers = PointInputs.fit(_numeric_columns(X, names, encoder), raw_points=True)
        return cls(encoder, shown, sizes[shown] / graph.n_nodes, names, numbers)

    def features(self, X: Any) -> FloatArray:
        """Compute centred indicators, then standardised numbers."""
        codes, count = self.encoder.transform(X), len(self.shown)
        place = np.full(self.encoder.n_hyperedges + 1, -1)
        place[self.shown] = np.arange(count)
        found = place[codes]
        rows, columns = np.nonzero(found >= 0)
        result = np.zeros((len(codes), self.width))
        result[rows, found[rows, columns]] = 1.0
        result[:, :count] -= self.means
        numbers = _numeric_columns(X, self.names, self.encoder)
        result[:, count:] = self.numbers.features(numbers)
        return result

    def project(self, X: Any, U: NDArray[Any], graph: Graph | None) -> tuple[FloatArray, float]:
        """Compute UᵀF and the sum of squares from codes, without storing the indicators.

        This costs one product with the incidence matrix (:class:`CodeFactor`).
        """
        assert isinstance(graph, Hypergraph) and isinstance(graph.incidence, CodeFactor)
        incidence, means = graph.incidence, self.means
        numbers = _numeric_columns(X, self.names, self.encoder)
        inner, squares = self.numbers.project(numbers, U, None)
        sums = incidence.transpose_product(U)[self.shown]
        sums = sums - np.outer(means, U.sum(axis=0, dtype=np.float64))
        counts = incidence.counts()[self.shown]
        squares += float((counts * (1 - 2 * means) + len(U) * means**2).sum())
        return np.column_stack([sums.T, inner]), squares

    def rows(self, X: Any) -> Any:
        """Return the rows as the graph uses them: not changed."""
        return X


#: Fitted conversion of rows; both kinds have the same methods.
Inputs = PointInputs | TableInputs


def _numeric_columns(X: Any, numbers: tuple[Name, ...], encoder: TableEncoder) -> FloatArray:
    """Return numeric columns as floats with NaN for missing cells, shape (q, len(numbers))."""
    table = encoder.match(X)
    result = np.full((table.n_rows, len(numbers)), np.nan)
    for j, name in enumerate(numbers):
        cells = read_cells(table.columns[name], name)
        if cells.missing.all():  # the type of an empty column does not matter
            continue
        if not isinstance(cells, Numbers):
            raise invalid(f"column {name!r}", "numbers as at fitting", "texts")
        result[:, j] = cells.data
        result[cells.missing, j] = np.nan
    return result


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
