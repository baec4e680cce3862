"""Semi-supervised classification of dense data with low-rank graph convolutional networks.

The modules in the order of the data flow:

``graphs`` (points, tables, given weights) → ``Laplacian`` → ``eigenpairs`` → ``filters`` →
``kernel`` → ``nn`` (networks)
"""

from importlib import import_module
from typing import Any

from lowrankgcn import datasets, exceptions
from lowrankgcn.exceptions import (
    AccuracyWarning,
    DegenerateCutWarning,
    DisconnectedGraphWarning,
    EigensolverError,
    FastSumError,
    RankWarning,
    UnlabelledComponentWarning,
)
from lowrankgcn.graphs import AdjacencyGraph, GaussianGraph, Hypergraph, TableEncoder
from lowrankgcn.spectral import filters
from lowrankgcn.spectral.eigenpairs import eigenpairs
from lowrankgcn.spectral.kernel import Kernel, kernel
from lowrankgcn.spectral.laplacian import Laplacian
from lowrankgcn.spectral.spectrum import Eigenpairs

__version__ = "0.1.0.dev0"

_ESTIMATORS = ("GCNClassifier", "SpectralGPClassifier", "load", "save")

__all__ = [
    "AccuracyWarning",
    "AdjacencyGraph",
    "DegenerateCutWarning",
    "DisconnectedGraphWarning",
    "Eigenpairs",
    "EigensolverError",
    "FastSumError",
    "GCNClassifier",
    "GaussianGraph",
    "Hypergraph",
    "Kernel",
    "Laplacian",
    "RankWarning",
    "SpectralGPClassifier",
    "TableEncoder",
    "UnlabelledComponentWarning",
    "datasets",
    "eigenpairs",
    "exceptions",
    "filters",
    "kernel",
    "load",
    "nn",
    "plotting",
    "save",
    "training",
]


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> Any:
    # Imported on demand: matplotlib and torch load more slowly than everything else together.
    if name in ("nn", "plotting", "training"):
        return import_module(f"lowrankgcn.{name}")
    if name in _ESTIMATORS:
        return getattr(import_module("lowrankgcn.estimators"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
