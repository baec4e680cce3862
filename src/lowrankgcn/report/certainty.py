"""Summary of predicted probabilities, and rows of the table with their predictions.

>>> certainty = Certainty.from_probabilities(np.array([0.55, 0.7, 0.95, 0.97]), n_classes=2)
>>> certainty.median, certainty.below
(0.825, ((0.6, 1), (0.75, 2), (0.9, 2), (0.99, 4)))
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lowrankgcn._format import shorten

__all__ = ["Certainty", "TableRow", "cell_texts"]

FloatArray = NDArray[np.float64]

_BINS = 20
_THRESHOLDS = (0.4, 0.6, 0.75, 0.9, 0.99)


@final
@dataclass(frozen=True)
class Certainty:
    """Summary of the probabilities of the predicted classes.

    Attributes
    ----------
    n_rows : int
        Number of predicted rows.
    median : float
        NaN without rows.
    edges, counts : tuples
        Histogram of the probabilities.
    below : tuple of pairs
        Thresholds with the number of rows below each.
    """

    n_rows: int
    median: float
    edges: tuple[float, ...]
    counts: tuple[int, ...]
    below: tuple[tuple[float, int], ...]

    @classmethod
    def from_probabilities(cls, probabilities: FloatArray, *, n_classes: int) -> Certainty:
        """Summarise probabilities, shape (m,), each at least 1 / n_classes."""
        first = math.floor(_BINS / n_classes)
        edges = np.linspace(first / _BINS, 1.0, _BINS - first + 1)
        # Rounding may put a probability slightly beyond the ends.
        counts = np.histogram(np.clip(probabilities, edges[0], edges[-1]), edges)[0]
        below = tuple(
            (threshold, int((probabilities < threshold).sum()))
            for threshold in _THRESHOLDS
            if threshold > 1 / n_classes
        )
        median = float(np.median(probabilities)) if len(probabilities) else math.nan
        return cls(len(probabilities), median, tuple(edges.tolist()), tuple(counts.tolist()), below)


@final
@dataclass(frozen=True)
class TableRow:
    """A row of the table with its prediction.

    Attributes
    ----------
    number : int
        Counted from 1, without the header.
    cells : tuple of str
        Some of its cells.
    guesses : tuple of (class, probability)
        The two most probable classes; empty for a row without prediction.
    """

    number: int
    cells: tuple[str, ...]
    guesses: tuple[tuple[str, float], ...]


def cell_texts(frame: Any, row: int, columns: Sequence[Any]) -> tuple[str, ...]:
    """Return short texts of the cells of a row; a missing cell gives an empty text."""
    texts = []
    for name in columns:
        value = frame[name].iloc[row]
        if pd.api.types.is_scalar(value) and pd.isna(value):
            texts.append("")
        else:
            texts.append(f"{value:.6g}" if isinstance(value, float) else shorten(str(value)))
    return tuple(texts)
