"""Fitting, step by step: rows → graph → Laplacian → eigenpairs → candidates → networks."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from torch import Tensor

from lowrankgcn._validation import invalid
from lowrankgcn.estimators.candidates import Candidate, Prepared, prepare
from lowrankgcn.estimators.graph_choice import point_graph
from lowrankgcn.estimators.inputs import FloatArray, GivenInputs, Inputs, PointInputs, TableInputs
from lowrankgcn.estimators.labels import Labels
from lowrankgcn.estimators.members import Member, counting, extend
from lowrankgcn.estimators.model import Model
from lowrankgcn.estimators.proposals import Proposals, propose
from lowrankgcn.estimators.reading import Rows
from lowrankgcn.estimators.selection import Score, Selection, share_out, stratified_folds
from lowrankgcn.estimators.settings import PENALTY, Settings
from lowrankgcn.exceptions import warn_caller
from lowrankgcn.extension import compress_eigenvectors, cross_affinity
from lowrankgcn.graphs import AdjacencyGraph, GaussianGraph, Graph, Hypergraph
from lowrankgcn.laplacian import Laplacian
from lowrankgcn.operators.codes import CodeFactor
from lowrankgcn.spectrum import Eigenpairs
from lowrankgcn.training import predict_held_out, threads_for, train

__all__ = ["Clock", "Fitted", "Task", "fit"]

# Rows on which the hidden layer of a low-rank network is evaluated to compare it with others.
_COMPARED_ROWS = 1024
_CONVEX_STEPS = 50
_WORK_OF_A_ROW = 1000
# Shares of the initial loss. On a dozen data sets the default settings end with a last tenth of
# one per cent and a half at most, and with a loss below a half.
_STILL_FALLING = 0.02
_HARDLY_FALLEN = 0.9
_AT_REST = 0.01
_NOTHING = 1e-6
_FEW_ITERATIONS = 50


@final
@dataclass(frozen=True, eq=False)
class Fitted:
    """All that fitting finds out.

    Of rows in blocks, the graph is known without its rows, and what concerns each row is lazy.
    """

    graph: Any
    laplacian: Laplacian
    pairs: Eigenpairs | None
    members: tuple[Member, ...]
    selection: Selection
    distributions: Any  # (n, C)
    unplaced: Any  # (n,)
    model: Model | None
    timings: dict[str, float]


def fit(
    rows: Rows, labels: Labels, settings: Settings, sample_weight: FloatArray | None, seed: int
) -> Fitted:
    """Fit networks to the labelled rows; small problems on one thread, which is faster."""
    with threads_for(labels.n_rows * _WORK_OF_A_ROW):
        return _fit(rows, labels, settings, sample_weight, seed)


def _fit(
    rows: Rows, labels: Labels, settings: Settings, sample_weight: FloatArray | None, seed: int
) -> Fitted:
    clock = Clock()
    inputs, graph = _graph_and_inputs(rows, settings, seed)
    if graph.n_nodes != labels.n_rows:
        raise invalid("graph", f"{labels.n_rows} nodes, as many as rows", graph.n_nodes)
    laplacian = Laplacian(graph, settings.smoother, tol=settings.tol)
    proposals = propose(laplacian, settings, labels.n_classes, seed)
    if inputs is None:
        inputs, features = _spectral_inputs(laplacian, proposals)
    else:
        features = inputs.features(rows.data, np.zeros((0, 0)))  # no vectors are needed for it
    clock.note("set-up")
    task = Task(labels, settings, sample_weight, seed, features)
    prepared = [
        prepare(candidate, laplacian, features, kernels, scaled=settings.scaling)
        for candidate, kernels in zip(proposals.candidates, proposals.kernels, strict=True)
    ]
    scores, shares = task.compare(prepared)
    clock.note("selection")
    members = task.train(prepared, shares)
    clock.note("training")
    distributions = np.zeros((labels.n_rows, labels.n_classes))
    for member in members:
        distributions += member.weight * member.distributions(task.features)
    unplaced = _unplaced(graph, labels)
    distributions[unplaced] = 1.0 / labels.n_classes
    alone = graph.isolated[labels.index]  # nobody but its own label knows anything of such a row
    distributions[labels.index[alone]] = np.eye(labels.n_classes)[labels.codes[alone]]
    distributions /= distributions.sum(axis=1, keepdims=True)
    model = None
    if _joins(graph, rows, settings):
        model = _model(inputs, laplacian, proposals.pairs, members, task.features, labels)
    clock.note("prediction")
    selection = Selection.of(proposals.candidates, scores, shares)
    return Fitted(
        graph,
        laplacian,
        proposals.pairs,
        members,
        selection,
        distributions,
        unplaced,
        model,
        clock.seconds,
    )


class Clock:
    """Seconds that each step took."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._last = time.perf_counter()

    def note(self, step: str) -> None:
        """The step ends now."""
        now = time.perf_counter()
        self.seconds[step] = now - self._last
        self._last = now


def _graph_and_inputs(rows: Rows, settings: Settings, seed: int) -> tuple[Inputs | None, Graph]:
    raw = not settings.scaling
    kind, data = rows.kind, rows.data
    if kind == "graph":
        return None, data
    if kind == "affinities":
        return None, AdjacencyGraph(data)
    if kind == "incidence":
        return None, Hypergraph(data)
    if isinstance(settings.graph, Graph):
        given = settings.graph
        if kind == "points":
            return PointInputs.fit(data, raw_features=raw, raw_points=True), given
        own = Hypergraph.from_table(data)
        return TableInputs.fit(data, own, raw_features=raw), given
    if kind == "table":
        table = Hypergraph.from_table(data)
        return TableInputs.fit(data, table, raw_features=raw), table
    named = settings.bandwidth != "auto"  # a bandwidth is in the units of the columns
    inputs = PointInputs.fit(data, raw_features=raw, raw_points=named or raw)
    assert isinstance(settings.graph, str)
    kind_of_graph = "gaussian" if settings.graph == "auto" and (named or raw) else settings.graph
    graph = point_graph(kind_of_graph, inputs.rows(data), settings.bandwidth, random_state=seed)
    return inputs, graph


def _spectral_inputs(laplacian: Laplacian, proposals: Proposals) -> tuple[Inputs, FloatArray]:
    """The eigenvectors as features, √n U."""
    pairs = proposals.pairs
    if pairs is None:
        raise invalid("X", "features for architecture='full'", "a graph alone")
    inputs = GivenInputs(pairs.rank, math.sqrt(laplacian.n))
    return inputs, inputs.scale * np.asarray(pairs.eigenvectors, np.float64)


def _unplaced(graph: Graph, labels: Labels) -> NDArray[np.bool_]:
    """Rows of components without a label."""
    reached = np.zeros(graph.n_components, bool)
    reached[graph.components[labels.index]] = True
    return ~reached[graph.components]


class Task:
    """The labelled rows, and how networks are trained on them."""

    def __init__(
        self,
        labels: Labels,
        settings: Settings,
        sample_weight: FloatArray | None,
        seed: int,
        features: FloatArray,
    ) -> None:
        self.labels, self.settings, self.seed = labels, settings, seed
        self.sample_weight = None if sample_weight is None else sample_weight[labels.index]
        dtype = torch.float64 if settings.dtype == "float64" else torch.float32
        self.dtype = dtype
        self.features: Tensor = torch.as_tensor(features).to(dtype=dtype, device=settings.device)
        self.generator = np.random.default_rng(seed)

    def compare(self, prepared: list[Prepared]) -> tuple[list[Score], NDArray[np.float64]]:
        """Cross-validated scores and shares of the candidates."""
        candidates = [one.candidate for one in prepared]
        if len(prepared) == 1:
            return [Score.unknown()], np.ones(1)
        codes = self.labels.codes
        weights = self.sample_weight
        folds = stratified_folds(codes, self.generator, weights=weights)
        scores = [Score.unknown() for _ in prepared]
        if len(folds):
            scores = [
                Score.of(self._held_out(one, folds), folds, codes, weights) for one in prepared
            ]
        best = self.settings.selection == "best"
        return scores, share_out(candidates, scores, best=best)

    def train(self, prepared: list[Prepared], shares: NDArray[np.float64]) -> tuple[Member, ...]:
        """Train every candidate that has a share."""
        members = []
        for one, share in zip(prepared, shares, strict=True):
            member = self._member(one, float(share)) if share > 0 else None
            if member is not None and not member.record.diverged.all():
                members.append(member)
        if not members:
            expected = "a step with which training converges"
            raise invalid("learning_rate", expected, self.settings.learning_rate)
        return tuple(sorted(members, key=lambda member: -member.weight))

    def _member(self, one: Prepared, share: float) -> Member:
        network = self._network(one)
        settings = self.settings
        convex = self._convex(one.candidate)
        record = train(
            network,
            self.features * one.feature_scale,
            self.labels.index,
            self.labels.codes,
            n_restarts=1 if convex else settings.n_restarts,
            random_state=self.seed,
            early_stopping=settings.early_stopping,
            progress=settings.verbose,
            **self._options(one.candidate),
        )
        _watch(record, one.candidate)
        record.load_into(network)
        return Member(one, network, record, share, counting(record, settings.restarts))

    def _held_out(self, one: Prepared, folds: NDArray[np.bool_]) -> NDArray[np.float64]:
        return predict_held_out(
            self._network(one),
            self.features * one.feature_scale,
            self.labels.index,
            self.labels.codes,
            folds,
            seed=self.seed,
            hidden_rows=_COMPARED_ROWS,
            **self._options(one.candidate),
        )

    def _network(self, one: Prepared) -> Any:
        with torch.random.fork_rng(devices=[]):  # the weights that it begins with are not used
            network = one.network(
                self.features.shape[1],
                self.labels.n_classes,
                bias=self.settings.bias,
                dropout=self.settings.dropout if one.candidate.hidden_widths else 0.0,
                dtype=self.dtype,
            )
        return network.to(self.settings.device)

    def _convex(self, candidate: Candidate) -> bool:
        """Whether training has a single solution, which L-BFGS finds."""
        return (
            candidate.ignores_graph
            and not candidate.hidden_widths
            and not self.settings.chosen_optimizer
        )

    def _options(self, candidate: Candidate) -> dict[str, Any]:
        settings, count = self.settings, len(self.labels.index)
        convex = self._convex(candidate)
        penalty = settings.l2_penalty
        if penalty is None:
            penalty = 1.0 if candidate.ignores_graph and not candidate.hidden_widths else PENALTY
            penalty /= count
        return {
            "optimizer": "lbfgs" if convex else settings.optimizer,
            "learning_rate": None if convex else settings.learning_rate,
            "max_iter": min(settings.max_iter, _CONVEX_STEPS) if convex else settings.max_iter,
            "l2_penalty": penalty,
            "decay": settings.penalise,
            "sample_weight": self.sample_weight,
            "class_weight": self._class_weight(),
        }

    def _class_weight(self) -> Any:
        given = self.settings.class_weight
        if given is None or isinstance(given, str):
            return given
        classes = self.labels.classes.tolist()
        unknown = [name for name in given if name not in classes]
        if unknown:
            raise invalid("class_weight", f"weights of the classes {classes}", repr(unknown[0]))
        return {classes.index(name): weight for name, weight in given.items()}


def _watch(record: Any, candidate: Candidate) -> None:
    """Warn when training went wrong."""
    if record.diverged.any():
        warn_caller(
            f"training of the {candidate} diverged in {int(record.diverged.sum())} of "
            f"{record.n_restarts} restarts; choose a smaller learning_rate",
            ConvergenceWarning,
        )
        return
    curve = np.nanmean(record.loss_curve, axis=1)
    if len(curve) < _FEW_ITERATIONS:  # nobody expects convergence then
        return
    last_tenth = curve[-len(curve) // 10 - 1] - curve[-1]
    fallen = curve[0] - curve[-1]
    # Features that say nothing have a loss that falls little and comes to rest; small steps do not.
    settled = fallen > _NOTHING * curve[0] and abs(last_tenth) < _AT_REST * fallen
    hardly = curve[-1] > _HARDLY_FALLEN * curve[0] and not settled
    if last_tenth > _STILL_FALLING * curve[0] or hardly:
        warn_caller(
            f"training of the {candidate} has not converged: its loss went from {curve[0]:.3g} to "
            f"{curve[-1]:.3g} in {len(curve)} iterations, {last_tenth:.2g} of it in the last "
            "tenth; raise max_iter or learning_rate",
            ConvergenceWarning,
        )


def _joins(graph: Graph, rows: Rows, settings: Settings) -> bool:
    """Whether further rows of X can be joined to the graph: it must be made of X itself."""
    if not isinstance(settings.graph, Graph):
        return True
    if isinstance(graph, GaussianGraph):
        return rows.kind == "points" and np.array_equal(graph.points, rows.data)
    if isinstance(graph, AdjacencyGraph) and graph.neighbours is not None:
        points = np.ldexp(graph.neighbours.points, graph.neighbours.exponent)
        return rows.kind == "points" and np.array_equal(points, rows.data)
    if isinstance(graph, Hypergraph) and graph.encoder is not None and rows.kind == "table":
        if not isinstance(graph.incidence, CodeFactor):
            return False
        try:
            codes = graph.encoder.transform(rows.data)
        except ValueError:
            return False
        return np.array_equal(codes, graph.incidence.codes)
    return False


def _model(
    inputs: Inputs,
    laplacian: Laplacian,
    pairs: Eigenpairs | None,
    members: tuple[Member, ...],
    features: Tensor,
    labels: Labels,
) -> Model:
    """What new rows need."""
    cross = cross_affinity(laplacian, loop_weight=_loop_of_new_rows(laplacian))
    reached = ~_unplaced(laplacian.graph, labels)
    root = np.where(reached, np.sqrt(laplacian.degrees), 0.0)[:, None]
    parts, networks = [cross.compress(root)], []
    if isinstance(inputs, GivenInputs):
        assert pairs is not None
        parts.append(compress_eigenvectors(cross, pairs))
    count = sum(part.shape[1] for part in parts)
    for member in members:
        network, basis = extend(member, laplacian, cross, features, count)
        networks.append(network)
        parts.append(basis)
        count += basis.shape[1]
    return Model(inputs, cross, np.hstack(parts), tuple(networks), labels.n_classes)


def _loop_of_new_rows(laplacian: Laplacian) -> float | None:
    """The mean of loops that were given row by row; otherwise the smoother says it."""
    if np.ndim(laplacian.smoother) == 0:
        return None
    own = laplacian.graph.loop_weights if isinstance(laplacian.graph, Hypergraph) else 0.0
    return max(0.0, float(np.mean(laplacian.loop_weights - own)))
