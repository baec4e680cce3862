"""Means with their intervals, and ranks.

>>> interval([0.5, 0.75, 1.0])
(0.75, 0.6210...)
>>> mean_ranks([[0.9, 0.8, 0.8], [0.9, 0.7, 0.8]]).tolist()
[1.0, 2.75, 2.25]
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata, t

__all__ = ["interval", "mean_ranks"]

_LEVEL = 0.95


def interval(values: Any) -> tuple[float, float]:
    """Mean, and half the width of its 95 % interval by Student's t.

    Parameters
    ----------
    values : (m,) array
        NaN is left out. The half width is NaN for fewer than two values, the mean for none.
    """
    known = np.asarray(values, dtype=np.float64)
    known = known[~np.isnan(known)]
    if known.size == 0:
        return math.nan, math.nan
    if known.size == 1:
        return float(known[0]), math.nan
    spread = float(np.std(known, ddof=1)) / math.sqrt(known.size)
    return float(np.mean(known)), float(t.ppf((1 + _LEVEL) / 2, known.size - 1)) * spread


def mean_ranks(accuracies: Any) -> NDArray[np.float64]:
    """Mean over splits of the rank, 1 for the best; equal accuracies share their mean rank.

    Parameters
    ----------
    accuracies : (splits, methods) array
        NaN, a failure, is worse than everything else.

    Returns
    -------
    (methods,) array
    """
    values = np.asarray(accuracies, dtype=np.float64)
    ranks = rankdata(-np.where(np.isnan(values), -np.inf, values), axis=1)
    means: NDArray[np.float64] = ranks.mean(axis=0)
    return means
