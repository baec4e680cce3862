"""Poisson learning of the package graphlearning."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components
from sklearn.neighbors import NearestNeighbors

from lowrankgcn.experiments.comparison.methods.base import Method
from lowrankgcn.experiments.comparison.task import Task

__all__ = ["POISSON"]

_NEIGHBOURS = 10


def _poisson(task: Task, labels: NDArray[np.intp], seed: int) -> NDArray[Any]:
    import graphlearning

    count = min(_NEIGHBOURS, task.n_rows - 1)
    # Its own search in many columns is approximate and needs a further package.
    search = NearestNeighbors(n_neighbors=count + 1).fit(task.numbers)
    distances, nearest = search.kneighbors(task.numbers)
    # Gaussian weights divide by the distance to the last neighbour.
    kernel = "gaussian" if distances[:, -1].all() else "uniform"
    weights = graphlearning.weightmatrix.knn(
        None, count, kernel=kernel, knn_data=(nearest, distances)
    )
    # With several components the equation may have no solution, which conjugate gradients
    # would look for long.
    connected = connected_components(weights, directed=False)[0] == 1
    solver = "conjugate_gradient" if connected else "gradient_descent"
    index = np.flatnonzero(labels >= 0)
    model = graphlearning.ssl.poisson(weights, solver=solver)
    found: NDArray[Any] = np.asarray(model.fit_predict(index, labels[index]))
    return found


POISSON = (
    Method(
        "poisson",
        "Poisson learning",
        "graphlearning's defaults on ten neighbours with Gaussian weights; gradient descent where "
        "their graph is not connected",
        _poisson,
        package="graphlearning",
        install="graphlearning",
        most_rows=50_000,
        reason="neighbours are searched among all pairs",
    ),
)
