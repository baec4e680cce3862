"""Classify a table in Parquet files on a local Dask cluster.

Run it with ``python examples/local_cluster.py``. For a larger cluster, change only the client:
``Client("tcp://scheduler:8786")``.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import dask.dataframe as dd
import numpy as np
import pandas as pd

import lowrankgcn as lg
from distributed import Client, LocalCluster


def write_files(folder: Path) -> None:
    """Write eight files of 10 000 rows; forty rows have a class in the column "kind"."""
    rng = np.random.default_rng(0)
    for number in range(8):
        hidden = rng.integers(0, 3, 10_000)
        columns = {}
        for j in range(6):
            noise = rng.random(10_000) < 0.5
            codes = np.where(noise, rng.integers(0, 4, 10_000), (hidden * (j + 1)) % 4)
            columns[f"c{j}"] = np.array(["red", "green", "blue", "grey"], object)[codes]
        kind = np.array(["ant", "bee", "cat"], object)[hidden]
        kind[5:] = None
        frame = pd.DataFrame({**columns, "kind": kind})
        frame.to_parquet(folder / f"part-{number}.parquet", index=False)


def main() -> None:
    """Fit a classifier and count the predicted classes of all rows."""
    with tempfile.TemporaryDirectory() as folder:
        write_files(Path(folder))
        with LocalCluster(n_workers=2, threads_per_worker=1) as cluster, Client(cluster):
            table = dd.read_parquet(f"{folder}/*.parquet")
            classifier = lg.GCNClassifier(random_state=0)
            classifier.fit(table.drop(columns="kind"), table["kind"])
            print(classifier.graph_)
            print(classifier.selection_)
            classes, counts = np.unique(classifier.transduction_.compute(), return_counts=True)
            print(dict(zip(classes.tolist(), counts.tolist(), strict=True)))


if __name__ == "__main__":
    main()
