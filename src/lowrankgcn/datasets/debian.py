"""The mushrooms from Debian's package r-cran-cba: a second source where apt-get is available.

The package's table has the same rows in the same order, in words. UCI's file has letters instead,
mostly the first letter of the word, so the file can be written from the table:

>>> letter("foul"), letter("fishy"), letter("purple"), letter(float("nan"))
('f', 'y', 'u', '?')
"""

from __future__ import annotations

import importlib
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from lowrankgcn.exceptions import DataUnavailableError

__all__ = ["letter", "mushrooms_from_debian"]

_TABLE = "usr/lib/R/site-library/cba/data/Mushroom.rda"
_PATIENCE = 120  # seconds for apt-get

# Words whose letter is not their first. "ibrous" is the package's spelling of fibrous stalks.
_LETTERS = dict(
    pair.split(":")
    for pair in (
        "anise:l black:k brown:n bruises:t chocolate:h convex:x crowded:w fishy:y green:r ibrous:f "
        "no:f purple:u red:e scaly:y several:v silky:k solitary:y woods:d"
    ).split()
)


def letter(word: Any) -> str:
    """Return UCI's letter for a value of the package's table; "?" for a missing one."""
    return _LETTERS.get(word, word[0]) if isinstance(word, str) else "?"


def mushrooms_from_debian() -> bytes:
    """Write UCI's file from Debian's package, in a few seconds and without installing it.

    Raises
    ------
    DataUnavailableError
        If apt-get, dpkg or PyPI's rdata is missing, or apt-get finds no such package.
    """
    try:
        rdata = importlib.import_module("rdata")
    except ImportError:
        raise DataUnavailableError("rdata is not installed; run pip install rdata") from None
    with tempfile.TemporaryDirectory(prefix="lowrankgcn-") as name:
        folder = Path(name)
        _run("apt-get --quiet=2 download r-cran-cba", folder)
        for package in folder.glob("*.deb"):
            _run(f"dpkg -x {package.name} .", folder)
        try:
            table = rdata.read_rda(folder / _TABLE)["Mushroom"]
        except Exception as error:  # rdata raises many kinds of errors
            raise DataUnavailableError(f"rdata cannot read {_TABLE}: {error}") from error
    rows = table.astype(object).itertuples(index=False)
    return "".join(",".join(map(letter, row)) + "\n" for row in rows).encode()


def _run(command: str, folder: Path) -> None:
    """Run a program in `folder`."""
    program, *arguments = command.split()
    try:
        done = subprocess.run(
            [program, *arguments],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=_PATIENCE,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise DataUnavailableError(f"{program}: {error}") from error
    if done.returncode:
        lines = (done.stderr or done.stdout).strip().splitlines() or ["failed"]
        raise DataUnavailableError(f"{program}: {lines[-1]}")
