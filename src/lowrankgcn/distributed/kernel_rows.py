r"""Rows of a Gaussian kernel in blocks: K ≈ F Fᵀ, where a row of F depends on its point alone.

With the column sums :math:`s = F^T 1` a point x has the degree :math:`d(x) = f(x)^T s - 1` and the
entries of

.. math:: \mathcal{L} = \operatorname{diag}(\sigma) - T F F^T T, \qquad
          T = (D + S)^{-1/2}, \quad \sigma = (D + I)(D + S)^{-1}

(section A3.3), without a look at any other point.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Protocol, final

import numpy as np
from numpy.typing import NDArray

from lowrankgcn._parallel import chunks
from lowrankgcn.distributed.voxels import Components
from lowrankgcn.operators import FloatArray
from lowrankgcn.operators.gaussian import PointCloud
from lowrankgcn.operators.landmarks import LandmarkFactor

__all__ = ["KernelRows", "LandmarkRows", "Normaliser", "Piece", "RowFactor"]

_ROWS = 16384  # whose kernel values are kept while they are used


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
    def independent(self) -> float:
        """Squared length of a combination of unit vectors F v below which it is rounding."""

    def pieces(self, coordinates: FloatArray) -> Iterator[tuple[int, int, RowFactor]]:
        """F of consecutive points: first, end, factor."""

    def gram(self, factor: Any, weights: FloatArray) -> FloatArray:
        """What FᵀWF of some points needs, for every column of `weights` (n, a); to be added up."""

    def leading(self, gram: FloatArray, count: int) -> tuple[FloatArray, FloatArray]:
        """At least `count` largest eigenvalues of a matrix FᵀWF, falling, and its eigenvectors."""


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

    @classmethod
    def of(cls, cloud: PointCloud, landmarks: FloatArray, tol: float) -> LandmarkRows:
        """Through landmarks of a cloud, of which no point is needed."""
        bare = replace(cloud, coordinates=cloud.coordinates[:0])
        return cls(LandmarkFactor.from_landmarks(bare, landmarks, tol=tol))

    @property
    def independent(self) -> float:
        """Squared length of a combination of unit vectors F v below which it is rounding."""
        return 1e-8 if self.factor.single else 1e-13

    def pieces(self, coordinates: FloatArray) -> Iterator[tuple[int, int, LandmarkFactor]]:
        """F of consecutive points: first, end, factor."""
        for start, stop in chunks(len(coordinates), _ROWS):
            part = replace(self.factor.cloud, coordinates=coordinates[start:stop])
            yield start, stop, self.factor.on(part)

    def gram(self, factor: LandmarkFactor, weights: FloatArray) -> FloatArray:
        """FᵀWF, shape (a, m, m)."""
        return np.stack([factor.gram(column) for column in weights.T])

    def leading(self, gram: FloatArray, count: int) -> tuple[FloatArray, FloatArray]:
        """All eigenvalues of FᵀWF, falling, and its eigenvectors."""
        values, vectors = np.linalg.eigh(gram)
        return values[::-1], vectors[:, ::-1]


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

    def weights(self, kappa: float) -> FloatArray:
        """1/(1 + κ(σ − 1)), shape (n,)."""
        return 1.0 / (1.0 + kappa * np.where(self.scale > 0, self.shift - 1.0, 0.0))


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
            numbers = self.components.of(coordinates[start:stop])
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
