"""Gaussian sums by the non-equispaced fast Fourier transform (Alfke et al. 2018), with FINUFFT.

On a box wide enough, exp(−‖u‖²) equals its Fourier series with coefficients given by the Gaussian's
own transform, so K x is a type-1 transform of x, a scaling, and a type-2 transform:

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
from numpy.typing import NDArray

from lowrankgcn._parallel import chunks
from lowrankgcn._validation import invalid
from lowrankgcn.operators.base import FloatArray, SymmetricOperator
from lowrankgcn.operators.factors import Factor
from lowrankgcn.operators.gaussian import PointCloud
from lowrankgcn.operators.mode_gram import ModeGram
from lowrankgcn.operators.modes import ModeGrid, PlannedPoints, fourier_modes

__all__ = ["FourierFactor", "GaussianFourier", "fourier_modes"]

_ROWS = 1024  # of waves evaluated at once


@final
@dataclass(frozen=True, eq=False)
class GaussianFourier(SymmetricOperator):
    """Products with K by FINUFFT: O(n log(1/ε)^d + modes·log(modes)) per pair of vectors."""

    cloud: PointCloud
    eps: float
    points: PlannedPoints

    @classmethod
    def from_cloud(cls, cloud: PointCloud, *, eps: float) -> GaussianFourier:
        """Size the grid from the kernel."""
        low, high = cloud.corners
        return cls(cloud, eps, ModeGrid.for_box(low, high, eps).plan(cloud.coordinates))

    def __reduce__(self) -> tuple[Any, ...]:
        # Plans live in FINUFFT's memory: a copy or another process makes its own.
        return partial(GaussianFourier.from_cloud, eps=self.eps), (self.cloud,)

    @property
    def grid(self) -> ModeGrid:
        """The modes that products go through."""
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
        """Diagonal, shape (n,): all ones, up to the error `eps`."""
        return np.ones(self.n)


@final
@dataclass(frozen=True, eq=False)
class FourierFactor(Factor):
    """The tall factor F_ik = √c_k cas(ω_k·u_i) of the kernel K ≈ F Fᵀ, not stored.

    Notes
    -----
    Products are transforms by FINUFFT, accurate to the grid's `eps`; rows are evaluated directly.

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

    def __matmul__(self, V: Any) -> FloatArray:
        """F V for V of shape (N,) or (N, k)."""
        if not len(self.coordinates):
            return np.zeros((0, *V.shape[1:]))
        root = np.sqrt(self.grid.coefficients)
        return self.grid.gather(self.coordinates, V * (root if V.ndim == 1 else root[:, None]))

    def transpose_product(self, X: NDArray[Any], scale: FloatArray | None = None) -> FloatArray:
        """Fᵀ diag(scale) X for X of shape (n,) or (n, k); in the precision of X if it will do."""
        if len(X) != len(self.coordinates):
            raise invalid("block", f"{len(self.coordinates)} rows", len(X))
        plan = self.grid.plan(self.coordinates)
        if X.dtype == np.float32:
            plan = plan.replan(eps=plan.eps, single=True)
        sums = plan.spread(X, scale)
        root = np.sqrt(self.grid.coefficients)
        product: FloatArray = sums * (root if X.ndim == 1 else root[:, None])
        return product

    def gram(self, weights: FloatArray | None = None) -> FloatArray:
        """Fᵀ diag(weights) F, shape (N, N): for few modes; `ModeGram` multiplies without it."""
        ones = np.ones(len(self.coordinates)) if weights is None else weights
        symbols = self.grid.doubled.spread(self.coordinates, ones[:, None])
        gram = ModeGram.from_symbols(self.grid, symbols).products(np.eye(self.grid.size))[0]
        symmetric: FloatArray = (gram + gram.T) / 2
        return symmetric

    def row_squares(self, weights: FloatArray | None = None) -> FloatArray:
        """Diagonal of F diag(weights) Fᵀ, shape (n,)."""
        ones = np.ones(self.grid.size) if weights is None else weights
        squares = np.empty(len(self.coordinates))
        for start, stop in chunks(len(squares), _ROWS):
            squares[start:stop] = self.take(np.arange(start, stop)) ** 2 @ ones
        return squares

    def take(self, index: NDArray[np.intp]) -> FloatArray:
        """Selected rows as a dense array (len(index), N)."""
        angles = (self.coordinates[index] - self.grid.middle) * (2 * math.pi / self.grid.period)
        waves = np.ones((len(angles), 1), np.complex128)
        for angle, M in zip(angles.T, self.grid.half, strict=True):
            line = np.exp(1j * angle[:, None] * np.arange(-M, M + 1))
            size = waves.shape[1] * line.shape[1]
            waves = (waves[:, :, None] * line[:, None, :]).reshape(len(angles), size)
        rows: FloatArray = np.sqrt(self.grid.coefficients) * (waves.real + waves.imag)
        return rows
