r"""Accuracy by cross-validation on the labelled rows.

>>> import lowrankgcn as lg, numpy as np
>>> cars = lg.datasets.load_cars("buying", as_frame=True)
>>> y = np.full(1728, -1)
>>> y[cars.training] = cars.target.iloc[cars.training]
>>> print(estimate_accuracy(lg.GCNClassifier(random_state=0), cars.data, y))
accuracy ...% (95% interval ...% to ...%) on 20 labelled rows; largest class 25%
"""

from __future__ import annotations

import math
import time
import warnings
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from lowrankgcn._progress import mute_progress
from lowrankgcn._validation import invalid, positive_int
from lowrankgcn.estimators.classifier import GCNClassifier
from lowrankgcn.estimators.fitting import predict_without, read_data, set_up
from lowrankgcn.estimators.labels import Labels
from lowrankgcn.estimators.selection import FOLDS, REPEATS, stratified_folds

__all__ = ["Validation", "estimate_accuracy", "wilson_interval"]

_FEW_LABELS = 200
_NORMAL = 1.959963984540054  # 97.5 % quantile of the normal distribution


@final
@dataclass(frozen=True)
class Validation:
    """Cross-validated accuracy.

    Attributes
    ----------
    accuracy : float
        Share of held-out labels predicted correctly; each row counts once.
    low, high : float
        Ends of the 95 % interval, see :func:`wilson_interval`.
    n_rows : int
        Number of rows held out at least once. The only label of a class is never held out.
    n_labelled : int
        Number of labelled rows.
    n_folds : int
        Number of training runs.
    largest_class : float
        Accuracy of always predicting the most frequent class.
    recalls : mapping from class to (float, int)
        Recall of each class, and the number of its rows.
    confusions : tuple of (class, class, float)
        Number of rows of the first class that were predicted as the second. A row held out several
        times counts once in total.
    seconds : float
    """

    accuracy: float
    low: float
    high: float
    n_rows: int
    n_labelled: int
    n_folds: int
    largest_class: float
    recalls: dict[Any, tuple[float, int]]
    confusions: tuple[tuple[Any, Any, float], ...]
    seconds: float

    def __str__(self) -> str:
        """Show the accuracy in one line."""
        return (
            f"accuracy {self.accuracy:.0%} (95% interval {self.low:.0%} to {self.high:.0%}) "
            f"on {self.n_rows} labelled rows; largest class {self.largest_class:.0%}"
        )


def estimate_accuracy(
    classifier: GCNClassifier,
    X: Any,
    y: Any,
    *,
    n_folds: int = FOLDS,
    n_repeats: int | None = None,
) -> Validation:
    """Estimate the accuracy by stratified cross-validation on the labelled rows.

    Parameters
    ----------
    classifier : GCNClassifier
        Classifier whose parameters are used; it is not changed.
    X, y
        As for :meth:`GCNClassifier.fit`.
    n_folds : int
        Number of folds, stratified by class.
    n_repeats : int, optional
        Number of random partitions; 2 for at most 200 labels, else 1.

    Returns
    -------
    Validation

    Raises
    ------
    ValueError
        If an argument is invalid, or no class has two labels.

    Notes
    -----
    All rows stay in the graph, as in :meth:`GCNClassifier.fit`. Graph and eigenpairs do not depend
    on labels and are computed once; each of the n_folds · n_repeats folds costs selection and
    training.

    Examples
    --------
    >>> import lowrankgcn as lg, numpy as np
    >>> X = np.r_[np.zeros((20, 2)), np.ones((20, 2))] + np.arange(80).reshape(40, 2) / 400
    >>> y = np.r_[np.zeros(5), np.full(15, -1), np.ones(5), np.full(15, -1)]
    >>> validation = estimate_accuracy(lg.GCNClassifier(max_iter=20, random_state=0), X, y)
    >>> validation.accuracy, validation.n_rows, round(validation.low, 2)
    (1.0, 10, 0.72)
    """
    if not isinstance(classifier, GCNClassifier):
        raise invalid("classifier", "a GCNClassifier", type(classifier).__name__)
    begin = time.perf_counter()
    scratch = clone(classifier)
    rows, labels, settings, seed = read_data(scratch, X, y)
    if n_repeats is None:
        n_repeats = REPEATS if len(labels.index) <= _FEW_LABELS else 1
    folds = stratified_folds(
        labels.codes,
        np.random.default_rng(seed),
        n_folds=positive_int(n_folds, "n_folds", minimum=2),
        n_repeats=positive_int(n_repeats, "n_repeats"),
    )
    if not len(folds):
        raise invalid("y", "a class with two labels, to hold one out", "none")
    found = np.full(folds.shape, -1)
    with warnings.catch_warnings(), mute_progress() as report:
        warnings.simplefilter("ignore", ConvergenceWarning)  # the fit with all labels warns
        report("cross-validation", 0, len(folds))
        ready = set_up(rows, labels, settings, seed)
        for number, fold in enumerate(folds):
            found[number, fold] = predict_without(ready, labels, fold, settings, None, seed)
            report("cross-validation", number + 1, len(folds))
    return _summary(labels, folds, found, time.perf_counter() - begin)


def _summary(
    labels: Labels, folds: NDArray[np.bool_], found: NDArray[np.intp], seconds: float
) -> Validation:
    times = folds.sum(axis=0)
    hidden = times > 0
    own = (found == labels.codes).sum(axis=0)[hidden] / times[hidden]
    codes, classes = labels.codes[hidden], labels.classes.tolist()
    accuracy = float(own.mean())
    low, high = wilson_interval(accuracy, len(own))
    counts = np.bincount(codes, minlength=len(classes))
    sums = np.bincount(codes, own, minlength=len(classes))
    confusion = np.zeros((len(classes), len(classes)))
    folds_of, rows = np.nonzero(folds)
    np.add.at(confusion, (labels.codes[rows], found[folds_of, rows]), 1 / times[rows])
    return Validation(
        accuracy,
        low,
        high,
        n_rows=len(own),
        n_labelled=len(labels.index),
        n_folds=len(folds),
        largest_class=float(counts.max() / len(own)),
        recalls={
            name: (float(total / count), int(count))
            for name, total, count in zip(classes, sums, counts, strict=True)
            if count
        },
        confusions=tuple(
            (classes[i], classes[j], float(confusion[i, j]))
            for i, j in zip(*np.nonzero(confusion), strict=True)
        ),
        seconds=seconds,
    )


def wilson_interval(share: float, count: int) -> tuple[float, float]:
    r"""Return the 95 % confidence interval of a proportion.

    .. math:: \frac{p + z^2/2m \pm z \sqrt{p(1-p)/m + z^2/4m^2}}{1 + z^2/m}

    with z = 1.96. Wilson's interval stays within 0 and 1 and is accurate for few rows and shares
    near 1. Rows are assumed independent.

    Examples
    --------
    >>> low, high = wilson_interval(0.9, 20)
    >>> round(low, 3), round(high, 3)
    (0.699, 0.972)
    """
    m, z = positive_int(count, "count"), _NORMAL
    middle = share + z * z / (2 * m)
    half = z * math.sqrt(share * (1 - share) / m + z * z / (4 * m * m))
    scale = 1 + z * z / m
    return max(0.0, (middle - half) / scale), min(1.0, (middle + half) / scale)
