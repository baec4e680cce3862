"""Gram matrices on Fourier modes: products with Cᵀ diag(w) C without the points.

For complex waves the matrix is Toeplitz, Σ_i w_i e^{i(ω_l − ω_k)·u_i}, so it multiplies a function
by another: take the coefficients to places, multiply there, and come back. The factor's values at
places follow from its symbol, the sums Σ_i w_i cas(ω_m·u_i) over the modes m = −2M … 2M.

>>> import numpy as np
>>> u, w = np.array([[0.0], [0.7], [1.0]]), np.array([1.0, 2.0, 3.0])
>>> grid = ModeGrid.for_box(np.zeros(1), np.ones(1), 1e-3)
>>> gram = ModeGram.from_symbols(grid, grid.doubled.spread(u, w[:, None], eps=1e-12))
>>> F = grid.gather(u, np.diag(np.sqrt(grid.coefficients)), eps=1e-12)
>>> bool(np.allclose(gram.products(np.eye(grid.size))[0], F.T @ (w[:, None] * F), atol=1e-10))
True
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import scipy.fft as sf
from numpy.typing import NDArray

from lowrankgcn._parallel import map_chunks, worthwhile_threads
from lowrankgcn._validation import invalid
from lowrankgcn.operators.base import FloatArray
from lowrankgcn.operators.modes import ModeGrid

__all__ = ["ModeGram"]

_PLACES = 2**16  # numbers that a thread has on the grid of places at once, if a column has no more


@final
@dataclass(frozen=True, eq=False)
class ModeGram:
    """Matrices H_j = Fᵀ diag(w_j) F with the tall factor F = C c^{1/2} of a Gaussian kernel F Fᵀ.

    H_j (N×N) has the nonzero eigenvalues of diag(w_j)^{1/2} K diag(w_j)^{1/2} (n×n).

    Attributes
    ----------
    grid : ModeGrid
    factors : (q, L_1, …, L_d) array
        Σ_m t_m cas(2π m·x/L) at places x for the symbols t of the w_j; L ≥ 4M + 1 keeps products
        with modes −M … M free of aliasing.

    Notes
    -----
    Products with k vectors: O((1 + q) k 2^d N log N) time, O(q k N) memory.
    """

    grid: ModeGrid
    factors: FloatArray

    @classmethod
    def from_symbols(cls, grid: ModeGrid, symbols: FloatArray) -> ModeGram:
        """From ``grid.doubled.spread(u, w)``, shape (N₂, q), added over all blocks of points."""
        doubled = grid.doubled
        if symbols.ndim != 2 or len(symbols) != doubled.size:
            raise invalid("symbols", f"shape ({doubled.size}, q)", symbols.shape)
        return cls(grid, _to_places(doubled, symbols, _lengths(grid)))

    def combined(self, shares: FloatArray) -> ModeGram:
        """The single matrix Σ_j shares_j H_j."""
        return ModeGram(self.grid, np.tensordot(shares, self.factors, axes=1)[None])

    def products(self, V: FloatArray) -> FloatArray:
        """All H_j V for V of shape (N, k), shape (q, N, k)."""
        root, lengths = np.sqrt(self.grid.coefficients)[:, None], self.factors.shape[1:]
        result = np.empty((len(self.factors), *V.shape))

        def columns(left: int, right: int) -> None:
            values = _to_places(self.grid, root * V[:, left:right], lengths)
            for factor, product in zip(self.factors, result, strict=True):
                product[:, left:right] = root * _to_modes(self.grid, values * factor)

        size = math.prod(lengths)
        threads = worthwhile_threads(16 * size * V.shape[1])
        map_chunks(columns, V.shape[1], max(1, _PLACES // size), n_threads=threads)
        return result


def _lengths(grid: ModeGrid) -> tuple[int, ...]:
    return tuple(sf.next_fast_len(4 * M + 1, real=True) for M in grid.half)


def _to_places(grid: ModeGrid, modes: FloatArray, lengths: tuple[int, ...]) -> FloatArray:
    """Values Σ_k a_k cas(2π k·x/L) at all places, shape (k, *lengths) for a of shape (N, k)."""
    box = np.ascontiguousarray(modes.T).reshape(-1, *grid.shape)
    last = grid.half[-1]
    # A real function: half of the coefficients of e^{2πi k·x/L} will do.
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
    values: FloatArray = sf.irfft(waves, lengths[-1], axis=-1, norm="forward", overwrite_x=True)
    return values


def _to_modes(grid: ModeGrid, values: FloatArray) -> FloatArray:
    """The coefficients that :func:`_to_places` makes such values of, shape (N, k)."""
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
