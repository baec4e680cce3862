"""Datasets, graphs and networks of the cases.

>>> setting = load_setting("cars")
>>> setting.laplacian(None).n, setting.widths
(1728, (21, 8, 4))
>>> network, seconds = setting.network(Case("cars", "R-GCN", "pseudoinverse", 15))
>>> network.rank
15
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lowrankgcn.datasets import load_cars, load_mushrooms, load_spiral
from lowrankgcn.exceptions import DataUnavailableError
from lowrankgcn.experiments.reproduction.grid import Case
from lowrankgcn.graphs import GaussianGraph, Graph, Hypergraph
from lowrankgcn.nn import GCN, Network, ReducedOrderGCN
from lowrankgcn.spectral.kernel import kernel, low_rank_kernels
from lowrankgcn.spectral.laplacian import Laplacian
from lowrankgcn.spectral.spectrum import Eigenpairs

__all__ = ["Setting", "load_setting", "other_basis"]

_BANDWIDTH = 3.5
_HIDDEN = {"spiral": 4, "cars": 8, "cars-acceptability": 8, "mushrooms": 16}
# The paper's eigensolver tolerance for a few pairs; products with all of 𝓛 are more accurate.
_TOLERANCE, _FULL_TOLERANCE = 1e-3, 1e-6
_SAME = 1e-8  # eigenvalues closer than this share an eigenspace


class Setting(NamedTuple):
    """A dataset as the paper uses it: graph, input features, classes, training nodes.

    ``source`` names the data that was read and is part of the identity of stored results. ``X`` are
    the points of the spiral, or the dense incidence matrix of a table.
    """

    data: str
    source: str
    graph: Graph
    X: NDArray[np.float64]
    classes: NDArray[np.int64]
    training: NDArray[np.intp]
    widths: tuple[int, int, int]

    def laplacian(self, smoother: str | None, *, full: bool = False) -> Laplacian:
        """Return the Laplacian, with accurate fast sums for kernels of full rank."""
        coarse = self.data == "spiral" and not full
        return Laplacian(self.graph, smoother, tol=_TOLERANCE if coarse else _FULL_TOLERANCE)

    def labelled(self, case: Case, seed: int) -> NDArray[np.intp]:
        """Return the training nodes of a case."""
        if not case.split:
            return self.training
        generator = np.random.default_rng([seed, case.split])
        counts = np.bincount(self.classes[self.training])
        drawn = [
            generator.choice(np.flatnonzero(self.classes == label), count, replace=False)
            for label, count in enumerate(counts.tolist())
        ]
        return np.sort(np.concatenate(drawn))

    def network(self, case: Case, seed: int = 0) -> tuple[Network, float]:
        """Return the untrained network of a case, and the seconds from the graph to its kernel."""
        begin = time.perf_counter()
        laplacian = self.laplacian(case.smoother, full=case.rank is None)
        K = kernel(laplacian, case.phi, rank=case.rank)
        seconds = time.perf_counter() - begin
        if case.basis:
            assert K.eigenpairs is not None
            pairs = other_basis(K.eigenpairs, [seed, case.basis])
            K = low_rank_kernels(K.laplacian, [K.filter], pairs)[0]
        kind = ReducedOrderGCN if case.network == "R-GCN" else GCN
        return kind(K, self.widths), seconds


def load_setting(data: str) -> Setting:
    """Read or generate the data of a case.

    Raises
    ------
    DataUnavailableError
        If a file is missing and cannot be downloaded.
    """
    source, dataset = data, None
    if data == "spiral":
        try:
            dataset, source = load_spiral(source="paper"), "spiral: the paper's points"
        except DataUnavailableError:
            dataset, source = load_spiral(), "spiral: a new sample"
        X = np.asarray(dataset.data)
        graph: Graph = GaussianGraph(X, bandwidth=_BANDWIDTH)
    else:
        mushrooms = data == "mushrooms"
        dataset = load_mushrooms(as_frame=True) if mushrooms else load_cars("buying", as_frame=True)
        graph = table = Hypergraph.from_table(dataset.data)
        X = table.incidence.to_dense()
    real_classes = data == "cars-acceptability"
    classes = np.asarray((load_cars() if real_classes else dataset).target)
    widths = (X.shape[1], _HIDDEN[data], len(dataset.target_names))
    return Setting(data, source, graph, X, classes, dataset.training, widths)


def other_basis(pairs: Eigenpairs, seed: Any) -> Eigenpairs:
    """Rotate the eigenvectors randomly within each eigenspace; for a simple one, flip its sign.

    Examples
    --------
    >>> import lowrankgcn as lg
    >>> pairs = lg.eigenpairs(lg.Laplacian(lg.Hypergraph([[1, 0], [1, 1], [1, 1], [0, 1]])), 2)
    >>> other = other_basis(pairs, 3)
    >>> bool(np.allclose(abs(other.eigenvectors), abs(pairs.eigenvectors)))
    True
    """
    generator = np.random.default_rng(seed)
    vectors = pairs.eigenvectors.copy()
    edges = np.flatnonzero(np.diff(pairs.eigenvalues) > _SAME) + 1
    for space in np.split(np.arange(pairs.rank), edges):
        Q, R = np.linalg.qr(generator.standard_normal((space.size, space.size)))
        vectors[:, space] = vectors[:, space] @ (Q * np.sign(np.diag(R)))
    return replace(pairs, eigenvectors=vectors)
