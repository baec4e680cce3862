"""Scores of rows with a label, for scikit-learn's model selection."""

from __future__ import annotations

from functools import partial
from typing import Any

from sklearn.metrics import get_scorer
from sklearn.utils import _safe_indexing

from lowrankgcn.estimators.class_labels import known_labels


def labelled_scorer(scoring: Any = "accuracy") -> Any:
    """Return a scorer that ignores unlabelled rows.

    scikit-learn's own scorers take −1 for a class.

    Parameters
    ----------
    scoring : str or scorer
        Name of a score in scikit-learn, or a function of estimator, X and y.

    Examples
    --------
    >>> import lowrankgcn as lg, numpy as np
    >>> from sklearn.model_selection import cross_val_score
    >>> spiral = lg.datasets.load_spiral(60, random_state=0)
    >>> y = np.where(np.arange(300) % 3 == 0, spiral.target, -1)
    >>> scores = cross_val_score(
    ...     lg.SpectralGPClassifier(random_state=0),
    ...     spiral.data,
    ...     y,
    ...     scoring=lg.metrics.labelled_scorer("balanced_accuracy"),
    ...     cv=3,
    ... )
    >>> bool(scores.min() > 0.7)
    True
    """
    return partial(_score, get_scorer(scoring))


def _score(scorer: Any, estimator: Any, X: Any, y: Any) -> float:
    index, labels, _ = known_labels(y)
    return float(scorer(estimator, _safe_indexing(X, index), labels))
