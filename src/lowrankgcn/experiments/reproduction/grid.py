"""Rows of the paper's tables, from ``paper.toml``, and the data and networks behind them.

A row is a line of a table with its published figures; a case is the computation it needs. Rows
with the same computation share a case:

>>> rows = paper_rows()
>>> len(rows), len({row["case"] for row in rows})
(58, 50)
>>> rows[4]["case"].network, rows[4]["case"].filter, rows[4]["accuracy"]
('L-GCN', 'pseudoinverse', 92.23)
>>> setting = load_setting("cars")
>>> setting.laplacian(None).n, setting.widths
(1728, (21, 8, 4))
>>> network, seconds = setting.network(Case("cars", "R-GCN", "pseudoinverse", 15))
>>> network.rank
15
"""

from __future__ import annotations

import time
import tomllib
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lowrankgcn.datasets import load_cars, load_mushrooms, load_spiral
from lowrankgcn.exceptions import DataUnavailableError
from lowrankgcn.graphs import GaussianGraph, Graph, Hypergraph
from lowrankgcn.nn import GCN, Network, ReducedOrderGCN
from lowrankgcn.spectral.eigenpairs import Eigenpairs
from lowrankgcn.spectral.filters import Polynomial
from lowrankgcn.spectral.kernel import kernel, low_rank_kernels
from lowrankgcn.spectral.laplacian import Laplacian

_BASES = 8  # choices of signs for every reduced-order row
_BANDWIDTH = 3.5
_HIDDEN = {"spiral": 4, "cars": 8, "cars-acceptability": 8, "mushrooms": 16}
# The paper's eigensolver tolerance for a few pairs; products with all of 𝓛 are more accurate.
_TOLERANCE, _FULL_TOLERANCE = 1e-3, 1e-6
_MISTYPED = {"mistyped-quadratic": Polynomial((1.0, -2.0, -1.0))}  # 1 − 2λ − λ²
_SAME = 1e-8  # eigenvalues closer than this share an eigenspace

SETTINGS = ("network", "filter", "rank", "smoother")
"""What distinguishes the cases of a table."""

Row = dict[str, Any]
_DEFAULTS: Row = {"naive": False, "errata": [], **dict.fromkeys(("setup", "training", *SETTINGS))}


class Case(NamedTuple):
    """One network on one dataset, to be trained from many random starts.

    Attributes
    ----------
    data : str
        "spiral", "cars", "mushrooms", or "cars-acceptability" for the cars with their real classes.
    network : str
        "GCN", "L-GCN" or "R-GCN".
    filter : str
        Name of a filter, or "mistyped-quadratic" as in the published script.
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

    def __str__(self) -> str:
        more = [f", {name} {value}" for name, value in self._asdict().items() if value]
        return f"{self.data}: {self.network} {self.filter}{''.join(more[3:])}"


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
    rows = []
    for name, table in TABLES.items():
        for line in table["rows"] if name in (tables or TABLES) else ():
            row: Row = {"table": name, **_DEFAULTS, **line}
            if row["setup"] is not None:
                row["total"] = row["setup"] + row["training"]
            row["case"] = Case(table["data"], *(row[setting] for setting in SETTINGS))
            row["runs"] = 20 if row["naive"] else 100  # section A4.3
            rows.append(row)
    return rows


def other_bases(case: Case) -> list[Case]:
    """Return a reduced-order case with other eigenvectors; they do not change other networks."""
    if case.network != "R-GCN":
        return []
    return [case._replace(basis=k) for k in range(1, _BASES + 1)]


def demonstrations(table: str) -> dict[str, list[Case]]:
    """Return the cases that demonstrate errata of a table, by erratum."""
    return {
        name: [Case(**erratum["case"], split=split) for split in erratum.get("splits", [0])]
        for name, erratum in ERRATA.items()
        if "case" in erratum and table in erratum["tables"]
    }


class Setting(NamedTuple):
    """A dataset as the paper uses it: graph, input features, classes, training nodes.

    ``source`` names the data that was read and is part of the identity of stored results. ``X`` are
    the points of the spiral, or the dense incidence matrix of a table.
    """

    data: str
    source: str
    graph: Graph
    X: NDArray[np.float64]
    classes: NDArray[np.int64]
    training: NDArray[np.intp]
    widths: tuple[int, int, int]

    def laplacian(self, smoother: str | None, *, full: bool = False) -> Laplacian:
        """Return the Laplacian, with accurate fast sums for kernels of full rank."""
        coarse = self.data == "spiral" and not full
        return Laplacian(self.graph, smoother, tol=_TOLERANCE if coarse else _FULL_TOLERANCE)

    def labelled(self, case: Case, seed: int) -> NDArray[np.intp]:
        """Return the training nodes of a case."""
        if not case.split:
            return self.training
        generator = np.random.default_rng([seed, case.split])
        counts = np.bincount(self.classes[self.training])
        members = [np.flatnonzero(self.classes == label) for label in range(len(counts))]
        drawn = map(partial(generator.choice, replace=False), members, counts.tolist())
        return np.sort(np.concatenate(list(drawn)))

    def network(self, case: Case, seed: int = 0) -> tuple[Network, float]:
        """Return the untrained network of a case, and the seconds from the graph to its kernel."""
        begin = time.perf_counter()
        laplacian = self.laplacian(case.smoother, full=case.rank is None)
        K = kernel(laplacian, _MISTYPED.get(case.filter, case.filter), rank=case.rank)
        seconds = time.perf_counter() - begin
        if case.basis:
            assert K.eigenpairs is not None
            pairs = other_basis(K.eigenpairs, [seed, case.basis])
            K = low_rank_kernels(K.laplacian, [K.filter], pairs)[0]
        kind = ReducedOrderGCN if case.network == "R-GCN" else GCN
        return kind(K, self.widths), seconds


def load_setting(data: str) -> Setting:
    """Read or generate the data of a case.

    Raises
    ------
    DataUnavailableError
        If a file is missing and cannot be downloaded.
    """
    source = data
    if data == "spiral":
        try:
            dataset, source = load_spiral(source="paper"), "spiral: the paper's points"
        except DataUnavailableError:
            dataset, source = load_spiral(), "spiral: a new sample"
        X = np.asarray(dataset.data)
        graph: Graph = GaussianGraph(X, bandwidth=_BANDWIDTH)
    else:
        mushrooms = data == "mushrooms"
        dataset = load_mushrooms(as_frame=True) if mushrooms else load_cars("buying", as_frame=True)
        graph = table = Hypergraph.from_table(dataset.data)
        X = table.incidence.to_dense()
    target = load_cars().target if data == "cars-acceptability" else dataset.target
    widths = (X.shape[1], _HIDDEN[data], len(dataset.target_names))
    return Setting(data, source, graph, X, np.asarray(target), dataset.training, widths)


def other_basis(pairs: Eigenpairs, seed: Any) -> Eigenpairs:
    """Rotate the eigenvectors randomly within each eigenspace; for a simple one, flip its sign.

    Examples
    --------
    >>> import lowrankgcn as lg
    >>> pairs = lg.eigenpairs(lg.Laplacian(lg.Hypergraph([[1, 0], [1, 1], [1, 1], [0, 1]])), 2)
    >>> other = other_basis(pairs, 3)
    >>> bool(np.allclose(abs(other.eigenvectors), abs(pairs.eigenvectors)))
    True
    """
    generator = np.random.default_rng(seed)
    vectors = pairs.eigenvectors.copy()
    edges = np.flatnonzero(np.diff(pairs.eigenvalues) > _SAME) + 1
    for space in np.split(np.arange(pairs.rank), edges):
        Q, R = np.linalg.qr(generator.standard_normal((space.size, space.size)))
        vectors[:, space] = vectors[:, space] @ (Q * np.sign(np.diag(R)))
    return replace(pairs, eigenvectors=vectors)
