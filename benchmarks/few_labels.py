"""Accuracy, calibration and evidence of SpectralGPClassifier over a folder of tables.

    python -m benchmarks.few_labels FOLDER [--labels 5,10,20] [--splits 2] [--markdown FILE]
    python -m benchmarks.few_labels time

Each CSV file has the class in its last column; at most 2000 rows are used. A split labels random
rows of every class, at most half of a class. The script prints means over tables and splits of

- accuracy and log-loss on the unlabelled rows, and the mean probability minus the accuracy;
- the leave-one-out accuracy minus the balanced accuracy on the unlabelled rows, and how often its
  interval covers that;
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
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import lowrankgcn as lg
from benchmarks.prior import read


def evaluate(X: pd.DataFrame, y: np.ndarray, labels: int, seed: int) -> dict[str, float]:
    """Return the measures of one split."""
    generator = np.random.default_rng((labels, seed))
    groups = [np.flatnonzero(y == c) for c in range(y.max() + 1)]
    drawn = [generator.choice(g, max(1, min(labels, len(g) // 2)), replace=False) for g in groups]
    known = np.concatenate(drawn)
    rest = np.setdiff1d(np.arange(len(y)), known)
    half = np.full(len(y), -1)
    half[known] = y[known]
    fitted = lg.SpectralGPClassifier(random_state=seed).fit(X, half)
    P = fitted.label_distributions_
    right = P.argmax(axis=1) == y
    weights = 1.0 / np.bincount(y[rest], minlength=len(groups))[y[rest]]
    weights *= np.array([len(d) for d in drawn])[y[rest]]
    low, high = fitted.loo_interval_
    balanced = np.average(_without_shares(fitted).argmax(axis=1)[rest] == y[rest], weights=weights)
    sets = fitted.prediction_sets()
    unseen = generator.choice(rest, len(rest) // 3, replace=False)
    seen = np.setdiff1d(np.arange(len(y)), unseen)
    second = lg.SpectralGPClassifier(random_state=seed).fit(X.iloc[seen], half[seen])
    return {
        "accuracy": 100 * right[rest].mean(),
        "log-loss": -np.log(np.clip(P[rest, y[rest]], 1e-6, 1)).mean(),
        "overconfidence": 100 * (P[rest].max(axis=1).mean() - right[rest].mean()),
        "loo bias": 100 * (fitted.loo_accuracy_ - balanced),
        "loo covered": 100 * float(low <= balanced <= high),
        "set coverage": 100 * np.average(sets[rest, y[rest]], weights=weights),
        "set size": np.average(sets[rest].sum(axis=1), weights=weights),
        "unseen": 100 * (second.predict(X.iloc[unseen]) == y[unseen]).mean(),
        "seen": 100 * right[unseen].mean(),
    }


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
    parser.add_argument("--splits", type=int, default=2)
    parser.add_argument("--markdown", type=Path)
    options = parser.parse_args()
    if str(options.folder) == "time":
        print_times()
        return
    rows = []
    for path in sorted(options.folder.glob("*.csv")):
        X, y = read(path)
        for labels in map(int, options.labels.split(",")):
            for seed in range(options.splits):
                found = evaluate(X, y, labels, seed)
                rows.append({"table": path.stem, "labels": labels, **found})
        print(path.stem, file=sys.stderr, flush=True)
    frame = pd.DataFrame(rows)
    means = frame.groupby(["table", "labels"]).mean().groupby("labels").mean()
    print(means.round(2).to_string())
    if options.markdown:
        lines = [
            "| labels | " + " | ".join(means.columns) + " |",
            "|---" * (len(means.columns) + 1) + "|",
        ]
        lines += [
            f"| {labels} | " + " | ".join(f"{value:.2f}" for value in values) + " |"
            for labels, values in zip(means.index, means.to_numpy(), strict=True)
        ]
        options.markdown.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
