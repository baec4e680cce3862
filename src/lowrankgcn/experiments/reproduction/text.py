"""Table cells and sentences for the terminal, the HTML page and Markdown.

>>> seconds_text(0.0123), seconds_text(3.456), seconds_text(1372.0)
('12 ms', '3.46 s', '1372 s')
>>> "Python" in machine()
True
"""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path

from lowrankgcn._parallel import available_threads
from lowrankgcn.experiments.reproduction.errata import ERRATA
from lowrankgcn.experiments.reproduction.grid import Published, paper_file, paper_tables
from lowrankgcn.experiments.reproduction.results import Results, RowResult
from lowrankgcn.experiments.reproduction.verdict import TOLERANCE

__all__ = ["HEADER", "HOW", "NUMERIC", "SHORT_HEADER", "as_markdown", "cells", "load", "machine"]
__all__ += ["outcome", "seconds_text", "short_cells", "summary"]

HEADER = (
    *("row", "accuracy, %", "published", "difference", "set-up", "training", "published time"),
    "verdict",
)
NUMERIC = (1, 2, 3, 4, 5, 6)
SHORT_HEADER = ("row", "accuracy, %", "published", "time", "published", "verdict")
HOW: str = paper_file()["page"]["how"]
_FEW = 20  # runs


def seconds_text(seconds: float) -> str:
    """Format a time: milliseconds below a second, whole seconds above a hundred."""
    if seconds < 0.9995:
        return f"{1000 * seconds:.0f} ms" if seconds >= 0.0005 else "< 1 ms"
    return f"{seconds:.2f} s" if seconds < 99.5 else f"{seconds:.0f} s"


def _published_time(published: Published) -> str:
    if published.total is not None:
        return seconds_text(published.total)
    setup = published.setup or 0.0
    first = "< 10 ms" if setup <= 0.01 else seconds_text(setup)  # the paper prints 0.01
    return f"{first} + {seconds_text(published.training or 0.0)}"


def cells(result: RowResult) -> tuple[str, ...]:
    """Return the cells of a row, in the order of ``HEADER``."""
    verdict, about = result.verdict, "≈ " if result.row.naive else ""
    spread = "" if verdict.half_width is None else f" ± {verdict.half_width:.2f}"
    return (
        result.row.label,
        f"{verdict.mean:.2f}{spread}",
        f"{result.row.published.accuracy:.2f}",
        f"{verdict.difference:+.2f}{'*' if verdict.beyond_chance else ''}".replace("-", "−"),
        about + seconds_text(result.setup),
        about + seconds_text(result.training),
        _published_time(result.row.published),
        outcome(result),
    )


def short_cells(result: RowResult) -> tuple[str, ...]:
    """Return the cells of a row for narrow terminals, in the order of ``SHORT_HEADER``."""
    name, accuracy, published, *_ = cells(result)
    about = "≈ " if result.row.naive else ""
    total = about + seconds_text(result.setup + result.training)
    verdict = "agrees" if result.verdict.agrees else "differs"
    if result.explained is not None:
        verdict = f"erratum {ERRATA[result.explained].number}"
    return name, accuracy, published, total, seconds_text(result.row.published.seconds), verdict


def outcome(result: RowResult) -> str:
    """Return the verdict, with the range over other signs if the row differs."""
    if result.verdict.agrees or result.signs is None:
        return result.outcome
    return f"{result.outcome} (signs: {result.signs.lowest:.1f} to {result.signs.highest:.1f})"


def summary(results: Results) -> str:
    """Count the rows that agree and differ in one sentence."""
    n, agree = len(results.rows), results.count(agrees=True)
    if not n:
        return "No rows were computed."
    unexplained = len(results.unexplained)
    explained = n - agree - unexplained
    numbers = sorted({ERRATA[r.explained].number for r in results.rows if r.explained is not None})
    chance = sum(r.verdict.agrees and not r.verdict.beyond_chance for r in results.rows)
    parts = [
        f"{agree} of {n} rows agree with the published figure, {chance} of them within chance and "
        f"{agree - chance} within {TOLERANCE:g} points"
    ]
    if explained:
        named = ", ".join(map(str, numbers))
        parts.append(f"{explained} differ and have their erratum (number {named})")
    if unexplained:
        parts.append(f"{unexplained} differ without one")
    few = (
        " So few runs tell little apart: their spread is hardly known, and where starts seldom "
        "succeed, as with the quadratic filter, a mean is mostly luck."
        if results.runs < _FEW
        else ""
    )
    return f"{'; '.join(parts)}. {results.runs} runs, seed {results.seed}.{few}"


def as_markdown(results: Results, *, machine: str, command: str) -> str:
    """Return tables, errata and the command as Markdown."""
    introduction = paper_file()["page"]["introduction"].format(command=command)
    parts = [introduction, f"**{summary(results)}**", HOW, f"Times were measured on {machine}."]
    rule = ["---:" if j in NUMERIC else "---" for j in range(len(HEADER))]
    for table in paper_tables():
        if table.name in results.missing:
            parts += [f"## {table.title}", results.missing[table.name]]
        elif table.name in results.tables:
            rows = map(cells, results.tables[table.name])
            lines = [_line(HEADER), f"|{'|'.join(rule)}|", *map(_line, rows)]
            parts += [f"## {table.title}", table.about, "\n".join(lines)]
    parts.append("## Errors in the paper")
    for name, erratum in ERRATA.items():
        parts += [f"### {erratum.number}. {erratum.title}", erratum.text]
        shown = (d.text for d in results.demonstrations if d.erratum == name)
        parts += [f"*Shown by a run:* {text}" for text in shown]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _line(texts: Iterable[str]) -> str:
    escaped = (re.sub(r"([*|])", r"\\\1", text) for text in texts)
    return f"| {' | '.join(escaped)} |"


def load() -> str:
    """Return the load average as a clause, or nothing where the system does not report it."""
    if not hasattr(os, "getloadavg"):
        return ""
    return f"; load average {os.getloadavg()[2]:.1f} when this was written"


def machine() -> str:
    """Return processor, cores and versions in one line."""
    name = platform.processor() or platform.machine()
    described = Path("/proc/cpuinfo")
    if described.is_file():
        found = re.search(r"^model name\s*:\s*(.+)$", described.read_text(), re.MULTILINE)
        name = found[1].strip() if found else name
    cores = available_threads()
    packages = ", ".join(f"{package} {version(package)}" for package in ("numpy", "torch"))
    unit = "core" if cores == 1 else "cores"
    return f"{name}, {cores} {unit}; Python {platform.python_version()}, {packages}"
