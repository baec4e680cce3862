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

from dataclasses import dataclass
from functools import partial
from typing import Any, final

import numpy as np

from lowrankgcn.operators.base import FloatArray, SymmetricOperator
from lowrankgcn.operators.gaussian import PointCloud
from lowrankgcn.operators.modes import ModeGrid, PlannedPoints, fourier_modes

__all__ = ["GaussianFourier", "fourier_modes"]


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
