r"""Set-up of a network: its graph, and its kernels from the eigenpairs of the Laplacian.

The default filter is φ(λ) = 1/(λ + ε). ε is the C-th positive eigenvalue for C classes:
eigenvectors up to there separate the classes, and their responses lie within a factor of two.

Kernels are scaled so that ‖𝒦‖²_F = n, and features so that the input of the first layer has unit
mean square. One step size then suits every n, unit and bandwidth.

>>> import lowrankgcn as lg
>>> from lowrankgcn.estimators.parameters import read_gcn_parameters
>>> L = lg.Laplacian(lg.Hypergraph([[1, 0], [1, 0], [1, 1], [0, 1], [0, 1]]))
>>> settings = read_gcn_parameters(lg.GCNClassifier(filter="constant", rank=2).get_params())
>>> kernels = choose_kernels(L, settings, n_classes=2, seed=0)
>>> (scaled,), _ = scale_kernels(kernels, np.eye(2), reduced=False)
>>> kernels[0].response, (scaled.response**2).sum().round(10)
(array([1., 1.]), np.float64(5.0))
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.spatial import cKDTree

from lowrankgcn._validation import invalid
from lowrankgcn.estimators.inputs import Inputs, PointInputs, TableInputs
from lowrankgcn.estimators.parameters import GCNParameters
from lowrankgcn.estimators.rows import Kind
from lowrankgcn.exceptions import DegenerateCutWarning, DisconnectedGraphWarning, RankWarning
from lowrankgcn.graphs import AdjacencyGraph, GaussianGraph, Graph, Hypergraph
from lowrankgcn.operators import FloatArray
from lowrankgcn.operators.fourier import number_of_modes
from lowrankgcn.operators.gaussian_sums import PointCloud
from lowrankgcn.spectral.eigenpairs import Eigenpairs, eigenpairs, flip_signs
from lowrankgcn.spectral.filters import Linear, RegularizedInverse
from lowrankgcn.spectral.kernel import Kernel, kernel, low_rank_kernels
from lowrankgcn.spectral.laplacian import Laplacian
from lowrankgcn.tables import TableEncoder

_NEIGHBOURS = 10
_BANDWIDTHS, _SAMPLE = 2.0, 2000  # median distances to the tenth neighbour, among so many points
_MOST_MODES, _ACCURACY = 2**20, 1e-2  # of a fast Gaussian sum that is cheaper than neighbours
_RANK = 30
_POSITIVE = 1e-9  # eigenvalues up to here are zero
_COMMON = 1e-8  # overlaps with the features below this share of the largest count as zero
_ORTHOGONAL = 1e-8


def build_graph(
    kind: Kind, data: Any, settings: GCNParameters, seed: int
) -> tuple[Inputs | None, Graph]:
    """Return inputs and graph of rows; inputs are None without features."""
    if kind == "graph":
        return None, data
    if kind == "affinities":
        return None, AdjacencyGraph(data)
    if kind == "incidence":
        return None, Hypergraph(data)
    raw = not settings.scaling
    graph = settings.graph
    if kind == "table":
        encoder, codes = TableEncoder.fit_transform(data)
        if isinstance(graph, str):
            graph = Hypergraph.from_encoder(encoder, codes)
        return TableInputs.fit(data, encoder, raw_features=raw), graph
    # A given bandwidth is in the units of the columns.
    in_units = raw or settings.bandwidth is not None
    raw_points = in_units or isinstance(graph, Graph)
    inputs = PointInputs.fit(data, raw_features=raw, raw_points=raw_points)
    if isinstance(graph, str):
        name = "gaussian" if graph == "auto" and in_units else graph
        graph = point_graph(name, inputs.rows(data), settings.bandwidth, random_state=seed)
    return inputs, graph


def point_graph(
    name: str, points: FloatArray, bandwidth: float | None, *, random_state: int
) -> Graph:
    """Build the graph of points: "gaussian", "knn" or "auto"; None chooses the bandwidth.

    "auto" chooses the Gaussian graph in up to three dimensions if its sums take few Fourier modes.
    Otherwise it chooses ten nearest neighbours with self-tuning weights, which separate classes
    better in many dimensions.

    >>> points = np.random.default_rng(0).normal(size=(300, 2))
    >>> point_graph("auto", points, None, random_state=0)
    GaussianGraph(300 points in 2 dimensions, bandwidth=0.751734)
    >>> point_graph("auto", np.random.default_rng(0).normal(size=(300, 20)), None, random_state=0)
    AdjacencyGraph(300 nodes, sparse)
    """
    if name == "gaussian" or (name == "auto" and points.shape[1] <= 3):
        width = bandwidth or _local_bandwidth(points, random_state)
        extent = PointCloud.from_points(points, width).extent
        if name == "gaussian" or number_of_modes(extent, _ACCURACY) <= _MOST_MODES:
            return GaussianGraph(points, width, random_state=random_state)
    return AdjacencyGraph.knn(points, _NEIGHBOURS, random_state=random_state)


def _local_bandwidth(points: FloatArray, random_state: int) -> float:
    """Return twice the median distance to the tenth neighbour, in a sample of at most 2000 points.

    This bandwidth separates neighbouring clusters, unlike half the median distance of all points,
    and it does not shrink with the number of points.

    Examples
    --------
    >>> import numpy as np
    >>> _local_bandwidth(np.linspace(0, 1, 101)[:, None], random_state=0)
    0.1
    """
    sample = points
    if len(points) > _SAMPLE:
        rng = np.random.default_rng(random_state)
        sample = points[np.sort(rng.choice(len(points), _SAMPLE, replace=False))]
    count = min(_NEIGHBOURS, len(sample) - 1)
    if count < 1:
        return 1.0
    distances = cKDTree(sample).query(sample, k=count + 1)[0][:, -1]
    median = float(np.median(distances))
    if median > 0:
        return _BANDWIDTHS * round(median, 15)
    positive = distances[distances > 0]
    return _BANDWIDTHS * float(positive.mean()) if len(positive) else 1.0


def choose_kernels(
    laplacian: Laplacian, settings: GCNParameters, n_classes: int, seed: int
) -> tuple[Kernel, ...]:
    """Build the kernels of the filters, of low rank with common eigenpairs, or of full rank."""
    filters, tol = settings.filter, settings.tol
    if settings.architecture == "full":
        return kernel(laplacian, [Linear("auto")] if filters is None else list(filters), tol=tol)
    rank = _rank(laplacian, settings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DisconnectedGraphWarning)
        if settings.rank is None:
            warnings.simplefilter("ignore", RankWarning)
            warnings.simplefilter("ignore", DegenerateCutWarning)
        if filters is not None:
            return kernel(laplacian, list(filters), rank, tol=tol, random_state=seed)
        pairs = eigenpairs(laplacian, rank, tol=tol, random_state=seed)
    positive = pairs.eigenvalues[pairs.eigenvalues > _POSITIVE]
    epsilon = float(positive[min(n_classes, len(positive)) - 1]) if len(positive) else 1.0
    return low_rank_kernels(laplacian, [RegularizedInverse(epsilon)], pairs)


def _rank(laplacian: Laplacian, settings: GCNParameters) -> int:
    """Return the number of eigenpairs: as given, or 30, at most the rows and hyperedges."""
    n, most = laplacian.n, laplacian.graph.max_rank
    if settings.rank is None:
        return max(1, min(_RANK, n, n if most is None else most))
    if settings.rank > n:
        raise invalid("rank", f"at most {n}, the number of rows", settings.rank)
    return settings.rank


def without_rounding(inner: FloatArray, square_sum: float) -> FloatArray:
    """Set rounding errors in UᵀX to zero, for features of the given sum of squares.

    Otherwise rounding would decide on which side of its kink an activation starts.
    """
    length = math.sqrt(square_sum / inner.shape[1])  # typical norm of a column
    return np.where(np.abs(inner) > _ORTHOGONAL * length, inner, 0.0)


def orient(pairs: Eigenpairs, inner: FloatArray) -> FloatArray:
    """Flip eigenvectors, in place, by the sign of their overlap with the features; return UᵀX.

    Reduced-order networks depend on the signs. Those of :func:`lowrankgcn.eigenpairs` depend on the
    largest entry of each vector, which a few more rows may change; a sum over all rows is stable.
    """
    mixed = inner @ np.random.default_rng(0).normal(size=inner.shape[1])
    negligible = _COMMON * float(np.abs(mixed).max(initial=0.0))  # rounding must not decide
    signs = np.where(mixed < -negligible, -1.0, 1.0)
    flip_signs(pairs.eigenvectors, signs)
    return inner * signs[:, None]


def scale_kernels(
    kernels: tuple[Kernel, ...], inner: FloatArray, *, reduced: bool
) -> tuple[tuple[Kernel, ...], float]:
    """Scale low-rank kernels to ‖𝒦‖²_F = n; return them and the factor of the features.

    Parameters
    ----------
    kernels : tuple of Kernel
        With common eigenpairs.
    inner : (r, N_0) array
        UᵀX of the features.
    reduced : bool
        Whether the rows of the first layer are eigenvectors instead of nodes.
    """
    laplacian, pairs = kernels[0].laplacian, kernels[0].eigenpairs
    assert pairs is not None
    responses = np.stack([one.response for one in kernels])  # (K, r)
    norm = math.sqrt(float(np.square(responses).sum(axis=1).max()))
    factor = math.sqrt(laplacian.n) / norm if norm > 0 else 1.0
    scaled = low_rank_kernels(laplacian, [factor * one.filter for one in kernels], pairs)
    square = float((np.square(factor * responses) @ np.square(inner).sum(axis=1)).sum())
    rows = pairs.rank if reduced else laplacian.n
    return scaled, _inverse_rms(square, rows * inner.shape[1] * len(kernels))


def full_scale(kernels: Sequence[Kernel], features: FloatArray) -> float:
    """Return the factor of the features for kernels of full rank."""
    square = sum(float(np.square(one @ features).sum()) for one in kernels)
    return _inverse_rms(square, features.size * len(kernels))


def _inverse_rms(square: float, size: int) -> float:
    return math.sqrt(size / square) if square > 0 else 1.0
