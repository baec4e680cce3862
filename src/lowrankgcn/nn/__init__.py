"""Networks: spectral convolutions, graph convolutional networks and their reduced-order form.

All are torch modules that any training loop can use. Kernels are buffers that move with
``.to(device)`` and are not part of the ``state_dict``.

>>> import lowrankgcn as lg
>>> L = lg.Laplacian(lg.Hypergraph([[1, 0], [1, 1], [0, 1]]))
>>> lg.nn.GCN(lg.kernel(L, "linear", rank=2), (4, 3, 2))
GCN(
  (propagations): ModuleList(
    (0): LowRankPropagation(
      3×3
      (factor): DenseMatrix(3×2)
    )
  )
  (convs): ModuleList(
    (0): SpectralConv(
      4 → 3, kernels=1, bias=False
      ...
  (activation): ReLU()
  (dropout): Dropout(p=0.0, inplace=False)
)
"""

from lowrankgcn.exceptions import TORCH_MISSING

try:
    import torch  # noqa: F401
except ModuleNotFoundError:
    raise ModuleNotFoundError(TORCH_MISSING, name="torch") from None

from lowrankgcn.nn.layers import ACTIVATIONS, SpectralConv
from lowrankgcn.nn.networks import GCN, Network, ReducedOrderGCN
from lowrankgcn.nn.propagation import Propagation, SpectralPropagation
from lowrankgcn.nn.pyg import PygTask, from_pyg, to_pyg
from lowrankgcn.nn.to_torch import as_propagation, as_propagations

__all__ = [
    "ACTIVATIONS",
    "GCN",
    "Network",
    "Propagation",
    "PygTask",
    "ReducedOrderGCN",
    "SpectralConv",
    "SpectralPropagation",
    "as_propagation",
    "as_propagations",
    "from_pyg",
    "to_pyg",
]
