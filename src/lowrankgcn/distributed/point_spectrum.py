"""Eigenpairs of a Gaussian graph whose points lie in many blocks.

=============== ===============================================================================
pass            what it adds up
=============== ===============================================================================
column sums     Fᵀ1, which gives every degree; Fᵀ times test vectors
Gram matrix     Fᵀ(D + S)^{-1}F, weighted a little; the lowest degrees
Ritz            products of a few vectors with each other and with the features
=============== ===============================================================================

All three again with a sharper kernel where the measured error of the sums, or the residual of the
eigenpairs, is above the tolerance.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np

from lowrankgcn._progress import tell
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
from lowrankgcn.distributed.kernel_rows import KernelRows, LandmarkRows, Normaliser
from lowrankgcn.distributed.ritz import Ritz, Trial, rayleigh_ritz, trial_basis
from lowrankgcn.distributed.voxels import Components
from lowrankgcn.exceptions import AccuracyWarning, warn_caller
from lowrankgcn.operators import FloatArray
from lowrankgcn.operators.accuracy import Waves, sampled_error, worst_missing
from lowrankgcn.operators.affinity import LOWEST_DEGREES, drawn_rows, extrapolate
from lowrankgcn.operators.fastsum import SHARPENINGS, landmark_choice, random_choice

__all__ = ["PointSpectrum", "solve"]

_ROUNDS = 3
_NODES = (2, 4, 7)  # numbers of κ after the first, tried in turn until residuals fit
_LARGEST_KAPPA = 1000.0


@final
@dataclass(frozen=True, eq=False)
class PointSpectrum:
    """The smallest eigenpairs outside of the null space, and all that is known beside them.

    Attributes
    ----------
    cloud : SampledCloud
    rows : Normaliser
    columns : ColumnSums
    trial : Trial
    sums : RitzSums
    ritz : Ritz
    bounds : (float, float)
        Smallest and largest entry of σ.
    error : float
        Measured error of the sums, as `Affinity.error`.
    pair_error : float
        ‖𝓛u − λu‖ with exact weights, as `Eigenpairs.fast_sum_error`.
    """

    cloud: SampledCloud
    rows: Normaliser
    columns: ColumnSums
    trial: Trial
    sums: RitzSums
    ritz: Ritz
    bounds: tuple[float, float]
    error: float
    pair_error: float


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
    """The `count` smallest pairs outside of the null space, or as many as the kernel determines.

    Raises
    ------
    ValueError
        If no way of summing carries the kernel.

    Warns
    -----
    AccuracyWarning
        If the measured error stays above `tol`.
    """
    solver = _Solver(blocks, cloud, components, loop, count, tol, seed)
    sharp, best = tol, None
    for _ in range(_ROUNDS):
        found = solver.first_that_fits(sharp)
        if found is None:
            break
        best, residual = found, float(found.ritz.residuals.max(initial=0.0))
        if max(found.pair_error, residual) <= tol:
            return found
        if found.pair_error <= 2 * residual:  # sharper sums would not help
            break
        sharp /= 10
    if best is None:
        raise invalid(
            "bandwidth",
            "one that landmarks can carry, a larger one or 'auto', for rows in blocks",
            f"{cloud.cloud.bandwidth:g} for points that reach over "
            f"{float(cloud.extent.max()):.3g} of it",
        )
    warn_caller(
        f"the measured error {best.pair_error:.1e} of the fast sum, or the residual "
        f"{float(best.ritz.residuals.max(initial=0.0)):.1e} of eigenpairs, stays above tol={tol:g}",
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

    @property
    def _n_joined(self) -> int:
        sizes = self.components.sizes
        return int(sizes[sizes > 1].sum())

    def first_that_fits(self, tol: float) -> PointSpectrum | None:
        """The first kernel whose measured error is at most `tol`."""
        for kernel in self._kernels(tol):
            found = self._try(kernel, tol)
            if found is not None and found.error <= tol:
                return found
        return None

    def _kernels(self, tol: float) -> Iterator[KernelRows]:
        """Ways to represent the kernel, the cheapest first."""
        nowhere = self._points.part(self.cloud.coordinates[:0])
        for sharpening in SHARPENINGS:
            landmarks, pivot_tol = landmark_choice(self.cloud, tol * sharpening, self.seed)
            if landmarks is None:
                break
            yield LandmarkRows.of(nowhere, landmarks, pivot_tol)
        landmarks, pivot_tol = random_choice(self.cloud, tol, self.seed)
        if landmarks is not None:
            yield LandmarkRows.of(nowhere, landmarks, pivot_tol)

    def _try(self, kernel: KernelRows, tol: float) -> PointSpectrum | None:
        tell("summing the kernel")
        waves = Waves.of(self.cloud, self.seed)
        drawn = self.cloud.take(drawn_rows(self.cloud.n, self.seed))
        everything = (self.blocks, self._points, kernel, self.components)
        columns = kernel_sums(*everything, waves, drawn)
        rows = Normaliser(kernel, self.components, columns.tests[:, 0], self.loop)
        kappas = np.ones(1)
        grams = gram_sums(self.blocks, self._points, rows, waves, kappas)
        if grams.unusable:
            return None
        rows = replace(rows, squares=grams.squares)
        first = self._error(rows, waves, columns.tests, drawn, columns.exact, grams, 0)
        missing = self._missing(rows, grams)
        if first is None or max(first, missing) > tol:
            return None
        # Those of lowest degree stand for themselves, the others for all.
        lowest = grams.lowest[:LOWEST_DEGREES]
        others = drawn[~(drawn[:, None] == lowest[None]).all(axis=2).any(axis=1)]
        probes = np.concatenate([lowest, others])
        tell("computing eigenpairs")
        trial, sums, ritz = self._pairs(rows, waves, grams, kappas, probes)
        for nodes in _NODES:
            if ritz.residuals.max(initial=0.0) <= self.tol or self.loop == 1.0:
                break
            kappas = _nodes(ritz.values, nodes, grams.shift_low)
            more = gram_sums(self.blocks, self._points, rows, waves, kappas)
            trial, sums, ritz = self._pairs(rows, waves, more, kappas, probes)
        certain = len(lowest)
        error = self._error(rows, waves, columns.tests, probes, sums.exact, grams, certain)
        if error is None:
            return None
        found = PointSpectrum(
            self.cloud,
            rows,
            columns,
            trial,
            sums,
            ritz,
            (grams.shift_low, grams.shift_high),
            max(error, missing),
            0.0,
        )
        return replace(found, pair_error=_pair_error(found, probes, certain))

    def _pairs(
        self,
        rows: Normaliser,
        waves: Waves,
        grams: GramSums,
        kappas: FloatArray,
        probes: FloatArray,
    ) -> tuple[Trial, RitzSums, Ritz]:
        joined = len(self.components.joined)
        trial = trial_basis(rows.kernel, grams, kappas, self.count, joined, self._n_joined)
        sums = ritz_sums(self.blocks, self._points, rows, waves, trial.basis, probes)
        return trial, sums, rayleigh_ritz(trial, sums, self.count)

    def _error(
        self,
        rows: Normaliser,
        waves: Waves,
        tests: FloatArray,
        probes: FloatArray,
        exact: FloatArray,
        grams: GramSums,
        certain: int,
    ) -> float | None:
        """Error of the sums at some points, from their exact kernel rows times test vectors."""
        (piece,) = rows.pieces(probes, tests)
        own = waves.rows(probes)
        with np.errstate(divide="ignore"):
            scale = np.where(piece.degrees > 0, 1.0 / np.sqrt(piece.degrees), 0.0)

        def total(squares: FloatArray) -> FloatArray:
            return extrapolate(squares, certain, self.cloud.n)

        return sampled_error(piece.product - exact, exact - own, scale, grams.norms, total)

    def _missing(self, rows: Normaliser, grams: GramSums) -> float:
        kernel = rows.kernel
        if not isinstance(kernel, LandmarkRows):
            return 0.0
        return worst_missing(kernel.factor.evaluate(grams.lowest), 1.0 / np.sqrt(grams.degrees))


def _nodes(values: FloatArray, count: int, shift_low: float) -> FloatArray:
    """Chebyshev points of the logarithms of κ = 1/(1 − λ) among the eigenvalues found."""
    ends = 1.0 / np.maximum(1.0 - values[[0, -1]], 1.0 / _LARGEST_KAPPA)
    if shift_low < 1.0:  # 1 + κ(σ − 1) has to stay positive
        ends = np.minimum(ends, 0.9 / (1.0 - shift_low))
    low, high = np.log(ends)
    places = np.cos(np.pi * (np.arange(count) + 0.5) / count)[::-1]
    nodes: FloatArray = np.exp(low + (high - low) * (places + 1.0) / 2.0)
    return nodes


def _pair_error(found: PointSpectrum, probes: FloatArray, certain: int) -> float:
    """Estimate of ‖𝓛u − λu‖ with exact weights, the largest over all pairs."""
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
