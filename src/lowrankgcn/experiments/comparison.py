"""Tables to compare methods on: the original rows, a numeric version of them, and their classes.

>>> frame = pd.DataFrame({"size": [1, 3, None, 1, 3], "colour": ["red", "blue", *3 * ["red"]]})
>>> task = ComparisonTask("things", frame, ["yes", "no", None, "no", "yes"])
>>> task.classes, task.class_names
(array([ 1,  0, -1,  0,  1]), ('no', 'yes'))
>>> task.numbers  # the missing size becomes the mean of the others
array([[-1.,  0.,  1.],
       [ 1.,  1.,  0.],
       [ 0.,  0.,  1.],
       [-1.,  0.,  1.],
       [ 1.,  0.,  1.]])
>>> load_task("cats")
Traceback (most recent call last):
    ...
ValueError: dataset: expected one of 'iris', ..., 'spiral' or a file, got 'cats'
"""

from __future__ import annotations

import time
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from copy import copy
from functools import partial
from itertools import product
from typing import Any, NamedTuple, final

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn import datasets as sklearn_datasets

from lowrankgcn import datasets
from lowrankgcn._format import shorten
from lowrankgcn._validation import invalid, positive_int
from lowrankgcn.estimators.reliability import log_loss
from lowrankgcn.experiments.methods import Method, given_weights
from lowrankgcn.graphs import AdjacencyGraph, Hypergraph
from lowrankgcn.tables import Cells, Table
from lowrankgcn.tables.cells import Name
from lowrankgcn.tables.columns import VectorScores

_LARGEST = 1e150  # squares, which variances need, stay finite
SCORES = ("accuracy", "balanced_accuracy", "log_loss")
_LEAST = 1e-6  # convention: smaller probabilities of the true class count as this one
# Warnings about other packages' internals, which users of a method cannot act on.
_IGNORED = (DeprecationWarning, PendingDeprecationWarning, FutureWarning)


@final
class ComparisonTask:
    """A table with known classes, prepared for all methods.

    Parameters
    ----------
    name : str
    rows : table of any kind, (n, p)
        Methods that need complete numbers get the means of their columns for missing ones.
    target : (n,) array
        Classes, sorted by name. Missing and empty ones are unknown, and so is a class of a single
        row, which cannot be both learned and tested.
    notes : tuple of str
    graph : AdjacencyGraph or Hypergraph, optional
        A given graph of the rows.

    Attributes
    ----------
    name : str
    rows : Table, (n, p)
        Input of this library's classifiers.
    numbers : (n, d) array of float64
        Input of the other methods: numbers and dates standardised over all rows, vectors in one
        unit as this library scales them, one indicator for every value of the other columns.
    categorical : bool
        Whether columns have other values than numbers, and none has vectors, which have no
        hyperedges of values.
    classes : (n,) array of int
        Index into `class_names`; −1 where the class is unknown.
    class_names : tuple of str
    notes : tuple of str
        Changes made to the table.
    graph : AdjacencyGraph, Hypergraph or None

    Raises
    ------
    ValueError
        If there are no columns, numbers whose squares are infinite, or fewer than two classes of
        two rows.
    """

    def __init__(
        self, name: str, rows: Any, target: Any, *, notes: tuple[str, ...] = (), graph: Any = None
    ) -> None:
        self.name, self.rows, self.graph = name, Table.read(rows, "rows"), graph
        if not self.rows.names:
            raise invalid("columns", "at least one feature column", "none")
        texts = pd.Series(target).map(str, na_action="ignore")
        sizes = texts[texts != ""].value_counts()
        classes, names = pd.factorize(texts.where(texts.isin(sizes.index[sizes > 1])), sort=True)
        if len(names) < 2:
            raise invalid("target", "at least two classes with two rows each", len(names))
        self.classes, self.class_names = classes.astype(np.intp), tuple(names)
        single = sorted(sizes.index[sizes == 1])
        single[3:] = ["…"] * (len(single) > 3)
        missing: Counter[str] = Counter()
        for _, cells in self.rows.items():
            missing[cells.kind] += int(cells.missing.sum())
        self.categorical = missing.keys() != {"number"} and "vector" not in missing
        changes = (
            ("classes of a single row are treated as unknown", ", ".join(single)),
            ("rows of unknown class, used unlabelled and not tested", int((classes < 0).sum())),
            ("missing numbers, replaced by means where a method needs them", missing["number"]),
            ("missing texts or vectors, replaced by means likewise", missing["vector"]),
        )
        self.notes = (*notes, *(f"{text}: {what}" for text, what in changes if what))
        self.numbers = np.hstack([_as_numbers(cells, name) for name, cells in self.rows.items()])

    @property
    def n_rows(self) -> int:
        """Number of rows, including those of unknown class."""
        return len(self.rows)

    @property
    def class_sizes(self) -> dict[str, int]:
        """Number of rows of each class."""
        sizes = np.bincount(self.classes[self.classes >= 0]).tolist()
        return dict(zip(self.class_names, sizes, strict=True))

    def reordered(self, order: NDArray[np.intp]) -> ComparisonTask:
        """Return the table with its rows in another order."""
        other = copy(self)
        other.rows = self.rows.take(order)
        other.numbers, other.classes = self.numbers[order], self.classes[order]
        if isinstance(self.graph, Hypergraph):
            incidence: Any = self.graph.incidence
            other.graph = Hypergraph(incidence.matrix[order], self.graph.hyperedge_weights)
        elif self.graph is not None:
            other.graph = AdjacencyGraph(given_weights(self.graph)[order][:, order])
        return other


def _as_numbers(cells: Cells, name: Name) -> NDArray[np.float64]:
    """Standardise numbers and dates, scale vectors; return an indicator for every other value."""
    if cells.kind == "category":
        texts = np.array([*map(str, cells.values), ""], dtype=object)[cells.codes]
        return np.asarray(pd.get_dummies(texts, dtype=np.float64))
    if cells.kind == "vector":
        return VectorScores.fit(cells, name).read(cells)
    values = pd.Series(cells.as_floats(name, cells.unit))
    if (largest := values.abs().max()) > _LARGEST:
        raise invalid(f"column {name!r}", f"numbers up to {_LARGEST:g}", f"{largest:g}")
    scaled = (values - values.mean()) / (values.std(ddof=0) or 1.0)
    return np.asarray(scaled.fillna(0.0))[:, None]


_LOADERS: dict[str, Callable[..., Any]] = {
    "iris": sklearn_datasets.load_iris,
    "wine": sklearn_datasets.load_wine,
    "breast_cancer": sklearn_datasets.load_breast_cancer,
    "digits": sklearn_datasets.load_digits,
    "cars": datasets.load_cars,
    "cars-buying": partial(datasets.load_cars, "buying"),
    "mushrooms": datasets.load_mushrooms,
    # Half of the paper's points, so that methods with n×n matrices can take part.
    "spiral": partial(datasets.load_spiral, 1000),
}
NAMES = tuple(_LOADERS)


def load_task(name: str) -> ComparisonTask:
    """Load a dataset by its name, one of ``NAMES``.

    Raises
    ------
    ValueError
        If there is no such dataset.
    OSError
        If its file is missing and cannot be downloaded.
    """
    if name not in _LOADERS:
        raise invalid("dataset", f"one of {', '.join(map(repr, NAMES))} or a file", repr(name))
    data = _LOADERS[name](as_frame=True)
    return ComparisonTask(name, data.data, np.asarray(data.target_names).astype(str)[data.target])


class Comparison(NamedTuple):
    """Results of a comparison.

    Attributes
    ----------
    task : ComparisonTask
    methods : tuple of Method
        Those that ran.
    skipped : dict
        Reason by key of a method.
    counts : tuple of int
        Labels per class.
    splits, seed : int
    in_order : bool
        Whether rows kept the order of the table.
    fits : DataFrame
        One row per number of labels, split and method: accuracy, balanced accuracy and log-loss on
        rows that are not labelled (NaN after a failure or without probabilities), seconds and
        processor seconds of fit and prediction together, and the error message of a failure.
    warnings : dict
        By method and category: the number of fits that warned, and the first message.
    """

    task: ComparisonTask
    methods: tuple[Method, ...]
    skipped: dict[str, str]
    counts: tuple[int, ...]
    splits: int
    seed: int
    in_order: bool
    fits: pd.DataFrame
    warnings: dict[str, dict[str, dict[str, Any]]]

    @property
    def failures(self) -> list[dict[str, Any]]:
        """Failed fits in the order in which they ran: count, split, method and reason."""
        failed = self.fits.dropna(subset="failure").sort_values("split", kind="stable")
        failed = failed.rename(columns={"labels_per_class": "count", "failure": "reason"})
        return list(failed[["count", "split", "method", "reason"]].to_dict("records"))

    def short_classes(self, count: int) -> dict[str, int]:
        """Return the labels of classes with fewer than `count` labels, by class."""
        sizes = self.task.class_sizes.items()
        return {name: size // 2 for name, size in sizes if size // 2 < count}


def compare(
    task: ComparisonTask,
    methods: Sequence[Method],
    *,
    counts: Sequence[int] = (5, 10, 20),
    splits: int = 20,
    seed: int = 0,
    in_order: bool = False,
    watch: Callable[[str, int, int], None] = lambda text, done, total: None,
) -> Comparison:
    """Classify a table by several methods on the same random splits.

    Parameters
    ----------
    task : ComparisonTask
    methods : sequence of Method
        Methods whose package is missing, or for which the table is too large, are skipped.
    counts : sequence of int
        Labels per class; at most half of the rows of a class are labelled.
    splits : int
        Random splits for every number of labels. Splits depend on the table and `seed` only.
    seed : int
    in_order : bool
        Keep the order of the rows. By default every split shuffles them, because neighbour searches
        prefer the first of equally near rows, and tables are often sorted.
    watch : callable (text, done, total)
        Called before every fit with a description, the number of finished fits and of all fits.

    Raises
    ------
    ValueError
        If no method can run, or every class has fewer than twice as many rows as labels.

    Notes
    -----
    Cost: splits × len(counts) × the cost of all methods.
    """
    levels = tuple(sorted({positive_int(count, "labels per class") for count in counts}))
    positive_int(splits, "splits")
    most = max(task.class_sizes.values()) // 2
    if not levels or levels[-1] > most:
        expected = f"numbers of at most {most}, half of the rows of the largest class"
        raise invalid("labels per class", expected, levels[-1] if levels else "none")
    given = task.graph is not None
    obstacles = {method.key: method.obstacle(task.n_rows, given) for method in methods}
    skipped = {key: reason for key, reason in obstacles.items() if reason is not None}
    runs = tuple(method for method in methods if method.key not in skipped)
    if not runs:
        raise invalid("methods", "one that can run on this table", "; ".join(skipped.values()))
    fits: list[dict[str, Any]] = []
    warned: dict[str, dict[str, dict[str, Any]]] = {}
    for split in range(splits):  # outermost, so that the remaining time is known early
        order = np.arange(task.n_rows)
        if not in_order:
            order = np.random.default_rng([seed, split, 1]).permutation(task.n_rows)
        rows = task.reordered(order)
        method_seed = int(np.random.SeedSequence([seed, split]).generate_state(1)[0] >> 1)
        for count, method in product(levels, runs):
            text = f"split {split + 1} of {splits}, {count} labels per class: {method.title}"
            watch(text, len(fits), splits * len(levels) * len(runs))
            labels = draw_labels(task.classes, count, split=split, seed=seed)[order]
            fit, messages = _fit(method, rows, labels, method_seed)
            identity = {"labels_per_class": count, "split": split, "method": method.key}
            fits.append({"dataset": task.name, **identity, **fit})
            for category, text in messages.items():
                known = warned.setdefault(method.key, {})
                known.setdefault(category, {"fits": 0, "text": text})["fits"] += 1
    table = pd.DataFrame(fits).sort_values("labels_per_class", kind="stable", ignore_index=True)
    return Comparison(task, runs, skipped, levels, splits, seed, in_order, table, warned)


def draw_labels(
    classes: NDArray[np.intp], count: int, *, split: int, seed: int
) -> NDArray[np.intp]:
    """Return the classes of `count` random rows of each class, −1 elsewhere.

    Parameters
    ----------
    classes : (n,) array of int
        Class of each row, −1 where it is unknown. Such a row is neither labelled nor tested.
    count : int >= 1
        Labels per class; at most half of the rows of a class.
    split, seed : int >= 0
        Splits are nested: each class has one random order of rows per split and seed, of which the
        first `count` are labelled.

    Examples
    --------
    >>> classes = np.array([0, 0, 0, 0, 1, 1, 1, -1])
    >>> labels = draw_labels(classes, 2, split=0, seed=0)
    >>> [int((labels == k).sum()) for k in (0, 1, -1)]  # one of three rows, two to test
    [2, 1, 5]
    """
    generator = np.random.default_rng([seed, split])
    labels = np.full(len(classes), -1, dtype=np.intp)
    for label in range(int(classes.max()) + 1):
        order = generator.permutation(np.flatnonzero(classes == label))
        labels[order[: min(count, len(order) // 2)]] = label
    return labels


def _fit(
    method: Method, task: ComparisonTask, labels: NDArray[np.intp], seed: int
) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the columns of a fit, and the first warning of each category."""
    fit: dict[str, Any] = dict.fromkeys(SCORES, float("nan"))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        clock, processor, failure = time.perf_counter(), time.process_time(), None
        try:
            shares = np.asarray(method.classify(task, labels, seed))
            shapes = (task.n_rows, len(task.class_names)), (task.n_rows,)
            if shares.shape not in shapes or not np.isfinite(shares).all():
                expected = f"finite numbers of shape {shapes[0]}, or {task.n_rows} classes"
                raise invalid("probabilities", expected, f"shape {shares.shape}")
        except (Exception, SystemExit) as error:  # a failing method must not stop the others
            failure = shorten(f"{type(error).__name__}: {error}", 200)
        fit["seconds"] = time.perf_counter() - clock
        fit["processor_seconds"] = time.process_time() - processor
        fit["failure"] = failure
    if failure is None:
        tested = (labels < 0) & (task.classes >= 0)
        codes, shares = task.classes[tested], shares[tested]
        if shares.ndim == 2:
            fit["log_loss"] = log_loss(codes, shares, least=_LEAST)
            shares = shares.argmax(axis=1)
        right = pd.Series(shares == codes)
        fit["accuracy"] = float(right.mean())
        fit["balanced_accuracy"] = float(right.groupby(codes).mean().mean())
    shown = [one for one in reversed(caught) if not issubclass(one.category, _IGNORED)]
    return fit, {one.category.__name__: shorten(str(one.message), 200) for one in shown}
