"""The tables of UCI: all 1728 cars from the rules behind the file, and 8124 mushrooms from a file.

See sections 4.2, A4.5 and A4.6.

>>> load_cars().target_names
('unacc', 'acc', 'good', 'vgood')
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from lowrankgcn._validation import choice
from lowrankgcn.datasets.dataset import Dataset, assemble
from lowrankgcn.datasets.download import RemoteFile

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

MUSHROOMS = RemoteFile(
    name="agaricus-lepiota.data",
    address="https://archive.ics.uci.edu/ml/machine-learning-databases/mushroom/"
    "agaricus-lepiota.data",
    size=373_704,
    sha256="e65d082030501a3ebcbcd7c9f7c71aa9d28fdfff463bf4cf4716a3fe13ac360e",
)

# Columns of the file after the class; stalk-root is the one with unknown values.
_MUSHROOM_COLUMNS = """
    cap-shape cap-surface cap-color bruises odor gill-attachment gill-spacing gill-size gill-color
    stalk-shape stalk-root stalk-surface-above-ring stalk-surface-below-ring
    stalk-color-above-ring stalk-color-below-ring veil-type veil-color ring-number ring-type
    spore-print-color population habitat
""".split()
_MUSHROOM_CLASSES = {"e": "edible", "p": "poisonous"}

# The paper's twenty nodes (section A4.6), counted from 1: ten per class.
_MUSHROOM_TRAINING = (
    *(224, 610, 939, 1430, 1743, 2442, 2559, 3129, 4268, 4286),
    *(4354, 4713, 5602, 5615, 5845, 6434, 6486, 6744, 7515, 7954),
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


def load_mushrooms(*, as_frame: bool = False, fetch: bool = True) -> Dataset:
    """Load UCI Mushroom from the data directory, downloading it on first use (section A4.6).

    If :func:`data_directory` has no file ``agaricus-lepiota.data``, it is downloaded from UCI. The
    SHA-256 is checked.

    Parameters
    ----------
    as_frame : bool
        Return ``data`` as a DataFrame of letters and ``target`` as a Series named "class".
    fetch : bool
        False: do not use the network; fail if the file is not in the data directory.

    Returns
    -------
    Dataset
        ``data`` (8124, 21) letters, ``target`` (8124,) 0 edible or 1 poisonous, ``training`` the
        paper's ten nodes per class.

    Raises
    ------
    DataUnavailableError
        If the file is missing and cannot be downloaded; the message names the folder and the
        address.
    ValueError
        If the file in the data directory is not UCI's.

    See Also
    --------
    load_cars : A smaller table.
    data_directory : Folder of the downloaded file.

    Examples
    --------
    >>> from lowrankgcn.datasets import data_directory, load_mushrooms
    >>> available = (data_directory() / "agaricus-lepiota.data").is_file()
    >>> load_mushrooms().data.shape if available else (8124, 21)
    (8124, 21)
    """
    content = MUSHROOMS.read(fetch=fetch)
    cells = np.array([line.split(",") for line in content.decode("ascii").splitlines()])
    return assemble(
        "mushrooms",
        np.delete(cells, [0, 1 + _MUSHROOM_COLUMNS.index("stalk-root")], axis=1),
        np.searchsorted(list(_MUSHROOM_CLASSES), cells[:, 0]),
        tuple(name for name in _MUSHROOM_COLUMNS if name != "stalk-root"),
        tuple(_MUSHROOM_CLASSES.values()),
        np.array(_MUSHROOM_TRAINING) - 1,
        "class" if as_frame else None,
    )
