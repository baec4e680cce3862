"""Figures of the reports as inline SVG, and the marks (colour and shape) of classes in them.

Points are drawn as an embedded bitmap: ten thousand SVG circles would take megabytes.

>>> marks = class_marks(["no", "yes"], counts=[2, 7])
>>> [(mark.name, mark.shape) for mark in marks], marks[0].colour != marks[1].colour
([('no', 'o'), ('yes', 's')], True)
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Sequence
from html import escape
from typing import Any, NamedTuple

import matplotlib
import numpy as np
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.markers import MarkerStyle
from matplotlib.ticker import PercentFormatter
from numpy.typing import ArrayLike, NDArray

from lowrankgcn.plotting import plot_filter
from lowrankgcn.plotting._style import COLOURS, GREY, MARKERS, FloatArray
from lowrankgcn.report.embedding import Embedding

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

MOST_MARKS = 12
_PALETTE = COLOURS[:6]  # the seventh is black, which a dark page would hide
_LAYERS = 12  # points are drawn in layers that contain all classes, so that none hides another


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
    >>> drawing.startswith('<svg viewBox="0 0 309.6 244.8" role="img" aria-label="An empty')
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
    opening = f'<svg {box[0]} role="img" aria-label="{escape(title)}">'
    return Markup(opening + text[text.index(">") + 1 :].strip())


class ClassMark(NamedTuple):
    """Colour and Matplotlib marker of a class; shapes differ for readers who cannot see colours."""

    name: str
    colour: str
    shape: str

    @property
    def corners(self) -> list[tuple[float, float]]:
        """Corners of the marker around the origin, for a legend; none for a circle."""
        if self.shape in "o.":
            return []
        style = MarkerStyle(self.shape)
        outline = style.get_path().transformed(style.get_transform())
        corners = np.asarray(outline.vertices, np.float64)[:-1] * (12, -12)  # last = first
        return [(float(x), float(y)) for x, y in corners]


def class_marks(names: Sequence[str], counts: ArrayLike) -> tuple[ClassMark, ...]:
    """Choose a mark for every class; beyond twelve classes the rare ones share a grey dot.

    Parameters
    ----------
    names : sequence of str
    counts : array of int
        Number of points of each class.
    """
    shown = list(range(len(names)))
    if len(names) > MOST_MARKS:
        shown = sorted(np.argsort(-np.asarray(counts), kind="stable")[: MOST_MARKS - 1].tolist())
    marks = [ClassMark(name, GREY, ".") for name in names]
    for place, code in enumerate(shown):
        colour, shape = _PALETTE[place % len(_PALETTE)], MARKERS[place % len(MARKERS)]
        marks[code] = ClassMark(names[code], colour, shape)
    return tuple(marks)


def draw_filter(filters: Any, eigenvalues: FloatArray | None) -> Markup:
    """Draw learned filters, or filters over the known part of the spectrum."""
    title = "Filter responses over the eigenvalues"
    return svg(lambda ax: plot_filter(filters, eigenvalues, ax=ax), "filters", title)


def draw_loss(curve: NDArray[Any]) -> Markup:
    """Draw the losses (T, s) of s restarts over T iterations."""

    def draw(ax: Axes) -> None:
        ax.plot(np.arange(1, len(curve) + 1), curve, color=COLOURS[0], linewidth=1.2, alpha=0.8)
        ax.set(yscale="log", xlabel="iteration", ylabel="loss")

    return svg(draw, "loss", "Loss of every restart by iteration")


def draw_map(drawn: Embedding, marks: Sequence[ClassMark]) -> Markup:
    """Draw rows as points with the mark of their class, labelled ones larger and ringed."""
    others = np.random.default_rng(0).permutation(np.flatnonzero(~drawn.given))
    labelled = np.flatnonzero(drawn.given)
    size = float(np.clip(24_000 / max(len(others), 1), 5, 34))
    ringed = float(np.clip(4_000 / max(len(labelled), 1), 14, 46))
    colours = np.array([mark.colour for mark in marks])[drawn.codes]
    shapes = np.array([mark.shape for mark in marks])[drawn.codes]

    def draw(ax: Axes) -> None:
        style: Any = {"s": size, "alpha": 0.75, "linewidths": 0, "rasterized": True}
        layers = np.array_split(others, min(_LAYERS, max(1, len(others) // 50)))
        for layer in [*layers, labelled]:
            if layer is labelled:
                style = {"s": ringed, "edgecolors": INK, "linewidths": 1.2, "zorder": 3}
            for shape in np.unique(shapes[layer]):
                alike = layer[shapes[layer] == shape]
                x, y = drawn.coordinates[alike].T
                ax.scatter(x, y, c=colours[alike], marker=shape, **style)
        ax.locator_params(nbins=5)  # tick labels may be long
        ax.set(xlabel=drawn.axes[0], ylabel=drawn.axes[1])

    return svg(draw, "map", "Rows by class")


def draw_counts(counts: NDArray[Any], edges: FloatArray) -> Markup:
    """Draw numbers of rows by probability."""

    def draw(ax: Axes) -> None:
        ax.bar(edges[:-1], counts, 0.92 * np.diff(edges), align="edge", color=COLOURS[0])
        ax.set(xlim=edges[[0, -1]], xlabel="probability of the predicted class", ylabel="rows")
        ax.xaxis.set_major_formatter(PercentFormatter(1.0, decimals=0, symbol=" %"))
        ax.locator_params(axis="y", integer=True)

    return svg(draw, "certainty", "Number of rows by the probability of their predicted class")
