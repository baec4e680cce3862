"""Every method on every split: the same labels, the same order of rows, the same seed.

>>> from lowrankgcn.experiments.comparison.datasets import load_task
>>> from lowrankgcn.experiments.comparison.methods import choose
>>> result = compare(load_task("iris"), choose(["logistic", "svc"]), counts=(5,), splits=2)
>>> result.accuracies.shape  # numbers of labels, splits, methods
(1, 2, 2)
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from lowrankgcn._validation import invalid, positive_int
from lowrankgcn.experiments.comparison.methods import METHODS, Method
from lowrankgcn.experiments.comparison.splits import (
    check_counts,
    draw_labels,
    draw_order,
    labels_of,
    split_seed,
)
from lowrankgcn.experiments.comparison.task import Task

__all__ = ["Comparison", "Failure", "Step", "Warned", "compare"]

# Of other packages' inner life; nothing that a user of a method could act on.
_NOISE = (DeprecationWarning, PendingDeprecationWarning, FutureWarning)


@final
@dataclass(frozen=True)
class Step:
    """A fit that is about to begin."""

    count: int
    split: int
    method: Method


@final
@dataclass(frozen=True)
class Failure:
    """A fit that raised an error."""

    count: int
    split: int
    method: str
    reason: str


@final
@dataclass(frozen=True)
class Warned:
    """Warnings of one category: the number of fits, and what the first of them said."""

    fits: int
    text: str


@final
@dataclass(frozen=True, eq=False)
class Comparison:
    """What came out, one entry per number of labels, split and method.

    Attributes
    ----------
    task : Task
    methods : tuple of Method
        Those that ran.
    skipped : mapping from method to reason
    counts : tuple of int
        Labels per class.
    splits, seed : int
    in_order : bool
        Whether rows kept the order of the table.
    accuracies : (counts, splits, methods) array
        Share of right classes among the rows that are not labelled; NaN where a fit failed.
    seconds, processor_seconds : arrays of the same shape
        Of fit and prediction together, by the clock and of all threads.
    failures : tuple of Failure
    warnings : mapping from method and category to Warned
    """

    task: Task
    methods: tuple[Method, ...]
    skipped: dict[str, str]
    counts: tuple[int, ...]
    splits: int
    seed: int
    in_order: bool
    accuracies: NDArray[np.float64]
    seconds: NDArray[np.float64]
    processor_seconds: NDArray[np.float64]
    failures: tuple[Failure, ...]
    warnings: dict[str, dict[str, Warned]]

    def short_classes(self, count: int) -> dict[str, int]:
        """Classes that have fewer than `count` labels, as they have too few rows."""
        sizes = np.bincount(self.task.classes[self.task.classes >= 0]).tolist()
        labels = {
            name: labels_of(size, count)
            for name, size in zip(self.task.class_names, sizes, strict=True)
        }
        return {name: given for name, given in labels.items() if given < count}


def compare(
    task: Task,
    methods: Sequence[Method] = METHODS,
    *,
    counts: Sequence[int] = (5, 10, 20),
    splits: int = 20,
    seed: int = 0,
    in_order: bool = False,
    watch: Callable[[Step], None] | None = None,
) -> Comparison:
    """Classify a table by several methods on the same random splits.

    Parameters
    ----------
    task : Task
    methods : sequence of Method
        Those whose package is missing or that cannot bear the table are skipped, with the reason.
    counts : sequence of int
        Labels per class; a class of fewer than twice as many rows gives half of them.
    splits : int
        Random splits for every number of labels. Splits depend on the table and on `seed` alone.
    seed : int
    in_order : bool
        Keep the rows' order. By default every split has them in a random order, because methods
        that take neighbours take the first ones of equally near ones, and tables are often sorted.
    watch : function, optional
        Called with each step before it begins.

    Raises
    ------
    ValueError
        If no method is left, or no class has twice as many rows as labels are asked for.

    Notes
    -----
    Cost: splits × len(counts) × the cost of all methods.
    """
    levels = tuple(sorted({positive_int(count, "labels per class") for count in counts}))
    if not levels:
        raise invalid("labels per class", "at least one number", "none")
    positive_int(splits, "splits")
    check_counts(task.classes, levels)
    obstacles = {method.key: method.obstacle(task) for method in methods}
    runs = tuple(method for method in methods if obstacles[method.key] is None)
    skipped = {key: reason for key, reason in obstacles.items() if reason is not None}
    if not runs:
        raise invalid("methods", "one that can take this table", "; ".join(skipped.values()))
    accuracies, seconds, processor = np.full((3, len(levels), splits, len(runs)), np.nan)
    failures: list[Failure] = []
    said: dict[str, dict[str, Warned]] = {}
    for split in range(splits):  # outermost: the time left can be told early
        order = np.arange(task.n_rows) if in_order else draw_order(task.n_rows, split, seed)
        rows = task.reordered(order)
        for i, count in enumerate(levels):
            labels = draw_labels(task.classes, count, split=split, seed=seed)[order]
            for j, method in enumerate(runs):
                if watch is not None:
                    watch(Step(count, split, method))
                fit = _fit(method, rows, labels, split_seed(split, seed))
                accuracies[i, split, j] = fit.accuracy
                seconds[i, split, j], processor[i, split, j] = fit.seconds
                for category, text in fit.warnings.items():
                    seen = said.setdefault(method.key, {}).get(category, Warned(0, text))
                    said[method.key][category] = Warned(seen.fits + 1, seen.text)
                if fit.failure is not None:
                    failures.append(Failure(count, split, method.key, fit.failure))
    return Comparison(
        task=task,
        methods=runs,
        skipped=skipped,
        counts=levels,
        splits=splits,
        seed=seed,
        in_order=in_order,
        accuracies=accuracies,
        seconds=seconds,
        processor_seconds=processor,
        failures=tuple(failures),
        warnings=said,
    )


@final
@dataclass(frozen=True)
class _Fit:
    accuracy: float
    seconds: tuple[float, float]
    failure: str | None
    warnings: dict[str, str]  # the first of each category


def _fit(method: Method, task: Task, labels: NDArray[np.intp], seed: int) -> _Fit:
    failure, accuracy = None, float("nan")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        clock, processor = time.perf_counter(), time.process_time()
        try:
            found = _checked(method.classify(task, labels, seed), task)
        except (Exception, SystemExit) as error:  # whatever another package does: the others go on
            failure = _one_line(f"{type(error).__name__}: {error}")
        spent = time.perf_counter() - clock, time.process_time() - processor
    if failure is None:
        tested = (labels < 0) & (task.classes >= 0)
        accuracy = float((found[tested] == task.classes[tested]).mean())
    said: dict[str, str] = {}
    for note in caught:
        if not issubclass(note.category, _NOISE):
            said.setdefault(note.category.__name__, _one_line(str(note.message)))
    return _Fit(accuracy, spent, failure, said)


def _checked(found: Any, task: Task) -> NDArray[Any]:
    classes = np.asarray(found)
    if classes.shape != (task.n_rows,):
        raise invalid("classes", f"one for each of {task.n_rows} rows", f"shape {classes.shape}")
    return classes


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 200 else line[:199] + "…"
