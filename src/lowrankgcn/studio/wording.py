"""Reasons in words: how the value of a row compares with those of the other rows.

>>> numbers = Cells.read(np.array([5.1, 4.9, 6.3, 7.0]), "")
>>> compare(numbers, 3, "petal length (cm)")
{'column': 'petal length', 'value': '7 cm', 'text': 'longer than all other rows'}
>>> colours = Cells.read(np.array(["red", "blue", "red", "red"], object), "")
>>> compare(colours, 0, "colour")
{'column': 'colour', 'value': 'red', 'text': 'like 67 % of the other rows'}
"""

from __future__ import annotations

import re

import numpy as np

from lowrankgcn.tables import Cells

_UNIT = re.compile(r"(.*\S)\s*[(\[]([^()\[\]]{1,12})[)\]]")
_WORDS = {  # more and less of what a column is named after
    "length": ("longer", "shorter"),
    "duration": ("longer", "shorter"),
    "width": ("wider", "narrower"),
    "height": ("taller", "lower"),
    "weight": ("heavier", "lighter"),
    "age": ("older", "younger"),
    "price": ("dearer", "cheaper"),
}
_DATE, _NUMBER = ("later", "earlier"), ("higher", "lower")
_MIDDLE = 0.4  # shares from here to its complement are in the middle


def compare(cells: Cells, row: int, name: str) -> dict[str, str]:
    """Return name, value with unit, and a comparison of a row's cell with the other rows."""
    found = _UNIT.fullmatch(name)
    column, unit = (found[1], found[2]) if found else (name, "")
    if cells.missing[row]:
        return {"column": column, "value": "empty", "text": _share(cells.missing, row)}
    value = cells.take([row]).texts()[0]
    if cells.numbers is None:
        return {
            "column": column,
            "value": value,
            "text": _share(cells.codes == cells.codes[row], row),
        }
    if cells.numbers.ndim > 1:  # vectors have no order
        return {"column": column, "value": value, "text": ""}
    others = np.delete(cells.numbers, row)[~np.delete(cells.missing, row)]
    mine = cells.numbers[row]
    below, above = float((others < mine).mean()), float((others > mine).mean())
    words = [word for part in column.lower().split() for word in [_WORDS.get(part)] if word]
    more, less = words[-1] if words else _NUMBER if cells.unit is None else _DATE
    if max(below, above) < 1 - _MIDDLE:
        text = "in the middle of the other rows"
    elif below > above:
        text = f"{more} than {_percent(below)}"
    else:
        text = f"{less} than {_percent(above)}"
    return {"column": column, "value": f"{value} {unit}".strip(), "text": text}


def _share(alike: np.ndarray, row: int) -> str:
    share = (alike.sum() - 1) / max(1, len(alike) - 1)
    return "like no other row" if share == 0 else f"like {_percent(share)}"


def _percent(share: float) -> str:
    if share == 1:
        return "all other rows"
    return f"{min(99, max(1, round(100 * share)))} % of the other rows"
