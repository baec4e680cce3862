r"""Conformal limits: sets that contain the true class, and rows that fit no labelled class.

>>> import numpy as np
>>> from lowrankgcn.gp.conformal import prediction_sets
>>> held_out, classes = np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]]), np.array([0, 1, 0])
>>> prediction_sets(np.array([[0.95, 0.05], [0.5, 0.5]]), held_out, classes, level=0.5).tolist()
[[True, False], [True, False]]

A row fits no class if most of its variance remains, given the labels. Without labels, row x has the
variance c + k(x, x), with the variance c of the constant. The labels leave
:math:`v(x) = c + k(x, x) - k_x^T G^{-1} k_x` for the covariances :math:`k_x` with labelled
rows. The measure is :math:`v(x) / (k(x, x) + 1)`, with one for the noise. A row is marked if hardly
any labelled row has such a large value without its own label (``tail_limit``). Of the measures
that were compared over tables (variances, distances to labelled rows, probabilities), this one
separates rows of a class without labels best.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from lowrankgcn._parallel import map_chunks
from lowrankgcn.gp.blocks import Views
from lowrankgcn.gp.process import GaussianProcess
from lowrankgcn.gp.propagated_rows import PropagatedRows
from lowrankgcn.operators import FloatArray

_REFERENCES = 300  # labelled rows that are compared with, O(m²) for each row
_CHUNK = 1024  # rows whose kernel is held at a time
_TAIL, _LEAST = 0.3, 5  # share and number of the largest measures that are the tail
_PROPAGATED = 2**26  # entries of the kernel for features on a graph, which is propagated as a whole


def conformal_limit(scores: FloatArray, level: float) -> float:
    """Return the number that another score exceeds with probability 1 − level at most.

    The ⌈(m + 1) level⌉-th smallest of m scores, infinite with too few of them.

    >>> conformal_limit(np.array([3.0, 1.0, 2.0]), 0.5)
    2.0
    """
    place = math.ceil((len(scores) + 1) * level)
    return float(np.sort(scores)[place - 1]) if place <= len(scores) else math.inf


def tail_limit(scores: FloatArray, level: float) -> float:
    r"""Return the number that another score exceeds with a probability of about 1 − level.

    With few scores, the largest ones depend on chance. So beyond the largest 30 % they are taken as
    a sample of a Pareto distribution: of its k scores :math:`s_i` above the limit s,
    :math:`\sum_i \log(s_i / s)` and k give the probability :math:`(1 + \log(t/s) / \sum_i
    \log(s_i/s))^{-k}` of a score above t. Below, limits are those of :func:`conformal_limit`.

    Parameters
    ----------
    scores : (m,) array
        Not negative.
    level : float

    Notes
    -----
    Over 16 tables with ten labels of each class, 39 % of the rows of a class without labels are
    beyond this limit and 33 % beyond that of :func:`conformal_limit`, of other rows 4 % each.

    >>> limits = [tail_limit(np.arange(1.0, 31.0), level) for level in (0.5, 0.8, 0.95)]
    >>> np.round(limits, 1).tolist()
    [16.0, 22.7, 31.5]
    """
    m = len(scores)
    beyond, k = (m + 1) * (1.0 - level), max(_LEAST, int(_TAIL * m))
    if beyond >= k or math.isinf(conformal_limit(scores, level)):
        return conformal_limit(scores, level)
    ordered = np.sort(np.log(np.maximum(scores, 1e-12)))
    start = ordered[-k - 1]
    excess = float((ordered[-k:] - start).sum())
    return float(np.exp(start + excess * ((beyond / k) ** (-1.0 / k) - 1.0)))


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


@final
@dataclass(frozen=True, eq=False)
class Novelty:
    """Variance that labelled rows leave.

    Attributes
    ----------
    process : GaussianProcess
    labelled : tuple of arrays
        Representations of at most 300 labelled rows, one for each block.
    inverse : (m, m) array
        Inverse of their covariance with noise.
    held_out : (m,) array
        Their measures without their own labels, ascending.
    """

    process: GaussianProcess
    labelled: tuple[Any, ...]
    inverse: FloatArray
    held_out: FloatArray

    @classmethod
    def fit(cls, process: GaussianProcess) -> Novelty:
        """Compute the measures of labelled rows by leave-one-out.

        Row i without its label has :math:`k_i^T (G^{-1} - g_i g_i^T / g_{ii}) k_i` less variance,
        for column g_i of G⁻¹ and its covariances k_i with the other rows.
        """
        count = min(len(process.index), _REFERENCES)
        chosen = np.random.default_rng(0).permutation(len(process.index))[:count]
        labelled = tuple(rows[chosen] for rows in process.labelled)
        G = process.kernel(labelled, labelled)
        fair = process.held_out_kernel(G, labelled, process.index[chosen])
        G[np.diag_indices_from(G)] += 1.0
        inverse = cho_solve(cho_factor(G), np.eye(count))
        np.fill_diagonal(fair, 0.0)
        weights = fair @ inverse
        known = (weights * fair).sum(axis=1) - weights.diagonal() ** 2 / inverse.diagonal()
        measures = _relative(process, known, labelled)
        return cls(process, labelled, inverse, np.sort(measures))

    def measures(self, views: Views) -> FloatArray:
        """Return the measures of rows, shape (q,).

        O(q (m² + m d)) for m ≤ 300 labelled rows and d features of all blocks; O(m) memory for each
        row of a chunk.
        """

        def part(start: int, stop: int) -> FloatArray:
            rows = self.process.represent({name: view[start:stop] for name, view in views.items()})
            K = self.process.kernel(rows, self.labelled)
            return _relative(self.process, ((K @ self.inverse) * K).sum(axis=1), rows)

        count = len(next(iter(views.values())))
        size = _CHUNK
        if any(isinstance(view, PropagatedRows) for view in views.values()):
            size = max(_CHUNK, _PROPAGATED // len(self.inverse))
        return np.concatenate([np.zeros(0), *map_chunks(part, count, size)])


def _relative(process: GaussianProcess, known: FloatArray, rows: tuple[Any, ...]) -> FloatArray:
    variances = process.variances(rows)
    measures: FloatArray = (process.constant + variances - known) / (variances + 1.0)
    return measures
