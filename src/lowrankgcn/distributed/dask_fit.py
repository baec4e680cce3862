"""Fit of a classifier to a uniform sample of a Dask collection, drawn in one pass.

Every row gets a uniform random key, and the rows with the smallest keys are kept; labelled rows
have the key −1. The generator of a partition is seeded with its number, so the sample does not
depend on the worker that reads the partition, nor on how often.

>>> import dask.array as da
>>> X = da.arange(20, chunks=6).reshape(20, 1)
>>> y = [5] + [-1] * 18 + [7]
>>> sample = draw_sample(Partitions.from_rows(X), y, None, fit_rows=6, seed=0)
>>> len(sample.columns[0]), sample.columns[1].tolist(), sample.lengths
(6, [5, -1, -1, -1, -1, 7], (6, 6, 6, 2))
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, final

import numpy as np
from dask.dataframe.dispatch import concat
from dask.delayed import delayed
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from lowrankgcn._progress import report_progress
from lowrankgcn._validation import finite_array, invalid, positive_int
from lowrankgcn.distributed.dask_predict import lazy_distributions, most_probable
from lowrankgcn.distributed.partitions import Partitions, check_length, compute, take
from lowrankgcn.estimators.class_labels import labelled_cells

_FIT_ROWS = 100_000
_FAN_IN = 8  # samples that one task joins


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
    graph = parameters["graph"]
    if not isinstance(graph, str) or graph == "precomputed":
        got = repr(graph) if isinstance(graph, str) else "a graph object"
        raise invalid("graph", "a graph that is built from the rows of a Dask collection", got)
    fit_rows = positive_int(getattr(classifier, "fit_rows", _FIT_ROWS), "fit_rows", minimum=2)
    seed = int(check_random_state(parameters["random_state"]).randint(2**31 - 1))
    partitions = Partitions.from_rows(X)
    report_progress("sampling rows")
    sample = draw_sample(partitions, y, sample_weight, fit_rows, seed)
    classifier.fit(*sample.columns)
    shares = lazy_distributions(classifier, partitions, sample.lengths)
    classifier.label_distributions_ = shares
    classifier.transduction_ = most_probable(shares, classifier.classes_)
    vars(classifier).pop("unplaced_", None)  # of the sampled rows only


@final
@dataclass(frozen=True, eq=False)
class Sample:
    """Sampled rows, in the order of the collection.

    Attributes
    ----------
    columns : tuple
        Rows, labels and, if there are any, weights: the arguments of ``fit``.
    keys : (q,) array
        Random keys, −1 for labelled rows.
    lengths : tuple of int
        Number of rows of every partition that the sample is drawn from.
    """

    columns: tuple[Any, ...]
    keys: NDArray[np.float64]
    lengths: tuple[int, ...]

    def trimmed(self, count: int) -> Sample:
        """Keep the rows with the `count` smallest keys, and all labelled rows."""
        count = max(count, int((self.keys < 0).sum()))
        if len(self.keys) <= count:
            return self
        kept = np.sort(np.argpartition(self.keys, count - 1)[:count])
        columns = tuple(take(column, kept) for column in self.columns)
        return Sample(columns, self.keys[kept], self.lengths)


def draw_sample(
    partitions: Partitions, y: Any, sample_weight: Any, fit_rows: int, seed: int
) -> Sample:
    """Collect all labelled rows, and a uniform sample of the others up to `fit_rows` rows in all.

    Parameters
    ----------
    partitions : Partitions
        Those of X.
    y, sample_weight : (n,) Dask Series or array, or anything in memory
        Aligned with X by position; `sample_weight` may be None.
    fit_rows : int
    seed : int
    """
    columns = [partitions.align_labels(y)]
    if sample_weight is not None:
        columns.append(partitions.align(sample_weight, "sample_weight"))
    samples = partitions.map(partial(_sample_rows, fit_rows=fit_rows, seed=seed), *columns)
    join = delayed(_join, pure=False)
    while len(samples) > 1:
        starts = range(0, len(samples), _FAN_IN)
        samples = [join(samples[start : start + _FAN_IN], fit_rows) for start in starts]
    (sample,) = compute(*samples)
    return sample  # type: ignore[no-any-return]  # Dask is untyped


def _sample_rows(rows: Any, number: int, y: Any, *weights: Any, fit_rows: int, seed: int) -> Sample:
    index, _, n_labels = labelled_cells(y)
    check_length("y", n_labels, rows)
    weights = tuple(finite_array(values, "sample_weight", ndim=1) for values in weights)
    for values in weights:
        check_length("sample_weight", len(values), rows)
    keys = np.random.default_rng((seed, number)).random(len(rows))
    keys[index] = -1.0
    return Sample((rows, y, *weights), keys, (len(rows),)).trimmed(fit_rows)


def _join(samples: Sequence[Sample], fit_rows: int) -> Sample:
    columns = tuple(map(concatenated, zip(*(sample.columns for sample in samples), strict=True)))
    keys = np.concatenate([sample.keys for sample in samples])
    lengths = tuple(length for sample in samples for length in sample.lengths)
    return Sample(columns, keys, lengths).trimmed(fit_rows)


def concatenated(parts: Sequence[Any]) -> Any:
    """Concatenate rows, labels or weights; categories that differ are united.

    >>> import pandas as pd
    >>> parts = [pd.DataFrame({"x": pd.Categorical([value])}) for value in ("red", "blue")]
    >>> concatenated(parts)["x"].dtype.categories.tolist()
    ['red', 'blue']
    """
    filled = [part for part in parts if len(part)] or parts[:1]
    if isinstance(filled[0], np.ndarray):
        masked = np.ma.isMaskedArray(filled[0])
        return (np.ma if masked else np).concatenate(filled)
    return concat(filled, ignore_index=True) if len(filled) > 1 else filled[0]
