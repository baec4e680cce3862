"""Sums of floating-point numbers that do not depend on their order.

Numbers are rounded to integer multiples of a power of two far below the largest of them. Integers
are added without rounding, so the sum does not depend on the blocks or the order of rows.

>>> import numpy as np
>>> x = np.array([0.1, 1e9, -1e9, 0.2])
>>> float(x.sum()) == 0.3, round(FixedSum.from_numbers(x, exponent=30).value(), 9)
(False, 0.3)
>>> first, rest = FixedSum.from_numbers(x[:1], 30), FixedSum.from_numbers(x[1:], 30)
>>> first + rest == FixedSum.from_numbers(x[::-1], 30)
True
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

__all__ = ["FixedSum", "exponent_of"]

_HIGH = 30  # bits of the upper part
_LOW = 32  # bits of the lower part


def exponent_of(largest: float) -> int:
    """Return the smallest e with largest < 2^e.

    >>> exponent_of(5.0), exponent_of(8.0)
    (3, 4)
    """
    return int(np.frexp(abs(float(largest)))[1])


@final
@dataclass(frozen=True)
class FixedSum:
    """A sum of numbers below 2^exponent in units of 2^(exponent − 62).

    Attributes
    ----------
    units : int
    count : int
        Number of summands.
    exponent : int
    """

    units: int
    count: int
    exponent: int

    @classmethod
    def from_numbers(cls, numbers: NDArray[Any], exponent: int) -> FixedSum:
        """Sum an array of at most 2³⁰ numbers."""
        scaled = np.ldexp(np.asarray(numbers, np.float64), _HIGH - exponent)
        high = np.floor(scaled)
        low = np.floor((scaled - high) * 2.0**_LOW)
        units = (int(high.astype(np.int64).sum()) << _LOW) + int(low.astype(np.int64).sum())
        return cls(units, len(scaled), exponent)

    def __add__(self, other: FixedSum) -> FixedSum:
        """Add two sums."""
        assert other.exponent == self.exponent
        return FixedSum(self.units + other.units, self.count + other.count, self.exponent)

    def value(self) -> float:
        """Return the sum, rounded once."""
        return float(self._exact())

    def mean(self) -> float:
        """Return the mean, rounded once; 0 if there are no numbers."""
        return float(self._exact() / self.count) if self.count else 0.0

    def _exact(self) -> Fraction:
        return self.units * Fraction(2) ** (self.exponent - _HIGH - _LOW)
