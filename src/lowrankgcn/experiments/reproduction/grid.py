"""Rows of the paper's tables, from ``paper.toml``, and the computations behind them.

A row is a line of a table with its published figures; a case is the computation it needs. Rows
with the same computation share a case:

>>> rows = paper_rows()
>>> len(rows), len({row["case"] for row in rows})
(58, 50)
>>> rows[4]["case"].network, rows[4]["case"].filter, rows[4]["accuracy"]
('L-GCN', 'pseudoinverse', 92.23)
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, final

from lowrankgcn.spectral.filters import Filter, Polynomial, as_filter

__all__ = ["ERRATA", "PAPER", "SETTINGS", "TABLES", "Case", "Row"]
__all__ += ["demonstrations", "other_bases", "paper_rows"]

_BASES = 8  # choices of signs for every reduced-order row

SETTINGS = ("network", "filter", "rank", "smoother")
"""What distinguishes the cases of a table."""

Row = dict[str, Any]


@final
@dataclass(frozen=True)
class Case:
    """One network on one dataset, to be trained from many random starts.

    Attributes
    ----------
    data : str
        "spiral", "cars", "mushrooms", or "cars-acceptability" for the cars with their real classes.
    network : str
        "GCN", "L-GCN" or "R-GCN".
    filter : str
        Name of a filter, or "mistyped-quadratic": 1 − 2λ − λ² as in the published script.
    rank : int or None
        None is full rank.
    smoother : str or None
        Loops of the graph, see :class:`lowrankgcn.Laplacian`.
    basis : int
        0: the library's eigenvectors. k > 0: the k-th random choice of signs, and of bases of
        multiple eigenvalues.
    split : int
        0: the paper's training nodes. k > 0: the k-th random draw of as many per class.
    """

    data: str
    network: str
    filter: str
    rank: int | None = None
    smoother: str | None = None
    basis: int = 0
    split: int = 0

    @property
    def phi(self) -> Filter:
        """The filter object."""
        mistyped = self.filter == "mistyped-quadratic"
        return Polynomial((1.0, -2.0, -1.0)) if mistyped else as_filter(self.filter)

    def __str__(self) -> str:
        settings = {name: getattr(self, name) for name in ("rank", "smoother", "basis", "split")}
        more = "".join(f", {name} {value}" for name, value in settings.items() if value)
        return f"{self.data}: {self.network} {self.filter}{more}"


PAPER = tomllib.loads(Path(__file__).with_name("paper.toml").read_text("utf-8"))
"""Contents of ``paper.toml``."""

TABLES: dict[str, dict[str, Any]] = {table["name"]: table for table in PAPER["table"]}
"""Name, title, description, data and rows of the tables and figures, in the paper's order."""

ERRATA: dict[str, dict[str, Any]] = {erratum["name"]: erratum for erratum in PAPER["erratum"]}
"""Number, title and text of the errata by name, and how they are demonstrated."""


def paper_rows(*tables: str) -> list[Row]:
    """Return the rows of some tables, by default of all.

    A row has the keys "table", "case", those of ``SETTINGS``, "naive" (whether the paper multiplied
    with stored n×n matrices), "errata" (names of the errata about it), "accuracy" (the published
    mean of "runs" runs, in per cent) and the published seconds: "setup" and "training", if the
    paper prints them apart, and "total".

    Examples
    --------
    >>> [len(paper_rows(name)) for name in TABLES]
    [8, 11, 11, 20, 8]
    """
    return [
        _row(table, row)
        for name, table in TABLES.items()
        if name in (tables or TABLES)
        for row in table["rows"]
    ]


def _row(table: dict[str, Any], line: dict[str, Any]) -> Row:
    defaults = {"rank": None, "smoother": None, "setup": None, "training": None}
    row: Row = {"table": table["name"], "naive": False, "errata": [], **defaults, **line}
    if row["setup"] is not None:
        row["total"] = row["setup"] + row["training"]
    row["case"] = Case(table["data"], *(row[name] for name in SETTINGS))
    row["runs"] = 20 if row["naive"] else 100  # section A4.3
    return row


def other_bases(case: Case) -> list[Case]:
    """Return a reduced-order case with other eigenvectors; they do not change other networks."""
    count = _BASES if case.network == "R-GCN" else 0
    return [replace(case, basis=k) for k in range(1, count + 1)]


def demonstrations(table: str) -> dict[str, list[Case]]:
    """Return the cases that demonstrate errata of a table, by erratum."""
    return {
        name: [Case(**erratum["case"], split=split) for split in erratum.get("splits", [0])]
        for name, erratum in ERRATA.items()
        if "case" in erratum and table in erratum["tables"]
    }
