"""HTML of objects in notebooks.

All texts are escaped. Colours are those of the page, so they suit light and dark notebooks.

>>> card("Path(<3 nodes>)", {"rows": 3}).splitlines()[0]
'<div><p><strong>Path(&lt;3 nodes&gt;)</strong></p>'
"""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lowrankgcn._format import number, value_text

_SHOWN_ROWS = 10
_WIDTH, _HEIGHT, _MARGIN = 300, 120, 18


def card(
    title: str,
    facts: Mapping[str, str | int | float] | pd.DataFrame,
    *,
    note: str = "",
    figure: str = "",
) -> str:
    """Return a title with a table of facts, or the first and last rows of a given table.

    Parameters
    ----------
    title, note : str
        Texts above the table.
    facts : mapping or DataFrame
        Values by name, or a table of texts.
    figure : str
        HTML below the table.
    """
    given = isinstance(facts, pd.DataFrame)
    frame = (
        facts if given else pd.Series({k: value_text(v) for k, v in facts.items()}, dtype=object)
    )
    with pd.option_context("display.max_colwidth", None):
        table = pd.DataFrame(frame).to_html(header=given, border=0, max_rows=_SHOWN_ROWS)
    below = f"<p>{escape(note)}</p>\n" if note else ""
    return f"<div><p><strong>{escape(title)}</strong></p>\n{below}{table}{figure}</div>"


def curve(x: NDArray[np.float64], y: NDArray[np.float64], x_name: str, y_name: str) -> str:
    """Return a small line chart of y >= 0 over ascending x as an <svg> element.

    >>> chart = curve(np.array([0.0, 1.0]), np.array([2.0, 0.5]), "λ", "φ")
    >>> chart.startswith('<svg width="300" height="120" role="img"'), "18.0,18.0" in chart
    (True, True)
    """
    start, end = (float(x[0]), float(x[-1])) if len(x) else (0.0, 0.0)
    top = float(y.max(initial=0.0))
    across = _MARGIN + (_WIDTH - 2 * _MARGIN) * (x - start) / ((end - start) or 1.0)
    down = _HEIGHT - _MARGIN - (_HEIGHT - 2 * _MARGIN) * y / (top or 1.0)
    line = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(across, down, strict=True))
    base, right = _HEIGHT - _MARGIN, _WIDTH - _MARGIN
    texts = [
        (_MARGIN, _MARGIN - 6, "start", f"{y_name}, up to {number(top)}"),
        (_MARGIN, _HEIGHT - 4, "start", number(start)),
        (right, _HEIGHT - 4, "end", f"{x_name} = {number(end)}"),
    ]
    label = escape(f"{y_name} over {x_name}")
    return (
        f'<svg width="{_WIDTH}" height="{_HEIGHT}" role="img" aria-label="{label}" '
        'fill="currentColor" font-size="11">'
        + f'<path d="M{_MARGIN},{base}H{right}" stroke="currentColor" opacity="0.5"/>'
        + f'<polyline points="{line}" fill="none" stroke="currentColor" stroke-width="1.5"/>'
        + "".join(
            f'<text x="{left}" y="{low}" text-anchor="{anchor}">{escape(text)}</text>'
            for left, low, anchor, text in texts
        )
        + "</svg>"
    )
