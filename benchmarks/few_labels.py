"""Accuracy, calibration and evidence of SpectralGPClassifier over a folder of tables.

    python -m benchmarks.few_labels FOLDER [--labels 5,10,20] [--draw balanced,random] [--splits 2]
        [--markdown FILE]
    python -m benchmarks.few_labels time

Each CSV file has the class in its last column; at most 2000 rows are used. A balanced split labels
that many random rows of every class, at most half of a class; a random one labels as many rows in
all, whatever their class, of two classes at least (rows of classes without a label count as wrong).
The script prints means over tables and splits of

- accuracy and log-loss on the unlabelled rows, the mean probability minus the accuracy, and the
  expected calibration error (ten bins of probabilities);
- the leave-one-out accuracy minus the accuracy on the unlabelled rows, weighted by class as the
  labels are, and how often its interval covers that;
- coverage and size of the prediction sets of level 0.9 on the unlabelled rows, weighted by class as
  the labels are;
- accuracy on a third of the unlabelled rows that a second fit has not seen, beside that of the fit
  that has seen them.

With `time` in place of a folder it prints processor seconds of a fit and of a prediction of all
rows, for clusters in 20 columns with 50 labels. Set OMP_NUM_THREADS=1 to use one core.
"""

from __future__ import annotations

import argparse
import sys
import time
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import lowrankgcn as lg
from benchmarks.prior import read


def draw_rows(y: np.ndarray, labels: int, draw: str, generator: np.random.Generator) -> np.ndarray:
    """Return the rows that a split labels."""
    groups = [np.flatnonzero(y == c) for c in range(y.max() + 1)]
    if draw == "balanced":
        counts = [max(1, min(labels, len(group) // 2)) for group in groups]
        drawn = zip(groups, counts, strict=True)
        return np.concatenate([generator.choice(*one, replace=False) for one in drawn])
    known = np.zeros(0, int)
    while len(set(y[known])) < 2:
        count = min(labels * len(groups), len(y) // 2)
        known = generator.choice(len(y), count, replace=False)
    return known


def evaluate(X: pd.DataFrame, y: np.ndarray, labels: int, draw: str, seed: int) -> dict[str, float]:
    """Return the measures of one split."""
    generator = np.random.default_rng((labels, seed))
    known = draw_rows(y, labels, draw, generator)
    counts = np.bincount(y[known], minlength=y.max() + 1)
    rest = np.setdiff1d(np.arange(len(y)), known)
    half = np.full(len(y), -1)
    half[known] = y[known]
    fitted = lg.SpectralGPClassifier(random_state=seed).fit(X, half)
    P = _of_all_classes(fitted, fitted.label_distributions_, len(counts))
    right, certain = P.argmax(axis=1) == y, P.max(axis=1)
    weights = (counts / np.maximum(np.bincount(y[rest], minlength=len(counts)), 1))[y[rest]]
    low, high = fitted.loo_interval_
    plain = _of_all_classes(fitted, _without_shares(fitted), len(counts))
    balanced = np.average(plain.argmax(axis=1)[rest] == y[rest], weights=weights)
    sets = _of_all_classes(fitted, fitted.prediction_sets(), len(counts))
    bins = np.minimum((10 * certain[rest]).astype(int), 9)
    errors = [abs((certain - right)[rest][bins == k].sum()) for k in range(10)]
    unseen = generator.choice(rest, len(rest) // 3, replace=False)
    seen = np.setdiff1d(np.arange(len(y)), unseen)
    second = lg.SpectralGPClassifier(random_state=seed).fit(X.iloc[seen], half[seen])
    return {
        "accuracy": 100 * right[rest].mean(),
        "log-loss": -np.log(np.clip(P[rest, y[rest]], 1e-6, 1)).mean(),
        "overconfidence": 100 * (certain[rest].mean() - right[rest].mean()),
        "calibration error": 100 * sum(errors) / len(rest),
        "loo bias": 100 * (fitted.loo_accuracy_ - balanced),
        "loo covered": 100 * float(low <= balanced <= high),
        "set coverage": 100 * np.average(sets[rest, y[rest]], weights=weights),
        "set size": np.average(sets[rest].sum(axis=1), weights=weights),
        "unseen": 100 * (second.predict(X.iloc[unseen]) == y[unseen]).mean(),
        "seen": 100 * right[unseen].mean(),
    }


def _of_all_classes(fitted: Any, columns: np.ndarray, n_classes: int) -> np.ndarray:
    """Return columns of labelled classes among those of all classes."""
    result = np.zeros((len(columns), n_classes))
    result[:, fitted.classes_] = columns
    return result


def _without_shares(fitted: Any) -> np.ndarray:
    """Return the distributions under the class shares of the labels."""
    shares: np.ndarray = fitted.label_distributions_ / fitted._model.process.factors
    return shares


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


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--labels", default="5,10,20")
    parser.add_argument("--draw", default="balanced")
    parser.add_argument("--splits", type=int, default=2)
    parser.add_argument("--markdown", type=Path)
    options = parser.parse_args()
    if str(options.folder) == "time":
        print_times()
        return
    rows = []
    for path in sorted(options.folder.glob("*.csv")):
        X, y = read(path)
        trials = product(options.draw.split(","), map(int, options.labels.split(",")))
        for (draw, labels), seed in product(trials, range(options.splits)):
            found = evaluate(X, y, labels, draw, seed)
            rows.append({"table": path.stem, "draw": draw, "labels": labels, **found})
        print(path.stem, file=sys.stderr, flush=True)
    frame = pd.DataFrame(rows)
    means = frame.groupby(["table", "draw", "labels"]).mean().groupby(["draw", "labels"]).mean()
    print(means.round(2).to_string())
    if options.markdown:
        lines = [
            "| draw | labels | " + " | ".join(means.columns) + " |",
            "|---" * (len(means.columns) + 2) + "|",
        ]
        lines += [
            f"| {draw} | {labels} | " + " | ".join(f"{value:.2f}" for value in values) + " |"
            for (draw, labels), values in zip(means.index, means.to_numpy(), strict=True)
        ]
        options.markdown.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
