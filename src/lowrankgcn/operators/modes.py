"""Fourier modes: sums of waves over points, and functions of points as sums of waves.

A Gaussian is a sum of real waves on a box: with cas θ = cos θ + sin θ and modes k = −M … M,

    exp(−‖u − v‖²) ≈ Σ_k c_k cas(ω_k·u) cas(ω_k·v),    c_k > 0,

so the kernel of n points is C diag(c) Cᵀ with C_ik = cas(ω_k·u_i) (n×N). Products with C and Cᵀ are
non-equispaced fast Fourier transforms (FINUFFT).

>>> import numpy as np
>>> u = np.random.default_rng(0).normal(size=(300, 2))
>>> grid = ModeGrid.for_box(u.min(axis=0), u.max(axis=0), eps=1e-6)
>>> points = grid.plan(u)
>>> sums = points.gather(grid.coefficients * points.spread(np.ones(300)))
>>> exact = np.exp(-((u[:, None] - u) ** 2).sum(axis=2)).sum(axis=1)
>>> bool(np.abs(sums - exact).max() < 1e-4)
True
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Annotated, Any, final

import finufft
import numpy as np
import scipy.fft as sf
from numpy.typing import NDArray

from lowrankgcn._codec import saved
from lowrankgcn._parallel import map_chunks, worthwhile_threads
from lowrankgcn._validation import invalid, positive_float
from lowrankgcn.operators.base import FloatArray

# Measured with FINUFFT 2: plans of fewer points, or more plans, cost more than they save.
_SPANS = 8
_FEW_POINTS = 2**14
_KEPT_POINTS = 2**22  # plans of more points are made for every product, to save memory
_SINGLE_ROUNDING = 4e-7  # rounding error of an angle in float32
_GRID_VALUES = 2**16  # values on the equispaced grid that a thread processes at a time


def fourier_modes(extent: FloatArray, eps: float) -> tuple[FloatArray, FloatArray]:
    """Return period P and half-width M per dimension, for a kernel error of order `eps`.

    P = extent + √ln(1/ε) keeps the periodic images below ε. The modes −M…M with M = P/π·√ln(1/ε)
    extend to where the Gaussian's transform exp(−(πk/P)²) is below ε. M is a whole float, because
    narrow kernels need more modes than an integer can count.
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
        Middle of the box.
    period : (d,) array
        Lengths after which the waves repeat.
    half : tuple of int
        M in every dimension; arrays over the modes are flat, the last dimension fastest.
    eps : float
        Error of the kernel and of the transforms.
    """

    middle: Annotated[FloatArray, "D"]
    period: Annotated[FloatArray, "D"]
    half: tuple[int, ...]
    eps: Annotated[float, partial(positive_float, below=1.0)]

    def __post_init__(self) -> None:
        if len(self.half) != len(self.middle) or min(self.half, default=-1) < 0:
            raise invalid("half", "numbers of modes >= 0 for every dimension", self.half)
        if self.period.min() <= 0:
            raise invalid("period", "lengths > 0", self.period.tolist())

    @classmethod
    def for_box(cls, low: FloatArray, high: FloatArray, eps: float) -> ModeGrid:
        """Create the grid for points between two corners of shape (d,)."""
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
        """The grid of modes −2M … 2M, which the symbol of Cᵀ diag(w) C needs."""
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

    def plan(self, coordinates: FloatArray) -> PlannedPoints:
        """Prepare points (n, d) for transforms."""
        return PlannedPoints(self, coordinates, max(self.eps, 1e-14))


@final
@dataclass(frozen=True, eq=False)
class PlannedPoints:
    """Points with FINUFFT's plans for products with C and Cᵀ.

    FINUFFT's own threads add in arbitrary order. One thread per plan, and a number of plans that
    does not depend on the number of threads, make results reproducible.
    """

    grid: ModeGrid
    coordinates: FloatArray
    eps: float
    single: bool = False
    _plans: dict[tuple[int, int], Any] = field(default_factory=dict, repr=False)

    def replan(self, *, eps: float, doubled: bool = False, single: bool = False) -> PlannedPoints:
        """Prepare the same points for another accuracy, or for the doubled grid.

        With `single` transforms are in single precision, a third faster, if its rounding is below
        `eps`.
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
        """Points per plan: at most eight plans, none dominated by the work on its grid."""
        return max(-(-self.n // _SPANS), 4 * self.grid.size, _FEW_POINTS)

    def __reduce__(self) -> tuple[Any, ...]:
        # Plans are stored in FINUFFT's memory and cannot be copied.
        return PlannedPoints, (self.grid, self.coordinates, self.eps, self.single)

    def spread(self, values: NDArray[Any], scale: FloatArray | None = None) -> FloatArray:
        """Compute Cᵀ diag(scale) x, the sums Σ_i s_i x_i cas(ω_k·u_i) over the points.

        Parameters
        ----------
        values : (n,) or (n, k) array
            x, in any floating type.
        scale : (n,) array, optional

        Returns
        -------
        (N,) or (N, k) array
            With an error of `eps` relative to Σ|x_i|.

        Notes
        -----
        O(n log(1/ε)^d + N log N) for every two columns.
        """
        columns = values.reshape(self.n, -1)

        def span(start: int, stop: int) -> FloatArray:
            part, plan = np.empty((self.grid.size, columns.shape[1])), self._plan(1, start, stop)
            packed = np.zeros(stop - start, self._dtype)
            # Two real columns form one complex vector.
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
        """Compute C a for a of shape (N,) or (N, k), written into `out` if given."""
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
        """Return FINUFFT's plan of type 1 or 2 for some of the points."""
        if (kind, start) in self._plans:
            return self._plans[kind, start]
        # By default FINUFFT chooses upsampfac, and thereby the error, from the number of points.
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
    """Return coefficients of e^{iω_k·u} for one real function, or two packed as re + i·im."""
    mirrored = pair[::-1]
    waves = ((pair + mirrored) - 1j * (pair - mirrored)) / 2
    packed = waves[:, 0] if pair.shape[1] == 1 else waves[:, 0] + 1j * waves[:, 1]
    return np.asarray(packed, np.complex128)


def _unpack(modes: NDArray[np.complex128], count: int) -> FloatArray:
    """Extract Σ x cas(ω_k·u) and Σ y cas(ω_k·u) from Σ (x + iy) e^{−iω_k·u}, shape (N, count)."""
    mirrored = modes[::-1]
    first = (modes.real + mirrored.real) - (modes.imag - mirrored.imag)
    second = (modes.imag + mirrored.imag) + (modes.real - mirrored.real)
    return np.stack([first, second][:count], axis=1) / 2


@final
@dataclass(frozen=True, eq=False)
class ModeGram:
    """Matrices H_j = Fᵀ diag(w_j) F with the tall factor F = C c^{1/2} of a Gaussian kernel F Fᵀ.

    H_j (N×N) has the nonzero eigenvalues of diag(w_j)^{1/2} K diag(w_j)^{1/2} (n×n). For complex
    waves the matrix is Toeplitz, Σ_i w_i e^{i(ω_l − ω_k)·u_i}, so a product multiplies functions
    on an equispaced grid. The grid values of the second one follow from its symbol, the sums
    Σ_i w_i cas(ω_m·u_i) over the modes m = −2M … 2M.

    Attributes
    ----------
    grid : ModeGrid
    factors : (q, L_1, …, L_d) array
        Σ_m t_m cas(2π m·x/L) on the grid for the symbols t of the w_j; L ≥ 4M + 1 keeps products
        with modes −M … M free of aliasing.

    Notes
    -----
    Products with k vectors cost O((1 + q) k 2^d N log N) time and O(q k N) memory.

    Examples
    --------
    >>> u, w = np.array([[0.0], [0.7], [1.0]]), np.array([1.0, 2.0, 3.0])
    >>> grid = ModeGrid.for_box(np.zeros(1), np.ones(1), 1e-3)
    >>> points, doubled = (grid.plan(u).replan(eps=1e-12, doubled=two) for two in (False, True))
    >>> gram = ModeGram.from_symbols(grid, doubled.spread(w[:, None]))
    >>> F = points.gather(np.diag(np.sqrt(grid.coefficients)))
    >>> bool(np.allclose(gram.products(np.eye(grid.size))[0], F.T @ (w[:, None] * F), atol=1e-10))
    True
    """

    grid: ModeGrid
    factors: FloatArray

    @classmethod
    def from_symbols(cls, grid: ModeGrid, symbols: FloatArray) -> ModeGram:
        """Create from ``grid.doubled.plan(u).spread(w)``, shape (N₂, q)."""
        lengths = tuple(sf.next_fast_len(4 * M + 1, real=True) for M in grid.half)
        return cls(grid, _to_grid(grid.doubled, symbols, lengths))

    def combined(self, shares: FloatArray) -> ModeGram:
        """Return the single matrix Σ_j shares_j H_j."""
        return ModeGram(self.grid, np.tensordot(shares, self.factors, axes=1)[None])

    def products(self, V: FloatArray) -> FloatArray:
        """Compute all H_j V for V of shape (N, k), shape (q, N, k)."""
        root, lengths = np.sqrt(self.grid.coefficients)[:, None], self.factors.shape[1:]
        result = np.empty((len(self.factors), *V.shape))

        def columns(left: int, right: int) -> None:
            values = _to_grid(self.grid, root * V[:, left:right], lengths)
            for factor, product in zip(self.factors, result, strict=True):
                product[:, left:right] = root * _to_modes(self.grid, values * factor)

        size = math.prod(lengths)
        threads = worthwhile_threads(16 * size * V.shape[1])
        map_chunks(columns, V.shape[1], max(1, _GRID_VALUES // size), n_threads=threads)
        return result


def _to_grid(grid: ModeGrid, modes: FloatArray, lengths: tuple[int, ...]) -> FloatArray:
    """Evaluate Σ_k a_k cas(2π k·x/L) on the grid, shape (k, *lengths) for a of shape (N, k)."""
    box = np.ascontiguousarray(modes.T).reshape(-1, *grid.shape)
    last = grid.half[-1]
    # Half of the coefficients of e^{2πi k·x/L} determine a real function.
    forth, back = box[..., last:], box[(slice(None), *[slice(None, None, -1)] * len(grid.half))]
    back = back[..., last:]
    waves: NDArray[Any] = np.empty(forth.shape, np.complex128)
    waves.real = (forth + back) / 2
    waves.imag = (back - forth) / 2
    for axis, (M, L) in enumerate(zip(grid.half[:-1], lengths[:-1], strict=True), start=1):
        room = np.zeros((*waves.shape[:axis], L, *waves.shape[axis + 1 :]), np.complex128)
        before = (slice(None),) * axis
        room[(*before, slice(0, M + 1))] = waves[(*before, slice(M, None))]
        room[(*before, slice(L - M, L))] = waves[(*before, slice(0, M))]
        waves = sf.ifft(room, axis=axis, norm="forward", overwrite_x=True)
    return np.asarray(sf.irfft(waves, lengths[-1], axis=-1, norm="forward", overwrite_x=True))


def _to_modes(grid: ModeGrid, values: FloatArray) -> FloatArray:
    """Compute the coefficients of grid values, shape (N, k); inverse of :func:`_to_grid`."""
    waves = sf.rfft(values, axis=-1, norm="forward", overwrite_x=True)[..., : grid.half[-1] + 1]
    for axis in range(len(grid.half) - 1, 0, -1):
        M, L = grid.half[axis - 1], waves.shape[axis]
        room = sf.fft(waves, axis=axis, norm="forward")
        kept = np.concatenate([np.arange(L - M, L), np.arange(M + 1)])
        waves = room.take(kept, axis=axis)
    box = np.empty((len(values), *grid.shape))
    last = grid.half[-1]
    flipped = (slice(None), *[slice(None, None, -1)] * len(grid.half))
    box[..., : last + 1] = (waves.real + waves.imag)[flipped]
    box[..., last:] = waves.real - waves.imag
    return box.reshape(len(values), -1).T
