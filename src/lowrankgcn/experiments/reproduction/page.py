"""Table cells, sentences, and the whole reproduction as Markdown and as an HTML page.

A row is one of :attr:`Results.tables`.

>>> seconds_text(0.0123), seconds_text(3.456), seconds_text(1372.0)
('12 ms', '3.46 s', '1372 s')
>>> "Python" in machine()
True
"""

from __future__ import annotations

import os
import platform
import re
from pathlib import Path
from typing import Any

from lowrankgcn._format import plural
from lowrankgcn._parallel import available_threads
from lowrankgcn.experiments.reproduction import figures
from lowrankgcn.experiments.reproduction.grid import PAPER, TABLES
from lowrankgcn.experiments.reproduction.results import TOLERANCE, Results
from lowrankgcn.experiments.statistics import markdown_table, plus_minus
from lowrankgcn.report.pages import render_page, versions

HEADER: list[str] = PAPER["page"]["header"]
SHORT_HEADER: list[str] = PAPER["page"]["short_header"]
NUMERIC = range(1, 7)
HOW: str = PAPER["page"]["how"]
_FEW = 20  # runs


def seconds_text(seconds: float) -> str:
    """Format a time: milliseconds below a second, whole seconds above a hundred."""
    if seconds < 0.9995:
        return f"{1000 * seconds:.0f} ms" if seconds >= 0.0005 else "< 1 ms"
    return f"{seconds:.2f} s" if seconds < 99.5 else f"{seconds:.0f} s"


def cells(row: dict[str, Any]) -> tuple[str, ...]:
    """Return the cells of a row, in the order of ``HEADER``."""
    naive = " (naive)" if row["naive"] else ""
    details = {"ranks": f" rank {row['rank']}", "smoothers": f", {row['smoother'] or 'hypergraph'}"}
    published = seconds_text(row["published_total_seconds"])
    if (setup := row["published_setup_seconds"]) is not None:
        first = "< 10 ms" if setup <= 0.01 else seconds_text(setup)  # the paper prints 0.01
        published = f"{first} + {seconds_text(row['published_training_seconds'])}"
    verdict = row["verdict"]
    if not row["agrees"] and row["signs_low"] is not None:
        verdict += f" (signs: {row['signs_low']:.1f} to {row['signs_high']:.1f})"
    return (
        f"{row['network']}{naive} {row['filter']}{details.get(row['table'], '')}",
        plus_minus(row["accuracy"], row["interval"]),
        f"{row['published_accuracy']:.2f}",
        f"{row['difference']:+.2f}{'*' if row['beyond_chance'] else ''}".replace("-", "−"),
        seconds_text(row["setup_seconds"]),
        seconds_text(row["training_seconds"]),
        published,
        verdict,
    )


def short_cells(row: dict[str, Any]) -> tuple[str, ...]:
    """Return the cells of a row for narrow terminals, in the order of ``SHORT_HEADER``."""
    return (
        *cells(row)[:3],
        seconds_text(row["setup_seconds"] + row["training_seconds"]),
        seconds_text(row["published_total_seconds"]),
        row["verdict"].removeprefix("differs, see "),
    )


def summary(results: Results) -> str:
    """Count the rows that agree and differ in one sentence."""
    rows = results.rows
    if not rows:
        return "No rows were computed."
    agree = sum(row["agrees"] for row in rows)
    chance = sum(row["agrees"] and not row["beyond_chance"] for row in rows)
    errata = [row["explained_by"] for row in rows if row["explained_by"] is not None]
    unexplained = len(rows) - agree - len(errata)
    text = (
        f"{agree} of {len(rows)} rows agree with the published figure: {chance} within chance, "
        f"{agree - chance} within {TOLERANCE:g} points"
    )
    if errata:
        numbers = ", ".join(map(str, sorted(set(errata))))
        text += f"; {len(errata)} differ and are explained by errata ({numbers})"
    if unexplained:
        text += f"; {unexplained} differ without an explanation"
    text += f". {results.runs} runs, seed {results.seed}."
    return text + PAPER["page"]["few"] if results.runs < _FEW else text


def as_markdown(results: Results, *, command: str) -> str:
    """Return tables, errata and the command as Markdown."""
    measured = f"Times were measured on {machine()}"
    if hasattr(os, "getloadavg"):
        measured += f"; load average {os.getloadavg()[2]:.1f} at the end"
    introduction = PAPER["page"]["introduction"].format(command=command)
    parts = [introduction, f"**{summary(results)}**", HOW, f"{measured}."]
    for name, table in TABLES.items():
        if name in results.missing:
            parts += [f"## {table['title']}", results.missing[name]]
        elif name in results.tables:
            shown = map(cells, results.tables[name])
            rows = ([text.replace("*", r"\*") for text in row] for row in shown)
            parts += [f"## {table['title']}", table["about"], markdown_table(HEADER, rows, NUMERIC)]
    parts.append("## Errors in the paper")
    for erratum in results.errata:
        parts += [f"### {erratum['number']}. {erratum['title']}", erratum["text"]]
        parts += [f"*Demonstration:* {text}" for text in erratum["shown"]]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def as_html(results: Results, *, command: str, filters: bool) -> str:
    """Render the results as a page.

    Parameters
    ----------
    results : Results
    command : str
        Command to repeat the reproduction.
    filters : bool
        Whether to draw the figures that need no training.

    Returns
    -------
    str
        A complete HTML document.
    """
    shown = [table for name, table in TABLES.items() if name in results.missing | results.tables]
    sections = {table["name"]: table["title"] for table in shown}
    if filters:
        sections["filters"] = "Figures 3 and 4: filters and points"
    if results.rows:
        sections["errata"] = "Errors in the paper"
    return render_page(
        "reproduction.html.j2",
        title="The paper, reproduced",
        subtitle=f"{versions()[0]}, seed {results.seed}",
        sections={**sections, "repeat": "How to reproduce"},
        results=results,
        summary=summary(results),
        tables=shown,
        page=PAPER["page"],
        numeric=NUMERIC,
        cells=cells,
        figures=figures,
        command=command,
        machine=machine(),
    )


def machine() -> str:
    """Return processor, cores and versions in one line."""
    cpuinfo, cores = Path("/proc/cpuinfo"), available_threads()
    text = cpuinfo.read_text() if cpuinfo.is_file() else ""
    names = re.findall(r"^model name\s*:\s*(.+)$", text, re.MULTILINE) or [platform.machine()]
    return f"{names[0].strip()}, {plural(cores, 'core')}; {', '.join(versions()[1:])}"
