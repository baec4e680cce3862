"""Fit, predictions and score of a classifier for Dask collections.

A classifier is fitted to a uniform sample, drawn in one pass. Every row gets a uniform random key,
and the rows with the smallest keys are kept; labelled rows have the key −1. The generator of a
partition is seeded with its number, so the sample does not depend on the worker that reads the
partition, nor on how often. Predictions are lazy: the rows of a partition are independent of all
others, and a task needs one partition and the fitted model.

>>> import dask.array as da
>>> X = da.arange(20, chunks=6).reshape(20, 1)
>>> y = [5] + [-1] * 18 + [7]
>>> sample = draw_sample(Partitions.from_rows(X), y, None, fit_rows=6, seed=0)
>>> len(sample.columns[0]), sample.columns[1].tolist(), sample.lengths
(6, [5, -1, -1, -1, -1, 7], (6, 6, 6, 2))
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import dask
import dask.array as da
import numpy as np
from dask.dataframe.dispatch import concat
from dask.delayed import Delayed, delayed
from dask.highlevelgraph import HighLevelGraph
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from lowrankgcn._codec import encode
from lowrankgcn._parallel import chunks
from lowrankgcn._progress import report_progress
from lowrankgcn._validation import finite_array, invalid, positive_int
from lowrankgcn.distributed.partitions import Part, Partitions, compute, take
from lowrankgcn.estimators.class_labels import labelled_cells, read_weights
from lowrankgcn.estimators.row_sample import smallest_keys

_FAN_IN = 8  # samples that one task joins
_LARGE = 2**23  # bytes of a model that are sent once, and not with every computation


def fit(classifier: Any, X: Any, y: Any, sample_weight: Any = None) -> None:
    """Fit a classifier to a sample of the rows of a Dask collection; classify all rows lazily.

    Parameters
    ----------
    classifier : GCNClassifier or SpectralGPClassifier
        Its parameter ``fit_rows`` is the number of rows of the sample.
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
    if parameters.get("architecture") == "full":
        raise invalid("architecture", "'low-rank' or 'reduced' for a Dask collection", "'full'")
    fit_rows = positive_int(classifier.fit_rows, "fit_rows", minimum=2)
    seed = int(check_random_state(parameters["random_state"]).randint(2**31 - 1))
    partitions = Partitions.from_rows(X)
    report_progress("sampling rows")
    sample = draw_sample(partitions, y, sample_weight, fit_rows, seed)
    classifier.fit(*sample.columns)
    shares = _lazy_distributions(classifier, partitions, sample.lengths)
    classifier.label_distributions_ = shares
    classifier.transduction_ = most_probable(shares, classifier.classes_)
    if hasattr(classifier, "unplaced_"):  # of the sampled rows only
        del classifier.unplaced_


class Sample(NamedTuple):
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
        kept = smallest_keys(self.keys, count)
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
    samples = partitions.map(_sample_rows, fit_rows, seed, labels=(y, sample_weight))
    join = delayed(_join, pure=False)
    while len(samples) > 1:
        spans = chunks(len(samples), _FAN_IN)
        samples = [join(samples[start:stop], fit_rows) for start, stop in spans]
    (sample,) = compute(*samples)
    return sample  # type: ignore[no-any-return]  # Dask is untyped


def _sample_rows(part: Part, fit_rows: int, seed: int) -> Sample:
    columns = [part.rows, part.y]
    if part.sample_weight is not None:
        columns.append(finite_array(part.sample_weight, "sample_weight", ndim=1))
    keys = np.random.default_rng((seed, part.number)).random(len(part.rows))
    keys[labelled_cells(part.y)[0]] = -1.0
    return Sample(tuple(columns), keys, (len(keys),)).trimmed(fit_rows)


def _join(samples: Sequence[Sample], fit_rows: int) -> Sample:
    columns, keys, lengths = zip(*samples, strict=True)
    joined = tuple(map(concatenated, zip(*columns, strict=True)))
    return Sample(joined, np.concatenate(keys), sum(lengths, ())).trimmed(fit_rows)


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


def predict_proba(classifier: Any, X: Any) -> Any:
    """Return the class distributions of a Dask collection as a lazy Dask array (q, C).

    Examples
    --------
    >>> import dask.array as da, numpy as np
    >>> import lowrankgcn as lg
    >>> from lowrankgcn.distributed import predict_proba
    >>> X = np.r_[np.zeros((20, 2)), np.ones((20, 2))] + np.arange(80).reshape(40, 2) / 400
    >>> y = np.r_[np.zeros(5), np.full(15, -1), np.ones(5), np.full(15, -1)]
    >>> rows = da.from_array(X, chunks=(10, 2))
    >>> classifier = lg.SpectralGPClassifier(random_state=0).fit(X, y)
    >>> predict_proba(classifier, rows)
    dask.array<rows, shape=(40, 2), dtype=float64, chunksize=(10, 2), chunktype=numpy.ndarray>
    """
    partitions = Partitions.from_rows(X)
    return _lazy_distributions(classifier, partitions, partitions.lengths)


def _lazy_distributions(classifier: Any, partitions: Partitions, lengths: tuple[float, ...]) -> Any:
    """Return the class distributions of partitions as one array; unknown lengths are NaN."""
    tasks = partitions.map(_distributions, _predictor(classifier))
    # da.concatenate would remove empty partitions; the chunks must match those of X.
    name = f"rows-{dask.base.tokenize([task.key for task in tasks])}"
    keys = {(name, number, 0): task.key for number, task in enumerate(tasks)}
    graph = HighLevelGraph.from_collections(name, keys, dependencies=tasks)
    n_classes = len(classifier.classes_)
    return da.Array(graph, name, (lengths, (n_classes,)), meta=np.zeros((0, n_classes)))


def _distributions(part: Part, classifier: Any) -> Any:
    if not len(part.rows):
        return np.zeros((0, len(classifier.classes_)))
    return classifier.predict_proba(part.rows)


def most_probable(shares: Any, classes: NDArray[Any]) -> Any:
    """Return the most probable class of each row of a lazy array, shape (q,).

    Examples
    --------
    >>> import dask.array as da, numpy as np
    >>> from lowrankgcn.distributed import most_probable
    >>> shares = da.from_array(np.array([[0.9, 0.1], [0.2, 0.8]]), chunks=(1, 2))
    >>> most_probable(shares, np.array(["ham", "spam"])).compute().tolist()
    ['ham', 'spam']
    """
    return shares.map_blocks(_choose, classes, drop_axis=1, dtype=classes.dtype, meta=classes[:0])


def _choose(shares: NDArray[np.float64], classes: NDArray[Any]) -> NDArray[Any]:
    chosen: NDArray[Any] = classes[shares.argmax(axis=1)]
    return chosen


def _predictor(classifier: Any) -> Delayed:
    """Return a task that gives the classifier without graphs and results of fitted rows.

    Workers can repeat the task, so the model is not lost with a worker.
    """
    predictor = type(classifier)(**classifier.get_params(deep=False))
    predictor._restore(classifier._fit.savable(fitted_rows=False))
    model = delayed(predictor, pure=False, traverse=False)
    size = sum(array.nbytes for array in encode(predictor._model)[0].values())
    return model if size < _LARGE else compute(model, run=dask.persist)[0]


def score(classifier: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
    """Return the accuracy on the labelled rows of a Dask collection, in one pass.

    Examples
    --------
    >>> import dask.array as da, numpy as np
    >>> import lowrankgcn as lg
    >>> from lowrankgcn.distributed import score
    >>> X = np.r_[np.zeros((20, 2)), np.ones((20, 2))] + np.arange(80).reshape(40, 2) / 400
    >>> y = np.r_[np.zeros(5), np.full(15, -1), np.ones(5), np.full(15, -1)]
    >>> rows = da.from_array(X, chunks=(10, 2))
    >>> classifier = lg.SpectralGPClassifier(random_state=0).fit(X, y)
    >>> score(classifier, rows, y)
    1.0
    """
    partitions = Partitions.from_rows(X)
    labels = y, sample_weight
    parts = compute(*partitions.map(_correct_weight, _predictor(classifier), labels=labels))
    correct, total, n_labelled = np.sum(parts, axis=0)
    if not total > 0:
        name = "sample_weight" if n_labelled else "y"
        raise invalid(name, "a labelled row of positive weight", "none")
    return float(correct / total)


def _correct_weight(part: Part, classifier: Any) -> tuple[float, float, int]:
    """Return the weights of rows with the right class and of labelled rows, and their number."""
    index, labels, n_labels = labelled_cells(part.y)
    weights = read_weights(part.sample_weight, n_labels)[index]
    if not len(index):
        return 0.0, 0.0, 0
    correct = classifier.predict(take(part.rows, index)) == labels
    return float(weights @ correct), float(weights.sum()), len(index)
