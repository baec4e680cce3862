"""Matplotlib drawings as inline SVG that inherits the text colour of the page.

>>> drawing = svg(lambda ax: ax.set_xlabel("λ"), "some-name", "An empty picture")
>>> drawing.startswith('<svg viewBox="0 0 309.6 244.8" role="img" aria-label="An empty picture">')
True
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from html import escape
from typing import Any

import matplotlib
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure

__all__ = ["INK", "svg"]

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


def svg(draw: Callable[[Axes], object], name: str, title: str) -> Markup:
    """Draw on new axes and return an <svg> element.

    Parameters
    ----------
    draw : callable
        Draws on the given axes.
    name : str
        Prefix of all ids in the element; unique in the page.
    title : str
        Description for screen readers.
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
