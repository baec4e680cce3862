"""Test whether a published accuracy agrees with ours.

The paper prints means without their spread. A row agrees if the difference of the two means is no
larger than chance allows, or no larger than two points:

>>> judge([0.90, 0.91, 0.92, 0.93], published=91.6, published_runs=100)["agrees"]
True
>>> judge([0.90, 0.91, 0.92, 0.93], published=60.0, published_runs=100)["agrees"]
False
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import stats

from lowrankgcn.experiments.statistics import CONFIDENCE, interval

__all__ = ["TOLERANCE", "judge"]

_ROWS = 58  # in all tables of the paper: at 95 % each, three would differ by chance
# Points. The choice of training nodes, the same for all of the paper's figures, changes an accuracy
# by more.
TOLERANCE = 2.0


def judge(accuracies: Sequence[float], published: float, published_runs: int) -> dict[str, Any]:
    r"""Compare the mean of our runs with a published mean.

    Let s be the standard deviation of our n runs, assumed to hold for the N published runs too. The
    difference of the means is within chance if it is no larger than

    .. math:: t_{n-1}\, s \sqrt{1/n + 1/N}

    with the quantile t for which all 58 rows of the paper stay within it in 95 of 100 reproductions
    if only the random starts differ (Bonferroni).

    Parameters
    ----------
    accuracies : sequence of float
        Accuracy of each run, 0 to 1.
    published : float
        Per cent.
    published_runs : int
        Number of runs behind the published mean.

    Returns
    -------
    dict
        In per cent: "accuracy", the mean of the runs, with "interval", half the width of its 95 %
        interval, and "deviation", the standard deviation of the runs; "difference", ours minus the
        published mean, and "chance", the largest difference that random starts explain. "interval"
        and "chance" are None for a single run. "beyond_chance" and "agrees" are the verdict.
    """
    values = 100 * np.asarray(accuracies)
    mean, half_width = interval(values)
    difference, n = mean - published, values.size
    deviation, chance = 0.0, None
    if n > 1:
        deviation = float(values.std(ddof=1))
        quantile = float(stats.t.ppf(1 - (1 - CONFIDENCE) / _ROWS / 2, n - 1))
        chance = quantile * deviation * math.sqrt(1 / n + 1 / published_runs)
    return {
        "accuracy": mean,
        "interval": None if chance is None else half_width,
        "deviation": deviation,
        "published_accuracy": published,
        "published_runs": published_runs,
        "difference": difference,
        "chance": chance,
        "beyond_chance": chance is not None and abs(difference) > chance,
        "agrees": abs(difference) <= max(TOLERANCE, chance or 0.0),
    }
