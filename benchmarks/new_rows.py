"""New rows: cost and accuracy of their approximate neighbours, beside forest and regression.

    python -m benchmarks new-rows FOLDER [--labels 40] [--share 0.6]
    python -m benchmarks new-rows --large

Each CSV file has the class in its last column. SpectralGPClassifier, a random forest and logistic
regression are fitted to a share of the rows, with the same labels, and classify the others. The
script prints for each table

- accuracy with exact neighbours of new rows, and its change with most of them (lists from the
  first row on, whatever the size of the table);
- the mean total variation between the two distributions of a row;
- processor microseconds for a new row, with lists, of the forest and of the regression, and the
  accuracy of both.

``--large`` fits 20,000 rows of MNIST, if it is in ``LOWRANKGCN_DATA``, and of the tables of the
benchmark ``classify`` instead, and searches lists with 210, 420 and 840 of them.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

import lowrankgcn as lg
from benchmarks import classify
from benchmarks.prior import read
from lowrankgcn.graphs import neighbours


def predicted(classifier: Any, X: Any) -> tuple[np.ndarray, float]:
    """Return class distributions, and processor microseconds for a row."""
    classifier.predict_proba(X[:2])
    begin = time.process_time()
    shares = classifier.predict_proba(X)
    return shares, 1e6 * (time.process_time() - begin) / len(X)


def evaluate(X: pd.DataFrame, y: np.ndarray, labels: int, share: float) -> dict[str, float]:
    """Return the measures of one table."""
    order = np.random.default_rng(0).permutation(len(y))
    X, y, n = X.iloc[order].reset_index(drop=True), y[order], int(share * len(y))
    each = max(5, labels // (y.max() + 1))
    known = np.concatenate([np.flatnonzero(y[:n] == c)[:each] for c in range(y.max() + 1)])
    half = np.full(n, -1)
    half[known] = y[known]
    result, shares, most = {}, [], neighbours._EXACT
    for neighbours._EXACT in (len(y), 0):
        classifier = lg.SpectralGPClassifier(random_state=0).fit(X.iloc[:n], half)
        distributions, cost = predicted(classifier, X.iloc[n:])
        shares.append(distributions)
    neighbours._EXACT = most
    correct = [100 * float((one.argmax(axis=1) == y[n:]).mean()) for one in shares]
    result["exact"], result["change"] = correct[0], correct[1] - correct[0]
    result["variation"] = float(np.abs(shares[0] - shares[1]).sum(axis=1).mean() / 2)
    result["cost"] = cost
    numbers = pd.get_dummies(X).fillna(0.0).to_numpy(float)
    numbers = (numbers - numbers.mean(axis=0)) / (numbers.std(axis=0) + 1e-9)
    peers = {"forest": RandomForestClassifier(random_state=0), "regression": LogisticRegression()}
    for name, peer in peers.items():
        distributions, cost = predicted(peer.fit(numbers[known], y[known]), numbers[n:])
        names = peer.classes_[distributions.argmax(axis=1)]
        result[name], result[f"{name} cost"] = 100 * float((names == y[n:]).mean()), cost
    return result


def evaluate_large(X: pd.DataFrame, y: np.ndarray, known: np.ndarray) -> dict[str, str]:
    """Return the change by lists of a table whose first 20,000 rows are fitted."""
    n = 20_000
    half, others, most = np.full(n, -1), X.iloc[n : 2 * n], neighbours._EXACT
    half[known] = y[known]
    neighbours._EXACT = n
    exact = lg.SpectralGPClassifier(random_state=0).fit(X.iloc[:n], half).predict_proba(others)
    neighbours._EXACT = most
    classifier = lg.SpectralGPClassifier(random_state=0).fit(X.iloc[:n], half)
    index = classifier._model.maps.embeddings["neighbours"].extension.near._search._index
    right = exact.argmax(axis=1) == y[n : 2 * n]
    result = {"exact": f"{100 * right.mean():.2f} %"}
    for points in (210, 420, 840):
        index.nprobe = -(-points * index.nlist // index.ntotal)
        shares, cost = predicted(classifier, others)
        change = 100 * ((shares.argmax(axis=1) == y[n : 2 * n]).mean() - right.mean())
        variation = np.abs(shares - exact).sum(axis=1).mean() / 2
        result[f"{points} rows"] = f"{change:+.2f}, {variation:.4f}, {cost:.1f} µs"
    return result


def large() -> None:
    """Print one line for each large table."""
    rng = np.random.default_rng(0)
    path = Path(os.environ.get("LOWRANKGCN_DATA", "")) / "mnist.npz"
    if path.exists():
        with np.load(path) as file:
            order = rng.permutation(len(file["labels"]))[:40_000]
            pixels = pd.DataFrame(file["pixels"][order].astype(float))
            y = file["labels"][order].astype(int)
        of_class = [np.flatnonzero(y[:20_000] == digit)[:5] for digit in range(10)]
        print("mnist", evaluate_large(pixels, y, np.concatenate(of_class)), flush=True)
    for kind in ("num", "mix", "cat"):
        X, y = classify.rows(kind, 40_000)
        known = rng.choice(20_000, classify.LABELLED, replace=False)
        print(kind, evaluate_large(X, y, known), flush=True)


def main() -> None:
    """Print one line for each table, and the means."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--large", action="store_true", help="20,000 fitted rows")
    parser.add_argument("--labels", type=int, default=40)
    parser.add_argument("--share", type=float, default=0.6)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    if arguments.large:
        return large()
    if arguments.folder is None:
        parser.error("give a folder of CSV files, or --large")
    rows: dict[str, dict[str, float]] = {}
    for path in sorted(arguments.folder.glob("*.csv")):
        rows[path.stem] = evaluate(*read(path), arguments.labels, arguments.share)
        print(path.stem, {k: round(v, 4) for k, v in rows[path.stem].items()}, flush=True)
    print(pd.DataFrame(rows).T.mean().round(4).to_dict())


if __name__ == "__main__":
    main()
