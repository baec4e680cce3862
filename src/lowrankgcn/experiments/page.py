"""Table cells, sentences and figures: the whole reproduction as Markdown and as an HTML page.

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
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from lowrankgcn._format import plural
from lowrankgcn._parallel import available_threads
from lowrankgcn.datasets import load_spiral
from lowrankgcn.experiments.reproduction import PAPER, TOLERANCE, Results
from lowrankgcn.experiments.statistics import plus_minus
from lowrankgcn.plotting import plot_embedding, plot_filter
from lowrankgcn.plotting.drawing import add_legend, class_mark
from lowrankgcn.report.pages import render_page, versions
from lowrankgcn.spectral.filters import Linear, Pseudoinverse, Quadratic

HEADER: list[str] = PAPER["page"]["header"]
SHORT_HEADER: list[str] = PAPER["page"]["short_header"]
HOW: str = PAPER["page"]["how"]
_VIEW = np.deg2rad([130.0, 25.0])  # the paper's azimuth and elevation


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
    ours = row["setup_seconds"] + row["training_seconds"]
    times = seconds_text(ours), seconds_text(row["published_total_seconds"])
    return (*cells(row)[:3], *times, row["verdict"].removeprefix("differs, see "))


def summary(results: Results) -> str:
    """Count the rows that agree and differ in one sentence."""
    values = {"results": results, "tolerance": TOLERANCE, "few": PAPER["page"]["few"]}
    return render_page("summary.txt.j2", **values)


def render(template: str, results: Results, command: str, *, filters: bool = False) -> str:
    """Render the results.

    Parameters
    ----------
    template : str
        "reproduction.html.j2" for a page or "reproduction.md.j2" for Markdown without figures.
    results : Results
    command : str
        Command to repeat the reproduction.
    filters : bool
        Whether to draw the figures that need no training.

    Returns
    -------
    str
        A complete document.
    """
    return render_page(
        template,
        results=results,
        summary=summary(results),
        paper=PAPER,
        filters=(Linear("auto"), Quadratic("auto"), Pseudoinverse()) if filters else (),
        cells=cells,
        command=command,
        machine=machine(),
        load=os.getloadavg()[2] if hasattr(os, "getloadavg") else None,
        **{draw.__name__: draw for draw in (plot_filter, draw_spiral, draw_ranks)},
    )


def draw_spiral(ax: Axes) -> None:
    """Draw figure 4: the spiral with 400 points per orb."""
    spiral = load_spiral(400)
    (across, height), (along, sine) = np.cos(_VIEW), np.sin(_VIEW)
    view = np.array([[across, -along * sine], [along, across * sine], [0.0, height]])
    flat = spiral.data @ view
    plot_embedding(flat, spiral.target + 1, columns=(0, 1), ax=ax)
    origin = flat.min(axis=0) + np.array([-3.0, 1.5])  # beside the points
    for label, direction in zip("xyz", view, strict=True):
        ax.plot(*np.array([origin, origin + 2.0 * direction]).T, color="black", linewidth=1.2)
        x, y = origin + 2.7 * direction
        ax.text(x, y, label, ha="center", va="center")
    ax.set_aspect("equal")
    ax.set_axis_off()


def draw_ranks(rows: Sequence[dict[str, Any]], times: bool, ax: Axes) -> None:
    """Draw figure 5: accuracy, or set-up and training time, by rank; ours and published."""
    table = pd.DataFrame(rows).astype({"interval": float})
    table["total_seconds"] = table["setup_seconds"] + table["training_seconds"]
    name, label = (
        ("total_seconds", "set-up and training, seconds") if times else ("accuracy", "accuracy, %")
    )
    for code, (network, part) in enumerate(table.groupby("network")):
        style: Any = class_mark(code) | {"markersize": 4, "linewidth": 1.2}
        if not times:
            bars = part["interval"].fillna(0)
            ax.errorbar(part["rank"], part[name], bars, fmt="none", capsize=2, color=style["color"])
        ax.plot(part["rank"], part[name], label=network, **style)
        style |= {"linestyle": ":", "markerfacecolor": "none", "label": f"{network}, published"}
        ax.plot(part["rank"], part[f"published_{name}"], **style)
    ax.set(xlabel="rank r", ylabel=label, yscale="log" if times else "linear")
    add_legend(ax)


def machine() -> str:
    """Return processor, cores and versions in one line."""
    cpuinfo, cores = Path("/proc/cpuinfo"), available_threads()
    text = cpuinfo.read_text() if cpuinfo.is_file() else ""
    names = re.findall(r"^model name\s*:\s*(.+)$", text, re.MULTILINE) or [platform.machine()]
    return f"{names[0].strip()}, {plural(cores, 'core')}; {', '.join(versions()[1:])}"
