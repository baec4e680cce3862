"""Shared by all pictures: colours, a new figure, a legend that covers no data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

# Okabe and Ito's palette without its yellow, which is too pale on white.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
GREY = "#B0B0B0"
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")


def new_or_given(ax: Axes | None) -> Axes:
    """Return the given Axes, or those of a new figure."""
    if ax is not None:
        return ax
    # A Figure without pyplot is not kept alive or shown by any global registry.
    return Figure(figsize=(6.4, 4.2), layout="constrained").subplots()


def legend_mark(label: str, **style: Any) -> Line2D:
    """Return a marker without a line for a legend."""
    return Line2D([], [], label=label, linestyle="none", **style)


def add_legend(ax: Axes, handles: Sequence[Line2D]) -> None:
    """Add a legend above the axes, in as many columns as their width holds."""
    marks_only = all(handle.get_linestyle() == "None" for handle in handles)
    # An inch holds about 17 small letters; a handle and its spacing take up to 11 of them.
    width = 17 * ax.bbox.width / ax.figure.dpi
    lengths = [len(str(handle.get_label())) + (7 if marks_only else 11) for handle in handles]
    columns = len(handles) if sum(lengths) <= width else int(width / max(lengths))
    ax.legend(
        handles=list(handles),
        loc="lower left",
        bbox_to_anchor=(0.0, 1.01),
        ncols=max(1, min(len(handles), columns)),
        handlelength=1.0 if marks_only else 2.2,
        frameon=False,
        borderaxespad=0.0,
        fontsize="small",
    )
