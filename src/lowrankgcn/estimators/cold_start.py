"""Choice of the rows to label first, before there are labels of two classes.

>>> import lowrankgcn as lg
>>> spiral = lg.datasets.load_spiral(100, random_state=0)
>>> rows = first_rows(spiral.data, 5)
>>> sorted(spiral.target[rows].tolist())  # one of each orb
[0, 1, 2, 3, 4]
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowrankgcn._validation import positive_int
from lowrankgcn.estimators.classifier import GCNClassifier
from lowrankgcn.estimators.fitting import read
from lowrankgcn.estimators.rows import read_rows
from lowrankgcn.estimators.settings import read_settings
from lowrankgcn.estimators.suggestion import suggest
from lowrankgcn.spectral.laplacian import Laplacian

__all__ = ["first_rows"]


def first_rows(
    X: Any,
    k: int = 10,
    *,
    labelled: Any = (),
    among: Any = None,
    random_state: int = 0,
    **parameters: Any,
) -> NDArray[np.intp]:
    """Return the rows to label first, spread over the spectral embedding.

    Parameters
    ----------
    X : array, DataFrame, sparse array or Graph
        All rows.
    k : int
        Number of rows.
    labelled : int array or (n,) mask, optional
        Rows that have a label already.
    among : int array or (n,) mask, optional
        Rows to choose from.
    random_state : int
        Seed of the sample that determines the bandwidth.
    **parameters
        Parameters of :class:`GCNClassifier` that concern the graph: `graph`, `bandwidth`,
        `smoother`, `preset`, `tol`.

    Returns
    -------
    (k,) int array

    Raises
    ------
    ValueError
        If there are fewer than `k` rows to choose from, or X or a parameter is invalid.

    Notes
    -----
    Same rule as :meth:`GCNClassifier.suggest`, with equal uncertainty of all rows. O(n r (r + k))
    beside the eigenpairs.
    """
    seed = positive_int(random_state, "random_state", minimum=0)
    estimator = GCNClassifier(random_state=seed, **parameters)
    settings = read_settings(estimator.get_params(deep=False))
    rows = read_rows(estimator, X, settings.graph)
    graph = read(rows, settings, seed)[-1]
    laplacian = Laplacian(graph, settings.smoother, tol=settings.tol)
    return suggest(laplacian, None, labelled, k, among=among)
