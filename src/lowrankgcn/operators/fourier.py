"""Gaussian sums by the non-equispaced fast Fourier transform (Alfke et al. 2018), with FINUFFT.

On a large enough box exp(−‖u‖²) equals its Fourier series with coefficients given by the Gaussian's
transform. So K x is a type-1 transform of x, a scaling, and a type-2 transform:

>>> import numpy as np
>>> from lowrankgcn.operators.gaussian import GaussianBlocks, PointCloud
>>> cloud = PointCloud.from_points(np.random.default_rng(0).normal(size=(300, 2)), bandwidth=1.0)
>>> x = np.ones(300)
>>> fast, exact = GaussianFourier.from_cloud(cloud, eps=1e-8) @ x, GaussianBlocks(cloud) @ x
>>> bool(np.abs(fast - 1 - exact).max() < 1e-6)
True
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from lowrankgcn.operators.base import FloatArray, SymmetricOperator
from lowrankgcn.operators.factors import scale_rows
from lowrankgcn.operators.gaussian import PointCloud
from lowrankgcn.operators.modes import ModeGrid, PlannedPoints


@final
@dataclass(frozen=True, eq=False)
class GaussianFourier(SymmetricOperator):
    """Products with K by FINUFFT, O(n log(1/ε)^d + N log N) for N modes and two vectors."""

    points: PlannedPoints

    @classmethod
    def from_cloud(cls, cloud: PointCloud, *, eps: float) -> GaussianFourier:
        """Create the operator with a grid for the kernel error `eps`."""
        low, high = cloud.corners
        return cls(ModeGrid.for_box(low, high, eps).plan(cloud.coordinates))

    @property
    def grid(self) -> ModeGrid:
        """The Fourier modes."""
        return self.points.grid

    @property
    def n(self) -> int:
        """Number of points."""
        return self.points.n

    def _apply(self, X: FloatArray) -> FloatArray:
        product = np.empty(X.shape)
        for j in range(0, X.shape[1], 2):  # two columns are one transform
            sums = self.points.spread(X[:, j : j + 2])
            sums *= self.grid.coefficients[:, None]
            product[:, j : j + 2] = self.points.gather(sums)
        return product

    def diagonal(self) -> FloatArray:
        """Return the diagonal, shape (n,): all ones, up to the error of the grid."""
        return np.ones(self.n)


@final
@dataclass(frozen=True, eq=False)
class FourierFactor:
    """The tall factor F_ik = s_i √c_k cas(ω_k·u_i): the kernel is K ≈ F Fᵀ without the scale s.

    Products are transforms by FINUFFT with the error `eps` of the grid.

    Examples
    --------
    >>> u = np.array([[0.0], [1.0]])
    >>> F = FourierFactor(ModeGrid.for_box(np.zeros(1), np.ones(1), 1e-9), u)
    >>> (F @ F.transpose_product(np.eye(2))).round(6)
    array([[1.      , 0.367879],
           [0.367879, 1.      ]])
    """

    grid: ModeGrid
    coordinates: FloatArray  # (n, d)
    scale: FloatArray | None = None  # (n,)

    @property
    def shape(self) -> tuple[int, int]:
        """The pair (n, N)."""
        return len(self.coordinates), self.grid.size

    def __matmul__(self, V: FloatArray) -> FloatArray:
        """Compute F V for V of shape (N,) or (N, k)."""
        if not len(self.coordinates):
            return np.zeros((0, *V.shape[1:]))
        product = self.grid.plan(self.coordinates).gather(scale_rows(V, self._root))
        return scale_rows(product, self.scale)

    def transpose_product(self, X: NDArray[Any]) -> FloatArray:
        """Compute Fᵀ X for X (n,) or (n, k); float32 stays in single precision."""
        plan = self.grid.plan(self.coordinates)
        if X.dtype == np.float32:
            plan = plan.replan(eps=plan.eps, single=True)
        return scale_rows(plan.spread(X, self.scale), self._root)

    @property
    def _root(self) -> FloatArray:
        return np.asarray(np.sqrt(self.grid.coefficients))
