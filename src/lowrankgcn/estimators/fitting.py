"""Fitting, step by step: rows → graph → Laplacian → eigenpairs → candidates → networks."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import torch
from numpy.typing import NDArray

from lowrankgcn._progress import report_progress
from lowrankgcn._validation import invalid
from lowrankgcn.estimators.candidates import Prepared, orient, prepare
from lowrankgcn.estimators.evidence import Evidence, collect_evidence
from lowrankgcn.estimators.features import TableFeatures
from lowrankgcn.estimators.graph_choice import point_graph
from lowrankgcn.estimators.inputs import GivenInputs, Inputs, PointInputs, TableInputs
from lowrankgcn.estimators.labels import Labels, read_labels
from lowrankgcn.estimators.model import Model, build_model
from lowrankgcn.estimators.proposals import Proposals, propose
from lowrankgcn.estimators.rows import Rows, read_rows
from lowrankgcn.estimators.selection import Selection
from lowrankgcn.estimators.settings import Settings, read_seed, read_settings
from lowrankgcn.estimators.trained import TrainedNetwork
from lowrankgcn.estimators.training_task import TrainingTask
from lowrankgcn.graphs import AdjacencyGraph, Graph, Hypergraph
from lowrankgcn.operators import FloatArray
from lowrankgcn.spectral.laplacian import Laplacian
from lowrankgcn.spectral.spectrum import Eigenpairs
from lowrankgcn.training import Features, TensorFeatures, limit_threads

__all__ = ["Clock", "Fitted", "fit", "predict_without", "read", "read_data", "set_up"]

_WORK_OF_A_ROW = 1000
_ORTHOGONAL = 1e-8


@final
@dataclass(frozen=True, eq=False)
class Fitted:
    """Result of a fit.

    For rows in blocks the graph does not hold its rows, and arrays per row are lazy.
    """

    graph: Any
    laplacian: Laplacian
    pairs: Eigenpairs | None
    networks: tuple[TrainedNetwork, ...]
    selection: Selection
    distributions: Any  # (n, C)
    transduction: Any  # (n,)
    unplaced: Any  # (n,)
    model: Model | None
    evidence: Evidence | None
    timings: dict[str, float]


@final
@dataclass(frozen=True, eq=False)
class SetUp:
    """The part of a fit that does not depend on the labels."""

    inputs: Inputs
    laplacian: Laplacian
    proposals: Proposals
    features: Features
    prepared: tuple[Prepared, ...]


def fit(
    rows: Rows, labels: Labels, settings: Settings, sample_weight: FloatArray | None, seed: int
) -> Fitted:
    """Fit networks to the labelled rows; small problems use one thread, which is faster."""
    with limit_threads(labels.n_rows * _WORK_OF_A_ROW):
        clock = Clock()
        report_progress("building the graph")
        ready = set_up(rows, labels, settings, seed)
        clock.note("set-up")
        task = TrainingTask(labels, settings, sample_weight, seed, ready.features)
        scores, shares = task.compare(ready.prepared)
        clock.note("selection")
        networks = task.train(ready.prepared, shares)
        clock.note("training")
        report_progress("predicting")
        laplacian, proposals = ready.laplacian, ready.proposals
        graph = laplacian.graph
        distributions = _distributions(graph, labels, networks)
        unplaced = _unplaced(graph, labels)
        model, evidence = None, None
        # A graph given in addition to X accepts new rows only if it was built from X.
        if not isinstance(settings.graph, Graph) or (
            rows.kind == graph.row_kind and graph.is_built_from(rows.data)
        ):
            model = build_model(ready.inputs, laplacian, proposals.pairs, networks, ~unplaced)
            evidence = collect_evidence(model, networks, graph, rows.data, labels)
        clock.note("prediction")
    return Fitted(
        graph,
        laplacian,
        proposals.pairs,
        networks,
        Selection.from_scores(proposals.candidates, scores, shares),
        distributions,
        labels.classes[distributions.argmax(axis=1)],
        unplaced,
        model,
        evidence,
        clock.seconds,
    )


def set_up(rows: Rows, labels: Labels, settings: Settings, seed: int) -> SetUp:
    """Build graph, Laplacian, eigenpairs and candidates; of the labels only C is used."""
    inputs, features, graph = read(rows, settings, seed)
    if graph.n_nodes != labels.n_rows:
        raise invalid("graph", f"{labels.n_rows} nodes, as many as rows", graph.n_nodes)
    laplacian = Laplacian(graph, settings.smoother, tol=settings.tol)
    report_progress("computing eigenpairs")
    proposals = propose(laplacian, settings, labels.n_classes, seed)
    if inputs is None or features is None:
        inputs, features = _spectral_inputs(laplacian, proposals)
    inner: FloatArray | None = None
    if (pairs := proposals.pairs) is not None:  # UᵀX, shared by all candidates
        products = features.inner(torch.as_tensor(pairs.eigenvectors)).double().numpy()
        inner = without_rounding(products, features.square_sum())
        if settings.scaling and not isinstance(inputs, GivenInputs):
            inner = orient(pairs, inner)
    prepared = tuple(
        prepare(candidate, laplacian, features, kernels, inner, scaled=settings.scaling)
        for candidate, kernels in zip(proposals.candidates, proposals.kernels, strict=True)
    )
    return SetUp(inputs, laplacian, proposals, features, prepared)


def predict_without(
    ready: SetUp,
    labels: Labels,
    held_out: NDArray[np.bool_],
    settings: Settings,
    sample_weight: FloatArray | None,
    seed: int,
) -> NDArray[np.intp]:
    """Predict the classes, as positions, of labelled rows that are held out of training.

    Parameters
    ----------
    held_out : (p,) bool array
        Labelled rows to hold out; each class keeps at least one.
    """
    known = Labels(labels.classes, labels.index[~held_out], labels.codes[~held_out], labels.n_rows)
    with limit_threads(labels.n_rows * _WORK_OF_A_ROW):
        task = TrainingTask(known, settings, sample_weight, seed, ready.features)
        networks = task.train(ready.prepared, task.compare(ready.prepared)[1])
        distributions = _distributions(ready.laplacian.graph, known, networks)
    found: NDArray[np.intp] = distributions[labels.index[held_out]].argmax(axis=1)
    return found


def _distributions(
    graph: Graph, labels: Labels, networks: tuple[TrainedNetwork, ...]
) -> FloatArray:
    """Compute class distributions of all rows, shape (n, C)."""
    distributions = np.zeros((labels.n_rows, labels.n_classes))
    for trained in networks:
        trained.add_to(distributions)
    distributions[_unplaced(graph, labels)] = 1.0 / labels.n_classes
    alone = graph.isolated[labels.index]  # isolated rows keep their own label
    distributions[labels.index[alone]] = np.eye(labels.n_classes)[labels.codes[alone]]
    distributions /= distributions.sum(axis=1, keepdims=True)
    return distributions


class Clock:
    """Stopwatch for the steps of a fit."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._last = time.perf_counter()

    def note(self, step: str) -> None:
        """Record the end of a step."""
        now = time.perf_counter()
        self.seconds[step] = now - self._last
        self._last = now


def read_data(estimator: Any, X: Any, y: Any) -> tuple[Rows, Labels, Settings, int]:
    """Validate the parameters of an estimator and its data, and draw a seed."""
    settings = read_settings(estimator.get_params(deep=False))
    rows, labels = read_rows(estimator, X, settings.graph), read_labels(y)
    if labels.n_rows != rows.n_rows:
        raise invalid("y", f"{rows.n_rows} labels, as many as X has rows", labels.n_rows)
    return rows, labels, settings, read_seed(estimator.random_state)


def read(rows: Rows, settings: Settings, seed: int) -> tuple[Inputs | None, Features | None, Graph]:
    """Return inputs, features and graph; inputs and features are None for rows without features."""
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
        encoded_features = TableFeatures.from_table(encoded, data, table)
        return encoded, encoded_features, table if given is None else given
    named = settings.bandwidth != "auto"  # a given bandwidth is in the units of the columns
    as_given = given is not None or named or raw
    inputs = PointInputs.fit(data, raw_features=raw, raw_points=as_given)
    features = TensorFeatures(torch.from_numpy(np.ascontiguousarray(inputs.features(data))))
    if given is not None:
        return inputs, features, given
    assert isinstance(settings.graph, str)
    kind_of_graph = "gaussian" if settings.graph == "auto" and (named or raw) else settings.graph
    graph = point_graph(kind_of_graph, inputs.rows(data), settings.bandwidth, random_state=seed)
    return inputs, features, graph


def _spectral_inputs(laplacian: Laplacian, proposals: Proposals) -> tuple[Inputs, Features]:
    """Use the eigenvectors √n U as features."""
    pairs = proposals.pairs
    if pairs is None:
        raise invalid("X", "features for architecture='full'", "a graph alone")
    inputs = GivenInputs(pairs.rank, math.sqrt(laplacian.n))
    coordinates = inputs.scale * np.asarray(pairs.eigenvectors, np.float64)
    return inputs, TensorFeatures(torch.from_numpy(coordinates))


def without_rounding(inner: FloatArray, square_sum: float) -> FloatArray:
    """Set rounding errors in UᵀX to zero, for features of the given sum of squares.

    Otherwise rounding would decide on which side of its kink an activation starts.
    """
    length = math.sqrt(square_sum / inner.shape[1])  # typical norm of a column
    return np.where(np.abs(inner) > _ORTHOGONAL * length, inner, 0.0)


def _unplaced(graph: Graph, labels: Labels) -> NDArray[np.bool_]:
    """Return a mask of the rows in components without a label."""
    return np.isin(graph.components, graph.components[labels.index], invert=True)
