"""Fit every method on every split, with the same labels, order of rows and seed.

>>> from lowrankgcn.experiments.comparison.methods import choose
>>> from lowrankgcn.experiments.comparison.task import load_task
>>> result = compare(load_task("iris"), choose(["logistic", "svc"]), counts=(5,), splits=2)
>>> result.fits[["labels_per_class", "split", "method"]].values.tolist()
[[5, 0, 'logistic'], [5, 0, 'svc'], [5, 1, 'logistic'], [5, 1, 'svc']]
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lowrankgcn._format import shorten
from lowrankgcn._validation import invalid, positive_int
from lowrankgcn.estimators.evidence import Evidence, log_loss
from lowrankgcn.experiments.comparison.methods import METHODS, Method
from lowrankgcn.experiments.comparison.task import ComparisonTask

SCORES = ("accuracy", "balanced_accuracy", "log_loss")
_LEAST = 1e-6  # smaller probabilities of the true class count as this one

# Warnings about other packages' internals, which users of a method cannot act on.
_IGNORED = (DeprecationWarning, PendingDeprecationWarning, FutureWarning)


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
        failed = self.fits[self.fits["failure"].notna()].sort_values("split", kind="stable")
        failed = failed.rename(columns={"labels_per_class": "count", "failure": "reason"})
        return list(failed[["count", "split", "method", "reason"]].to_dict("records"))

    def short_classes(self, count: int) -> dict[str, int]:
        """Return the labels of classes with fewer than `count` labels, by class."""
        sizes = self.task.class_sizes.items()
        return {name: size // 2 for name, size in sizes if size // 2 < count}


def compare(
    task: ComparisonTask,
    methods: Sequence[Method] = METHODS,
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
    if not levels:
        raise invalid("labels per class", "at least one number", "none")
    positive_int(splits, "splits")
    most = max(task.class_sizes.values()) // 2
    if levels[-1] > most:
        expected = f"at most {most}, half of the rows of the largest class"
        raise invalid("labels per class", expected, levels[-1])
    obstacles = {method.key: method.obstacle(task.n_rows) for method in methods}
    runs = tuple(method for method in methods if obstacles[method.key] is None)
    skipped = {key: reason for key, reason in obstacles.items() if reason is not None}
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
        for count in levels:
            labels = draw_labels(task.classes, count, split=split, seed=seed)[order]
            for method in runs:
                text = f"split {split + 1} of {splits}, {count} labels per class: {method.title}"
                watch(text, len(fits), splits * len(levels) * len(runs))
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
    failure, n_classes = None, len(task.class_names)
    scores = dict.fromkeys(SCORES, float("nan"))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        clock, processor = time.perf_counter(), time.process_time()
        try:
            shares = np.asarray(method.classify(task, labels, seed))
            shapes = (task.n_rows,), (task.n_rows, n_classes)
            if shares.shape not in shapes or not np.isfinite(shares).all():
                expected = f"finite numbers of shape {shapes[1]}, or {task.n_rows} classes"
                raise invalid("probabilities", expected, f"shape {shares.shape}")
        except (Exception, SystemExit) as error:  # a failing method must not stop the others
            failure = shorten(f"{type(error).__name__}: {error}", 200)
        seconds, busy = time.perf_counter() - clock, time.process_time() - processor
    if failure is None:
        tested = (labels < 0) & (task.classes >= 0)
        codes, shares = task.classes[tested], shares[tested]
        if shares.ndim == 2:
            scores["log_loss"] = log_loss(codes, shares, least=_LEAST)
        evidence = Evidence(codes, shares if shares.ndim == 2 else np.eye(n_classes)[shares])
        scores["accuracy"] = evidence.accuracy
        scores["balanced_accuracy"] = evidence.balanced_accuracy
    messages: dict[str, str] = {}
    for warning in caught:
        if not issubclass(warning.category, _IGNORED):
            messages.setdefault(warning.category.__name__, shorten(str(warning.message), 200))
    return {**scores, "seconds": seconds, "processor_seconds": busy, "failure": failure}, messages
