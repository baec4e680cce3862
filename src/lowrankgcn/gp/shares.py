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
import scipy  # loads its parts when they are used
from numpy.typing import NDArray

from lowrankgcn.operators import FloatArray

_STEPS = 30
_SHRINKAGE = 0.3  # weight of the label shares
_CLEAR = 0.1  # Kullback-Leibler divergence from which differences are applied by half
_SAMPLED = 20.0  # weight of the shares of labels that were drawn at random, over m³
_MANY = 10  # labels per class from which the scores know these shares
_RARELY, _PARTLY = 5.0, 0.3  # how seldom a class has few rows, and how often one more label
_SHORT = 0.5  # closeness to the largest class below which a class was hard to find


def evenness(counts: NDArray[np.intp]) -> float:
    r"""Return the probability that the labels were drawn class by class, from 0 to 1.

    Notes
    -----
    Both explanations of the counts :math:`n_1, \dots, n_C` of m labels are equally likely before.
    A *sample* of the rows is multinomial, with equal class shares or uniformly distributed ones:

    .. math:: \tfrac12 \frac{m!}{C^m \prod_c n_c!} + \tfrac12 \binom{m + C - 1}{C - 1}^{-1}.

    A *design* is a number a for every class, of which k classes have too few rows. This happens to
    a class with a probability distributed as Beta(1, 5), and each number below a is equally likely.
    In three of ten cases, r of the other C' = C − k classes have one label more already, for each
    0 < r < C' alike. So the probability is

    .. math:: 5\,\mathrm{B}(k + 1, C - k + 5)\,a^{-k} \times \begin{cases} 0.7 & r = 0 \\
        0.3 / \big((C' - 1) \binom{C'}{r}\big) & r > 0, \end{cases}

    summed over a, and times m/a, because the number a varies less than m.

    >>> draws = (5, 5, 5), (5, 5, 2), (2, 1), (4, 3), (7, 2, 1), (2, 3, 1, 2, 4, 1, 1, 3, 3)
    >>> [round(evenness(np.array(counts)), 1) for counts in draws]
    [1.0, 0.6, 0.6, 0.6, 0.1, 0.0]
    """
    special = scipy.special
    m, n_classes, most = int(counts.sum()), len(counts), int(counts.max())
    equal = special.gammaln(m + 1) - m * np.log(n_classes) - special.gammaln(counts + 1).sum()
    uniform = special.gammaln(m + 1) + special.gammaln(n_classes) - special.gammaln(m + n_classes)
    sample = np.logaddexp(equal, uniform) - np.log(2.0)
    highest, second = int((counts == most).sum()), int((counts == most - 1).sum())
    short = n_classes - highest
    designs = [np.log(1.0 - _PARTLY) + _exceptions(n_classes, short, most) - np.log(most)]
    if second:  # some classes have one label more
        others = highest + second
        ways = np.log(others - 1.0) - np.log(others + 1.0) - special.betaln(highest + 1, second + 1)
        short = n_classes - others
        designs.append(
            np.log(_PARTLY) - ways + _exceptions(n_classes, short, most - 1) - np.log(most - 1)
        )
    return float(special.expit(special.logsumexp(designs) + np.log(m) - sample))


def _exceptions(n_classes: int, count: int, a: int) -> float:
    """Return the log-probability that these classes have these numbers below a."""
    share = scipy.special.betaln(count + 1, n_classes - count + _RARELY) + np.log(_RARELY)
    return float(share - count * np.log(a))


def _closeness(counts: NDArray[np.intp]) -> FloatArray:
    """Return how close each count is to the largest one, from 0 to 1."""
    most = counts.max()
    close: FloatArray = np.maximum(0.0, 1.0 - (most - counts) / (1.0 + np.sqrt(most)))
    return close


def label_factors(counts: NDArray[np.intp]) -> FloatArray:
    """Return the factors of class probabilities by the shares of the labels, shape (C,).

    With few labels, scores do not know the shares, because the variance of the constant is small
    (:class:`lowrankgcn.gp.recipe.FewLabels`). If the labels are a sample, the factors are powers
    20/m³ of the shares with one more label of each class. From ten labels per class on they are
    one.

    >>> label_factors(np.array([7, 1])).round(2).tolist(), label_factors(np.array([2, 2])).tolist()
    ([1.02, 0.97], [1.0, 1.0])
    """
    m, n_classes = int(counts.sum()), len(counts)
    if m >= _MANY * n_classes:
        return np.ones(n_classes)
    power = (1.0 - evenness(counts)) * _SAMPLED / m**3
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
