"""Numeric tables: whole fits, the eigensolver and neighbours, compared with other libraries.

``python -m benchmarks speed --only numeric`` prints them. ``python -m benchmarks numeric ROWS``
fits ``SpectralGPClassifier`` with default arguments to clusters in 16 columns with 200 labels. It
prints seconds, accuracy and the peak memory of the process in MB as a JSON object. Linux only.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spla
from sklearn.neighbors import kneighbors_graph
from sklearn.semi_supervised import LabelSpreading

import lowrankgcn as lg
from benchmarks.memory import megabytes

COLUMNS, CLASSES, LABELLED, NEIGHBOURS = 16, 8, 200, 10
SIZES = {20_000: "≤ 3 s", 100_000: "≤ 15 s", 1_000_000: "≤ 60 s"}
PAIRS = {30: 80, 100: 201}  # number of pairs: length of the basis of eigsh
TOL, PEER_TOL = 1e-4, 5e-4  # with these, the largest residuals are about the same


def clusters(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw rows, their classes, and labels with −1 for unlabelled rows."""
    rng = np.random.default_rng(seed)
    centres = 1.2 * rng.normal(size=(CLASSES, COLUMNS))
    hidden = rng.integers(CLASSES, size=n)
    X = centres[hidden] + rng.normal(size=(n, COLUMNS))
    y = np.full(n, -1)
    known = rng.choice(n, LABELLED, replace=False)
    y[known] = hidden[known]
    return X, hidden, y


def seconds(function: Callable[[], Any]) -> float:
    """Return the seconds of a call."""
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def fit(n: int) -> dict[str, float]:
    """Fit and classify all rows."""
    X, hidden, y = clusters(n)
    classifier = lg.SpectralGPClassifier(random_state=0)
    spent = seconds(lambda: classifier.fit(X, y))
    right = (classifier.transduction_ == hidden)[y < 0].mean()
    return {"seconds": spent, "accuracy": float(right), "whole MB": megabytes("VmHWM")}


def usual_steps(X: np.ndarray, y: np.ndarray) -> None:
    """Classify with scikit-learn, and compute as many eigenpairs to the same residuals by SciPy."""
    directed = kneighbors_graph(X, NEIGHBOURS, mode="connectivity")
    weights = directed.maximum(directed.T)
    scale = sp.diags_array(1 / np.sqrt(np.asarray(weights.sum(axis=1)).ravel()))
    first = np.random.default_rng(0).normal(size=len(X))
    spla.eigsh(scale @ weights @ scale, 100, which="LA", tol=1e-2, ncv=PAIRS[100], v0=first)
    LabelSpreading(kernel="knn", n_neighbors=NEIGHBOURS).fit(X, y)


def rows(quick: bool) -> Iterator[dict[str, Any]]:
    """Yield one row per benchmark."""
    times = {}
    for n, target in SIZES.items():
        if quick and n > 100_000:
            break
        command = [sys.executable, "-m", "benchmarks.numeric", str(n)]
        printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        found = json.loads(printed)
        times[n] = found["seconds"]
        work = f"numeric table, n = {n:,}: {100 * found['accuracy']:.1f} % right"
        row = {"work": work, "seconds": times[n], "added MB": found["whole MB"], "target": target}
        yield row
    first, last = min(times), max(times)
    exponent = math.log(times[last] / times[first]) / math.log(last / first)
    work = f"numeric table: exponent of growth from {first:,} to {last:,}"
    yield {"work": work, "times faster": exponent, "target": "≤ 1.1"}
    X, _, y = clusters(50_000)
    ours = seconds(lambda: lg.SpectralGPClassifier(random_state=0).fit(X, y))
    ratio = seconds(lambda: usual_steps(X, y)) / ours
    work = "numeric table, n = 50,000, compared with kneighbors + eigsh + LabelSpreading"
    yield {"work": work, "seconds": ours, "times faster": ratio, "target": "5"}
    for n in (50_000,) if quick else (50_000, 500_000):
        yield from eigenpairs(n)


def eigenpairs(n: int) -> Iterator[dict[str, Any]]:
    """Yield the times of pairs of a graph of nearest neighbours, with their largest residual."""
    graph = lg.AdjacencyGraph.knn(clusters(n)[0], NEIGHBOURS)
    laplacian = lg.Laplacian(graph)
    scale = sp.diags_array(laplacian.scale)
    matrix = sp.csr_array(scale @ graph.adjacency @ scale)
    first = np.random.default_rng(0).normal(size=n)
    for k, basis in PAIRS.items():
        begin = time.perf_counter()
        pairs = lg.eigenpairs(laplacian, k, tol=TOL)
        middle = time.perf_counter()
        values, vectors = spla.eigsh(matrix, k, which="LA", tol=PEER_TOL, ncv=basis, v0=first)
        ours, peer = middle - begin, time.perf_counter() - middle
        other = np.linalg.norm(matrix @ vectors - vectors * values, axis=0).max()
        yield {
            "work": f"{k} eigenpairs, n = {n:,}, compared with eigsh (error {other:.0e})",
            "seconds": ours,
            "error": float(pairs.residuals.max()),
            "times faster": peer / ours,
            "target": "2",
        }


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print(json.dumps(fit(int(float(sys.argv[1])))))
