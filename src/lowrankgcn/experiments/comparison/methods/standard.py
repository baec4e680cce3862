"""Scikit-learn's classifiers: those that see labelled rows alone, and label spreading."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import NearestNeighbors
from sklearn.semi_supervised import LabelSpreading
from sklearn.svm import SVC

from lowrankgcn.experiments.comparison.methods.base import Method
from lowrankgcn.experiments.comparison.task import Task

__all__ = ["STANDARD"]

_NEIGHBOURS = 10
_SAMPLE = 2000
_ITERATIONS = 100


def _supervised(
    task: Task, labels: NDArray[np.intp], seed: int, *, make: Callable[[int], Any]
) -> NDArray[Any]:
    known = labels >= 0
    model = make(seed).fit(task.numbers[known], labels[known])
    classes: NDArray[Any] = model.predict(task.numbers)
    return classes


def _spreading_knn(task: Task, labels: NDArray[np.intp], seed: int) -> NDArray[Any]:
    count = min(_NEIGHBOURS, task.n_rows)
    model = LabelSpreading(kernel="knn", n_neighbors=count, max_iter=_ITERATIONS)
    classes: NDArray[Any] = model.fit(task.numbers, labels).transduction_
    return classes


def _spreading_rbf(task: Task, labels: NDArray[np.intp], seed: int) -> NDArray[Any]:
    gamma = 2 / _local_distance(task, seed) ** 2
    model = LabelSpreading(kernel="rbf", gamma=gamma, max_iter=_ITERATIONS)
    classes: NDArray[Any] = model.fit(task.numbers, labels).transduction_
    return classes


def _local_distance(task: Task, seed: int) -> float:
    """Median distance to the tenth neighbour, among at most 2000 rows."""
    generator = np.random.default_rng(seed)
    size = min(_SAMPLE, task.n_rows)
    sample = task.numbers[generator.choice(task.n_rows, size, replace=False)]
    search = NearestNeighbors(n_neighbors=min(_NEIGHBOURS, size - 1)).fit(sample)
    distances = search.kneighbors()[0][:, -1]
    return float(np.median(distances)) or float(distances.max()) or 1.0


STANDARD = (
    Method(
        "logistic",
        "LogisticRegression",
        "scikit-learn's defaults",
        partial(_supervised, make=lambda seed: LogisticRegression(max_iter=5000)),
    ),
    Method(
        "forest",
        "RandomForest",
        "scikit-learn's defaults: 100 trees",
        partial(_supervised, make=lambda seed: RandomForestClassifier(random_state=seed)),
    ),
    Method(
        "svc",
        "SVC",
        "scikit-learn's defaults: Gaussian kernel, C = 1",
        partial(_supervised, make=lambda seed: SVC()),
    ),
    Method(
        "spreading-knn",
        "LabelSpreading, kNN",
        "ten neighbours, which on the whole gave more than the default of seven; α = 0.2",
        _spreading_knn,
        most_rows=50_000,
        reason="neighbours are searched among all pairs",
    ),
    Method(
        "spreading-rbf",
        "LabelSpreading, rbf",
        "γ = 2 over the squared median distance to the tenth neighbour, because the default of 20 "
        "fits one scale only; α = 0.2",
        _spreading_rbf,
        most_rows=10_000,
        reason="its n×n matrices would take more than 2 GB",
    ),
)
