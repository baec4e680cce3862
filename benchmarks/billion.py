"""Estimate time, memory and traffic of a large table on a cluster from measured passes.

``python -m benchmarks.billion MEASURED.json [ROWS] [WORKERS]`` reads the output of ``python -m
benchmarks.scale passes`` and scales its processor seconds and bytes. The estimate contains neither
the time to read files nor network delays.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

FAN_IN = 8  # results joined at a time


def steps(measured: dict[str, Any], rows: float, workers: int) -> Iterator[dict[str, Any]]:
    """Yield one row of the table for each step."""
    seconds, size = measured["processor seconds"], measured["bytes"]
    share = rows / measured["rows"] / workers
    blocks = math.ceil(rows / measured["rows of a block"])
    joined = sum(math.ceil(blocks / FAN_IN**level) for level in range(1, 6))
    read = rows * measured["bytes of a row in files"] / workers
    passes = [
        ("values of the columns", "reading and values", size["values of a block"], "encoder"),
        ("pair counts", "reading and counts", size["counts of a block"], "encoder"),
        ("all predictions", "reading and predictions", 0, "model"),
    ]
    for name, key, result, sent in passes:
        yield {
            "step": name,
            "seconds": share * seconds[key],
            "read": read,
            "sent to a worker": size[sent],
            # A block's result goes to the worker that joins it, and joined ones go on.
            "sent between workers": (blocks + joined) * result / workers,
            "received by the client": result,
        }
        if name == "pair counts":
            row = measured["bytes of a row"]
            yield {"step": "labelled rows", "received by the client": measured["labelled"] * row}
            training = {"step": "comparison and training", "seconds": measured["training seconds"]}
            yield training


def _bytes(value: float | None) -> str:
    if not value:
        return ""
    for unit in ("B", "kB", "MB"):
        if value < 1000:
            return f"{value:.3g} {unit}"
        value /= 1000
    return f"{value:.3g} GB"


def markdown(measured: dict[str, Any], rows: float, workers: int) -> str:
    """Format the steps as a Markdown table."""
    names = ["read", "sent to a worker", "sent between workers", "received by the client"]
    header = ["step", "seconds", "read by a worker", *names[1:]]
    lines = [f"| {' | '.join(header)} |", "|---" * len(header) + "|"]
    total = 0.0
    for step in steps(measured, rows, workers):
        seconds = step.get("seconds")
        total += seconds or 0.0
        shown = "" if seconds is None else f"{seconds:.3g}"
        cells = [step["step"], shown, *(_bytes(step.get(name)) for name in names)]
        lines.append(f"| {' | '.join(cells)} |")
    lines.append(f"| all | {total:.3g} | | | | |")
    return "\n".join(lines)


if __name__ == "__main__":
    path, *numbers = sys.argv[1:]
    count, machines = [*numbers, "1e9", "100"][:2] if numbers else ("1e9", "100")
    print(markdown(json.loads(Path(path).read_text()), float(count), int(machines)))
