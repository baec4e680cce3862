"""How reliable shares and probabilities of labelled rows are: intervals, log-loss and bins.

>>> low, high = share_interval(0.8, 30)
>>> bool(low < 0.8 < high)
True
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy  # loads its parts when they are used
from numpy.typing import NDArray

from lowrankgcn.operators import FloatArray

MOST_BINS = 10
SAME_PROBABILITY = 0.01
#: Leave-one-out predictions of labelled rows depend on each other: m labels count as m/1.5.
DEPENDENCE = 1.5
_ROWS_OF_A_BIN = 10  # fewer rows show chance more than calibration
_INTERVAL = 0.9
_NORMAL_QUANTILE = 1.645  # 90 % of a normal distribution lie within this many deviations


class ReliabilityBin(NamedTuple):
    """Labelled rows with similar leave-one-out probabilities of their predicted class.

    Attributes
    ----------
    probability : float
        Mean probability.
    correct : float
        Share of the rows whose predicted class is their label.
    rows : int
    chance : float
        Half-width of the range around `probability` that contains `correct` in nine of ten cases
        if the probabilities are right.
    """

    probability: float
    correct: float
    rows: int
    chance: float


def reliability_bins(
    top: FloatArray, correct: NDArray[np.bool_], most: int, same: float
) -> list[ReliabilityBin]:
    """Return at most `most` bins of equal numbers of rows, at least ten.

    Parameters
    ----------
    top : (m,) array
        Probabilities of the predicted classes.
    correct : (m,) bool array
    most : int
    same : float
        Neighbours whose mean probabilities differ by less are one bin.
    """
    n_bins = min(max(len(top) // _ROWS_OF_A_BIN, 1), most)
    groups: list[NDArray[np.intp]] = []
    for rows in np.array_split(np.argsort(top, kind="stable"), n_bins):
        if groups and top[rows].mean() - top[groups[-1]].mean() < same:
            groups[-1] = np.concatenate([groups[-1], rows])
        else:
            groups.append(rows)
    return [
        ReliabilityBin(
            float(top[rows].mean()), float(correct[rows].mean()), len(rows), chance(top[rows])
        )
        for rows in groups
    ]


def share_interval(share: float, n: float) -> tuple[float, float]:
    """Return the confidence interval of a share of `n` labelled rows."""
    count, tail = n / DEPENDENCE, (1 - _INTERVAL) / 2
    hits = share * count
    low = scipy.special.betaincinv(hits, count - hits + 1, tail) if hits > 0 else 0.0
    high = scipy.special.betaincinv(hits + 1, count - hits, 1 - tail) if share < 1 else 1.0
    return float(low), float(high)


def confusion_counts(
    codes: NDArray[np.integer[Any]], predicted: NDArray[np.intp], n_classes: int
) -> NDArray[np.int64]:
    """Return the number of rows by class and predicted class, shape (C, C)."""
    pairs = np.bincount(n_classes * codes + predicted, minlength=n_classes**2)
    return pairs.reshape(n_classes, n_classes)


def log_loss(
    codes: NDArray[np.integer[Any]], distributions: FloatArray, least: float = 1e-12
) -> float:
    """Return the mean cross-entropy; probabilities below `least` count as that.

    >>> round(log_loss(np.array([0, 1]), np.array([[0.5, 0.5], [1.0, 0.0]]), least=0.5), 3)
    0.693
    """
    probabilities = distributions[np.arange(len(codes)), codes]
    return -float(np.log(np.clip(probabilities, least, 1.0)).mean())


def chance(probabilities: NDArray[np.float64]) -> float:
    """Return the half-width of the 90 % range of the share of correct rows."""
    variance = np.sum(probabilities * (1 - probabilities))
    return float(_NORMAL_QUANTILE * np.sqrt(max(variance, 0.0)) / len(probabilities))
