"""Pictures as ``<svg>`` elements of a page, in its colours and its font."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from html import escape
from typing import Any

import matplotlib
import numpy as np
from markupsafe import Markup
from matplotlib.figure import Figure
from matplotlib.markers import MarkerStyle
from matplotlib.transforms import Affine2D

from lowrankgcn.plotting._common import COLOURS, GREY, class_mark

# Colours of the pictures, and their names in the style sheet of the page, light or dark.
_THEME = {colour: f"var(--c{place})" for place, colour in enumerate(COLOURS)}
_THEME |= {"#000000": "currentColor", "#ffffff": "var(--paper)", GREY: "var(--soft)"}
_SIZE = (4.3, 3.4)  # inches of 72 units
_STYLE: Any = {
    "font.size": 9.5,
    "svg.fonttype": "none",  # text stays text: small, searchable, in the font of the page
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.linewidth": 0.5,
    "grid.alpha": 0.4,
}


def svg(draw: Callable[..., object], name: str, title: str, *data: Any, **options: Any) -> Markup:
    """Draw on new axes and return an <svg> element, which inherits the text colour of the page.

    Parameters
    ----------
    draw : callable
        Draws on its argument ``ax``.
    name : str
        Prefix of all ids in the element; unique in the page.
    title : str
        Description for screen readers.
    *data, **options
        Other arguments of `draw`.

    Examples
    --------
    >>> drawing = svg(lambda ax: ax.set_xlabel("λ"), "some-name", "An empty picture")
    >>> 'role="img" aria-label="An empty picture"' in drawing
    True
    """
    stream = io.StringIO()
    # The salt makes ids, and so the file, reproducible.
    with matplotlib.rc_context({**_STYLE, "svg.hashsalt": name}):
        # Small, because phones show the picture at about this size and its text must be legible.
        figure = Figure(figsize=_SIZE, layout="constrained")
        draw(*data, ax=figure.subplots(), **options)
        metadata = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        figure.savefig(stream, format="svg", transparent=True, metadata=metadata)
    text = re.sub(r"<(metadata|style)[^>]*>.*?</\1>", "", stream.getvalue(), flags=re.DOTALL)
    text = text.partition("<svg")[2].partition(">")[2].strip()
    # The marks of a group have one style: it is written once.
    text = re.sub(r'<g([^>]*)>(\s*<use [^>]*) style="([^"]*)"', r'<g\1 style="\3">\2', text)
    text = re.sub(r'(<use [^>]*) style="[^"]*"', r"\1", text)
    text = re.sub(r"<[^>]*>", lambda tag: re.sub(r"(\.\d\d)\d+", r"\1", tag[0]), text)
    text = re.sub(r"font: ([\d.]+px) [^;\"]*", r"font-size: \1", text)  # Matplotlib 3.9
    text = re.sub(r" ?font-family: [^;\"]*;?|\n\s*", "", text)
    text = re.sub("#[0-9a-f]{6}", lambda colour: _THEME.get(colour[0], colour[0]), text)
    text = re.sub(r'\bid="', f'id="{name}-', text)
    text = text.replace('xlink:href="#', f'href="#{name}-').replace("url(#", f"url(#{name}-")
    # Matplotlib omits the fill of what is black.
    box = f'class="drawn" viewBox="0 0 {72 * _SIZE[0]:g} {72 * _SIZE[1]:g}"'
    return Markup(f'<svg {box} fill="currentColor" role="img" aria-label="{escape(title)}">{text}')


def class_key(code: int) -> Markup:
    """Return the mark of a class as a small <svg> element for a legend."""
    mark = class_mark(code)
    style = MarkerStyle(mark["marker"])
    path = style.get_path().transformed(style.get_transform() + Affine2D().scale(10, -10))
    outline = "L".join(f"{x:.1f},{y:.1f}" for x, y in np.asarray(path.to_polygons()[0]))
    return Markup(
        '<svg class="key" viewBox="-6 -6 12 12" aria-hidden="true">'
        f'<path style="fill: {_THEME[mark["color"]]}" d="M{outline}z"/></svg>'
    )
