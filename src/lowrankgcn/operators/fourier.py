"""Gaussian sums by the non-equispaced fast Fourier transform (Alfke et al. 2018), with FINUFFT.

On a large enough box exp(−‖u‖²) equals its Fourier series with coefficients given by the Gaussian's
transform. So K x is a type-1 transform of x, a scaling, and a type-2 transform:

>>> import numpy as np
>>> from lowrankgcn.operators.gaussian_sums import GaussianBlocks, PointCloud
>>> cloud = PointCloud.from_points(np.random.default_rng(0).normal(size=(300, 2)), bandwidth=1.0)
>>> x = np.ones(300)
>>> fast, exact = GaussianFourier.from_cloud(cloud, eps=1e-8) @ x, GaussianBlocks(cloud) @ x
>>> bool(np.abs(fast - 1 - exact).max() < 1e-6)
True
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import reduce
from typing import Any, final

import finufft
import numpy as np
from numpy.typing import NDArray

from lowrankgcn._parallel import map_chunks
from lowrankgcn.operators.gaussian_sums import PointCloud
from lowrankgcn.operators.symmetric_operator import FloatArray, SymmetricOperator

# Measured with FINUFFT 2: plans of fewer points, or more plans, cost more than they save.
_SPANS = 8
_FEW_POINTS = 2**14
_SINGLE_MODES = 1e5  # modes per dimension, times eps, up to which single precision suffices


def fourier_modes(extent: FloatArray, eps: float) -> tuple[FloatArray, FloatArray]:
    """Return period P and half-width M per dimension, for a kernel error of order `eps`.

    P = extent + √ln(1/ε) keeps the periodic images below ε. The modes −M…M with M = P/π·√ln(1/ε)
    extend to where the Gaussian's transform exp(−(πk/P)²) is below ε. M is a whole float, because
    narrow kernels need more modes than an integer can count.
    """
    reach = math.sqrt(math.log(1 / eps))
    period = extent + reach
    return period, np.ceil(period / math.pi * reach)


def number_of_modes(extent: FloatArray, eps: float) -> float:
    """Return the number of modes for points in a box, in all dimensions together."""
    _, half = fourier_modes(extent, eps)
    return float(math.prod((2 * half + 1).tolist()))


@final
@dataclass(frozen=True, eq=False)
class GaussianFourier(SymmetricOperator):
    """Products with K by FINUFFT, O(n log(1/ε)^d + N log N) for N modes and two vectors.

    Attributes
    ----------
    angles : (d, n) array
        Coordinates in units in which the waves have the period 2π.
    coefficients : array of d dimensions
        The Gaussian's transform at the N modes.
    eps : float
        Error of the kernel and of the transforms.
    """

    angles: NDArray[Any]
    coefficients: NDArray[Any]
    eps: float

    @classmethod
    def from_cloud(cls, cloud: PointCloud, *, eps: float) -> GaussianFourier:
        """Create the operator with modes for the kernel error `eps`."""
        low, high = cloud.corners
        period, half = fourier_modes(high - low, eps)
        lines = [
            math.sqrt(math.pi) / P * np.exp(-((math.pi * np.arange(-M, M + 1) / P) ** 2))
            for P, M in zip(period, half, strict=True)
        ]
        angles = (cloud.coordinates - (low + high) / 2) * (2 * math.pi / period)
        # Single precision rounds the phases of the highest modes by about 1e-6 of their number.
        dtype = np.float32 if half.max() <= _SINGLE_MODES * eps else np.float64
        coefficients = reduce(np.multiply.outer, lines).astype(dtype)
        return cls(np.ascontiguousarray(angles.T, dtype), coefficients, eps)

    @property
    def n(self) -> int:
        """Number of points."""
        return int(self.angles.shape[1])

    def _apply(self, X: FloatArray) -> FloatArray:
        # FINUFFT's own threads add in arbitrary order. One thread per plan, and a number of plans
        # that does not depend on the number of threads, make results reproducible.
        span = max(-(-self.n // _SPANS), 4 * self.coefficients.size, _FEW_POINTS)
        plans = map_chunks(self._plans, self.n, span)
        packed = np.zeros(self.n, np.result_type(self.angles, np.complex64))
        product = np.empty(X.shape)

        def spread(start: int, stop: int) -> NDArray[Any]:
            sums: NDArray[Any] = plans[start // span][0].execute(packed[start:stop])
            return sums

        def gather(start: int, stop: int) -> None:
            packed[start:stop] = plans[start // span][1].execute(waves)

        # The kernel is real: two real vectors are transformed as one complex vector.
        for j in range(0, X.shape[1], 2):
            packed.real = X[:, j]
            packed.imag = X[:, j + 1] if j + 1 < X.shape[1] else 0.0
            waves = self.coefficients * sum(map_chunks(spread, self.n, span))
            map_chunks(gather, self.n, span)
            product[:, j] = packed.real
            product[:, j + 1 : j + 2] = packed.imag[:, None]
        return product

    def _plans(self, start: int, stop: int) -> list[Any]:
        """Return FINUFFT's plans of types 1 and 2 for some of the points."""
        # By default FINUFFT chooses upsampfac, and thereby the error, from the number of points.
        options: dict[str, Any] = {"nthreads": 1, "upsampfac": 2.0, "eps": max(self.eps, 1e-14)}
        options["dtype"] = np.result_type(self.angles, np.complex64).name
        shape = self.coefficients.shape
        plans = [finufft.Plan(kind, shape, isign=2 * kind - 3, **options) for kind in (1, 2)]
        for plan in plans:
            plan.setpts(*(line[start:stop] for line in self.angles))
        return plans

    def diagonal(self) -> FloatArray:
        """Return the diagonal, shape (n,): all ones, up to the error of the modes."""
        return np.ones(self.n)
