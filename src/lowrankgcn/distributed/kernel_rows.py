r"""Rows of a Gaussian kernel in blocks: K ≈ F Fᵀ, where a row of F depends on its point alone.

With the column sums :math:`s = F^T 1` a point x has the degree :math:`d(x) = f(x)^T s - 1` and the
entries of

.. math:: \mathcal{L} = \operatorname{diag}(\sigma) - T F F^T T, \qquad
          T = (D + S)^{-1/2}, \quad \sigma = (D + I)(D + S)^{-1}

(section A3.3), without a look at any other point.

>>> import numpy as np
>>> cloud = PointCloud.from_points(np.linspace(0, 1, 50)[:, None], bandwidth=1.0)
>>> kernel = LandmarkRows.from_landmarks(cloud, cloud.coordinates[::10], tol=0.0)
>>> ((_, _, factor),) = kernel.pieces(cloud.coordinates)
>>> column_sums = factor.transpose_product(np.ones(50))
>>> rows = Normaliser(kernel, Components.single(50), column_sums, loop=0.0)
>>> (piece,) = rows.pieces(cloud.coordinates)
>>> exact = np.exp(-((cloud.coordinates - cloud.coordinates.T) ** 2)).sum(axis=1) - 1
>>> bool(abs(piece.degrees - exact).max() < 1e-3)
True
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Protocol, final

import numpy as np
from numpy.typing import NDArray

from lowrankgcn._parallel import chunks
from lowrankgcn.distributed.point_components import Components
from lowrankgcn.operators import FloatArray
from lowrankgcn.operators.fourier import FourierFactor
from lowrankgcn.operators.gaussian import PointCloud
from lowrankgcn.operators.landmarks import LandmarkFactor
from lowrankgcn.operators.modes import ModeGram, ModeGrid
from lowrankgcn.spectral.solvers.base import EXTRA
from lowrankgcn.spectral.solvers.mode_space import mode_pairs

__all__ = [
    "KernelRows",
    "LandmarkRows",
    "ModeRows",
    "Normaliser",
    "Piece",
    "RowFactor",
    "Solutions",
]

_ROWS = 16384  # whose kernel values are kept while they are used
_PLANNED_ROWS = 2**18  # transformed at once
_RANK = 1e-10


class RowFactor(Protocol):
    """F of some points."""

    def matmul(self, V: FloatArray) -> NDArray[Any]:
        """F V, shape (n, k)."""

    def transpose_product(self, X: FloatArray) -> FloatArray:
        """Fᵀ X, shape (m, k)."""


class KernelRows(Protocol):
    """A factor of the kernel for any points: a small value, to be sent to workers."""

    @property
    def method(self) -> str:
        """How the kernel is represented, as `Affinity.method` has it."""

    @property
    def first_nodes(self) -> tuple[float, ...]:
        """κ to begin with."""

    def nodes(self, ends: tuple[float, float], count: int) -> FloatArray:
        """At least `count` κ for eigenvalues whose κ lie between two ends."""

    @property
    def precise(self) -> KernelRows | None:
        """The same in double precision, None if it is."""

    @property
    def independent(self) -> float:
        """Squared length of a combination of unit vectors F v below which it is rounding."""

    def pieces(self, coordinates: FloatArray) -> Iterator[tuple[int, int, RowFactor]]:
        """F of consecutive points: first, end, factor."""

    def gram(self, factor: Any, weights: FloatArray) -> FloatArray:
        """What FᵀWF of some points needs, for every column of `weights` (n, a); to be added up."""

    def solutions(
        self,
        grams: FloatArray,
        nodes: FloatArray,
        count: int,
        tol: float,
        start: FloatArray | None,
    ) -> Solutions | None:
        """At least `count` leading eigenvectors of H(κ), at each node or somewhere in between.

        None if there are not so many. `start` (m, k) is a guess, for those found step by step.
        """


@final
@dataclass(frozen=True, eq=False)
class Solutions:
    """Solutions of H(κ) v = θ v with H(κ) = FᵀT²/(1 + κ(σ − 1))F.

    Attributes
    ----------
    kappas, theta : (N,) arrays
    vectors : (m, N) array
        The v, scaled so that T/(1 + κ(σ − 1))F v has about unit length.
    rest : float
        Bound of all other eigenvalues, at the first κ.
    """

    kappas: FloatArray
    theta: FloatArray
    vectors: FloatArray
    rest: float


@final
@dataclass(frozen=True, eq=False)
class LandmarkRows:
    """F = K(X, P) R⁻ᵀ through landmarks P.

    Attributes
    ----------
    factor : LandmarkFactor
        On no points.
    """

    factor: LandmarkFactor

    method = "low-rank"
    first_nodes = (1.0,)

    def nodes(self, ends: tuple[float, float], count: int) -> FloatArray:
        """Chebyshev points of the logarithm of κ."""
        low, high = np.log(ends)
        places = np.cos(np.pi * (np.arange(count) + 0.5) / count)[::-1]
        return np.asarray(np.exp(low + (high - low) * (places + 1.0) / 2.0))

    @classmethod
    def from_landmarks(cls, cloud: PointCloud, landmarks: FloatArray, tol: float) -> LandmarkRows:
        """Through landmarks of a cloud, of which no point is needed."""
        bare = replace(cloud, coordinates=cloud.coordinates[:0])
        return cls(LandmarkFactor.from_landmarks(bare, landmarks, tol=tol))

    @property
    def precise(self) -> LandmarkRows | None:
        """The same in double precision, None if it is."""
        if not self.factor.single:
            return None
        return LandmarkRows.from_landmarks(self.factor.cloud, self.factor.landmarks, tol=0.0)

    @property
    def independent(self) -> float:
        """Squared length of a combination of unit vectors F v below which it is rounding."""
        return 1e-8 if self.factor.single else 1e-13

    def pieces(self, coordinates: FloatArray) -> Iterator[tuple[int, int, LandmarkFactor]]:
        """F of consecutive points: first, end, factor."""
        for start, stop in chunks(len(coordinates), _ROWS):
            part = replace(self.factor.cloud, coordinates=coordinates[start:stop])
            yield start, stop, self.factor.with_cloud(part)

    def gram(self, factor: LandmarkFactor, weights: FloatArray) -> FloatArray:
        """FᵀWF, shape (a, m, m)."""
        return np.stack([factor.gram(column) for column in weights.T])

    def solutions(
        self,
        grams: FloatArray,
        nodes: FloatArray,
        count: int,
        tol: float,
        start: FloatArray | None,
    ) -> Solutions | None:
        """Leading eigenvectors at each node."""
        spectra = [np.linalg.eigh(gram) for gram in grams]
        rank = min(int((values > _RANK).sum()) for values, _ in spectra)
        width = min(count + EXTRA, rank)
        theta = np.stack([values[::-1][:width] for values, _ in spectra])
        vectors = [v[:, ::-1][:, :width] for _, v in spectra]
        rest = float(spectra[0][0][::-1][width]) if width < len(grams[0]) else 0.0
        return Solutions(
            np.repeat(nodes, width),
            theta.ravel(),
            np.hstack(vectors) / np.sqrt(theta.ravel()),
            rest,
        )


@final
@dataclass(frozen=True, eq=False)
class ModeRows:
    """F_ik = √c_k cas(ω_k·u_i) through Fourier modes.

    Attributes
    ----------
    grid : ModeGrid
    """

    grid: ModeGrid

    method = "fourier"
    first_nodes = (1.0, 2.0)  # two sums are one transform
    precise = None

    def nodes(self, ends: tuple[float, float], count: int) -> FloatArray:
        """Chebyshev points with both ends; 1 is that of null vectors."""
        places = np.cos(np.pi * np.arange(count + 1) / count)[::-1]
        return 1.0 + (1.02 * ends[1] - 1.0) * (places + 1.0) / 2.0

    @property
    def independent(self) -> float:
        """Squared length of a combination of unit vectors F v below which it is rounding."""
        return float(np.clip((10 * self.grid.eps) ** 2, 1e-13, 1e-8))

    def pieces(self, coordinates: FloatArray) -> Iterator[tuple[int, int, FourierFactor]]:
        """F of consecutive points: first, end, factor."""
        for start, stop in chunks(len(coordinates), _PLANNED_ROWS):
            yield start, stop, FourierFactor(self.grid, coordinates[start:stop])

    def gram(self, factor: FourierFactor, weights: FloatArray) -> FloatArray:
        """The symbols of FᵀWF on the doubled grid, shape (a, N₂)."""
        eps = self.grid.eps / 100
        return self.grid.doubled.spread(factor.coordinates, weights, eps=eps).T

    def solutions(
        self,
        grams: FloatArray,
        nodes: FloatArray,
        count: int,
        tol: float,
        start: FloatArray | None,
    ) -> Solutions | None:
        """Solutions with θ = 1/κ, between the nodes."""
        gram = ModeGram.from_symbols(self.grid, grams.T)
        if start is not None:  # with a little of everything else
            others = np.random.default_rng(0).normal(size=(self.grid.size, count + 1 + EXTRA))
            others *= np.sqrt(self.grid.coefficients)[:, None]
            start = np.hstack([start, others[:, start.shape[1] :]])
        found = mode_pairs(gram, nodes, count + 1, tol=tol / 4, start=start)
        if found is None:
            return None
        theta = 1.0 / found.kappas
        kappas = np.clip(found.kappas, nodes.min(), nodes.max())
        vectors = found.coefficients * np.sqrt(found.kappas)
        rest = (1.0 - tol) * float(theta[-1])  # of copies of the last eigenvalue all are good
        return Solutions(kappas[:-1], theta[:-1], vectors[:, :-1], rest)


@final
@dataclass(frozen=True, eq=False)
class Piece:
    """Some consecutive points of a block, and what 𝓛 has on its diagonal there.

    Attributes
    ----------
    rows : slice
        Which points of the block.
    factor : RowFactor
    product : (n, k) array
        F V.
    numbers : (n,) int array
        Their components.
    degrees, scale, shift : (n,) arrays
        d, (d + s)^{-1/2} and (d + 1)/(d + s); zero for isolated points.
    profile : (n,) array
        Null vectors laid on top of each other, as in :class:`NullSpace`.
    """

    rows: slice
    factor: RowFactor
    product: FloatArray
    numbers: NDArray[np.intp]
    degrees: FloatArray
    scale: FloatArray
    shift: FloatArray
    profile: FloatArray

    @property
    def delta(self) -> FloatArray:
        """σ − 1, shape (n,); zero for isolated points."""
        return np.where(self.scale > 0, self.shift - 1.0, 0.0)

    def weights(self, kappa: float) -> FloatArray:
        """1/(1 + κ(σ − 1)), shape (n,)."""
        return 1.0 / (1.0 + kappa * self.delta)


@final
@dataclass(frozen=True, eq=False)
class Normaliser:
    """What turns rows of F into rows of the Laplacian.

    Attributes
    ----------
    kernel : KernelRows
    components : Components
    column_sums : (m,) array
        Fᵀ1.
    loop : float
        Loop weight s of every point.
    squares : (c,) array or None
        Sum of d + s over every component, 1 for isolated points; None while unknown.
    """

    kernel: KernelRows
    components: Components
    column_sums: FloatArray
    loop: float
    squares: FloatArray | None = None

    def pieces(self, coordinates: FloatArray, V: FloatArray | None = None) -> Iterator[Piece]:
        """Points in pieces, with their products F V."""
        columns = self.column_sums[:, None]
        columns = columns if V is None else np.hstack([columns, V])
        for start, stop, factor in self.kernel.pieces(coordinates):
            product = factor.matmul(columns)
            numbers = self.components.at(coordinates[start:stop])
            lonely = self.components.sizes[numbers] == 1
            degrees = np.where(lonely, 0.0, product[:, 0] - 1.0)
            joined = degrees > 0
            scale, shift = np.zeros(len(degrees)), np.zeros(len(degrees))
            np.divide(1.0, np.sqrt(np.abs(degrees) + self.loop), out=scale, where=joined)
            np.divide(degrees + 1.0, degrees + self.loop, out=shift, where=joined)
            profile = np.where(lonely, 1.0, 0.0)
            if self.squares is not None:
                squares = np.where(joined, degrees + self.loop, profile)
                profile = np.sqrt(squares / self.squares[numbers])
            yield Piece(
                slice(start, stop), factor, product[:, 1:], numbers, degrees, scale, shift, profile
            )
