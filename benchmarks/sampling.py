"""Accuracy of a fit to a sample of rows and to all rows.

    python -m benchmarks sampling

Tables of 21 categorical columns and points in three dimensions by ``GCNClassifier``, and a
fifth as many rows of 16 numeric columns by ``SpectralGPClassifier``, with 200 labels.
Prints a table for the documentation: percent of all rows with the right class, mean of several
draws of the labels.
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any

import numpy as np

import lowrankgcn as lg
from benchmarks import numeric
from benchmarks.growth import table

SAMPLES = (10_000, 30_000, 100_000)
LABELLED = 200


def classify(
    X: Any, y: np.ndarray, hidden: np.ndarray, fit_rows: int | None
) -> tuple[float, float]:
    """Return percent of right classes, and seconds."""
    options: Any = {"fit_rows": fit_rows or len(X), "random_state": 0}
    classifier: Any = lg.GCNClassifier(architecture="reduced", **options)
    if isinstance(X, np.ndarray) and X.shape[1] == numeric.COLUMNS:
        classifier = lg.SpectralGPClassifier(**options)
    begin = time.perf_counter()
    found = classifier.fit(X, y).transduction_
    return 100 * float((found == hidden).mean()), time.perf_counter() - begin


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks sampling", description=__doc__)
    parser.add_argument("--rows", type=lambda text: int(float(text)), default=10**6)
    parser.add_argument("--draws", type=int, default=3, help="draws of the labels")
    options = parser.parse_args()
    spiral = lg.datasets.load_spiral(options.rows // 5, random_state=0)
    data = {
        "table": table(options.rows),
        "points": (spiral.data, spiral.target),
        "numbers": numeric.clusters(options.rows // 5)[:2],
    }
    print("| rows | " + " | ".join(f"{q:,} sampled" for q in SAMPLES) + " | all |")
    print("|---" * (len(SAMPLES) + 2) + "|")
    for name, (X, hidden) in data.items():
        cells = []
        for fit_rows in (*SAMPLES, None):
            runs = []
            for seed in range(options.draws):
                y = np.full(len(hidden), -1)
                chosen = np.random.default_rng(seed).choice(len(hidden), LABELLED, replace=False)
                y[chosen] = hidden[chosen]
                runs.append(classify(X, y, hidden, fit_rows))
            right, seconds = np.mean(runs, axis=0)
            cells.append(f"{right:.2f} % in {seconds:.1f} s")
        print(f"| {name}, {len(hidden):,} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
