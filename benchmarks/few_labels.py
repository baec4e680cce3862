"""Accuracy and honesty of SpectralGPClassifier over a folder of tables.

    python -m benchmarks few-labels FOLDER [--labels 1,2,3,5,10,20]
        [--draw balanced,random,suggested] [--splits 2] [--new-rows] [--out FILE] [--markdown FILE]
    python -m benchmarks few-labels time

Each CSV file has the class in its last column; at most 2000 rows are used. A balanced draw labels
random rows of every class, at most half of a class. A random draw labels as many random rows,
whatever their class. The script prints means over tables and splits, in points but for log-loss and
set size, and the standard error over tables of the printed accuracy minus the true one:

- accuracy, log-loss, mean probability minus accuracy, and expected calibration error (ten bins of
  equal width) on the unlabelled rows;
- how often an accuracy is printed (`loo_accuracy_` is not NaN), the printed accuracy minus the true
  one, the mean absolute difference, and how often the interval covers the true one;
- coverage and size of the prediction sets of level 0.9;
- the share of rows of classes without a label, and the printed one (`unseen_share_`);
- with 100 labels drawn at random, five of them changed: how many labels are suspicious, how many of
  those were changed, and which share of the changed ones they are (in the column of ten labels).

A suggested draw takes as many rows as a balanced one: up to ten first ones, then a third of the
labels more at a time. The printed accuracy is compared with the mean recall if labels count as
drawn class by class (`evidence_.by_class`), and otherwise with the plain accuracy, each on the
unlabelled rows. Coverage after a balanced draw weights the unlabelled rows by class as the labels
are.

--new-rows adds the accuracy on a third of the unlabelled rows that a second fit has not seen,
beside that of the fit that has seen them. --out writes the measures of each fit.

With `time` in place of a folder it prints processor seconds of a fit and of a prediction of all
rows, for clusters in 20 columns with 50 labels. Set OMP_NUM_THREADS=1 to use one core.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import lowrankgcn as lg
from benchmarks.prior import read
from lowrankgcn.estimators.class_labels import read_labels
from lowrankgcn.estimators.gp_fitting import PreparedRows, prepare_rows
from lowrankgcn.estimators.parameters import GPParameters, checked
from lowrankgcn.estimators.rows import read_rows
from lowrankgcn.gp.suggestion import first_of_views

BINS, FIRST, SUSPECTS_WITH = 10, 10, 10


def draw_rows(y: np.ndarray, labels: int, draw: str, generator: Any) -> np.ndarray:
    """Return rows to label; a random draw has as many as a balanced one, of two classes or more."""
    groups = [np.flatnonzero(y == c) for c in range(y.max() + 1)]
    drawn = [generator.choice(g, max(1, min(labels, len(g) // 2)), replace=False) for g in groups]
    known = np.concatenate(drawn)
    if draw == "random":
        known = generator.choice(len(y), len(known), replace=False)
        while np.ptp(y[known]) == 0:
            known = generator.choice(len(y), len(known), replace=False)
    return known


def prepare(X: pd.DataFrame, seed: int = 0) -> tuple[lg.SpectralGPClassifier, PreparedRows]:
    """Return a classifier and all of its fit that does not depend on labels."""
    classifier = lg.SpectralGPClassifier(random_state=seed)
    settings = checked(GPParameters, classifier.get_params())
    return classifier, prepare_rows(
        read_rows(classifier, X, "auto", numbers="table"), settings, seed
    )


def evaluate(
    prepared: tuple[lg.SpectralGPClassifier, PreparedRows],
    y: np.ndarray,
    known: np.ndarray,
    draw: str,
    labels: int,
) -> dict[str, float]:
    """Return the measures of one split."""
    half = np.full(len(y), -1)
    half[known] = y[known]
    fitted = prepared[0]._fit_labels(prepared[1], read_labels(half, len(y)))
    rest = np.flatnonzero(half < 0)
    truth, places = y[rest], fitted.classes_
    P = np.zeros((len(y), y.max() + 1))
    P[:, places] = fitted.label_distributions_
    weights = np.ones(len(rest))
    if draw == "balanced":
        weights = (np.bincount(y[known]) / np.bincount(truth, minlength=len(places)))[truth]
    sets = np.zeros(P.shape, bool)
    sets[:, places] = fitted.prediction_sets()
    top, right = P[rest].max(axis=1), P[rest].argmax(axis=1) == truth
    bins = np.minimum((BINS * top).astype(int), BINS - 1)
    gaps = np.bincount(bins, weights=top - right, minlength=BINS)
    recalls = [right[truth == c].mean() for c in places if (truth == c).any()]
    expected = np.mean(recalls) if fitted.evidence_.by_class else right.mean()
    printed, (low, high) = fitted.loo_accuracy_, fitted.loo_interval_
    shown = np.isfinite(printed)
    measures = {
        "accuracy": 100 * right.mean(),
        "log-loss": -np.log(np.clip(P[rest, truth], 1e-6, 1)).mean(),
        "confidence - accuracy": 100 * (top - right).mean(),
        "ECE": 100 * np.abs(gaps).sum() / len(rest),
        "printed": 100 * float(shown),
        "printed - true": 100 * (printed - expected),
        "absolute": 100 * abs(printed - expected),
        "covered": 100 * float(low <= expected <= high) if shown else np.nan,
        "set coverage": 100 * np.average(sets[rest, truth], weights=weights),
        "set size": np.average(sets[rest].sum(axis=1), weights=weights),
        "unseen": 100 * np.isin(truth, places, invert=True).mean(),
        "printed unseen": 100 * fitted.unseen_share_,
    }
    if draw == "random" and labels == SUSPECTS_WITH:
        measures |= suspected(prepared, y, np.random.default_rng(known))
    return measures


def suspected(
    prepared: tuple[lg.SpectralGPClassifier, PreparedRows], y: np.ndarray, generator: Any
) -> dict[str, float]:
    """Change one in twenty labels of a random draw, and count suspicious and changed ones."""
    known = generator.choice(len(y), min(100, len(y) // 2), replace=False)
    changed = generator.choice(known, max(1, len(known) // 20), replace=False)
    half = np.full(len(y), -1)
    half[known] = y[known]
    half[changed] = (y[changed] + generator.integers(1, y.max() + 1, len(changed))) % (y.max() + 1)
    table = prepared[0]._fit_labels(prepared[1], read_labels(half, len(y))).audit()
    suspects = table.row[table.suspect].to_numpy()
    hits = np.isin(suspects, changed).sum()
    return {
        "suspects": len(suspects),
        "changed suspects": hits,
        "found": 100 * hits / len(changed),
    }


def suggested_rows(
    prepared: tuple[lg.SpectralGPClassifier, PreparedRows], y: np.ndarray, count: int
) -> np.ndarray:
    """Return rows to label by suggestion, starting without any label."""
    views, free = prepared[1].views, np.arange(len(y))
    known = first_of_views(views, min(count, FIRST), free, free[:0], 0)
    while len(known) < count or np.ptp(y[known]) == 0:
        more = max(1, min(max(FIRST, len(known) // 3), count - len(known)))
        if np.ptp(y[known]) == 0:
            rest = np.setdiff1d(free, known)
            rows = first_of_views(views, more, rest, known, 0)
        else:
            half = np.full(len(y), -1)
            half[known] = y[known]
            rows = prepared[0]._fit_labels(prepared[1], read_labels(half, len(y))).suggest(more)
        known = np.concatenate([known, rows])
    return np.sort(known)


def evaluate_new_rows(
    X: pd.DataFrame, y: np.ndarray, known: np.ndarray, generator: Any
) -> dict[str, float]:
    """Return the accuracy on rows that the fit has not seen, and that it has seen."""
    half = np.full(len(y), -1)
    half[known] = y[known]
    unseen = generator.choice(np.flatnonzero(half < 0), (len(y) - len(known)) // 3, replace=False)
    seen = np.setdiff1d(np.arange(len(y)), unseen)
    classifier = lg.SpectralGPClassifier(random_state=0)
    first = classifier.fit(X, half).transduction_[unseen]
    second = classifier.fit(X.iloc[seen], half[seen]).predict(X.iloc[unseen])
    return {
        name: 100 * (classes == y[unseen]).mean()
        for name, classes in (("unseen", second), ("seen", first))
    }


def print_times() -> None:
    """Print processor seconds of fit and prediction, the best of three."""
    for n in (2_000, 10_000):
        generator = np.random.default_rng(0)
        classes = generator.integers(0, 5, n)
        X = (1.5 * generator.normal(size=(5, 20)))[classes] + 1.5 * generator.normal(size=(n, 20))
        y = np.full(n, -1)
        y[:50] = classes[:50]
        taken = []
        for _ in range(3):
            start = time.process_time()
            fitted = lg.SpectralGPClassifier(random_state=0).fit(X, y)
            between = time.process_time()
            fitted.predict(X)
            taken.append((time.process_time() - start, between - start))
        whole, fit = min(taken)
        print(f"{n} rows: fit {fit:.2f} s, fit and prediction {whole:.2f} s")


def summarise(frame: pd.DataFrame) -> pd.DataFrame:
    """Return means over splits, then tables, by draw and number of labels."""
    tables = frame.groupby(["draw", "labels", "table"]).mean().drop(columns="split")
    groups = tables.groupby(["draw", "labels"])
    means = groups.mean()
    means.insert(1 + means.columns.get_loc("printed - true"), "±", groups["printed - true"].sem())
    return means.round(2)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--labels", default="1,2,3,5,10,20")
    parser.add_argument("--draw", default="balanced,random,suggested")
    parser.add_argument("--splits", type=int, default=2)
    parser.add_argument("--new-rows", action="store_true")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--markdown", type=Path)
    options = parser.parse_args()
    if str(options.folder) == "time":
        print_times()
        return
    rows: list[dict[str, Any]] = []
    for path in sorted(options.folder.glob("*.csv")):
        X, y = read(path)
        prepared = prepare(X)
        for split, labels, draw in itertools.product(
            range(options.splits), map(int, options.labels.split(",")), options.draw.split(",")
        ):
            generator = np.random.default_rng((labels, split))
            known = draw_rows(y, labels, draw, generator)
            if draw == "suggested":
                if split:
                    continue  # nothing is random
                known = suggested_rows(prepared, y, len(known))
            row = {"table": path.stem, "draw": draw, "labels": labels, "split": split}
            rows.append(row | evaluate(prepared, y, known, draw, labels))
            if options.new_rows:
                rows[-1] |= evaluate_new_rows(X, y, known, generator)
        if options.out:
            pd.DataFrame(rows).to_csv(options.out, index=False)
        print(path.stem, file=sys.stderr, flush=True)
    means = summarise(pd.DataFrame(rows))
    print(means.T.to_string())
    if options.markdown:
        lines = [["", *(f"{draw} {labels}" for draw, labels in means.index)]]
        lines += [["---", *["--:"] * len(means)]]
        lines += [[name, *(f"{value:.2f}" for value in means[name])] for name in means]
        text = "".join(f"| {' | '.join(line)} |\n" for line in lines)
        options.markdown.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
