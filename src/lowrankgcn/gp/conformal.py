"""Prediction sets that contain the true class with a given probability.

>>> import numpy as np
>>> held_out, classes = np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]]), np.array([0, 1, 0])
>>> prediction_sets(np.array([[0.95, 0.05], [0.5, 0.5]]), held_out, classes, level=0.5).tolist()
[[True, False], [True, False]]
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from lowrankgcn.operators import FloatArray


def conformal_limit(scores: FloatArray, level: float) -> float:
    """Return the number that another score exceeds with probability 1 − level at most.

    The ⌈(m + 1) level⌉-th smallest of m scores, infinite with too few of them.

    >>> conformal_limit(np.array([3.0, 1.0, 2.0]), 0.5)
    2.0
    """
    place = math.ceil((len(scores) + 1) * level)
    return float(np.sort(scores)[place - 1]) if place <= len(scores) else math.inf


def prediction_sets(
    distributions: FloatArray, held_out: FloatArray, classes: NDArray[np.intp], level: float
) -> NDArray[np.bool_]:
    """Return which classes belong to the set of each row, shape (q, C).

    Parameters
    ----------
    distributions : (q, C) array
    held_out : (m, C) array
        Distributions of the labelled rows without their own label.
    classes : (m,) int array
    level : float

    Notes
    -----
    A class belongs to the set if 1 − p is at most the ⌈(m + 1) level⌉-th smallest of 1 − p(true
    class) over the held-out rows; the most probable class always does. With fewer than
    level / (1 − level) labels the sets contain all classes.
    """
    limit = conformal_limit(1.0 - held_out[np.arange(len(classes)), classes], level)
    # Rounding must not exclude a class at the limit.
    members: NDArray[np.bool_] = 1.0 - distributions <= limit + 1e-12
    members[np.arange(len(members)), distributions.argmax(axis=1)] = True
    return members
