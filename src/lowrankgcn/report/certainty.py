"""How sure the classifier is of its answers, and of which rows most and least.

>>> certainty = Certainty.of(np.array([0.55, 0.7, 0.95, 0.97]), n_classes=2)
>>> certainty.median, certainty.below
(0.825, ((0.6, 1), (0.75, 2), (0.9, 2), (0.99, 4)))
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

__all__ = ["Certainty", "extremes"]

FloatArray = NDArray[np.float64]

_BINS = 20
_THRESHOLDS = (0.4, 0.6, 0.75, 0.9, 0.99)


@final
@dataclass(frozen=True)
class Certainty:
    """Probabilities of the predicted classes, summed up.

    Attributes
    ----------
    n_rows : int
        Rows that were predicted.
    median : float
        Half of the rows have at least this probability; NaN without rows.
    edges, counts : tuples
        A histogram: how many rows lie between which probabilities.
    below : tuple of pairs
        Thresholds, with the number of rows below each.
    """

    n_rows: int
    median: float
    edges: tuple[float, ...]
    counts: tuple[int, ...]
    below: tuple[tuple[float, int], ...]

    @classmethod
    def of(cls, probabilities: FloatArray, *, n_classes: int) -> Certainty:
        """Sum up probabilities, shape (m,), none of which is below 1 / n_classes."""
        first = math.floor(_BINS / n_classes)
        edges = np.linspace(first / _BINS, 1.0, _BINS - first + 1)
        # Rounding may put a probability a hair beyond the ends.
        inside = np.clip(probabilities, edges[0], edges[-1])
        counts = np.histogram(inside, edges)[0]
        below = tuple(
            (threshold, int((probabilities < threshold).sum()))
            for threshold in _THRESHOLDS
            if threshold > 1 / n_classes
        )
        median = float(np.median(probabilities)) if len(probabilities) else math.nan
        return cls(len(probabilities), median, tuple(edges.tolist()), tuple(counts.tolist()), below)

    def numbers(self) -> dict[str, Any]:
        """Plain numbers for JSON."""
        return {
            "median": None if math.isnan(self.median) else self.median,
            "histogram": {"edges": list(self.edges), "rows": list(self.counts)},
            "below": [{"probability": value, "rows": rows} for value, rows in self.below],
        }


def extremes(values: FloatArray, count: int, *, largest: bool) -> NDArray[np.intp]:
    """Positions of the `count` largest or smallest values, best first; of equals the first.

    Cost: O(m) for m values.

    >>> extremes(np.array([0.5, 0.9, 0.7, 0.9]), 2, largest=True).tolist()
    [1, 3]
    """
    keys = -values if largest else values
    if len(keys) > count:
        border = np.partition(keys, count - 1)[count - 1]
        chosen = np.concatenate(
            [np.flatnonzero(keys < border), np.flatnonzero(keys == border)[:count]]
        )[:count]
    else:
        chosen = np.arange(len(keys))
    return chosen[np.argsort(keys[chosen], kind="stable")]
