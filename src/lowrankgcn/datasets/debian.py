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
from typing import Any

from lowrankgcn.exceptions import DataUnavailableError

__all__ = ["letter", "mushrooms_from_debian"]

_TABLE = "usr/lib/R/site-library/cba/data/Mushroom.rda"

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
        except Exception as error:  # no rdata, no answer, or one of rdata's many errors
            raise DataUnavailableError(str(error)) from error
    rows = table.astype(object).itertuples(index=False)
    return "".join(",".join(map(letter, row)) + "\n" for row in rows).encode()
