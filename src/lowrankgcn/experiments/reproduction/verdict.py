"""Test whether a published accuracy agrees with ours.

The paper prints means without their spread. A row agrees if the difference of the two means is no
larger than chance allows, or no larger than two points:

>>> judge([0.90, 0.91, 0.92, 0.93], published=91.6, published_runs=100).agrees
True
>>> judge([0.90, 0.91, 0.92, 0.93], published=60.0, published_runs=100).agrees
False
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
from scipy.stats import t as student

from lowrankgcn.experiments.statistics import CONFIDENCE, interval

__all__ = ["TOLERANCE", "Spread", "Verdict", "judge", "spread"]

_ROWS = 58  # in all tables of the paper: at 95 % each, three would differ by chance
# Points. The choice of training nodes, the same for all of the paper's figures, changes an accuracy
# by more.
TOLERANCE = 2.0


@final
@dataclass(frozen=True)
class Verdict:
    """Our accuracy beside the published one, all in per cent.

    Attributes
    ----------
    mean, deviation : float
        Mean and standard deviation of our runs.
    half_width : float or None
        Half the width of the 95 % interval of the mean; None for a single run.
    difference : float
        Ours minus the published figure.
    chance : float or None
        Largest difference explained by random starts, see :func:`judge`.
    """

    mean: float
    deviation: float
    half_width: float | None
    difference: float
    chance: float | None

    @property
    def agrees(self) -> bool:
        """Whether the difference is within chance or within two points."""
        return abs(self.difference) <= max(TOLERANCE, self.chance or 0.0)

    @property
    def beyond_chance(self) -> bool:
        """Whether random starts alone do not explain the difference."""
        return self.chance is not None and abs(self.difference) > self.chance


def judge(accuracies: Sequence[float], published: float, published_runs: int) -> Verdict:
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
    """
    values = 100 * np.asarray(accuracies)
    mean, half_width = interval(values)
    n = values.size
    if n < 2:
        return Verdict(mean, 0.0, None, mean - published, None)
    deviation = float(values.std(ddof=1))
    quantile = float(student.ppf(1 - (1 - CONFIDENCE) / _ROWS / 2, n - 1))
    chance = quantile * deviation * math.sqrt(1 / n + 1 / published_runs)
    return Verdict(mean, deviation, half_width, mean - published, chance)


@final
@dataclass(frozen=True)
class Spread:
    """Range of mean accuracies (per cent) under arbitrary choices, such as signs.

    ``lowest`` and ``highest`` belong to the choices tried; another choice stays between ``low`` and
    ``high`` in 95 of 100 cases.
    """

    lowest: float
    highest: float
    low: float
    high: float

    def covers(self, published: float) -> bool:
        """Whether a published figure may come from one of these choices."""
        return self.low <= published <= self.high


def spread(means: Sequence[float]) -> Spread:
    r"""Compute the prediction interval of one more choice from the mean accuracies of k choices.

    .. math:: \bar m \pm t_{k-1}\, s \sqrt{1 + 1/k}

    Examples
    --------
    >>> spread([0.90, 0.91, 0.92]).covers(91.5), spread([0.90, 0.91, 0.92]).covers(60.0)
    (True, False)
    """
    values = 100 * np.asarray(means)
    middle, half_width = interval(values)
    reach = half_width * math.sqrt(values.size + 1)
    return Spread(
        float(values.min()), float(values.max()), max(0.0, middle - reach), min(100, middle + reach)
    )
