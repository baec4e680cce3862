"""Pictures as SVG that sits inside the page and takes its text colour from it.

>>> picture = svg(lambda ax: ax.set_xlabel("λ") and None, "some-name", "An empty picture")
>>> picture.startswith('<svg viewBox="0 0 309.6 244.8" role="img" aria-label="An empty picture">')
True
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from html import escape
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

__all__ = ["INK", "svg"]

# Small, because on a phone the figure is shown at about its own size and its text must be legible.
_SIZE = (4.3, 3.4)
_DOTS_PER_INCH = 220
# Stands for the page's text colour, light or dark, until the SVG is written.
INK = "#102132"
_STYLE: Any = {
    "font.size": 9.5,
    "svg.fonttype": "none",  # letters stay letters: small, searchable, in the page's font
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.labelcolor": INK,
}


def svg(
    draw: Callable[[Axes], None], name: str, title: str, *, size: tuple[float, float] = _SIZE
) -> str:
    """Draw on new axes and return an <svg> element.

    Parameters
    ----------
    draw : callable
        Draws on the axes that it is given.
    name : str
        What the ids in the element begin with; unique in the page.
    title : str
        What the picture shows, for those who hear the page.
    size : pair of float
        In inches.
    """
    # The salt makes the ids, and so the file, the same in every run.
    style: Any = {**_STYLE, "svg.hashsalt": name}
    with matplotlib.rc_context(style):
        figure = Figure(figsize=size, layout="constrained")
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
    text = re.sub("#000000|" + INK, "currentColor", text, flags=re.IGNORECASE)
    box = re.search(r'viewBox="[^"]*"', text)
    assert box is not None
    opening = f'<svg {box[0]} role="img" aria-label="{escape(title)}">'
    return opening + text[text.index(">") + 1 :].strip()
