"""Poisson learning of the package graphlearning."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowrankgcn.experiments.comparison.methods.base import Method
from lowrankgcn.experiments.comparison.task import Task

__all__ = ["POISSON"]

_NEIGHBOURS = 10


def _poisson(task: Task, labels: NDArray[np.intp], seed: int) -> NDArray[Any]:
    import graphlearning

    index = np.flatnonzero(labels >= 0)
    weights = graphlearning.weightmatrix.knn(task.numbers, min(_NEIGHBOURS, task.n_rows - 1))
    model = graphlearning.ssl.poisson(weights)
    found: NDArray[Any] = np.asarray(model.fit_predict(index, labels[index]))
    return found


POISSON = (
    Method(
        "poisson",
        "Poisson learning",
        "graphlearning's defaults on ten neighbours with Gaussian weights",
        _poisson,
        package="graphlearning",
        install="graphlearning",
        most_rows=50_000,
        reason="neighbours are searched among all pairs",
    ),
)
