"""UCI Mushroom: 8124 mushrooms described by 22 letters each (sections 4.2 and A4.6)."""

from __future__ import annotations

import numpy as np

from lowrankgcn.datasets.dataset import Dataset, assemble
from lowrankgcn.datasets.download import RemoteFile

MUSHROOMS = RemoteFile(
    name="agaricus-lepiota.data",
    address="https://archive.ics.uci.edu/ml/machine-learning-databases/mushroom/"
    "agaricus-lepiota.data",
    size=373_704,
    sha256="e65d082030501a3ebcbcd7c9f7c71aa9d28fdfff463bf4cf4716a3fe13ac360e",
)

# Columns of the file after the class; stalk-root is the one with unknown values.
_COLUMNS = """
    cap-shape cap-surface cap-color bruises odor gill-attachment gill-spacing gill-size gill-color
    stalk-shape stalk-root stalk-surface-above-ring stalk-surface-below-ring
    stalk-color-above-ring stalk-color-below-ring veil-type veil-color ring-number ring-type
    spore-print-color population habitat
""".split()
_CLASSES = {"e": "edible", "p": "poisonous"}

# The paper's twenty nodes (section A4.6), counted from 1: ten per class.
_TRAINING = (
    *(224, 610, 939, 1430, 1743, 2442, 2559, 3129, 4268, 4286),
    *(4354, 4713, 5602, 5615, 5845, 6434, 6486, 6744, 7515, 7954),
)


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
        np.delete(cells, [0, 1 + _COLUMNS.index("stalk-root")], axis=1),
        np.searchsorted(list(_CLASSES), cells[:, 0]),
        tuple(name for name in _COLUMNS if name != "stalk-root"),
        tuple(_CLASSES.values()),
        np.array(_TRAINING) - 1,
        "class" if as_frame else None,
    )
