"""Measure how time and memory grow with the number of rows.

``python -m benchmarks.growth [FOLDER]`` runs ``python -m benchmarks.scale`` for tables and points
of 10⁵, 10⁶ and 10⁷ rows, and the paper's implementation for a table of 10⁶ rows, each in a separate
process. It prints a table for the documentation, with the exponent of a least-squares line through
the logarithms of rows and seconds, and the ratio of the paper's time to ours. The output of the
runs is written to FOLDER if given.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

SIZES = (10**5, 10**6, 10**7)
HEADER = ("work", "set-up", "training", "predictions", "all", "peak MB")
STEPS = ("set-up", "training", "prediction", "all")


def measure(name: str, n: int, folder: Path | None) -> dict[str, Any]:
    """Run ``benchmarks.scale`` and return its output."""
    command = [sys.executable, "-m", "benchmarks.scale", name, str(n)]
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
    steps = [f"{seconds[step]:.3g}" if step in seconds else "" for step in STEPS]
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
    main()
