"""Measure how time and memory of whole jobs grow with the number of rows.

``python -m benchmarks growth [FOLDER]`` fits and classifies tables and points of 10⁵, 10⁶ and 10⁷
rows in memory, and a table of 10⁶ rows by the paper's implementation (sparse incidence, svds, one
R-GCN by autograd), each in a separate process. It prints a table for the documentation, with the
exponent of a least-squares line through the logarithms of rows and seconds, and the ratio of the
paper's time to ours. The output of the runs is written to FOLDER if given.

``python -m benchmarks growth NAME ROWS`` runs one of them, "table", "points" or "paper", and prints
one JSON object with seconds of each step, processor seconds and peak memory in MB. Linux only.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import lowrankgcn as lg

SIZES = (10**5, 10**6, 10**7)
HEADER = ("work", "set-up", "training", "predictions", "all", "peak MB")
PARTS = ("set-up", "training", "prediction", "all")
COLUMNS = 21
HYPEREDGES = 112
LABELLED = 200
RANK, HIDDEN, STEPS = 30, 32, 200  # defaults of the classifier

# 21 columns with 112 values: 14 columns of 5 and 7 columns of 6.
LEVELS = [5 + (j % 3 == 0) for j in range(COLUMNS)]
assert sum(LEVELS) == HYPEREDGES


def table(n: int, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Return categories that depend on one of three hidden classes, and the classes."""
    rng = np.random.default_rng(seed)
    hidden = rng.integers(0, 3, n, dtype=np.int8)
    columns = {}
    for j, levels in enumerate(LEVELS):
        codes = (hidden * (j + 1)) % levels
        noise = rng.random(n, dtype=np.float32) < 0.6
        codes[noise] = rng.integers(0, levels, int(noise.sum()), dtype=np.int8)
        columns[f"c{j:02d}"] = pd.Categorical.from_codes(codes, [f"v{k}" for k in range(levels)])
    return pd.DataFrame(columns), hidden


def labels(hidden: np.ndarray) -> np.ndarray:
    """Return 200 of the classes, and −1 for the other rows."""
    y = np.full(len(hidden), -1, np.int8)
    chosen = np.random.default_rng(1).choice(len(hidden), LABELLED, replace=False)
    y[chosen] = hidden[chosen]
    return y


def peak_megabytes() -> float:
    """Return the peak memory of this process."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6


def classifier() -> lg.GCNClassifier:
    return lg.GCNClassifier(architecture="reduced", random_state=0)


def in_memory(X: Any, hidden: np.ndarray) -> dict[str, Any]:
    """Fit and classify all rows."""
    import lowrankgcn.estimators  # noqa: F401  # its imports are not measured

    before = peak_megabytes()
    begin, busy = time.perf_counter(), time.process_time()
    fitted = classifier().fit(X, labels(hidden))
    whole, busy = time.perf_counter() - begin, time.process_time() - busy
    return {
        "rows": len(hidden),
        "seconds": fitted.timings_ | {"all": whole},
        "processor seconds": busy,
        "accuracy": float((fitted.transduction_ == hidden).mean()),
        "input MB": before,
        "peak MB": peak_megabytes(),
    }


def run_table(n: int) -> dict[str, Any]:
    return in_memory(*table(n))


def run_points(n: int) -> dict[str, Any]:
    spiral = lg.datasets.load_spiral(n // 5, random_state=0)
    return in_memory(spiral.data, spiral.target)


def run_paper(n: int) -> dict[str, Any]:
    """Run svds of the sparse incidence matrix, then 200 steps of one R-GCN in plain PyTorch."""
    import scipy.sparse as sp
    import scipy.sparse.linalg as spla
    import torch
    from sklearn.preprocessing import OneHotEncoder

    from benchmarks.training_peers import paper_training, reduced

    frame, hidden = table(n)
    y = labels(hidden)
    before = peak_megabytes()
    begin, busy = time.perf_counter(), time.process_time()
    incidence = OneHotEncoder(dtype=np.float64).fit_transform(frame)
    sizes = np.asarray(incidence.sum(axis=0)).ravel()
    normalised = incidence @ sp.diags_array(sizes**-0.5) / np.sqrt(COLUMNS)
    start = np.random.default_rng(0).normal(size=min(normalised.shape))
    vectors, singular, _ = spla.svds(normalised, RANK, v0=start)
    set_up = time.perf_counter() - begin
    U = torch.from_numpy(np.ascontiguousarray(vectors, np.float32))
    X = torch.from_numpy(incidence.astype(np.float32).toarray())
    values = 1 - singular**2
    response = torch.from_numpy(np.where(values > 1e-9, 1 / np.maximum(values, 1e-9), 0.0)).float()
    rng = np.random.default_rng(0)
    shapes = ((X.shape[1], HIDDEN), (HIDDEN, 3))
    weights = tuple(rng.normal(scale=0.1, size=shape).astype(np.float32) for shape in shapes)
    index = np.flatnonzero(y >= 0)
    forward = reduced(U, response, X)
    paper_training(forward, weights, index, y[index].astype(np.int64), iterations=STEPS)
    with torch.no_grad():
        forward(*map(torch.from_numpy, weights)).argmax(dim=1)
    whole, busy = time.perf_counter() - begin, time.process_time() - busy
    return {
        "rows": n,
        "seconds": {"set-up": set_up, "all": whole},
        "processor seconds": busy,
        "input MB": before,
        "peak MB": peak_megabytes(),
    }


def measure(name: str, n: int, folder: Path | None) -> dict[str, Any]:
    """Run one job in a separate process and return its output."""
    command = [sys.executable, "-m", "benchmarks.growth", name, str(n)]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    if folder is not None:
        folder.mkdir(exist_ok=True)
        (folder / f"{name}-{n}.json").write_text(printed)
    found: dict[str, Any] = json.loads(printed)
    return found


def exponent(rows: list[int], seconds: list[float]) -> float:
    """Return the slope of log(seconds) over log(rows)."""
    return float(np.polyfit(np.log(rows), np.log(seconds), 1)[0])


def line(name: str, run: dict[str, Any]) -> str:
    """Format a row of the table."""
    seconds = run["seconds"]
    steps = [f"{seconds[step]:.3g}" if step in seconds else "" for step in PARTS]
    return " | ".join([f"| {name}, n = {run['rows']:,}", *steps, f"{run['peak MB']:.0f} |"])


def main() -> None:
    """Measure and print."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    print(f"| {' | '.join(HEADER)} |")
    print("|---" * len(HEADER) + "|")
    tables: dict[int, float] = {}
    for name in ("table", "points"):
        runs = [measure(name, n, folder) for n in SIZES]
        for run in runs:
            print(line(name, run), flush=True)
        times = [run["seconds"]["all"] for run in runs]
        if name == "table":
            tables = dict(zip(SIZES, times, strict=True))
        fitted = exponent(list(SIZES), times), exponent(list(SIZES[1:]), times[1:])
        print(
            f"| {name}: exponent of growth, all and from the second size on | | | | "
            f"| {fitted[0]:.2f}, {fitted[1]:.2f} | |"
        )
    paper = measure("paper", 10**6, folder)
    print(line("table, the paper's implementation", paper))
    print(f"| … times faster | | | | | {paper['seconds']['all'] / tables[10**6]:.3g} | |")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    runs = {"table": run_table, "points": run_points, "paper": run_paper}
    if len(sys.argv) == 3:
        name, count = sys.argv[1:]
        print(json.dumps({"name": name, **runs[name](int(float(count)))}, indent=2))
    else:
        main()
