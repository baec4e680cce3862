r"""When to stop: the accuracy on random rows as labels grow, and what ten more labels would add.

The error after m labels is taken as :math:`a m^{-b}`, fitted by least squares to its logarithm.

>>> curve = [Point(m, 1 - 0.8 * m**-0.5, 0.0, 1.0) for m in (20, 40, 80)]
>>> round(expected_gain(curve), 4)
0.0059
>>> expected_gain(curve[:2]) is None
True
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

_FEWEST = 3  # points of a curve
_MORE = 10  # labels


class Point(NamedTuple):
    """The accuracy with a number of labels, and its 90 % interval."""

    labelled: int
    value: float
    low: float
    high: float


def added(curve: Sequence[Point], point: Point) -> tuple[Point, ...]:
    """Return a curve with another point; points with as many labels or more are replaced."""
    return (*(one for one in curve if one.labelled < point.labelled), point)


def expected_gain(curve: Sequence[Point]) -> float | None:
    """Return how much the accuracy may grow with ten more labels.

    None if the points are too few, or if the number of labels has not grown by half.
    """
    if len(curve) < _FEWEST or curve[-1].labelled < 1.5 * curve[0].labelled:
        return None
    m = np.array([point.labelled for point in curve], np.float64)
    # Half a mistake more, so that there is a logarithm if no row is wrong.
    error = np.array([1 - point.value for point in curve]) + 0.5 / m
    slope, constant = np.polyfit(np.log(m), np.log(error), 1)
    now, then = (np.exp(constant + slope * np.log(n)) for n in (m[-1], m[-1] + _MORE))
    return float(max(0.0, now - then))
