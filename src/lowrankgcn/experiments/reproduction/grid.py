"""Rows of the paper's tables, from ``paper.toml``, and the computations behind them.

A row is a line of a table with its published figures; a case is the computation it needs. Rows
with the same computation share a case:

>>> rows = paper_rows()
>>> len(rows), len({row.case for row in rows})
(58, 50)
>>> rows[4].table, rows[4].label, rows[4].published.accuracy
('spiral', 'L-GCN pseudoinverse', 92.23)
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, final

from lowrankgcn.spectral.filters import Filter, Polynomial, as_filter

__all__ = ["MISTYPED", "Case", "Published", "Row", "Table", "paper_rows", "paper_tables"]

# The quadratic filter of the published script: 1 − 2λ − λ² instead of (1 − λ)².
MISTYPED = "mistyped-quadratic"


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
    """Published accuracy (per cent) and times (seconds), and the number of runs behind them."""

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
        Names of the errata about the row, see
        :data:`lowrankgcn.experiments.reproduction.errata.ERRATA`.
    """

    table: str
    case: Case
    published: Published
    naive: bool = False
    errata: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """Name of the row within its table."""
        case = self.case
        rank = f" rank {case.rank}" if self.table == "ranks" else ""
        naive = " (naive)" if self.naive else ""
        smoother = f", {case.smoother or 'hypergraph'}" if self.table == "smoothers" else ""
        return f"{case.network}{naive} {case.filter}{rank}{smoother}"


@final
@dataclass(frozen=True)
class Table:
    """A table or figure of the paper: name, title, description and rows."""

    name: str
    title: str
    about: str
    rows: tuple[Row, ...]


@cache
def paper_file() -> dict[str, Any]:
    """Read ``paper.toml``."""
    folder = files("lowrankgcn.experiments.reproduction")
    return tomllib.loads(folder.joinpath("paper.toml").read_text("utf-8"))


@cache
def paper_tables() -> tuple[Table, ...]:
    """Return all tables in the order of the paper.

    Examples
    --------
    >>> [(table.name, len(table.rows)) for table in paper_tables()]
    [('spiral', 8), ('cars', 11), ('mushrooms', 11), ('ranks', 20), ('smoothers', 8)]
    """
    return tuple(
        Table(
            table["name"],
            table["title"],
            table["about"],
            tuple(_row(table, row) for row in table["rows"]),
        )
        for table in paper_file()["table"]
    )


def paper_rows() -> tuple[Row, ...]:
    """Return the rows of all tables."""
    return tuple(row for table in paper_tables() for row in table.rows)


def _row(table: dict[str, Any], row: dict[str, Any]) -> Row:
    values = table | row
    # Loops of the hypergraph itself are the default of a Laplacian.
    smoother = None if values.get("smoother") == "hypergraph" else values.get("smoother")
    rank = None if row["network"] == "GCN" else values["rank"]
    naive = row.get("naive", False)
    times = {name: row.get(name) for name in ("setup", "training", "total")}
    return Row(
        table=table["name"],
        case=Case(table["data"], row["network"], values["filter"], rank, smoother),
        published=Published(row["accuracy"], runs=20 if naive else 100, **times),  # section A4.3
        naive=naive,
        errata=(*table.get("errata", ()), *row.get("errata", ())),
    )
