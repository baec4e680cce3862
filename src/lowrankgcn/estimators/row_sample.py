"""The rows that a classifier is fitted to.

Both classifiers fit graphs and eigenpairs to at most ``fit_rows`` rows: a uniform sample that
includes all labelled rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from lowrankgcn.estimators.rows import Rows, take
from lowrankgcn.graphs import Graph
from lowrankgcn.operators import FloatArray


@final
@dataclass(frozen=True, eq=False)
class Sample:
    """Rows to fit to; the model classifies the others like new rows.

    Attributes
    ----------
    rows : Rows
        All rows.
    index : (s,) int array
        Sampled rows, ascending.
    data : array, Table, sparse array or Graph
        Their data.
    """

    rows: Rows
    index: NDArray[np.intp]
    data: Any

    @classmethod
    def draw(
        cls, rows: Rows, graph: str | Graph, always: NDArray[np.intp], fit_rows: int, seed: int
    ) -> Sample:
        """Draw `fit_rows` rows, or more if `always` has more; all rows of a given graph."""
        built = isinstance(graph, str) and rows.kind in ("points", "table", "sparse")
        if rows.n_rows <= fit_rows or not built:
            return cls(rows, np.arange(rows.n_rows), rows.data)
        keys = np.random.default_rng(seed).random(rows.n_rows)
        keys[always] = -1.0
        index = smallest_keys(keys, fit_rows)
        return cls(rows, index, take(rows.data, index))

    @cached_property
    def rest(self) -> NDArray[np.intp]:
        """Rows that are not sampled, ascending."""
        return np.delete(np.arange(self.rows.n_rows), self.index)

    def complete(self, values: FloatArray, of_rows: Callable[[Any], FloatArray]) -> FloatArray:
        """Return values of all rows, from those of the sampled rows and a function of the others.

        >>> rows = Rows("points", np.arange(10.0)[:, None], 10, "points", 1)
        >>> sample = Sample.draw(rows, "auto", np.array([7]), fit_rows=3, seed=0)
        >>> sample.complete(np.zeros(3), lambda others: np.ones(len(others))).sum()
        np.float64(7.0)
        """
        if not len(self.rest):
            return values
        every = np.empty((self.rows.n_rows, *values.shape[1:]))
        every[self.index], every[self.rest] = values, of_rows(take(self.rows.data, self.rest))
        return every


def smallest_keys(
    keys: NDArray[np.float64], count: int, most: int | None = None
) -> NDArray[np.intp]:
    """Return the places, ascending, of the `count` smallest random keys.

    Negative keys belong to rows that are always chosen: all of them, or the `most` smallest.

    >>> smallest_keys(np.array([0.5, -1.0, 0.1, 0.9]), 2)
    array([1, 2])
    """
    negative = int((keys < 0).sum())
    count = max(count, negative if most is None else min(most, negative))
    if len(keys) <= count:
        return np.arange(len(keys))
    return np.sort(np.argpartition(keys, count - 1)[:count])
