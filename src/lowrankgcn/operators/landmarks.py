"""Low-rank Gaussian kernels by landmarks: K ≈ C S⁻¹ Cᵀ with C = K(X, P) and S = K(P, P).

With S = R Rᵀ the kernel is F Fᵀ for the tall factor F = C R⁻ᵀ. A Gaussian graph thus has the same
structure as a hypergraph whose hyperedges are landmarks. The landmarks P are pivots of a pivoted
Cholesky factorisation of a subsample's kernel, which stops when every point of the subsample is
represented up to a tolerance.

>>> import numpy as np
>>> from lowrankgcn.operators.gaussian_sums import PointCloud
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
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, final

import numpy as np
import scipy.linalg as la
from numpy.typing import NDArray

from lowrankgcn._parallel import map_chunks, worthwhile_threads
from lowrankgcn._validation import invalid
from lowrankgcn.operators.factors import BLOCK_ROWS, Factor, FloatArray, scale_rows, sum_over_rows
from lowrankgcn.operators.gaussian_sums import (
    GEMM_RADIUS_SQUARED,
    SINGLE_PRECISION_TOL,
    PointCloud,
    gaussian_kernel,
)

_SUBSAMPLE = 1000  # points among which greedy pivots are sought
_TRIED_POINTS = 6000  # up to this many points are all tried, as a subsample may miss a clump
_KEPT_BYTES = 2**29  # kernel values kept between passes; more are evaluated in every pass


def greedy_landmarks(
    cloud: PointCloud, *, tol: float, limit: int, random_state: int = 0
) -> FloatArray | None:
    """Choose landmarks by pivoted Cholesky on a subsample; None if `limit` do not suffice.

    In every step the worst represented point becomes a landmark, until the largest remaining
    diagonal entry 1 − c_i S⁻¹ c_iᵀ is at most `tol`. More than 6000 points are represented by a
    sample of 1000. Cost O(s m²) for s points and m landmarks.
    """
    points = cloud.coordinates
    if cloud.n > _TRIED_POINTS:
        rows = np.random.default_rng(random_state).choice(cloud.n, _SUBSAMPLE, replace=False)
        points = points[np.sort(rows)]
    coordinates = np.ascontiguousarray(points.T)
    factor = np.empty((min(limit, cloud.n), len(points)))  # transposed
    remaining = np.ones(len(points))
    pivots: list[int] = []
    while remaining[pivot := int(remaining.argmax())] > tol:
        step = len(pivots)
        if step == len(factor):
            return None
        offsets = coordinates - coordinates[:, pivot, None]
        with np.errstate(under="ignore"):
            column = np.exp(-np.einsum("ij,ij->j", offsets, offsets))
        column -= factor[:step, pivot] @ factor[:step]
        column /= np.sqrt(remaining[pivot])
        factor[step] = column
        remaining -= column**2
        remaining[pivot] = 0.0
        pivots.append(pivot)
    return points[pivots]


@final
@dataclass(frozen=True, eq=False)
class LandmarkFactor(Factor):
    """The tall factor F = K(X, P) R⁻ᵀ with K(P, P) = R Rᵀ.

    Attributes
    ----------
    cloud : PointCloud
        The points X.
    landmarks : (m, d) array
        P, in units of the bandwidth.
    root, inverse_root : (m, m) arrays
        R, lower triangular, and R⁻¹.
    dtype : type
        Precision of K(X, P) in products.
    kernel : (n, m) array or None
        K(X, P) if it takes at most 512 MB; otherwise products evaluate it in chunks of rows.

    Notes
    -----
    A pass over the points costs O(n m (d + k)) time and O(n k) memory.
    """

    cloud: PointCloud
    landmarks: FloatArray
    root: FloatArray
    inverse_root: FloatArray
    dtype: Any
    kernel: NDArray[Any] | None = field(default=None, repr=False)

    @classmethod
    def from_landmarks(
        cls, cloud: PointCloud, landmarks: FloatArray, *, tol: float = 0.0
    ) -> LandmarkFactor:
        """Factor the landmark kernel; kernel values are float32 if `tol` allows it."""
        between = gaussian_kernel(landmarks, landmarks)
        # Landmarks closer than rounding make S singular. Its null directions contribute nothing to
        # the kernel, and a multiple of the identity at rounding level suppresses them.
        between[np.diag_indices_from(between)] += 1e-14 * len(between)
        root = la.cholesky(between, lower=True)
        inverse = la.solve_triangular(root, np.eye(len(root)), lower=True)
        dtype = np.float32 if tol >= SINGLE_PRECISION_TOL else np.float64
        factor = cls(cloud, landmarks, root, inverse, dtype)
        if cloud.n * len(landmarks) * np.dtype(dtype).itemsize > _KEPT_BYTES:
            return factor
        kernel = np.empty(factor.shape, dtype)

        def evaluate(start: int, stop: int) -> None:
            kernel[start:stop] = factor._kernel_rows(start, stop)

        map_chunks(evaluate, cloud.n, BLOCK_ROWS, n_threads=factor._n_threads)
        return replace(factor, kernel=kernel)

    @property
    def shape(self) -> tuple[int, int]:
        """The pair (n, m)."""
        return self.cloud.n, len(self.landmarks)

    @property
    def _n_threads(self) -> int:
        return worthwhile_threads(math.prod(self.shape))

    def _kernel_rows(self, start: int, stop: int) -> NDArray[Any]:
        """Return K(X[start:stop], P)."""
        if self.kernel is not None:
            return self.kernel[start:stop]
        points, radius = self.cloud.coordinates[start:stop], self.cloud.squared_radius
        cancel = radius <= GEMM_RADIUS_SQUARED[self.dtype]
        return gaussian_kernel(points, self.landmarks, dtype=self.dtype, cancel=cancel)

    def matmul(self, V: FloatArray, *, out: NDArray[Any] | None = None) -> NDArray[Any]:
        """Compute F V."""
        inner = self._solve(V, transposed=True).astype(self.dtype)
        product = np.empty((self.cloud.n, *V.shape[1:])) if out is None else out

        def multiply(start: int, stop: int) -> None:
            product[start:stop] = self._kernel_rows(start, stop) @ inner

        map_chunks(multiply, self.cloud.n, BLOCK_ROWS, n_threads=self._n_threads)
        return product

    def transpose_product(self, X: NDArray[Any], scale: FloatArray | None = None) -> FloatArray:
        """Compute Fᵀ diag(scale) X for X of shape (n,) or (n, k)."""
        if len(X) != self.cloud.n:  # chunks would ignore further rows
            raise invalid("block", f"{self.cloud.n} rows", len(X))

        def term(start: int, stop: int) -> NDArray[Any]:
            part = scale_rows(X[start:stop], None if scale is None else scale[start:stop])
            return np.asarray(self._kernel_rows(start, stop).T @ part.astype(self.dtype))

        return self._solve(self._sum(term))

    def gram(self, scale: FloatArray | None = None) -> FloatArray:
        """Compute Fᵀ diag(scale)² F, shape (m, m)."""
        single = self.dtype == np.float32

        def term(start: int, stop: int) -> NDArray[Any]:
            rows = self._kernel_rows(start, stop)
            if not single:  # tight pivots make R⁻¹ large: after the sum it would amplify rounding
                rows = rows @ self.inverse_root.T
            if scale is not None:
                rows = rows * scale[start:stop, None].astype(self.dtype)
            return np.asarray(rows.T @ rows)

        gram = self._sum(term)
        if single:
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

    def _sum(self, term: Callable[[int, int], NDArray[Any]]) -> FloatArray:
        return sum_over_rows(term, self.cloud.n, BLOCK_ROWS, n_threads=self._n_threads)
