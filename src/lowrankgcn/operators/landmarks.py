"""The Gaussian kernel through landmarks: K ≈ C S⁻¹ Cᵀ with C = K(X, P) and S = K(P, P).

With S = R Rᵀ the kernel becomes F Fᵀ for the tall factor F = C R⁻ᵀ: a Gaussian graph is a
hypergraph whose hyperedges are landmarks, and all that works for hypergraphs works for it. The
landmarks P are the pivots of a pivoted Cholesky factorisation of a subsample's kernel, which stops
when no point of the subsample is represented worse than a tolerance.

>>> import numpy as np
>>> from lowrankgcn.operators.gaussian import PointCloud
>>> cloud = PointCloud.from_points(np.linspace(0, 1, 50)[:, None], bandwidth=1.0)
>>> F = LandmarkFactor.from_landmarks(cloud, greedy_landmarks(cloud, tol=1e-6, limit=50))
>>> F.shape
(50, 6)
>>> K = np.exp(-np.subtract.outer(cloud.coordinates, cloud.coordinates)[:, 0, :, 0] ** 2)
>>> bool(np.abs(F.to_dense() @ F.to_dense().T - K).max() < 1e-6)
True
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, final

import numpy as np
import scipy.linalg as la
from numpy.typing import DTypeLike, NDArray

from lowrankgcn._parallel import map_chunks, worthwhile_threads
from lowrankgcn._validation import invalid
from lowrankgcn.operators.base import FloatArray
from lowrankgcn.operators.factors import Factor, scale_rows
from lowrankgcn.operators.gaussian import PointCloud, PointSource, gaussian_kernel

__all__ = [
    "LandmarkFactor",
    "candidate_rows",
    "greedy_landmarks",
    "random_landmark_rows",
    "random_landmarks",
]

# Points among which the greedy pivots are sought.
_SUBSAMPLE = 1000

# So many points can all be tried, lest the subsample missed a clump.
_TRIED_POINTS = 6000

# Below this pivot tolerance the triangular solves amplify float32 rounding past the tolerance.
_SINGLE_PRECISION_TOL = 1e-4
_SINGLE_PIVOT_TOL = 1e-3  # and down to this one the pivots themselves are found in float32

# Kernel values kept between passes up to this many bytes; evaluated again in every pass beyond.
_CACHE_BYTES = 2**29

_CHUNK_ROWS = 1024
_SPANS = 32

# Points further than this (squared, in bandwidths) from the centre would lose digits in the
# augmented matrix product; coordinate differences are used then.
_GEMM_RADIUS_SQUARED = {np.float32: 50.0, np.float64: 1e6}


def greedy_landmarks(
    cloud: PointSource, *, tol: float, limit: int, random_state: int = 0
) -> FloatArray | None:
    """Landmarks by pivoted Cholesky on a subsample, or None if `limit` of them do not suffice.

    In every step the worst represented point of the subsample becomes a landmark, until the largest
    remaining diagonal entry 1 − c_i S⁻¹ c_iᵀ is at most `tol`. Of a few thousand points all others
    are tried then, and those represented worse join the subsample. Cost O(s m²) for s subsampled
    and tried points and m landmarks.
    """
    points, others = map(cloud.take, candidate_rows(cloud.n, random_state))
    # Pivots of a loose factorisation are as good from float32, at half the time.
    single = tol >= _SINGLE_PIVOT_TOL and cloud.squared_radius <= _GEMM_RADIUS_SQUARED[np.float32]
    dtype = np.float32 if single else np.float64
    kernel_column = _kernel_columns(points, single)
    shape = (min(limit, cloud.n), len(points))
    factor: NDArray[Any] = np.empty(shape, dtype)  # rows are columns of the factor
    remaining: NDArray[Any] = np.ones(len(points), dtype)
    pivots: list[int] = []
    while True:
        pivot = int(remaining.argmax())
        if remaining[pivot] <= tol:
            columns = _columns(points, pivots, factor, others)
            rest = 1 - np.einsum("ij,ij->j", columns, columns)
            worse = rest > tol
            if not worse.any():
                return points[pivots]
            points = np.concatenate([points, others[worse]])
            kernel_column = _kernel_columns(points, single)
            factor = np.hstack([factor, columns[:, worse].astype(dtype)])
            remaining = np.concatenate([remaining, rest[worse].astype(dtype)])
            others = others[~worse]
            continue
        if len(pivots) == len(factor):
            return None
        step = len(pivots)
        column: NDArray[Any] = kernel_column(pivot)
        column -= factor[:step, pivot] @ factor[:step]
        column *= 1 / np.sqrt(remaining[pivot])
        factor[step] = column
        column *= column
        remaining -= column
        remaining[pivot] = 0.0
        pivots.append(pivot)


def _kernel_columns(points: FloatArray, single: bool) -> Callable[[int], NDArray[Any]]:
    """exp(−‖x − p‖²) over all points x, for one of them as p; in float32 by a matrix product."""
    if not single:

        def by_difference(pivot: int) -> NDArray[Any]:
            difference = points - points[pivot]
            column: NDArray[Any] = np.exp(-np.einsum("ij,ij->i", difference, difference))
            return column

        return by_difference
    squares = np.einsum("ij,ij->i", points, points)
    ones = np.ones(len(points))
    left = np.column_stack([2 * points, -squares, ones]).astype(np.float32)
    right = np.column_stack([points, ones, -squares]).astype(np.float32)

    def by_product(pivot: int) -> NDArray[Any]:
        exponent: NDArray[Any] = left @ right[pivot]
        np.exp(exponent, out=exponent)
        return exponent

    return by_product


def random_landmarks(cloud: PointSource, count: int, *, random_state: int = 0) -> FloatArray:
    """Landmarks drawn from the points without replacement.

    In high dimension, where no affordable number of pivots represents every point, these represent
    the average point better than pivots, which chase outliers.
    """
    return cloud.take(random_landmark_rows(cloud.n, count, random_state))


def random_landmark_rows(n: int, count: int, random_state: int) -> NDArray[np.intp]:
    """Rows that random landmarks are, in the order of the draw."""
    generator = np.random.default_rng(random_state)
    return generator.choice(n, min(count, n), replace=False)


def candidate_rows(n: int, random_state: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Rows that landmarks are chosen from, and the others if there are few enough to try them.

    >>> [len(rows) for rows in candidate_rows(5000, random_state=0)]
    [1000, 4000]
    """
    if n <= _SUBSAMPLE:
        return np.arange(n), np.arange(0)
    generator = np.random.default_rng(random_state)
    chosen = np.sort(generator.choice(n, _SUBSAMPLE, replace=False))
    return chosen, np.setdiff1d(np.arange(n if n <= _TRIED_POINTS else 0), chosen)


@final
@dataclass(frozen=True, eq=False)
class LandmarkFactor(Factor):
    """The tall factor F = K(X, P) R⁻ᵀ with K(P, P) = R Rᵀ, evaluated in row chunks.

    Notes
    -----
    A pass over the points costs O(n m (d + k)) and O(n k) memory; kernel values are kept between
    passes while they fit into 512 MB.
    """

    cloud: PointCloud
    landmarks: FloatArray  # (m, d), in units of the bandwidth
    root: FloatArray  # R, (m, m), lower triangular
    inverse_root: FloatArray  # R⁻¹
    single: bool
    _kept: NDArray[Any] | None = field(default=None, repr=False)  # K(X, P) if it is affordable
    _known: set[int] = field(default_factory=set, repr=False)  # first rows of the chunks kept

    @classmethod
    def from_landmarks(
        cls, cloud: PointCloud, landmarks: FloatArray, *, tol: float = 0.0
    ) -> LandmarkFactor:
        """Factor the landmark kernel; float32 kernel values when `tol` allows them."""
        kernel = gaussian_kernel(landmarks, landmarks)
        # Landmarks closer than rounding make S singular; dropping null directions of S drops
        # nothing of the kernel, and a multiple of the identity at rounding level does just that.
        kernel[np.diag_indices_from(kernel)] += 1e-14 * len(kernel)
        root = la.cholesky(kernel, lower=True)
        inverse = la.solve_triangular(root, np.eye(len(root)), lower=True)
        single = tol >= _SINGLE_PRECISION_TOL
        shape, dtype = (cloud.n, len(landmarks)), np.dtype(np.float32 if single else np.float64)
        # In one piece: large arrays get huge pages, and their page faults cost a fifth.
        affordable = math.prod(shape) * dtype.itemsize <= _CACHE_BYTES
        kept = np.empty(shape, dtype) if affordable else None
        return cls(cloud, landmarks, root, inverse, single, kept)

    def with_cloud(self, cloud: PointCloud) -> LandmarkFactor:
        """The same landmarks with other points, in the same units."""
        kept = np.empty((cloud.n, len(self.landmarks)), self._dtype)
        return replace(self, cloud=cloud, _kept=kept, _known=set())

    @property
    def shape(self) -> tuple[int, int]:
        """The pair (n, m)."""
        return self.cloud.n, len(self.landmarks)

    def __matmul__(self, V: Any) -> FloatArray:
        """F V for V of shape (m,) or (m, k)."""
        return self.matmul(V)

    def matmul(self, V: FloatArray, *, dtype: DTypeLike = np.float64) -> NDArray[Any]:
        """F V stored in `dtype`."""
        inner = self._solve(V, transposed=True).astype(self._dtype)
        product = np.empty((self.cloud.n, *V.shape[1:]), dtype)

        def span(first: int, last: int) -> None:
            for kernel, start, stop in self._kernels(first, last):
                product[start:stop] = kernel @ inner

        map_chunks(span, self.cloud.n, self._span, n_threads=self._threads)
        return product

    def transpose_product(self, X: NDArray[Any], scale: FloatArray | None = None) -> FloatArray:
        """Fᵀ diag(scale) X for X of shape (n,) or (n, k)."""
        if len(X) != self.cloud.n:  # rows beyond the last chunk would go unseen
            raise invalid("block", f"{self.cloud.n} rows", len(X))

        def term(kernel: NDArray[Any], start: int, stop: int) -> NDArray[Any]:
            part = scale_rows(X[start:stop], None if scale is None else scale[start:stop])
            product: NDArray[Any] = kernel.T @ part.astype(self._dtype, copy=False)
            return product

        total = self._sum_over_rows(term, (len(self.landmarks), *X.shape[1:]))
        return self._solve(total)

    def gram(self, weights: FloatArray | None = None) -> FloatArray:
        """Fᵀ diag(weights) F, shape (m, m)."""
        signed = weights is not None and bool((weights < 0).any())

        def term(kernel: NDArray[Any], start: int, stop: int) -> NDArray[Any]:
            # Tight pivots make R⁻¹ large: it must meet the kernel before rounding errors add up.
            right: NDArray[Any] = kernel if self.single else kernel @ self.inverse_root.T
            left = right
            if weights is not None:
                scale = weights[start:stop] if signed else np.sqrt(weights[start:stop])
                left = right * scale.astype(self._dtype)[:, None]
                right = right if signed else left
            product: NDArray[Any] = left.T @ right  # one and the same array: half the work
            return product

        gram = self._sum_over_rows(term, (len(self.landmarks),) * 2)
        if self.single:
            gram = self.inverse_root @ gram @ self.inverse_root.T
        return (gram + gram.T) / 2

    def row_squares(self, weights: FloatArray | None = None) -> FloatArray:
        """Diagonal of F diag(weights) Fᵀ, shape (n,)."""
        squares = np.empty(self.cloud.n)
        ones = np.ones(len(self.landmarks)) if weights is None else weights

        def span(first: int, last: int) -> None:
            for kernel, start, stop in self._kernels(first, last):
                squares[start:stop] = (kernel @ self.inverse_root.T) ** 2 @ ones

        map_chunks(span, self.cloud.n, self._span, n_threads=self._threads)
        return squares

    def take(self, index: NDArray[np.intp]) -> FloatArray:
        """Selected rows as a dense array (len(index), m)."""
        return self.evaluate(self.cloud.coordinates[index])

    def evaluate(self, coordinates: FloatArray) -> FloatArray:
        """Rows of the factor for further points, given in the cloud's units."""
        kernel = gaussian_kernel(coordinates, self.landmarks, cancel=False)
        return kernel @ self.inverse_root.T

    def _solve(self, V: FloatArray, *, transposed: bool = False) -> FloatArray:
        """R⁻¹ V or R⁻ᵀ V by substitution.

        Tight pivots make R⁻¹ as large as 1e5. A product with it loses as many digits, substitution
        does not. Products with many rows still use R⁻¹, because SciPy's substitution holds the
        interpreter lock; their errors are independent and average out.
        """
        if V.size == 0:
            return np.zeros((len(self.root), *V.shape[1:]))
        solution: FloatArray = la.solve_triangular(self.root, V, lower=True, trans=int(transposed))
        return solution

    @property
    def _dtype(self) -> type[np.float32] | type[np.float64]:
        return np.float32 if self.single else np.float64

    @property
    def _threads(self) -> int:
        return worthwhile_threads(self.cloud.n * len(self.landmarks))

    @property
    def _span(self) -> int:
        """Rows that one thread walks through at a time: a number of chunks that n determines."""
        return -(-self.cloud.n // (_SPANS * _CHUNK_ROWS)) * _CHUNK_ROWS

    def _kernels(self, first: int, last: int) -> Iterator[tuple[NDArray[Any], int, int]]:
        """K(X[start:stop], P) for the row chunks of a span, each valid until the next."""
        n, m = self.shape
        kept = self._kept
        buffer = np.empty((min(_CHUNK_ROWS, n), m), self._dtype) if kept is None else kept[:0]
        for start in range(first, last, _CHUNK_ROWS):
            stop = min(start + _CHUNK_ROWS, last)
            kernel = buffer[: stop - start] if kept is None else kept[start:stop]
            if start not in self._known:
                gaussian_kernel(
                    self.cloud.coordinates[start:stop],
                    self.landmarks,
                    cancel=self.cloud.squared_radius <= _GEMM_RADIUS_SQUARED[self._dtype],
                    out=kernel,
                )
            if kept is not None:
                self._known.add(start)
            yield kernel, start, stop

    def _sum_over_rows(
        self, term: Callable[[NDArray[Any], int, int], NDArray[Any]], shape: tuple[int, ...]
    ) -> FloatArray:
        """Sum `term` over row chunks, in float64 and in an order that n alone determines."""

        def span(first: int, last: int) -> FloatArray:
            total = np.zeros(shape)
            for kernel, start, stop in self._kernels(first, last):
                total += term(kernel, start, stop)
            return total

        total: FloatArray = np.sum(
            map_chunks(span, self.cloud.n, self._span, n_threads=self._threads), axis=0
        )
        return total


def _columns(
    points: FloatArray, pivots: list[int], factor: FloatArray, others: FloatArray
) -> FloatArray:
    """Columns that continue the factor to other points, zero in the rows to come."""
    root = factor[: len(pivots), pivots].T
    columns = np.zeros((len(factor), len(others)))
    columns[: len(pivots)] = la.solve_triangular(
        root, gaussian_kernel(points[pivots], others), lower=True
    )
    return columns
