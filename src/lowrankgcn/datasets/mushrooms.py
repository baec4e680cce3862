"""UCI Mushroom: 8124 mushrooms described by 22 letters each (sections 4.2 and A4.6)."""

from __future__ import annotations

import importlib
import subprocess
import tempfile
from collections.abc import Callable
from typing import Any

import numpy as np

from lowrankgcn import _atomic
from lowrankgcn.datasets.base import Dataset, assemble
from lowrankgcn.datasets.download import RemoteFile, data_directory, download
from lowrankgcn.exceptions import DataUnavailableError

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

# The table in Debian's package r-cran-cba, and its words whose letter is not their first. "ibrous"
# is the package's spelling of fibrous stalks.
_TABLE = "usr/lib/R/site-library/cba/data/Mushroom.rda"
_LETTERS = dict(
    pair.split(":")
    for pair in (
        "anise:l black:k brown:n bruises:t chocolate:h convex:x crowded:w fishy:y green:r ibrous:f "
        "no:f purple:u red:e scaly:y several:v silky:k solitary:y woods:d"
    ).split()
)


def load_mushrooms(*, as_frame: bool = False, fetch: bool = True) -> Dataset:
    """Load UCI Mushroom from the data directory, downloading it on first use (section A4.6).

    If :func:`data_directory` has no file ``agaricus-lepiota.data``, it is downloaded from UCI. If
    that fails and apt-get is available, it is written from Debian's package r-cran-cba, which needs
    PyPI's rdata. The SHA-256 is checked in every case.

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
        If no source has the file; the message names the folder and the address.
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
    path = data_directory() / MUSHROOMS.name
    try:
        content = path.read_bytes()
        MUSHROOMS.check(content)
    except (FileNotFoundError, NotADirectoryError):
        content = _fetch(fetch)
    except ValueError as error:
        raise ValueError(f"{error}; remove {path} to download it again") from None
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


def _fetch(allowed: bool) -> bytes:
    """Return the file from the first source that has it, and keep it in the data directory."""
    folder, failures = data_directory(), []
    for source, get in _SOURCES.items() if allowed else ():
        try:
            content = get(MUSHROOMS)
            MUSHROOMS.check(content)
        except (DataUnavailableError, ValueError) as error:
            failures.append(f"; {source}: {error}")
            continue
        try:
            folder.mkdir(parents=True, exist_ok=True)
            _atomic.write_bytes(folder / MUSHROOMS.name, content)
        except OSError as error:
            raise DataUnavailableError(f"mushrooms: cannot write to {folder}: {error}") from error
        return content
    raise DataUnavailableError(
        f"mushrooms: no file {MUSHROOMS.name} in {folder}{''.join(failures)}. "
        f"Put UCI's file there: {MUSHROOMS.address} ({MUSHROOMS.size} bytes)"
    )


def letter(word: Any) -> str:
    """Return UCI's letter for a value of the package's table; "?" for a missing one.

    Examples
    --------
    >>> letter("foul"), letter("fishy"), letter("purple"), letter(float("nan"))
    ('f', 'y', 'u', '?')
    """
    return _LETTERS.get(word, word[0]) if isinstance(word, str) else "?"


def mushrooms_from_debian() -> bytes:
    """Write UCI's file from Debian's package, in a few seconds and without installing it.

    The package's table has the same rows in the same order, in words.

    Raises
    ------
    DataUnavailableError
        If apt-get, dpkg or PyPI's rdata is missing, or apt-get finds no such package.
    """
    commands = ("apt-get --quiet=2 download r-cran-cba", "dpkg -x *.deb .")
    with tempfile.TemporaryDirectory(prefix="lowrankgcn-") as folder:
        try:
            rdata = importlib.import_module("rdata")
            for command in commands:
                subprocess.run(
                    command, shell=True, cwd=folder, check=True, capture_output=True, timeout=120
                )
            table = rdata.read_rda(f"{folder}/{_TABLE}")["Mushroom"]
        except subprocess.CalledProcessError as error:
            message = error.stderr.decode(errors="replace").strip()
            raise DataUnavailableError(message.rpartition("\n")[2] or str(error)) from error
        except ImportError as error:
            message = "rdata is not installed: pip install 'lowrankgcn[datasets]'"
            raise DataUnavailableError(message) from error
        except Exception as error:  # no answer, or one of rdata's many errors
            raise DataUnavailableError(str(error)) from error
    rows = table.astype(object).itertuples(index=False)
    return "".join(",".join(map(letter, row)) + "\n" for row in rows).encode()


_SOURCES: dict[str, Callable[[RemoteFile], bytes]] = {
    "download": download,
    "Debian's r-cran-cba": lambda file: mushrooms_from_debian(),
}
