"""Whether a published accuracy agrees with ours: a test that can fail.

The paper prints means without their spread. A row agrees if the difference of the two means is not
larger than chance allows, or not larger than two points:

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

__all__ = ["CONFIDENCE", "TOLERANCE", "Spread", "Verdict", "interval", "judge", "spread"]

CONFIDENCE = 0.95
_ROWS = 58  # in all tables of the paper: with 95 % for each, three would be found wrong by chance
# Points that are not worth quarrelling about: the choice of training nodes, which is the same for
# all of the paper's figures, moves an accuracy by more.
TOLERANCE = 2.0


@final
@dataclass(frozen=True)
class Verdict:
    """Our accuracy beside the published one, all in per cent.

    Attributes
    ----------
    mean, deviation : float
        Of our runs.
    half_width : float or None
        Of the 95 % interval of the mean; None for a single run.
    difference : float
        Ours minus the published figure.
    chance : float or None
        Largest difference that random starts may make, see :func:`judge`.
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
        """Whether the starts alone do not explain the difference, small as it may be."""
        return self.chance is not None and abs(self.difference) > self.chance


def judge(accuracies: Sequence[float], published: float, published_runs: int) -> Verdict:
    r"""Compare the mean of our runs with a published mean.

    With the standard deviation s of our n runs, which the published N runs are taken to share, the
    difference of the means is within chance if it is not larger than

    .. math:: t_{n-1}\, s \sqrt{1/n + 1/N}

    with the quantile t that makes all 58 rows of the paper stay within it in 95 of 100
    reproductions if nothing but the random starts differs (Bonferroni).

    Parameters
    ----------
    accuracies : sequence of float
        Shares, one per run.
    published : float
        Per cent.
    published_runs : int
        Runs that the published mean is taken over.
    """
    mean, deviation, half_width = interval(accuracies)
    chance = None
    if half_width is not None:
        n = len(accuracies)
        quantile = float(student.ppf(1 - (1 - CONFIDENCE) / _ROWS / 2, n - 1))
        chance = quantile * deviation * math.sqrt(1 / n + 1 / published_runs)
    return Verdict(mean, deviation, half_width, mean - published, chance)


def interval(accuracies: Sequence[float]) -> tuple[float, float, float | None]:
    """Mean, standard deviation and half the width of the mean's 95 % interval, in per cent.

    Examples
    --------
    >>> interval([0.5, 0.5])
    (50.0, 0.0, 0.0)
    >>> interval([0.5])
    (50.0, 0.0, None)
    """
    values = 100 * np.asarray(accuracies)
    n = values.size
    if n < 2:
        return float(values.mean()), 0.0, None
    deviation = float(values.std(ddof=1))
    width = float(student.ppf((1 + CONFIDENCE) / 2, n - 1)) * deviation / math.sqrt(n)
    return float(values.mean()), deviation, width


@final
@dataclass(frozen=True)
class Spread:
    """Mean accuracies (per cent) under arbitrary choices, such as signs, and what to expect.

    ``lowest`` and ``highest`` are of the choices tried; another one stays between ``low`` and
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
    r"""Prediction interval of one more choice from the means (shares) of k choices.

    .. math:: \bar m \pm t_{k-1}\, s \sqrt{1 + 1/k}

    Examples
    --------
    >>> spread([0.90, 0.91, 0.92]).covers(91.5), spread([0.90, 0.91, 0.92]).covers(60.0)
    (True, False)
    """
    values = 100 * np.asarray(means)
    k = values.size
    reach = float(student.ppf((1 + CONFIDENCE) / 2, k - 1) * values.std(ddof=1))
    reach *= math.sqrt(1 + 1 / k)
    middle = float(values.mean())
    return Spread(
        float(values.min()), float(values.max()), max(0.0, middle - reach), min(100, middle + reach)
    )
