"""Fitting, step by step: rows → graph → Laplacian → eigenpairs → kernels → networks → model."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowrankgcn._parallel import map_chunks
from lowrankgcn._progress import report_progress
from lowrankgcn._validation import invalid
from lowrankgcn.estimators.class_labels import Labels
from lowrankgcn.estimators.gcn_graph import point_graph
from lowrankgcn.estimators.gcn_kernels import (
    choose_kernels,
    full_scale,
    orient,
    scale_kernels,
    without_rounding,
)
from lowrankgcn.estimators.gcn_model import CHUNK_ROWS, Ensemble, Model
from lowrankgcn.estimators.gcn_training import (
    check_device,
    full_rank_ensemble,
    low_rank_ensemble,
    train_restarts,
)
from lowrankgcn.estimators.inputs import Inputs, PointInputs, TableInputs
from lowrankgcn.estimators.parameters import Settings
from lowrankgcn.estimators.rows import Rows
from lowrankgcn.graphs import AdjacencyGraph, Graph, Hypergraph
from lowrankgcn.operators import FloatArray
from lowrankgcn.spectral.extension import compress_eigenvectors, cross_affinity
from lowrankgcn.spectral.kernel import Kernel
from lowrankgcn.spectral.laplacian import Laplacian
from lowrankgcn.spectral.spectrum import Eigenpairs
from lowrankgcn.training import limit_threads

_WORK_OF_A_ROW = 1000


def fit(
    rows: Rows, labels: Labels, settings: Settings, sample_weight: FloatArray, seed: int
) -> dict[str, Any]:
    """Fit the network to the labelled rows, and return the attributes of the classifier.

    ``_model`` is None if the graph cannot be extended to new rows. Small problems use one thread,
    which is faster.
    """
    check_device(settings.device)
    with limit_threads(labels.n_rows * _WORK_OF_A_ROW):
        times = [time.perf_counter()]
        report_progress("building the graph")
        inputs, table, graph = _read(rows, settings, seed)
        if graph.n_nodes != labels.n_rows:
            raise invalid("graph", f"{labels.n_rows} nodes, as many as rows", graph.n_nodes)
        laplacian = Laplacian(graph, settings.smoother, tol=settings.tol)
        report_progress("computing eigenpairs")
        kernels = choose_kernels(laplacian, settings, labels.n_classes, seed)
        pairs = kernels[0].eigenpairs
        kernels, X, scale = _features(kernels, rows, inputs, table, settings)
        times.append(time.perf_counter())
        networks, record = train_restarts(kernels, X, scale, labels, settings, sample_weight, seed)
        times.append(time.perf_counter())
        report_progress("predicting")
        sources: Eigenpairs | FloatArray
        if pairs is None:
            ensemble, sources, vectors = full_rank_ensemble(networks, X)
            shares = _classify(ensemble, vectors, X)
        else:
            ensemble, sources = low_rank_ensemble(networks, record, X), pairs
            shares = _classify(ensemble, pairs.eigenvectors, None)
        unplaced = np.isin(graph.components, graph.components[labels.index], invert=True)
        shares[unplaced] = 1.0 / labels.n_classes
        alone = graph.isolated[labels.index]  # isolated rows keep their own label
        shares[labels.index[alone]] = np.eye(labels.n_classes)[labels.codes[alone]]
        model = None
        # A graph given in addition to X accepts new rows only if it was built from X.
        if not isinstance(settings.graph, Graph) or (
            rows.kind == graph.row_kind and graph.is_built_from(rows.data)
        ):
            model = _model(inputs, laplacian, ensemble, sources, ~unplaced)
        times.append(time.perf_counter())
    steps = ("set-up", "training", "prediction")
    return {
        "label_distributions_": shares,
        "laplacian_": laplacian,
        "graph_": graph,
        "eigenpairs_": pairs,
        "networks_": networks,
        "loss_curve_": record.loss_curve,
        "n_iter_": int(record.n_iter.max()),
        "timings_": dict(zip(steps, np.diff(times).tolist(), strict=True)),
        "unplaced_": unplaced,
        "_model": model,
    }


def _read(rows: Rows, settings: Settings, seed: int) -> tuple[Inputs | None, Graph | None, Graph]:
    """Return inputs and graph, and the hypergraph of a table; inputs are None without features."""
    raw = not settings.scaling
    kind, data = rows.kind, rows.data
    if kind == "graph":
        return None, None, data
    if kind == "affinities":
        return None, None, AdjacencyGraph(data)
    if kind == "incidence":
        return None, None, Hypergraph(data)
    given = settings.graph if isinstance(settings.graph, Graph) else None
    if kind == "table":
        table = Hypergraph.from_table(data)
        encoded = TableInputs.fit(data, table, raw_features=raw)
        return encoded, table, table if given is None else given
    named = settings.bandwidth is not None  # a given bandwidth is in the units of the columns
    inputs = PointInputs.fit(data, raw_features=raw, raw_points=given is not None or named or raw)
    if given is not None:
        return inputs, None, given
    assert isinstance(settings.graph, str)
    kind_of_graph = "gaussian" if settings.graph == "auto" and (named or raw) else settings.graph
    points = inputs.rows(data)
    return inputs, None, point_graph(kind_of_graph, points, settings.bandwidth, random_state=seed)


def _features(
    kernels: tuple[Kernel, ...],
    rows: Rows,
    inputs: Inputs | None,
    table: Graph | None,
    settings: Settings,
) -> tuple[tuple[Kernel, ...], FloatArray, float]:
    """Return scaled kernels, the features X or UᵀX, and their factor in training."""
    pairs, n = kernels[0].eigenpairs, kernels[0].n
    if pairs is None:
        if inputs is None:
            raise invalid("X", "features for architecture='full'", "a graph alone")
        X = inputs.features(rows.data)
        return kernels, X, full_scale(kernels, X) if settings.scaling else 1.0
    if inputs is None:  # the features are √n U
        inner = math.sqrt(n) * np.eye(pairs.rank)
    else:
        inner = without_rounding(*inputs.project(rows.data, pairs.eigenvectors, table))
        inner = orient(pairs, inner) if settings.scaling else inner
    if not settings.scaling:
        return kernels, inner, 1.0
    scaled, scale = scale_kernels(kernels, inner, reduced=settings.architecture == "reduced")
    return scaled, inner, scale


def _classify(
    ensemble: Ensemble, vectors: NDArray[np.floating], features: FloatArray | None
) -> FloatArray:
    """Compute class distributions of the fitted rows, shape (n, C)."""

    def classify(start: int, stop: int) -> FloatArray:
        part = None if features is None else features[start:stop]
        return ensemble.forward(vectors[start:stop], part)

    return np.concatenate(map_chunks(classify, len(vectors), CHUNK_ROWS))


def _model(
    inputs: Inputs | None,
    laplacian: Laplacian,
    ensemble: Ensemble,
    sources: Eigenpairs | FloatArray,
    reached: NDArray[np.bool_],
) -> Model:
    """Build the model of new rows; `reached` marks the rows of components with a label."""
    cross = cross_affinity(laplacian)
    root = cross.compress(np.where(reached, np.sqrt(laplacian.degrees), 0.0)[:, None])
    if isinstance(sources, Eigenpairs):
        extended = compress_eigenvectors(cross, sources)
    else:
        extended = cross.compress(sources)
    return Model(inputs, cross, np.hstack([root, extended]), ensemble)
