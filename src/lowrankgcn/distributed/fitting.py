"""Fits a classifier to a Dask collection: passes over blocks, then training on a few rows.

=============== ============================= ===================================================
step            passes over the rows          data sent over the network
=============== ============================= ===================================================
labels          one over y                    labelled rows
vocabulary      one, six more with bins       values of every column; counts in 4096 parts
counts          one                           |E|² integers for each number of cells in a row
units           two to ten, for points        counts in 4096 parts, a few thousand rows
kernel          three, for points             arrays over landmarks or Fourier modes
training        none; with low-rank networks  r·c numbers to and from each block, twice in an
                one for U, two an iteration   iteration, for c hidden columns of all restarts
prediction      one, when computed            the model to the workers
=============== ============================= ===================================================
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import dask.array as da
import numpy as np
import pandas as pd
from dask.delayed import delayed
from numpy.typing import NDArray
from sklearn.utils.validation import validate_data

from lowrankgcn._progress import report_progress
from lowrankgcn._validation import invalid
from lowrankgcn.distributed.blocks import Blocks, is_collection, joined_rows, run_task
from lowrankgcn.distributed.labels import read_lazy_labels, read_weights
from lowrankgcn.distributed.model import evidence, fitted_rows
from lowrankgcn.distributed.nodes import BlockNodes
from lowrankgcn.distributed.points import common_loop, set_up_points
from lowrankgcn.distributed.prediction import chosen_classes, lazy_array
from lowrankgcn.distributed.representatives import RepresentativeRows, representative_rows
from lowrankgcn.distributed.result import SetUpResult, identity
from lowrankgcn.distributed.setup import set_up
from lowrankgcn.distributed.vectors import vector_blocks
from lowrankgcn.estimators.candidates import Prepared, prepare
from lowrankgcn.estimators.classifier import GCNClassifier
from lowrankgcn.estimators.fitting import Clock, Fitted
from lowrankgcn.estimators.labels import Labels
from lowrankgcn.estimators.model import Model
from lowrankgcn.estimators.proposals import (
    MANY_ROWS,
    Proposals,
    filter_choices,
    list_candidates,
)
from lowrankgcn.estimators.rows import first_category
from lowrankgcn.estimators.selection import Selection
from lowrankgcn.estimators.settings import Settings, read_seed, read_settings
from lowrankgcn.estimators.training_task import TrainingTask

__all__ = ["fit"]


def fit(classifier: GCNClassifier, X: Any, y: Any, sample_weight: Any = None) -> None:
    """Fit a classifier to a Dask DataFrame or array.

    Parameters
    ----------
    classifier : GCNClassifier
    X : Dask DataFrame or array
        All rows. Up to 50 000 rows are fitted in memory. Larger collections must be tables (texts,
        or ``graph="hypergraph"``) with the default smoother, or points whose Gaussian kernel can be
        represented by landmarks or Fourier modes.
    y : (n,) Dask Series or array, or anything in memory
    sample_weight : (n,) array, optional

    Raises
    ------
    ValueError
        If an argument is invalid or is only supported in memory.
    ConnectionError
        If the scheduler is lost.
    """
    settings = read_settings(classifier.get_params(deep=False))
    if not is_collection(X):
        reason = " (y is a Dask collection)" if is_collection(y) else ""
        raise invalid("X", f"a Dask DataFrame or array{reason}", type(X).__name__)
    _check_columns(X)
    lengths = _lengths(X)
    labels = read_lazy_labels(y)
    if labels.n_rows != sum(lengths):
        raise invalid("y", f"{sum(lengths)} labels, as many as X has rows", labels.n_rows)
    refusal = _refusal(X, settings)
    if refusal is not None and labels.n_rows > MANY_ROWS:
        parameter, expected, got = refusal
        what = f"{expected} with more than {MANY_ROWS} rows of a Dask collection"
        raise invalid(parameter, what, got)
    # For few points, nearest neighbours may be the best graph; they are searched in memory.
    few = settings.architecture in ("auto", "low-rank")
    few = few or not _is_table(Blocks.from_collection(X).empty, settings)
    if refusal is not None or (few and labels.n_rows <= MANY_ROWS):
        _fit_in_memory(classifier, X, labels, sample_weight, lengths)
        return
    weights = read_weights(sample_weight, labels)
    blocks = Blocks.from_collection(X)
    validate_data(classifier, blocks.empty, reset=True, skip_check_array=True)
    _fit_blocks(classifier, blocks, lengths, labels, settings, weights)


def _check_columns(X: Any) -> None:
    if X.ndim != 2:
        raise invalid("X", "a table with rows and columns", f"{X.ndim}-D")
    if isinstance(X, da.Array):
        return
    if not len(X.columns):
        raise invalid("X", "at least one column", "none")
    if not X.columns.is_unique:
        twice = X.columns[X.columns.duplicated()][0]
        raise invalid("X", "columns of different names", f"two of the name {twice!r}")


def _lengths(X: Any) -> tuple[int, ...]:
    if isinstance(X, da.Array):
        if not np.isnan(X.shape[0]):
            return tuple(map(int, X.chunks[0]))
        return Blocks.from_collection(X).lengths()
    return Blocks.from_collection(X[[X.columns[0]]]).lengths()  # Parquet reads one column only


def _is_table(empty: Any, settings: Settings) -> bool:
    """Return whether rows are joined by their common values."""
    texts = first_category(empty) is not None
    categories = texts or getattr(empty, "dtype", None) == np.dtype(object)
    return settings.graph == "hypergraph" or (settings.graph == "auto" and categories)


def _refusal(X: Any, settings: Settings) -> tuple[str, str, Any] | None:
    """Return parameter, requirement and value of an option that needs all rows in memory."""
    if settings.graph not in ("auto", "hypergraph", "gaussian"):
        named = settings.graph if isinstance(settings.graph, str) else "a graph object"
        return ("graph", "'auto', 'hypergraph' or 'gaussian'", repr(named))
    if settings.architecture == "full":
        return ("architecture", "'auto', 'reduced' or 'low-rank'", "'full'")
    if settings.architecture == "low-rank" and settings.dropout:
        return ("dropout", "0 for low-rank networks", settings.dropout)
    smoother = settings.smoother
    if _is_table(Blocks.from_collection(X).empty, settings):
        own = smoother is None or (isinstance(smoother, str) and smoother == "hypergraph")
        return None if own else ("smoother", "None or 'hypergraph'", repr(smoother))
    if common_loop(smoother) is None:
        return ("smoother", "the same loop for all rows", f"{len(smoother)} numbers")
    return None


def _fit_in_memory(
    classifier: GCNClassifier, X: Any, labels: Labels, sample_weight: Any, lengths: Sequence[int]
) -> None:
    """Load the rows into memory, fit, and divide the results into blocks."""
    blocks = Blocks.from_collection(X)
    rows = joined_rows(blocks.collect(identity), blocks.empty)
    codes = np.full(labels.n_rows, -1)
    codes[labels.index] = labels.codes
    y = pd.Categorical.from_codes(codes, categories=labels.classes)  # keeps their order
    weights = None
    if sample_weight is not None:
        weights = np.zeros(labels.n_rows)
        weights[labels.index] = read_weights(sample_weight, labels)
    classifier.fit(rows, y, weights)
    for name in ("label_distributions_", "transduction_", "unplaced_"):
        values = getattr(classifier, name)
        chunks = (tuple(lengths), *((size,) for size in values.shape[1:]))
        setattr(classifier, name, da.from_array(values, chunks=chunks))


def _fit_blocks(
    classifier: GCNClassifier,
    blocks: Blocks,
    lengths: Sequence[int],
    labels: Labels,
    settings: Settings,
    weights: NDArray[np.float64] | None,
) -> None:
    seed = read_seed(classifier.random_state)
    clock = Clock()
    known: SetUpResult
    if _is_table(blocks.empty, settings):
        known = set_up(blocks, settings)
    else:
        known = set_up_points(blocks, classifier, settings, lengths, seed)
    labelled = blocks.take(labels.index, lengths)
    rows = representative_rows(known, labelled, labels.index)
    if settings.architecture == "low-rank":
        rows = replace(rows, features=replace(rows.features, nodes=_nodes(blocks, known, settings)))
    proposals = _propose(known, rows, settings, labels.n_classes)
    clock.note("set-up")
    represented = Labels(
        labels.classes, np.arange(len(labels.index)), labels.codes, rows.features.shape[0]
    )
    task = TrainingTask(represented, settings, weights, seed, rows.features)
    prepared = _prepare(known, rows, proposals, settings)
    scores, shares = task.compare(prepared)
    clock.note("selection")
    networks = task.train(prepared, shares)
    clock.note("training")
    seen = known.read(labelled)
    reach = known.reach(seen)
    model, own = known.models(networks, represented, reach)
    results = _fitted_rows(blocks, known, own, labels, reach.alone)
    clock.note("prediction")
    fitted = Fitted(
        known.graph,
        known.laplacian,
        known.pairs.with_vectors(_eigenvectors(blocks, known)),
        networks,
        Selection.from_scores(proposals.candidates, scores, shares),
        results.distributions,
        results.transduction,
        results.unplaced,
        model,
        evidence(known, model, networks, seen, labels),
        clock.seconds,
    )
    classifier._keep(labels, fitted, known.kind, reach.n_unplaced)


def _nodes(blocks: Blocks, known: SetUpResult, settings: Settings) -> BlockNodes:
    """Compute the rows of U and keep them on the workers for hidden layers."""
    report_progress("computing rows of the eigenvectors")
    dtype = np.dtype(settings.dtype)
    return BlockNodes.from_blocks(blocks, known.vectors, known.lengths, known.units, dtype)


def _propose(
    known: SetUpResult, rows: RepresentativeRows, settings: Settings, n_classes: int
) -> Proposals:
    if known.filters is None:
        choices = filter_choices(rows.pairs, settings, n_classes)
    else:
        choices = [(rows.pairs, known.filters)]
    return list_candidates(known.laplacian, settings, rows.pairs, choices, known.n_rows)


def _prepare(
    known: SetUpResult, rows: RepresentativeRows, proposals: Proposals, settings: Settings
) -> list[Prepared]:
    return [
        prepare(
            candidate,
            known.laplacian,
            rows.features,
            kernels,
            known.inner,
            scaled=settings.scaling,
            n_rows=known.n_rows,
            square_sum=known.square_sum,
        )
        for candidate, kernels in zip(proposals.candidates, proposals.kernels, strict=True)
    ]


@final
@dataclass(frozen=True, eq=False)
class _Results:
    """Lazy arrays of all rows."""

    distributions: Any
    transduction: Any
    unplaced: Any


def _fitted_rows(
    blocks: Blocks,
    known: SetUpResult,
    model: Model,
    labels: Labels,
    alone: NDArray[np.bool_],
) -> _Results:
    """Return the results of all rows; one task per block computes all three arrays."""
    shared, read = delayed(model, traverse=False), delayed(known.reader, traverse=False)
    lengths = known.lengths
    task, pick, choose = delayed(run_task), delayed(getattr), delayed(chosen_classes)
    index, codes = labels.index[alone], labels.codes[alone]
    shares, classes, unplaced = [], [], []
    start = 0
    for block, length in zip(blocks.tasks, lengths, strict=True):
        first, last = np.searchsorted(index, [start, start + length])
        own = (index[first:last] - start, codes[first:last])
        result = task(fitted_rows, block, shared, read, own)
        shares.append(pick(result, "distributions"))
        classes.append(choose(shares[-1], labels.classes))
        unplaced.append(pick(result, "unplaced"))
        start += length
    return _Results(
        lazy_array(shares, lengths, (labels.n_classes,), np.float64),
        lazy_array(classes, lengths, (), labels.classes.dtype),
        lazy_array(unplaced, lengths, (), np.bool_),
    )


def _eigenvectors(blocks: Blocks, known: SetUpResult) -> Any:
    """Return U as a lazy array (n, r)."""
    tasks = vector_blocks(blocks, known.vectors, known.lengths, known.units)
    return lazy_array(tasks, known.lengths, (known.pairs.rank,), np.float64)
