"""Measure peak memory of one set-up.

    python -m benchmarks memory points 10000

Prints the megabytes that the set-up ("points", "table"), or fitting a classifier with 40 labels to
the table ("fit"), adds to its input, and those of the whole process. Linux only, because the peak
is read and reset through the proc file system.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import lowrankgcn as lg
from benchmarks import peers, setup_time

_PROCESS = Path("/proc/self")


def peak_memory(kind: str, n: int) -> tuple[float, float] | None:
    """Return MB added by a set-up and MB of the whole process, or None if not measurable."""
    if not (_PROCESS / "clear_refs").exists():
        return None
    command = [sys.executable, "-m", "benchmarks.memory", kind, str(n)]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    added, whole = map(float, printed.split())
    return added, whole


def megabytes(field: str) -> float:
    """Return an entry of the memory of this process, such as VmHWM, its peak."""
    lines = (_PROCESS / "status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 / 1e6 for line in lines if line.startswith(field))


def _work(kind: str, n: int) -> Callable[[], Any]:
    if kind == "points":
        return partial(setup_time.point_pairs, peers.spiral(n), "float32")
    if kind == "fit":
        table = setup_time.table(n)
        labels = np.full(n, -1)
        labels[:: n // 40] = table["column0"].cat.codes.to_numpy()[:: n // 40] % 2
        return partial(lg.SpectralGPClassifier(random_state=0).fit, table, labels)
    return partial(setup_time.table_pairs, lg.Hypergraph.from_table(setup_time.table(n)), "float32")


if __name__ == "__main__":
    run = _work(sys.argv[1], int(sys.argv[2]))
    (_PROCESS / "clear_refs").write_text("5")  # reset the peak after making the input
    before = megabytes("VmRSS")
    run()
    print(megabytes("VmHWM") - before, megabytes("VmHWM"))
