"""Fitting of the Gaussian process: rows → graphs → eigenpairs → blocks → process → model."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from lowrankgcn._parallel import chunks, single_threaded_blas_if_small
from lowrankgcn._progress import report_progress
from lowrankgcn._validation import invalid
from lowrankgcn.estimators.class_labels import Labels
from lowrankgcn.estimators.gp_model import GPModel
from lowrankgcn.estimators.parameters import GPParameters
from lowrankgcn.estimators.row_sample import Sample
from lowrankgcn.estimators.rows import NOT_BUILT_FROM_X, Rows, map_rows, take
from lowrankgcn.gp.blocks import Block, Views
from lowrankgcn.gp.compiled import CompiledScores
from lowrankgcn.gp.likelihood import CONSTANT, softmax
from lowrankgcn.gp.process import fit_process
from lowrankgcn.gp.recipe import Prior, row_blocks, supervised_blocks
from lowrankgcn.gp.shares import apply_factors, label_factors, promises, share_factors
from lowrankgcn.gp.views import GRAPHS, FittedViews
from lowrankgcn.graphs import AdjacencyGraph, Graph, Hypergraph
from lowrankgcn.operators import FloatArray
from lowrankgcn.tables import Table

#: Graphs that are built from the rows, by the parameter `graph`.
BUILT_GRAPHS = {
    "auto": GRAPHS,
    "knn": ("neighbours",),
    "gaussian": ("gaussian",),
    "hypergraph": ("hypergraph",),
}
_READ = 8192  # rows that are read at a time
_SHARED = 2000  # rows whose scores determine the shares of the blocks
_BACKGROUND = 32  # rows that explanations start from


@final
@dataclass(frozen=True, eq=False)
class PreparedRows:
    """All of a fit that does not depend on labels.

    Attributes
    ----------
    sample : Sample
        Rows that graphs and features were fitted to.
    settings : GPParameters
    seed : int
    views : FittedViews
        Of the sampled rows.
    fitted_only : str
        Why new rows cannot be read; empty if they can.
    outside : dict from part to (n − s, d) array, or None
        Parts of the rows that are not sampled, with their coordinates; None if they are read when
        they are needed.
    seconds : float
    """

    sample: Sample
    settings: GPParameters
    seed: int
    views: FittedViews
    fitted_only: str
    outside: dict[str, NDArray[Any]] | None
    seconds: float

    def at(self, index: NDArray[np.intp]) -> dict[str, Any]:
        """Return the parts of some rows, with their coordinates."""
        places = np.searchsorted(self.sample.index, index)  # number of sampled rows before each
        inside = np.isin(index, self.sample.index)
        parts = {name: rows[places * inside] for name, rows in self.views.parts.items()}
        for name, rows in (self.outside or {}).items():
            parts[name][~inside] = rows[(index - places)[~inside]]
        return parts

    def complete(self, values: FloatArray, of_parts: Callable[[Any], FloatArray]) -> FloatArray:
        """Return values of all rows, from those of the sample and a function of parts."""
        read, outside = self.views.maps.parts, self.outside
        if outside is not None:
            return self.sample.complete(values, lambda rest: of_parts(outside))

        def of_rows(rest: Any) -> FloatArray:
            return map_rows(lambda rows: of_parts(read(rows)), rest, _READ, "predicting")

        return self.sample.complete(values, of_rows)


def prepare_rows(
    rows: Rows, settings: GPParameters, seed: int, always: Any = (), *, read_all: bool = False
) -> PreparedRows:
    """Fit views to rows.

    Parameters
    ----------
    always : int array
        Rows that belong to the sample, if there is one.
    read_all : bool
        Whether to keep the views of rows that are not sampled, too.
    """
    begin = time.perf_counter()
    report_progress("reading the columns")
    always = np.asarray(always, np.intp)
    sample = Sample.draw(rows, settings.graph, always, settings.fit_rows, seed)
    graph, data, fitted_only = settings.graph, sample.data, ""
    options: Any = {"rank": settings.rank, "tol": settings.tol, "random_state": seed}
    if rows.kind in ("nodes", "sparse"):
        given = graph if isinstance(graph, Graph) else None
        views = FittedViews.fit(data, graphs=(), given=given, **options)
    elif rows.kind != "table":
        make: Any = {"affinities": AdjacencyGraph, "incidence": Hypergraph}.get(rows.kind)
        views = FittedViews.fit(None, given=data if make is None else make(data), **options)
    elif isinstance(graph, str):
        views = FittedViews.fit(data, graphs=BUILT_GRAPHS[graph], **options)
    else:
        views = FittedViews.fit(data, graphs=(), given=graph, **options)
        if graph.row_kind == "points":
            with suppress(ValueError):  # texts
                data = data.as_matrix()
        kind = "table" if isinstance(data, Table) else "points"
        if graph.row_kind != kind or not graph.is_built_from(data):
            fitted_only = NOT_BUILT_FROM_X
    outside = None
    if read_all and (count := len(sample.rest)):
        outside = {
            name: np.empty((count, part.shape[1]), part.dtype) for name, part in views.parts.items()
        }
        for start, stop in chunks(count, _READ):
            report_progress("reading the other rows", start, count)
            read = views.maps.parts(take(rows.data, sample.rest[start:stop]))
            for name, part in views.maps.embedded(read).items():
                outside[name][start:stop] = part
    seconds = time.perf_counter() - begin
    return PreparedRows(sample, settings, seed, views, fitted_only, outside, seconds)


def fit_gp(prepared: PreparedRows, labels: Labels) -> tuple[GPModel, dict[str, Any]]:
    """Fit blocks and process, and classify all rows; return the model and further attributes."""
    times = [time.perf_counter()]
    views, sample = prepared.views, prepared.sample
    report_progress("fitting the blocks")
    known, features = views.maps.views(prepared.at(labels.index)), views.maps.features
    trust = 0.0 if features is None else features.continuous_share
    wide = views.maps.nodes is not None and features is None
    with single_threaded_blas_if_small(10 * len(labels.index)):  # matrices of that many columns
        blocks, forest_loss = _blocks(prepared, known, labels)
        process, held_out = fit_process(
            known,
            labels.codes,
            labels.n_classes,
            blocks,
            forest_loss=forest_loss,
            prior=Prior.load("graph_prior" if wide else "prior"),
            random_state=prepared.seed,
            graph_trust=trust,
            weights=labels.weights,
        )
    times.append(time.perf_counter())
    report_progress("predicting")
    compiled = CompiledScores(process, views.maps, views.maps.embeddings)
    plain = softmax(process.temperature * compiled.at(views.parts))
    sizes = np.abs(process.block_scores(_some(views.views))).sum(axis=(1, 2))
    unlabelled = np.isin(sample.index, labels.index, invert=True)
    factors = _share_factors(prepared.settings, plain[unlabelled], labels, process.constant)
    process, distributions = replace(process, factors=factors), apply_factors(plain, factors)
    shares = (sizes / (sizes.sum() or 1.0)).tolist()
    model = GPModel(
        maps=views.maps,
        process=process,
        labelled=labels.index.astype(np.int64),
        codes=labels.codes.astype(np.int64),
        held_out=softmax(process.temperature * held_out),
        promised=promises(distributions[unlabelled]),
        block_shares=dict(zip((block.name for block in blocks), shares, strict=True)),
        background={} if prepared.fitted_only else _background(prepared, distributions),
    )
    distributions = prepared.complete(
        distributions, lambda parts: process.distributions(model.compiled.at(parts))
    )
    distributions = model.with_class_shares(distributions, sample.rows.data, labels.index)
    times.append(time.perf_counter())
    seconds = [prepared.seconds, *np.diff(times).tolist()]
    return model, {
        "label_distributions_": distributions,
        "timings_": dict(zip(("graphs", "blocks", "prediction"), seconds, strict=True)),
        "graphs_": views.graphs,
        "graph_": next(iter(views.graphs.values()), None),
        "eigenpairs_": views.eigenpairs,
    }


def _some(views: Views) -> dict[str, Any]:
    """Return the views of at most 2000 evenly spaced rows."""
    count = len(next(iter(views.values())))
    chosen = np.unique(np.linspace(0, count - 1, min(count, _SHARED)).round().astype(np.intp))
    return {name: rows[chosen] for name, rows in views.items()}


def _blocks(
    prepared: PreparedRows, known: Views, labels: Labels
) -> tuple[list[Block], float | None]:
    """Return all blocks, and the out-of-bag loss of the forest."""
    wanted, rows = prepared.settings.blocks, prepared.views.views
    labelled = np.searchsorted(prepared.sample.index, labels.index)
    if not np.isin(labels.index, prepared.sample.index).all():  # labels came after the sample
        labelled = len(prepared.sample.index) + np.arange(len(labelled))
        rows = {name: np.concatenate([part, known[name]]) for name, part in rows.items()}
    values = {name: pairs.eigenvalues for name, pairs in prepared.views.eigenpairs.items()}
    blocks, loss = row_blocks(rows, values, labelled, wanted), None
    features = prepared.views.maps.features
    if features is not None and features.used:
        more, loss = supervised_blocks(
            rows,
            labelled,
            labels.codes,
            features.owners,
            random_state=prepared.seed,
            wanted=wanted,
            weights=labels.weights,
        )
        blocks += more
    if not blocks:
        raise invalid("blocks", "a block that these rows have", repr(wanted))
    return blocks, loss


def _background(prepared: PreparedRows, distributions: FloatArray) -> dict[str, FloatArray]:
    """Return rows that represent the table, sorted by predicted class and probability."""
    if prepared.views.maps.features is None:
        return {}
    order = np.lexsort((distributions.max(axis=1), distributions.argmax(axis=1)))
    places = (np.arange(_BACKGROUND) + 0.5) * len(order) / _BACKGROUND
    chosen = order[np.unique(places.astype(np.intp))]
    maps = prepared.views.maps
    if maps.nodes is None and "given" in maps.embeddings:
        return maps.parts(prepared.sample.data.take(chosen))
    parts = prepared.views.parts  # without those of propagated features
    return {name: parts[name][chosen] for name in maps.owners}


def _share_factors(
    settings: GPParameters, distributions: FloatArray, labels: Labels, constant: float
) -> FloatArray:
    """Return the factors of the class shares, given the distributions of unlabelled rows."""
    classes, class_shares = labels.classes.tolist(), settings.class_shares
    counts = np.bincount(labels.codes, minlength=len(classes))
    if isinstance(settings.class_weight, Mapping):
        for name in settings.class_weight:
            if name not in classes:
                raise invalid("class_weight", f"weights of the classes {classes}", repr(name))
        pairs = zip(classes, counts.tolist(), strict=True)
        class_shares = {name: n * settings.class_weight.get(name, 1.0) for name, n in pairs}
    elif class_shares == "equal" or settings.class_weight == "balanced":
        class_shares = dict.fromkeys(classes, 1.0)
    if isinstance(class_shares, Mapping):
        if set(class_shares) != set(classes):
            expected = f"a share of each of the classes {classes}"
            raise invalid("class_shares", expected, repr(list(class_shares)))
        shares = np.array([class_shares[name] for name in classes])
        # The scores contain the shares of the labels as far as the constant can explain them.
        few = constant < CONSTANT
        explained = 1.0 - 1.0 / (1.0 + constant * len(labels.codes)) if few else 1.0
        known = (counts / len(labels.codes)) ** explained
        factors: FloatArray = shares / shares.sum() / known
        return factors
    if class_shares == "labels" or not len(distributions):
        return label_factors(counts)
    return share_factors(distributions, labels.codes)
