"""Eigenpairs of a Gaussian graph of points in blocks.

=============== ===============================================================================
pass            sums
=============== ===============================================================================
column sums     Fᵀ1, which determines the degrees; Fᵀ times test vectors
Gram matrix     weighted Fᵀ(D + S)^{-1}F; the lowest degrees
Ritz            products of a few vectors with each other and with the features
=============== ===============================================================================

If the measured error of the sums, or the residual of the eigenpairs, exceeds the tolerance, all
three passes are repeated with a more accurate kernel.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np

from lowrankgcn._progress import report_progress
from lowrankgcn._validation import invalid
from lowrankgcn.distributed.blocks import Blocks
from lowrankgcn.distributed.cloud import BlockCloud, SampledCloud
from lowrankgcn.distributed.kernel_passes import (
    ColumnSums,
    GramSums,
    RitzSums,
    gram_sums,
    kernel_sums,
    ritz_sums,
    weighted_columns,
)
from lowrankgcn.distributed.kernel_rows import KernelRows, LandmarkRows, ModeRows, Normaliser
from lowrankgcn.distributed.point_components import Components
from lowrankgcn.distributed.ritz import Ritz, Trial, rayleigh_ritz, trial_basis
from lowrankgcn.exceptions import AccuracyWarning, warn_caller
from lowrankgcn.graphs.cross.gaussian import wide_grid
from lowrankgcn.operators import FloatArray
from lowrankgcn.operators.affinity import (
    LOWEST_DEGREES,
    SmoothVectors,
    random_test_rows,
    sampled_error,
    worst_diagonal_error,
)
from lowrankgcn.operators.fastsum import (
    TOLERANCE_FACTORS,
    choose_greedy_landmarks,
    choose_random_landmarks,
    fourier_tolerance,
)
from lowrankgcn.operators.gaussian import extrapolate

__all__ = ["PointSpectrum", "solve"]

_WRONG = 0.05  # error above which the eigenpairs are rejected
_ROUNDS = 3  # each with sums ten times as accurate
_NODES = (2, 4, 7)  # numbers of κ, tried in turn until residuals are below the tolerance
_LARGEST_KAPPA = 1000.0  # κ of the eigenvalue 0.999; larger eigenvalues share it
_MOST_MODES = 2**17  # the calling process computes eigenvectors of this length


@final
@dataclass(frozen=True, eq=False)
class PointSpectrum:
    """The smallest eigenpairs outside the null space, with the sums that determine them.

    Attributes
    ----------
    cloud : SampledCloud
    rows : Normaliser
    columns : ColumnSums
    trial : Trial
    sums : RitzSums
    ritz : Ritz
    grams : GramSums
    error : float
        Measured error of the sums, as in `Affinity.error`.
    pair_error : float
        ‖𝓛u − λu‖ with exact weights, as in `Eigenpairs.fast_sum_error`.
    """

    cloud: SampledCloud
    rows: Normaliser
    columns: ColumnSums
    trial: Trial
    sums: RitzSums
    ritz: Ritz
    grams: GramSums
    error: float
    pair_error: float

    @property
    def residual(self) -> float:
        """Largest residual."""
        return float(self.ritz.residuals.max(initial=0.0))

    @property
    def worst(self) -> float:
        """Largest error of the pairs."""
        return max(self.pair_error, self.residual)

    def within(self, tol: float) -> bool:
        """Return whether the pairs reach the tolerance or the accuracy of the sums."""
        return self.residual <= tol and self.pair_error <= max(tol, self.error)


def solve(
    blocks: Blocks,
    cloud: SampledCloud,
    components: Components,
    *,
    loop: float,
    count: int,
    tol: float,
    seed: int,
) -> PointSpectrum:
    """Compute the `count` smallest pairs outside the null space, or fewer at a lower rank.

    Raises
    ------
    ValueError
        If no summation method can represent the kernel, or the eigenpairs are inaccurate.

    Warns
    -----
    AccuracyWarning
        If the measured error stays above `tol`.
    """
    solver = _Solver(blocks, cloud, components, loop, count, tol, seed)
    sharp, best = tol, None
    for _ in range(_ROUNDS):
        found = solver.first_accurate(sharp)
        if found is None:
            break
        if best is None or found.worst < best.worst:
            best = found
        if found.worst <= tol:
            return found
        if found.pair_error <= 2 * found.residual:  # more accurate sums would not help
            break
        sharp /= 10
    if best is None:
        raise invalid(
            "bandwidth",
            "a larger bandwidth, so that landmarks or Fourier modes can represent the kernel",
            f"{cloud.cloud.bandwidth:g} for points that extend over "
            f"{float(cloud.extent.max()):.3g} bandwidths",
        )
    if best.worst > _WRONG:
        raise invalid(
            "bandwidth",
            "a larger bandwidth, or fewer rows to fit in memory: some points are nearly isolated",
            f"{cloud.cloud.bandwidth:g}, where the error of the eigenpairs is {best.worst:.1g}",
        )
    warn_caller(
        f"The measured error {best.pair_error:.1e} of the fast sum, or the residual "
        f"{best.residual:.1e} of the eigenpairs, exceeds tol={tol:g}; increase tol or bandwidth.",
        AccuracyWarning,
    )
    return best


@final
@dataclass(frozen=True, eq=False)
class _Solver:
    blocks: Blocks
    cloud: SampledCloud
    components: Components
    loop: float
    count: int
    tol: float
    seed: int

    @property
    def _points(self) -> BlockCloud:
        return self.cloud.cloud

    def first_accurate(self, tol: float) -> PointSpectrum | None:
        """Return the result of the first kernel whose measured error is at most `tol`."""
        for kernel in self._kernels(tol):
            found = self._try(kernel, tol)
            if found is not None and found.error <= tol:
                return found
        return None

    def _kernels(self, tol: float) -> Iterator[KernelRows]:
        """Yield representations of the kernel, the cheapest first."""
        without_points = self._points.part(self.cloud.coordinates[:0])
        for factor in TOLERANCE_FACTORS:
            landmarks, pivot_tol = choose_greedy_landmarks(self.cloud, tol * factor, self.seed)
            if landmarks is None:
                break
            yield LandmarkRows.from_landmarks(without_points, landmarks, pivot_tol)
        landmarks, pivot_tol = choose_random_landmarks(self.cloud, tol, self.seed)
        if landmarks is not None:
            yield LandmarkRows.from_landmarks(without_points, landmarks, pivot_tol)
        for factor in TOLERANCE_FACTORS:
            eps = fourier_tolerance(self.cloud, tol * factor)
            grid = None if eps is None else wide_grid(self._points.low, self._points.high, eps)
            if grid is None or grid.size > _MOST_MODES:
                break
            yield ModeRows(grid)

    def _try(self, kernel: KernelRows, tol: float) -> PointSpectrum | None:
        """Return the eigenpairs of a kernel; None if its degrees or its error are unacceptable."""
        report_progress("summing the kernel")
        waves = SmoothVectors.draw(self.cloud, self.seed)
        drawn = self.cloud.take(random_test_rows(self.cloud.n, self.seed))
        everything = (self.blocks, self._points, kernel, self.components)
        columns = kernel_sums(*everything, waves, drawn)
        rows = Normaliser(kernel, self.components, columns.tests[:, 0], self.loop)
        # With loops above 1, 1 + κ(σ − 1) might not be positive at other κ.
        nodes = np.array(kernel.first_nodes if self.loop <= 1.0 else [1.0])
        grams = gram_sums(self.blocks, self._points, rows, waves, nodes)
        if grams.unusable:
            return None
        rows = replace(rows, squares=grams.squares)
        evidence = _Evidence(waves, columns, grams, drawn, 0, _missing(kernel, grams))
        error = evidence.error(rows, columns.exact)
        if error is None or error > tol:
            return None
        report_progress("computing eigenpairs")
        evidence = evidence.with_lowest()
        found = self._pairs(rows, evidence, grams, nodes, None)
        if found is None or found.within(self.tol) or self.loop == 1.0:
            return found
        if kernel.precise is not None:  # vectors of several κ are too similar for float32
            return self._try(kernel.precise, tol)
        for count in _NODES:
            nodes = kernel.nodes(_kappa_ends(found.ritz.values, grams.shift_low), count)
            more = gram_sums(self.blocks, self._points, rows, waves, nodes)
            better = self._pairs(rows, evidence, more, nodes, found.trial.basis.coefficients)
            if better is None or better.residual >= found.residual:  # only rounding errors are left
                break
            found = better
            if found.within(self.tol):
                break
        return found

    def _pairs(
        self,
        rows: Normaliser,
        evidence: _Evidence,
        grams: GramSums,
        nodes: FloatArray,
        start: FloatArray | None,
    ) -> PointSpectrum | None:
        """Return the eigenpairs from Gram matrices at some κ; None if this fails."""
        wanted = self.count + len(self.components.joined)
        sizes = self.components.sizes
        n_joined = int(sizes[sizes > 1].sum())
        trial = trial_basis(rows.kernel, grams, nodes, wanted, n_joined, self.tol, start)
        if trial is None:
            return None
        probes = evidence.probes
        sums = ritz_sums(self.blocks, self._points, rows, evidence.waves, trial.basis, probes)
        error = evidence.error(rows, sums.exact)
        if error is None:
            return None
        ritz = rayleigh_ritz(trial, sums, self.count)
        columns = evidence.columns
        found = PointSpectrum(self.cloud, rows, columns, trial, sums, ritz, grams, error, 0.0)
        return replace(found, pair_error=_pair_error(found, probes, evidence.certain))


@final
@dataclass(frozen=True, eq=False)
class _Evidence:
    """Sampled points whose exact kernel rows determine the error of the sums.

    Attributes
    ----------
    waves : SmoothVectors
    columns : ColumnSums
    grams : GramSums
    probes : (q, d) array
        The points.
    certain : int
        Number of leading points that represent only themselves.
    missing : float
        Largest error of the diagonal of the kernel.
    """

    waves: SmoothVectors
    columns: ColumnSums
    grams: GramSums
    probes: FloatArray
    certain: int
    missing: float

    def with_lowest(self) -> _Evidence:
        """Prepend the points of lowest degree, which represent only themselves."""
        lowest = self.grams.lowest[:LOWEST_DEGREES]
        known = (self.probes[:, None] == lowest[None]).all(axis=2).any(axis=1)
        probes = np.concatenate([lowest, self.probes[~known]])
        return replace(self, probes=probes, certain=len(lowest))

    def error(self, rows: Normaliser, exact: FloatArray) -> float | None:
        """Return the error of the sums, from the exact kernel rows times the test vectors."""
        (piece,) = rows.pieces(self.probes, self.columns.tests)
        own = self.waves.rows(self.probes)
        scale = np.zeros(len(self.probes))
        np.divide(1.0, np.sqrt(np.abs(piece.degrees)), out=scale, where=piece.degrees > 0)
        count = int(rows.components.sizes.sum())

        def total(squares: FloatArray) -> FloatArray:
            return extrapolate(squares, self.certain, count)

        difference = piece.product - exact
        error = sampled_error(difference, exact - own, scale, self.grams.norms, total)
        return None if error is None else max(error, self.missing)


def _missing(kernel: KernelRows, grams: GramSums) -> float:
    if not isinstance(kernel, LandmarkRows):
        return 0.0
    return worst_diagonal_error(kernel.factor.evaluate(grams.lowest), 1.0 / np.sqrt(grams.degrees))


def _kappa_ends(values: FloatArray, shift_low: float) -> tuple[float, float]:
    """Return the smallest and largest κ = 1/(1 − λ) of the computed eigenvalues."""
    low, high = (1.0 / np.maximum(1.0 - values[[0, -1]], 1.0 / _LARGEST_KAPPA)).tolist()
    limit = 0.9 / max(1.0 - shift_low, 1e-300)  # 1 + κ(σ − 1) has to stay positive
    return min(low, limit), min(high, limit)


def _pair_error(found: PointSpectrum, probes: FloatArray, certain: int) -> float:
    """Estimate the largest ‖𝓛u − λu‖ with exact weights over all pairs."""
    basis, ritz = found.trial.basis, found.ritz
    (piece,) = found.rows.pieces(probes, basis.coefficients)
    B = weighted_columns(piece.product, basis.kappas, piece)
    t, squares = piece.scale[:, None], found.rows.squares
    assert squares is not None
    own = t**2 * piece.degrees[:, None]
    degrees = found.sums.exact[:, :1] - 1.0
    root = np.sqrt(squares[piece.numbers])[:, None]
    along = ritz.overlap[piece.numbers]
    vectors = B @ ritz.coefficients - piece.profile[:, None] * along
    weighted = (found.sums.cross - t * B) @ ritz.coefficients - degrees / root * along
    residuals = (own - ritz.values) * vectors - t * weighted
    null = np.where(t > 0, own * piece.profile[:, None] - t * degrees / root, 0.0)
    every: Any = np.hstack([residuals, null])
    return float(np.sqrt(extrapolate(every**2, certain, found.cloud.n)).max(initial=0.0))
