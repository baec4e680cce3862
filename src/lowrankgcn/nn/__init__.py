"""Networks and their training.

Spectral convolutions, graph convolutional networks and their reduced-order form are torch modules
that any training loop can use. Kernels are buffers that move with ``.to(device)`` and are not part
of the ``state_dict``. :func:`train` has a loop of its own: explicit gradients, all restarts in one
batch.

Modules in the order of the data flow: ``propagation`` and ``conversion`` (kernels) → ``inputs``
(sparse features) → ``convolution`` (a layer) → ``modules`` (networks) → ``problem`` (exact savings)
→ ``gradients`` (explicit gradients) → ``training`` → ``record`` (trained weights).

>>> import lowrankgcn as lg
>>> L = lg.Laplacian(lg.Hypergraph([[1, 0], [1, 0], [1, 1], [0, 1], [0, 1]]))
>>> network = lg.nn.GCN(lg.kernel(L, "linear", rank=2), (2, 4, 2))
>>> network
GCN(
  (propagations): ModuleList(
    (0): LowRankPropagation(
      5×5
      (factor): DenseMatrix(5×2)
    )
  )
  (convs): ModuleList(
    (0): SpectralConv(
      2 → 4, kernels=1, bias=False
      ...
  (activation): ReLU()
  (dropout): Dropout(p=0.0, inplace=False)
)
>>> record = lg.nn.train(network, L.graph.incidence.to_dense(), [0, 4], [0, 1], n_restarts=5)
>>> record.logits(network, L.graph.incidence.to_dense()).argmax(dim=2)[record.best, [0, 1, 3, 4]]
tensor([0, 0, 1, 1])
"""

from lowrankgcn.exceptions import TORCH_MISSING

try:
    import torch  # noqa: F401
except ModuleNotFoundError:
    raise ModuleNotFoundError(TORCH_MISSING, name="torch") from None

from lowrankgcn.nn.conversion import as_propagation, as_propagations
from lowrankgcn.nn.convolution import SpectralConv
from lowrankgcn.nn.gradients import ExplicitGradients
from lowrankgcn.nn.inputs import SparseInput
from lowrankgcn.nn.modules import ACTIVATIONS, GCN, Network, ReducedOrderGCN
from lowrankgcn.nn.problem import ProjectedFeatures, TrainingProblem
from lowrankgcn.nn.propagation import Propagation, SpectralPropagation
from lowrankgcn.nn.pyg import PygTask, from_pyg, to_pyg
from lowrankgcn.nn.record import TrainingRecord
from lowrankgcn.nn.threads import limit_threads
from lowrankgcn.nn.training import train

__all__ = [
    "ACTIVATIONS",
    "GCN",
    "ExplicitGradients",
    "Network",
    "ProjectedFeatures",
    "Propagation",
    "PygTask",
    "ReducedOrderGCN",
    "SparseInput",
    "SpectralConv",
    "SpectralPropagation",
    "TrainingProblem",
    "TrainingRecord",
    "as_propagation",
    "as_propagations",
    "from_pyg",
    "limit_threads",
    "to_pyg",
    "train",
]
