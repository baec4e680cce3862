"""Rows that a classifier is fitted to, and the others, which its model classifies like new rows.

Both classifiers fit graphs and eigenpairs to at most ``fit_rows`` rows: a uniform sample that
includes all labelled rows.

>>> rows = Rows("points", np.arange(10.0)[:, None], 10, "points")
>>> sample = Sample.draw(rows, "auto", np.array([7]), fit_rows=3, seed=0)
>>> len(sample.index), 7 in sample.index
(3, True)
>>> sample.complete(np.zeros(3), lambda: np.ones(7)).shape
(10,)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from lowrankgcn._validation import invalid
from lowrankgcn.estimators.rows import Rows
from lowrankgcn.graphs import Graph
from lowrankgcn.operators import FloatArray

NOT_BUILT_FROM_X = "new rows, but the graph was not built from X"


@final
@dataclass(frozen=True, eq=False)
class Sample:
    """Rows to fit to.

    Attributes
    ----------
    rows : Rows
        All rows.
    index : (s,) int array
        Sampled rows, ascending.
    """

    rows: Rows
    index: NDArray[np.intp]

    @classmethod
    def draw(
        cls, rows: Rows, graph: str | Graph, always: NDArray[np.intp], fit_rows: int, seed: int
    ) -> Sample:
        """Draw `fit_rows` rows, or more if `always` has more; all rows of a given graph."""
        every = np.arange(rows.n_rows)
        built = isinstance(graph, str) and rows.kind in ("points", "table")
        if rows.n_rows <= fit_rows or not built:
            return cls(rows, every)
        rest = np.setdiff1d(every, always)
        count = min(len(rest), max(0, fit_rows - len(always)))
        chosen = np.random.default_rng(seed).choice(rest, count, replace=False)
        return cls(rows, np.sort(np.concatenate([always, chosen])))

    @property
    def is_all(self) -> bool:
        """Whether all rows are sampled."""
        return len(self.index) == self.rows.n_rows

    @cached_property
    def data(self) -> Any:
        """The sampled rows."""
        return self.rows.data if self.is_all else self.rows.take(self.index)

    @cached_property
    def rest(self) -> NDArray[np.intp]:
        """Rows that are not sampled, ascending."""
        return np.setdiff1d(np.arange(self.rows.n_rows), self.index)

    def complete(self, values: FloatArray, of_rest: Callable[[], FloatArray]) -> FloatArray:
        """Return values of all rows, from those of the sampled rows and of the others.

        Parameters
        ----------
        values : (s, ...) array
        of_rest : function
            Returns the values of the other rows; called only if there are any.
        """
        if self.is_all:
            return values
        every = np.empty((self.rows.n_rows, *values.shape[1:]))
        every[self.index], every[self.rest] = values, of_rest()
        return every


def check_new_rows(fitted_only: str) -> None:
    """Raise if there is a reason why only the fitted rows can be classified."""
    if fitted_only:
        raise invalid(
            "X", "the fitted rows (see label_distributions_ and transduction_)", fitted_only
        )
