"""What follows from labels: predictions, suggestions, accuracy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from lowrankgcn.estimators.gp_classifier import SpectralGPClassifier

Floats = NDArray[np.floating[Any]]


@final
@dataclass(frozen=True, eq=False)
class Answer:
    """What follows from labels.

    Attributes
    ----------
    labels : (n,) object array
        Texts; None in unlabelled rows.
    classes : tuple of str
    distributions : (n, C) array or None
        None with fewer than two classes.
    suggestions : list of int
        Rows to label next, the most useful first.
    accuracy : dict from str to float, or None
        Estimate from rows that were drawn at random; None with too few labels.
    classifier : SpectralGPClassifier or None
        The last fitted one; None before the first.
    suspects : tuple of (row, label, class, probability)
        Labelled rows for which another class is predicted without their label, clearest first.
    """

    labels: NDArray[Any]
    classes: tuple[str, ...] = ()
    distributions: Floats | None = None
    suggestions: tuple[int, ...] = ()
    accuracy: dict[str, float] | None = None
    classifier: SpectralGPClassifier | None = None
    suspects: tuple[tuple[int, str, str, float], ...] = ()

    def coded(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return the labelled rows and their classes."""
        places = {name: k for k, name in enumerate(self.classes)}
        rows = np.flatnonzero(self.labels != None)  # noqa: E711  (of each element)
        return rows, np.array([places[name] for name in self.labels[rows]], np.intp)
