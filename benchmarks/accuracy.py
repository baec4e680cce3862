"""Accuracy with default arguments from ten labels per class, beside scikit-learn's classifiers.

    python -m benchmarks.accuracy [--splits 20] [--first 0] [--only iris ...] [--markdown FILE]

Every split draws ten labels per class; the accuracy is that of all other rows. The peers see the
columns standardised over all rows, or as indicators of the categories. Mushrooms are read from
``agaricus-lepiota.data`` in the directory ``LOWRANKGCN_DATA`` and left out without it.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import rankdata, t
from sklearn import datasets
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
from sklearn.semi_supervised import LabelSpreading

import lowrankgcn as lg

LABELS = 10
OURS = "GCNClassifier"
PEERS = ("LogisticRegression", "LabelSpreading", "RandomForest")
METHODS = (OURS, *PEERS)
COLUMNS = ("data", *METHODS, "beside LogisticRegression", "seconds per fit")


@dataclass(frozen=True, eq=False)
class Task:
    """Rows as they come, the same rows as numbers for the peers, and their classes."""

    name: str
    rows: Any
    numbers: np.ndarray
    classes: np.ndarray


def numeric(name: str, load: Callable[[], Any]) -> Task:
    """One of scikit-learn's tables of numbers."""
    data = load()
    return Task(name, data.data, StandardScaler().fit_transform(data.data), data.target)


def categorical(name: str, rows: pd.DataFrame, classes: Any) -> Task:
    """A table of categories."""
    indicators = pd.get_dummies(rows.astype(str)).to_numpy(float)
    return Task(name, rows, indicators, np.asarray(classes))


def cars() -> Task:
    """Acceptability, the real task."""
    data = lg.datasets.load_cars(as_frame=True)
    return categorical("cars", data.data, data.target)


def mushrooms() -> Task | None:
    """Without the column that has missing cells, as in the paper; None without the file."""
    path = Path(os.environ.get("LOWRANKGCN_DATA", "")) / "agaricus-lepiota.data"
    if not path.is_file():
        return None
    raw = pd.read_csv(path, header=None, dtype=str)
    rows = raw.drop(columns=[0, 11]).rename(columns="column {}".format)
    # Edible first, as in the alphabet: LabelSpreading gives the first class to rows that no label
    # reaches, and with the other order loses five points here.
    return categorical("mushrooms", rows, (raw[0] == "p").astype(int))


TASKS: dict[str, Callable[[], Task | None]] = {
    "iris": partial(numeric, "iris", datasets.load_iris),
    "wine": partial(numeric, "wine", datasets.load_wine),
    "breast_cancer": partial(numeric, "breast_cancer", datasets.load_breast_cancer),
    "digits": partial(numeric, "digits", datasets.load_digits),
    "cars": cars,
    "mushrooms": mushrooms,
}


def split(classes: np.ndarray, seed: int, count: int = LABELS) -> np.ndarray:
    """The classes of `count` rows of each class, −1 elsewhere."""
    generator = np.random.default_rng(seed)
    labels = np.full(len(classes), -1)
    for label in np.unique(classes):
        chosen = generator.choice(np.flatnonzero(classes == label), count, replace=False)
        labels[chosen] = label
    return labels


def predict(method: str, task: Task, labels: np.ndarray, seed: int) -> Any:
    """Classes of all rows from the few labels, by one of the methods."""
    if method == OURS:
        return lg.GCNClassifier(random_state=seed).fit(task.rows, labels).transduction_
    if method == "LabelSpreading":
        spreading = LabelSpreading(kernel="knn", n_neighbors=10, max_iter=100)
        with warnings.catch_warnings():  # of rows that no label reaches
            warnings.simplefilter("ignore")
            return spreading.fit(task.numbers, labels).transduction_
    known = labels >= 0
    model = (
        LogisticRegression(max_iter=5000)
        if method == "LogisticRegression"
        else RandomForestClassifier(random_state=seed)
    )
    return model.fit(task.numbers[known], labels[known]).predict(task.numbers)


@dataclass(frozen=True, eq=False)
class Result:
    """Accuracies and seconds of processor time, shape (splits, methods)."""

    name: str
    accuracies: np.ndarray
    seconds: np.ndarray


def measure(task: Task, seeds: range, methods: tuple[str, ...] = METHODS) -> Result:
    """Every method on every split."""
    accuracies, seconds = np.empty((2, len(seeds), len(methods)))
    for i, seed in enumerate(seeds):
        labels = split(task.classes, seed)
        hidden = labels < 0
        for j, method in enumerate(methods):
            start = time.process_time()
            found = predict(method, task, labels, seed)
            seconds[i, j] = time.process_time() - start
            accuracies[i, j] = (found[hidden] == task.classes[hidden]).mean()
    return Result(task.name, accuracies, seconds)


def interval(values: np.ndarray) -> tuple[float, float]:
    """Mean, and half the width of its 95 % interval."""
    count = len(values)
    spread = float(np.std(values, ddof=1)) / count**0.5 if count > 1 else 0.0
    return float(np.mean(values)), float(t.ppf(0.975, max(count - 1, 1))) * spread


def cells(result: Result) -> list[str]:
    """A row of the table."""
    percent = 100 * result.accuracies
    shown = ["{:.1f} ± {:.1f}".format(*interval(column)) for column in percent.T]
    best = percent.mean(axis=0).argmax()
    shown[best] = f"**{shown[best]}**"
    gain = "{:+.1f} ± {:.1f}".format(*interval(percent[:, 0] - percent[:, 1]))
    return [result.name, *shown, gain, f"{np.median(result.seconds[:, 0]):.2f}"]


def summary(results: list[Result]) -> Iterator[list[str]]:
    """Mean accuracy, mean rank and seconds of the methods."""
    means = np.array([result.accuracies.mean(axis=0) for result in results])
    ranks = np.array([rankdata(-result.accuracies, axis=1).mean(axis=0) for result in results])
    seconds = np.array([np.median(result.seconds, axis=0) for result in results]).mean(axis=0)
    gain = 100 * (means[:, 0] - means[:, 1]).mean()
    yield ["mean", *(f"{value:.1f}" for value in 100 * means.mean(axis=0)), f"{gain:+.1f}", ""]
    yield ["mean rank", *(f"{value:.2f}" for value in ranks.mean(axis=0)), "", ""]
    yield ["mean seconds per fit", *(f"{value:.2f}" for value in seconds), "", ""]


def line(row: list[str] | tuple[str, ...]) -> str:
    """A row in Markdown."""
    return f"| {' | '.join(row)} |"


def main() -> None:
    """Measure, and print each row as soon as it is known."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.accuracy", description=__doc__)
    parser.add_argument("--splits", type=int, default=20, help="random splits of each dataset")
    parser.add_argument("--first", type=int, default=0, help="seed of the first split")
    parser.add_argument("--only", nargs="+", choices=tuple(TASKS), help="some of the datasets")
    parser.add_argument("--markdown", metavar="FILE", type=Path, help="also write the table")
    options = parser.parse_args()
    seeds = range(options.first, options.first + options.splits)
    lines = [line(COLUMNS), line(["---"] * len(COLUMNS))]
    print("\n".join(lines), flush=True)
    results = []
    for name in options.only or TASKS:
        task = TASKS[name]()
        if task is None:
            print(f"{name}: LOWRANKGCN_DATA has no such file", flush=True)
            continue
        results.append(measure(task, seeds))
        lines.append(line(cells(results[-1])))
        print(lines[-1], flush=True)
    ending = [line(row) for row in summary(results)]
    print("\n".join(ending))
    if options.markdown:
        options.markdown.write_text("\n".join(lines + ending) + "\n")


if __name__ == "__main__":
    main()
