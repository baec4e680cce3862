"""The paper's rows, and the computations that they need.

A row is a line of a table with its published figures; a case is what has to be computed for it.
Rows that ask for the same thing share a case, so nothing is computed twice:

>>> rows = paper_rows()
>>> len(rows), len({row.case for row in rows})
(58, 50)
>>> print(rows[4])
spiral: L-GCN pseudoinverse
>>> rows[4].published.accuracy
92.23
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, final

from lowrankgcn.spectral.filters import Filter, Polynomial, as_filter

__all__ = ["MISTYPED", "Case", "Published", "Row", "Table", "paper_rows", "paper_tables"]

# The quadratic filter as the published script has it: 1 − 2λ − λ² instead of (1 − λ)².
MISTYPED = "mistyped-quadratic"

_RUNS, _NAIVE_RUNS = 100, 20  # section A4.3


@final
@dataclass(frozen=True)
class Case:
    """One network on one dataset, to be trained from many starts.

    Attributes
    ----------
    data : str
        "spiral", "cars", "mushrooms", or "cars-acceptability": the cars with their real classes.
    network : str
        "GCN", "L-GCN" or "R-GCN".
    filter : str
    rank : int or None
        None is full rank.
    smoother : str or None
        Loops of the graph, see :class:`lowrankgcn.Laplacian`.
    basis : int
        0: the library's eigenvectors. k > 0: the k-th random choice of signs, and of bases of
        multiple eigenvalues, which are as much eigenvectors as those.
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
        """The filter."""
        return Polynomial((1.0, -2.0, -1.0)) if self.filter == MISTYPED else as_filter(self.filter)

    def __str__(self) -> str:
        rank = "" if self.rank is None else f" rank {self.rank}"
        smoother = "" if self.smoother is None else f" {self.smoother} smoothing"
        basis = f" signs {self.basis}" if self.basis else ""
        split = f" split {self.split}" if self.split else ""
        return f"{self.data}: {self.network} {self.filter}{rank}{smoother}{basis}{split}"


@final
@dataclass(frozen=True)
class Published:
    """What the paper prints: per cent and seconds, and over how many runs it says it averaged."""

    accuracy: float
    runs: int
    setup: float | None = None
    training: float | None = None
    total: float | None = None

    @property
    def seconds(self) -> float:
        """Set-up and training together."""
        return self.total if self.total is not None else (self.setup or 0) + (self.training or 0)


@final
@dataclass(frozen=True)
class Row:
    """One line of one of the paper's tables.

    Attributes
    ----------
    table : str
    case : Case
    published : Published
    naive : bool
        Whether the paper multiplied with stored n×n matrices.
    errata : tuple of str
        What has to be known about the row, see :data:`lowrankgcn.experiments.reproduction.ERRATA`.
    """

    table: str
    case: Case
    published: Published
    naive: bool = False
    errata: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """The row's name within its table."""
        case = self.case
        rank = f" rank {case.rank}" if self.table == "ranks" else ""
        way = " (naive)" if self.naive else ""
        smoother = f", {case.smoother or 'hypergraph'}" if self.table == "smoothers" else ""
        return f"{case.network}{way} {case.filter}{rank}{smoother}"

    def __str__(self) -> str:
        return f"{self.table}: {self.label}"


@final
@dataclass(frozen=True)
class Table:
    """A table or figure of the paper: its name here, its title, what was done, and its rows."""

    name: str
    title: str
    about: str
    rows: tuple[Row, ...]


@cache
def paper_tables() -> tuple[Table, ...]:
    """All tables, in the paper's order, from ``paper.toml``.

    Examples
    --------
    >>> [(table.name, len(table.rows)) for table in paper_tables()]
    [('spiral', 8), ('cars', 11), ('mushrooms', 11), ('ranks', 20), ('smoothers', 8)]
    """
    text = files("lowrankgcn.experiments.reproduction").joinpath("paper.toml").read_text("utf-8")
    return tuple(
        Table(
            name=table["name"],
            title=table["title"],
            about=table["about"],
            rows=tuple(_row(table, row) for row in table["rows"]),
        )
        for table in tomllib.loads(text)["table"]
    )


def paper_rows() -> tuple[Row, ...]:
    """The rows of all tables."""
    return tuple(row for table in paper_tables() for row in table.rows)


def _row(table: dict[str, Any], row: dict[str, Any]) -> Row:
    known = table | row
    naive = bool(row.get("naive"))
    smoother = known.get("smoother")
    return Row(
        table=table["name"],
        case=Case(
            data=table["data"],
            network=row["network"],
            filter=known["filter"],
            rank=None if row["network"] == "GCN" else known["rank"],
            # The hypergraph's own loops are what a Laplacian has if nothing is said.
            smoother=None if smoother == "hypergraph" else smoother,
        ),
        published=Published(
            accuracy=float(row["accuracy"]),
            runs=_NAIVE_RUNS if naive else _RUNS,
            setup=row.get("setup"),
            training=row.get("training"),
            total=row.get("total"),
        ),
        naive=naive,
        errata=(*table.get("errata", ()), *row.get("errata", ())),
    )
