"""``GCNClassifier`` with its defaults, the paper's settings, and one choice at a time fixed."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowrankgcn.estimators import GCNClassifier
from lowrankgcn.experiments.comparison.methods.base import Method
from lowrankgcn.experiments.comparison.task import Task

__all__ = ["OURS", "REFERENCE"]


def _classify(task: Task, labels: NDArray[np.intp], seed: int, **settings: Any) -> NDArray[Any]:
    classifier = GCNClassifier(random_state=seed, **settings).fit(task.rows, labels)
    classes: NDArray[Any] = classifier.transduction_
    return classes


REFERENCE = Method(
    "gcn",
    "GCNClassifier",
    "default arguments: candidates averaged by cross-validation on the labelled rows",
    _classify,
)

OURS = (
    REFERENCE,
    Method(
        "gcn-best",
        "GCNClassifier, best",
        'selection="best": the candidate of best cross-validation alone',
        partial(_classify, selection="best"),
    ),
    Method(
        "gcn-low-rank",
        "GCNClassifier, L-GCN",
        'architecture="low-rank"',
        partial(_classify, architecture="low-rank"),
    ),
    Method(
        "gcn-reduced",
        "GCNClassifier, R-GCN",
        'architecture="reduced"',
        partial(_classify, architecture="reduced"),
    ),
    Method(
        "gcn-paper",
        "GCNClassifier, paper",
        'preset="paper": L-GCN of rank 20 with the pseudoinverse, 1000 steps of gradient descent',
        partial(_classify, preset="paper"),
    ),
)
