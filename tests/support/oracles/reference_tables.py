"""The oracle for tables: hyperedges of raw Python columns, one loop per sentence of the definition.

A table is a dict of equally long lists, None or NaN where a cell is missing. Every value of every
column is the hyperedge of the rows that have it (section 3; A4.4 for the paper's tables); numeric
columns are cut into bins first, with exact rational arithmetic, so no rounding moves a row.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

Table = Mapping[str, Sequence[Any]]
MISSING = "missing"


@dataclass(frozen=True)
class Hyperedge:
    """The rows that share a value of a column."""

    column: str
    value: Hashable  # a cell, the number of a bin, or MISSING
    rows: frozenset[int]
    weight: float = 1.0


def is_missing(cell: Any) -> bool:
    """None and NaN are missing."""
    return cell is None or (isinstance(cell, float) and math.isnan(cell))


def cut_points(
    cells: Sequence[Any], bins: int, binning: str, *, quantiles: str = "inverted_cdf"
) -> list[Fraction]:
    """Inner borders of the bins, ascending, for k = 1, ..., bins - 1.

    "uniform": min + k (max - min) / bins. "quantile": the least present cell that at least k/bins
    of them do not exceed ("inverted_cdf"), or linear between order statistics ("linear").
    """
    present = sorted(Fraction(cell) for cell in cells if not is_missing(cell))
    n = len(present)
    cuts = []
    for k in range(1, bins):
        if binning == "uniform":
            cuts.append(present[0] + (present[-1] - present[0]) * Fraction(k, bins))
        elif quantiles == "inverted_cdf":
            cuts.append(min(v for v in present if sum(u <= v for u in present) * bins >= n * k))
        else:
            position = Fraction((n - 1) * k, bins)
            below = math.floor(position)
            above = min(below + 1, n - 1)
            cuts.append(present[below] + (present[above] - present[below]) * (position - below))
    return cuts


def bin_numbers(
    cells: Sequence[Any],
    bins: int,
    binning: str,
    *,
    closed: str = "right",
    quantiles: str = "inverted_cdf",
) -> list[int | None]:
    """Bin of every cell, None where missing.

    A cell on a border belongs to the lower bin with closed="right" (intervals (a, b]) and to the
    upper one with closed="left" (intervals [a, b)).
    """
    if all(is_missing(cell) for cell in cells):
        return [None] * len(cells)
    cuts = cut_points(cells, bins, binning, quantiles=quantiles)
    numbers: list[int | None] = []
    for cell in cells:
        if is_missing(cell):
            numbers.append(None)
        elif closed == "right":
            numbers.append(sum(cut < Fraction(cell) for cut in cuts))
        else:
            numbers.append(sum(cut <= Fraction(cell) for cut in cuts))
    return numbers


def table_hyperedges(
    columns: Table,
    *,
    numeric: Sequence[str] = (),
    bins: int | Mapping[str, int] | None = 5,
    binning: str = "quantile",
    missing: str = "ignore",
    min_count: int = 1,
    column_weights: Mapping[str, float] | None = None,
    keep_few: bool = True,
    closed: str = "right",
    quantiles: str = "inverted_cdf",
) -> list[Hyperedge]:
    """All hyperedges of a table, column by column, values in the order of their first row.

    `numeric` names the columns to bin (none with bins=None); with `keep_few` a column of at most
    `bins` distinct numbers keeps them apart if the bins are quantiles or the numbers whole. A
    missing cell lies in no hyperedge ("ignore"), in one shared by the missing cells of its column
    ("edge"), or removes its column ("drop-column"). Values with fewer than `min_count` rows give no
    hyperedge.
    """
    found = []
    for name, raw in columns.items():
        if missing == "drop-column" and any(is_missing(cell) for cell in raw):
            continue
        cells = list(raw)
        if name in numeric and bins is not None:
            number = bins.get(name, 5) if isinstance(bins, Mapping) else bins
            distinct = {Fraction(cell) for cell in raw if not is_missing(cell)}
            whole = all(cell.denominator == 1 for cell in distinct)
            few = len(distinct) <= number and (binning == "quantile" or whole)
            if not (keep_few and few):
                cells = list(bin_numbers(raw, number, binning, closed=closed, quantiles=quantiles))
        members: dict[tuple[type, Hashable], list[int]] = {}
        for row, cell in enumerate(cells):
            if not is_missing(cell):
                members.setdefault(_key(cell), []).append(row)
            elif missing == "edge":
                members.setdefault((type(None), MISSING), []).append(row)
        weight = 1.0 if column_weights is None else column_weights.get(name, 1.0)
        for (_, value), rows in members.items():
            if len(rows) >= min_count:
                found.append(Hyperedge(name, value, frozenset(rows), weight))
    return found


def table_incidence(
    hyperedges: Sequence[Hyperedge], n_rows: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """H with h_ie = 1 where row i has value e, and the weights w_e (section 3)."""
    H = np.zeros((n_rows, len(hyperedges)))
    for e, hyperedge in enumerate(hyperedges):
        for i in hyperedge.rows:
            H[i, e] = 1.0
    return H, np.array([hyperedge.weight for hyperedge in hyperedges], dtype=np.float64)


def node_sets(
    incidence: NDArray[np.float64], weights: Sequence[float]
) -> list[tuple[tuple[int, ...], float]]:
    """Hyperedges as sorted (rows, weight): equal for equal hypergraphs, however ordered."""
    H = np.asarray(incidence)
    rows = [tuple(np.flatnonzero(column).tolist()) for column in H.T]
    return sorted(zip(rows, map(float, weights), strict=True))


def _key(cell: Any) -> tuple[type, Hashable]:
    # True and 1 are equal keys in Python but different values of a table; 1 and 1.0 are one value.
    kind = float if isinstance(cell, (int, float)) and not isinstance(cell, bool) else type(cell)
    return kind, cell
