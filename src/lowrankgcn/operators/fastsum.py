"""Fast summation: choose a method to multiply with a Gaussian kernel, and measure its error.

Methods are tried in this order. The first one is used whose measured error is within the tolerance
and whose degrees are all positive:

=========== ============================================= =========================================
method      suitable for                                  cost of one product
=========== ============================================= =========================================
dense       n ≤ 2048                                      n²
low-rank    wide kernels, any dimension                   n m for m landmarks
fourier     d ≤ 3, medium kernels                         n + number of Fourier modes
split       d ≤ 3, outliers and narrow kernels            fourier without the outliers, and the
                                                          number of pairs with an outlier
blocks      everything else, exact                        n²
=========== ============================================= =========================================

The error is measured on random rows of the kernel, which are evaluated exactly.

>>> import numpy as np
>>> from lowrankgcn.operators.gaussian_sums import PointCloud
>>> from lowrankgcn.operators.fastsum import gaussian_sum
>>> points = np.random.default_rng(0).normal(size=(5000, 2))
>>> fast = gaussian_sum(PointCloud.from_points(points, bandwidth=1.5), tol=1e-4)
>>> fast.method, fast.error < 1e-4
('low-rank', True)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain
from typing import Any, final

import numpy as np
import scipy  # loads its parts when they are used
import scipy.sparse as sp
from numpy.typing import NDArray

from lowrankgcn._parallel import chunks, map_chunks
from lowrankgcn._validation import invalid
from lowrankgcn.exceptions import FastSumError
from lowrankgcn.operators.affinity import Affinity, ExactRows
from lowrankgcn.operators.factors import Factor, FloatArray
from lowrankgcn.operators.gaussian_sums import (
    EDGE_RADIUS,
    SINGLE_PRECISION_TOL,
    GaussianBlocks,
    GaussianFourier,
    PointCloud,
    number_of_modes,
)
from lowrankgcn.operators.landmarks import LandmarkFactor, greedy_landmarks
from lowrankgcn.operators.symmetric_operator import (
    DENSE_LIMIT,
    DiagonalPlusLowRank,
    MatrixOperator,
    SymmetricOperator,
)

METHODS: tuple[str, ...] = ("auto", "dense", "low-rank", "fourier", "split", "blocks")

_RANDOM_LANDMARKS = 500
_TOLERANCE_FACTORS = (1.0, 1e-1, 1e-2, 1e-4)  # tried in turn until the measured error fits
_LOW_DEGREE_POINTS = 512  # points of lowest degree whose diagonal entries are checked

# Measured on one core: beyond these sizes the next method of the table is faster.
_GREEDY_LIMIT = {1: 200, 2: 200, 3: 350}  # landmarks, by dimension
_MODES_LIMIT = 2**22
_PAIRS_LIMIT = 4 * 10**7
_PAIRS_PER_POINT = 1000
_QUERIED = 2**14  # outliers whose neighbours are searched at a time

# Outliers have fewer than three points of a sample within reach, in bandwidths.
_SAMPLED = 20  # one of this many points is in the sample
_REACH = 2.5


def gaussian_sum(
    cloud: PointCloud,
    *,
    tol: float,
    method: str = "auto",
    isolated: NDArray[np.bool_] | None = None,
    random_state: int = 0,
) -> Affinity:
    """Choose a method to multiply with the Gaussian weights whose measured error is at most `tol`.

    Parameters
    ----------
    cloud : PointCloud
        The points in units of the bandwidth.
    tol : float
        Largest admissible error, see `Affinity.error`.
    method : {"auto", "dense", "low-rank", "fourier", "split", "blocks"}
        The method; "auto" selects the first one of the module's table that is accurate enough.
        A named method that misses the tolerance returns its best result and the error of that.
    isolated : (n,) bool array, optional
        Points without neighbours, whose degree is zero.
    random_state : int
        Seed of the subsample, the landmarks and the rows on which the error is measured.

    Raises
    ------
    FastSumError
        If the named method is too expensive or gives unusable degrees.
    """
    alone = np.zeros(cloud.n, bool) if isolated is None else isolated
    if method == "auto" and cloud.n <= DENSE_LIMIT:
        method = "dense"
    if method == "fourier" and cloud.dimension > 3:
        raise invalid("method", "at most 3 dimensions with 'fourier'", cloud.dimension)
    if method in ("dense", "blocks"):
        return _exact_sum(cloud, method, alone)
    best: Affinity | None = None
    blocks = GaussianBlocks(cloud, single=tol >= SINGLE_PRECISION_TOL)
    for name, build, factors in _CANDIDATES:
        for factor in factors if method in ("auto", name) else ():
            operator = build(cloud, tol * factor, random_state, method != "auto")
            if operator is None:
                break
            fast = _assess(blocks, operator, name, alone, random_state)
            if fast is not None and fast.error <= tol:
                return fast
            if fast is not None and (best is None or fast.error < best.error):
                best = fast
    if method == "auto":
        return _exact_sum(cloud, "blocks", alone)
    if best is None:
        excess, width = _REMEDIES[method]
        raise FastSumError(
            f"method={method!r} cannot represent this kernel: {excess}, or degrees that are not "
            f"positive or wrong by more than a tenth. Use method='auto' or a {width} bandwidth."
        )
    return best


def _exact_sum(cloud: PointCloud, method: str, isolated: NDArray[np.bool_]) -> Affinity:
    blocks = GaussianBlocks(cloud)
    operator = MatrixOperator(blocks.to_dense()) if method == "dense" else blocks
    degrees = np.where(isolated, 0.0, operator @ np.ones(cloud.n))
    return Affinity(operator, np.zeros(cloud.n), degrees, method=method)


def _assess(
    blocks: GaussianBlocks,
    operator: SymmetricOperator,
    method: str,
    isolated: NDArray[np.bool_],
    random_state: int,
) -> Affinity | None:
    """Compute degrees and error of a candidate; return None if a degree is unusable."""
    cloud = blocks.cloud
    tests = _test_vectors(cloud, random_state)
    product = operator @ tests
    # The diagonal of a low-rank kernel is near enough to one, and exactly one for a single point.
    diagonal = operator.diagonal() if isinstance(operator, SplitSum) else np.ones(cloud.n)
    degrees = np.where(isolated, 0.0, product[:, 0] - diagonal)
    if not bool((degrees[~isolated] > 0).all()):
        return None
    scale = np.zeros(cloud.n)
    np.divide(1.0, np.sqrt(degrees), out=scale, where=~isolated)
    exact_rows = ExactRows.sample(blocks, scale, random_state)
    index = exact_rows.index
    exact = exact_rows.product(tests)
    difference = product[index] - diagonal[index, None] * tests[index] - exact
    wrong = np.abs(difference[:, 0]) > 0.1 * exact[:, 0]
    if bool(wrong[scale[index] > 0].any()):
        return None
    norms = np.einsum("i,ij,ij->j", degrees, tests, tests)  # ‖y‖² of y = √d∘t
    norms = np.where(norms == 0, 1.0, norms)  # a graph without edges has no error
    squares = (scale[index][:, None] * difference) ** 2 / norms
    error = float(np.sqrt(exact_rows.estimate_total(squares)).max())
    if isinstance(operator, DiagonalPlusLowRank):
        error = max(error, _worst_diagonal_error(operator.factor, scale))
    return Affinity(operator, diagonal, degrees, error, method, exact_rows)


def _test_vectors(cloud: PointCloud, random_state: int) -> FloatArray:
    """Return 1 and three cos(ωᵀu), smooth functions t of the points u, shape (n, 4).

    Times √degree they resemble the leading eigenvectors. The product with 1 gives the degrees.
    """
    generator = np.random.default_rng(random_state)
    frequencies = 2 * generator.normal(size=(cloud.dimension, 3)) / math.sqrt(cloud.dimension)
    tests = np.ones((cloud.n, 4))

    def evaluate(start: int, stop: int) -> None:
        phases = np.clip(cloud.coordinates[start:stop] @ frequencies, -1e6, 1e6)
        tests[start:stop, 1:] = np.cos(phases.astype(np.float32))  # six times faster

    map_chunks(evaluate, cloud.n, 16384)
    return tests


def _worst_diagonal_error(factor: Factor, scale: FloatArray) -> float:
    """Return the largest diagonal entry of D^{-1/2}(K − F Fᵀ)D^{-1/2} in rows of lowest degree.

    A small group of points far from every landmark is missing from F, and sampled rows rarely meet
    it. Its degrees are low, so the rows of lowest degree reveal it: the diagonal of K is one.
    """
    count = min(_LOW_DEGREE_POINTS, len(scale))
    lowest = np.argpartition(-scale, count - 1)[:count]
    rows = factor.take(lowest)
    missing = 1.0 - np.einsum("ij,ij->i", rows, rows)
    return float((missing * scale[lowest] ** 2).max(initial=0.0))


def _greedy(cloud: PointCloud, tol: float, seed: int, forced: bool) -> SymmetricOperator | None:
    limit = _GREEDY_LIMIT.get(cloud.dimension, _RANDOM_LANDMARKS) * (4 if forced else 1)
    # Measured: the residuals stay an order of magnitude below the pivot tolerance.
    pivot_tol = min(5 * tol, 1e-2)
    landmarks = greedy_landmarks(cloud, tol=pivot_tol, limit=limit, random_state=seed)
    return None if landmarks is None else _low_rank(cloud, landmarks, pivot_tol)


def _random(cloud: PointCloud, tol: float, seed: int, forced: bool) -> SymmetricOperator | None:
    """Use random landmarks in more than three dimensions.

    There no affordable number of pivots represents every point. Random landmarks represent the
    average point better than pivots, which are mostly outliers.
    """
    if cloud.dimension <= 3 and not forced:
        return None
    generator = np.random.default_rng(seed)
    rows = generator.choice(cloud.n, min(_RANDOM_LANDMARKS, cloud.n), replace=False)
    return _low_rank(cloud, cloud.coordinates[rows], 10 * tol)


def _low_rank(cloud: PointCloud, landmarks: FloatArray, tol: float) -> SymmetricOperator:
    factor = LandmarkFactor.from_landmarks(cloud, landmarks, tol=tol)
    return DiagonalPlusLowRank(np.zeros(cloud.n), factor)


def _fourier(cloud: PointCloud, tol: float, seed: int, forced: bool) -> SymmetricOperator | None:
    if cloud.dimension > 3:
        return None
    # Measured: the error of sums is two orders of magnitude below that of the kernel.
    eps = max(min(100 * tol, 1e-2), 1e-14)
    affordable = number_of_modes(cloud.extent, eps) <= _MODES_LIMIT
    return GaussianFourier.from_cloud(cloud, eps=eps) if affordable else None


@final
@dataclass(frozen=True, eq=False)
class SplitSum(SymmetricOperator):
    """A fast sum over the points that are not outliers, and stored weights of all other pairs.

    Outliers widen the cloud, which needs more modes, and their degrees may be smaller than the
    error of a fast sum. But they have few neighbours.
    """

    outliers: NDArray[np.bool_]  # (n,)
    others: SymmetricOperator | None  # None if all points are outliers
    pairs: sp.csr_array  # (n, n)

    @property
    def n(self) -> int:
        """Number of points."""
        return len(self.outliers)

    def _apply(self, X: FloatArray) -> FloatArray:
        product = self.pairs @ X
        if self.others is not None:
            product[~self.outliers] += self.others @ X[~self.outliers]
        return np.asarray(product)

    def diagonal(self) -> FloatArray:
        """Return the diagonal, shape (n,): one, and zero for outliers."""
        return np.where(self.outliers, 0.0, 1.0)


def _split(cloud: PointCloud, tol: float, seed: int, forced: bool) -> SymmetricOperator | None:
    if cloud.dimension > 3 and not forced:
        return None
    outliers = np.ones(cloud.n, bool)  # all of them, if the kernel is narrow
    pairs = _outlier_pairs(cloud, outliers, tol, seed)
    if pairs is not None:
        return SplitSum(outliers, None, pairs)
    outliers = _outliers(cloud, seed)
    if not 0 < outliers.sum() < cloud.n:
        return None
    rest = PointCloud.from_points(cloud.coordinates[~outliers], 1.0)
    others = _fourier(rest, tol, seed, False)
    pairs = others and _outlier_pairs(cloud, outliers, tol, seed)
    return None if pairs is None else SplitSum(outliers, others, pairs)


def _outliers(cloud: PointCloud, seed: int) -> NDArray[np.bool_]:
    """Return the points with fewer than three others of a random sample within reach."""
    generator = np.random.default_rng(seed)
    count = min(cloud.n, max(200, cloud.n // _SAMPLED))
    sample = generator.choice(cloud.n, count, replace=False)
    tree = scipy.spatial.cKDTree(cloud.coordinates[sample])
    within = tree.query_ball_point(cloud.coordinates, _REACH, return_length=True)
    within[sample] -= 1  # the point itself
    return np.asarray(within < 3)


def _outlier_pairs(
    cloud: PointCloud, outliers: NDArray[np.bool_], tol: float, seed: int
) -> sp.csr_array | None:
    """Compute the weights of all pairs with an outlier; None if they are too many.

    The weights of an outlier are kept if they are not negligible compared to that of its nearest
    neighbour.
    """
    tree, coordinates = scipy.spatial.cKDTree(cloud.coordinates), cloud.coordinates

    def neighbours(rows: NDArray[np.intp], **options: bool) -> Any:
        nearest = tree.query(coordinates[rows], k=2)[0][:, 1]
        reach = np.hypot(nearest, math.sqrt(math.log(cloud.n / tol)))
        return tree.query_ball_point(coordinates[rows], np.minimum(reach, EDGE_RADIUS), **options)

    index = np.flatnonzero(outliers)
    some = np.random.default_rng(seed).choice(index, min(200, len(index)), replace=False)
    expected = len(index) * float(neighbours(some, return_length=True).mean())
    if expected > min(_PAIRS_LIMIT, _PAIRS_PER_POINT * cloud.n):
        return None
    parts = []
    for start, stop in chunks(len(index), _QUERIED):  # lists of neighbours need much memory
        near = neighbours(index[start:stop])
        rows = np.repeat(index[start:stop], [len(columns) for columns in near])
        parts.append(np.stack([rows, np.fromiter(chain.from_iterable(near), np.intp, len(rows))]))
    rows, columns = np.concatenate(parts, axis=1)
    rows, columns = rows[rows != columns], columns[rows != columns]
    difference = coordinates[rows] - coordinates[columns]
    weights = np.exp(-np.einsum("ij,ij->i", difference, difference))
    pairs = sp.coo_array((weights, (rows, columns)), shape=(cloud.n, cloud.n)).tocsr()
    return pairs.maximum(pairs.T)


_Builder = Callable[[PointCloud, float, int, bool], SymmetricOperator | None]
_CANDIDATES: tuple[tuple[str, _Builder, tuple[float, ...]], ...] = (
    ("low-rank", _greedy, _TOLERANCE_FACTORS),
    # The number of random landmarks does not depend on the tolerance.
    ("low-rank", _random, (1.0,)),
    ("fourier", _fourier, _TOLERANCE_FACTORS),
    ("split", _split, _TOLERANCE_FACTORS),
)
# What a method may need too much of, and the bandwidth that needs less.
_REMEDIES = {
    "low-rank": ("too many landmarks", "larger"),
    "fourier": ("too many Fourier modes", "larger"),
    "split": ("too many pairs with an outlier", "smaller"),
}
