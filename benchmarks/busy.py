"""Time of each step with other processes on half of the cores, compared with the step alone.

``python -m benchmarks speed --busy`` prints it. Linux only.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np

import lowrankgcn as lg
from benchmarks import numeric, setup_time, training_time


@contextmanager
def half_of_the_cores_busy() -> Iterator[None]:
    """Run an endless loop on every second core, at least on one."""
    # The loop ends with this process, also if it is killed.
    loop = "import os, sys; os.sched_setaffinity(0, {int(sys.argv[1])}); parent = os.getppid()\n"
    loop += "while os.getppid() == parent: pass"
    cores = sorted(os.sched_getaffinity(0))[::2]
    others = [subprocess.Popen([sys.executable, "-c", loop, str(core)]) for core in cores]
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()


def steps() -> dict[str, Callable[[], Any]]:
    """Return the steps by name, with their input made."""
    X, _, y = numeric.clusters(50_000)
    laplacian = lg.Laplacian(lg.AdjacencyGraph.knn(X, numeric.NEIGHBOURS))
    small, _, labels = numeric.clusters(5_000)
    classifier = lg.SpectralGPClassifier(random_state=0)
    fitted = lg.SpectralGPClassifier(random_state=0).fit(small, labels)
    table = lg.Hypergraph.from_table(setup_time.table(1_000_000))
    mushrooms = training_time.Mushrooms()
    mushrooms.setup()
    return {
        "neighbours of 50,000 rows": partial(lg.AdjacencyGraph.knn, X, numeric.NEIGHBOURS),
        "100 eigenpairs of 50,000 rows": partial(lg.eigenpairs, laplacian, 100, tol=1e-2),
        "GP: fit to 5,000 rows": partial(
            lg.SpectralGPClassifier(random_state=0).fit, small, labels
        ),
        "GP: fit to 50,000 rows": partial(classifier.fit, X, y),
        "GP: prediction of 50,000 rows": partial(fitted.predict_proba, X),
        "training of L-GCN": mushrooms.time_low_rank,
        "training of R-GCN": mushrooms.time_reduced,
        "set-up of a table, n = 1,000,000": partial(setup_time.table_pairs, table),
    }


def rows() -> Iterator[dict[str, Any]]:
    """Yield one row per step."""
    prepared = steps()
    alone = {name: setup_time.best(step, rounds=2) for name, step in prepared.items()}
    with half_of_the_cores_busy():
        # The median: the fastest call may meet an idle moment.
        for name, step in prepared.items():
            times = [numeric.seconds(step) for _ in range(5)]
            slower = float(np.median(times)) / alone[name]
            work = f"{name}, times slower on a busy machine"
            yield {"work": work, "seconds": alone[name], "times faster": slower, "target": "≤ 2.5"}
