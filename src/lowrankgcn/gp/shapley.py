"""Shapley values of the columns of a row, relative to background rows.

Starting from a background row, the values of the row replace those of the background one column
after the other. A column contributes the mean change of the result at its turn, over background
rows and orders of the columns. The changes along an order add up to the whole change, so the sum of
the contributions is exact for any sample of orders.

>>> import numpy as np
>>> from lowrankgcn.gp.shapley import shapley_values
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
from collections.abc import Callable
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from lowrankgcn.operators import FloatArray

Index = NDArray[np.intp]

_EVALUATIONS = 4000  # for a row, unless four background rows take more
_FEWEST_ROWS = 4


def used_rows(differs: NDArray[np.bool_]) -> Index:
    """Return the background rows to use: all of them, or evenly spaced ones for many columns."""
    widest = max(1, int(differs.sum(axis=1).max()))
    count = min(len(differs), max(_FEWEST_ROWS, _EVALUATIONS // (2 * widest)))
    return np.linspace(0, len(differs) - 1, count).round().astype(np.intp)


def shapley_values(
    differs: NDArray[np.bool_],
    starts: FloatArray,
    end: float,
    evaluate: Callable[[Index, NDArray[np.bool_]], FloatArray],
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

    Notes
    -----
    At most max(4000, 8 p) evaluations. With 32 background rows, all orders are used for up to four
    columns that differ, otherwise random orders, each with its reverse. The errors are those of
    the random orders: of their pairs or, if there is one pair only, of the background rows.
    """
    generator = np.random.default_rng(0)  # the same orders for every row
    orders = [_orders(np.flatnonzero(row), len(differs), generator) for row in differs]
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


def _orders(columns: Index, n_rows: int, generator: np.random.Generator) -> Index:
    """Return orders of columns, one in each row."""
    count = _EVALUATIONS // (n_rows * max(1, len(columns) - 1))
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
