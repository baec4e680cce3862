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


def drawn_by_class(counts: NDArray[np.intp]) -> bool:
    """Return whether more than half of the classes have the most labels.

    Such labels were probably drawn class by class and say nothing about the shares of the classes.
    Otherwise they are taken for a sample of the rows.

    >>> drawn_by_class(np.array([5, 5, 2])), drawn_by_class(np.array([7, 2, 1]))
    (True, False)
    """
    return 2 * int((counts == counts.max()).sum()) > len(counts)


def label_factors(counts: NDArray[np.intp]) -> FloatArray:
    """Return the factors of class probabilities by the shares of the labels, shape (C,).

    With few labels, scores do not know the shares, because the variance of the constant is small
    (:class:`lowrankgcn.gp.recipe.FewLabels`). If the labels are a sample, the factors are powers
    10/m² of the shares with one more label of each class. From ten labels per class on they are
    one.

    >>> label_factors(np.array([3, 1])).round(2).tolist(), label_factors(np.array([2, 2])).tolist()
    ([1.2, 0.78], [1.0, 1.0])
    """
    m, n_classes = int(counts.sum()), len(counts)
    if drawn_by_class(counts) or m >= _MANY * n_classes:
        return np.ones(n_classes)
    factors: FloatArray = (n_classes * (counts + 1) / (m + n_classes)) ** (_SAMPLED / m**2)
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
    from p. A class with fewer labels than the others gains no share, because rows of it were hard
    to find. Otherwise the labels are a sample, and the shares are those of the labels.
    """
    counts = np.bincount(classes, minlength=distributions.shape[1])
    if not drawn_by_class(counts):
        return label_factors(counts)
    known, short = counts / len(classes), counts < counts.max()
    shares = known.copy()
    for _ in range(_STEPS):
        mean = apply_factors(distributions, shares / known).mean(axis=0)
        shares = (mean + _SHRINKAGE * known) / (1 + _SHRINKAGE)
        shares[short] = np.minimum(shares, known)[short]
        shares[~short] *= (1 - shares[short].sum()) / shares[~short].sum()
    divergence = float((shares * np.log(shares / known)).sum())
    exponent = divergence**2 / (divergence**2 + _CLEAR**2)
    factors: FloatArray = (shares / known) ** exponent
    return factors


def apply_factors(distributions: FloatArray, factors: FloatArray) -> FloatArray:
    """Multiply class probabilities by factors and normalise them."""
    products = distributions * factors
    shares: FloatArray = products / products.sum(axis=1, keepdims=True)
    return shares
