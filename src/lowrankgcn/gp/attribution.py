r"""Contributions to the log-odds of two classes, which add up exactly.

The log-odds of classes p and r at row x are

.. math:: \log\frac{P_p(x)}{P_r(x)} = T \sum_i k(x, i) (\alpha_{ip} - \alpha_{ir})
          + \log\frac{s_p}{s_r}

with the factors s of the class shares. With k = c + Σ_b a_b k_b this is a sum over blocks b or over
labelled rows i, and a constant for the two classes. Contributions of columns are Shapley values
relative to background rows (:mod:`lowrankgcn.gp.shapley`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowrankgcn._parallel import chunks
from lowrankgcn.gp.blocks import Views
from lowrankgcn.gp.process import GaussianProcess
from lowrankgcn.gp.shapley import shapley_values, used_rows
from lowrankgcn.gp.views import RowViews
from lowrankgcn.operators import FloatArray

Pair = tuple[Any, Any]  # class p and class r, or arrays of those of every row
Parts = Mapping[str, NDArray[Any]]

_CELLS = 4_000_000  # numbers of mixed rows at a time


def by_rows(process: GaussianProcess, views: Views, pair: Pair) -> tuple[FloatArray, FloatArray]:
    """Return the part of shares and constant (q,) and the contributions of labelled rows (q, m)."""
    K = process.kernel(process.represent(views), process.labelled) - process.constant
    difference = process.alpha[:, pair[0]] - process.alpha[:, pair[1]]
    return _level(process, pair), process.temperature * K * difference.T


def by_blocks(process: GaussianProcess, views: Views, pair: Pair) -> tuple[FloatArray, FloatArray]:
    """Return the part of shares and constant (q,) and the contributions of blocks (q, B)."""
    rows = np.arange(len(pair[0]))
    amounts = np.empty((len(rows), len(process.blocks)))
    for k, (block, readout) in enumerate(zip(process.blocks, process.readouts, strict=True)):
        scores = block.scores(block.represent(views), readout)
        amounts[:, k] = scores[rows, pair[0]] - scores[rows, pair[1]]
    return _level(process, pair), process.temperature * process.amplitudes * amounts


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

    def of_row(i: int) -> tuple[float, FloatArray, FloatArray]:
        row, classes = {name: part[i] for name, part in rows.items()}, (pair[0][i], pair[1][i])
        differs = np.zeros((len(usual), n_columns), bool)
        for name, part in background.items():
            which, entry = np.nonzero(part != row[name])
            differs[which, owners[name][entry]] = True
        used = used_rows(differs)

        def of_mixtures(begin: NDArray[np.intp], replaced: NDArray[np.bool_]) -> FloatArray:
            """Return the log-odds of background rows with some columns replaced by the row's."""
            odds = []
            for start, stop in chunks(len(begin), size):
                which, mask = used[begin[start:stop]], replaced[start:stop]
                mixed = {
                    name: np.where(mask[:, columns], row[name], background[name][which])
                    for name, columns in owners.items()
                }
                odds.append(log_odds(process, process.scores(maps.views(mixed)), classes))
            return np.concatenate(odds)

        starts = log_odds(process, usual[used], classes)
        values, errors = shapley_values(differs[used], starts, float(ends[i]), of_mixtures)
        return float(starts.mean()), values, errors

    baselines, amounts, errors = zip(*map(of_row, range(len(ends))), strict=True)
    return np.array(baselines), np.array(amounts), np.array(errors)


def log_odds(process: GaussianProcess, scores: FloatArray, pair: Pair) -> FloatArray:
    """Return the log-odds of two classes of every row, shape (q,)."""
    logs = process.temperature * scores + np.log(process.factors)
    rows = np.arange(len(logs))
    odds: FloatArray = logs[rows, pair[0]] - logs[rows, pair[1]]
    return odds


def _level(process: GaussianProcess, pair: Pair) -> FloatArray:
    """Return the part of the log-odds that is the same for all rows, by classes."""
    constant = process.temperature * process.constant * process.alpha.sum(axis=0)
    levels = constant + np.log(process.factors)
    difference: FloatArray = levels[pair[0]] - levels[pair[1]]
    return difference
