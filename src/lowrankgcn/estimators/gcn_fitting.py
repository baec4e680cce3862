"""Fitting of a network: rows → graph → Laplacian → eigenpairs → kernels → networks → model."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from lowrankgcn._progress import report_progress
from lowrankgcn._validation import invalid
from lowrankgcn.estimators.class_labels import Labels
from lowrankgcn.estimators.gcn_model import GCNModel
from lowrankgcn.estimators.gcn_setup import (
    build_graph,
    choose_kernels,
    full_scale,
    orient,
    scale_kernels,
    without_rounding,
)
from lowrankgcn.estimators.gcn_training import (
    check_device,
    full_rank_distributions,
    low_rank_ensemble,
    train_restarts,
)
from lowrankgcn.estimators.inputs import Inputs, project
from lowrankgcn.estimators.parameters import GCNParameters
from lowrankgcn.estimators.rows import Rows
from lowrankgcn.estimators.sampling import NOT_BUILT_FROM_X, Sample
from lowrankgcn.graphs import Graph
from lowrankgcn.nn import TrainingRecord, limit_threads
from lowrankgcn.operators import FloatArray
from lowrankgcn.spectral.extension import Extension
from lowrankgcn.spectral.kernel import Kernel
from lowrankgcn.spectral.laplacian import Laplacian

_WORK_OF_A_ROW = 1000
_FULL_RANK = "new rows, which take architecture='low-rank' or 'reduced'"


@final
@dataclass(frozen=True, eq=False)
class FittedGCN:
    """Result of a fit.

    Attributes
    ----------
    sample : Sample
        Rows that graph and network were fitted to.
    kernels : tuple of Kernel
        With Laplacian and eigenpairs.
    networks : list of Network
    record : TrainingRecord
    distributions : (n, C) array
    unplaced : (n,) bool array
    model : GCNModel or None
        None if only the fitted rows can be classified.
    fitted_only : str
        Why; empty if new rows can be classified.
    timings : dict
    """

    sample: Sample
    kernels: tuple[Kernel, ...]
    networks: list[Any]
    record: TrainingRecord
    distributions: FloatArray
    unplaced: NDArray[np.bool_]
    model: GCNModel | None
    fitted_only: str
    timings: dict[str, float]


def fit_gcn(
    rows: Rows, labels: Labels, settings: GCNParameters, sample_weight: FloatArray, seed: int
) -> FittedGCN:
    """Fit the network to the labelled rows, and classify all rows.

    Small problems use one thread, which is faster.
    """
    check_device(settings.device)
    full = settings.architecture == "full"
    fit_rows = rows.n_rows if full else settings.fit_rows
    sample = Sample.draw(rows, settings.graph, labels.index, fit_rows, seed)
    labels, sample_weight = labels.within(sample.index), sample_weight[sample.index]
    with limit_threads(labels.n_rows * _WORK_OF_A_ROW):
        times = [time.perf_counter()]
        report_progress("building the graph")
        inputs, graph = build_graph(rows.kind, sample.data, settings, seed)
        if graph.n_nodes != labels.n_rows:
            raise invalid("graph", f"{labels.n_rows} nodes, as many as rows", graph.n_nodes)
        smoother = settings.smoother
        if np.shape(smoother) == (rows.n_rows,):
            smoother = np.asarray(smoother)[sample.index]
        laplacian = Laplacian(graph, smoother, tol=settings.tol)
        report_progress("computing eigenpairs")
        kernels = choose_kernels(laplacian, settings, labels.n_classes, seed)
        kernels, X, scale = _features(kernels, sample.data, inputs, settings)
        times.append(time.perf_counter())
        networks, record = train_restarts(kernels, X, scale, labels, settings, sample_weight, seed)
        times.append(time.perf_counter())
        report_progress("predicting")
        unplaced = np.isin(graph.components, graph.components[labels.index], invert=True)
        pairs, model, fitted_only = kernels[0].eigenpairs, None, ""
        if pairs is None:
            shares, fitted_only = full_rank_distributions(networks, X), _FULL_RANK
        else:
            ensemble = low_rank_ensemble(networks, record, X)
            shares = ensemble.distributions(pairs.eigenvectors)
            if _reads_new_rows(settings.graph, rows):
                extension = Extension.fit(laplacian, pairs, reached=~unplaced)
                model = GCNModel(inputs, extension, ensemble)
            else:
                fitted_only = NOT_BUILT_FROM_X
        shares[unplaced] = np.nan
        alone = graph.isolated[labels.index]  # isolated rows keep their own label
        shares[labels.index[alone]] = np.eye(labels.n_classes)[labels.codes[alone]]
        if model is not None:
            classify = model.placed_distributions
            shares = sample.complete(shares, lambda: classify(rows.take(sample.rest)))
        unplaced = np.isnan(shares[:, 0])
        shares[unplaced] = 1.0 / labels.n_classes
        times.append(time.perf_counter())
    steps = ("set-up", "training", "prediction")
    timings = dict(zip(steps, np.diff(times).tolist(), strict=True))
    return FittedGCN(
        sample, kernels, networks, record, shares, unplaced, model, fitted_only, timings
    )


def _reads_new_rows(graph: str | Graph, rows: Rows) -> bool:
    """Return whether the graph was built from the rows; a given graph may be another one's."""
    if isinstance(graph, str):
        return True
    return rows.kind == graph.row_kind and graph.is_built_from(rows.data)


def _features(
    kernels: tuple[Kernel, ...],
    data: Any,
    inputs: Inputs | None,
    settings: GCNParameters,
) -> tuple[tuple[Kernel, ...], FloatArray, float]:
    """Return scaled kernels, the features X or UᵀX, and their factor in training."""
    pairs, n = kernels[0].eigenpairs, kernels[0].n
    if pairs is None:
        if inputs is None:
            raise invalid("X", "features for architecture='full'", "a graph alone")
        X = inputs.features(data)
        return kernels, X, full_scale(kernels, X) if settings.scaling else 1.0
    if inputs is None:  # the features are √n U
        inner = math.sqrt(n) * np.eye(pairs.rank)
    else:
        inner = without_rounding(*project(inputs, data, pairs.eigenvectors))
        inner = orient(pairs, inner) if settings.scaling else inner
    if not settings.scaling:
        return kernels, inner, 1.0
    scaled, scale = scale_kernels(kernels, inner, reduced=settings.architecture == "reduced")
    return scaled, inner, scale
