"""Fit of a classifier to a sample of a Dask collection."""

from __future__ import annotations

from typing import Any

from sklearn.utils import check_random_state

from lowrankgcn._progress import report_progress
from lowrankgcn._validation import invalid, positive_int
from lowrankgcn.distributed.blocks import Blocks
from lowrankgcn.distributed.prediction import lazy_distributions, most_probable
from lowrankgcn.distributed.sample import draw_sample, known_categories

_FIT_ROWS = 100_000
_ONE_PER_ROW = ("unplaced_",)  # attributes that a fit in memory sets for the sampled rows only


def fit(classifier: Any, X: Any, y: Any, sample_weight: Any = None) -> None:
    """Fit a classifier to a sample of the rows of a Dask collection; classify all rows lazily.

    Parameters
    ----------
    classifier : GCNClassifier or SpectralGPClassifier
        Its attribute ``fit_rows``, if it has one, is the number of rows of the sample.
    X : Dask DataFrame or array
        All rows.
    y : (n,) Dask Series or array, or anything in memory
        Labels, aligned with X by position.
    sample_weight : (n,) array, optional

    Raises
    ------
    ValueError
        If an argument is invalid, or the graph is not built from rows.
    ConnectionError
        If the scheduler is lost, or workers repeatedly die while running the same task.

    Examples
    --------
    ``SpectralGPClassifier.fit`` calls this function if X is a Dask collection:

    >>> import dask.array as da, numpy as np
    >>> import lowrankgcn as lg
    >>> from lowrankgcn.distributed import fit
    >>> X = np.r_[np.zeros((20, 2)), np.ones((20, 2))] + np.arange(80).reshape(40, 2) / 400
    >>> y = np.r_[np.zeros(5), np.full(15, -1), np.ones(5), np.full(15, -1)]
    >>> rows = da.from_array(X, chunks=(10, 2))
    >>> classifier = lg.SpectralGPClassifier(random_state=0)
    >>> fit(classifier, rows, y)
    >>> classifier.transduction_.compute().sum()
    np.float64(20.0)
    """
    parameters = classifier.get_params(deep=False)
    graph = parameters.get("graph", "auto")
    if not isinstance(graph, str) or graph == "precomputed":
        got = repr(graph) if isinstance(graph, str) else "a graph object"
        raise invalid("graph", "a graph that is built from the rows of a Dask collection", got)
    fit_rows = positive_int(getattr(classifier, "fit_rows", _FIT_ROWS), "fit_rows", minimum=2)
    seed = int(check_random_state(parameters.get("random_state")).randint(2**31 - 1))
    blocks = Blocks.from_rows(X)
    report_progress("sampling rows")
    sample = draw_sample(blocks, y, sample_weight, fit_rows, seed)
    labels = sample.y(known_categories(y))
    weights = () if sample.weights is None else (sample.weights,)
    classifier.fit(sample.rows, labels, *weights)
    shares = lazy_distributions(classifier, blocks, sample.lengths)
    classifier.label_distributions_ = shares
    classifier.transduction_ = most_probable(shares, classifier.classes_)
    for name in _ONE_PER_ROW:
        if hasattr(classifier, name):
            delattr(classifier, name)
