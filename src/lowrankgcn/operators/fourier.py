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

import math
from dataclasses import dataclass
from functools import partial
from typing import Any, final

import numpy as np
from numpy.typing import DTypeLike, NDArray

from lowrankgcn._validation import invalid
from lowrankgcn.operators.base import FloatArray, SymmetricOperator
from lowrankgcn.operators.factors import Factor, scale_rows
from lowrankgcn.operators.gaussian import PointCloud
from lowrankgcn.operators.modes import ModeGram, ModeGrid, PlannedPoints


@final
@dataclass(frozen=True, eq=False)
class GaussianFourier(SymmetricOperator):
    """Products with K by FINUFFT, O(n log(1/ε)^d + N log N) for N modes and two vectors."""

    cloud: PointCloud
    eps: float
    points: PlannedPoints

    @classmethod
    def from_cloud(cls, cloud: PointCloud, *, eps: float) -> GaussianFourier:
        """Create the operator with a grid for the kernel error `eps`."""
        low, high = cloud.corners
        return cls(cloud, eps, ModeGrid.for_box(low, high, eps).plan(cloud.coordinates))

    def __reduce__(self) -> tuple[Any, ...]:
        # Plans are stored in FINUFFT's memory and cannot be copied.
        return partial(GaussianFourier.from_cloud, eps=self.eps), (self.cloud,)

    @property
    def grid(self) -> ModeGrid:
        """The Fourier modes."""
        return self.points.grid

    @property
    def n(self) -> int:
        """Number of points."""
        return self.cloud.n

    def _apply(self, X: FloatArray) -> FloatArray:
        product = np.empty(X.shape)
        for j in range(0, X.shape[1], 2):  # two columns are one transform
            sums = self.points.spread(X[:, j : j + 2])
            sums *= self.grid.coefficients[:, None]
            product[:, j : j + 2] = self.points.gather(sums)
        return product

    def diagonal(self) -> FloatArray:
        """Return the diagonal, shape (n,): all ones, up to the error `eps`."""
        return np.ones(self.n)


@final
@dataclass(frozen=True, eq=False)
class FourierFactor(Factor):
    """The tall factor F_ik = √c_k cas(ω_k·u_i) of the kernel K ≈ F Fᵀ.

    Notes
    -----
    Products are transforms by FINUFFT with the error `eps` of the grid; rows are evaluated exactly.

    Examples
    --------
    >>> u = np.array([[0.0], [1.0]])
    >>> F = FourierFactor(ModeGrid.for_box(np.zeros(1), np.ones(1), 1e-9), u)
    >>> (F.to_dense() @ F.to_dense().T).round(6)
    array([[1.      , 0.367879],
           [0.367879, 1.      ]])
    """

    grid: ModeGrid
    coordinates: FloatArray  # (n, d)

    @property
    def shape(self) -> tuple[int, int]:
        """The pair (n, N)."""
        return len(self.coordinates), self.grid.size

    def matmul(self, V: FloatArray, *, dtype: DTypeLike = np.float64) -> NDArray[Any]:
        """Compute F V for V of shape (N,) or (N, k)."""
        if not len(self.coordinates):
            return np.zeros((0, *V.shape[1:]), dtype)
        product = self.grid.plan(self.coordinates).gather(scale_rows(V, self._root))
        return product.astype(dtype, copy=False)

    def transpose_product(self, X: NDArray[Any], scale: FloatArray | None = None) -> FloatArray:
        """Compute Fᵀ diag(scale) X for X (n,) or (n, k); float32 stays in single precision."""
        if len(X) != len(self.coordinates):
            raise invalid("block", f"{len(self.coordinates)} rows", len(X))
        plan = self.grid.plan(self.coordinates)
        if X.dtype == np.float32:
            plan = plan.replan(eps=plan.eps, single=True)
        return scale_rows(plan.spread(X, scale), self._root)

    def gram(self, weights: FloatArray | None = None) -> FloatArray:
        """Compute Fᵀ diag(weights) F, shape (N, N), for few modes; see also `ModeGram`."""
        ones = np.ones(len(self.coordinates)) if weights is None else weights
        symbols = self.grid.doubled.plan(self.coordinates).spread(ones[:, None])
        gram = ModeGram.from_symbols(self.grid, symbols).products(np.eye(self.grid.size))[0]
        symmetric: FloatArray = (gram + gram.T) / 2
        return symmetric

    def take(self, index: NDArray[np.intp]) -> FloatArray:
        """Return selected rows as a dense array (len(index), N)."""
        angles = (self.coordinates[index] - self.grid.middle) * (2 * math.pi / self.grid.period)
        waves = np.ones((len(angles), 1), np.complex128)
        for angle, M in zip(angles.T, self.grid.half, strict=True):
            line = np.exp(1j * angle[:, None] * np.arange(-M, M + 1))
            size = waves.shape[1] * line.shape[1]
            waves = (waves[:, :, None] * line[:, None, :]).reshape(len(angles), size)
        return self._root * (waves.real + waves.imag)

    @property
    def _root(self) -> FloatArray:
        root: FloatArray = np.sqrt(self.grid.coefficients)
        return root
