"""The mushrooms from Debian's package r-cran-cba, where apt is there: a second source.

The package's table has the same rows in the same order, in words. UCI's file has their letters,
which are first letters with a few exceptions, so the file can be written from the table and its
checksum tells whether nothing was lost:

>>> letter("foul"), letter("fishy"), letter("purple"), letter(float("nan"))
('f', 'y', 'u', '?')
"""

from __future__ import annotations

import importlib
import importlib.util
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from lowrankgcn.exceptions import DataUnavailableError

__all__ = ["letter", "mushrooms_from_debian"]

_PACKAGE = "r-cran-cba"
_TABLE = "usr/lib/R/site-library/cba/data/Mushroom.rda"
_PATIENCE = 120  # seconds for apt-get

# Words whose letter is not their first. "ibrous" is how the package spells fibrous stalks.
_LETTERS = {
    "anise": "l",
    "black": "k",
    "brown": "n",
    "bruises": "t",
    "chocolate": "h",
    "convex": "x",
    "crowded": "w",
    "fishy": "y",
    "green": "r",
    "ibrous": "f",
    "no": "f",
    "purple": "u",
    "red": "e",
    "scaly": "y",
    "several": "v",
    "silky": "k",
    "solitary": "y",
    "woods": "d",
}


def letter(word: Any) -> str:
    """UCI's letter for a value of the package's table; a missing one is "?"."""
    return _LETTERS.get(word, word[0]) if isinstance(word, str) else "?"


def mushrooms_from_debian() -> bytes:
    """UCI's file, written from Debian's package: a few seconds, nothing is installed.

    Raises
    ------
    DataUnavailableError
        Without apt-get, dpkg or PyPI's rdata, and if apt-get finds or fetches no such package.
    """
    for program in ("apt-get", "dpkg"):
        if shutil.which(program) is None:
            raise DataUnavailableError(f"there is no {program}")
    if importlib.util.find_spec("rdata") is None:
        raise DataUnavailableError("PyPI's rdata is not installed")
    with tempfile.TemporaryDirectory(prefix="lowrankgcn-") as name:
        folder = Path(name)
        _run(["apt-get", "--quiet=2", "download", _PACKAGE], folder)
        packages = sorted(folder.glob(f"{_PACKAGE}_*.deb"))
        if not packages:
            raise DataUnavailableError(f"apt-get fetched no {_PACKAGE}")
        _run(["dpkg", "-x", packages[0].name, "."], folder)
        if not (folder / _TABLE).is_file():
            raise DataUnavailableError(f"{_PACKAGE} has no {Path(_TABLE).name}")
        try:
            table = importlib.import_module("rdata").read_rda(folder / _TABLE)["Mushroom"]
        except Exception as error:  # rdata raises what it comes across
            raise DataUnavailableError(f"rdata cannot read {Path(_TABLE).name}: {error}") from error
    rows = table.astype(object).itertuples(index=False)
    return "".join(",".join(map(letter, row)) + "\n" for row in rows).encode()


def _run(command: list[str], folder: Path) -> None:
    """Run a program in `folder`; what it says is told only if it fails."""
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, timeout=_PATIENCE, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise DataUnavailableError(f"{command[0]}: {error}") from error
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines() or ["failed"]
        raise DataUnavailableError(f"{command[0]}: {said[-1]}")
