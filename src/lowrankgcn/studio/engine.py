"""Predictions after each label."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lowrankgcn.estimators.gp_fitting import first_rows
from lowrankgcn.estimators.spectral_gp import SpectralGPClassifier

_SUGGESTED = 10


@final
@dataclass(frozen=True, eq=False)
class Answer:
    """What follows from labels.

    Attributes
    ----------
    classes : tuple of str
    distributions : (n, C) array or None
        None with fewer than two classes.
    suggestions : list of int
        Rows to label next.
    accuracy : dict or None
    classifier : SpectralGPClassifier or None
    """

    classes: tuple[str, ...]
    distributions: NDArray[Any] | None
    suggestions: list[int]
    accuracy: dict[str, float] | None
    classifier: SpectralGPClassifier | None

    @classmethod
    def empty(cls) -> Answer:
        """Return the answer without labels."""
        return cls((), None, [], None, None)


@final
class Engine:
    def __init__(self, features: pd.DataFrame, settings: dict[str, Any]) -> None:
        self.features, self._settings = features, settings

    def settle(self, labels: NDArray[Any]) -> Answer:
        known = np.array([name is not None for name in labels])
        if len(set(labels[known])) < 2:
            count = min(_SUGGESTED, int((~known).sum()))
            rows = first_rows(self.features, count, labelled=np.flatnonzero(known)) if count else []
            return Answer((), None, [int(r) for r in rows], None, None)
        c = SpectralGPClassifier(**self._settings).fit(self.features, labels)
        count = min(_SUGGESTED, int((~known).sum()))
        rows = c.suggest(count) if count else []
        low, high = c.loo_interval_
        return Answer(
            tuple(c.classes_.tolist()),
            c.label_distributions_,
            [int(r) for r in rows],
            {"value": c.loo_accuracy_, "low": low, "high": high},
            c,
        )
