"""Lazy class distributions and classes, block by block.

The rows of a block are independent of all others, so a task requires one block and the small model.
Results are computed on request.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any

import dask.array as da
import numpy as np
from dask.delayed import Delayed, delayed
from dask.highlevelgraph import HighLevelGraph
from numpy.typing import NDArray

from lowrankgcn._validation import invalid
from lowrankgcn.distributed.blocks import Blocks
from lowrankgcn.distributed.labels import lazy_labels, lazy_rows_at
from lowrankgcn.estimators.classifier import GCNClassifier
from lowrankgcn.estimators.model import Model
from lowrankgcn.estimators.rows import Kind, check_rows
from lowrankgcn.operators import FloatArray

__all__ = ["chosen_classes", "distributions", "lazy_array", "predict", "predict_proba", "score"]


def predict_proba(classifier: GCNClassifier, X: Any) -> Any:
    """Return the class distributions of a Dask collection as a lazy Dask array (q, C)."""
    tasks, lengths = _shares(classifier, X)
    return lazy_array(tasks, lengths, (len(classifier.classes_),), np.float64)


def predict(classifier: GCNClassifier, X: Any) -> Any:
    """Return the classes of a Dask collection as a lazy Dask array (q,)."""
    tasks, lengths = _shares(classifier, X)
    chosen = [delayed(chosen_classes)(shares, classifier.classes_) for shares in tasks]
    return lazy_array(chosen, lengths, (), classifier.classes_.dtype)


def score(classifier: GCNClassifier, X: Any, y: Any, sample_weight: Any) -> float:
    """Return the accuracy on the labelled rows of a Dask collection, loaded into memory."""
    index, values, count = lazy_labels(y)
    if not len(index):
        raise invalid("y", "at least one labelled row", "none")
    weights = lazy_rows_at(sample_weight, index, count, "sample_weight")
    rows = lazy_rows_at(X, index, count, "X")
    return float(classifier.score(rows, values, weights))


def _shares(classifier: GCNClassifier, X: Any) -> tuple[list[Delayed], tuple[float, ...]]:
    if classifier._model is None:
        expected = "the fitted rows (see label_distributions_)"
        raise invalid("X", expected, "new rows, but the graph was not built from X")
    blocks = Blocks.from_collection(X)
    reader = GCNClassifier()
    for name in ("n_features_in_", "feature_names_in_"):
        if hasattr(classifier, name):
            setattr(reader, name, getattr(classifier, name))
    tasks = blocks.map(distributions, classifier._model, reader, classifier._kind)
    known = isinstance(X, da.Array)
    lengths = X.chunks[0] if known else (float("nan"),) * len(blocks.tasks)
    return tasks, lengths


def distributions(block: Any, model: Model, reader: GCNClassifier, kind: Kind) -> FloatArray:
    """Return the class distributions of the rows of a block, shape (q, C)."""
    if not len(block):
        return np.zeros((0, model.n_classes))
    return model.distributions(check_rows(reader, block, kind))[0]


def chosen_classes(shares: FloatArray, classes: NDArray[Any]) -> NDArray[Any]:
    """Return the most probable class of every row."""
    chosen: NDArray[Any] = classes[shares.argmax(axis=1)]
    return chosen


def lazy_array(
    tasks: Sequence[Delayed], lengths: Sequence[float], shape: tuple[int, ...], dtype: Any
) -> Any:
    """Return blocks of rows as one Dask array; unknown lengths are NaN."""
    # da.concatenate would remove empty blocks; the chunks must match those of X.
    name = f"rows-{uuid.uuid4().hex}"
    keys = {(name, i, *(0 for _ in shape)): task.key for i, task in enumerate(tasks)}
    graph = HighLevelGraph.from_collections(name, keys, dependencies=tasks)
    chunks = (tuple(lengths), *((size,) for size in shape))
    return da.Array(graph, name, chunks, dtype=dtype, meta=np.empty((0, *shape), dtype))
