"""Figures of a report as SVG that sits inside the page and takes its text colour from it.

Points are drawn as an embedded bitmap: ten thousand SVG circles would make a page of megabytes.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from lowrankgcn.plotting import plot_embedding, plot_filters, plot_spectrum
from lowrankgcn.plotting._style import COLOURS, add_legend
from lowrankgcn.report.study import Study, Task

__all__ = ["draw_filters", "draw_points", "draw_spectrum", "draw_task"]

# Small, because on a phone the figure is shown at about its own size and its text must be legible.
_SIZE = (4.3, 3.4)
_DOTS_PER_INCH = 220
# Stands for the page's text colour, light or dark, until the SVG is written.
_INK = "#102132"
_STYLE: Any = {
    "font.size": 9.5,
    "svg.fonttype": "none",  # letters stay letters: small, searchable, in the page's font
    "text.color": _INK,
    "axes.labelcolor": _INK,
    "axes.edgecolor": _INK,
    "xtick.color": _INK,
    "ytick.color": _INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.labelcolor": _INK,
}


def draw_spectrum(study: Study) -> str:
    """The computed eigenvalues with their residuals."""
    pairs = study.pairs

    def draw(ax: Axes) -> None:
        plot_spectrum(pairs.eigenvalues, residuals=pairs.residuals, ax=ax)

    return _svg(draw, f"{study.name}-spectrum", "Eigenvalues and residuals")


def draw_filters(study: Study) -> str:
    """The filters over the known part of the spectrum."""
    known = study.pairs.eigenvalues
    if study.spectrum is not None:
        known = np.array([value for value, _ in study.spectrum])

    def draw(ax: Axes) -> None:
        plot_filters(study.filters, known, ax=ax)

    return _svg(draw, f"{study.name}-filters", "Filter responses over the eigenvalues")


def draw_task(study: Study, number: int) -> str:
    """The nodes in the embedding, coloured by class, labelled ones ringed."""
    task = study.tasks[number]

    def draw(ax: Axes) -> None:
        _scatter(ax, task.coordinates, task, task.axis_names)

    return _svg(draw, f"{study.name}-task{number}", f"Spectral embedding by {task.name}")


def draw_points(study: Study, number: int = 0) -> str:
    """The data points themselves, coloured by the classes of a task."""
    assert study.points is not None
    points, task = study.points, study.tasks[number]

    def draw(ax: Axes) -> None:
        _scatter(ax, points, task, study.point_names)

    return _svg(draw, f"{study.name}-points", "The data points")


def _scatter(ax: Axes, points: Any, task: Task, names: tuple[str, str]) -> None:
    plot_embedding(points, task.classes, columns=(0, 1), ax=ax)
    for collection in ax.collections:
        collection.set_rasterized(True)
    given = task.training
    x, y = points[given].T
    ax.scatter(
        x,
        y,
        s=42,
        c=[COLOURS[c % len(COLOURS)] for c in task.classes[given]],
        edgecolors=_INK,
        linewidths=1.4,
    )
    ax.locator_params(axis="x", nbins=5)  # long labels side by side
    ax.set_xlabel(names[0])
    ax.set_ylabel(names[1])
    mark: dict[str, Any] = {"linestyle": "none", "marker": "o"}
    handles = [
        Line2D([], [], color=COLOURS[code % len(COLOURS)], label=name, **mark)
        for code, name in enumerate(task.class_names)
    ]
    ring: dict[str, Any] = {
        "markerfacecolor": "none",
        "markeredgecolor": _INK,
        "markeredgewidth": 1.4,
    }
    handles.append(Line2D([], [], label="labelled", **ring, **mark))
    add_legend(ax, handles)


def _svg(draw: Callable[[Axes], None], name: str, title: str) -> str:
    """Draw on new axes and return an <svg> element whose ids begin with `name`."""
    # The salt makes the ids, and so the file, the same in every run.
    style: Any = {**_STYLE, "svg.hashsalt": name}
    with matplotlib.rc_context(style):
        figure = Figure(figsize=_SIZE, layout="constrained")
        draw(figure.subplots())
        stream = io.StringIO()
        figure.savefig(
            stream,
            format="svg",
            transparent=True,
            dpi=_DOTS_PER_INCH,
            metadata={"Date": None, "Creator": None, "Format": None, "Type": None},
        )
    text = stream.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r"<style[^>]*>.*?</style>", "", text, flags=re.DOTALL)  # see report.css
    text = re.sub(r' xmlns(:xlink)?="[^"]*"', "", text)  # inside HTML the parser knows
    # The page has many figures: without their name in front the ids would collide.
    text = re.sub(r'\bid="', f'id="{name}-', text)
    text = text.replace('xlink:href="#', f'href="#{name}-').replace("xlink:href=", "href=")
    text = text.replace("url(#", f"url(#{name}-")
    text = re.sub("#000000|" + _INK, "currentColor", text, flags=re.IGNORECASE)
    box = re.search(r'viewBox="[^"]*"', text)
    assert box is not None
    opening = f'<svg {box[0]} role="img" aria-label="{title}">'
    return opening + text[text.index(">") + 1 :].strip()
