"""Fitting of the Gaussian process classifier: rows → views → blocks → process → distributions."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any, final

import numpy as np
from numpy.typing import NDArray

from lowrankgcn._parallel import chunks, single_threaded_blas_if_small
from lowrankgcn._progress import report_progress
from lowrankgcn._validation import choice, invalid, node_index, positive_float, positive_int
from lowrankgcn.estimators.class_labels import Labels
from lowrankgcn.estimators.gp_model import GPModel
from lowrankgcn.estimators.parameters import graph_or_name
from lowrankgcn.estimators.rows import Rows, take
from lowrankgcn.gp.likelihood import softmax
from lowrankgcn.gp.prior import Prior
from lowrankgcn.gp.process import GaussianProcess, fit_process
from lowrankgcn.gp.recipe import BLOCK_NAMES, row_blocks, supervised_blocks
from lowrankgcn.gp.shares import apply_factors, share_factors
from lowrankgcn.gp.suggestion import choose_rows
from lowrankgcn.gp.views import GRAPHS, FittedViews
from lowrankgcn.graphs import AdjacencyGraph, Graph, Hypergraph
from lowrankgcn.operators import FloatArray

_GRAPHS = {
    "auto": GRAPHS,
    "knn": ("neighbours",),
    "gaussian": ("gaussian",),
    "hypergraph": ("hypergraph",),
    "precomputed": (),
}
_READ = 8192  # rows that are read at a time
_BACKGROUND = 32  # rows that explanations start from
_SAMPLE = 1000  # rows whose mean distance is the unit of radial blocks, without labels


def _block_names(blocks: Any, name: str) -> tuple[str, ...]:
    if isinstance(blocks, str) and blocks == "auto":
        return BLOCK_NAMES
    if isinstance(blocks, str) or not isinstance(blocks, Sequence) or not blocks:
        raise invalid(name, "'auto' or a list of names", repr(blocks))
    return tuple(choice(block, name, BLOCK_NAMES) for block in blocks)


def _class_shares(shares: Any, name: str) -> Any:
    if isinstance(shares, Mapping):
        return {
            label: positive_float(share, f"{name}[{label!r}]") for label, share in shares.items()
        }
    if not isinstance(shares, str) or shares not in ("auto", "labels", "equal"):
        raise invalid(name, "'auto', 'labels', 'equal' or a mapping from classes", repr(shares))
    return shares


@final
@dataclass(frozen=True, eq=False)
class GPSettings:
    """Validated parameters of :class:`SpectralGPClassifier`."""

    graph: Annotated[str | Graph, partial(graph_or_name, options=_GRAPHS)]
    blocks: Annotated[tuple[str, ...], _block_names]
    rank: Annotated[int, positive_int]
    class_shares: Annotated[Any, _class_shares]
    fit_rows: Annotated[int, partial(positive_int, minimum=2)]
    tol: Annotated[float, partial(positive_float, maximum=0.1)]

    @property
    def given(self) -> Graph | None:
        """The graph, if it is an object."""
        return None if isinstance(self.graph, str) else self.graph


@final
@dataclass(frozen=True, eq=False)
class FittedGP:
    """Result of a fit.

    Attributes
    ----------
    model : GPModel
    views : FittedViews
        Of the sampled rows.
    sample : (s,) int array
        Rows that graphs and features were fitted to.
    rows : DataFrame, array, sparse array or Graph
        The sampled rows.
    distributions : (n, C) array
    novelty : (n,) array
        Measures of novelty of the rows that are not sampled, NaN for all rows whose views are
        kept: their measures are computed on demand.
    timings : dict
    outside : dict from view to array, or None
        Views of the rows that are not sampled, if they are kept.
    """

    model: GPModel
    views: FittedViews
    sample: NDArray[np.intp]
    rows: Any
    distributions: FloatArray
    novelty: FloatArray
    timings: dict[str, float]
    outside: dict[str, FloatArray] | None = None

    def measures(self) -> FloatArray:
        """Return the measures of novelty of all rows, shape (n,)."""
        measures = self.novelty.copy()
        measures[self.sample] = self.model.novelty.measures(self.views.views)
        if self.outside is not None:
            rest = np.setdiff1d(np.arange(len(measures)), self.sample)
            measures[rest] = self.model.novelty.measures(self.outside)
        return measures


@final
@dataclass(frozen=True, eq=False)
class PreparedRows:
    """All of a fit that does not depend on labels.

    Attributes
    ----------
    rows : Rows
    settings : GPSettings
    seed : int
    sample : (s,) int array
        Rows that graphs and features were fitted to, ascending.
    sampled : DataFrame, array, sparse array or Graph
        The sampled rows.
    views : FittedViews
        Of the sampled rows.
    extends : bool
        Whether new rows can be read.
    outside : dict from view to (n − s, d) array, or None
        Views of the rows that are not sampled; None if they are read when they are needed.
    seconds : float
    """

    rows: Rows
    settings: GPSettings
    seed: int
    sample: NDArray[np.intp]
    sampled: Any
    views: FittedViews
    extends: bool
    outside: dict[str, FloatArray] | None
    seconds: float

    def at(self, index: NDArray[np.intp]) -> dict[str, FloatArray]:
        """Return the views of some rows."""
        places = np.searchsorted(self.sample, index)
        inside = np.append(self.sample, -1)[places] == index
        views = self.views.views
        if inside.all():
            return {name: own[places] for name, own in views.items()}
        if self.outside is None:
            more = self.views.maps.read(take(self.rows.data, index[~inside]))
        else:  # `places` is the number of sampled rows before each row
            rest = (index - places)[~inside]
            more = {name: own[rest] for name, own in self.outside.items()}
        found = {name: np.empty((len(index), own.shape[1])) for name, own in views.items()}
        for name, own in found.items():
            own[inside], own[~inside] = views[name][places[inside]], more[name]
        return found


def prepare_rows(
    rows: Rows, settings: GPSettings, seed: int, always: Any = (), *, read_all: bool = False
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
    sample = _sample(rows, np.asarray(always, np.intp), settings, seed)
    sampled = rows.data if len(sample) == rows.n_rows else take(rows.data, sample)
    views, extends = _fit_views(rows.kind, sampled, settings, seed)
    outside = None
    if read_all and len(sample) < rows.n_rows:
        rest = np.setdiff1d(np.arange(rows.n_rows), sample)
        outside = {name: np.empty((len(rest), own.shape[1])) for name, own in views.views.items()}
        for start, stop in chunks(len(rest), _READ):
            report_progress("reading the other rows", start, len(rest))
            for name, part in views.maps.read(take(rows.data, rest[start:stop])).items():
                outside[name][start:stop] = part
    seconds = time.perf_counter() - begin
    return PreparedRows(rows, settings, seed, sample, sampled, views, extends, outside, seconds)


def fit_gp(prepared: PreparedRows, labels: Labels) -> FittedGP:
    """Fit blocks and process, and classify all rows."""
    clock = [time.perf_counter()]
    timings: dict[str, float] = {"graphs": prepared.seconds}

    def note(step: str) -> None:
        clock.append(time.perf_counter())
        timings[step] = clock[-1] - clock[-2]

    rows, settings, seed, sample = prepared.rows, prepared.settings, prepared.seed, prepared.sample
    views = prepared.views
    report_progress("fitting the blocks")
    known = prepared.at(labels.index)
    placed, labelled = views.views, np.searchsorted(sample, labels.index)
    sampled = np.isin(sample, labels.index)
    if sampled.sum() < len(labelled):
        placed = {name: np.concatenate([own, known[name]]) for name, own in placed.items()}
        labelled = len(sample) + np.arange(len(labelled))
    with single_threaded_blas_if_small(10 * len(labelled)):  # matrices of that many columns
        blocks, forest_loss = _blocks(placed, views, labelled, labels.codes, settings, seed)
        fitted = fit_process(
            known, labels.codes, labels.n_classes, blocks, forest_loss, Prior.load(), seed
        )
    del placed
    process = fitted.process
    note("blocks")
    report_progress("predicting")
    sizes = np.zeros(len(blocks))
    plain = softmax(process.temperature * process.scores(views.views, sizes))
    sizes /= sizes.sum() or 1.0
    factors = _factors(settings.class_shares, plain, np.flatnonzero(sampled), labels)
    process = replace(process, factors=factors)
    distributions = apply_factors(plain, factors)
    model = GPModel(
        views.maps,
        process,
        labels.index.astype(np.int64),
        labels.codes.astype(np.int64),
        softmax(process.temperature * fitted.held_out),
        {block.name: float(size) for block, size in zip(blocks, sizes, strict=True)},
        prepared.extends,
        _background(views, prepared.sampled, distributions) if prepared.extends else {},
    )
    novelty = np.full(rows.n_rows, np.nan)
    if len(sample) < rows.n_rows:
        rest = np.setdiff1d(np.arange(rows.n_rows), sample)
        every = np.empty((rows.n_rows, labels.n_classes))
        every[sample] = distributions
        if prepared.outside is None:
            every[rest], novelty[rest] = model.classify(take(rows.data, rest))
        else:
            every[rest] = process.distributions(prepared.outside)
        distributions = every
    note("prediction")
    return FittedGP(
        model, views, sample, prepared.sampled, distributions, novelty, timings, prepared.outside
    )


def _sample(
    rows: Rows, always: NDArray[np.intp], settings: GPSettings, seed: int
) -> NDArray[np.intp]:
    """Return the rows to fit graphs and features to, ascending."""
    every = np.arange(rows.n_rows)
    if rows.kind != "table" or settings.given is not None or rows.n_rows <= settings.fit_rows:
        return every
    rest = np.setdiff1d(every, always)
    count = min(len(rest), max(0, settings.fit_rows - len(always)))
    chosen = np.random.default_rng(seed).choice(rest, count, replace=False)
    return np.sort(np.concatenate([always, chosen]))


def _fit_views(kind: str, data: Any, settings: GPSettings, seed: int) -> tuple[FittedViews, bool]:
    """Fit the views; also return whether new rows can be read."""
    options: Any = {"rank": settings.rank, "tol": settings.tol, "random_state": seed}
    if kind != "table":
        make: Any = {"affinities": AdjacencyGraph, "incidence": Hypergraph}.get(kind, lambda g: g)
        return FittedViews.fit(None, given=make(data), **options), True
    graph = settings.given
    names = _GRAPHS[settings.graph] if isinstance(settings.graph, str) else ()
    views = FittedViews.fit(data, graphs=names, given=graph, **options)
    return views, graph is None or _is_built_from(graph, data)


def _is_built_from(graph: Graph, data: Any) -> bool:
    """Return whether a graph was built from the rows, and can read new ones."""
    if graph.row_kind == "points":
        try:
            return graph.is_built_from(np.asarray(data, np.float64))
        except (TypeError, ValueError):
            return False
    return graph.row_kind == "table" and graph.is_built_from(data)


def _blocks(
    placed: dict[str, FloatArray],
    views: FittedViews,
    labelled: NDArray[np.intp],
    codes: NDArray[np.intp],
    settings: GPSettings,
    seed: int,
) -> tuple[list[Any], float | None]:
    values = {name: pairs.eigenvalues for name, pairs in views.eigenpairs.items()}
    blocks = row_blocks(placed, values, labelled, settings.blocks)
    features, loss = views.maps.features, None
    if features is not None and features.columns:
        more, loss = supervised_blocks(
            placed, labelled, codes, features.owners, random_state=seed, wanted=settings.blocks
        )
        blocks += more
    if not blocks:
        raise invalid("blocks", "a block that these rows have", repr(settings.blocks))
    return blocks, loss


def _background(views: FittedViews, rows: Any, distributions: FloatArray) -> dict[str, FloatArray]:
    """Return rows that represent the table, sorted by predicted class and probability."""
    if views.maps.features is None:
        return {}
    order = np.lexsort((distributions.max(axis=1), distributions.argmax(axis=1)))
    places = (np.arange(_BACKGROUND) + 0.5) * len(order) / _BACKGROUND
    return views.maps.parts(take(rows, order[np.unique(places.astype(np.intp))]))


def _factors(
    class_shares: Any, distributions: FloatArray, labelled: NDArray[np.intp], labels: Labels
) -> FloatArray:
    """Return the factors of the class shares."""
    classes = labels.classes.tolist()
    if class_shares == "equal":
        class_shares = dict.fromkeys(classes, 1.0)
    if isinstance(class_shares, Mapping):
        if set(class_shares) != set(classes):
            expected = f"a share of each of the classes {classes}"
            raise invalid("class_shares", expected, repr(list(class_shares)))
        given = np.array([class_shares[name] for name in classes])
        known = np.bincount(labels.codes, minlength=len(classes)) / len(labels.codes)
        factors: FloatArray = given / given.sum() / known
        return factors
    rest = np.ones(len(distributions), bool)
    rest[labelled] = False
    if class_shares == "labels" or not rest.any():
        return np.ones(labels.n_classes)
    return share_factors(distributions[rest], labels.codes)


def first_rows(
    X: Any,
    k: int = 10,
    *,
    labelled: Any = (),
    among: Any = None,
    graph: str | Graph = "auto",
    random_state: int = 0,
) -> NDArray[np.intp]:
    """Return the rows to label first, before there are labels of two classes.

    Parameters
    ----------
    X : array, DataFrame or Graph
        All rows.
    k : int
        Number of rows.
    labelled : int array or (n,) mask, optional
        Rows that have a label already.
    among : int array or (n,) mask, optional
        Rows to choose from.
    graph : str or Graph
        As for :class:`lowrankgcn.SpectralGPClassifier`.
    random_state : int

    See Also
    --------
    lowrankgcn.SpectralGPClassifier.suggest : Rows to label next.

    Notes
    -----
    Same rule as :meth:`lowrankgcn.SpectralGPClassifier.suggest`, with the amplitudes of the prior
    and equal uncertainty of all rows.

    Examples
    --------
    >>> import lowrankgcn as lg
    >>> from lowrankgcn.estimators import first_rows
    >>> spiral = lg.datasets.load_spiral(100, random_state=0)
    >>> rows = first_rows(spiral.data, 5)
    >>> len(set(spiral.target[rows].tolist())) > 3
    True
    """
    seed = positive_int(random_state, "random_state", minimum=0)
    graphs: tuple[str, ...] = ()
    given = next((one for one in (X, graph) if isinstance(one, Graph)), None)
    if given is None:
        names = [name for name in _GRAPHS if name != "precomputed"]
        graphs = _GRAPHS[choice(graph, "graph", names)]
    data = None if X is given else X
    views = FittedViews.fit(data, graphs=graphs, given=given, random_state=seed)
    n = len(next(iter(views.views.values())))
    known = node_index(labelled, "labelled", n) if len(labelled) else np.zeros(0, np.intp)
    free = np.zeros(n, bool)
    free[slice(None) if among is None else node_index(among, "among", n)] = True
    free[known] = False
    if positive_int(k, "k") > free.sum():
        raise invalid("k", f"at most {int(free.sum())}, the number of rows without a label", k)
    return first_of_views(views, k, np.flatnonzero(free), known, seed)


def first_of_views(
    views: FittedViews,
    k: int,
    candidates: NDArray[np.intp],
    known: NDArray[np.intp],
    seed: int,
) -> NDArray[np.intp]:
    """Return the rows to label first among `candidates`; `known` rows have a label."""
    process = unfitted_process(views, known, seed)
    weights = np.ones(len(next(iter(views.views.values()))))
    return choose_rows(process, views.views, weights, candidates, k, random_state=seed)


def unfitted_process(views: FittedViews, known: NDArray[np.intp], seed: int) -> GaussianProcess:
    """Return the process of the prior, without labels, at some rows."""
    values = {name: pairs.eigenvalues for name, pairs in views.eigenpairs.items()}
    n = len(next(iter(views.views.values())))
    sample = np.random.default_rng(seed).permutation(n)[:_SAMPLE]
    blocks = row_blocks(views.views, values, sample)
    prior = Prior.load().adaptation
    return GaussianProcess(
        tuple(blocks),
        np.exp([prior[block.name] for block in blocks]),
        tuple(b.represent({v: r[known] for v, r in views.views.items()}) for b in blocks),
        np.arange(len(known)),
        np.zeros((len(known), 2)),
        1.0,
        np.ones(2),
    )
