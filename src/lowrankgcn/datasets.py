"""The paper's datasets that can be generated: points of a spiral and a table of cars.

Each comes with its labels and a small fixed training set, because an accuracy says little without
the twenty nodes it was trained on:

>>> cars = load_cars()
>>> cars.data.shape, cars.target_names
((1728, 6), ('unacc', 'acc', 'good', 'vgood'))
>>> cars.data[1727].tolist(), cars.target_names[cars.target[1727]]
(['low', 'low', '5more', 'more', 'big', 'high'], 'vgood')
>>> cars.training.shape
(20,)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lowrankgcn._validation import choice, positive_int, random_generator

__all__ = ["Dataset", "load_cars", "load_spiral"]


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """Samples, their classes, and the nodes to train on.

    Attributes
    ----------
    data : ndarray or pandas.DataFrame, shape (n, n_features)
    target : ndarray of int64 or pandas.Series, shape (n,)
        Class of each row, an index into ``target_names``.
    feature_names : tuple of str
    target_names : tuple of str
    training : ndarray of intp
        Sorted 0-based indices of the training nodes.
    DESCR : str
        What the data is and where it comes from.
    """

    data: Any
    target: Any
    feature_names: tuple[str, ...]
    target_names: tuple[str, ...]
    training: NDArray[np.intp]
    DESCR: str

    def __repr__(self) -> str:
        n, d = self.data.shape
        classes, training = len(self.target_names), len(self.training)
        return f"<Dataset: {n} rows, {d} features, {classes} classes, {training} training nodes>"


_SPIRAL_DESCR = """\
Spiral of five orbs (Alfke and Stoll, sections 4.1 and A4.4)

Five centres, equidistant on a circle of radius 2 in x and y and equidistant between 0 and 10 in z;
around each, {n_per_orb} normal points with identity covariance, stored orb by orb. The class of a
point is the centre nearest to it, 0 to 4 (the paper counts 1 to 5), and not the orb that it was
drawn for, because the orbs overlap. Training nodes: two per class, drawn from the same generator.
The points are a new sample of the paper's distribution, not its very points.
"""


def load_spiral(n_per_orb: int = 2000, *, random_state: Any = 0, as_frame: bool = False) -> Dataset:
    """Generate the spiral: five overlapping clouds of points in three dimensions (section A4.4).

    Parameters
    ----------
    n_per_orb : int >= 1
        Points drawn around each of the five centres; n = 5 · n_per_orb.
    random_state : int, numpy.random.Generator or None
        Decides the points and then the training nodes.
    as_frame : bool
        Give ``data`` as a DataFrame and ``target`` as a Series named "orb".

    Returns
    -------
    Dataset
        ``data`` (n, 3) float64, ``target`` (n,) the index 0..4 of the nearest centre, ``training``
        two nodes per class (all of a class that has fewer).

    Notes
    -----
    O(n) time; besides the result, 40 bytes per point while the nearest centres are found.

    Examples
    --------
    >>> spiral = load_spiral(400)
    >>> spiral
    <Dataset: 2000 rows, 3 features, 5 classes, 10 training nodes>
    >>> np.bincount(spiral.target[spiral.training])
    array([2, 2, 2, 2, 2])
    """
    n_per_orb = positive_int(n_per_orb, "n_per_orb")
    generator = random_generator(random_state)
    angle = 2 * np.pi * np.arange(5) / 5
    centres = np.column_stack([2 * np.cos(angle), 2 * np.sin(angle), np.linspace(0, 10, 5)])

    orbs = generator.standard_normal((5, n_per_orb, 3))
    orbs += centres[:, None, :]
    points = orbs.reshape(-1, 3)
    # ‖x − c‖² is smallest where x·c − ‖c‖²/2 is largest: one product, no differences stored.
    score = points @ centres.T
    score -= (centres**2).sum(axis=1) / 2
    target = score.argmax(axis=1)

    members = (np.flatnonzero(target == k) for k in range(5))
    chosen = [generator.choice(m, min(2, m.size), replace=False) for m in members]
    return _dataset(
        points,
        target,
        ("x", "y", "z"),
        tuple(f"orb {k}" for k in range(5)),
        np.sort(np.concatenate(chosen)),
        _SPIRAL_DESCR.format(n_per_orb=n_per_orb),
        frame_target="orb" if as_frame else None,
    )


_CAR_VALUES = {
    "buying": ("vhigh", "high", "med", "low"),
    "maint": ("vhigh", "high", "med", "low"),
    "doors": ("2", "3", "4", "5more"),
    "persons": ("2", "4", "more"),
    "lug_boot": ("small", "med", "big"),
    "safety": ("low", "med", "high"),
}
_CAR_CLASSES = ("unacc", "acc", "good", "vgood")

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

# The paper's twenty nodes (section A4.5), which it counts from 1: five per buying price.
_PAPER_TRAINING = (
    *(26, 227, 232, 251, 310, 501, 648, 688, 718, 863),
    *(882, 1073, 1075, 1167, 1291, 1388, 1494, 1554, 1621, 1705),
)
# Five per acceptability, 0-based: drawn class by class with numpy.random.default_rng(0).choice, and
# written down because NumPy may change its streams.
_ACCEPTABILITY_TRAINING = (
    *(378, 444, 761, 913, 985, 1037, 1073, 1124, 1184, 1282),
    *(1348, 1405, 1468, 1582, 1583, 1592, 1631, 1664, 1669, 1696),
)

_CARS_DESCR = """\
UCI Car Evaluation (Bohanec and Zupan, 1997; Alfke and Stoll, sections 4.2 and A4.5)

All 1728 combinations of six properties of a car, last property fastest, generated from the decision
tables behind the UCI file and identical to it row by row. Target "acceptability" is the real task:
unacc 1210, acc 384, good 69, vgood 65 rows, with five training nodes per class, drawn once.

Target "buying" reproduces the paper, whose published labels are the buying prices (432 rows each):
the first of the six properties, so the class is also a feature. Its twenty training nodes hold
five of each price, but 16 unacc, 3 acc, 1 good and no vgood. This task tests the reproduction,
not the method.
"""


def load_cars(
    target: Literal["acceptability", "buying"] = "acceptability", *, as_frame: bool = False
) -> Dataset:
    """Generate the UCI Car Evaluation table from its decision tables (section A4.5).

    Parameters
    ----------
    target : {"acceptability", "buying"}
        "acceptability": classes unacc, acc, good, vgood, the real task. "buying": the buying price
        vhigh, high, med, low, which is what the paper's published labels are; the column stays
        among the features, as in the paper.
    as_frame : bool
        Give ``data`` as a DataFrame of strings and ``target`` as a Series named like `target`.

    Returns
    -------
    Dataset
        ``data`` (1728, 6) strings, ``target`` (1728,) index into ``target_names``, ``training``
        five nodes per class: the paper's for "buying", a fixed draw for "acceptability".

    Examples
    --------
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
        classes, names = _CAR[_PRICE[buying, maint], tech], _CAR_CLASSES
        training = np.array(_ACCEPTABILITY_TRAINING)
    return _dataset(
        data,
        classes,
        tuple(_CAR_VALUES),
        names,
        training,
        _CARS_DESCR,
        frame_target=target if as_frame else None,
    )


def _dataset(
    data: NDArray[Any],
    target: NDArray[Any],
    feature_names: tuple[str, ...],
    target_names: tuple[str, ...],
    training: NDArray[Any],
    descr: str,
    *,
    frame_target: str | None,
) -> Dataset:
    """Assemble arrays, or with `frame_target` (the target's name) a DataFrame and a Series."""
    rows: Any = data
    classes: Any = target.astype(np.int64)
    if frame_target is not None:
        rows = pd.DataFrame(data, columns=list(feature_names))
        classes = pd.Series(classes, name=frame_target)
    return Dataset(
        rows, classes, feature_names, target_names, training.astype(np.intp), DESCR=descr
    )
