"""A uniform sample of rows, drawn in one pass.

Every row gets a uniform random key, and the rows with the smallest keys are kept; labelled rows
have the key −1. The generator of a block is seeded with its number, so the sample does not depend
on the worker that reads the block, nor on how often.

>>> import dask.array as da
>>> X = da.arange(20, chunks=6).reshape(20, 1)
>>> sample = draw_sample(Blocks.from_rows(X), [5] + [-1] * 18 + [7], None, fit_rows=6, seed=0)
>>> len(sample.rows), sample.labels.tolist(), sample.lengths
(6, [5, 7], (6, 6, 6, 2))
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, final

import numpy as np
import pandas as pd
from dask.dataframe.utils import has_known_categories
from dask.delayed import delayed
from numpy.typing import NDArray

from lowrankgcn._validation import finite_array, invalid
from lowrankgcn.distributed.blocks import Blocks, compute, conformed, is_collection, joined_rows
from lowrankgcn.estimators.class_labels import labelled_cells

_FAN_IN = 8  # samples that one task joins
_MARKS = {"i": -1, "f": np.nan, "U": ""}  # marks of unlabelled rows, by the kind of dtype


@final
@dataclass(frozen=True, eq=False)
class Sample:
    """Sampled rows, in the order of the collection.

    Attributes
    ----------
    rows : DataFrame or array with q rows
    keys : (q,) array
        Random keys, −1 for labelled rows.
    labels : (p,) array
        Labels of the labelled rows.
    weights : (q,) array or None
    lengths : tuple of int
        Number of rows of every block that the sample is drawn from.
    """

    rows: Any
    keys: NDArray[np.float64]
    labels: NDArray[Any]
    weights: NDArray[np.float64] | None
    lengths: tuple[int, ...]

    def y(self, categories: pd.Index | None) -> Any:
        """Return labels and marks of unlabelled rows, shape (q,)."""
        labels = self.labels if categories is None else self.labels.astype(object)
        dtype = labels.dtype if labels.dtype.kind in _MARKS else np.dtype(object)
        y = np.full(len(self.keys), _MARKS.get(dtype.kind), dtype)
        y[self.keys < 0] = labels
        return y if categories is None else pd.Categorical(y, categories)


def draw_sample(blocks: Blocks, y: Any, sample_weight: Any, fit_rows: int, seed: int) -> Sample:
    """Collect all labelled rows, and a uniform sample of the others up to `fit_rows` rows in all.

    Parameters
    ----------
    blocks : Blocks
        Blocks of X.
    y, sample_weight : (n,) Dask Series or array, or anything in memory
        Aligned with X by position; `sample_weight` may be None.
    fit_rows : int
    seed : int
    """
    draw = partial(_sample_block, empty=blocks.empty, fit_rows=fit_rows, seed=seed)
    given = aligned_labels(y, blocks), aligned_weights(sample_weight, blocks)
    level = blocks.map(draw, blocks.numbers, *given)
    join = delayed(_join, pure=False)
    while len(level) > 1:
        starts = range(0, len(level), _FAN_IN)
        level = [join(level[start : start + _FAN_IN], fit_rows) for start in starts]
    (sample,) = compute(*level)
    return sample  # type: ignore[no-any-return]  # Dask is untyped


def aligned_labels(y: Any, blocks: Blocks) -> list[Any]:
    """Return positions and values of the labels in each block, and its length.

    Collections with as many blocks as X, and no other known lengths, need not be read for this.
    """
    if y is None:
        raise invalid("y", "labels", "None")
    if not is_collection(y):
        index, values, count = labelled_cells(y)
    else:
        if y.ndim != 1:
            raise invalid("y", "one column of labels", f"{y.ndim} dimensions")
        own = Blocks.from_collection(y)
        tasks = own.map(labelled_cells)
        if own.may_match(blocks):
            return tasks
        parts = compute(*tasks)
        starts = np.cumsum([0, *(length for _, _, length in parts)])
        index = np.concatenate(
            [part[0] + start for part, start in zip(parts, starts, strict=False)]
        )
        values, count = _joined_labels([part[1] for part in parts]), int(starts[-1])
    ends = _ends(blocks, count, "y")
    cuts = np.searchsorted(index, ends)[:-1]
    return [
        (own - end + length, labels, length)
        for own, labels, end, length in zip(
            np.split(index, cuts),
            np.split(values, cuts),
            ends,
            np.diff(ends, prepend=0),
            strict=True,
        )
    ]


def aligned_weights(sample_weight: Any, blocks: Blocks) -> list[Any]:
    """Return the weights of each block, None for each if there are none."""
    if sample_weight is None:
        return [None for _ in blocks.tasks]
    if is_collection(sample_weight):
        own = Blocks.from_collection(sample_weight)
        if own.may_match(blocks):
            return list(own.tasks)
        (sample_weight,) = compute(sample_weight)
    weights = finite_array(sample_weight, "sample_weight", ndim=1)
    return np.split(weights, _ends(blocks, len(weights), "sample_weight")[:-1])


def _ends(blocks: Blocks, count: int, name: str) -> NDArray[np.intp]:
    """Return the end of every block of X, which must have `count` rows."""
    ends = np.cumsum(blocks.lengths())
    if ends[-1] != count:
        raise invalid(name, f"{ends[-1]} entries, as many as X has rows", count)
    return ends


def known_categories(y: Any) -> pd.Index | None:
    """Return the categories of a categorical column, None if there are none.

    >>> known_categories(pd.Categorical(["b", None], ["b", "a"])).tolist()
    ['b', 'a']
    """
    column = Blocks.from_collection(y).empty if is_collection(y) else y
    dtype = getattr(column, "dtype", None)
    if not isinstance(dtype, pd.CategoricalDtype):
        return None
    return dtype.categories if has_known_categories(pd.Series([], dtype=dtype)) else None


def _sample_block(
    block: Any, number: int, cells: Any, weights: Any, *, empty: Any, fit_rows: int, seed: int
) -> Sample:
    rows = conformed(block, empty, number)
    index, labels, length = cells
    check_length("y", length, len(rows), number)
    if weights is not None:
        weights = finite_array(weights, "sample_weight", ndim=1)
        check_length("sample_weight", len(weights), len(rows), number)
    keys = np.random.default_rng((seed, number)).random(len(rows))
    keys[index] = -1.0
    return _trimmed(Sample(rows, keys, labels, weights, (len(rows),)), fit_rows)


def check_length(name: str, got: int, expected: int, number: int) -> None:
    """Raise if a block of labels or weights is longer or shorter than that of X."""
    if got != expected:
        raise invalid(
            name,
            f"{expected} entries in partition {number}, as many as X has rows",
            f"{got}; divide both into the same partitions",
        )


def _join(parts: Sequence[Sample], fit_rows: int) -> Sample:
    rows = joined_rows([part.rows for part in parts])
    keys = np.concatenate([part.keys for part in parts])
    labels = _joined_labels([part.labels for part in parts])
    given = [part.weights for part in parts if part.weights is not None]
    lengths = tuple(length for part in parts for length in part.lengths)
    weights = np.concatenate(given) if given else None
    return _trimmed(Sample(rows, keys, labels, weights, lengths), fit_rows)


def _trimmed(sample: Sample, fit_rows: int) -> Sample:
    """Keep the rows with the smallest keys, and all labelled rows."""
    if len(sample.keys) <= fit_rows:
        return sample
    count = max(fit_rows, len(sample.labels))
    kept = np.sort(np.argpartition(sample.keys, count - 1)[:count])
    rows = sample.rows
    rows = rows.iloc[kept] if isinstance(rows, pd.DataFrame) else rows[kept]
    weights = None if sample.weights is None else sample.weights[kept]
    return Sample(rows, sample.keys[kept], sample.labels, weights, sample.lengths)


def _joined_labels(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Concatenate labels; those of different kinds become objects, to be checked as a whole."""
    filled = [part for part in parts if len(part)]
    if len({part.dtype.kind for part in filled}) != 1:
        filled = [part.astype(object) for part in filled]
    return np.concatenate(filled) if filled else np.empty(0, object)
