"""Lazy class distributions and classes, partition by partition.

The rows of a partition are independent of all others: a task needs one partition and the fitted
model.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import dask
import numpy as np
from dask.delayed import Delayed, delayed
from numpy.typing import NDArray

from lowrankgcn._validation import invalid
from lowrankgcn.distributed.partitions import (
    LARGE_GRAPHS,
    Partitions,
    check_length,
    compute,
    lazy_array,
    take,
)
from lowrankgcn.estimators.class_labels import labelled_cells, read_weights
from lowrankgcn.estimators.model_files import load, save

_LARGE = 2**23  # bytes of a model that are sent once, and not with every computation


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
    return lazy_distributions(classifier, partitions, partitions.lengths)


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
    columns = [[_predictor(classifier)] * len(partitions.tasks), partitions.align_labels(y)]
    if sample_weight is not None:
        columns.append(partitions.align(sample_weight, "sample_weight"))
    parts = compute(*partitions.map(_correct_weight, *columns))
    correct, total, n_labelled = np.sum(parts, axis=0)
    if not total > 0:
        name = "sample_weight" if n_labelled else "y"
        raise invalid(name, "a labelled row of positive weight", "none")
    return float(correct / total)


def lazy_distributions(classifier: Any, partitions: Partitions, lengths: tuple[float, ...]) -> Any:
    """Return the class distributions of partitions as a lazy Dask array (q, C)."""
    tasks = partitions.map(_distributions, [_predictor(classifier)] * len(partitions.tasks))
    return lazy_array(tasks, lengths, (len(classifier.classes_),), np.float64)


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
    """Return a task that gives the part of a classifier that predicts new rows.

    Workers can repeat the task, so the model is not lost with a worker.
    """
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "model"
        save(classifier, file, fitted_rows=False)
        model, size = delayed(load(file), pure=False, traverse=False), file.stat().st_size
    if size < _LARGE:
        return model
    with dask.config.set(LARGE_GRAPHS):
        return dask.persist(model)[0]


def _distributions(rows: Any, number: int, classifier: Any) -> NDArray[np.float64]:
    if not len(rows):
        return np.zeros((0, len(classifier.classes_)))
    shares: NDArray[np.float64] = classifier.predict_proba(rows)
    return shares


def _correct_weight(
    rows: Any, number: int, classifier: Any, y: Any, weights: Any = None
) -> tuple[float, float, int]:
    """Return the weights of rows with the right class and of labelled rows, and their number."""
    index, labels, n_labels = labelled_cells(y)
    check_length("y", n_labels, rows)
    weights = read_weights(weights, n_labels)[index]
    if not len(index):
        return 0.0, 0.0, 0
    correct = classifier.predict(take(rows, index)) == labels
    return float(weights @ correct), float(weights.sum()), len(index)
