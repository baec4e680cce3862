"""How time and memory grow with the number of rows: ``python -m benchmarks.growth [FOLDER]``.

Runs ``python -m benchmarks.scale`` for tables and points of 10⁵, 10⁶ and 10⁷ rows, and the paper's
way for a table of 10⁶, one after the other, each in a process of its own. Prints a table for the
documentation, with the exponent of a least-squares line through the logarithms of rows and seconds,
and the ratio of the paper's way to ours. What the runs printed is kept in FOLDER, if there is one.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

SIZES = (10**5, 10**6, 10**7)
HEADS = ("work", "set-up", "selection", "training", "predictions", "all", "peak MB")
STEPS = ("set-up", "selection", "training", "prediction", "all")


def measure(name: str, n: int, folder: Path | None) -> dict[str, Any]:
    """What one run prints."""
    command = [sys.executable, "-m", "benchmarks.scale", name, str(n)]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    if folder is not None:
        folder.mkdir(exist_ok=True)
        (folder / f"{name}-{n}.json").write_text(printed)
    found: dict[str, Any] = json.loads(printed)
    return found


def exponent(rows: list[int], seconds: list[float]) -> float:
    """The slope of log(seconds) over log(rows)."""
    return float(np.polyfit(np.log(rows), np.log(seconds), 1)[0])


def line(name: str, run: dict[str, Any]) -> str:
    """A row of the table."""
    seconds = run["seconds"]
    steps = [f"{seconds[step]:.3g}" if step in seconds else "" for step in STEPS]
    return " | ".join([f"| {name}, n = {run['rows']:,}", *steps, f"{run['peak MB']:.0f} |"])


def main() -> None:
    """Measure and print."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    print(f"| {' | '.join(HEADS)} |")
    print("|---" * len(HEADS) + "|")
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
    print(line("table, the paper's way", paper))
    print(f"| … times faster | | | | | {paper['seconds']['all'] / tables[10**6]:.3g} | |")


if __name__ == "__main__":
    main()
