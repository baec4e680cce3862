"""The paper's figures.

>>> draw_filters(7).startswith("<svg")
True
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from markupsafe import Markup
from matplotlib.axes import Axes

from lowrankgcn.datasets import load_spiral
from lowrankgcn.experiments.reproduction.grid import PAPER
from lowrankgcn.plotting import plot_embedding, plot_filter
from lowrankgcn.plotting._common import COLOURS, add_legend
from lowrankgcn.plotting.svg import svg
from lowrankgcn.spectral.filters import Filter, Linear, Pseudoinverse, Quadratic

EXAMPLE_RANK: int = PAPER["filters"]["rank"]


def draw_filters(rank: int | None) -> Markup:
    """Draw figure 3: the filters on an example spectrum, of full rank or truncated."""
    filters: tuple[Filter, ...] = (Linear("auto"), Quadratic("auto"), Pseudoinverse())
    return svg(
        lambda ax: plot_filter(filters, PAPER["filters"]["eigenvalues"], rank=rank, ax=ax),
        "filters-full" if rank is None else "filters-low",
        "Filter responses on an example spectrum",
    )


def draw_spiral() -> Markup:
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
            ax.plot(*np.array([origin, origin + 2.0 * direction]).T, color="black", linewidth=1.2)
            x, y = origin + 2.7 * direction
            ax.text(x, y, label, ha="center", va="center")
        ax.set_aspect("equal")
        ax.set_axis_off()

    return svg(draw, "spiral", "Points of the spiral, coloured by class")


def draw_ranks(rows: Sequence[dict[str, Any]], *, times: bool) -> Markup:
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
            lines = table["network"] == network
            ranks = table["rank"][lines]
            style: Any = {"color": colour, "marker": marker, "markersize": 4, "linewidth": 1.2}
            ax.errorbar(ranks, ours[lines], bars[lines], fmt="none", capsize=2, color=colour)
            handles += ax.plot(ranks, ours[lines], label=network, **style)
            style |= {"linestyle": ":", "markerfacecolor": "none", "label": f"{network}, published"}
            handles += ax.plot(ranks, published[lines], **style)
        ax.set(xlabel="rank r", ylabel=label, yscale="log" if times else "linear")
        add_legend(ax, handles)

    return svg(draw, name, f"{label} by rank, ours and published")
