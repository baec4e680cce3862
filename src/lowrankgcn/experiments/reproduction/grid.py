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

__all__ = ["MISTYPED", "PAPER", "TABLES", "Case", "Row", "paper_rows"]

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
        :data:`lowrankgcn.experiments.reproduction.verdict.ERRATA`.
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


PAPER: dict[str, Any] = tomllib.loads(
    files("lowrankgcn.experiments.reproduction").joinpath("paper.toml").read_text("utf-8")
)
"""Contents of ``paper.toml``."""

TABLES: dict[str, dict[str, Any]] = {table["name"]: table for table in PAPER["table"]}
"""Name, title, description and data of the tables and figures, in the order of the paper."""


@cache
def paper_rows(*tables: str) -> tuple[Row, ...]:
    """Return the rows of some tables, by default of all.

    Examples
    --------
    >>> [len(paper_rows(name)) for name in TABLES]
    [8, 11, 11, 20, 8]
    """
    return tuple(
        _row(table, row)
        for name, table in TABLES.items()
        if name in (tables or TABLES)
        for row in table["rows"]
    )


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
