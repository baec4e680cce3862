"""Semi-supervised classification of dense data with low-rank graph convolutional networks.

The way data takes, and the modules in reading order:

``graphs`` (points, tables, given weights) → ``Laplacian`` → ``eigenpairs`` → ``filters`` →
``kernel`` → ``nn`` (networks)
"""

from importlib import import_module
from types import ModuleType

from lowrankgcn import datasets, exceptions, filters
from lowrankgcn.dominance import eigenpairs
from lowrankgcn.exceptions import (
    AccuracyWarning,
    DegenerateCutWarning,
    DisconnectedGraphWarning,
    EigensolverError,
    FastSumError,
    RankWarning,
)
from lowrankgcn.graphs import AdjacencyGraph, GaussianGraph, Hypergraph, TableEncoder
from lowrankgcn.kernels import Kernel, kernel
from lowrankgcn.laplacian import Laplacian
from lowrankgcn.spectrum import Eigenpairs

__version__ = "0.1.0.dev0"

__all__ = [
    "AccuracyWarning",
    "AdjacencyGraph",
    "DegenerateCutWarning",
    "DisconnectedGraphWarning",
    "Eigenpairs",
    "EigensolverError",
    "FastSumError",
    "GaussianGraph",
    "Hypergraph",
    "Kernel",
    "Laplacian",
    "RankWarning",
    "TableEncoder",
    "datasets",
    "eigenpairs",
    "exceptions",
    "filters",
    "kernel",
    "nn",
    "plotting",
]


def __getattr__(name: str) -> ModuleType:
    # Pictures bring matplotlib and networks torch: each takes longer than all the rest to import.
    if name in ("nn", "plotting"):
        return import_module(f"lowrankgcn.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
