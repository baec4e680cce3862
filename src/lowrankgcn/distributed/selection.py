"""Exact order statistics of a column in blocks.

Numbers are mapped to unsigned integers in the same order. Every pass over the blocks counts the
numbers in 4096 equal parts of an interval and continues with the part that contains the rank, until
a single number is left.

>>> import numpy as np
>>> keys = ordered_keys(np.array([-1.5, -0.0, 0.0, 2.0]), "f")
>>> bool((np.diff(keys.astype(object)) >= 0).all()), numbers_from_keys(keys, "f").tolist()
(True, [-1.5, 0.0, 0.0, 2.0])
>>> search = Search.start(rank=2, low=keys[0], high=keys[-1])
>>> while not search.done:
...     search = search.narrowed(search.count(keys))
>>> numbers_from_keys(np.array([search.low], np.uint64), "f")[0]
np.float64(0.0)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, final

import numpy as np
from numpy.typing import NDArray

__all__ = ["KeyKind", "Search", "numbers_from_keys", "ordered_keys"]

KeyKind = Literal["f", "i", "u"]

_PARTS = 4096  # a search in 64-bit keys takes at most six passes
_SIGN = np.uint64(1 << 63)  # sign bit


def ordered_keys(numbers: NDArray[Any], kind: KeyKind) -> NDArray[np.uint64]:
    """Map floats ("f"), signed ("i") or unsigned integers to ordered unsigned integers."""
    if kind == "u":
        return numbers.astype(np.uint64)
    if kind == "i":
        return numbers.astype(np.int64).view(np.uint64) ^ _SIGN
    bits = (numbers.astype(np.float64) + 0.0).view(np.uint64)  # −0 becomes 0
    return np.where(bits & _SIGN, ~bits, bits | _SIGN)


def numbers_from_keys(keys: NDArray[np.uint64], kind: KeyKind) -> NDArray[Any]:
    """Return the numbers from the keys of :func:`ordered_keys`."""
    if kind == "u":
        return keys
    if kind == "i":
        return (keys ^ _SIGN).view(np.int64)
    return np.where(keys & _SIGN, keys ^ _SIGN, ~keys).view(np.float64)


@final
@dataclass(frozen=True)
class Search:
    """Search for the number of a given rank.

    Attributes
    ----------
    rank : int
        Rank among the numbers of the interval, from 0.
    low, high : int
        Smallest and largest key of the interval.
    """

    rank: int
    low: int
    high: int

    @classmethod
    def start(cls, rank: int, low: Any, high: Any) -> Search:
        """Start a search among the numbers between two keys."""
        return cls(int(rank), int(low), int(high))

    @property
    def done(self) -> bool:
        """Whether a single number is left."""
        return self.low == self.high

    @property
    def _shift(self) -> int:
        return max(0, (self.high - self.low).bit_length() - (_PARTS.bit_length() - 1))

    def count(self, keys: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Count the numbers in each part of the interval, shape (4096,)."""
        inside = keys[(keys >= np.uint64(self.low)) & (keys <= np.uint64(self.high))]
        parts = (inside - np.uint64(self.low)) >> np.uint64(self._shift)
        return np.bincount(parts.astype(np.intp), minlength=_PARTS)

    def narrowed(self, counts: NDArray[np.int64]) -> Search:
        """Continue with the part that contains the rank, given the counts of all blocks."""
        ends = np.cumsum(counts)
        part = int(np.searchsorted(ends, self.rank, side="right"))
        rank = self.rank - int(ends[part] - counts[part])
        low = self.low + (part << self._shift)
        return Search(rank, low, min(self.high, low + (1 << self._shift) - 1))
