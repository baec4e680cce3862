"""Fitting, step by step: rows → graph → Laplacian → eigenpairs → candidates → networks."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import torch
from numpy.typing import NDArray

from lowrankgcn._progress import tell
from lowrankgcn._validation import invalid
from lowrankgcn.estimators.candidates import Candidate, Prepared, prepare
from lowrankgcn.estimators.convergence import watch
from lowrankgcn.estimators.features import TableFeatures
from lowrankgcn.estimators.graph_choice import point_graph
from lowrankgcn.estimators.inputs import FloatArray, GivenInputs, Inputs, PointInputs, TableInputs
from lowrankgcn.estimators.labels import Labels
from lowrankgcn.estimators.members import Member, counting, extend
from lowrankgcn.estimators.model import Model
from lowrankgcn.estimators.proposals import Proposals, propose
from lowrankgcn.estimators.reading import Rows
from lowrankgcn.estimators.selection import Score, Selection, share_out, stratified_folds
from lowrankgcn.estimators.settings import PENALTY, Settings
from lowrankgcn.extension import compress_eigenvectors, cross_affinity
from lowrankgcn.graphs import AdjacencyGraph, GaussianGraph, Graph, Hypergraph
from lowrankgcn.laplacian import Laplacian
from lowrankgcn.operators.codes import CodeFactor
from lowrankgcn.spectrum import Eigenpairs
from lowrankgcn.training import (
    Features,
    TensorFeatures,
    predict_held_out,
    threads_for,
    train,
)

__all__ = [
    "Clock",
    "Fitted",
    "SetUp",
    "Task",
    "fit",
    "predict_without",
    "set_up",
    "without_rounding",
]

# Rows on which the hidden layer of a low-rank network is evaluated to compare it with others.
_COMPARED_ROWS = 1024
_CONVEX_STEPS = 50
_WORK_OF_A_ROW = 1000
_ORTHOGONAL = 1e-8


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


@final
@dataclass(frozen=True, eq=False)
class SetUp:
    """What depends on the rows alone and not on which of them are labelled, nor how."""

    rows: Rows
    inputs: Inputs
    laplacian: Laplacian
    proposals: Proposals
    features: Features
    prepared: tuple[Prepared, ...]


def fit(
    rows: Rows, labels: Labels, settings: Settings, sample_weight: FloatArray | None, seed: int
) -> Fitted:
    """Fit networks to the labelled rows; small problems on one thread, which is faster."""
    with threads_for(labels.n_rows * _WORK_OF_A_ROW):
        clock = Clock()
        tell("building the graph")
        ready = set_up(rows, labels, settings, seed)
        clock.note("set-up")
        return _fit(ready, labels, settings, sample_weight, seed, clock)


def set_up(rows: Rows, labels: Labels, settings: Settings, seed: int) -> SetUp:
    """Rows → graph → Laplacian → eigenpairs → candidates; of labels only the number of classes."""
    inputs, features, graph = _read(rows, settings, seed)
    if graph.n_nodes != labels.n_rows:
        raise invalid("graph", f"{labels.n_rows} nodes, as many as rows", graph.n_nodes)
    laplacian = Laplacian(graph, settings.smoother, tol=settings.tol)
    tell("computing eigenpairs")
    proposals = propose(laplacian, settings, labels.n_classes, seed)
    if inputs is None or features is None:
        inputs, features = _spectral_inputs(laplacian, proposals)
    inner = None if proposals.pairs is None else _inner(features, proposals.pairs)
    prepared = tuple(
        prepare(candidate, laplacian, features, kernels, inner, scaled=settings.scaling)
        for candidate, kernels in zip(proposals.candidates, proposals.kernels, strict=True)
    )
    return SetUp(rows, inputs, laplacian, proposals, features, prepared)


def predict_without(
    ready: SetUp,
    labels: Labels,
    held_out: NDArray[np.bool_],
    settings: Settings,
    sample_weight: FloatArray | None,
    seed: int,
) -> NDArray[np.intp]:
    """Classes, as positions, of labelled rows that training does not know the labels of.

    Parameters
    ----------
    held_out : (p,) bool array
        Which of the labelled rows; each class has to keep one.
    """
    known = Labels(labels.classes, labels.index[~held_out], labels.codes[~held_out], labels.n_rows)
    with threads_for(labels.n_rows * _WORK_OF_A_ROW):
        task = Task(known, settings, sample_weight, seed, ready.features)
        _, shares = task.compare(ready.prepared)
        members = task.train(ready.prepared, shares)
        distributions = _distributions(ready.laplacian.graph, known, members, ready.features)
    found: NDArray[np.intp] = distributions[labels.index[held_out]].argmax(axis=1)
    return found


def _fit(
    ready: SetUp,
    labels: Labels,
    settings: Settings,
    sample_weight: FloatArray | None,
    seed: int,
    clock: Clock,
) -> Fitted:
    laplacian, proposals, inputs = ready.laplacian, ready.proposals, ready.inputs
    graph = laplacian.graph
    task = Task(labels, settings, sample_weight, seed, ready.features)
    scores, shares = task.compare(ready.prepared)
    clock.note("selection")
    members = task.train(ready.prepared, shares)
    clock.note("training")
    tell("predicting")
    distributions = _distributions(graph, labels, members, ready.features)
    model = None
    if _joins(graph, ready.rows, settings):
        model = _model(inputs, laplacian, proposals.pairs, members, ready.features, labels)
    clock.note("prediction")
    selection = Selection.of(proposals.candidates, scores, shares)
    return Fitted(
        graph,
        laplacian,
        proposals.pairs,
        members,
        selection,
        distributions,
        _unplaced(graph, labels),
        model,
        clock.seconds,
    )


def _distributions(
    graph: Graph, labels: Labels, members: tuple[Member, ...], features: Features
) -> FloatArray:
    """Class distributions of all rows, shape (n, C)."""
    distributions = np.zeros((labels.n_rows, labels.n_classes))
    for member in members:
        distributions += member.weight * member.distributions(features)
    distributions[_unplaced(graph, labels)] = 1.0 / labels.n_classes
    alone = graph.isolated[labels.index]  # nobody but its own label knows anything of such a row
    distributions[labels.index[alone]] = np.eye(labels.n_classes)[labels.codes[alone]]
    distributions /= distributions.sum(axis=1, keepdims=True)
    return distributions


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


def _read(
    rows: Rows, settings: Settings, seed: int
) -> tuple[Inputs | None, Features | None, Graph]:
    """How rows are read, what networks see of them, and the graph; rows may be a graph alone."""
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
        return encoded, TableFeatures.of(encoded, data, table), table if given is None else given
    named = settings.bandwidth != "auto"  # a bandwidth is in the units of the columns
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
    """The eigenvectors as features, √n U."""
    pairs = proposals.pairs
    if pairs is None:
        raise invalid("X", "features for architecture='full'", "a graph alone")
    inputs = GivenInputs(pairs.rank, math.sqrt(laplacian.n))
    coordinates = inputs.scale * np.asarray(pairs.eigenvectors, np.float64)
    return inputs, TensorFeatures(torch.from_numpy(coordinates))


def _inner(features: Features, pairs: Eigenpairs) -> FloatArray:
    """UᵀX, once for all candidates."""
    inner: FloatArray = features.inner(torch.as_tensor(pairs.eigenvectors)).double().numpy()
    return without_rounding(inner, features.square_sum())


def without_rounding(inner: FloatArray, square_sum: float) -> FloatArray:
    """UᵀX with zeros in place of rounding errors, for features of the given sum of squares.

    Nothing else may decide on which side of its kink an activation begins.
    """
    length = math.sqrt(square_sum / inner.shape[1])  # of a column, about
    return np.where(np.abs(inner) > _ORTHOGONAL * length, inner, 0.0)


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
        features: Features,
    ) -> None:
        self.labels, self.settings, self.seed = labels, settings, seed
        self.sample_weight = None if sample_weight is None else sample_weight[labels.index]
        self.features = features
        dtype = torch.float64 if settings.dtype == "float64" else torch.float32
        self.like = torch.empty(0, dtype=dtype, device=settings.device)
        self.generator = np.random.default_rng(seed)

    def compare(self, prepared: Sequence[Prepared]) -> tuple[list[Score], NDArray[np.float64]]:
        """Cross-validated scores and shares of the candidates."""
        candidates = [one.candidate for one in prepared]
        if len(prepared) == 1:
            return [Score.unknown()], np.ones(1)
        codes = self.labels.codes
        weights = self.sample_weight
        folds = stratified_folds(codes, self.generator, weights=weights)
        scores = [Score.unknown() for _ in prepared]
        if len(folds):
            for number, one in enumerate(prepared):
                tell("comparing networks", number, len(prepared))
                held_out = self._held_out(one, folds)
                scores[number] = Score.of(held_out, folds, codes, weights)
        best = self.settings.selection == "best"
        return scores, share_out(candidates, scores, best=best)

    def train(
        self, prepared: Sequence[Prepared], shares: NDArray[np.float64]
    ) -> tuple[Member, ...]:
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
            one.seen(self.features, self.like),
            self.labels.index,
            self.labels.codes,
            n_restarts=1 if convex else settings.n_restarts,
            random_state=self.seed,
            early_stopping=settings.early_stopping,
            progress=settings.verbose,
            **self._options(one.candidate),
        )
        watch(record, one.candidate)
        record.load_into(network)
        return Member(one, network, record, share, counting(record, settings.restarts))

    def _held_out(self, one: Prepared, folds: NDArray[np.bool_]) -> NDArray[np.float64]:
        return predict_held_out(
            self._network(one),
            one.seen(self.features, self.like),
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
                dtype=self.like.dtype,
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
    features: Features,
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
