"""Cross-affinities: normalised weights between new rows and the nodes of a graph.

Here are those of a Gaussian kernel, through landmarks or all points. ``sparse_cross`` has those of
nearest neighbours, of common hyperedges, and of given weights.

>>> import numpy as np
>>> import lowrankgcn as lg
>>> from lowrankgcn.spectral.extension import cross_affinity
>>> points = np.random.default_rng(0).normal(size=(3000, 2))
>>> L = lg.Laplacian(lg.GaussianGraph(points, bandwidth=2.0), tol=1e-3)
>>> cross = cross_affinity(L)
>>> type(cross).__name__, cross.product(np.zeros((4, 2)), np.ones((cross.n_columns, 1))).shape
('LandmarkCross', (4, 1))
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any, ClassVar, final

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lowrankgcn._codec import NOT_SAVED, saved
from lowrankgcn._parallel import (
    chunks,
    map_chunks,
    single_threaded_blas,
    single_threaded_blas_if_small,
    worthwhile_threads,
)
from lowrankgcn._validation import finite_array, invalid
from lowrankgcn.operators import Factor, FloatArray, MatrixFactor, ScaledFactor
from lowrankgcn.operators.gaussian_sums import GEMM_RADIUS_SQUARED, PointCloud, gaussian_kernel
from lowrankgcn.operators.landmarks import LandmarkFactor

_BLOCK_ROWS = 64
_TILE_COLUMNS = 8192
_MISFIT_SAMPLE = 1000

# Chosen by measurement with tol = 1e-3, where the worst direct weights fail from about here on;
# the bound is more pessimistic with smaller tolerances and in more dimensions.
_UNTRUSTED = 300.0


@dataclass(frozen=True, eq=False, kw_only=True)
class CrossAffinity(ABC):
    r"""Normalised weights between new rows and the n fitted nodes.

    With weights w(x, i), degree d(x) = Σ w(x, i) and loop s(x) of a new row x,

    .. math:: \tilde w(x, i) = \frac{w(x, i)}{\sqrt{(d(x) + s(x)) (d_i + s_i)}}
              \left(1 - \frac{s(x)}{d(x) + s(x)}\right)^{-1} = a(x)^T C^T e_i

    continues the rows of I − 𝓛 = (D+S)^{-1/2} (W+S) (D+S)^{-1/2} (section A2.4). The last factor
    distributes the loop of the new row, which is not a fitted node, to its neighbours. This is
    exact for the eigenvalue zero and an approximation for others. The m entries of a(x) depend on x
    alone; C (n×m) belongs to the fitted graph. Vectors over the nodes are compressed to m rows
    once; afterwards neither C nor the graph is needed.

    Attributes
    ----------
    least_divisor : float
        Eigenvectors are extended by the factor 1/(1−λ), or by less if abs(1−λ) is below this.
    loop_weight : float
        s(x), in addition to the loops of a hypergraph itself.
    columns : Factor or None
        C. It is not saved: None for a cross-affinity read from a file.

    Examples
    --------
    >>> import numpy as np
    >>> import lowrankgcn as lg
    >>> from lowrankgcn.spectral.extension import cross_affinity
    >>> points = np.array([[0.0], [1.0], [2.0]])
    >>> laplacian = lg.Laplacian(lg.GaussianGraph(points, bandwidth=1.0))
    >>> cross = cross_affinity(laplacian)
    >>> cross.n_columns
    3
    >>> cross.product([[0.5]], cross.compress(np.sqrt(laplacian.degrees)[:, None])).shape
    (1, 1)
    """

    # New points have other weights than fitted ones, and 1/(1−λ) amplifies the difference.
    least_divisor: ClassVar[float] = 0.1

    loop_weight: float
    columns: Factor | None = field(default=None, repr=False, metadata=NOT_SAVED)

    @property
    @abstractmethod
    def n_columns(self) -> int:
        """Number m of columns of C: hyperedges, landmarks or nodes."""

    @abstractmethod
    def product(self, X: Any, Q: FloatArray) -> FloatArray:
        """Return a(x) Q for all rows x of X, shape (q, c), without storing all a(x).

        Parameters
        ----------
        X : table, points, incidence rows or weights
            q rows like those the graph was built from. The product is zero for rows without
            affinity to any fitted node.
        Q : (m, c) array
            Result of :meth:`compress`.

        Notes
        -----
        The result for a row is independent of the other rows, to rounding.
        """

    def compress(self, G: NDArray[Any]) -> FloatArray:
        """Return Cᵀ G, shape (m, c), for G of shape (n, c) in single or double precision.

        Raises
        ------
        ValueError
            If C was not saved.
        """
        if self.columns is None:
            raise invalid("compress", "a cross-affinity of a fitted graph", "a restored one")
        return self.columns.transpose_product(G)


def normalised(rows: FloatArray, degrees: FloatArray, loop_weight: float) -> FloatArray:
    """Turn weights w(x, ·), or products with them, into a(x): times √(d(x) + s(x)) / d(x).

    Rows of degree zero become zero. Dividing first keeps weights below one even if the degree is
    tiny.

    >>> normalised(np.array([[0.25], [0.0]]), np.array([0.25, 0.0]), 2.0)
    array([[1.5],
           [0. ]])
    """
    joined = degrees > 0
    result = rows / np.where(joined, degrees, 1.0)[:, None]
    result *= np.where(joined, np.sqrt(degrees + loop_weight), 0.0)[:, None]
    return result


def node_scale(degrees: FloatArray) -> FloatArray:
    """Return T = (D + S)^{-1/2}, shape (n,); 0 for nodes with neither edge nor loop.

    >>> node_scale(np.array([4.0, 0.0]))
    array([0.5, 0. ])
    """
    scale = np.zeros(len(degrees))
    np.divide(1.0, np.sqrt(degrees), out=scale, where=degrees > 0)
    return scale


def diagonal_factor(degrees: FloatArray) -> MatrixFactor:
    """Return C = T as a sparse factor, for cross-affinities with one column per node."""
    return MatrixFactor(sp.csr_array(sp.diags_array(node_scale(degrees))))


@dataclass(frozen=True, eq=False, kw_only=True)
class GaussianCross(CrossAffinity):
    """Points joined to fitted points by Gaussian weights."""

    centre: Annotated[FloatArray, "D"]
    bandwidth: float

    @abstractmethod
    def _block(self, U: FloatArray, Q: FloatArray) -> FloatArray:
        """Return a(x) Q for few rows, in units of the bandwidth."""

    def product(self, X: Any, Q: FloatArray) -> FloatArray:
        """Return a(x) Q for all rows x of X, shape (q, c)."""
        points = finite_array(X, "X", ndim=2)
        if points.shape[1] != len(self.centre):
            raise invalid("X", f"{len(self.centre)} columns", points.shape[1])
        with np.errstate(over="ignore"):
            U = (points - self.centre) / self.bandwidth
        # Squares overflow beyond 1e150 bandwidths; weights are zero at such distances.
        U = np.clip(U, -1e150, 1e150)
        result = np.empty((len(U), Q.shape[1]))

        def evaluate(start: int, stop: int) -> None:
            result[start:stop] = self._block(U[start:stop], Q)

        with single_threaded_blas():
            threads = worthwhile_threads(len(U) * Q.size)
            map_chunks(evaluate, len(U), _BLOCK_ROWS, n_threads=threads)
        return result


@saved
@final
@dataclass(frozen=True, eq=False, kw_only=True)
class LandmarkCross(GaussianCross):
    """Points, joined to the fitted points through m landmarks; its size does not depend on n.

    The kernel of the fitted points is F Fᵀ with F = K(X, P) R⁻ᵀ and K(P, P) = R Rᵀ
    (:mod:`lowrankgcn.operators.landmarks`). A new point has the row f(x) = K(x, P) R⁻ᵀ, weights
    F f(x) and degree d(x) = f(x)ᵀ Fᵀ1; C = T F.

    The landmarks are fitted points, so the degree is at least Σ_p K(x, p), which replaces d(x) if
    that is smaller. The error of a weight is at most √(1 − ‖f(x)‖²) √(1 − ‖F_i‖²) (Cauchy–Schwarz
    for the positive semidefinite remainder of the kernel). Far from all points, where the sum of
    these bounds exceeds 300 d(x), weights could have any sign: there x gets the mixture
    Σ_p K(x, p) K(p, ·) of the weights of the landmarks, scaled to the degree of x.

    Notes
    -----
    O(q m (d + m)) time, O(m²) memory.

    Measured on three clouds each of 5000 normal points, against eigenvectors extended by exact
    weights: three standard deviations from the mean in the plane they differ by at most 3e-3
    (tol = 1e-3) or 2e-6 (tol = 1e-6), at five by at most 0.3 or 2e-3. Where the mixture replaces
    direct weights, it bounds the worst case rather than improving the typical one: relative
    differences of 0.5 to 1, mostly because it is too small, with the right direction in two and
    three dimensions (cosine above 0.5) but hardly in ten (0.3). Direct weights are off by up to 8
    with tol = 1e-3, also in sign; with tol = 1e-6 or in ten dimensions most of them are still right
    to a tenth there. Use another `method` if rows far outside of the fitted points matter.
    """

    landmarks: Annotated[FloatArray, "M D"]  # in units of the bandwidth
    inverse_root: Annotated[FloatArray, "M M"]  # R⁻¹, lower triangular
    column_sums: Annotated[FloatArray, "M"]  # Fᵀ1
    misfit: float  # Σ √(1 − ‖F_i‖²) over the fitted points

    @classmethod
    def from_factor(
        cls, cloud: PointCloud, factor: LandmarkFactor, degrees: FloatArray, loop_weight: float
    ) -> LandmarkCross:
        """Build the cross-affinity of a Gaussian graph that is summed through landmarks."""
        n = factor.shape[0]
        with single_threaded_blas_if_small(n):
            column_sums = factor.transpose_product(np.ones(n))
        return cls(
            loop_weight=loop_weight,
            columns=ScaledFactor(factor, node_scale(degrees)),
            centre=cloud.centre,
            bandwidth=cloud.bandwidth,
            landmarks=np.ascontiguousarray(factor.landmarks),
            inverse_root=np.ascontiguousarray(factor.inverse_root),
            column_sums=column_sums,
            misfit=_misfit(factor),
        )

    def __post_init__(self) -> None:
        if np.triu(self.inverse_root, 1).any() or self.inverse_root.diagonal().min() <= 0:
            raise invalid("inverse_root", "a lower triangle with diagonal > 0", "another matrix")

    @property
    def n_columns(self) -> int:
        """Number of landmarks."""
        return len(self.landmarks)

    def _block(self, U: FloatArray, Q: FloatArray) -> FloatArray:
        kernel = gaussian_kernel(U, self.landmarks)
        rows = kernel @ self.inverse_root.T
        degrees = np.maximum(rows @ self.column_sums, kernel.sum(axis=1))
        rest = np.maximum(1.0 - (rows * rows).sum(axis=1), 0.0)
        far = np.sqrt(rest) * self.misfit > _UNTRUSTED * degrees
        if far.any():
            mixture = kernel[far] @ self._landmark_rows
            total = mixture @ self.column_sums
            rows[far] = mixture * (degrees[far] / np.where(total > 0, total, 1.0))[:, None]
        return normalised(rows, degrees, self.loop_weight) @ Q

    @cached_property
    def _landmark_rows(self) -> FloatArray:
        """The rows f(p) of the landmarks, shape (m, m)."""
        return np.asarray(gaussian_kernel(self.landmarks, self.landmarks) @ self.inverse_root.T)


@saved
@final
@dataclass(frozen=True, eq=False, kw_only=True)
class PointCross(GaussianCross):
    """Points, joined to all fitted points by exact weights w(x, i) = exp(−‖x − x_i‖²/bandwidth²).

    C = T is diagonal.

    Notes
    -----
    O(q n (d + c)) time and O(q c) memory for products; stores all n points.
    """

    coordinates: Annotated[FloatArray, "N D"]  # in units of the bandwidth

    @property
    def n_columns(self) -> int:
        """Number of fitted points."""
        return len(self.coordinates)

    def _block(self, U: FloatArray, Q: FloatArray) -> FloatArray:
        radius = max(self._squared_radius, float(np.einsum("ij,ij->i", U, U).max()))
        cancel = radius <= GEMM_RADIUS_SQUARED[np.float64]
        degrees = np.zeros(len(U))
        total = np.zeros((len(U), Q.shape[1]))
        for left, right in chunks(self.n_columns, _TILE_COLUMNS):
            tile = gaussian_kernel(U, self.coordinates[left:right], cancel=cancel)
            degrees += tile.sum(axis=1)
            total += tile @ Q[left:right]
        return normalised(total, degrees, self.loop_weight)

    @cached_property
    def _squared_radius(self) -> float:
        return float(np.einsum("ij,ij->i", self.coordinates, self.coordinates).max())


def _misfit(factor: LandmarkFactor) -> float:
    """Estimate the sum of √(1 − ‖F_i‖²) over all points from a sample of rows of F."""
    n = factor.shape[0]
    index = np.arange(n)
    if n > _MISFIT_SAMPLE:
        index = np.sort(np.random.default_rng(0).choice(n, _MISFIT_SAMPLE, replace=False))
    rows = factor.take(index)
    rest = np.maximum(1.0 - np.einsum("ij,ij->i", rows, rows), 0.0)
    return n * float(np.sqrt(rest).mean())
