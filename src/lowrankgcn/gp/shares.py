"""Class shares of the unlabelled rows, by expectation maximisation.

Labels are often drawn class by class, so their shares differ from those of the rows. The shares
that explain the predictions best multiply the predicted odds, but only if they clearly differ from
those of the labels.

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
# Weight of the label shares: small if labels were drawn class by class, else they are a sample.
_BALANCED, _SAMPLED = 0.3, 1.0
_CLEAR = 0.1  # Kullback-Leibler divergence from which differences are applied by half


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
    With shares p of the labels, EM gives shares π, shrunk to p. The factors are
    :math:`(\pi/p)^{\mathrm{KL}^2/(\mathrm{KL}^2 + 0.1^2)}`, KL the divergence of π from p. Labels
    count as drawn class by class if more than half of the classes have equally many.
    """
    counts = np.bincount(classes, minlength=distributions.shape[1])
    known = counts / len(classes)
    balanced = 2 * (counts == counts.max()).sum() > len(counts)
    shrinkage = _BALANCED if balanced else _SAMPLED
    shares = known.copy()
    for _ in range(_STEPS):
        mean = apply_factors(distributions, shares / known).mean(axis=0)
        shares = (mean + shrinkage * known) / (1 + shrinkage)
    divergence = float((shares * np.log(shares / known)).sum())
    exponent = divergence**2 / (divergence**2 + _CLEAR**2)
    factors: FloatArray = (shares / known) ** exponent
    return factors


def apply_factors(distributions: FloatArray, factors: FloatArray) -> FloatArray:
    """Multiply class probabilities by factors and normalise them."""
    products = distributions * factors
    shares: FloatArray = products / products.sum(axis=1, keepdims=True)
    return shares
