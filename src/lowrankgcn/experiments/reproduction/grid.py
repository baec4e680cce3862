"""Rows of the paper's tables, from ``paper.toml``, and the computations behind them.

A row is a line of a table with its published figures; a case is the computation it needs. Rows
with the same computation share a case:

>>> rows = paper_rows()
>>> len(rows), len({row.case for row in rows})
(58, 50)
>>> rows[4].case.network, rows[4].case.filter, rows[4].accuracy
('L-GCN', 'pseudoinverse', 92.23)
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, final

from lowrankgcn.spectral.filters import Filter, Polynomial, as_filter

__all__ = ["MISTYPED", "Case", "Row", "Table", "paper_file", "paper_rows", "paper_tables"]

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
        settings = {name: getattr(self, name) for name in ("rank", "smoother", "basis", "split")}
        more = "".join(f", {name} {value}" for name, value in settings.items() if value)
        return f"{self.data}: {self.network} {self.filter}{more}"


@final
@dataclass(frozen=True)
class Row:
    """One line of one of the paper's tables.

    Attributes
    ----------
    table : str
    case : Case
    naive : bool
        Whether the paper multiplied with stored n×n matrices.
    errata : tuple of str
        Names of the errata about the row, see
        :data:`lowrankgcn.experiments.reproduction.errata.ERRATA`.
    accuracy : float
        Published mean, in per cent, of `runs` runs.
    setup, training : float or None
        Published seconds, if the paper prints them apart.
    total : float
        Published seconds of set-up and training together.
    """

    table: str
    case: Case
    naive: bool
    errata: tuple[str, ...]
    accuracy: float
    runs: int
    setup: float | None
    training: float | None
    total: float


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
    setup, training = row.get("setup"), row.get("training")
    return Row(
        table=table["name"],
        case=Case(table["data"], row["network"], values["filter"], rank, smoother),
        naive=naive,
        errata=(*table.get("errata", ()), *row.get("errata", ())),
        accuracy=row["accuracy"],
        runs=20 if naive else 100,  # section A4.3
        setup=setup,
        training=training,
        total=row["total"] if setup is None else setup + training,
    )
