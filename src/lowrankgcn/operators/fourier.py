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

import finufft
import numpy as np
from numpy.typing import NDArray

from lowrankgcn._parallel import chunks, map_chunks
from lowrankgcn.operators.base import FloatArray, SymmetricOperator
from lowrankgcn.operators.gaussian import PointCloud

__all__ = ["GaussianFourier", "fourier_modes"]


def fourier_modes(extent: FloatArray, eps: float) -> tuple[FloatArray, FloatArray]:
    """Period P and half-width M per dimension, for an error of order `eps` of the kernel.

    P = extent + √ln(1/ε) keeps the periodic images ε small, modes −M…M with M = P/π·√ln(1/ε) reach
    to where the Gaussian's transform exp(−(πk/P)²) is ε small. M is whole but a float, as narrow
    kernels ask for more modes than an integer can count.
    """
    reach = math.sqrt(math.log(1 / eps))
    period = extent + reach
    return period, np.ceil(period / math.pi * reach)


@final
@dataclass(frozen=True, eq=False)
class GaussianFourier(SymmetricOperator):
    """Products with K by FINUFFT: O(n log(1/ε)^d + modes·log(modes)) per pair of vectors."""

    cloud: PointCloud
    eps: float
    coefficients: FloatArray  # transform of the Gaussian on the grid of modes
    forward: tuple[Any, ...]  # finufft.Plan of type 1 for every span of points
    backward: tuple[Any, ...]  # finufft.Plan of type 2

    @classmethod
    def from_cloud(cls, cloud: PointCloud, *, eps: float) -> GaussianFourier:
        """Size the grid from the kernel and plan both transforms."""
        period, half = fourier_modes(cloud.extent, eps)
        coefficients = np.ones(())
        for P, M in zip(period, half, strict=True):
            k = np.arange(-M, M + 1)
            line = math.sqrt(math.pi) / P * np.exp(-((math.pi * k / P) ** 2))
            coefficients = np.multiply.outer(coefficients, line)
        middle = (cloud.coordinates.max(axis=0) + cloud.coordinates.min(axis=0)) / 2
        angles = [
            np.ascontiguousarray((cloud.coordinates[:, j] - middle[j]) * (2 * math.pi / period[j]))
            for j in range(cloud.dimension)
        ]
        modes = tuple(int(2 * M + 1) for M in half)
        # FINUFFT's own threads add in any order. One thread per plan and a number of plans that
        # does not depend on the number of threads give the same bits every time.
        options = {"eps": max(eps, 1e-14), "dtype": "complex128", "nthreads": 1}
        forward: list[Any] = []
        backward: list[Any] = []
        for start, stop in chunks(cloud.n, _points_per_plan(cloud.n, coefficients.size)):
            for plans, kind, sign in ((forward, 1, -1), (backward, 2, 1)):
                plans.append(finufft.Plan(kind, modes, isign=sign, **options))
                plans[-1].setpts(*(angle[start:stop] for angle in angles))
        return cls(cloud, eps, coefficients, tuple(forward), tuple(backward))

    def __reduce__(self) -> tuple[Any, ...]:
        # Plans live in FINUFFT's memory: a copy or another process makes its own.
        return partial(GaussianFourier.from_cloud, eps=self.eps), (self.cloud,)

    @property
    def n(self) -> int:
        """Number of points."""
        return self.cloud.n

    def _apply(self, X: FloatArray) -> FloatArray:
        product = np.empty((self.n, X.shape[1]))
        packed = np.zeros(self.n, np.complex128)
        # K is real, so two real vectors travel as one complex vector.
        for column in range(0, X.shape[1], 2):
            pair = X[:, column : column + 2]
            packed.real = pair[:, 0]
            packed.imag = pair[:, 1] if pair.shape[1] == 2 else 0.0
            result = self._multiply(packed)
            product[:, column] = result.real
            if pair.shape[1] == 2:
                product[:, column + 1] = result.imag
        return product

    def _multiply(self, x: NDArray[np.complex128]) -> NDArray[np.complex128]:
        """K x for a complex vector."""
        span = _points_per_plan(self.n, self.coefficients.size)
        spectrum = np.sum(
            map_chunks(
                lambda start, stop: self.forward[start // span].execute(x[start:stop]), self.n, span
            ),
            axis=0,
        )
        spectrum *= self.coefficients
        return np.concatenate(
            map_chunks(
                lambda start, _: self.backward[start // span].execute(spectrum), self.n, span
            )
        )

    def diagonal(self) -> FloatArray:
        """Diagonal, shape (n,): all ones, up to the error `eps`."""
        return np.ones(self.n)


def _points_per_plan(n: int, modes: int) -> int:
    """At most eight plans, and none whose grid is more work than its points."""
    return max(-(-n // 8), 4 * modes, 2**14)
