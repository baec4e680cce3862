"""Low-rank Gaussian kernels by landmarks: K ≈ C S⁻¹ Cᵀ with C = K(X, P) and S = K(P, P).

With S = R Rᵀ the kernel is F Fᵀ for the tall factor F = C R⁻ᵀ. A Gaussian graph thus has the same
structure as a hypergraph whose hyperedges are landmarks. The landmarks P are pivots of a pivoted
Cholesky factorisation of a subsample's kernel, which stops when every point of the subsample is
represented up to a tolerance.

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
from dataclasses import dataclass, field
from typing import Any, TypeVar, final

import numpy as np
import scipy.linalg as la
from numpy.typing import DTypeLike, NDArray

from lowrankgcn._parallel import map_chunks, worthwhile_threads
from lowrankgcn._validation import invalid
from lowrankgcn.operators.base import FloatArray
from lowrankgcn.operators.factors import BLOCK_ROWS, Factor, scale_rows
from lowrankgcn.operators.gaussian import (
    GEMM_RADIUS_SQUARED,
    SINGLE_PRECISION_TOL,
    PointCloud,
    exponent_factors,
    gaussian_kernel,
)

Result = TypeVar("Result")

_SUBSAMPLE = 1000  # points among which greedy pivots are sought
_TRIED_POINTS = 6000  # up to this many points are all tried, as a subsample may miss a clump
_SINGLE_PIVOT_TOL = 1e-3  # pivots for this tolerance and looser ones are found in float32
_CACHE_BYTES = 2**29  # kernel values kept between passes; more are evaluated in every pass
_SPANS = 32  # parts of the rows that threads share; fixed, so that sums have a fixed order


def greedy_landmarks(
    cloud: PointCloud, *, tol: float, limit: int, random_state: int = 0
) -> FloatArray | None:
    """Choose landmarks by pivoted Cholesky on a subsample; None if `limit` do not suffice.

    In every step the worst represented point of the subsample becomes a landmark, until the largest
    remaining diagonal entry 1 − c_i S⁻¹ c_iᵀ is at most `tol`. Up to 6000 points are then all
    checked, and those represented worse join the subsample. Cost O(s m²) for s checked points and m
    landmarks.
    """
    points, others = (cloud.coordinates[rows] for rows in _candidate_rows(cloud.n, random_state))
    # Float32 is accurate enough for the pivots of a loose factorisation, and twice as fast.
    single = tol >= _SINGLE_PIVOT_TOL and cloud.squared_radius <= GEMM_RADIUS_SQUARED[np.float32]
    dtype = np.float32 if single else np.float64
    shape = (min(limit, cloud.n), len(points))
    factor: NDArray[Any] = np.empty(shape, dtype)  # rows are columns of the factor
    remaining: NDArray[Any] = np.ones(len(points), dtype)
    pivots: list[int] = []
    # In single precision, a column of the kernel costs one product with these factors.
    left, right = exponent_factors(points, points, dtype) if single else (points, points)
    while True:
        pivot = int(remaining.argmax())
        if remaining[pivot] <= tol:
            # The factor's columns for the other points, with zeros in the rows to come.
            columns = np.zeros((len(factor), len(others)))
            kernel = gaussian_kernel(points[pivots], others)
            root = factor[: len(pivots), pivots].T
            columns[: len(pivots)] = la.solve_triangular(root, kernel, lower=True)
            rest = 1 - np.einsum("ij,ij->j", columns, columns)
            worse = rest > tol
            if not worse.any():
                return points[pivots]
            points = np.concatenate([points, others[worse]])
            if single:
                left, right = exponent_factors(points, points, dtype)
            factor = np.hstack([factor, columns[:, worse].astype(dtype)])
            remaining = np.concatenate([remaining, rest[worse].astype(dtype)])
            others = others[~worse]
            continue
        if len(pivots) == len(factor):
            return None
        step = len(pivots)
        if single:
            column = left @ right[:, pivot]
            with np.errstate(under="ignore"):
                np.exp(column, out=column)
        else:
            column = gaussian_kernel(points, points[[pivot]])[:, 0]
        column -= factor[:step, pivot] @ factor[:step]
        column *= 1 / np.sqrt(remaining[pivot])
        factor[step] = column
        column *= column
        remaining -= column
        remaining[pivot] = 0.0
        pivots.append(pivot)


def _candidate_rows(n: int, random_state: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the rows landmarks are chosen from, and the other rows if they are few."""
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
    A pass over the points costs O(n m (d + k)) time and O(n k) memory. Kernel values are kept
    between passes if they fit into 512 MB.
    """

    cloud: PointCloud
    landmarks: FloatArray  # (m, d), in units of the bandwidth
    root: FloatArray  # R, (m, m), lower triangular
    inverse_root: FloatArray  # R⁻¹
    single: bool
    _kept: NDArray[Any] | None = field(default=None, repr=False)  # K(X, P)
    _known: set[int] = field(default_factory=set, repr=False)  # first rows of evaluated chunks

    @classmethod
    def from_landmarks(
        cls, cloud: PointCloud, landmarks: FloatArray, *, tol: float = 0.0
    ) -> LandmarkFactor:
        """Factor the landmark kernel; kernel values are float32 if `tol` allows it."""
        kernel = gaussian_kernel(landmarks, landmarks)
        # Landmarks closer than rounding make S singular. Its null directions contribute nothing to
        # the kernel, and a multiple of the identity at rounding level suppresses them.
        kernel[np.diag_indices_from(kernel)] += 1e-14 * len(kernel)
        root = la.cholesky(kernel, lower=True)
        inverse = la.solve_triangular(root, np.eye(len(root)), lower=True)
        single = tol >= SINGLE_PRECISION_TOL
        shape, dtype = (cloud.n, len(landmarks)), np.dtype(np.float32 if single else np.float64)
        # One large array gets huge pages, whose page faults cost a fifth.
        affordable = math.prod(shape) * dtype.itemsize <= _CACHE_BYTES
        kept = np.empty(shape, dtype) if affordable else None
        return cls(cloud, landmarks, root, inverse, single, kept)

    @property
    def shape(self) -> tuple[int, int]:
        """The pair (n, m)."""
        return self.cloud.n, len(self.landmarks)

    def matmul(self, V: FloatArray, *, dtype: DTypeLike = np.float64) -> NDArray[Any]:
        """Compute F V in `dtype`."""
        inner = self._solve(V, transposed=True).astype(self._dtype)
        product = np.empty((self.cloud.n, *V.shape[1:]), dtype)

        def span(first: int, last: int) -> None:
            for kernel, start, stop in self._kernels(first, last):
                product[start:stop] = kernel @ inner

        self._map_spans(span)
        return product

    def transpose_product(self, X: NDArray[Any], scale: FloatArray | None = None) -> FloatArray:
        """Compute Fᵀ diag(scale) X for X of shape (n,) or (n, k)."""
        if len(X) != self.cloud.n:  # chunks would ignore further rows
            raise invalid("block", f"{self.cloud.n} rows", len(X))

        def term(kernel: NDArray[Any], start: int, stop: int) -> NDArray[Any]:
            part = scale_rows(X[start:stop], None if scale is None else scale[start:stop])
            product: NDArray[Any] = kernel.T @ part.astype(self._dtype, copy=False)
            return product

        total = self._sum_over_rows(term, (len(self.landmarks), *X.shape[1:]))
        return self._solve(total)

    def gram(self, weights: FloatArray | None = None) -> FloatArray:
        """Compute Fᵀ diag(weights) F, shape (m, m)."""
        signed = weights is not None and bool((weights < 0).any())

        def term(kernel: NDArray[Any], start: int, stop: int) -> NDArray[Any]:
            # Tight pivots make R⁻¹ large; applied to the sum it would amplify rounding errors.
            right: NDArray[Any] = kernel if self.single else kernel @ self.inverse_root.T
            left = right
            if weights is not None:
                scale = weights[start:stop] if signed else np.sqrt(weights[start:stop])
                left = right * scale.astype(self._dtype)[:, None]
                right = right if signed else left
            product: NDArray[Any] = left.T @ right  # half the work if both are one array
            return product

        gram = self._sum_over_rows(term, (len(self.landmarks),) * 2)
        if self.single:
            gram = self.inverse_root @ gram @ self.inverse_root.T
        return (gram + gram.T) / 2

    def take(self, index: NDArray[np.intp]) -> FloatArray:
        """Return selected rows as a dense array (len(index), m)."""
        kernel = gaussian_kernel(self.cloud.coordinates[index], self.landmarks)
        return kernel @ self.inverse_root.T

    def _solve(self, V: FloatArray, *, transposed: bool = False) -> FloatArray:
        """Compute R⁻¹ V or R⁻ᵀ V by substitution.

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

    def _map_spans(self, function: Callable[[int, int], Result]) -> list[Result]:
        """Call a function for spans of rows, whose number of chunks depends on n only."""
        n, m = self.shape
        rows = -(-n // (_SPANS * BLOCK_ROWS)) * BLOCK_ROWS
        return map_chunks(function, n, rows, n_threads=worthwhile_threads(n * m))

    def _kernels(self, first: int, last: int) -> Iterator[tuple[NDArray[Any], int, int]]:
        """Yield K(X[start:stop], P) for the row chunks of a span; each is valid until the next."""
        n, m = self.shape
        kept = self._kept
        buffer = np.empty((min(BLOCK_ROWS, n), m), self._dtype) if kept is None else kept[:0]
        for start in range(first, last, BLOCK_ROWS):
            stop = min(start + BLOCK_ROWS, last)
            kernel = buffer[: stop - start] if kept is None else kept[start:stop]
            if start not in self._known:
                gaussian_kernel(
                    self.cloud.coordinates[start:stop],
                    self.landmarks,
                    cancel=self.cloud.squared_radius <= GEMM_RADIUS_SQUARED[self._dtype],
                    out=kernel,
                )
            if kept is not None:
                self._known.add(start)
            yield kernel, start, stop

    def _sum_over_rows(
        self, term: Callable[[NDArray[Any], int, int], NDArray[Any]], shape: tuple[int, ...]
    ) -> FloatArray:
        """Sum `term` over row chunks in float64, in an order that depends on n only."""

        def span(first: int, last: int) -> FloatArray:
            total = np.zeros(shape)
            for kernel, start, stop in self._kernels(first, last):
                total += term(kernel, start, stop)
            return total

        total: FloatArray = np.sum(self._map_spans(span), axis=0)
        return total
