"""Confidence intervals, prediction intervals and ranks.

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

__all__ = ["CONFIDENCE", "interval", "mean_ranks"]

CONFIDENCE = 0.95


def interval(values: Any) -> tuple[float, float]:
    """Return the mean and half the width of its 95 % interval (Student's t).

    Parameters
    ----------
    values : (m,) array
        NaN is ignored. The half width is NaN for fewer than two values, and so is the mean for
        none.
    """
    known = np.asarray(values, dtype=np.float64)
    known = known[~np.isnan(known)]
    if known.size < 2:
        return (float(known[0]) if known.size else math.nan), math.nan
    standard_error = float(np.std(known, ddof=1)) / math.sqrt(known.size)
    quantile = float(t.ppf((1 + CONFIDENCE) / 2, known.size - 1))
    return float(np.mean(known)), quantile * standard_error


def mean_ranks(accuracies: Any) -> NDArray[np.float64]:
    """Return the mean rank of each method over splits, 1 for the best; ties share their mean.

    Parameters
    ----------
    accuracies : (splits, methods) array
        NaN (a failed fit) ranks last.

    Returns
    -------
    (methods,) array
    """
    values = np.asarray(accuracies, dtype=np.float64)
    ranks = rankdata(-np.where(np.isnan(values), -np.inf, values), axis=1)
    means: NDArray[np.float64] = ranks.mean(axis=0)
    return means
