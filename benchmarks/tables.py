"""Accuracy with few labels over a folder of tables, beside other methods.

    python -m benchmarks tables [FOLDER] [--methods gp,forest] [--labels 1,2,3,5,10,20]
        [--draw balanced,random] [--splits 3] [--out FILE] [--markdown FILE]
    python -m benchmarks tables --images [--rows 70000] [--labels 1,5,10]
    python -m benchmarks tables --clouds [--rows 4000] [--labels 1,3,10]

The default folder is ``tables`` in the directory ``LOWRANKGCN_DATA``. Each CSV file has the class
in its last column; at most 2000 rows are used. Labels are drawn as by ``few-labels``: random rows
of every class (balanced), or as many random rows of two classes or more. All other rows are tested;
a class without labels counts as wrong. Methods are those of ``lowrankgcn compare``, with default
arguments. The script prints means over the tables: accuracy, balanced accuracy, log-loss (of
probabilities of at least 10⁻⁶), mean probability of the predicted class minus accuracy, and
processor seconds of a fit; then how far the first method is ahead, with the standard error over
tables, and on how many tables it wins or loses by more than a point.

--images reads ``mnist.npz`` instead. All methods then get pixels as numbers of one unit; Poisson
learning has neighbours of the raw pixels. --clouds generates six point clouds.
"""

from __future__ import annotations

import argparse
import itertools
import os
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import make_circles, make_moons, make_swiss_roll

from benchmarks.few_labels import draw_rows
from benchmarks.prior import read
from lowrankgcn.datasets import load_spiral
from lowrankgcn.experiments.comparison import ComparisonTask
from lowrankgcn.experiments.methods import choose

TABLES = "gp,forest,logistic,svc,spreading-rbf,spreading-knn"
CLOUDS = "gp,forest,svc,spreading-rbf,spreading-knn,poisson"
IMAGES = "gp,forest,logistic,poisson,spreading-knn"
LEAST = 1e-6
FOUND = ["accuracy", "balanced", "log-loss", "probability - accuracy", "seconds"]


def tasks(folder: Path) -> Iterator[ComparisonTask]:
    """Yield the tables of a folder."""
    for path in sorted(folder.glob("*.csv")):
        X, y = read(path)
        yield ComparisonTask(path.stem, X, y)


def images(rows: int) -> ComparisonTask:
    """Return a random subset of MNIST."""
    data = np.load(Path(os.environ["LOWRANKGCN_DATA"]) / "mnist.npz")
    chosen = np.random.default_rng(0).permutation(len(data["labels"]))[:rows]
    task = ComparisonTask("mnist", data["pixels"][chosen].astype(float), data["labels"][chosen])
    task.numbers = data["pixels"][chosen] / 255.0
    return task


def clouds(rows: int) -> Iterator[ComparisonTask]:
    """Yield generated point clouds in two and three dimensions, with two to five classes."""
    rng = np.random.default_rng(0)
    third = np.arange(rows) % 3
    along = rng.random(rows)
    turn = 2 * np.pi * (1.5 * along + third / 3)
    arms = (0.2 + along) * [np.cos(turn), np.sin(turn)] + rng.normal(0, 0.05, (2, rows))
    helix = np.array([np.cos(turn), np.sin(turn), 2 * along])
    helix += rng.normal(0, 0.15, (3, rows))
    roll, angle = make_swiss_roll(rows, noise=0.5, random_state=0)
    orbs = load_spiral(rows // 5)
    moons = make_moons(rows, noise=0.15, random_state=0)
    circles = make_circles(rows, noise=0.1, factor=0.5, random_state=0)
    yield ComparisonTask("two moons", *moons)
    yield ComparisonTask("two circles", *circles)
    yield ComparisonTask("three spiral arms", arms.T, third)
    yield ComparisonTask("three helices", helix.T, third)
    yield ComparisonTask("Swiss roll in four pieces", roll, pd.qcut(angle, 4, labels=False))
    yield ComparisonTask("spiral of five orbs", orbs.data, orbs.target)


def evaluate(task: ComparisonTask, key: str, known: np.ndarray, seed: int) -> dict[str, float]:
    """Return the scores of one fit of a method."""
    labels = np.full(task.n_rows, -1)
    labels[known] = task.classes[known]
    # Classes without labels have no column in the result of some methods.
    seen = np.unique(labels[known])
    (method,) = choose([key])
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = np.asarray(method.classify(task, labels, seed))
    seconds = time.process_time() - start
    truth = task.classes[labels < 0]
    P = np.zeros((task.n_rows, len(task.class_names)))
    if result.ndim == 1:
        P[np.arange(task.n_rows), result] = 1.0
    else:
        P[:, seen if result.shape[1] == len(seen) else slice(None)] = np.nan_to_num(result)
    P = P[labels < 0]
    right = P.argmax(axis=1) == truth
    losses = -np.log(np.clip(P[np.arange(len(truth)), truth], LEAST, 1))
    return {
        "accuracy": 100 * right.mean(),
        "balanced": 100 * pd.Series(right).groupby(truth).mean().mean(),
        "log-loss": losses.mean() if result.ndim == 2 else np.nan,
        "probability - accuracy": 100 * (P.max(axis=1) - right).mean(),
        "seconds": seconds,
    }


def summarise(fits: pd.DataFrame) -> pd.DataFrame:
    """Return means over tables by draw, labels and method, and the lead of the first method."""
    first = fits["method"].iloc[0]
    tables = fits.groupby(["draw", "labels", "method", "table"], sort=False)[FOUND].mean()
    means = tables.groupby(level=[0, 1, 2], sort=False).mean()
    lead = tables["accuracy"].xs(first, level="method") - tables["accuracy"]
    groups = lead.groupby(level=["draw", "labels", "method"], sort=False)
    means["lead"], means["±"] = groups.mean(), groups.sem()
    means["wins"] = groups.agg(lambda values: (values > 1).sum())
    means["losses"] = groups.agg(lambda values: (values < -1).sum())
    return means


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks tables",
        description=__doc__,
        formatter_class=argparse.RawTextHelpFormatter,
    )
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--images", action="store_true")
    parser.add_argument("--clouds", action="store_true")
    parser.add_argument("--rows", type=int)
    parser.add_argument("--methods")
    parser.add_argument("--labels", default=None)
    parser.add_argument("--draw", default=None)
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--markdown", type=Path)
    options = parser.parse_args()
    if not (options.folder or options.clouds) and "LOWRANKGCN_DATA" not in os.environ:
        parser.error("name a folder of CSV files, or set LOWRANKGCN_DATA to the folder above it")
    if options.images:
        chosen, defaults = [images(options.rows or 70_000)], (IMAGES, "1,5,10", "balanced")
    elif options.clouds:
        chosen, defaults = clouds(options.rows or 4_000), (CLOUDS, "1,3,10", "balanced")
    else:
        folder = options.folder or Path(os.environ["LOWRANKGCN_DATA"]) / "tables"
        chosen, defaults = tasks(folder), (TABLES, "1,2,3,5,10,20", "balanced,random")
    given = (options.methods, options.labels, options.draw)
    methods, counts, draws = (
        (value or default).split(",") for value, default in zip(given, defaults, strict=True)
    )
    rows = []
    for task in chosen:
        for draw, labels, split, key in itertools.product(
            draws, map(int, counts), range(options.splits), methods
        ):
            known = draw_rows(task.classes, labels, draw, np.random.default_rng((labels, split)))
            fit = {"table": task.name, "draw": draw, "labels": labels, "split": split}
            rows.append(fit | {"method": key} | evaluate(task, key, known, split))
        if options.out:
            pd.DataFrame(rows).to_csv(options.out, index=False)
        print(task.name, file=sys.stderr, flush=True)
    means = summarise(pd.DataFrame(rows))
    print(means.round(3).to_string())
    if options.markdown:
        header = [*means.index.names, *means.columns]
        lines = [header, ["---"] * 3 + ["--:"] * len(means.columns)]
        for place, values in zip(means.index, means.to_numpy().tolist(), strict=True):
            lines.append([*map(str, place), *(f"{value:.3g}" for value in values)])
        text = "".join(f"| {' | '.join(line)} |\n" for line in lines)
        options.markdown.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
