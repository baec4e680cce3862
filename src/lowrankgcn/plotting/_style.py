"""Shared by all pictures: colours, marks, a new figure, a legend that covers no data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

# Colour-blind readers can distinguish them, and all have a contrast of three to white paper. Pages
# replace them with the colours of their theme (templates/report.css).
COLOURS = tuple("#2287fc #a55404 #0e8972 #dc5fb4 #ab8e1b #6e47be #03557b #98113e".split())
GREY = "#b0b0b0"
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "<", ">", "d", "p")


def class_mark(code: int) -> dict[str, str]:
    """Return colour and marker of a class; 96 of them differ. −1 means no class.

    >>> class_mark(0)["marker"], class_mark(8)["marker"], class_mark(-1)["color"] == GREY
    ('o', 's', True)
    """
    if code < 0:
        return {"color": GREY, "marker": MARKERS[0]}
    turn, place = divmod(code, len(COLOURS))
    return {"color": COLOURS[place], "marker": MARKERS[(place + turn) % len(MARKERS)]}


def new_or_given(ax: Axes | None) -> Axes:
    """Return the given Axes, or those of a new figure."""
    if ax is not None:
        return ax
    # A Figure without pyplot is not kept alive or shown by any global registry.
    return Figure(figsize=(6.4, 4.2), layout="constrained").subplots()


def legend_mark(label: str, **style: Any) -> Line2D:
    """Return a marker without a line for a legend."""
    return Line2D([], [], label=label, linestyle="none", **style)


def add_legend(ax: Axes, handles: Sequence[Line2D] = ()) -> None:
    """Add a legend of some or all lines above the axes, in as many columns as their width holds."""
    handles = handles or [line for line in ax.lines if not str(line.get_label()).startswith("_")]
    marks_only = all(handle.get_linestyle() == "None" for handle in handles)
    # An inch holds about 17 small letters; a handle and its spacing take up to 11 of them.
    width = 17 * ax.bbox.width / ax.figure.dpi
    lengths = [len(str(handle.get_label())) + (7 if marks_only else 11) for handle in handles]
    columns = len(handles) if sum(lengths) <= width else int(width / max(lengths))
    ax.legend(
        handles=handles,
        loc="lower left",
        bbox_to_anchor=(0.0, 1.01),
        ncols=max(1, min(len(handles), columns)),
        handlelength=1.0 if marks_only else 2.2,
        frameon=False,
        borderaxespad=0.0,
        fontsize="small",
    )
