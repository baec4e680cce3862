"""Shared by all pictures: colours, marks, axes, legends, and what is read from arguments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from lowrankgcn._validation import expect_shape, invalid
from lowrankgcn.estimators.class_labels import labelled_cells

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
