r"""Contributions to the log-odds of two classes, which add up exactly.

The log-odds of classes p and r at row x are

.. math:: \log\frac{P_p(x)}{P_r(x)} = T \sum_i k(x, i) (\alpha_{ip} - \alpha_{ir})
          + \log\frac{s_p}{s_r}

with the factors s of the class shares. With k = c + Σ_b a_b k_b this is a sum over blocks b or over
labelled rows i, and a constant for the two classes.

Contributions of columns are Shapley values relative to background rows. Starting from a background
row, the values of the row replace those of the background one column after the other. A column
contributes the mean change of the result at its turn, over background rows and orders of the
columns. The changes along an order add up to the whole change, so the sum of the contributions is
exact for any sample of orders.

The scores of propagated features are linear in the features, of the node and of others, relative to
their mean. Every feature has its own term.

>>> import numpy as np
>>> from lowrankgcn.gp.attribution import shapley_values
>>> def product(start, replaced):  # of two columns: 2 and 3 in the row, 0 and 1 in the background
...     return np.where(replaced[:, 0], 2, 0) * np.where(replaced[:, 1], 3, 1)
>>> values, errors = shapley_values(np.ones((1, 2), bool), np.array([0.0]), 6.0, product)
>>> values.tolist(), errors.tolist()
([4.0, 2.0], [0.0, 0.0])

References
----------
Štrumbelj and Kononenko, Explaining prediction models and individual predictions with feature
contributions, Knowledge and Information Systems 41 (2014).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowrankgcn._parallel import chunks
from lowrankgcn.gp.blocks import Views
from lowrankgcn.gp.compiled import CompiledScores
from lowrankgcn.gp.process import GaussianProcess
from lowrankgcn.gp.propagated_block import PropagatedBlock
from lowrankgcn.operators import FloatArray

Index = NDArray[np.intp]
Pair = tuple[Any, Any]  # class p and class r, or arrays of those of every row
Parts = Mapping[str, NDArray[Any]]

_CELLS = 4_000_000  # numbers of mixed rows at a time
EVALUATIONS = 4000  # for a row, unless four background rows take more
_FEWEST_ROWS = 4


def by_rows(process: GaussianProcess, views: Views, pair: Pair) -> tuple[FloatArray, FloatArray]:
    """Return the part of shares and constant (q,) and the contributions of labelled rows (q, m)."""
    K = process.kernel(process.represent(views), process.labelled) - process.constant
    difference = process.alpha[:, pair[0]] - process.alpha[:, pair[1]]
    return _level(process, pair), process.temperature * K * difference.T


def by_blocks(process: GaussianProcess, views: Views, pair: Pair) -> tuple[FloatArray, FloatArray]:
    """Return the part of shares and constant (q,) and the contributions of blocks (q, B)."""
    rows, scores = np.arange(len(pair[0])), process.block_scores(views)
    amounts = scores[:, rows, pair[0]] - scores[:, rows, pair[1]]
    return _level(process, pair), process.temperature * amounts.T


def by_columns(
    compiled: CompiledScores,
    background: Parts,
    rows: Parts,
    pair: Pair,
    evaluations: int = EVALUATIONS,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the mean log-odds of background rows (q,), Shapley values and their errors (q, p).

    Parameters
    ----------
    compiled : CompiledScores
    background, rows : mappings from part to array
        Rows by :meth:`RowViews.parts`. A given graph counts as a last column.
    pair : pair of (q,) int arrays
    evaluations : int

    Notes
    -----
    At most max(`evaluations`, 8 p) mixed rows are classified to explain a row.
    """
    process, owners = compiled.process, compiled.maps.owners
    n_columns = 1 + max(int(columns.max(initial=-1)) for columns in owners.values())
    size = max(1, _CELLS // max(1, sum(map(len, owners.values()))))
    ends = log_odds(process, compiled.at(rows), pair)
    usual = compiled.at(background)

    def of_row(i: int) -> tuple[float, FloatArray, FloatArray]:
        row, classes = {name: part[i] for name, part in rows.items()}, (pair[0][i], pair[1][i])
        differs = np.zeros((len(usual), n_columns), bool)
        for name, part in background.items():
            which, entry = np.nonzero(part != row[name])
            differs[which, owners[name][entry]] = True
        used = used_rows(differs, evaluations)

        def of_mixtures(begin: NDArray[np.intp], replaced: NDArray[np.bool_]) -> FloatArray:
            """Return the log-odds of background rows with some columns replaced by the row's."""
            odds = []
            for start, stop in chunks(len(begin), size):
                which, mask = used[begin[start:stop]], replaced[start:stop]
                mixed = {
                    name: np.where(mask[:, columns], row[name], background[name][which])
                    for name, columns in owners.items()
                }
                odds.append(log_odds(process, compiled.at(mixed), classes))
            return np.concatenate(odds)

        starts = log_odds(process, usual[used], classes)
        end = float(ends[i])
        values, errors = shapley_values(differs[used], starts, end, of_mixtures, evaluations)
        return float(starts.mean()), values, errors

    baselines, amounts, errors = zip(*map(of_row, range(len(ends))), strict=True)
    return np.array(baselines), np.array(amounts), np.array(errors)


def by_features(
    compiled: CompiledScores, background: Parts, rows: Parts, pair: Pair
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return baselines (q,), and contributions of columns with their errors, both (q, p).

    Parameters and results are as for :func:`by_columns`. Features of a table have a last column for
    the graph itself. Wide features have a column each and no errors.
    """
    process, maps = compiled.process, compiled.maps
    propagated = np.array([isinstance(block, PropagatedBlock) for block in process.blocks])
    terms: FloatArray = np.zeros(())
    for k in np.flatnonzero(propagated):
        block: Any = process.blocks[k]
        weights = process.readouts[k][:, pair[0]] - process.readouts[k][:, pair[1]]
        parts = block.parts(block.represent(rows), weights)
        terms = terms + process.temperature * process.amplitudes[k] * parts
    if maps.features is None:
        return _level(process, pair), terms, np.zeros_like(terms)
    rest = np.flatnonzero(~propagated)
    others = replace(
        process,
        blocks=tuple(process.blocks[k] for k in rest),
        amplitudes=process.amplitudes[rest],
        labelled=tuple(process.labelled[k] for k in rest),
    )
    cells = {name: rows[name] for name in background}
    baselines, amounts, errors = by_columns(CompiledScores(others, maps), background, cells, pair)
    # The last feature is a column of ones, which the graph changes.
    owners = np.append(maps.features.owners, amounts.shape[1] - 1)
    for feature, owner in enumerate(owners):
        amounts[:, owner] += terms[:, feature]
    return baselines, amounts, errors


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


def used_rows(differs: NDArray[np.bool_], evaluations: int = EVALUATIONS) -> Index:
    """Return the background rows to use: all of them, or evenly spaced ones for many columns."""
    widest = max(1, int(differs.sum(axis=1).max()))
    count = min(len(differs), max(_FEWEST_ROWS, evaluations // (2 * widest)))
    return np.linspace(0, len(differs) - 1, count).round().astype(np.intp)


def shapley_values(
    differs: NDArray[np.bool_],
    starts: FloatArray,
    end: float,
    evaluate: Callable[[Index, NDArray[np.bool_]], FloatArray],
    evaluations: int = EVALUATIONS,
) -> tuple[FloatArray, FloatArray]:
    """Return the contributions of columns to end − mean(starts), and standard errors, both (p,).

    Parameters
    ----------
    differs : (B, p) bool array
        Whether the row differs from each background row in a column; others contribute nothing.
    starts : (B,) array
        Results of the background rows.
    end : float
        Result of the row.
    evaluate : function of background rows (L,) and replaced columns (L, p)
        Returns the results of the mixed rows, shape (L,).
    evaluations : int

    Notes
    -----
    At most max(`evaluations`, 8 p) evaluations. With 4000 and 32 background rows, all orders are
    used for up to four columns that differ, otherwise random orders, each with its reverse. The
    errors are those of the random orders: of their pairs or, if there is one pair only, of the
    background rows.
    """
    generator = np.random.default_rng(0)  # the same orders for every row
    orders = [_orders(np.flatnonzero(row), len(differs), generator, evaluations) for row in differs]
    masks = [_replaced(columns, differs.shape[1]) for columns in orders]
    begin = np.repeat(np.arange(len(masks)), [len(mask) for mask in masks])
    between = evaluate(begin, np.concatenate(masks)) if len(begin) else np.zeros(0)
    values, variances = np.zeros(differs.shape), np.zeros(differs.shape)  # by background row
    done, one_pair = 0, False
    for k, (columns, start, mask) in enumerate(zip(orders, starts, masks, strict=True)):
        if columns.size:
            path = np.empty((len(columns), columns.shape[1] + 1))
            path[:, 0], path[:, -1] = start, end
            path[:, 1:-1] = between[done : done + len(mask)].reshape(len(columns), -1)
            changes = np.zeros((len(columns), differs.shape[1]))
            np.put_along_axis(changes, columns, np.diff(path, axis=1), axis=1)
            values[k] = changes.mean(axis=0)
            half = len(columns) // 2
            if columns.shape[1] >= 8 or len(columns) < math.factorial(columns.shape[1]):
                one_pair |= half == 1
                pairs = (changes[:half] + changes[half:]) / 2
                variances[k] = pairs.var(axis=0, ddof=min(1, half - 1)) / half
        done += len(mask)
    if one_pair:
        variances[:] = values.var(axis=0, ddof=min(1, len(values) - 1))
    return values.mean(axis=0), np.sqrt(variances.mean(axis=0) / len(values))


def _orders(columns: Index, n_rows: int, generator: np.random.Generator, evaluations: int) -> Index:
    """Return orders of columns, one in each row."""
    count = evaluations // (n_rows * max(1, len(columns) - 1))
    if len(columns) < 8 and math.factorial(len(columns)) <= max(2, count):
        return np.array(list(permutations(columns)), np.intp)
    half = np.array([generator.permutation(columns) for _ in range(max(1, count // 2))])
    return np.concatenate([half, half[:, ::-1]])


def _replaced(orders: Index, n_columns: int) -> NDArray[np.bool_]:
    """Return the replaced columns after each but the last step of every order, shape (L, p)."""
    count, length = orders.shape
    turn = np.full((count, n_columns), length)
    np.put_along_axis(turn, orders, np.arange(length)[None, :], axis=1)
    steps = np.arange(max(0, length - 1))
    return (turn[:, None, :] <= steps[:, None]).reshape(count * len(steps), n_columns)
