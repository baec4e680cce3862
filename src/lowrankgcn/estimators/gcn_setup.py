r"""Set-up of a network: its graph, its features, and its kernels from eigenpairs of the Laplacian.

The graph uses points whose columns have comparable ranges, or the table itself, and does not depend
on the units of the columns.

The default filter is φ(λ) = 1/(λ + ε). ε is the C-th positive eigenvalue for C classes:
eigenvectors up to there separate the classes, and their responses lie within a factor of two.

Kernels are scaled so that ‖𝒦‖²_F = n, and features so that the input of the first layer has unit
mean square. One step size then suits every n, unit and bandwidth.

>>> import lowrankgcn as lg
>>> from lowrankgcn.estimators.class_labels import read_labels
>>> from lowrankgcn.estimators.parameters import read_gcn_parameters
>>> L = lg.Laplacian(lg.Hypergraph([[1, 0], [1, 0], [1, 1], [0, 1], [0, 1]]))
>>> settings = read_gcn_parameters(lg.GCNClassifier(filter="constant", rank=2).get_params())
>>> kernels = choose_kernels(L, settings, read_labels([0, -1, -1, -1, 1]), seed=0)
>>> (scaled,), _ = scale_kernels(kernels, np.eye(2), reduced=False)
>>> kernels[0].response, (scaled.response**2).sum().round(10)
(array([1., 1.]), np.float64(5.0))
"""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.spatial import cKDTree

from lowrankgcn._validation import invalid
from lowrankgcn.estimators.class_labels import Labels
from lowrankgcn.estimators.gcn_features import (
    Features,
    features_on_graph,
    standard_scores,
    table_features,
)
from lowrankgcn.estimators.gcn_model import PointScale
from lowrankgcn.estimators.parameters import GCNParameters
from lowrankgcn.estimators.rows import Kind
from lowrankgcn.exceptions import DegenerateCutWarning, DisconnectedGraphWarning, RankWarning
from lowrankgcn.gp.node_features import NodeFeatures
from lowrankgcn.graphs import AdjacencyGraph, GaussianGraph, Graph, Hypergraph
from lowrankgcn.operators import FloatArray
from lowrankgcn.operators.gaussian_sums import PointCloud, number_of_modes
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


def build_graph(
    kind: Kind, data: Any, settings: GCNParameters, seed: int
) -> tuple[Graph, Features | None, PointScale | NodeFeatures | None]:
    """Return graph, features and scale of rows, as far as rows of this kind have them."""
    graph, raw = settings.graph, settings.features == "raw"
    if kind == "graph":
        return data, None, None
    if kind == "affinities":
        return AdjacencyGraph(data), None, None
    if kind == "incidence":
        return Hypergraph(data), None, None
    if kind == "table":
        encoder, codes = TableEncoder.fit_transform(data)
        features = table_features(data, encoder, codes, raw=raw)
        if isinstance(graph, str):
            graph = Hypergraph.from_encoder(encoder, codes)
        return graph, features, None
    if kind == "sparse":  # words
        reader, _ = NodeFeatures.fit(data, seed, points=True)
        points = reader.points(data)
        words = Features(points, np.zeros(points.shape[1]))
        return point_graph("knn", points, None, random_state=seed), words, reader
    scale = None
    if isinstance(graph, Graph):
        if not sp.issparse(data):
            scale = PointScale.fit(data, raw=True)
            data = scale.filled(data)
        matrix = data if raw else features_on_graph(data, settings.features)
        # Not centred, few eigenvectors would mainly represent the mean row.
        means = matrix.mean(axis=0) if settings.scaling else np.zeros(matrix.shape[1])
        return graph, Features(matrix, means), scale
    # A given bandwidth is in the units of the columns.
    in_units = raw or settings.bandwidth is not None
    scale = PointScale.fit(data, raw=in_units)
    name = "gaussian" if graph == "auto" and in_units else graph
    graph = point_graph(name, scale.points(data), settings.bandwidth, random_state=seed)
    numbers = scale.filled(data)
    matrix = numbers if raw else standard_scores(numbers)
    return graph, Features(matrix, np.zeros(matrix.shape[1])), scale


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
    laplacian: Laplacian, settings: GCNParameters, labels: Labels, seed: int
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
        pairs = _pairs_of_components(laplacian, rank, settings, labels, seed)
        if pairs is None:
            pairs = eigenpairs(laplacian, rank, tol=tol, random_state=seed)
    positive = pairs.eigenvalues[pairs.eigenvalues > _POSITIVE]
    epsilon = float(positive[min(labels.n_classes, len(positive)) - 1]) if len(positive) else 1.0
    return low_rank_kernels(laplacian, [RegularizedInverse(epsilon)], pairs)


def _pairs_of_components(
    laplacian: Laplacian, rank: int, settings: GCNParameters, labels: Labels, seed: int
) -> Eigenpairs | None:
    """Return pairs of a graph with many components, None for other graphs.

    The smallest eigenpairs would all be null vectors, one for each component, which separate
    components but no classes within them. The null vectors of the components with most labels,
    largest first, are complemented by pairs with positive eigenvalues.
    """
    null, components = laplacian.null_space, laplacian.graph.components
    if null.dimension == 1 or 2 * null.dimension <= rank:
        return None
    zeros = min(null.dimension, rank if settings.rank is None else rank // 2)
    count = min(rank if settings.rank is None else rank - zeros, laplacian.n - null.dimension)
    try:
        pairs = eigenpairs(
            laplacian,
            count,
            which="dominant",
            filter="pseudoinverse",
            tol=settings.tol,
            random_state=seed,
        )
    except ValueError:  # there are no further pairs, or only arbitrary ones of a hypergraph
        return None
    sizes, labelled = np.bincount(components), np.bincount(components[labels.index])
    labelled = np.pad(labelled, (0, len(sizes) - len(labelled)))
    chosen = np.sort(np.lexsort((-sizes, -labelled))[:zeros])
    return replace(
        pairs,
        eigenvalues=np.append(np.zeros(zeros), pairs.eigenvalues),
        eigenvectors=np.hstack([null.vectors(chosen), pairs.eigenvectors]),
        residuals=np.append(np.zeros(zeros), pairs.residuals),
    )


def _rank(laplacian: Laplacian, settings: GCNParameters) -> int:
    """Return the number of eigenpairs: as given, or 30, at most the rows and hyperedges."""
    n, most = laplacian.n, laplacian.graph.max_rank
    if settings.rank is None:
        return max(1, min(_RANK, n, n if most is None else most))
    if settings.rank > n:
        raise invalid("rank", f"at most {n}, the number of rows", settings.rank)
    return settings.rank


def scaled_features(
    kernels: tuple[Kernel, ...], features: Features | None, settings: GCNParameters
) -> tuple[tuple[Kernel, ...], Any, float]:
    """Return scaled kernels, the features X or UᵀX, and their factor in training.

    X is sparse if the features are. Rows of X on a given graph have about unit length.
    """
    pairs, n = kernels[0].eigenpairs, kernels[0].n
    if pairs is None:
        if features is None:
            raise invalid("X", "features for architecture='full'", "a graph alone")
        sparse = sp.issparse(features.matrix) and not features.means.any()
        if sparse and not settings.scaling:
            return kernels, features.matrix, 1.0
        X = features.to_dense()
        if settings.features == "rows":
            return (
                kernels,
                X / math.sqrt(X.shape[1]) * _inverse_rms(np.square(X).sum(), X.size),
                1.0,
            )
        if not settings.scaling:
            return kernels, X, 1.0
        square = sum(float(np.square(one @ X).sum()) for one in kernels)
        return kernels, X, _inverse_rms(square, X.size * len(kernels))
    if features is None:  # the features are √n U
        inner = math.sqrt(n) * np.eye(pairs.rank)
    else:
        inner = features.project(pairs.eigenvectors)
        inner = _orient(pairs, inner) if settings.scaling else inner
    if not settings.scaling:
        return kernels, inner, 1.0
    scaled, scale = scale_kernels(kernels, inner, reduced=settings.architecture == "reduced")
    return scaled, inner, scale


def _orient(pairs: Eigenpairs, inner: FloatArray) -> FloatArray:
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


def _inverse_rms(square: float, size: int) -> float:
    """Return the factor that gives `size` numbers with this sum of squares unit mean square."""
    return math.sqrt(size / square) if square > 0 else 1.0
