"""Training of networks by explicit gradients, all restarts in one batch.

Modules in the order of the data flow: ``problem`` (arguments) → ``reduction`` (exact savings) →
``gradients`` → ``optimizers`` → ``train`` → ``record``.

>>> import lowrankgcn as lg, numpy as np
>>> L = lg.Laplacian(lg.Hypergraph([[1, 0], [1, 0], [1, 1], [0, 1], [0, 1]]))
>>> network = lg.nn.GCN(lg.kernel(L, "linear"), (2, 4, 2))
>>> record = lg.training.train(network, L.graph.incidence.to_dense(), [0, 4], [0, 1], n_restarts=5)
>>> record.logits(network, L.graph.incidence.to_dense()).argmax(dim=2)[record.best, [0, 1, 3, 4]]
tensor([0, 0, 1, 1])
"""

import lowrankgcn.nn  # noqa: F401  # raises a clear error without torch
from lowrankgcn.training.gradients import ExplicitGradients
from lowrankgcn.training.optimizers import LBFGS, Adam, GradientDescent, Optimizer
from lowrankgcn.training.problem import ProjectedFeatures
from lowrankgcn.training.record import TrainingRecord
from lowrankgcn.training.reduction import TrainingProblem
from lowrankgcn.training.threads import limit_threads
from lowrankgcn.training.train import train

__all__ = [
    "LBFGS",
    "Adam",
    "ExplicitGradients",
    "GradientDescent",
    "Optimizer",
    "ProjectedFeatures",
    "TrainingProblem",
    "TrainingRecord",
    "limit_threads",
    "train",
]
