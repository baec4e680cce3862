"""Semi-supervised classification of dense data with low-rank graph convolutional networks.

The modules in the order of the data flow:

``graphs`` (points, tables, given weights) → ``Laplacian`` → ``eigenpairs`` → ``filters`` →
``kernel`` → ``nn`` (networks and their training)
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from lowrankgcn import exceptions
from lowrankgcn.exceptions import (
    AccuracyWarning,
    ColumnWarning,
    DegenerateCutWarning,
    DirectedGraphWarning,
    DisconnectedGraphWarning,
    EigensolverError,
    FastSumError,
    LabelWarning,
    RankWarning,
    UnlabelledComponentWarning,
)

if TYPE_CHECKING:
    from lowrankgcn import datasets, metrics, nn, plotting
    from lowrankgcn.estimators.gcn_classifier import GCNClassifier
    from lowrankgcn.estimators.gp_classifier import SpectralGPClassifier
    from lowrankgcn.estimators.model_files import load, save
    from lowrankgcn.graphs import AdjacencyGraph, GaussianGraph, Hypergraph
    from lowrankgcn.spectral import filters
    from lowrankgcn.spectral.eigenpairs import Eigenpairs, eigenpairs
    from lowrankgcn.spectral.kernel import Kernel, kernel
    from lowrankgcn.spectral.laplacian import Laplacian
    from lowrankgcn.tables import TableEncoder

__version__ = "0.2.0"

__all__ = ["datasets", "exceptions", "filters", "metrics", "nn", "plotting"]
__all__ += ["AdjacencyGraph", "GaussianGraph", "Hypergraph", "TableEncoder"]
__all__ += ["Eigenpairs", "Kernel", "Laplacian", "eigenpairs", "kernel"]
__all__ += ["GCNClassifier", "SpectralGPClassifier", "load", "save"]
__all__ += ["AccuracyWarning", "ColumnWarning", "DegenerateCutWarning", "DirectedGraphWarning"]
__all__ += ["DisconnectedGraphWarning", "LabelWarning", "RankWarning"]
__all__ += ["EigensolverError", "FastSumError", "UnlabelledComponentWarning"]

# Modules that are imported on demand, because the libraries behind them take seconds to load.
_MODULES = {
    "Eigenpairs": "spectral.eigenpairs",
    "Kernel": "spectral.kernel",
    "Laplacian": "spectral.laplacian",
    "TableEncoder": "tables",
    "eigenpairs": "spectral.eigenpairs",
    "filters": "spectral.filters",
    "kernel": "spectral.kernel",
    **dict.fromkeys(("AdjacencyGraph", "GaussianGraph", "Hypergraph"), "graphs"),
    **dict.fromkeys(("GCNClassifier", "SpectralGPClassifier", "load", "save"), "estimators"),
}


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = import_module(f"{__name__}.{_MODULES.get(name, name)}")
    return getattr(module, name, module)  # some names are modules
