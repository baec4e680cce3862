"""Time, memory and error of set-up, training and whole fits, beside other implementations.

``python -m benchmarks speed`` prints them with their targets. With ``--busy``, it prints
instead how much slower each step is while other processes use half of the cores.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks import busy, numeric, setup_time, training_time
from benchmarks.memory import peak_memory

COLUMNS = ("work", "seconds", "error", "added MB", "times faster", "target")

Row = dict[str, Any]


def measured(kind: str, n: int, run: Callable[[], Any], error: Callable[[int], float]) -> Row:
    """Measure time, error and memory of one set-up."""
    row: Row = {
        "work": f"{kind}, n = {n:,}",
        "seconds": setup_time.best(run, rounds=2),
    }
    if n <= 10**6:
        row["error"] = error(n)
    memory = peak_memory(kind, n)
    if memory is not None:
        row["added MB"], row["whole MB"] = memory
    return row


def rows(sizes: tuple[int, ...]) -> Iterator[Row]:
    """Yield one row per benchmark of the set-up."""
    points, tables = setup_time.Points(), setup_time.Tables()
    growth: dict[str, dict[int, float]] = {"points": {}, "table": {}}
    for n in sizes:
        points.setup(n)
        run = partial(setup_time.point_pairs, points.points)
        row = measured("points", n, run, points.track_error)
        growth["points"][n] = row["seconds"]
        yield row
        if n == 10**4:
            ratio = points.track_dense_speedup(n)
            yield {
                "work": "… compared with dense matrix + ARPACK",
                "times faster": ratio,
                "target": "80",
            }
        if n <= 10**6:
            ratio = points.track_fourier_speedup(n)
            target = "5" if n == 10**6 else ""
            yield {
                "work": "… compared with FINUFFT + ARPACK",
                "times faster": ratio,
                "target": target,
            }
    for n in sizes:
        tables.setup(n)
        run = partial(setup_time.table_pairs, tables.graph)
        row = measured("table", n, run, tables.track_error)
        growth["table"][n] = row["seconds"]
        yield row
        if n <= 10**6:
            ratio = tables.track_svds_speedup(n)
            target = "25" if n == 10**6 else ""
            yield {"work": "… compared with SciPy svds", "times faster": ratio, "target": target}
    for kind, times in growth.items():
        if 10**5 in times and max(times) > 10**5:
            largest = max(times)
            exponent = math.log(times[largest] / times[10**5]) / math.log(largest / 10**5)
            yield {
                "work": f"{kind}: exponent of growth from 100,000 to {largest:,}",
                "times faster": exponent,
                "target": "≤ 1.1",
            }


def training_rows() -> Iterator[Row]:
    """Yield seconds per 1000 iterations, compared with the paper's formulas in plain PyTorch."""
    mushrooms, spiral = training_time.Mushrooms(), training_time.Spiral()
    mushrooms.setup()
    spiral.setup()
    comparisons = (
        ("mushrooms, L-GCN 20", mushrooms.low_rank_speedup, "7"),
        ("mushrooms, R-GCN 20", mushrooms.reduced_speedup, "25"),
        ("mushrooms, full pseudoinverse", mushrooms.full_rank_speedup, "7"),
        (
            "mushrooms, L-GCN 20, compared with HypergraphConv",
            mushrooms.hypergraph_conv_speedup,
            "10",
        ),
        ("spiral, full linear, compared with a dense matrix", spiral.dense_speedup, "1000"),
    )
    for work, compare, target in comparisons:
        ratio, ours, _ = compare()
        yield {"work": work, "seconds": ours, "times faster": ratio, "target": target}
    yield {
        "work": "mushrooms, R-GCN 20, 100 restarts",
        "seconds": mushrooms.track_restarts_seconds(),
        "target": "≤ 1 s",
    }


def cells(row: Row) -> list[str]:
    """Format a row."""
    faster = row.get("times faster")
    return [
        row["work"],
        f"{row['seconds']:.3g}" if "seconds" in row else "",
        f"{row['error']:.0e}" if "error" in row else "",
        f"{row['added MB']:.0f}" if "added MB" in row else "",
        "" if faster is None else f"{faster:.3g}",
        row.get("target", ""),
    ]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks speed", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="only sizes up to 100,000")
    parser.add_argument("--only", choices=("setup", "training", "numeric"), help="one part")
    parser.add_argument("--busy", action="store_true", help="compare with a busy machine")
    parser.add_argument("--json", metavar="FILE", type=Path, help="also write the numbers")
    parser.add_argument("--markdown", metavar="FILE", type=Path, help="also write the table")
    options = parser.parse_args()
    sizes = (10**4, 10**5) if options.quick else (10**4, 10**5, 10**6, 10**7)
    console, found = Console(), []
    with console.status("measuring") as status:
        parts: dict[str, Callable[[], Iterator[Row]]] = {
            "setup": partial(rows, sizes),
            "training": training_rows,
            "numeric": partial(numeric.rows, options.quick),
        }
        chosen = [parts[options.only]] if options.only else list(parts.values())
        chosen = [busy.rows] if options.busy else chosen
        for row in (row for part in chosen for row in part()):
            found.append(row)
            status.update(f"measured: {row['work']}")
    table = Table(*COLUMNS, box=None)
    for row in found:
        table.add_row(*cells(row))
    console.print(table)
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n")
    if options.markdown:
        lines = [COLUMNS, ["---"] * len(COLUMNS), *map(cells, found)]
        options.markdown.write_text("".join(f"| {' | '.join(line)} |\n" for line in lines))


if __name__ == "__main__":
    main()
