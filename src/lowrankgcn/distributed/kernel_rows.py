r"""Rows of a Gaussian kernel in blocks: K ≈ F Fᵀ, where a row of F depends on one point only.

With the column sums :math:`s = F^T 1` a point x has the degree :math:`d(x) = f(x)^T s - 1` and the
entries of

.. math:: \mathcal{L} = \operatorname{diag}(\sigma) - T F F^T T, \qquad
          T = (D + S)^{-1/2}, \quad \sigma = (D + I)(D + S)^{-1}

(section A3.3) follow without any other point.

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

_ROWS = 16384  # points per chunk whose kernel values are stored
_PLANNED_ROWS = 2**18  # points per Fourier transform
_RANK = 1e-10  # eigenvalues of the Gram matrix below this are rounding errors


class RowFactor(Protocol):
    """Rows of F for some points."""

    def matmul(self, V: FloatArray) -> NDArray[Any]:
        """Return F V, shape (n, k)."""

    def transpose_product(self, X: FloatArray) -> FloatArray:
        """Return Fᵀ X, shape (m, k)."""


class KernelRows(Protocol):
    """Factor F of the kernel for any points; small enough to be sent to workers."""

    @property
    def method(self) -> str:
        """Representation of the kernel, as in `Affinity.method`."""

    @property
    def first_nodes(self) -> tuple[float, ...]:
        """First values of κ."""

    def nodes(self, ends: tuple[float, float], count: int) -> FloatArray:
        """Return at least `count` values of κ between two ends."""

    @property
    def precise(self) -> KernelRows | None:
        """The same factor in double precision; None if it already is."""

    @property
    def independent(self) -> float:
        """Squared length below which a combination of unit vectors F v is a rounding error."""

    def pieces(self, coordinates: FloatArray) -> Iterator[tuple[int, int, RowFactor]]:
        """Yield start, end and factor of consecutive points."""

    def gram(self, factor: Any, weights: FloatArray) -> FloatArray:
        """Return the contribution of some points to FᵀWF, for every column of `weights` (n, a)."""

    def solutions(
        self,
        grams: FloatArray,
        nodes: FloatArray,
        count: int,
        tol: float,
        start: FloatArray | None,
    ) -> Solutions | None:
        """Return at least `count` leading eigenvectors of H(κ), at the nodes or between them.

        Return None if there are fewer. Iterative methods start from `start` (m, k).
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
        Upper bound of all other eigenvalues at the first κ.
    """

    kappas: FloatArray
    theta: FloatArray
    vectors: FloatArray
    rest: float


@final
@dataclass(frozen=True, eq=False)
class LandmarkRows:
    """F = K(X, P) R⁻ᵀ with landmarks P.

    Attributes
    ----------
    factor : LandmarkFactor
        Factor without points.
    """

    factor: LandmarkFactor

    method = "low-rank"
    first_nodes = (1.0,)

    def nodes(self, ends: tuple[float, float], count: int) -> FloatArray:
        """Return Chebyshev points of the logarithm of κ."""
        low, high = np.log(ends)
        places = np.cos(np.pi * (np.arange(count) + 0.5) / count)[::-1]
        return np.asarray(np.exp(low + (high - low) * (places + 1.0) / 2.0))

    @classmethod
    def from_landmarks(cls, cloud: PointCloud, landmarks: FloatArray, tol: float) -> LandmarkRows:
        """Return the factor for given landmarks; the points of the cloud are not used."""
        bare = replace(cloud, coordinates=cloud.coordinates[:0])
        return cls(LandmarkFactor.from_landmarks(bare, landmarks, tol=tol))

    @property
    def precise(self) -> LandmarkRows | None:
        """The same factor in double precision; None if it already is."""
        if not self.factor.single:
            return None
        return LandmarkRows.from_landmarks(self.factor.cloud, self.factor.landmarks, tol=0.0)

    @property
    def independent(self) -> float:
        """Squared length below which a combination of unit vectors F v is a rounding error."""
        return 1e-8 if self.factor.single else 1e-13

    def pieces(self, coordinates: FloatArray) -> Iterator[tuple[int, int, LandmarkFactor]]:
        """Yield start, end and factor of consecutive points."""
        for start, stop in chunks(len(coordinates), _ROWS):
            part = replace(self.factor.cloud, coordinates=coordinates[start:stop])
            yield start, stop, self.factor.with_cloud(part)

    def gram(self, factor: LandmarkFactor, weights: FloatArray) -> FloatArray:
        """Return FᵀWF, shape (a, m, m)."""
        return np.stack([factor.gram(column) for column in weights.T])

    def solutions(
        self,
        grams: FloatArray,
        nodes: FloatArray,
        count: int,
        tol: float,
        start: FloatArray | None,
    ) -> Solutions | None:
        """Return the leading eigenvectors at each node."""
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
    """F_ik = √c_k cas(ω_k·u_i) with Fourier modes.

    Attributes
    ----------
    grid : ModeGrid
    """

    grid: ModeGrid

    method = "fourier"
    first_nodes = (1.0, 2.0)  # two sums are one transform
    precise = None

    def nodes(self, ends: tuple[float, float], count: int) -> FloatArray:
        """Return Chebyshev points including both ends; null vectors have κ = 1."""
        places = np.cos(np.pi * np.arange(count + 1) / count)[::-1]
        return 1.0 + (1.02 * ends[1] - 1.0) * (places + 1.0) / 2.0

    @property
    def independent(self) -> float:
        """Squared length below which a combination of unit vectors F v is a rounding error."""
        return float(np.clip((10 * self.grid.eps) ** 2, 1e-13, 1e-8))

    def pieces(self, coordinates: FloatArray) -> Iterator[tuple[int, int, FourierFactor]]:
        """Yield start, end and factor of consecutive points."""
        for start, stop in chunks(len(coordinates), _PLANNED_ROWS):
            yield start, stop, FourierFactor(self.grid, coordinates[start:stop])

    def gram(self, factor: FourierFactor, weights: FloatArray) -> FloatArray:
        """Return the symbols of FᵀWF on the doubled grid, shape (a, N₂)."""
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
        """Return the solutions with θ = 1/κ, between the nodes."""
        gram = ModeGram.from_symbols(self.grid, grams.T)
        if start is not None:  # random vectors complete the start
            others = np.random.default_rng(0).normal(size=(self.grid.size, count + 1 + EXTRA))
            others *= np.sqrt(self.grid.coefficients)[:, None]
            start = np.hstack([start, others[:, start.shape[1] :]])
        found = mode_pairs(gram, nodes, count + 1, tol=tol / 4, start=start)
        if found is None:
            return None
        theta = 1.0 / found.kappas
        kappas = np.clip(found.kappas, nodes.min(), nodes.max())
        vectors = found.coefficients * np.sqrt(found.kappas)
        rest = (1.0 - tol) * float(theta[-1])  # any copy of the last eigenvalue will do
        return Solutions(kappas[:-1], theta[:-1], vectors[:, :-1], rest)


@final
@dataclass(frozen=True, eq=False)
class Piece:
    """Some consecutive points of a block with the diagonal of 𝓛.

    Attributes
    ----------
    rows : slice
        Position in the block.
    factor : RowFactor
    product : (n, k) array
        F V.
    numbers : (n,) int array
        Components of the points.
    degrees, scale, shift : (n,) arrays
        d, (d + s)^{-1/2} and (d + 1)/(d + s); zero for isolated points.
    profile : (n,) array
        Sum of the null vectors, as in :class:`NullSpace`.
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
        """Return 1/(1 + κ(σ − 1)), shape (n,)."""
        return 1.0 / (1.0 + kappa * self.delta)


@final
@dataclass(frozen=True, eq=False)
class Normaliser:
    """Conversion of rows of F to rows of the Laplacian.

    Attributes
    ----------
    kernel : KernelRows
    components : Components
    column_sums : (m,) array
        Fᵀ1.
    loop : float
        Loop weight s of every point.
    squares : (c,) array or None
        Sum of d + s over every component, 1 for isolated points; None until it is computed.
    """

    kernel: KernelRows
    components: Components
    column_sums: FloatArray
    loop: float
    squares: FloatArray | None = None

    def pieces(self, coordinates: FloatArray, V: FloatArray | None = None) -> Iterator[Piece]:
        """Yield the points in pieces, with their products F V."""
        columns = self.column_sums[:, None]
        columns = columns if V is None else np.hstack([columns, V])
        for start, stop, factor in self.kernel.pieces(coordinates):
            product = factor.matmul(columns)
            numbers = self.components.at(coordinates[start:stop])
            isolated = self.components.sizes[numbers] == 1
            degrees = np.where(isolated, 0.0, product[:, 0] - 1.0)
            joined = degrees > 0
            scale, shift = np.zeros(len(degrees)), np.zeros(len(degrees))
            np.divide(1.0, np.sqrt(np.abs(degrees) + self.loop), out=scale, where=joined)
            np.divide(degrees + 1.0, degrees + self.loop, out=shift, where=joined)
            profile = np.where(isolated, 1.0, 0.0)
            if self.squares is not None:
                squares = np.where(joined, degrees + self.loop, profile)
                profile = np.sqrt(squares / self.squares[numbers])
            yield Piece(
                slice(start, stop), factor, product[:, 1:], numbers, degrees, scale, shift, profile
            )
