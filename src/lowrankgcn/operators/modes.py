"""A grid of Fourier modes: sums over points become short arrays, and short arrays functions.

A Gaussian is a sum of real waves on a box: with cas θ = cos θ + sin θ and modes k = −M … M,

    exp(−‖u − v‖²) ≈ Σ_k c_k cas(ω_k·u) cas(ω_k·v),    c_k > 0,

so the kernel of n points is C diag(c) Cᵀ with C_ik = cas(ω_k·u_i) (n×N). Products with C and Cᵀ are
non-equispaced fast Fourier transforms (FINUFFT). What travels between blocks of points, or between
machines, are sums over points, arrays of N numbers.

>>> import numpy as np
>>> u = np.random.default_rng(0).normal(size=(300, 2))
>>> grid = ModeGrid.for_box(u.min(axis=0), u.max(axis=0), eps=1e-6)
>>> sums = grid.gather(u, grid.coefficients * grid.spread(u, np.ones(300)))
>>> exact = np.exp(-((u[:, None] - u) ** 2).sum(axis=2)).sum(axis=1)
>>> bool(np.abs(sums - exact).max() < 1e-4)
True
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, final

import finufft
import numpy as np
from numpy.typing import NDArray

from lowrankgcn._codec import saved
from lowrankgcn._parallel import map_chunks
from lowrankgcn._validation import expect_shape, invalid, positive_float
from lowrankgcn.operators.base import FloatArray

__all__ = ["ModeGrid", "PlannedPoints", "fourier_modes"]

_SPANS = 8
_KEPT_POINTS = 2**22  # whose plans are kept
_FEW_POINTS = 2**14
_SINGLE_ROUNDING = 4e-7  # of an angle


def fourier_modes(extent: FloatArray, eps: float) -> tuple[FloatArray, FloatArray]:
    """Period P and half-width M per dimension, for an error of order `eps` of the kernel.

    P = extent + √ln(1/ε) keeps the periodic images ε small, modes −M…M with M = P/π·√ln(1/ε) reach
    to where the Gaussian's transform exp(−(πk/P)²) is ε small. M is whole but a float, as narrow
    kernels ask for more modes than an integer can count.
    """
    reach = math.sqrt(math.log(1 / eps))
    period = extent + reach
    return period, np.ceil(period / math.pi * reach)


@saved
@final
@dataclass(frozen=True, eq=False)
class ModeGrid:
    """Modes −M … M in every dimension of a box, for points in units of the bandwidth.

    Attributes
    ----------
    middle : (d,) array
        Of the box.
    period : (d,) array
        Lengths after which the waves repeat.
    half : tuple of int
        M in every dimension; arrays over the modes are flat, the last dimension fastest.
    eps : float
        Error of the kernel, and of the transforms unless they are asked for more.
    """

    middle: FloatArray
    period: FloatArray
    half: tuple[int, ...]
    eps: float

    def __post_init__(self) -> None:
        for name in ("middle", "period"):
            expect_shape(getattr(self, name), name, len(self.half))
        if not self.half or min(self.half) < 0:
            raise invalid("half", "numbers of modes >= 0", self.half)
        if self.period.min() <= 0:
            raise invalid("period", "lengths > 0", self.period.tolist())
        positive_float(self.eps, "eps", below=1.0)

    @classmethod
    def for_box(cls, low: FloatArray, high: FloatArray, eps: float) -> ModeGrid:
        """The grid for points between two corners, shape (d,) each."""
        period, half = fourier_modes(high - low, eps)
        return cls((high + low) / 2, period, tuple(int(M) for M in half), eps)

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of modes 2M + 1 in every dimension."""
        return tuple(2 * M + 1 for M in self.half)

    @property
    def size(self) -> int:
        """Number N of modes."""
        return math.prod(self.shape)

    @property
    def doubled(self) -> ModeGrid:
        """Modes −2M … 2M, where the symbol of Cᵀ diag(w) C lives."""
        return ModeGrid(self.middle, self.period, tuple(2 * M for M in self.half), self.eps)

    @cached_property
    def coefficients(self) -> FloatArray:
        """The Gaussian's transform c, shape (N,)."""
        product = np.ones(())
        for P, M in zip(self.period, self.half, strict=True):
            k = np.arange(-M, M + 1)
            line = math.sqrt(math.pi) / P * np.exp(-((math.pi * k / P) ** 2))
            product = np.multiply.outer(product, line)
        return product.ravel()

    def plan(self, coordinates: FloatArray, *, eps: float | None = None) -> PlannedPoints:
        """The points (n, d) made ready for several transforms."""
        return PlannedPoints.prepare(self, coordinates, self.eps if eps is None else eps)

    def spread(
        self, coordinates: FloatArray, values: FloatArray, *, eps: float | None = None
    ) -> FloatArray:
        """Cᵀ x: sums Σ_i x_i cas(ω_k·u_i) over the points.

        Parameters
        ----------
        coordinates : (n, d) array
        values : (n,) or (n, k) array
        eps : float, optional
            Error of the transform relative to Σ|x_i|; that of the grid if omitted.

        Returns
        -------
        (N,) or (N, k) array
            Those of several blocks of points are added.

        Notes
        -----
        O(n log(1/ε)^d + N log N) for every two columns.

        Examples
        --------
        >>> grid = ModeGrid.for_box(np.zeros(1), np.ones(1), 1e-9)
        >>> bool(np.isclose(grid.spread(np.array([[0.5]]), np.array([3.0])), 3.0).all())
        True
        """
        return self.plan(coordinates, eps=eps).spread(values)

    def gather(
        self, coordinates: FloatArray, coefficients: FloatArray, *, eps: float | None = None
    ) -> FloatArray:
        """C a: values Σ_k a_k cas(ω_k·u_i) at the points, (n,) or (n, k) for a (N,) or (N, k)."""
        return self.plan(coordinates, eps=eps).gather(coefficients)


@final
@dataclass(frozen=True, eq=False)
class PlannedPoints:
    """Points with FINUFFT's plans for products with C and Cᵀ.

    FINUFFT's own threads add in any order. One thread per plan and a number of plans that does not
    depend on the number of threads give the same bits every time. Plans hold the points once more,
    and their order: those of very many points are made anew for every product.
    """

    grid: ModeGrid
    coordinates: FloatArray
    eps: float
    single: bool = False
    _plans: dict[tuple[int, int], Any] = field(default_factory=dict, repr=False)

    @classmethod
    def prepare(cls, grid: ModeGrid, coordinates: FloatArray, eps: float) -> PlannedPoints:
        """Points (n, d); plans are made when they are needed."""
        if coordinates.ndim != 2 or coordinates.shape[1] != len(grid.half):
            raise invalid("coordinates", f"{len(grid.half)} columns", coordinates.shape)
        return cls(grid, coordinates, max(eps, 1e-14))

    def replan(self, *, eps: float, doubled: bool = False, single: bool = False) -> PlannedPoints:
        """The same points for transforms of another accuracy, or with the doubled grid.

        With `single` in single precision, a third faster, if its rounding is below `eps`.
        """
        grid = self.grid.doubled if doubled else self.grid
        enough = eps >= 1e-5 and max(grid.half) * _SINGLE_ROUNDING <= eps
        return PlannedPoints(grid, self.coordinates, max(eps, 1e-14), single and enough)

    @property
    def n(self) -> int:
        """Number of points."""
        return len(self.coordinates)

    @property
    def span(self) -> int:
        """Points of a plan: at most eight plans, none whose grid is more work than its points."""
        return max(-(-self.n // _SPANS), 4 * self.grid.size, _FEW_POINTS)

    def __reduce__(self) -> tuple[Any, ...]:
        # Plans live in FINUFFT's memory: a copy or another process makes its own.
        return PlannedPoints, (self.grid, self.coordinates, self.eps, self.single)

    def spread(self, values: NDArray[Any], scale: FloatArray | None = None) -> FloatArray:
        """Cᵀ diag(scale) x, shape (N,) or (N, k) for x (n,) or (n, k) in any floating type."""
        columns = values.reshape(self.n, -1)

        def span(start: int, stop: int) -> FloatArray:
            part, plan = np.empty((self.grid.size, columns.shape[1])), self._plan(1, start, stop)
            packed = np.zeros(stop - start, self._dtype)
            # Two real columns travel as one complex vector.
            for j in range(0, columns.shape[1], 2):
                pair = columns[start:stop, j : j + 2]
                if scale is not None:
                    pair = pair * scale[start:stop, None]
                packed.real = pair[:, 0]
                packed.imag = pair[:, 1] if pair.shape[1] == 2 else 0.0
                modes = plan.execute(packed).ravel()
                part[:, j : j + 2] = _unpack(modes, pair.shape[1])
            return part

        sums = np.zeros((self.grid.size, columns.shape[1]))
        for part in map_chunks(span, self.n, self.span):
            sums += part
        return sums.reshape(self.grid.size, *values.shape[1:])

    def gather(self, coefficients: FloatArray, *, out: NDArray[Any] | None = None) -> NDArray[Any]:
        """C a, shape (n,) or (n, k) for a (N,) or (N, k); into the columns of `out` if given."""
        columns = coefficients.reshape(self.grid.size, -1)
        result = np.empty((self.n, columns.shape[1])) if out is None else out

        def span(start: int, stop: int) -> None:
            plan = self._plan(2, start, stop)
            for j in range(0, columns.shape[1], 2):
                packed = _pack(columns[:, j : j + 2]).astype(self._dtype, copy=False)
                packed = packed.reshape(self.grid.shape)
                values = plan.execute(packed)
                result[start:stop, j] = values.real
                if j + 1 < columns.shape[1]:
                    result[start:stop, j + 1] = values.imag

        map_chunks(span, self.n, self.span)
        return result if out is not None else result.reshape(self.n, *coefficients.shape[1:])

    def _plan(self, kind: int, start: int, stop: int) -> Any:
        """FINUFFT's plan of type 1 or 2 for some of the points."""
        if (kind, start) in self._plans:
            return self._plans[kind, start]
        # Chosen by FINUFFT from the number of points, upsampfac would change the bits of each.
        plan = finufft.Plan(
            kind,
            self.grid.shape,
            eps=self.eps,
            dtype=self._dtype.__name__,
            nthreads=1,
            isign=-1 if kind == 1 else 1,
            upsampfac=2.0,
        )
        real = np.float32 if self.single else np.float64
        units = 2 * math.pi / self.grid.period
        part = self.coordinates[start:stop].T
        moved = zip(part, self.grid.middle, units, strict=True)
        plan.setpts(*(((u - middle) * unit).astype(real) for u, middle, unit in moved))
        if self.n <= _KEPT_POINTS:
            self._plans[kind, start] = plan
        return plan

    @property
    def _dtype(self) -> type[np.complex64] | type[np.complex128]:
        return np.complex64 if self.single else np.complex128


def _pack(pair: FloatArray) -> NDArray[np.complex128]:
    """Coefficients of e^{iω_k·u} for a real function (N, 1), or two as real and imaginary part."""
    mirrored = pair[::-1]
    waves = ((pair + mirrored) - 1j * (pair - mirrored)) / 2
    packed = waves[:, 0] if pair.shape[1] == 1 else waves[:, 0] + 1j * waves[:, 1]
    return np.asarray(packed, np.complex128)


def _unpack(modes: NDArray[np.complex128], count: int) -> FloatArray:
    """Σ x cas(ω_k·u), and Σ y cas(ω_k·u), from Σ (x + iy) e^{−iω_k·u}; shape (N, count)."""
    mirrored = modes[::-1]
    first = (modes.real + mirrored.real) - (modes.imag - mirrored.imag)
    second = (modes.imag + mirrored.imag) + (modes.real - mirrored.real)
    return np.stack([first, second][:count], axis=1) / 2
