"""Lazy class distributions and classes, block by block.

The rows of a block are independent of all others: a task needs one block and the fitted model.
"""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import dask
import numpy as np
from dask.delayed import Delayed, delayed
from numpy.typing import NDArray

from lowrankgcn._validation import invalid
from lowrankgcn.distributed.blocks import NO_ADVICE, Blocks, compute, conformed, lazy_array
from lowrankgcn.distributed.sample import aligned_labels, aligned_weights, check_length
from lowrankgcn.estimators.class_labels import read_weights
from lowrankgcn.estimators.model_files import load, save
from lowrankgcn.exceptions import prefix_errors

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
    blocks = Blocks.from_rows(X)
    return lazy_distributions(classifier, blocks, blocks.known_lengths())


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
    blocks = Blocks.from_rows(X)
    shared = [_shared(classifier)] * len(blocks.tasks)
    given = aligned_labels(y, blocks), aligned_weights(sample_weight, blocks)
    rate = partial(_score, empty=blocks.empty)
    parts = compute(*blocks.map(rate, blocks.numbers, shared, *given))
    correct, total, n_labelled = np.sum(parts, axis=0)
    if not total > 0:
        name = "sample_weight" if n_labelled else "y"
        raise invalid(name, "a labelled row of positive weight", "none")
    return float(correct / total)


def lazy_distributions(classifier: Any, blocks: Blocks, lengths: tuple[float, ...]) -> Any:
    """Return the class distributions of blocks of rows as a lazy Dask array (q, C)."""
    shared = [_shared(classifier)] * len(blocks.tasks)
    tasks = blocks.map(partial(_distributions, empty=blocks.empty), blocks.numbers, shared)
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


def _shared(classifier: Any) -> Delayed:
    """Return a task that gives the part of a classifier that predicts new rows.

    Workers can repeat the task, so the model is not lost with a worker.
    """
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "model"
        save(classifier, file, fitted_rows=False)
        data = file.read_bytes()
    model = delayed(_loaded, pure=True)(delayed(data, pure=True, traverse=False))
    if len(data) < _LARGE:
        return model
    with dask.config.set(NO_ADVICE):
        return dask.persist(model)[0]


def _loaded(data: bytes) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "model"
        file.write_bytes(data)
        return load(file)


def _distributions(block: Any, number: int, classifier: Any, *, empty: Any) -> NDArray[np.float64]:
    if not len(block):
        return np.zeros((0, len(classifier.classes_)))
    rows = conformed(block, empty, number)
    with prefix_errors(f"partition {number}"):
        shares: NDArray[np.float64] = classifier.predict_proba(rows)
        return shares


def _score(
    block: Any, number: int, classifier: Any, cells: Any, weights: Any, *, empty: Any
) -> tuple[float, float, int]:
    """Return the weights of rows with the right class and of labelled rows, and their number."""
    index, labels, length = cells
    check_length("y", length, len(block), number)
    with prefix_errors(f"partition {number}"):
        weights = read_weights(weights, length)
    if not len(index):
        return 0.0, 0.0, 0
    rows = conformed(block, empty, number)
    rows = rows.iloc[index] if hasattr(rows, "iloc") else rows[index]
    correct = classifier.predict(rows) == labels
    return float(weights[index][correct].sum()), float(weights[index].sum()), len(index)
