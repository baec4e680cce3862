"""Benchmarks of large tables and point clouds: ``python -m benchmarks.scale NAME ROWS``.

======== =========================================================================================
NAME     measurement
======== =========================================================================================
table    a table of 21 columns and 112 hyperedges in memory: set-up, R-GCN, all predictions
points   points in three dimensions in memory: set-up, R-GCN, all predictions
paper    the table with the paper's algorithms: sparse incidence, svds, one R-GCN by autograd
files    write Parquet files of such a table: ``files ROWS FOLDER``
cloud    write Parquet files of such points: ``cloud ROWS FOLDER``
dask     the files on a LocalCluster of two processes of one thread: ``dask ROWS FOLDER``
passes   each pass over the files by itself, and its traffic: ``passes ROWS FOLDER``
======== =========================================================================================

Each prints one JSON object with seconds of each step, processor seconds (independent of other
programs on the machine), and peak memory in MB (for workers, the largest). Linux only.
"""

from __future__ import annotations

import json
import pickle
import resource
import sys
import time
import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import lowrankgcn as lg

COLUMNS = 21
HYPEREDGES = 112
LABELLED = 200
BLOCK = 500_000
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
    _warm()
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


def cloud(n: int, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Return points of the spiral and their classes."""
    spiral = lg.datasets.load_spiral(n // 5, random_state=seed)
    return pd.DataFrame(spiral.data, columns=list("xyz")), spiral.target.astype(np.int8)


def run_files(n: int, folder: Path) -> dict[str, Any]:
    """Write a table in blocks of 500 000 rows; the first block has labels in the column "class"."""
    return write_files(n, folder, table)


def run_cloud(n: int, folder: Path) -> dict[str, Any]:
    """Write points in blocks of 500 000 rows."""
    return write_files(n, folder, cloud)


def write_files(n: int, folder: Path, draw: Any) -> dict[str, Any]:
    """Write blocks drawn by `draw`, a function of the number of rows and a seed."""
    folder.mkdir()
    begin = time.perf_counter()
    for number, start in enumerate(range(0, n, BLOCK)):
        frame, hidden = draw(min(BLOCK, n - start), seed=number)
        y = labels(hidden) if number == 0 else np.full(len(hidden), -1, np.int8)
        frame["hidden"], frame["class"] = hidden, y
        frame.to_parquet(folder / f"part-{number:04d}.parquet", index=False)
    size = sum(file.stat().st_size for file in folder.iterdir()) / 1e6
    return {"rows": n, "seconds": {"writing": time.perf_counter() - begin}, "files MB": size}


def run_dask(n: int, folder: Path) -> dict[str, Any]:
    """Fit to the files and classify all rows; also measure the time to read them once."""
    import dask.dataframe as dd

    from distributed import Client, LocalCluster

    options: dict[str, Any] = {"n_workers": 2, "threads_per_worker": 1, "memory_limit": "3GB"}
    with LocalCluster(**options, dashboard_address=None) as cluster, Client(cluster) as client:
        frame = dd.read_parquet(sorted(map(str, folder.glob("*.parquet"))))
        X = frame.drop(columns=["hidden", "class"])
        _warm()
        client.run(_warm)
        watch = _Watch(client)
        sizes = X.map_partitions(_touch, meta=("bytes", "i8")).compute()
        watch.note("reading once")
        fitted = classifier().fit(X, frame["class"])
        watch.note("fit")
        found = fitted.transduction_.compute()
        watch.note("predictions")
        accuracy = float((found == frame["hidden"].compute().to_numpy()).mean())
        workers = client.run(peak_megabytes)
    seconds = watch.seconds
    seconds |= {f"fit: {step}": value for step, value in fitted.timings_.items()}
    return {
        "rows": n,
        "seconds": seconds,
        "processor seconds": watch.busy,
        "MB of a block": float(sizes.max()) / 1e6,
        "accuracy": accuracy,
        "worker peak MB": max(workers.values()),
        "client peak MB": peak_megabytes(),
    }


def run_passes(n: int, folder: Path) -> dict[str, Any]:
    """Measure processor seconds of each pass in this process, and bytes of each block result."""
    import dask
    import dask.dataframe as dd

    from lowrankgcn.distributed.blocks import Blocks
    from lowrankgcn.distributed.counts import count_block, count_table
    from lowrankgcn.distributed.encoding import fit_table
    from lowrankgcn.distributed.vocabulary import sketch_block

    frame = dd.read_parquet(sorted(map(str, folder.glob("*.parquet"))))
    X = frame.drop(columns=["hidden", "class"])
    seconds: dict[str, float] = {}
    with dask.config.set(scheduler="synchronous"):
        blocks = Blocks.from_collection(X)
        fit = classifier().fit(X.partitions[[0]], frame["class"].partitions[[0]])  # warm

        def timed(step: str, run: Any) -> Any:
            begin = time.process_time()
            result = run()
            seconds[step] = time.process_time() - begin
            return result

        timed("reading", lambda: blocks.collect(len))
        fitted = timed("reading and values", lambda: fit_table(blocks))
        _, counting = timed("reading and counts", lambda: count_table(blocks, fitted))
        fit = timed("fit as a whole", lambda: classifier().fit(X, frame["class"]))
        timed("reading and predictions", fit.transduction_.compute)
        block = blocks.tasks[0].compute()
    travelling = {
        "values of a block": sketch_block(block),
        "counts of a block": count_block(block, counting),
        "model": fit._model,
        "encoder": counting.encoder,
    }
    return {
        "rows": n,
        "rows of a block": len(block),
        "labelled": int((frame["class"] >= 0).sum().compute()),
        "processor seconds": seconds,
        "training seconds": fit.timings_["training"],
        "bytes": {name: len(pickle.dumps(value)) for name, value in travelling.items()},
        "bytes of a row": float(block.memory_usage(deep=True).sum()) / len(block),
        "bytes of a row in files": sum(f.stat().st_size for f in folder.iterdir()) / n,
        "peak MB": peak_megabytes(),
    }


def _warm() -> None:
    """Import all modules before measuring."""
    import lowrankgcn.estimators

    if find_spec("dask") is not None:
        import lowrankgcn.distributed  # noqa: F401


def _touch(block: pd.DataFrame) -> pd.Series:
    """Return the size of a block in bytes."""
    return pd.Series([int(block.memory_usage(deep=True).sum())])


class _Watch:
    """Measure elapsed seconds, and processor seconds of this process and all workers."""

    def __init__(self, client: Any) -> None:
        self.client = client
        self.seconds: dict[str, float] = {}
        self.busy: dict[str, float] = {}
        self._clock, self._used = time.perf_counter(), self._all()

    def _all(self) -> float:
        return float(time.process_time() + sum(self.client.run(time.process_time).values()))

    def note(self, step: str) -> None:
        clock, used = time.perf_counter(), self._all()
        self.seconds[step], self.busy[step] = clock - self._clock, used - self._used
        self._clock, self._used = clock, used


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    name, count, *rest = sys.argv[1:]
    runs = {
        "table": run_table,
        "points": run_points,
        "paper": run_paper,
        "files": run_files,
        "cloud": run_cloud,
        "dask": run_dask,
        "passes": run_passes,
    }
    result = runs[name](int(float(count)), *map(Path, rest))
    print(json.dumps({"name": name, **result}, indent=2))
