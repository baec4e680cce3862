"""Passes over points in blocks: column sums, Gram matrices and products with vectors.

Each pass is a pure function of a block and small values; results are added in the order of the
blocks. The rounding of the sums depends on the division into blocks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lowrankgcn.distributed.blocks import Blocks
from lowrankgcn.distributed.cloud import BlockCloud
from lowrankgcn.distributed.kernel_rows import KernelRows, Normaliser, Piece
from lowrankgcn.distributed.point_components import Components
from lowrankgcn.operators import FloatArray
from lowrankgcn.operators.affinity import SmoothVectors
from lowrankgcn.operators.fastsum import LOW_DEGREE_POINTS
from lowrankgcn.operators.gaussian import GEMM_RADIUS_SQUARED, gaussian_kernel

__all__ = [
    "Basis",
    "ColumnSums",
    "GramSums",
    "RitzSums",
    "gram_sums",
    "kernel_sums",
    "ritz_sums",
    "weighted_columns",
]


@final
@dataclass(frozen=True, eq=False)
class ColumnSums:
    """Column sums of F over some points.

    Attributes
    ----------
    components : (m, c) array
        Fᵀ times the indicators of all components of more than one point.
    tests : (m, 4) array
        Fᵀ times the test vectors, the first of which is 1.
    exact : (q, 4) array
        Exact kernel rows of the probes times the test vectors.
    """

    components: FloatArray
    tests: FloatArray
    exact: FloatArray

    def __add__(self, other: ColumnSums) -> ColumnSums:
        """Add two results."""
        return ColumnSums(
            self.components + other.components, self.tests + other.tests, self.exact + other.exact
        )


def kernel_sums(
    blocks: Blocks,
    cloud: BlockCloud,
    kernel: KernelRows,
    components: Components,
    waves: SmoothVectors,
    probes: FloatArray,
) -> ColumnSums:
    """Compute column sums over all points, and the exact kernel rows of `probes`, shape (q, d)."""
    total: ColumnSums | None = blocks.reduce(
        _column_sums, _add, cloud, kernel, components, waves, probes
    )
    assert total is not None
    return total


def _column_sums(
    block: Any,
    cloud: BlockCloud,
    kernel: KernelRows,
    components: Components,
    waves: SmoothVectors,
    probes: FloatArray,
) -> ColumnSums | None:
    coordinates = cloud.coordinates(block)
    joined, total = components.joined, None
    for start, stop, factor in kernel.pieces(coordinates):
        points = coordinates[start:stop]
        tests = waves.rows(points)
        weights = tests
        if components.n_components > 1:
            inside = components.at(points)[:, None] == joined
            weights = np.hstack([inside.astype(np.float64), tests])
        sums = factor.transpose_product(weights)
        parts = sums[:, :-4] if components.n_components > 1 else sums[:, :1]
        part = ColumnSums(parts, sums[:, -4:], _exact(cloud, probes, points) @ tests)
        total = part if total is None else total + part
    return total


@final
@dataclass(frozen=True, eq=False)
class GramSums:
    """Gram matrices, degrees and shifts of some points.

    Attributes
    ----------
    grams : (a, ...) array
        Fᵀ T²/(1 + κ(σ − 1)) F for every κ.
    squares : (c,) array
        Sum of d + s over every component.
    norms : (4,) array
        Sums of d t² for the test vectors t.
    unusable : int
        Number of points that are not isolated but have no positive computed degree.
    shift_sum, shift_low, shift_high : float
        Sum, minimum and maximum of σ over all points that are not isolated.
    degrees : (k,) array
        The lowest degrees, ascending.
    lowest : (k, d) array
        The points with these degrees.
    """

    grams: FloatArray
    squares: FloatArray
    norms: FloatArray
    unusable: int
    shift_sum: float
    shift_low: float
    shift_high: float
    degrees: FloatArray
    lowest: FloatArray

    def __add__(self, other: GramSums) -> GramSums:
        """Add two results."""
        degrees = np.concatenate([self.degrees, other.degrees])
        order = _lowest(degrees)
        return GramSums(
            self.grams + other.grams,
            self.squares + other.squares,
            self.norms + other.norms,
            self.unusable + other.unusable,
            self.shift_sum + other.shift_sum,
            min(self.shift_low, other.shift_low),
            max(self.shift_high, other.shift_high),
            degrees[order],
            np.concatenate([self.lowest, other.lowest])[order],
        )


def gram_sums(
    blocks: Blocks, cloud: BlockCloud, rows: Normaliser, waves: SmoothVectors, kappas: FloatArray
) -> GramSums:
    """Compute Gram matrices and degrees of all points."""
    total: GramSums | None = blocks.reduce(_gram_sums, _add, cloud, rows, waves, kappas)
    assert total is not None
    return total


def _gram_sums(
    block: Any, cloud: BlockCloud, rows: Normaliser, waves: SmoothVectors, kappas: FloatArray
) -> GramSums | None:
    coordinates, total = cloud.coordinates(block), None
    count = rows.components.n_components
    for piece in rows.pieces(coordinates):
        points = coordinates[piece.rows]
        joined = piece.scale > 0
        isolated = rows.components.sizes[piece.numbers] == 1
        weights = np.stack([piece.scale**2 * piece.weights(k) for k in kappas], axis=1)
        squares = np.where(isolated, 1.0, np.maximum(piece.degrees, 0.0) + rows.loop)
        known = np.flatnonzero(joined)
        order = known[_lowest(piece.degrees[known])]
        tests = waves.rows(points)
        shift = piece.shift[joined]
        part = GramSums(
            rows.kernel.gram(piece.factor, weights),
            _by_component(piece.numbers, squares[:, None], count)[:, 0],
            np.maximum(piece.degrees, 0.0) @ tests**2,
            int((~joined & ~isolated).sum()),
            float(shift.sum()),
            float(shift.min(initial=np.inf)),
            float(shift.max(initial=-np.inf)),
            piece.degrees[order],
            points[order],
        )
        total = part if total is None else total + part
    return total


@final
@dataclass(frozen=True, eq=False)
class Basis:
    """Vectors B = T/(1 + κ(σ − 1)) F V whose span contains approximate eigenvectors.

    Attributes
    ----------
    kappas : (N,) array
        κ of every vector.
    coefficients : (m, N) array
        V.
    middle : float
        Constant that is subtracted from σ.
    """

    kappas: FloatArray
    coefficients: FloatArray
    middle: float


@final
@dataclass(frozen=True, eq=False)
class RitzSums:
    """Sums over rows for the Rayleigh–Ritz method, with σ' = σ − middle and the null vectors N.

    Attributes
    ----------
    inner, image, square : (N, N) arrays
        BᵀB, Bᵀσ'B and Bᵀσ'²B.
    overlap, shifted : (c, N) arrays
        NᵀB and Nᵀσ'B.
    features : (N, d) array
        BᵀX.
    null_features : (c, d) array
        NᵀX.
    square_sum : float
        ‖X‖²_F.
    exact : (q, 4) array
        Exact kernel rows of the probes times the test vectors.
    cross : (q, N) array
        Exact kernel rows of the probes times T B.
    """

    inner: FloatArray
    image: FloatArray
    square: FloatArray
    overlap: FloatArray
    shifted: FloatArray
    features: FloatArray
    null_features: FloatArray
    square_sum: float
    exact: FloatArray
    cross: FloatArray

    def __add__(self, other: RitzSums) -> RitzSums:
        """Add two results."""
        pairs = zip(vars(self).values(), vars(other).values(), strict=True)
        return RitzSums(*(one + another for one, another in pairs))


def ritz_sums(
    blocks: Blocks,
    cloud: BlockCloud,
    rows: Normaliser,
    waves: SmoothVectors,
    basis: Basis,
    probes: FloatArray,
) -> RitzSums:
    """Compute the sums over all rows for eigenvectors in the span of a basis."""
    total: RitzSums | None = blocks.reduce(_ritz_sums, _add, cloud, rows, waves, basis, probes)
    assert total is not None
    return total


def _ritz_sums(
    block: Any,
    cloud: BlockCloud,
    rows: Normaliser,
    waves: SmoothVectors,
    basis: Basis,
    probes: FloatArray,
) -> RitzSums | None:
    points = cloud.reader.points(block)
    coordinates, total = cloud.place(points), None
    count = rows.components.n_components
    for piece in rows.pieces(coordinates, basis.coefficients):
        B = weighted_columns(piece.product, basis.kappas, piece)
        shift = np.where(piece.scale > 0, piece.shift - basis.middle, 0.0)
        shifted = shift[:, None] * B
        X = cloud.inputs.features(points[piece.rows])
        own = coordinates[piece.rows]
        exact = _exact(cloud, probes, own)
        part = RitzSums(
            B.T @ B,
            B.T @ shifted,
            shifted.T @ shifted,
            _by_component(piece.numbers, piece.profile[:, None] * B, count),
            _by_component(piece.numbers, piece.profile[:, None] * shifted, count),
            B.T @ X,
            _by_component(piece.numbers, piece.profile[:, None] * X, count),
            float(np.vdot(X, X)),
            exact @ waves.rows(own),
            exact @ (piece.scale[:, None] * B),
        )
        total = part if total is None else total + part
    return total


def weighted_columns(product: FloatArray, kappas: FloatArray, piece: Piece) -> FloatArray:
    """Return T/(1 + κ(σ − 1)) F V from F V, for the κ of every column."""
    if len(kappas) and np.ptp(kappas) == 0:
        columns: FloatArray = product * (piece.scale * piece.weights(kappas[0]))[:, None]
        return columns
    room = np.multiply.outer(piece.delta, kappas)
    room += 1.0
    np.divide(product, room, out=room)
    room *= piece.scale[:, None]
    return room


def _lowest(degrees: FloatArray) -> NDArray[np.intp]:
    """Return the positions of the lowest degrees, ascending and in stable order."""
    places = np.arange(len(degrees))
    if len(degrees) > LOW_DEGREE_POINTS:
        places = np.flatnonzero(
            degrees <= np.partition(degrees, LOW_DEGREE_POINTS)[LOW_DEGREE_POINTS]
        )
    return places[np.argsort(degrees[places], kind="stable")[:LOW_DEGREE_POINTS]]


def _by_component(numbers: Any, values: FloatArray, count: int) -> FloatArray:
    if count == 1:
        whole: FloatArray = values.sum(axis=0, keepdims=True)
        return whole
    ones, rows = np.ones(len(numbers)), np.arange(len(numbers))
    inside = sp.csr_array((ones, (numbers, rows)), shape=(count, len(numbers)))
    total: FloatArray = inside @ values
    return total


def _exact(cloud: BlockCloud, probes: FloatArray, points: FloatArray) -> FloatArray:
    """Return exact kernel values between probes and points, including the 1 of equal points."""
    cancel = cloud.squared_radius <= GEMM_RADIUS_SQUARED[np.float64]
    kernel: FloatArray = gaussian_kernel(probes, points, cancel=cancel)
    return kernel


def _add(one: Any, other: Any) -> Any:
    """Add two results; a block without rows has the result None."""
    if one is None or other is None:
        return other if one is None else one
    return one + other
