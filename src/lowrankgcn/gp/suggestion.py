r"""Choice of the rows to label next, by coverage.

Rows are alike by their correlation :math:`\rho(x, c) = k(x, c) / \sqrt{k(x, x) k(c, c)}` in the
covariance without its constant, at least zero. A row is covered by the labelled or chosen row that
is most like it. The rule repeatedly chooses the row that raises the sum of
:math:`w(x) \max_c \rho(x, c)` over all rows most (facility location); w(x) is the entropy of the
prediction. Chosen rows differ from each other and from labelled ones, because what is covered adds
nothing, and they are no outliers, which cover nothing else.

With few labels, predictions and fitted amplitudes say too little: the covariance is then that of
the prior, and all rows count alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowrankgcn.gp.blocks import Views
from lowrankgcn.gp.process import GaussianProcess, sample_rows
from lowrankgcn.gp.recipe import Prior, row_blocks
from lowrankgcn.gp.views import FittedViews
from lowrankgcn.operators import FloatArray

Index = NDArray[np.intp]

#: Number of labels from which the predictions count.
TRUSTED_LABELS = 10
_POOL = 1000  # rows to choose from, and rows to cover
_UNIT_ROWS = 1000  # rows whose mean distance is the unit of radial blocks, without labels


def entropy(distributions: FloatArray) -> FloatArray:
    """Return the entropy of every row, shape (n,).

    >>> entropy(np.array([[1.0, 0.0], [0.5, 0.5]])).round(3).tolist()
    [0.0, 0.693]
    """
    logs = np.log(np.maximum(distributions, 1e-300))
    values: FloatArray = np.maximum(-(distributions * logs).sum(axis=1), 0.0)
    return values


def choose_rows(
    process: GaussianProcess,
    views: Views,
    weights: FloatArray,
    candidates: Index,
    k: int,
    random_state: int,
) -> Index:
    """Choose `k` candidates greedily, the most useful first.

    Parameters
    ----------
    process : GaussianProcess
        Its labelled rows are known.
    views : mapping from view to (n, d) array
    weights : (n,) array
        Entropies of the predictions.
    candidates : int array
        At least `k` rows.
    k : int
    random_state : int
        Seed of the samples of candidates and rows, at most max(1000, 3 k) of each.
    """
    generator = np.random.default_rng(random_state)
    size = max(_POOL, 3 * k)
    pool = sample_rows(candidates, size, generator)
    others = sample_rows(np.arange(len(weights)), size, generator)
    near, far = (
        process.represent({name: rows[index] for name, rows in views.items()})
        for index in (pool, others)
    )
    alike = _correlations(process, far, near)
    covered = np.zeros(len(others))
    if len(process.alpha):
        covered = _correlations(process, far, process.labelled).max(axis=1)
    importance = weights[others] + 1e-9  # where all predictions are certain, all rows count alike
    chosen: list[int] = []
    for _ in range(k):
        gain = importance @ np.maximum(alike - covered[:, None], 0.0)
        gain[chosen] = -np.inf
        chosen.append(int((gain >= (1 - 1e-9) * gain.max()).argmax()))  # the first of equal rows
        covered = np.maximum(covered, alike[:, chosen[-1]])
    return pool[chosen]


def _correlations(process: GaussianProcess, A: Sequence[Any], B: Sequence[Any]) -> FloatArray:
    """Return the correlations of represented rows, negative ones as zero, shape (p, q)."""
    scales = np.sqrt(np.outer(process.variances(A), process.variances(B)))
    shared = np.maximum(process.kernel(A, B) - process.constant, 0.0)
    alike: FloatArray = shared / np.maximum(scales, 1e-12)
    return alike


def first_of_views(
    views: FittedViews, k: int, candidates: Index, labelled: Index, random_state: int
) -> Index:
    """Choose `k` candidates to label first, with few labels or none.

    The amplitudes are those of the prior, and all rows count alike.
    """
    process = unfitted_process(views, labelled, random_state)
    weights = np.ones(len(next(iter(views.views.values()))))
    return choose_rows(process, views.views, weights, candidates, k, random_state)


def unfitted_process(views: FittedViews, labelled: Index, random_state: int) -> GaussianProcess:
    """Return the process of the prior at some rows, without their labels."""
    values = {name: pairs.eigenvalues for name, pairs in views.eigenpairs.items()}
    n = len(next(iter(views.views.values())))
    sample = np.random.default_rng(random_state).permutation(n)[:_UNIT_ROWS]
    blocks = row_blocks(views.views, values, sample)
    prior = Prior.load().adaptation
    known = {view: rows[labelled] for view, rows in views.views.items()}
    return GaussianProcess(
        blocks=tuple(blocks),
        amplitudes=np.exp([prior[block.name] for block in blocks]),
        labelled=tuple(block.represent(known) for block in blocks),
        index=np.arange(len(labelled)),
        alpha=np.zeros((len(labelled), 2)),
        temperature=1.0,
        factors=np.ones(2),
    )
