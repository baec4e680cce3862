"""Classify Parquet files on a local Dask cluster.

    python -m benchmarks scale ROWS

Writes a table of 21 categorical columns with 200 labels in files of 500 000 rows (with ``--points``
numbers in three columns), unless the folder exists. Measures reading alone, ``fit``, and the
predictions of all rows, which workers store as arrays. ``--kill`` repeats the job, kills a worker
when half of the predictions are stored, and compares all probabilities. Prints one JSON object;
memory is the peak of a worker. Linux only.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import tempfile
import threading
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import lowrankgcn as lg
from benchmarks.growth import labels, peak_megabytes, table

BLOCK = 500_000


def points(n: int, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Return points of the spiral and their classes."""
    spiral = lg.datasets.load_spiral(n // 5, random_state=seed)
    return pd.DataFrame(spiral.data, columns=list("xyz")), spiral.target.astype(np.int8)


def write_files(n: int, folder: Path, draw: Any) -> None:
    """Write blocks drawn by `draw`; the first one has labels in the column "class"."""
    folder.mkdir(parents=True)
    for number, start in enumerate(range(0, n, BLOCK)):
        frame, hidden = draw(min(BLOCK, n - start), number)
        y = labels(hidden) if number == 0 else np.full(len(hidden), -1, np.int8)
        frame = frame.assign(**{"hidden": hidden, "class": y})
        frame.to_parquet(folder / f"part-{number:04d}.parquet", index=False)


def store(shares: np.ndarray, path: Path) -> np.ndarray:
    """Write the predictions of a block; return the number of rows of each class."""
    with open(path.with_suffix(".part"), "wb") as file:
        np.save(file, shares.astype(np.float32))
    path.with_suffix(".part").replace(path)
    return np.bincount(shares.argmax(axis=1), minlength=shares.shape[1])


class Watch:
    """Measure elapsed seconds, and processor seconds of this process and all workers."""

    def __init__(self, client: Any) -> None:
        self.client = client
        self.seconds: dict[str, float] = {}
        self.busy: dict[str, float] = {}
        self._now = self._clocks()

    def _clocks(self) -> tuple[float, float]:
        workers = sum(self.client.run(time.process_time).values())
        return time.perf_counter(), time.process_time() + workers

    def note(self, step: str) -> None:
        before, self._now = self._now, self._clocks()
        self.seconds[step], self.busy[step] = np.subtract(self._now, before).tolist()


def classify(X: Any, y: Any, into: Path, watch: Watch, *, gp: bool) -> None:
    """Fit to a sample and store the predictions of all rows."""
    import dask

    into.mkdir()
    classifier: Any = lg.GCNClassifier(architecture="reduced", random_state=0)
    if gp:
        classifier = lg.SpectralGPClassifier(random_state=0)
    classifier.fit(X, y)
    watch.note("fit")
    blocks = classifier.label_distributions_.to_delayed().ravel()
    task = dask.delayed(store, pure=False)
    dask.compute([task(block, into / f"{i:05d}.npy") for i, block in enumerate(blocks)])
    watch.note("predictions")


def kill_half_way(client: Any, into: Path, count: int, killed: list[int]) -> None:
    """Kill a worker when half of `count` files are written."""
    pids = list(client.run(os.getpid).values())
    while len(list(into.glob("*.npy"))) < count // 2:
        time.sleep(0.02)
    os.kill(pids[0], signal.SIGKILL)
    killed.append(len(list(into.glob("*.npy"))))


def largest_difference(one: Path, other: Path) -> float:
    files = sorted(file.name for file in one.iterdir())
    assert files == sorted(file.name for file in other.iterdir())
    return max(float(abs(np.load(one / name) - np.load(other / name)).max()) for name in files)


def accuracy(folder: Path, predictions: Path) -> float:
    right = rows = 0
    files = zip(sorted(folder.iterdir()), sorted(predictions.iterdir()), strict=True)
    for file, found in files:
        hidden = pd.read_parquet(file, columns=["hidden"])["hidden"].to_numpy()
        right += int((np.load(found).argmax(axis=1) == hidden).sum())
        rows += len(hidden)
    return right / rows


def measure(n: int, folder: Path, options: argparse.Namespace, work: Path) -> dict[str, Any]:
    import dask
    import dask.dataframe as dd

    from distributed import Client, LocalCluster
    from lowrankgcn.distributed.partitions import KEEP_MEMORY  # its imports are not measured

    dask.config.set(KEEP_MEMORY)
    settings: dict[str, Any] = {"n_workers": options.workers, "threads_per_worker": 1}
    settings |= {"memory_limit": options.memory, "dashboard_address": None}
    with LocalCluster(**settings) as cluster, Client(cluster) as client:
        client.run(lambda: __import__("lowrankgcn.distributed"))
        files = sorted(map(str, folder.glob("*.parquet")))
        frame = dd.read_parquet(files)
        X, y = frame.drop(columns=["hidden", "class"]), frame["class"]
        watch = Watch(client)
        X.map_partitions(len, meta=("rows", "i8")).compute()
        watch.note("reading")
        classify(X, y, work / "alone", watch, gp=options.gp)
        found: dict[str, Any] = {"rows": n, "blocks": len(files)}
        for name, steps in {"seconds": watch.seconds, "processor seconds": watch.busy}.items():
            extra = steps["fit"] + steps["predictions"] - steps["reading"]
            found[name] = steps | {"beside reading, per million rows": extra / n * 1e6}
        found |= {
            "worker peak MB": max(client.run(peak_megabytes).values()),
            "client peak MB": peak_megabytes(),
            "accuracy": accuracy(folder, work / "alone"),
        }
        if options.kill:
            killed: list[int] = []
            watch = Watch(client)
            arguments = (client, work / "disturbed", len(files), killed)
            killer = threading.Thread(target=kill_half_way, args=arguments)
            killer.start()
            classify(X, y, work / "disturbed", watch, gp=options.gp)
            killer.join()
            difference = largest_difference(work / "alone", work / "disturbed")
            found["a worker killed"] = {
                "after blocks": killed[0],
                "seconds": watch.seconds,
                "largest difference of a probability": difference,
            }
    return found


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks scale", description=__doc__)
    parser.add_argument("rows", type=lambda text: int(float(text)))
    parser.add_argument("--folder", type=Path, help="Parquet files, written if missing")
    parser.add_argument("--gp", action="store_true", help="SpectralGPClassifier instead of R-GCN")
    parser.add_argument("--points", action="store_true", help="numbers instead of categories")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--memory", default="3GB", help="memory limit of a worker")
    parser.add_argument("--kill", action="store_true", help="kill a worker half-way")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        folder = options.folder or Path(work) / "files"
        if not folder.exists():
            write_files(options.rows, folder, points if options.points else table)
        print(json.dumps(measure(options.rows, folder, options, Path(work)), indent=2))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
