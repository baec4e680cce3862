"""Shared by all pictures: colours, marks, axes, legends, arguments, and ``<svg>`` elements."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Sequence
from html import escape
from typing import Any

import matplotlib
import numpy as np
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.markers import MarkerStyle
from matplotlib.transforms import Affine2D
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from lowrankgcn._validation import expect_shape, invalid
from lowrankgcn.estimators.class_labels import labelled_cells

# Colour-blind readers can distinguish them, and all have a contrast of three to white paper. Pages
# replace them with the colours of their theme (templates/report.css).
COLOURS = tuple("#2287fc #a55404 #0e8972 #dc5fb4 #ab8e1b #6e47be #03557b #98113e".split())
GREY = "#b0b0b0"
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "<", ">", "d", "p")

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
    # A Figure without pyplot is not kept alive or shown by any global registry.
    return Figure(figsize=(6.4, 4.2), layout="constrained").subplots() if ax is None else ax


def add_legend(ax: Axes, handles: Sequence[Line2D] = ()) -> None:
    """Add a legend of some or all lines above the axes, in as many columns as their width holds."""
    handles = handles or [line for line in ax.lines if not str(line.get_label()).startswith("_")]
    # An inch holds about 17 small letters; a handle and its spacing take up to 11 of them.
    lengths = [len(str(handle.get_label())) + 11 for handle in handles]
    width = 17 * ax.bbox.width / ax.figure.dpi
    columns = len(handles) if sum(lengths) <= width else max(1, int(width / max(lengths)))
    style: Any = {"frameon": False, "borderaxespad": 0.0, "fontsize": "small"}
    # The lower left corner of the legend is just above the upper left corner of the axes.
    ax.legend(handles=handles, loc="lower left", bbox_to_anchor=(0.0, 1.01), ncols=columns, **style)


def fitted_attribute(classifier: Any, name: str, argument: str, expected: str) -> Any:
    """Return an attribute of a fitted classifier; raise if it has none."""
    check_is_fitted(classifier)
    value = getattr(classifier, name, None)
    if value is None or (isinstance(value, dict) and not value):
        raise invalid(argument, expected, f"a {type(classifier).__name__} without {name}")
    return value


def expect_none(reason: str, **arguments: Any) -> None:
    """Reject arguments that others make superfluous."""
    for name, value in arguments.items():
        if value is not None:
            raise invalid(name, f"None, because {reason}", "another value")


def class_column(values: Any, name: str, length: int | None) -> NDArray[Any]:
    """Return classes as objects, shape (n,)."""
    array = np.asarray(values, dtype=object)
    expect_shape(array, name, length)
    return array


def labelled_classes(labels: Any, name: str, length: int | None) -> tuple[Any, NDArray[Any]]:
    """Return the labelled rows of a column and their classes."""
    class_column(labels, name, length)
    index, known, _ = labelled_cells(labels)
    return index, known.astype(object)


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
