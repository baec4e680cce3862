"""Compare rows suggested by ``SpectralGPClassifier.suggest`` with random rows as the next to label.

    python -m benchmarks suggestion [--repeats 6] [--first 100] [--only cars ...] [--markdown FILE]
    python -m benchmarks suggestion --twenty digits wine TABLE.csv [--repeats 8] [--first 0]

Every repeat holds out a random half of the rows to measure accuracy; these are never labelled. Both
strategies start with the label of one random row of each class. Labels are then added up to 10, 20,
30, 40, 60, 80 and 100, each time after a fit with default arguments: suggested or random rows. For
the mushrooms every repeat draws 2000 rows.

With ``--twenty``, no row has a label at first, as for a new user of the command line: 20 random
rows are labelled, or two rounds of ten suggested rows, or four rounds of five. The last column of a
file has the classes.
"""

from __future__ import annotations

import argparse
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import lowrankgcn as lg
from lowrankgcn.estimators import first_rows
from lowrankgcn.experiments.comparison import ComparisonTask, load_task
from lowrankgcn.experiments.statistics import interval, markdown_table, plus_minus

SIZES = (10, 20, 30, 40, 60, 80, 100)
COMPARED = (40, 60, 100)
NAMES = ("cars", "mushrooms", "digits")
MOST_ROWS = 2000


@dataclass(frozen=True, eq=False)
class Curves:
    """Accuracies of both strategies, shape (repeats, sizes)."""

    name: str
    suggested: np.ndarray
    random: np.ndarray
    seconds: float  # per suggestion


def draw_rows(task: ComparisonTask, generator: np.random.Generator) -> tuple[Any, np.ndarray]:
    """Return at most 2000 of the rows, and their classes."""
    if task.n_rows > MOST_ROWS:
        kept = np.sort(generator.choice(task.n_rows, MOST_ROWS, replace=False))
        task = task.reordered(kept)
    return task.rows, task.classes


def curve(
    rows: Any,
    classes: np.ndarray,
    held_out: np.ndarray,
    start: np.ndarray,
    seed: int,
    *,
    suggest: bool,
) -> tuple[list[float], float]:
    """Return the accuracies at all sizes, and the mean seconds of a suggestion."""
    generator = np.random.default_rng([seed, 1])
    labelled = start.tolist()
    accuracies, seconds, fitted = [], [], None
    for size in SIZES:
        count = size - len(labelled)
        free = np.setdiff1d(np.flatnonzero(~held_out), labelled)
        if count > 0 and suggest:
            fitted = fitted or fit(rows, classes, labelled, seed)
            begin = time.process_time()
            labelled += fitted.suggest(count, among=free).tolist()
            seconds.append(time.process_time() - begin)
        elif count > 0:
            labelled += generator.choice(free, count, replace=False).tolist()
        fitted = fit(rows, classes, labelled, seed)
        accuracies.append(float((fitted.transduction_[held_out] == classes[held_out]).mean()))
    return accuracies, float(np.mean(seconds or [0.0]))


def fit(rows: Any, classes: np.ndarray, labelled: list[int], seed: int) -> lg.SpectralGPClassifier:
    """Fit a classifier with default arguments to the labelled rows."""
    y = np.full(len(classes), -1)
    y[labelled] = classes[labelled]
    with warnings.catch_warnings():  # components without a label are likely with few labels
        warnings.simplefilter("ignore")
        return lg.SpectralGPClassifier(random_state=seed).fit(rows, y)


def measure(task: ComparisonTask, seeds: range) -> Curves:
    """Measure both strategies, one repeat per seed."""
    suggested, random, seconds = [], [], []
    for seed in seeds:
        generator = np.random.default_rng(seed)
        rows, classes = draw_rows(task, generator)
        held_out = np.zeros(len(classes), bool)
        held_out[generator.permutation(len(classes))[: len(classes) // 2]] = True
        start = np.array(
            [
                generator.choice(np.flatnonzero((classes == c) & ~held_out))
                for c in np.unique(classes)
            ]
        )
        accuracies, taken = curve(rows, classes, held_out, start, seed, suggest=True)
        suggested.append(accuracies)
        seconds.append(taken)
        random.append(curve(rows, classes, held_out, start, seed, suggest=False)[0])
    return Curves(task.name, np.array(suggested), np.array(random), float(np.mean(seconds)))


def labels_needed(curves: Curves, size: int) -> float:
    """Return the number of suggested labels that give the accuracy of `size` random ones."""
    goal = curves.random.mean(axis=0)[SIZES.index(size)]
    means = curves.suggested.mean(axis=0)
    if means[0] >= goal:
        return float(SIZES[0])
    reached = np.flatnonzero(means >= goal)
    if not len(reached):
        return float("inf")
    j = int(reached[0])
    share = (goal - means[j - 1]) / (means[j] - means[j - 1])
    return float(SIZES[j - 1] + share * (SIZES[j] - SIZES[j - 1]))


def accuracy_table(found: list[Curves]) -> str:
    """Return mean accuracies in per cent with 95 % intervals."""
    rows = []
    for curves in found:
        suggested, random = 100 * curves.suggested, 100 * curves.random
        for name, values, form in (
            ("suggested", suggested, ".1f"),
            ("random", random, ".1f"),
            ("difference", suggested - random, "+.1f"),
        ):
            cells = [plus_minus(*interval(column), form) for column in values.T]
            rows.append([curves.name, name, *cells])
    return markdown_table(("data", "labels", *map(str, SIZES)), rows, range(2, 2 + len(SIZES)))


def needed_table(found: list[Curves]) -> str:
    """Return how many suggested labels give the accuracy of random ones."""
    header = ["data", *(f"as {size} random ones" for size in COMPARED), "seconds per suggestion"]
    rows = []
    for curves in found:
        cells = []
        for needed in (labels_needed(curves, size) for size in COMPARED):
            text = "more than 100" if np.isinf(needed) else f"{needed:.0f}"
            cells.append(f"at most {SIZES[0]}" if needed <= SIZES[0] else text)
        rows.append([curves.name, *cells, f"{curves.seconds:.3f}"])
    return markdown_table(header, rows, range(1, len(header)))


def twenty_labels(name: str, seeds: range) -> dict[str, np.ndarray]:
    """Return the accuracies on the other rows after 20 labels, by strategy."""
    if name.endswith(".csv"):
        frame = pd.read_csv(name)
        task = ComparisonTask(Path(name).stem, frame.iloc[:, :-1], frame.iloc[:, -1])
    else:
        task = load_task(name)
    rounds = {"random": (20,), "two rounds": (10, 10), "four rounds": (5, 5, 5, 5)}
    found: dict[str, list[float]] = {strategy: [] for strategy in rounds}
    for seed in seeds:
        generator = np.random.default_rng(seed)
        for strategy, counts in rounds.items():
            y = np.full(task.n_rows, -1)
            for count in counts:
                chosen = generator.choice(task.n_rows, count, replace=False)
                if strategy != "random":
                    chosen = next_rows(task.rows, y, count, seed)
                y[chosen] = task.classes[chosen]
            fitted = lg.SpectralGPClassifier(random_state=seed).fit(task.rows, y)
            tested = (y < 0) & (task.classes >= 0)
            found[strategy].append(float((fitted.transduction_ == task.classes)[tested].mean()))
    return {strategy: np.array(shares) for strategy, shares in found.items()}


def next_rows(rows: Any, y: np.ndarray, count: int, seed: int) -> np.ndarray:
    """Return rows to label next, with or without labels of two classes."""
    if len(set(y[y >= 0])) < 2:
        return first_rows(rows, count, labelled=np.flatnonzero(y >= 0), random_state=seed)
    return lg.SpectralGPClassifier(random_state=seed).fit(rows, y).suggest(count)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=6)
    parser.add_argument("--first", type=int, default=100, help="seed of the first repeat")
    parser.add_argument("--only", nargs="*", default=NAMES, choices=NAMES)
    parser.add_argument("--markdown", type=Path, help="file for the tables")
    parser.add_argument("--twenty", nargs="*", help="datasets or CSV files")
    arguments = parser.parse_args()
    seeds = range(arguments.first, arguments.first + arguments.repeats)
    for name in arguments.twenty or ():
        shares = twenty_labels(name, seeds)
        print(name, *(f"{key} {plus_minus(*interval(100 * v))}" for key, v in shares.items()))
    if arguments.twenty:
        return
    found = []
    for name in arguments.only:
        found.append(measure(load_task(name), seeds))
        print(accuracy_table(found[-1:]), needed_table(found[-1:]), sep="\n\n", flush=True)
    if arguments.markdown:
        text = accuracy_table(found) + "\n\n" + needed_table(found) + "\n"
        arguments.markdown.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
