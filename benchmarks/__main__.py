"""Print every benchmark beside its target, measured in this run: ``python -m benchmarks``.

``--quick`` leaves out the sizes that take minutes; ``--json FILE`` keeps the numbers.
"""

from __future__ import annotations

import argparse
import json
import math
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

from rich.console import Console
from rich.table import Table

import lowrankgcn as lg
from benchmarks import peers, setup_time

PEAK_CODE = "from benchmarks.__main__ import report_peak; report_peak({kind!r}, {n})"


def report_peak(kind: str, n: int) -> None:
    """Print the memory that one set-up adds to its input, in MB (run in a process of its own)."""
    if kind == "points":
        points = peers.spiral(n)
        run: Callable[[], Any] = lambda: setup_time.point_pairs(points, "float32")  # noqa: E731
    else:
        graph = lg.Hypergraph.from_table(setup_time.table(n))
        run = lambda: setup_time.table_pairs(graph, "float32")  # noqa: E731
    reset = open("/proc/self/clear_refs", "w")  # noqa: SIM115
    with reset:
        reset.write("5")  # the peak so far belongs to making the input
    before = _resident()
    run()
    print((_peak() - before) / 1e6, _peak() / 1e6)


def _status(field: str) -> float:
    with open("/proc/self/status") as lines:
        return next(1024.0 * int(line.split()[1]) for line in lines if line.startswith(field))


def _resident() -> float:
    return _status("VmRSS")


def _peak() -> float:
    try:
        return _status("VmHWM")
    except StopIteration:
        return 1024.0 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def peak_memory(kind: str, n: int) -> tuple[float, float]:
    """MB added by a set-up, and MB of the whole process."""
    command = [sys.executable, "-c", PEAK_CODE.format(kind=kind, n=n)]
    added, whole = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    return float(added), float(whole)


def seconds(run: Callable[[], Any], rounds: int) -> float:
    """Median time of a few runs."""
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def rows(quick: bool) -> Iterator[dict[str, Any]]:
    """Measure one benchmark after the other."""
    points, tables = setup_time.Points(), setup_time.Tables()
    growth: dict[str, dict[int, float]] = {"points": {}, "tables": {}}
    for n in (10_000, 100_000) if quick else (10_000, 100_000, 1_000_000, 10_000_000):
        points.setup(n)
        dtype = "float64" if n <= 1_000_000 else "float32"
        ours = seconds(lambda: setup_time.point_pairs(points.points, dtype), 5 if n < 10**6 else 3)  # noqa: B023
        growth["points"][n] = ours
        row: dict[str, Any] = {"work": f"points, n = {n:,}", "seconds": ours}
        if n <= 1_000_000:
            row["error"] = points.track_error(n)
        row["MB"], row["MB whole"] = peak_memory("points", n)
        yield row
        if n == 10_000:
            ratio = points.track_dense_speedup(n)
            yield {"work": "… beside dense + ARPACK", "speed-up": ratio, "target": 80}
        if n <= 1_000_000:
            ratio = points.track_fourier_speedup(n)
            target = 5 if n == 1_000_000 else None
            yield {"work": "… beside FINUFFT + ARPACK", "speed-up": ratio, "target": target}
    for n in (10_000, 100_000) if quick else (10_000, 100_000, 1_000_000, 10_000_000):
        tables.setup(n)
        dtype = "float64" if n <= 1_000_000 else "float32"
        ours = seconds(lambda: setup_time.table_pairs(tables.graph, dtype), 5 if n < 10**6 else 3)  # noqa: B023
        growth["tables"][n] = ours
        row = {"work": f"table, n = {n:,}", "seconds": ours}
        if n <= 1_000_000:
            row["error"] = tables.track_error(n)
        row["MB"], row["MB whole"] = peak_memory("tables", n)
        yield row
        if n <= 1_000_000:
            ratio = tables.track_svds_speedup(n)
            target = 25 if n == 1_000_000 else None
            yield {"work": "… beside svds", "speed-up": ratio, "target": target}
    for kind, times in growth.items():
        largest, start = max(times), 100_000
        if largest > start:
            exponent = math.log(times[largest] / times[start]) / math.log(largest / start)
            yield {"work": f"growth of {kind}, exponent", "exponent": exponent, "at most": 1.1}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="only sizes up to 100,000")
    parser.add_argument("--json", metavar="FILE", help="also write the numbers to a file")
    options = parser.parse_args()
    table = Table("work", "seconds", "error", "added MB", "speed-up", "target", box=None)
    measured = []
    for row in rows(options.quick):
        measured.append(row)
        print(row, file=sys.stderr)
        table.add_row(
            row["work"],
            f"{row['seconds']:.3g}" if "seconds" in row else "",
            f"{row['error']:.0e}" if "error" in row else "",
            f"{row['MB']:.0f}" if "MB" in row else "",
            f"{row['speed-up']:.0f}" if "speed-up" in row else f"{row.get('exponent', ''):.4}",
            str(row.get("target") or (f"≤ {row['at most']}" if "at most" in row else "")),
        )
    Console().print(table)
    if options.json:
        with open(options.json, "w") as file:
            json.dump(measured, file, indent=1)


if __name__ == "__main__":
    main()
