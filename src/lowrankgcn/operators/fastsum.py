"""Which way to multiply with a Gaussian kernel, and how wrong it is.

Five ways, tried in this order unless one is named, each kept only if its measured error is within
the tolerance and every degree comes out positive:

=========== ============================================= =========================================
way         for                                           cost of one product
=========== ============================================= =========================================
dense       n ≤ 2048                                      n²
low-rank    wide kernels, any dimension                   n m for m landmarks
fourier     d ≤ 3, medium kernels                         n + number of Fourier modes
sparse      d ≤ 3, narrow kernels                         number of pairs with a weight worth it
blocks      everything else, exact                        n²
=========== ============================================= =========================================

The error is measured, not assumed: rows of the kernel are drawn, evaluated exactly and compared.

>>> import numpy as np
>>> from lowrankgcn.operators.gaussian import PointCloud
>>> points = np.random.default_rng(0).normal(size=(5000, 2))
>>> fast = gaussian_sum(PointCloud.from_points(points, bandwidth=1.5), tol=1e-4)
>>> fast.method, fast.error < 1e-4
('low-rank', True)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import chain

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from lowrankgcn._parallel import map_chunks
from lowrankgcn._validation import invalid
from lowrankgcn.exceptions import FastSumError
from lowrankgcn.operators.accuracy import SmoothVectors, sampled_error, worst_diagonal_error
from lowrankgcn.operators.affinity import Affinity, ExactRows
from lowrankgcn.operators.base import FloatArray, SymmetricOperator
from lowrankgcn.operators.factors import Factor
from lowrankgcn.operators.fourier import GaussianFourier, fourier_modes
from lowrankgcn.operators.gaussian import EDGE_RADIUS, GaussianBlocks, PointCloud, PointSource
from lowrankgcn.operators.landmarks import LandmarkFactor, greedy_landmarks, random_landmarks
from lowrankgcn.operators.structured import DenseOperator, DiagonalPlusLowRank, SparseOperator

__all__ = [
    "DENSE_LIMIT",
    "LOW_DEGREE_POINTS",
    "METHODS",
    "RANDOM_LANDMARKS",
    "TOLERANCE_FACTORS",
    "choose_greedy_landmarks",
    "choose_random_landmarks",
    "fourier_tolerance",
    "gaussian_sum",
]

METHODS: tuple[str, ...] = ("auto", "dense", "low-rank", "fourier", "sparse", "blocks")

DENSE_LIMIT = 2048  # points up to which n×n is the cheapest way (32 MB)
_GREEDY_LIMIT = {1: 200, 2: 200, 3: 350}  # landmarks worth taking, by dimension
RANDOM_LANDMARKS = 500
_MODES_LIMIT = 2**22
_PAIRS_LIMIT = 4 * 10**7
_PAIRS_PER_POINT = 1000
TOLERANCE_FACTORS = (1.0, 1e-1, 1e-2, 1e-4)  # tried in turn until the measured error fits
LOW_DEGREE_POINTS = 512  # points of lowest degree that are looked at closely
_ROWS = 16384
_SINGLE_PRECISION_TOL = 1e-4  # errors down to here can be measured with weights in float32
_LOW_DEGREE = 1000  # times the tolerance: degrees that the dropped weights would change


def gaussian_sum(
    cloud: PointCloud,
    *,
    tol: float,
    method: str = "auto",
    isolated: NDArray[np.bool_] | None = None,
    random_state: int = 0,
) -> Affinity:
    """Choose a way to multiply with the Gaussian weights whose measured error is at most `tol`.

    Parameters
    ----------
    cloud : PointCloud
        The points in units of the bandwidth.
    tol : float
        Largest admissible error, see `Affinity.error`.
    method : {"auto", "dense", "low-rank", "fourier", "sparse", "blocks"}
        A way to take; "auto" takes the first of the module's table that passes.
    isolated : (n,) bool array, optional
        Points without any neighbour, whose degree is zero.
    random_state : int
        Seed of the subsample, the landmarks and the rows that the error is measured on.

    Raises
    ------
    FastSumError
        If the way named by `method` would be too large or gives degrees that are unusable.
    """
    lonely = np.zeros(cloud.n, bool) if isolated is None else isolated
    if method == "auto" and cloud.n <= DENSE_LIMIT:
        method = "dense"
    if method == "fourier" and cloud.dimension > 3:
        raise invalid("method", "at most 3 dimensions with 'fourier'", cloud.dimension)
    if method in ("dense", "blocks"):
        return _exact_sum(cloud, method, lonely)
    best: Affinity | None = None
    for name, way, factors in _WAYS:
        for factor in factors if method in ("auto", name) else ():
            operator = way(cloud, tol * factor, random_state, method != "auto")
            if operator is None:
                break
            blocks = GaussianBlocks(cloud, single=tol >= _SINGLE_PRECISION_TOL)
            fast = _assess(blocks, operator, name, lonely, random_state)
            if fast is not None and fast.error <= tol:
                return fast
            if fast is not None and (best is None or fast.error < best.error):
                best = fast
    if method == "auto":
        return _exact_sum(cloud, "blocks", lonely)
    if best is None:
        trouble, width = _TROUBLE[method]
        raise FastSumError(
            f"method={method!r} cannot represent this kernel: {trouble}, or degrees that are not "
            f"positive or wrong by more than a tenth. Use method='auto' or a {width} bandwidth."
        )
    return best


def _exact_sum(cloud: PointCloud, method: str, isolated: NDArray[np.bool_]) -> Affinity:
    blocks = GaussianBlocks(cloud)
    operator = DenseOperator(blocks.to_dense()) if method == "dense" else blocks
    degrees = np.where(isolated, 0.0, operator @ np.ones(cloud.n))
    return Affinity(operator, np.zeros(cloud.n), degrees, method=method)


def _assess(
    blocks: GaussianBlocks,
    operator: SymmetricOperator,
    method: str,
    isolated: NDArray[np.bool_],
    random_state: int,
) -> Affinity | None:
    """Degrees and measured error of a candidate; None when a degree is unusable."""
    cloud = blocks.cloud
    tests, waves = np.empty((cloud.n, 4)), SmoothVectors.draw(cloud, random_state)

    def rows(start: int, stop: int) -> None:
        tests[start:stop] = waves.rows(cloud.coordinates[start:stop])

    map_chunks(rows, cloud.n, _ROWS)
    product = operator @ tests
    unit_diagonal = method != "sparse"
    degrees = np.where(isolated, 0.0, product[:, 0] - unit_diagonal)
    if not bool((degrees[~isolated] > 0).all()):
        return None
    scale = np.zeros(cloud.n)
    np.divide(1.0, np.sqrt(degrees), out=scale, where=~isolated)
    exact_rows = ExactRows.sample(blocks, scale, random_state)
    index = exact_rows.index
    exact = exact_rows.rows.product(tests)
    difference = product[index] - unit_diagonal * tests[index] - exact
    norms = np.einsum("i,ij,ij->j", degrees, tests, tests)
    error = sampled_error(difference, exact, scale[index], norms, exact_rows.sum)
    if error is None:
        return None
    if isinstance(operator, DiagonalPlusLowRank):
        error = max(error, _worst_represented(operator.factor, scale))
    diagonal = np.full(cloud.n, float(unit_diagonal))
    return Affinity(operator, diagonal, degrees, error, method, exact_rows)


def _worst_represented(factor: Factor, scale: FloatArray) -> float:
    count = min(LOW_DEGREE_POINTS, len(scale))
    index = np.argpartition(-scale, count - 1)[:count]
    return worst_diagonal_error(factor.take(index), scale[index])


def _low_rank(
    cloud: PointCloud, tol: float, random_state: int, forced: bool
) -> SymmetricOperator | None:
    landmarks, pivot_tol = choose_greedy_landmarks(cloud, tol, random_state, forced=forced)
    if landmarks is None:
        return None
    factor = LandmarkFactor.from_landmarks(cloud, landmarks, tol=pivot_tol)
    return DiagonalPlusLowRank(np.zeros(cloud.n), factor)


def choose_greedy_landmarks(
    cloud: PointSource, tol: float, random_state: int, *, forced: bool = False
) -> tuple[FloatArray | None, float]:
    """Greedy landmarks for an error `tol` if they are worth it, and the tolerance of pivots."""
    limit = _GREEDY_LIMIT.get(cloud.dimension, RANDOM_LANDMARKS)
    # Measured: the residuals stay an order of magnitude below the pivot tolerance.
    pivot_tol = min(5 * tol, 1e-2)
    limit = 4 * limit if forced else limit
    landmarks = greedy_landmarks(cloud, tol=pivot_tol, limit=limit, random_state=random_state)
    return landmarks, pivot_tol


def _random_low_rank(
    cloud: PointCloud, tol: float, random_state: int, forced: bool
) -> SymmetricOperator | None:
    landmarks, pivot_tol = choose_random_landmarks(cloud, tol, random_state, forced=forced)
    if landmarks is None:
        return None
    factor = LandmarkFactor.from_landmarks(cloud, landmarks, tol=pivot_tol)
    return DiagonalPlusLowRank(np.zeros(cloud.n), factor)


def choose_random_landmarks(
    cloud: PointSource, tol: float, random_state: int, *, forced: bool = False
) -> tuple[FloatArray | None, float]:
    """Random landmarks in many dimensions, and the tolerance of their factor."""
    if cloud.dimension <= 3 and not forced:
        return None, 10 * tol
    landmarks = random_landmarks(cloud, RANDOM_LANDMARKS, random_state=random_state)
    return landmarks, 10 * tol


def _fourier(
    cloud: PointCloud, tol: float, random_state: int, forced: bool
) -> SymmetricOperator | None:
    eps = fourier_tolerance(cloud, tol)
    return None if eps is None else GaussianFourier.from_cloud(cloud, eps=eps)


def fourier_tolerance(cloud: PointSource, tol: float) -> float | None:
    """Error of the kernel's Fourier series for an error `tol` of sums; None if it is too long."""
    # Measured: Fourier sums are two orders of magnitude better than their kernel error.
    eps = max(min(100 * tol, 1e-2), 1e-14)
    if cloud.dimension > 3:
        return None
    _, half = fourier_modes(cloud.extent, eps)
    return eps if math.prod((2 * half + 1).tolist()) <= _MODES_LIMIT else None


def _sparse(
    cloud: PointCloud, tol: float, random_state: int, forced: bool
) -> SymmetricOperator | None:
    if cloud.dimension > 3 and not forced:
        return None
    radius = math.sqrt(math.log(cloud.n / tol))  # drops less than tol per row
    tree = cKDTree(cloud.coordinates)
    generator = np.random.default_rng(random_state)
    some = cloud.coordinates[generator.choice(cloud.n, min(200, cloud.n), replace=False)]
    expected = cloud.n * float(np.mean(tree.query_ball_point(some, radius, return_length=True)))
    if expected > min(_PAIRS_LIMIT, _PAIRS_PER_POINT * cloud.n):
        return None
    pairs = tree.sparse_distance_matrix(tree, radius, output_type="ndarray")
    pairs = pairs[pairs["i"] != pairs["j"]]
    weights = np.exp(-(pairs["v"] ** 2))
    shape = (cloud.n, cloud.n)
    matrix = sp.coo_array((weights, (pairs["i"], pairs["j"])), shape=shape).tocsr()
    lonely = np.flatnonzero(matrix.sum(axis=1) < _LOW_DEGREE * tol)
    if len(lonely):
        rows = _neighbours(cloud, tree, lonely, radius)
        matrix = matrix.maximum(rows).maximum(rows.T)
    return SparseOperator(matrix)


def _neighbours(
    cloud: PointCloud, tree: cKDTree, index: NDArray[np.intp], radius: float
) -> sp.csr_array:
    """Rows of W for points so far from all others that `radius` cuts off what weights they have.

    Weights count that are not negligible beside that of the nearest neighbour.
    """
    nearest = tree.query(cloud.coordinates[index], k=2)[0][:, 1]
    joined = nearest < EDGE_RADIUS
    index, reach = index[joined], np.minimum(np.hypot(nearest[joined], radius), EDGE_RADIUS)
    found = tree.query_ball_point(cloud.coordinates[index], reach)
    rows = np.repeat(index, [len(near) for near in found])
    columns = np.fromiter(chain.from_iterable(found), np.intp, len(rows))
    rows, columns = rows[rows != columns], columns[rows != columns]
    difference = cloud.coordinates[rows] - cloud.coordinates[columns]
    weights = np.exp(-np.einsum("ij,ij->i", difference, difference))
    return sp.coo_array((weights, (rows, columns)), shape=(cloud.n, cloud.n)).tocsr()


_Way = Callable[[PointCloud, float, int, bool], SymmetricOperator | None]
_WAYS: tuple[tuple[str, _Way, tuple[float, ...]], ...] = (
    ("low-rank", _low_rank, TOLERANCE_FACTORS),
    ("low-rank", _random_low_rank, (1.0,)),  # a number of landmarks, whatever the tolerance
    ("fourier", _fourier, TOLERANCE_FACTORS),
    ("sparse", _sparse, TOLERANCE_FACTORS),
)
# What a way may need too much of, and the bandwidth that would need less.
_TROUBLE = {
    "low-rank": ("too many landmarks", "larger"),
    "fourier": ("too many Fourier modes", "larger"),
    "sparse": ("too many pairs within reach", "smaller"),
}
