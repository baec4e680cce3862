"""Points of the spiral, generated or the paper's own (sections 4.1 and A4.4).

>>> load_spiral(400).data.shape
(2000, 3)
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from lowrankgcn._validation import choice, finite_array, invalid, positive_int, random_generator
from lowrankgcn.datasets.dataset import Dataset, assemble
from lowrankgcn.datasets.download import data_directory
from lowrankgcn.exceptions import DataUnavailableError

_Sample = tuple[NDArray[np.float64], NDArray[np.intp], NDArray[np.intp]]


def load_spiral(
    n_per_orb: int = 2000,
    *,
    random_state: Any = 0,
    source: Literal["generated", "paper"] = "generated",
    as_frame: bool = False,
) -> Dataset:
    """Load the spiral: five overlapping clouds of points in three dimensions (section A4.4).

    Parameters
    ----------
    n_per_orb : int >= 1
        Points drawn around each of the five centres; n = 5 · n_per_orb.
    random_state : int, numpy.random.Generator or None
        Seed of the points and the training nodes.
    source : {"generated", "paper"}
        "generated": a new sample. "paper": the paper's own 10,000 points and ten training nodes,
        from the file ``spiral-paper.csv`` in the data directory; the arguments above are ignored.
    as_frame : bool
        Return ``data`` as a DataFrame and ``target`` as a Series named "orb".

    Returns
    -------
    Dataset
        ``data`` (n, 3) float64, ``target`` (n,) the index 0..4 of the nearest centre, ``training``
        two nodes per class (all of a class that has fewer).

    Raises
    ------
    DataUnavailableError
        If `source` is "paper" and the data directory has no ``spiral-paper.csv``.
    ValueError
        If that file is invalid.

    See Also
    --------
    load_cars, load_mushrooms : Tables of categories.

    Notes
    -----
    O(n) time; 40 bytes per point besides the result.

    Examples
    --------
    >>> import numpy as np
    >>> from lowrankgcn.datasets import load_spiral
    >>> spiral = load_spiral(400)
    >>> spiral
    <Dataset: 2000 rows, 3 features, 5 classes, 10 training nodes>
    >>> np.bincount(spiral.target[spiral.training])
    array([2, 2, 2, 2, 2])
    """
    choice(source, "source", ("generated", "paper"))
    if source == "paper":
        name, sample = "spiral-paper", _paper_points(data_directory() / "spiral-paper.csv")
    else:
        size = positive_int(n_per_orb, "n_per_orb")
        name, sample = "spiral", _sample(size, random_generator(random_state))
    points, target, training = sample
    orbs, frame_target = tuple(f"orb {k}" for k in range(5)), "orb" if as_frame else None
    return assemble(name, points, target, ("x", "y", "z"), orbs, training, frame_target)


def _sample(n_per_orb: int, generator: np.random.Generator) -> _Sample:
    """Draw points; return them with their nearest centres and two training nodes per class."""
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
    return points, target, np.sort(np.concatenate(chosen))


def _paper_points(path: Path) -> _Sample:
    """Read columns x, y, z, label (1 to 5) and training (0 or 1) of 10,000 points."""
    if not path.is_file():
        raise DataUnavailableError(
            f"spiral: no file {path.name} in {path.parent} (columns x, y, z, label, training); "
            "use source='generated' for a new sample"
        )
    rows = [line.split(",") for line in path.read_text().splitlines()[1:]]
    try:
        table = np.array(rows, float).reshape(10_000, 5)
    except ValueError as error:
        raise invalid(str(path), "10000 rows of 5 numbers", error) from None
    finite_array(table, str(path))
    target, training = table[:, 3].astype(np.intp) - 1, np.flatnonzero(table[:, 4])
    if sorted(target[training]) != [0, 0, 1, 1, 2, 2, 3, 3, 4, 4] or np.ptp(target) != 4:
        raise invalid(str(path), "two training nodes of each label 1 to 5", "other nodes")
    return table[:, :3].copy(), target, training
