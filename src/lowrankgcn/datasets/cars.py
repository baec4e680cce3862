"""All 1728 cars of UCI Car Evaluation, from the rules behind the file (sections 4.2 and A4.5).

>>> load_cars().target_names
('unacc', 'acc', 'good', 'vgood')
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from lowrankgcn._validation import choice
from lowrankgcn.datasets.dataset import Dataset, assemble

_CAR_VALUES = {
    "buying": ("vhigh", "high", "med", "low"),
    "maint": ("vhigh", "high", "med", "low"),
    "doors": ("2", "3", "4", "5more"),
    "persons": ("2", "4", "more"),
    "lug_boot": ("small", "med", "big"),
    "safety": ("low", "med", "high"),
}

# The rules of the UCI table, in codes: position of each value above, higher results are better.
_PRICE = np.array([[0, 0, 1, 1], [0, 1, 1, 1], [1, 1, 2, 3], [1, 2, 3, 3]])  # buying, maint
_COMFORT = np.array(  # doors, persons, lug_boot
    [
        [[0, 0, 0], [1, 1, 2], [0, 1, 2]],
        [[0, 0, 0], [1, 1, 2], [1, 2, 2]],
        [[0, 0, 0], [1, 2, 2], [1, 2, 2]],
        [[0, 0, 0], [1, 2, 2], [1, 2, 2]],
    ]
)
_TECH = np.array([[0, 0, 0], [0, 1, 2], [0, 2, 3]])  # comfort, safety
_CAR = np.array([[0, 0, 0, 0], [0, 0, 1, 1], [0, 1, 1, 3], [0, 1, 2, 3]])  # price, tech

# The paper's twenty nodes (section A4.5), counted from 1: five per buying price.
_PAPER_TRAINING = (
    *(26, 227, 232, 251, 310, 501, 648, 688, 718, 863),
    *(882, 1073, 1075, 1167, 1291, 1388, 1494, 1554, 1621, 1705),
)
# Five per acceptability, 0-based: drawn class by class with numpy.random.default_rng(0).choice, and
# listed because NumPy may change its streams.
_ACCEPTABILITY_TRAINING = (
    *(378, 444, 761, 913, 985, 1037, 1073, 1124, 1184, 1282),
    *(1348, 1405, 1468, 1582, 1583, 1592, 1631, 1664, 1669, 1696),
)


def load_cars(
    target: Literal["acceptability", "buying"] = "acceptability", *, as_frame: bool = False
) -> Dataset:
    """Generate the UCI Car Evaluation table from its decision tables (section A4.5).

    Parameters
    ----------
    target : {"acceptability", "buying"}
        "acceptability": classes unacc, acc, good, vgood, the real task. "buying": the buying price
        vhigh, high, med, low, which are the paper's published labels; the column remains a feature,
        as in the paper.
    as_frame : bool
        Return ``data`` as a DataFrame of strings and ``target`` as a Series named like `target`.

    Returns
    -------
    Dataset
        ``data`` (1728, 6) strings, ``target`` (1728,) index into ``target_names``, ``training``
        five nodes per class: the paper's for "buying", a fixed draw for "acceptability".

    See Also
    --------
    load_mushrooms : A larger table.
    load_spiral : Points.

    Examples
    --------
    >>> from lowrankgcn.datasets import load_cars
    >>> cars = load_cars("buying", as_frame=True)
    >>> cars.data.iloc[[0, 1727]]
         buying  maint  doors persons lug_boot safety
    0     vhigh  vhigh      2       2    small    low
    1727    low    low  5more    more      big   high
    >>> cars.target_names
    ('vhigh', 'high', 'med', 'low')
    """
    choice(target, "target", ("acceptability", "buying"))
    values = tuple(_CAR_VALUES.values())
    codes = np.indices([len(v) for v in values]).reshape(len(values), -1)  # (6, 1728)
    data = np.column_stack([np.array(v)[code] for v, code in zip(values, codes, strict=True)])
    buying, maint, doors, persons, lug_boot, safety = codes
    if target == "buying":
        classes, names, training = buying, _CAR_VALUES["buying"], np.array(_PAPER_TRAINING) - 1
    else:
        tech = _TECH[_COMFORT[doors, persons, lug_boot], safety]
        classes, names = _CAR[_PRICE[buying, maint], tech], ("unacc", "acc", "good", "vgood")
        training = np.array(_ACCEPTABILITY_TRAINING)
    frame_target = target if as_frame else None
    return assemble("cars", data, classes, tuple(_CAR_VALUES), names, training, frame_target)
