r"""Contributions to the log-odds of two classes, which add up exactly.

The log-odds of classes p and r at row x are

.. math:: \log\frac{P_p(x)}{P_r(x)} = T \sum_i k(x, i) (\alpha_{ip} - \alpha_{ir})
          + \log\frac{s_p}{s_r}

with the factors s of the class shares. With k = c + Σ_b a_b k_b this is a sum over blocks b or over
labelled rows i, and a constant for the two classes. Contributions of columns are Shapley values
relative to background rows (:mod:`lowrankgcn.gp.shapley`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from lowrankgcn._parallel import chunks
from lowrankgcn.gp.blocks import Views
from lowrankgcn.gp.likelihood import CONSTANT
from lowrankgcn.gp.process import GaussianProcess
from lowrankgcn.gp.shapley import shapley_values, used_rows
from lowrankgcn.gp.views import RowViews
from lowrankgcn.operators import FloatArray

Pair = tuple[NDArray[np.intp], NDArray[np.intp]]  # classes p and r of every row
Parts = Mapping[str, NDArray[Any]]

_CELLS = 4_000_000  # numbers of mixed rows at a time


def by_rows(process: GaussianProcess, views: Views, pair: Pair) -> tuple[FloatArray, FloatArray]:
    """Return the part of shares and constant (q,) and the contributions of labelled rows (q, m)."""
    K = process.kernel(process.represent(views), process.labelled) - CONSTANT
    difference = process.alpha[:, pair[0]] - process.alpha[:, pair[1]]
    return _level(process, pair), process.temperature * K * difference.T


def by_blocks(process: GaussianProcess, views: Views, pair: Pair) -> tuple[FloatArray, FloatArray]:
    """Return the part of shares and constant (q,) and the contributions of blocks (q, B)."""
    rows = np.arange(len(pair[0]))
    columns = []
    for block, amplitude, readout in zip(
        process.blocks, process.amplitudes, process.readouts, strict=True
    ):
        scores = block.scores(block.represent(views), readout)
        columns.append(amplitude * (scores[rows, pair[0]] - scores[rows, pair[1]]))
    amounts = np.array(columns).reshape(len(columns), len(rows)).T
    return _level(process, pair), process.temperature * amounts


def by_columns(
    process: GaussianProcess, maps: RowViews, background: Parts, rows: Parts, pair: Pair
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the mean log-odds of background rows (q,), Shapley values and their errors (q, p).

    Parameters
    ----------
    process : GaussianProcess
    maps : RowViews
    background, rows : mappings from part to array
        Rows by :meth:`RowViews.parts`. A given graph counts as a last column.
    pair : pair of (q,) int arrays

    Notes
    -----
    At most max(4000, 8 p) mixed rows are classified to explain a row.
    """
    owners = maps.owners
    n_columns = 1 + max(int(columns.max(initial=-1)) for columns in owners.values())
    size = max(1, _CELLS // max(1, sum(map(len, owners.values()))))
    ends = log_odds(process, process.scores(maps.views(rows)), pair)
    usual = process.scores(maps.views(background))
    baseline, (amounts, errors) = np.zeros(len(ends)), np.zeros((2, len(ends), n_columns))
    for i, (end, *classes) in enumerate(zip(ends, *pair, strict=True)):
        row = {name: part[i] for name, part in rows.items()}
        differs = np.zeros((len(usual), n_columns), bool)
        for name, part in background.items():
            which, entry = np.nonzero(part != row[name])
            differs[which, owners[name][entry]] = True
        used = used_rows(differs)
        mixtures = _Mixtures(process, maps, background, row, used, classes, size)
        starts = mixtures.odds(usual[used])
        baseline[i] = starts.mean()
        amounts[i], errors[i] = shapley_values(differs[used], starts, float(end), mixtures)
    return baseline, amounts, errors


@final
@dataclass(frozen=True, eq=False)
class _Mixtures:
    """Log-odds of background rows with some columns replaced by those of a row."""

    process: GaussianProcess
    maps: RowViews
    background: Parts
    row: Parts
    used: NDArray[np.intp]  # background rows
    classes: Sequence[Any]
    size: int  # rows at a time

    def __call__(self, begin: NDArray[np.intp], replaced: NDArray[np.bool_]) -> FloatArray:
        parts = []
        for start, stop in chunks(len(begin), self.size):
            rows, mask = self.used[begin[start:stop]], replaced[start:stop]
            mixed = {
                name: np.where(mask[:, columns], self.row[name], self.background[name][rows])
                for name, columns in self.maps.owners.items()
            }
            parts.append(self.odds(self.process.scores(self.maps.views(mixed))))
        return np.concatenate(parts)

    def odds(self, scores: FloatArray) -> FloatArray:
        first, second = (np.full(len(scores), code) for code in self.classes)
        return log_odds(self.process, scores, (first, second))


def log_odds(process: GaussianProcess, scores: FloatArray, pair: Pair) -> FloatArray:
    """Return the log-odds of two classes of every row, shape (q,)."""
    logs = process.temperature * scores + np.log(process.factors)
    rows = np.arange(len(logs))
    odds: FloatArray = logs[rows, pair[0]] - logs[rows, pair[1]]
    return odds


def _level(process: GaussianProcess, pair: Pair) -> FloatArray:
    """Return the part of the log-odds that is the same for all rows, by classes."""
    constant = process.temperature * CONSTANT * process.alpha.sum(axis=0)
    levels = constant + np.log(process.factors)
    difference: FloatArray = levels[pair[0]] - levels[pair[1]]
    return difference
