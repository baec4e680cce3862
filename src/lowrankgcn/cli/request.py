"""What the user asks of ``classify``, and how to ask it again.

>>> request = Request(table=Path("cars.csv"), target="price", drop=("id",), seed=3)
>>> request.command
'lowrankgcn classify cars.csv --target price --drop id --seed 3'
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import final

__all__ = ["Request", "column_names"]


@final
@dataclass(frozen=True)
class Request:
    """Options of ``lowrankgcn classify``, see its help."""

    table: Path
    target: str
    out: Path | None = None
    report: Path | None = None
    save: Path | None = None
    validate: bool = False
    probabilities: bool = False
    drop: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    numeric: tuple[str, ...] = ()
    graph: str = "auto"
    architecture: str = "auto"
    filter: str = "auto"
    rank: int | str = "auto"
    bandwidth: float | str = "auto"
    encoding: str | None = None
    scheduler: str | None = None
    workers: int | None = None
    seed: int = 0
    as_json: bool = False
    quiet: bool = False

    @property
    def rows_to_stdout(self) -> bool:
        """Whether standard output gets rows, so that all else goes to standard error."""
        wanted = self.out or self.report or self.save or self.as_json or self.quiet
        return str(self.out) == "-" or not wanted

    @property
    def command(self) -> str:
        """The command line of this request."""
        words = ["lowrankgcn", "classify", str(self.table), "--target", self.target]
        for option in ("out", "report", "save", "encoding", "scheduler", "workers"):
            value = getattr(self, option)
            words += [] if value is None else [f"--{option}", str(value)]
        words += [
            f"--{option}" for option in ("validate", "probabilities") if getattr(self, option)
        ]
        for option in ("drop", "categorical", "numeric"):
            for name in getattr(self, option):
                words += [f"--{option}", name]
        for option in ("graph", "architecture", "filter", "rank", "bandwidth"):
            value = getattr(self, option)
            words += [] if value == "auto" else [f"--{option}", str(value)]
        return shlex.join([*words, "--seed", str(self.seed)])


def column_names(given: Iterable[str], columns: Iterable[str]) -> tuple[str, ...]:
    """Names of columns from an option: those of the table, or several with commas between.

    >>> column_names(["id,name", "width, cm"], ["id", "name", "width, cm"])
    ('id', 'name', 'width, cm')
    """
    known = set(columns)
    names: list[str] = []
    for text in given:
        names += [text] if text in known else text.split(",")
    return tuple(dict.fromkeys(names))
