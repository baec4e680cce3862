"""How classes look in every picture: a colour and a shape, in the bitmap and in the legend.

Colours alone would leave out readers who cannot tell them apart, so each class has a shape as well.

>>> marks = marks_of(["no", "yes"], counts=[2, 7])
>>> [(mark.name, mark.shape) for mark in marks], marks[0].colour != marks[1].colour
([('no', 'o'), ('yes', 's')], True)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import final

import numpy as np
from matplotlib.markers import MarkerStyle
from numpy.typing import ArrayLike

from lowrankgcn.plotting._style import COLOURS, GREY

__all__ = ["MOST_MARKS", "Mark", "legend", "marks_of"]

MOST_MARKS = 12

_PALETTE = COLOURS[:6]  # the seventh is black, which a dark page would hide
_SHAPES = ("o", "s", "^", "D", "v", "P", "X", "*")


@final
@dataclass(frozen=True)
class Mark:
    """Colour and matplotlib's letter of the shape of a class."""

    name: str
    colour: str
    shape: str


def marks_of(names: Sequence[str], counts: ArrayLike) -> tuple[Mark, ...]:
    """A mark for every class; beyond twelve classes the rare ones share a grey dot.

    Parameters
    ----------
    names : sequence of str
    counts : array of int
        How often each class is drawn.
    """
    shown = list(range(len(names)))
    if len(names) > MOST_MARKS:
        shown = sorted(np.argsort(-np.asarray(counts), kind="stable")[: MOST_MARKS - 1].tolist())
    marks = [Mark(name, GREY, ".") for name in names]
    for place, code in enumerate(shown):
        colour, shape = _PALETTE[place % len(_PALETTE)], _SHAPES[place % len(_SHAPES)]
        marks[code] = Mark(names[code], colour, shape)
    return tuple(marks)


def legend(marks: Sequence[Mark]) -> str:
    """The marks with their names as an HTML list; classes that share a mark take one entry."""
    own = [mark for mark in marks if mark.shape != "."]
    entries = [(_key(mark.shape, mark.colour), mark.name) for mark in own]
    if len(own) < len(marks):
        entries.append((_key(".", GREY), f"{len(marks) - len(own)} other classes"))
    ring = '<circle r="5" fill="none" stroke="currentColor" stroke-width="1.8"/>'
    entries.append((ring, "ringed: label given"))
    inside = "".join(
        f'<li><svg class="key" viewBox="-8 -8 16 16" aria-hidden="true">{key}</svg>'
        f"<bdi>{escape(name)}</bdi></li>"
        for key, name in entries
    )
    return f'<ul class="legend">{inside}</ul>'


def _key(shape: str, colour: str) -> str:
    """The shape around the origin as an SVG element."""
    if shape in "o.":
        return f'<circle r="{6 if shape == "o" else 4}" fill="{colour}"/>'
    style = MarkerStyle(shape)
    outline = style.get_path().transformed(style.get_transform())
    corners = np.asarray(outline.vertices, np.float64)[:-1] * (12, -12)  # the last is the first
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in corners)
    return f'<polygon points="{points}" fill="{colour}"/>'
