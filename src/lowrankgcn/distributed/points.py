"""Set-up of points in blocks.

>>> import dask.array as da, numpy as np
>>> import lowrankgcn as lg
>>> from lowrankgcn.distributed.blocks import Blocks
>>> from lowrankgcn.estimators.settings import read_settings
>>> X = np.random.default_rng(0).normal(size=(3000, 2))
>>> classifier = lg.GCNClassifier(rank=5, bandwidth=2.0)
>>> classifier.n_features_in_ = 2
>>> settings = read_settings(classifier.get_params())
>>> blocks = Blocks.from_collection(da.from_array(X, chunks=(1000, 2)))
>>> known = set_up_points(blocks, classifier, settings, (1000,) * 3, seed=0)
>>> known.graph
BlockPoints(3000 points in 2 dimensions, bandwidth=2)
>>> whole = lg.eigenpairs(lg.Laplacian(lg.GaussianGraph(X, 2.0), tol=1e-4), 5)
>>> bool(abs(known.pairs.eigenvalues - whole.eigenvalues).max() < 2e-4)
True
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from lowrankgcn._progress import report_progress
from lowrankgcn._validation import choice, invalid, positive_float
from lowrankgcn.distributed.blocks import Blocks
from lowrankgcn.distributed.cloud import PointReader, SampledCloud, fit_cloud
from lowrankgcn.distributed.graph import BlockPoints
from lowrankgcn.distributed.kernel_rows import LandmarkRows, ModeRows
from lowrankgcn.distributed.point_components import find_components
from lowrankgcn.distributed.point_spectrum import PointSpectrum, solve
from lowrankgcn.distributed.point_vectors import FittedPoints, PointPairs, PointVectors
from lowrankgcn.distributed.result import LabelReach, SetUpResult
from lowrankgcn.distributed.signs import rule_signs
from lowrankgcn.estimators.candidates import overlap_signs
from lowrankgcn.estimators.classifier import GCNClassifier
from lowrankgcn.estimators.fitting import without_rounding
from lowrankgcn.estimators.graph_choice import fast_sum_is_cheaper
from lowrankgcn.estimators.inputs import PointInputs
from lowrankgcn.estimators.labels import Labels
from lowrankgcn.estimators.model import ExtendedVectors, Model, extend
from lowrankgcn.estimators.proposals import rank_for, suppress_rank_warnings
from lowrankgcn.estimators.rows import Kind
from lowrankgcn.estimators.settings import Settings
from lowrankgcn.estimators.trained import TrainedNetwork
from lowrankgcn.exceptions import RankWarning, warn_caller
from lowrankgcn.graphs import GaussianGraph
from lowrankgcn.graphs.cross.gaussian import FourierCross, LandmarkCross, misfit_of, misfit_rows
from lowrankgcn.operators import DenseFactor, FloatArray
from lowrankgcn.spectral.dominance import choose_among_smallest
from lowrankgcn.spectral.filters import Filter
from lowrankgcn.spectral.laplacian import SMOOTHERS, Laplacian
from lowrankgcn.spectral.spectrum import warn_if_cut_degenerate

__all__ = ["PointSetUp", "common_loop", "set_up_points"]

_LAPLACIAN_POINTS = 500  # points of the small Laplacian


@final
@dataclass(frozen=True, eq=False)
class PointSetUp(SetUpResult):
    """Result of the set-up of points; see :class:`SetUpResult`.

    Attributes
    ----------
    spectrum : PointSpectrum
    point_vectors : PointVectors
        Eigenvectors with the signs used in training.
    compressed : (m, r) array
        FᵀTU.
    """

    spectrum: PointSpectrum
    point_vectors: PointVectors
    compressed: FloatArray
    square_sum: float
    pairs: PointPairs
    inner: FloatArray
    filters: tuple[Filter, ...] | None

    kind: Kind = "points"

    @property
    def cloud(self) -> SampledCloud:
        """Points with the sample in memory."""
        return self.spectrum.cloud

    @property
    def inputs(self) -> PointInputs:  # type: ignore[override]  # read only
        """Features and units of the graph."""
        return self.cloud.cloud.inputs

    @property
    def lengths(self) -> tuple[int, ...]:
        """Number of rows of each block."""
        return self.cloud.cloud.lengths

    @property
    def graph(self) -> BlockPoints:
        """Size, components, bandwidth and error of the graph."""
        return BlockPoints(
            self.n_rows,
            self.cloud.dimension,
            self.spectrum.rows.components.n_components,
            self.cloud.cloud.bandwidth,
            self.spectrum.rows.kernel.method,
            self.spectrum.error,
        )

    @cached_property
    def laplacian(self) -> Laplacian:
        """Laplacian of at most 500 of the points."""
        some = self.cloud.coordinates[:: -(-len(self.cloud.index) // _LAPLACIAN_POINTS)]
        return Laplacian(GaussianGraph(some, 1.0), self.spectrum.rows.loop)

    @property
    def vectors(self) -> PointVectors:
        """Rows of the eigenvectors."""
        return self.point_vectors

    @property
    def reader(self) -> Callable[[Any], FloatArray]:
        """Function that reads the points of a block."""
        return self.cloud.cloud.reader.points

    def reach(self, labelled: Any) -> LabelReach:
        """Return the components that have labelled rows."""
        components = self.spectrum.rows.components
        place = components.at(self.cloud.cloud.place(labelled))
        reached = np.zeros(components.n_components, bool)
        reached[place] = True
        out_of_reach = int(components.sizes[~reached].sum())
        return LabelReach(reached, components.sizes[place] == 1, out_of_reach)

    def models(
        self,
        networks: tuple[TrainedNetwork, ...],
        labels: Labels,
        reach: LabelReach,
    ) -> tuple[Model, Model]:
        """Return the models of new rows and of the fitted rows."""
        p = len(labels.index)
        rows = np.vstack([np.zeros((p, len(self.compressed))), self.compressed.T])
        cross = self._cross(DenseFactor(rows))
        joined = self.spectrum.rows.components.joined
        root = self.spectrum.columns.components[:, reach.parts[joined]].sum(axis=1, keepdims=True)
        extended = ExtendedVectors(cross, root)
        extended_networks = tuple(extend(trained, self.laplacian, extended) for trained in networks)
        later = replace(cross, columns=None)
        model = Model(self.inputs, later, extended.basis(), extended_networks, labels.n_classes)
        own = [np.asarray(used.eigenvectors[p:], np.float64) for used in extended.pairs]
        picks = np.hstack([np.zeros((self.pairs.rank, 1)), *own])
        first = np.eye(1, picks.shape[1])
        fitted = FittedPoints(loop_weight=0.0, vectors=self.point_vectors, reached=reach.parts)
        return model, replace(model, cross=fitted, basis=np.vstack([first, picks]))

    def _cross(self, columns: DenseFactor) -> LandmarkCross | FourierCross:
        kernel, cloud, grams = self.spectrum.rows.kernel, self.cloud, self.spectrum.grams
        if isinstance(kernel, ModeRows):
            drawn = cloud.take(misfit_rows(cloud.n))[::2]
            guides = np.unique(np.concatenate([grams.lowest, drawn]), axis=0)
            return FourierCross(
                loop_weight=self.spectrum.rows.loop,
                columns=columns,
                centre=cloud.cloud.centre,
                bandwidth=cloud.cloud.bandwidth,
                grid=kernel.grid,
                sums=self.spectrum.rows.column_sums,
                guides=guides,
                least_degree=(1.0 + float(grams.degrees.min(initial=np.inf))) / 2,
            )
        assert isinstance(kernel, LandmarkRows)
        sample = kernel.factor.evaluate(cloud.take(misfit_rows(cloud.n)))
        return LandmarkCross(
            loop_weight=self.spectrum.rows.loop,
            columns=columns,
            centre=cloud.cloud.centre,
            bandwidth=cloud.cloud.bandwidth,
            landmarks=np.ascontiguousarray(kernel.factor.landmarks),
            inverse_root=np.ascontiguousarray(kernel.factor.inverse_root),
            column_sums=self.spectrum.rows.column_sums,
            misfit=misfit_of(sample, cloud.n),
        )


def common_loop(smoother: Any) -> float | None:
    """Return the loop weight that all points have with a smoother; None if they differ.

    >>> common_loop("identity"), common_loop(None), common_loop(0.5), common_loop([1.0, 2.0])
    (1.0, 0.0, 0.5, None)
    """
    if isinstance(smoother, str):
        choice(smoother, "smoother", SMOOTHERS)
    if smoother is None or isinstance(smoother, str):
        return 1.0 if smoother in ("identity", "combined") else 0.0
    return positive_float(smoother, "smoother", zero=True) if np.ndim(smoother) == 0 else None


def set_up_points(
    blocks: Blocks,
    classifier: GCNClassifier,
    settings: Settings,
    lengths: Sequence[int],
    seed: int,
) -> PointSetUp:
    """Read the points, sum the kernel and compute eigenpairs.

    Raises
    ------
    ValueError
        If a value is missing, or no summation method can represent the kernel.
    """
    report_progress("reading the points")
    cloud = fit_cloud(blocks, PointReader.from_classifier(classifier), settings, lengths, seed)
    free = settings.graph == "auto" and settings.bandwidth == "auto" and settings.scaling
    if free and not fast_sum_is_cheaper(cloud, seed):
        raise invalid(
            "graph",
            "'gaussian' with a bandwidth, or fewer rows or columns: these points need nearest "
            "neighbours, which are only available in memory",
            "'auto'",
        )
    components = find_components(blocks, cloud.cloud)
    rank = rank_for(cloud.n, None, settings)
    loop = common_loop(settings.smoother)
    assert loop is not None
    dimension = components.n_components
    zeros = min(dimension, rank)
    available = cloud.n - dimension
    # One extra pair shows whether the cut splits a multiple eigenvalue.
    wanted = rank - zeros if settings.filters is None else rank
    with suppress_rank_warnings(settings):
        found = solve(
            blocks,
            cloud,
            components,
            loop=loop,
            count=min(wanted + 1, available),
            tol=settings.tol,
            seed=seed,
        )
        values = found.ritz.values
        filters = None
        if settings.filters is None:
            lead, index = zeros, np.arange(min(rank - zeros, len(values)))
            following = float("nan")
            if len(values) > len(index):
                following = float(values[len(index)])
            following = 0.0 if zeros < dimension else following
        else:
            edge = min(2.0, found.grams.shift_high + found.error)
            filters, (lead, index, following) = choose_among_smallest(
                values, dimension, available, rank, settings.filters, edge
            )
        if lead + len(index) < rank:
            warn_caller(
                f"{rank} eigenpairs were requested, but the kernel determines only "
                f"{lead + len(index)}; all other eigenvalues are close to 1.",
                RankWarning,
            )
        pairs = _pairs(found, lead, index, following)
        warn_if_cut_degenerate(pairs.eigenvalues, pairs.residuals, following)
    return _known(blocks, found, lead, index, pairs, filters, settings)


def _pairs(
    found: PointSpectrum, lead: int, index: NDArray[np.intp], following: float
) -> PointPairs:
    # Null vectors are exact up to rounding.
    rounding = np.full(lead, np.finfo(np.float64).eps)
    return PointPairs(
        np.concatenate([np.zeros(lead), found.ritz.values[index]]),
        np.concatenate([rounding, found.ritz.residuals[index]]),
        found.rows.components.n_components,
        found.pair_error,
        following,
        found.rows.kernel.method,
    )


def _known(
    blocks: Blocks,
    found: PointSpectrum,
    lead: int,
    index: NDArray[np.intp],
    pairs: PointPairs,
    filters: tuple[Filter, ...] | None,
    settings: Settings,
) -> PointSetUp:
    sums, ritz = found.sums, found.ritz
    chosen, overlap = ritz.coefficients[:, index], ritz.overlap[:, index]
    own = chosen.T @ sums.features - overlap.T @ sums.null_features
    inner = np.vstack([sums.null_features[:lead], own])
    inner = without_rounding(inner, sums.square_sum)
    vectors = PointVectors.from_spectrum(found, lead, index)
    signs = overlap_signs(inner) if settings.scaling else rule_signs(blocks, vectors)
    signs[:lead] = 1.0
    # FᵀT times the null vectors, zero for isolated points.
    null = np.zeros((len(found.rows.column_sums), pairs.n_components))
    joined = found.rows.components.joined
    assert found.rows.squares is not None
    null[:, joined] = found.columns.components / np.sqrt(found.rows.squares[joined])
    compressed = np.hstack([null[:, :lead], found.trial.compressed(chosen) - null @ overlap])
    return PointSetUp(
        found,
        vectors.signed(signs),
        compressed * signs,
        sums.square_sum,
        pairs,
        inner * signs[:, None],
        filters,
    )
