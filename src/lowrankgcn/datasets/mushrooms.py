"""UCI Mushroom: 8124 mushrooms described by 22 letters each (sections 4.2 and A4.6)."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from lowrankgcn.datasets.base import Dataset, assemble
from lowrankgcn.datasets.debian import mushrooms_from_debian
from lowrankgcn.datasets.download import RemoteFile, data_directory, download, keep
from lowrankgcn.exceptions import DataUnavailableError

__all__ = ["MUSHROOMS", "load_mushrooms"]

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

# The paper's twenty nodes (section A4.6), which it counts from 1: ten per class.
_TRAINING = (
    *(224, 610, 939, 1430, 1743, 2442, 2559, 3129, 4268, 4286),
    *(4354, 4713, 5602, 5615, 5845, 6434, 6486, 6744, 7515, 7954),
)

_DESCR = """\
UCI Mushroom (Schlimmer, 1987; Alfke and Stoll, sections 4.2 and A4.6)

8124 descriptions of mushrooms of 23 species, in the order of the UCI file and in its letters:
21 properties, which make 112 hyperedges. The 22nd, stalk-root, is left out as in the paper, because
it is unknown for 2480 rows. Classes: 4208 edible, 3916 poisonous (which includes those of unknown
edibility). Training nodes: the paper's twenty, ten per class.
"""


def load_mushrooms(*, as_frame: bool = False, fetch: bool = True) -> Dataset:
    """Load UCI Mushroom from the data directory, fetching it there on first use (section A4.6).

    The file ``agaricus-lepiota.data`` is looked for in :func:`data_directory`. If it is not there,
    it is downloaded from UCI; where that fails and apt is there, it is written from Debian's
    package r-cran-cba, which needs PyPI's rdata. Size and SHA-256 are checked in every case.

    Parameters
    ----------
    as_frame : bool
        Give ``data`` as a DataFrame of letters and ``target`` as a Series named "class".
    fetch : bool
        False: use no network, and fail if the file is not in the data directory.

    Returns
    -------
    Dataset
        ``data`` (8124, 21) letters, ``target`` (8124,) 0 edible or 1 poisonous, ``training`` the
        paper's ten nodes per class.

    Raises
    ------
    DataUnavailableError
        An OSError whose message says where to put the file by hand.
    ValueError
        If the file in the data directory is not UCI's.

    Examples
    --------
    >>> at_hand = (data_directory() / "agaricus-lepiota.data").is_file()
    >>> load_mushrooms().data.shape if at_hand else (8124, 21)
    (8124, 21)
    """
    rows = [line.split(",") for line in _content(fetch).decode("ascii").splitlines()]
    cells = np.array(rows)
    kept = [name for name in _COLUMNS if name != "stalk-root"]
    return assemble(
        np.delete(cells, [0, 1 + _COLUMNS.index("stalk-root")], axis=1),
        np.searchsorted(list(_CLASSES), cells[:, 0]),
        tuple(kept),
        tuple(_CLASSES.values()),
        np.array(_TRAINING) - 1,
        _DESCR,
        frame_target="class" if as_frame else None,
    )


def _content(fetch: bool) -> bytes:
    """The file as the data directory has it, or as the first source that has it gives it."""
    folder = data_directory()
    path = folder / MUSHROOMS.name
    try:
        content = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return _fetched(folder, fetch)
    try:
        MUSHROOMS.check(content)
    except ValueError as error:
        raise ValueError(f"{error}; remove {path} to have it fetched again") from None
    return content


def _fetched(folder: Path, fetch: bool) -> bytes:
    """Ask one source after the other, and keep what the first of them gives."""
    tried = []
    for source, get in _SOURCES.items() if fetch else ():
        try:
            content = get()
            MUSHROOMS.check(content)
        except (DataUnavailableError, ValueError) as error:
            tried.append(f"; {source}: {error}")
            continue
        try:
            keep(MUSHROOMS, content, folder)
        except OSError as error:
            raise DataUnavailableError(f"mushrooms: {folder} cannot be written: {error}") from error
        return content
    raise DataUnavailableError(
        f"mushrooms: no file {MUSHROOMS.name} in {folder}{''.join(tried)}. "
        f"Put UCI's file there: {MUSHROOMS.address} ({MUSHROOMS.size} bytes)"
    )


def _download() -> bytes:
    return download(MUSHROOMS)


_SOURCES = {"download": _download, "Debian's r-cran-cba": mushrooms_from_debian}
