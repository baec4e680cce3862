"""Class shares of the unlabelled rows.

Labels that were drawn at random have the class shares of the rows. If labels were drawn class by
class, the shares that explain the predictions best (expectation maximisation) multiply the
predicted odds, but only if they clearly differ from those of the labels.

>>> import numpy as np
>>> predicted = np.repeat([[0.9, 0.1], [0.2, 0.8]], [90, 10], axis=0)
>>> factors = share_factors(predicted, np.array([0, 0, 1, 1]))
>>> bool(factors[0] > 1 > factors[1])
True
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lowrankgcn.operators import FloatArray

_STEPS = 30
_SHRINKAGE = 0.3  # weight of the label shares
_CLEAR = 0.1  # Kullback-Leibler divergence from which differences are applied by half
_SAMPLED = 10.0  # weight of the shares of labels that were drawn at random, over m²
_MANY = 10  # labels per class from which the scores know these shares
_EVEN = 0.5  # share of the other classes with as many labels as the largest, if drawn by class
_SHORT = 0.5  # closeness to the largest class below which a class was hard to find


def evenness(counts: NDArray[np.intp]) -> float:
    """Return how far the labels seem to be drawn class by class, from 0 to 1.

    Zero means a sample of the rows. Each class but the largest is as even as its count is close to
    the largest one a, relative to 1 + √a. Half of them suffice, because a class may have few rows.
    One label more or less changes the result little.

    >>> draws = (5, 5, 2), (2, 1, 1), (3, 1), (7, 2, 1)
    >>> [round(evenness(np.array(counts)), 2) for counts in draws]
    [1.0, 1.0, 0.55, 0.0]
    """
    close = (_closeness(counts).sum() - 1.0) / (len(counts) - 1)
    part = min(1.0, float(close) / _EVEN)
    return part * part * (3.0 - 2.0 * part)


def _closeness(counts: NDArray[np.intp]) -> FloatArray:
    """Return how close each count is to the largest one, from 0 to 1."""
    most = counts.max()
    close: FloatArray = np.maximum(0.0, 1.0 - (most - counts) / (1.0 + np.sqrt(most)))
    return close


def label_factors(counts: NDArray[np.intp]) -> FloatArray:
    """Return the factors of class probabilities by the shares of the labels, shape (C,).

    With few labels, scores do not know the shares, because the variance of the constant is small
    (:class:`lowrankgcn.gp.recipe.FewLabels`). If the labels are a sample, the factors are powers
    10/m² of the shares with one more label of each class. From ten labels per class on they are
    one.

    >>> label_factors(np.array([7, 1])).round(2).tolist(), label_factors(np.array([2, 2])).tolist()
    ([1.08, 0.87], [1.0, 1.0])
    """
    m, n_classes = int(counts.sum()), len(counts)
    if m >= _MANY * n_classes:
        return np.ones(n_classes)
    power = (1.0 - evenness(counts)) * _SAMPLED / m**2
    factors: FloatArray = (n_classes * (counts + 1) / (m + n_classes)) ** power
    return factors


def share_factors(distributions: FloatArray, classes: NDArray[np.intp]) -> FloatArray:
    r"""Return factors of the class probabilities, shape (C,).

    Parameters
    ----------
    distributions : (n, C) array
        Class distributions of the unlabelled rows under the shares of the labels.
    classes : (m,) int array
        Classes of the labelled rows.

    Notes
    -----
    If labels were drawn class by class, EM gives shares π, shrunk to the shares p of the labels.
    The factors are :math:`(\pi/p)^{\mathrm{KL}^2/(\mathrm{KL}^2 + 0.1^2)}`, KL the divergence of π
    from p. A class with clearly fewer labels than the others gains no share, because rows of it
    were hard to find. Otherwise the labels are a sample, and the shares are those of the labels.
    In between, the factors are products of powers of both (:func:`evenness`).
    """
    counts = np.bincount(classes, minlength=distributions.shape[1])
    even, of_labels = evenness(counts), label_factors(counts)
    if not even:
        return of_labels
    known, short = counts / len(classes), _closeness(counts) < _SHORT
    shares = known.copy()
    for _ in range(_STEPS):
        mean = apply_factors(distributions, shares / known).mean(axis=0)
        shares = (mean + _SHRINKAGE * known) / (1 + _SHRINKAGE)
        shares[short] = np.minimum(shares, known)[short]
        shares[~short] *= (1 - shares[short].sum()) / shares[~short].sum()
    divergence = float((shares * np.log(shares / known)).sum())
    exponent = even * divergence**2 / (divergence**2 + _CLEAR**2)
    factors: FloatArray = of_labels * (shares / known) ** exponent
    return factors


def apply_factors(distributions: FloatArray, factors: FloatArray) -> FloatArray:
    """Multiply class probabilities by factors and normalise them."""
    products = distributions * factors
    shares: FloatArray = products / products.sum(axis=1, keepdims=True)
    return shares


def promises(distributions: FloatArray) -> FloatArray:
    """Return share and mean probability of the rows that are predicted as each class, shape (C, 2).

    The mean is NaN without rows.

    >>> promises(np.array([[0.9, 0.1], [0.4, 0.6], [0.7, 0.3]])).round(2).tolist()
    [[0.67, 0.8], [0.33, 0.6]]
    """
    predicted, top = distributions.argmax(axis=1), distributions.max(axis=1, initial=0.0)
    counts, sums = (np.bincount(predicted, w, distributions.shape[1]) for w in (None, top))
    means = np.divide(sums, counts, out=np.full(len(counts), np.nan), where=counts > 0)
    return np.column_stack([counts / max(1, len(predicted)), means])
