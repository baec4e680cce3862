"""Graphs of every type with their dense weights, for tests of Laplacians, eigenpairs and kernels.

A ``Problem`` holds one graph of the package and what the oracle in ``oracles/reference.py`` needs
to know of it. ``problems`` draws small ones; ``large`` names fixed ones beyond the 512 nodes up to
which a full dense decomposition is taken, so that the iterative solvers have something to do.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import strategies as st

import lowrankgcn as lg
from lowrankgcn._parallel import single_threaded_blas
from lowrankgcn.graphs import Graph
from tests.support.cases import strategies as own
from tests.support.oracles import reference

KINDS = ("gaussian", "incidence", "codes", "dense", "sparse")
HYPERGRAPHS = ("incidence", "codes")
METHODS: list[Any] = ["auto", "dense", "block"]


@dataclass(frozen=True)
class Problem:
    """A graph of the package, its weights W (n, n) without diagonal and its own loops (n,)."""

    graph: Graph
    adjacency: np.ndarray
    loops: np.ndarray

    @property
    def n(self) -> int:
        """Number of nodes."""
        return len(self.adjacency)

    @cached_property
    def components(self) -> np.ndarray:
        """Component of every node by the oracle."""
        return reference.components(self.adjacency)

    def diagonal(self, smoother: Any) -> np.ndarray:
        """The smoother S."""
        return reference.smoother_diagonal(smoother, self.loops)

    def matrix(self, smoother: Any = None) -> np.ndarray:
        """L_S by the oracle, (n, n)."""
        return reference.smoothed_laplacian(self.adjacency, self.diagonal(smoother))

    def spectrum(self, smoother: Any = None) -> reference.Spectrum:
        """L_S = U Lambda U^T by the oracle."""
        return reference.spectrum(self.adjacency, self.diagonal(smoother))

    def permuted(self, order: np.ndarray) -> np.ndarray:
        """W with its nodes in another order."""
        return self.adjacency[np.ix_(order, order)]


def _gaussian(points: np.ndarray, bandwidth: float) -> Problem:
    adjacency = reference.gaussian_adjacency(points, bandwidth)
    return Problem(lg.GaussianGraph(points, bandwidth), adjacency, np.zeros(len(points)))


def _incidence(incidence: np.ndarray, weights: np.ndarray | None = None) -> Problem:
    parts = reference.hypergraph(incidence, weights)
    return Problem(lg.Hypergraph(incidence, weights), parts.W, parts.S_H)


def _codes(columns: dict[str, list[Any]]) -> Problem:
    """A table of text; None is a missing cell, which belongs to no hyperedge."""
    n = len(next(iter(columns.values())))
    edges = [
        [cell == value for cell in cells]
        for cells in columns.values()
        for value in sorted({cell for cell in cells if cell is not None})
    ]
    incidence = np.array(edges, dtype=np.float64).reshape(len(edges), n).T
    parts = reference.hypergraph(incidence)
    frame = pd.DataFrame({name: pd.Series(c, dtype=object) for name, c in columns.items()})
    return Problem(lg.Hypergraph.from_table(frame), parts.W, parts.S_H)


def _given(matrix: np.ndarray, wrap: Callable[[np.ndarray], Any]) -> Problem:
    adjacency, loops = reference.without_loops(matrix)
    return Problem(lg.AdjacencyGraph(wrap(matrix)), adjacency, loops)


@st.composite
def problems(draw: own.Draw, kind: str, *, min_nodes: int = 1, connected: bool = False) -> Problem:
    """A small graph of one of the KINDS; with `connected`, of one component."""
    if kind == "gaussian":
        return _gaussian(*draw(own.gaussian_problems(min_nodes=min_nodes)))
    if kind == "incidence":
        options = {"min_nodes": min_nodes, "covered": connected}
        incidence, weights = draw(own.hypergraph_problems(**options))
        if connected:
            whole = np.ones((len(incidence), 1))
            incidence = np.hstack([incidence, whole])
            weights = None if weights is None else np.append(weights, 1.0)
        return _incidence(incidence, weights)
    if kind == "codes":
        n = draw(st.integers(max(min_nodes, 2 if connected else 1), own.MAX_NODES))
        cell = st.sampled_from("abc") if connected else st.sampled_from(["a", "b", "c", None])
        column = st.lists(cell, min_size=n, max_size=n)
        columns = draw(st.lists(column, min_size=1, max_size=4))
        if connected:
            columns.append(["a"] * n)
        return _codes({f"column {i}": cells for i, cells in enumerate(columns)})
    matrix = draw(own.adjacency_matrices(min_nodes=min_nodes, connected=connected))
    return _given(matrix, np.array if kind == "dense" else sp.csr_array)


# --- beyond 512 nodes -------------------------------------------------------------------------


def _cycle(n: int) -> np.ndarray:
    return np.roll(np.eye(n), 1, axis=0) + np.roll(np.eye(n), -1, axis=0)


def _large_gaussian(bandwidth: float = 0.8) -> Problem:
    points = np.random.default_rng(0).uniform(-2, 2, size=(560, 2))
    return _gaussian(points, bandwidth)


def _large_table(repeated: bool = False) -> Problem:
    generator = np.random.default_rng(1)
    table = generator.integers(0, [4, 5, 3], size=(600, 3))
    if repeated:  # two kinds of rows that share no value: two components
        table[450:] += 10
    return _codes({f"c{j}": [f"v{v}" for v in column] for j, column in enumerate(table.T)})


def _many_hyperedges() -> Problem:
    generator = np.random.default_rng(2)
    incidence = np.zeros((530, 600))
    for column in range(600):
        incidence[generator.choice(530, 4, replace=False), column] = 1.0
    return _incidence(incidence, generator.uniform(0.5, 2.0, size=600))


def _torus() -> Problem:
    """Product of two cycles: eigenvalues of multiplicity 4 and 8."""
    cycle = sp.csr_array(_cycle(24))
    unit = sp.eye_array(24)
    return _given((sp.kron(cycle, unit) + sp.kron(unit, cycle)).toarray(), sp.csr_array)


def _pieces() -> Problem:
    """Random graphs of 300 and 200 nodes, an edge, 40 isolated nodes, all interleaved."""
    generator = np.random.default_rng(3)
    n = 542
    labels = np.repeat([0, 1, 2, 3], [300, 200, 2, 40])
    generator.shuffle(labels)
    upper = np.triu(generator.random((n, n)) < 0.05, 1) * generator.uniform(0.5, 2.0, size=(n, n))
    upper[labels[:, None] != labels] = 0.0
    upper[labels == 3] = 0.0
    first, second = np.flatnonzero(labels == 2)
    upper[first, second] = 1.0
    return _given(upper + upper.T, sp.csr_array)


def _dense_random() -> Problem:
    generator = np.random.default_rng(4)
    upper = np.triu(generator.random((540, 540)) ** 4, 1)
    return _given(upper + upper.T + np.diag(generator.random(540)), np.array)


_LARGE: dict[str, tuple[Callable[[], Problem], Any]] = {
    "gaussian": (_large_gaussian, None),
    "gaussian-smoothed": (lambda: _large_gaussian(0.3), 2.0),
    "table-own-loops": (_large_table, None),
    "table-identity": (_large_table, "identity"),
    "table-none": (_large_table, "none"),
    "table-two-parts": (lambda: _large_table(True), np.repeat([0.1, 20.0], [450, 150])),
    "table-heavy-rows": (_large_table, np.repeat([50.0, 0.1], [20, 580])),
    "many-hyperedges": (_many_hyperedges, None),
    "torus": (_torus, None),
    "pieces": (_pieces, None),
    "pieces-smoothed": (_pieces, "identity"),
    "dense": (_dense_random, None),
}
LARGE = tuple(_LARGE)


@dataclass(frozen=True)
class Large:
    """A fixed problem with its Laplacian and the oracle's spectrum, computed once."""

    problem: Problem
    smoother: Any
    laplacian: lg.Laplacian
    matrix: np.ndarray
    spectrum: reference.Spectrum


@cache
def large(name: str) -> Large:
    """One of the LARGE problems."""
    build, smoother = _LARGE[name]
    problem = build()
    laplacian = lg.Laplacian(problem.graph, smoother)
    return Large(problem, smoother, laplacian, problem.matrix(smoother), problem.spectrum(smoother))


# --- what tests look at -----------------------------------------------------------------------


@pytest.fixture(scope="module", autouse=True)
def calm_blas() -> Iterator[None]:
    """One BLAS thread for the oracle too: threads lose a hundredfold beside a busy neighbour.

    Modules that import this fixture use it.
    """
    with single_threaded_blas():
        yield


@contextmanager
def recorded() -> Iterator[list[type[Warning]]]:
    """Collect the categories of all warnings; each must point at the test that called."""
    categories: list[type[Warning]] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield categories
    for warning in caught:
        assert Path(__file__).parents[2] in Path(warning.filename).parents, warning
        categories.append(warning.category)


@contextmanager
def ignoring(*categories: type[Warning]) -> Iterator[None]:
    """Let these warnings pass; any other still fails the test."""
    with warnings.catch_warnings():
        for category in categories:
            warnings.simplefilter("ignore", category)
        yield


def left_out(values: np.ndarray, kept: np.ndarray) -> np.ndarray:
    """Eigenvalues that remain after every one kept has taken the nearest, ascending."""
    rest = np.array(values, dtype=np.float64)
    for value in kept:
        rest = np.delete(rest, np.abs(rest - value).argmin())
    return rest


def gap(first: np.ndarray, second: np.ndarray) -> float:
    """Smallest distance between values of two sets; infinite if one is empty."""
    if not len(first) or not len(second):
        return float("inf")
    return float(np.abs(np.subtract.outer(first, second)).min())
