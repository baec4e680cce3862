"""The paper's figures.

>>> draw_filters(7).startswith("<svg")
True
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Sequence
from html import escape
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lowrankgcn.datasets import load_spiral
from lowrankgcn.experiments.reproduction.grid import PAPER
from lowrankgcn.plotting import plot_embedding, plot_filter
from lowrankgcn.plotting._style import COLOURS, GREY, add_legend
from lowrankgcn.spectral.filters import Filter, Linear, Pseudoinverse, Quadratic

# Stands for the text colour of the page, light or dark, until the SVG is written.
INK = "#102132"
_INKED = ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color")
_STYLE: Any = {
    "font.size": 9.5,
    "svg.fonttype": "none",  # text stays text: small, searchable, in the font of the page
    "axes.spines.top": False,
    "axes.spines.right": False,
    **dict.fromkeys([*_INKED, "legend.labelcolor"], INK),
}

EXAMPLE_RANK: int = PAPER["filters"]["rank"]


def svg(draw: Callable[[Axes], object], name: str, title: str) -> Markup:
    """Draw on new axes and return an <svg> element, which inherits the text colour of the page.

    Parameters
    ----------
    draw : callable
        Draws on the given axes.
    name : str
        Prefix of all ids in the element; unique in the page.
    title : str
        Description for screen readers.

    Examples
    --------
    >>> drawing = svg(lambda ax: ax.set_xlabel("λ"), "some-name", "An empty picture")
    >>> 'viewBox="0 0 309.6 244.8" role="img" aria-label="An empty picture"' in drawing
    True
    """
    stream = io.StringIO()
    # The salt makes ids, and so the file, reproducible.
    with matplotlib.rc_context({**_STYLE, "svg.hashsalt": name}):
        # Small, because phones show the figure at about this size and its text must be legible.
        figure = Figure(figsize=(4.3, 3.4), layout="constrained")
        draw(figure.subplots())
        metadata = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        figure.savefig(stream, format="svg", transparent=True, dpi=220, metadata=metadata)
    text = stream.getvalue()
    text = text[text.index("<svg") :]
    # report.css has the style, and an HTML parser needs no name spaces.
    text = re.sub(r"<(metadata|style)[^>]*>.*?</\1>", "", text, flags=re.DOTALL)
    text = re.sub(r' xmlns(:xlink)?="[^"]*"', "", text)
    text = re.sub(r'\bid="', f'id="{name}-', text)
    text = text.replace('xlink:href="#', f'href="#{name}-').replace("xlink:href=", "href=")
    text = text.replace("url(#", f"url(#{name}-")
    text = re.sub("#000000|" + INK, "currentColor", text, flags=re.IGNORECASE)
    box = re.search(r'viewBox="[^"]*"', text)
    assert box is not None
    opening = f'<svg class="drawn" {box[0]} role="img" aria-label="{escape(title)}">'
    return Markup(opening + text[text.index(">") + 1 :].strip())


def draw_filters(rank: int | None) -> str:
    """Draw figure 3: the filters on an example spectrum, of full rank or truncated."""
    filters: tuple[Filter, ...] = (Linear("auto"), Quadratic("auto"), Pseudoinverse())
    return svg(
        lambda ax: plot_filter(filters, PAPER["filters"]["eigenvalues"], rank=rank, ax=ax),
        "filters-full" if rank is None else "filters-low",
        "Filter responses on an example spectrum",
    )


def draw_spiral() -> str:
    """Draw figure 4: the spiral with 400 points per orb, from the paper's angle."""
    spiral = load_spiral(400)
    azimuth, elevation = np.deg2rad([130.0, 25.0])
    across, along, sine = np.cos(azimuth), np.sin(azimuth), np.sin(elevation)
    view = np.array([[across, -along * sine], [along, across * sine], [0.0, np.cos(elevation)]])

    def draw(ax: Axes) -> None:
        flat = spiral.data @ view
        plot_embedding(flat, spiral.target + 1, columns=(0, 1), ax=ax)
        origin = flat.min(axis=0) + np.array([-3.0, 1.5])  # beside the points
        for label, direction in zip("xyz", view, strict=True):
            ax.plot(*np.array([origin, origin + 2.0 * direction]).T, color=INK, linewidth=1.2)
            x, y = origin + 2.7 * direction
            ax.text(x, y, label, ha="center", va="center")
        ax.set_aspect("equal")
        ax.set_axis_off()

    return svg(draw, "spiral", "Points of the spiral, coloured by class")


def draw_ranks(rows: Sequence[dict[str, Any]], *, times: bool) -> str:
    """Draw figure 5: accuracy, or set-up and training time, by rank; ours and published."""
    table = pd.DataFrame(rows)
    ours, published = table["accuracy"], table["published_accuracy"]
    bars, label, name = table["interval"].astype(float).fillna(0), "accuracy, %", "ranks-accuracy"
    if times:
        ours = table["setup_seconds"] + table["training_seconds"]
        published = table["published_total_seconds"]
        bars, label, name = 0 * ours, "set-up and training, seconds", "ranks-times"

    def draw(ax: Axes) -> None:
        handles = []
        for network, colour, marker in (("L-GCN", COLOURS[0], "o"), ("R-GCN", COLOURS[1], "s")):
            own = table["network"] == network
            ranks = table["rank"][own]
            style: Any = {"color": colour, "marker": marker, "markersize": 4, "linewidth": 1.2}
            ax.errorbar(ranks, ours[own], bars[own], fmt="none", capsize=2, color=colour)
            handles += ax.plot(ranks, ours[own], label=network, **style)
            style |= {"linestyle": ":", "markerfacecolor": "none", "label": f"{network}, published"}
            handles += ax.plot(ranks, published[own], **style)
        ax.set(xlabel="rank r", ylabel=label, yscale="log" if times else "linear")
        ax.grid(color=GREY, linewidth=0.4, alpha=0.5)
        add_legend(ax, handles)

    return svg(draw, name, f"{label} by rank, ours and published")
