r"""Choice of the rows to label next, by the expected reduction of variance.

Given labels, rows x and c have the posterior covariance
:math:`\mathrm{cov}(x, c) = k(x, c) - k(x, \cdot) G^{-1} k(\cdot, c)`. A label of c reduces the
variance of x by cov(x, c)²/(cov(c, c) + 1). The rule repeatedly chooses the row with the largest
sum of these reductions, weighted by the entropies H(x) of the predictions, and updates the
covariance.
The rule spreads the rows, because the variance is low near labelled ones, and avoids outliers,
which reduce no other variance.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from lowrankgcn.gp.blocks import Views
from lowrankgcn.gp.process import GaussianProcess, sample_rows
from lowrankgcn.gp.recipe import Prior, row_blocks
from lowrankgcn.gp.views import FittedViews
from lowrankgcn.operators import FloatArray

Index = NDArray[np.intp]

_POOL = 600  # rows to choose from, and rows whose variance counts
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
        Seed of the samples of candidates and rows, at most max(600, 3 k) of each.
    """
    generator = np.random.default_rng(random_state)
    size = max(_POOL, 3 * k)
    pool = sample_rows(candidates, size, generator)
    others = sample_rows(np.arange(len(weights)), size, generator)
    near, far = (
        process.represent({name: rows[index] for name, rows in views.items()})
        for index in (pool, others)
    )
    C, D = process.kernel(near, near), process.kernel(far, near)
    if len(process.alpha):
        G = process.kernel(process.labelled, process.labelled)
        G[np.diag_indices_from(G)] += 1.0
        to_labels = process.kernel(process.labelled, near)
        solved = cho_solve(cho_factor(G), to_labels)
        C -= to_labels.T @ solved
        D -= process.kernel(far, process.labelled) @ solved
    importance = weights[others] + 1e-9  # where all predictions are certain, the variance decides
    free = np.ones(len(pool), bool)
    chosen = []
    for _ in range(k):
        variance = np.maximum(C.diagonal(), 0.0) + 1.0
        gain = np.where(free, (importance @ D**2) / variance, -np.inf)
        best = int((gain >= (1 - 1e-9) * gain.max()).argmax())  # the first of equal rows
        chosen.append(best)
        free[best] = False
        c, d = C[:, best] / np.sqrt(variance[best]), D[:, best] / np.sqrt(variance[best])
        C -= np.outer(c, c)
        D -= np.outer(d, c)
    return pool[chosen]


def first_of_views(
    views: FittedViews, k: int, candidates: Index, labelled: Index, random_state: int
) -> Index:
    """Choose `k` candidates to label first, when the classes are not known yet.

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
