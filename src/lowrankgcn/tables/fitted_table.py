"""Numeric features and hyperedges of tables with numbers, categories and missing cells.

A numeric column gives its standard scores or ranks as a feature, and two sets of bins as
hyperedges; of more than 256 numeric columns, 256 have bins. A column of categories gives one
centred indicator and one hyperedge for each value. Missing numbers are replaced by the median and
marked by an indicator; a missing category is a value of its own.

>>> import pandas as pd
>>> table = pd.DataFrame({"size": [1.0, 2.0, None, 9.0, None], "kind": list("aabbc")})
>>> fitted = FittedTable.fit(table)
>>> [fitted.used[k] for k in fitted.owners]  # the value "c" occurs once only
['size', 'size', 'kind', 'kind']
>>> fitted.read(table)["standard"].round(2).tolist()[2]
[-0.41, 0.6, -0.4, 0.6]
>>> fitted.encoder.hyperedge_names  # bins of one row are left out, too
('size=missing', 'kind=a', 'kind=b')
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from lowrankgcn._codec import saved
from lowrankgcn.tables.cells import Name
from lowrankgcn.tables.columns import Encoding, FloatArray, Scores, VectorScores
from lowrankgcn.tables.encoder import TableEncoder
from lowrankgcn.tables.table import Table

# The features of the Gaussian process, chosen with its recipe by benchmarks/few_labels.py.
_FARTHEST = 5.0  # standard scores are clipped here
_MOST_VALUES = 200  # values of a category with an indicator, the most frequent ones
_BINS = (3, 8)  # quantile bins of the numbers as hyperedges, coarse and fine
# Columns of numbers with bins, and the sampled rows and directions of largest variance that choose
# them in wider tables (docs/scale.md, "Wide tables").
_MOST_BINNED, _SAMPLE, _DIRECTIONS = 256, 1000, 64
_FEW_VALUES = 10  # up to which numbers do not count as continuous
# Columns have a common unit if the 0.9-quantile of their deviations is at most this many medians,
# or that of at least eight ranges at most this many 0.3-quantiles: pixels share a range, but many
# of them hardly vary.
_COMMON_UNIT, _FEWEST_RANGES = 2.0, 8
# Two or three numbers are coordinates of points if their deviations differ by at most this factor.
_MOST_COORDINATES, _COORDINATE_RATIO = 3, 2.5


@saved
@final
@dataclass(frozen=True, eq=False)
class FittedTable:
    """Fitted columns of a table; constant columns are left out.

    Attributes
    ----------
    encoder : TableEncoder
        Hyperedges of the columns: bins of numbers, their missing cells, and values. Columns of wide
        tables without bins have none.
    scores : tuple of Scores
        Of the numeric columns.
    vectors : tuple of VectorScores
        Of the columns of vectors, which have no hyperedges.
    """

    encoder: TableEncoder
    scores: tuple[Scores, ...]
    vectors: tuple[VectorScores, ...] = ()

    @classmethod
    def fit(cls, frame: Any) -> FittedTable:
        """Fit to a table of any kind (:meth:`Table.read`)."""
        table = Table.read(frame, "X")
        vectors: list[VectorScores] = []
        scored: dict[Name, Scores] = {}
        for name, cells in table.items():
            if cells.kind not in ("category", "vector") and not cells.missing.all():
                if not math.isinf((score := Scores.fit(cells, name)).deviation):
                    scored[name] = score
        binned = _binned_columns(table, scored)
        encodings: list[Encoding] = []
        for name, cells in table.items():
            if cells.kind == "category":
                column = Encoding.fit(cells, name, min_count=2, missing=True, most=_MOST_VALUES)
                if column.values and column.shares[0] < 1:  # a value of one row says nothing
                    encodings.append(column)
                continue
            if cells.missing.all():
                continue
            if cells.kind == "vector":
                if math.isinf((vector := VectorScores.fit(cells, name)).unit):
                    continue
                vectors.append(vector)
            elif name not in scored:
                continue
            elif name in binned:
                encodings += [Encoding.fit(cells, name, number, min_count=2) for number in _BINS]
            else:  # a place for the score, without hyperedges
                encodings.append(Encoding(name, (), (), cells.unit, limits=()))
            if cells.missing.sum() >= 2:
                share = float(cells.missing.mean())
                encodings.append(Encoding(name, (None,), (share,), cells.unit, limits=()))
        encoder = TableEncoder(table.names, tuple(encodings))
        n_columns = len(encoder.used) + len(vectors)
        return cls(encoder, _as_coordinates(tuple(scored.values()), n_columns), tuple(vectors))

    def match(self, frame: Any) -> Table:
        """Read the columns in use of a table, with their names at fitting."""
        return Table.read(frame, "X").matched(self.encoder.names, self.used, "X")

    def read(self, frame: Any) -> dict[str, NDArray[Any]]:
        """Compute features and hyperedges of rows.

        Returns
        -------
        dict
            ``standard`` and ``ranks`` of :meth:`expanded`, ``codes`` of :meth:`cells`.
        """
        cells = self.cells(frame)
        return {**self.expanded(cells), "codes": cells["codes"]}

    def cells(self, frame: Any) -> dict[str, NDArray[Any]]:
        """Read rows as what all features follow from.

        Parameters
        ----------
        frame : table of any kind
            Matched by column names, an array by position.

        Returns
        -------
        dict
            ``codes``, shape (q, p): hyperedges of the cells, see :class:`TableEncoder`.
            ``numbers`` and ``number_ranks``, shape (q, s): standard scores and standardised ranks
            of the numeric columns, both followed by the scores of vectors.

        Raises
        ------
        ValueError
            If a column is missing, infinite, or of another kind than at fitting.
        """
        table = self.match(frame)
        # Columns are written and read whole.
        numbers = np.empty((len(self.number_places), table.n_rows))
        ranks = np.empty_like(numbers)
        for k, column in enumerate(self.scores):
            score, rank = column.read(table[column.name])
            np.clip(score, -_FARTHEST, _FARTHEST, out=numbers[k])
            ranks[k] = rank if len(column.knots) else numbers[k]
        at = len(self.scores)
        for vector in self.vectors:
            entries = slice(at, at + len(vector.mean))
            offsets = vector.read(table[vector.name]).T
            ranks[entries] = np.clip(offsets, -_FARTHEST, _FARTHEST, out=numbers[entries])
            at = entries.stop
        return {
            "codes": self.encoder.transform(table),
            "numbers": numbers.T,
            "number_ranks": ranks.T,
        }

    def expanded(self, cells: Mapping[str, NDArray[Any]]) -> dict[str, FloatArray]:
        """Return the features of rows by :meth:`cells`.

        Returns
        -------
        dict
            ``standard``, shape (q, d): standard scores of the numbers, and centred indicators.
            ``ranks``, shape (q, d): the same with standardised ranks in place of the scores.
        """
        codes = cells["codes"]
        standard = np.empty((len(codes), len(self.owners)))
        for j, at, shares in self.indicators:
            ids = np.arange(*self.encoder.offsets[j : j + 2])
            standard[:, at : at + len(ids)] = (codes[:, [j]] == ids) - shares
        ranks = standard.copy()
        standard[:, self.number_places] = cells["numbers"]
        ranks[:, self.number_places] = cells["number_ranks"]
        return {"standard": standard, "ranks": ranks}

    def value_places(self, codes: NDArray[Any]) -> NDArray[np.intp]:
        """Return the position of each cell's value in its column, their number for none, (q, p)."""
        offsets = np.array(self.encoder.offsets, np.intp)
        places: NDArray[np.intp] = codes.astype(np.intp, order="F")
        places -= offsets[:-1]
        return np.minimum(places, np.diff(offsets), out=places)

    @cached_property
    def number_places(self) -> NDArray[np.intp]:
        """Position among the features of every number, shape (s,)."""
        at = {
            c.name: k
            for c, k in zip(self._features, self._offsets, strict=False)
            if isinstance(c, Scores)
        }
        places = np.array([at[column.name] for column in self.scores], np.intp)
        return np.append(places, np.arange(self._offsets[-1], len(self.owners)))

    @cached_property
    def indicators(self) -> list[tuple[int, int, FloatArray]]:
        """Columns of codes with indicators: column, its first feature, and shares of its values."""
        return [
            (j, at, np.array(column.shares))
            for j, (column, at) in enumerate(zip(self._features, self._offsets, strict=False))
            if isinstance(column, Encoding)
        ]

    @cached_property
    def _features(self) -> list[Scores | Encoding | None]:
        """Features of every column of codes: indicators, a score for the first bins, or none."""
        score_of = {column.name: column for column in self.scores}
        columns = self.encoder.columns
        return [score_of.pop(c.name, None) if c.binned else c for c in columns]

    @cached_property
    def _offsets(self) -> list[int]:
        """First feature of every column of codes, followed by the first one of vectors."""
        widths = [len(c.values) if isinstance(c, Encoding) else bool(c) for c in self._features]
        return [0, *accumulate(widths)]

    @cached_property
    def used(self) -> tuple[Name, ...]:
        """Names of the columns in use."""
        used = {*self.encoder.used, *(vector.name for vector in self.vectors)}
        return tuple(name for name in self.encoder.names if name in used)

    @cached_property
    def code_owners(self) -> NDArray[np.intp]:
        """Position in `used` of every column of codes, shape (p,)."""
        place = {name: k for k, name in enumerate(self.used)}
        return np.array([place[column.name] for column in self.encoder.columns], np.intp)

    @cached_property
    def owners(self) -> NDArray[np.intp]:
        """Position in `used` of every feature, shape (d,)."""
        vectors = [self.used.index(vector.name) for vector in self.vectors]
        owners = np.append(self.code_owners, vectors).astype(np.intp)
        lengths = [len(vector.mean) for vector in self.vectors]
        return np.repeat(owners, [*np.diff(self._offsets), *lengths])

    @property
    def continuous_share(self) -> float:
        """Share of the columns in use that are vectors or numbers of more than ten values."""
        few = sum(0 < len(column.knots) <= _FEW_VALUES for column in self.scores)
        return (len(self.scores) + len(self.vectors) - few) / max(1, len(self.used))

    @cached_property
    def common_unit(self) -> FloatArray | None:
        """Factors that turn standard scores into a common unit, shape (d,); None without one.

        The numbers are assumed to share a unit if at least half of the columns are numeric and
        their standard deviations or their ranges are comparable.
        """
        numeric = self.scores
        if len(numeric) < 2 or 2 * len(numeric) < len(self.used) or not len(numeric[0].knots):
            return None
        spread, largest = _deviations(numeric)
        ranges = [math.ldexp(c.knots[-1] - c.knots[0], c.exponent - largest) for c in numeric]
        low, high = np.quantile(ranges, (0.3, 0.9))
        by_range = len(ranges) >= _FEWEST_RANGES and high <= _COMMON_UNIT * low
        if not by_range and np.quantile(spread, 0.9) > _COMMON_UNIT * np.median(spread):
            return None
        factors = np.ones(len(self.owners))
        factors[self.number_places[: len(numeric)]] = spread / spread.mean()
        return factors


def _binned_columns(table: Table, scored: Mapping[Name, Scores]) -> set[Name]:
    """Return the columns of numbers that have bins: in wide tables, those that vary together.

    They are the columns with the most variance in the directions of largest variance of a sample of
    the rows. Bins of a column that is independent of all others would join rows at random.
    """
    if len(scored) <= _MOST_BINNED:
        return set(scored)
    step = -(-len(table) // _SAMPLE)
    some = table.take(slice(None, None, step))
    columns = [score.standard(some[name])[0] for name, score in scored.items()]
    points = np.clip(np.stack(columns), -_FARTHEST, _FARTHEST)
    points -= points.mean(axis=1, keepdims=True)
    n = points.shape[1]
    first = n - min(_DIRECTIONS, max(1, n // 4))
    vectors = eigh(points.T @ points, subset_by_index=(first, n - 1))[1]
    common = ((points @ vectors) ** 2).sum(axis=1)
    names = list(scored)
    return {names[k] for k in np.argsort(-common, kind="stable")[:_MOST_BINNED]}


def _deviations(columns: Sequence[Scores]) -> tuple[FloatArray, int]:
    """Return the deviations of columns in units of 2^exponent, and the exponent."""
    largest = max(column.exponent for column in columns)
    return np.array([math.ldexp(c.deviation, c.exponent - largest) for c in columns]), largest


def _as_coordinates(scores: tuple[Scores, ...], n_columns: int) -> tuple[Scores, ...]:
    """Give two or three numbers of similar spread the same unit: they are coordinates of points."""
    if not 2 <= n_columns == len(scores) <= _MOST_COORDINATES:
        return scores
    spread, largest = _deviations(scores)
    if spread.max() > _COORDINATE_RATIO * spread.min():
        return scores
    unit, nothing = float(spread.mean()), np.zeros(0)

    def convert(column: Scores) -> Scores:
        shift = column.exponent - largest
        median, mean = math.ldexp(column.median, shift), math.ldexp(column.mean, shift)
        values: Any = {"exponent": largest, "median": median, "mean": mean, "deviation": unit}
        return replace(column, **values, knots=nothing, ranks=nothing)

    return tuple(convert(column) for column in scores)
