"""Hypothesis strategies: graphs, smoothers, filters and tables with awkward values.

Sizes are small (a dozen nodes), so the dense oracle in ``oracles/reference.py`` costs nothing, and
weights are moderate unless ``extreme`` is set, so results agree to 1e-10.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from hypothesis import strategies as st

from lowrankgcn.spectral import filters
from tests.support.oracles import reference

Draw = Callable[[st.SearchStrategy[Any]], Any]

MAX_NODES = 12

# Two decimals keep counterexamples readable and differences far above rounding.
coordinates = st.integers(-300, 300).map(lambda i: i / 100)
weights = st.one_of(st.just(1.0), st.integers(10, 1000).map(lambda i: i / 100))


# --- points -----------------------------------------------------------------------------------


@st.composite
def point_clouds(
    draw: Draw,
    *,
    min_nodes: int = 1,
    max_nodes: int = MAX_NODES,
    n_features: int | None = None,
    outliers: bool = True,
) -> np.ndarray:
    """(n, d) points, d = 1..5: clusters, repeated points, far outliers, a single row."""
    d = draw(st.integers(1, 5)) if n_features is None else n_features
    point = st.lists(coordinates, min_size=d, max_size=d)
    distinct = draw(st.lists(point, min_size=1, max_size=max_nodes))
    n = draw(st.integers(max(min_nodes, 1), max_nodes))
    chosen = draw(st.lists(st.integers(0, len(distinct) - 1), min_size=n, max_size=n))
    points = np.array([distinct[i] for i in chosen])
    centres = draw(st.sampled_from([1, 1, 2, 3]))
    points[:, 0] += 8.0 * (np.arange(n) % centres)
    if outliers and draw(st.booleans()):
        points[draw(st.integers(0, n - 1))] += draw(st.sampled_from([30.0, -1e3, 1e6]))
    return points


def bandwidths(*, extreme: bool = False) -> st.SearchStrategy[float]:
    """Bandwidths at the scale of the points; with `extreme` also huge and tiny ones."""
    usual = st.sampled_from([1.0, 2.0, 3.5, 10.0])
    return st.one_of(usual, st.sampled_from([1e-12, 1e-3, 1e4, 1e12])) if extreme else usual


@st.composite
def gaussian_problems(
    draw: Draw, *, min_nodes: int = 1, max_nodes: int = MAX_NODES, extreme: bool = False
) -> tuple[np.ndarray, float]:
    """(points, bandwidth).

    Without `extreme` all weights lie between 1e-5 and 1, so the graph is connected and well
    conditioned; with it weights may underflow to 0 (isolated nodes) or nearly so.
    """
    points = draw(point_clouds(min_nodes=min_nodes, max_nodes=max_nodes, outliers=extreme))
    bandwidth = draw(bandwidths(extreme=extreme))
    if not extreme:
        diameter = float(np.linalg.norm(np.ptp(points, axis=0)))
        bandwidth = max(bandwidth, diameter / math.sqrt(math.log(1e5)))
    return points, bandwidth


# --- adjacency matrices -----------------------------------------------------------------------


@st.composite
def adjacency_matrices(
    draw: Draw,
    *,
    min_nodes: int = 1,
    max_nodes: int = MAX_NODES,
    loops: bool = True,
    connected: bool = False,
) -> np.ndarray:
    """(n, n) symmetric non-negative weights: dense or sparse, isolated nodes, components, loops."""
    n = draw(st.integers(min_nodes, max_nodes))
    group = np.array(draw(st.lists(st.integers(0, 2), min_size=n, max_size=n)))
    if connected or draw(st.booleans()):
        group[:] = 0
    dense = draw(st.booleans())
    edge = weights if dense else st.one_of(st.just(0.0), st.just(0.0), weights)
    upper = np.zeros((n, n))
    for i in range(n):
        for j in range(i + 1, n):
            if group[i] == group[j]:
                upper[i, j] = draw(edge)
        if connected and i + 1 < n:
            upper[i, i + 1] = draw(weights)
    if not connected and draw(st.booleans()):
        alone = draw(st.integers(0, n - 1))
        upper[alone], upper[:, alone] = 0.0, 0.0
    adjacency = upper + upper.T
    if loops and draw(st.booleans()):
        values = st.one_of(st.just(0.0), weights)
        np.fill_diagonal(adjacency, draw(st.lists(values, min_size=n, max_size=n)))
    return adjacency


def matrix_formats() -> st.SearchStrategy[Callable[[np.ndarray], Any]]:
    """Ways to hand over the same matrix: dense, Fortran order, nested list, sparse formats."""
    dense = [np.array, np.asfortranarray, np.ndarray.tolist]
    sparse = [sp.csr_array, sp.csc_array, sp.coo_array, sp.lil_array, sp.csr_matrix]
    return st.sampled_from([*dense, *sparse])


# --- hypergraphs ------------------------------------------------------------------------------


@st.composite
def incidence_matrices(
    draw: Draw,
    *,
    min_nodes: int = 1,
    max_nodes: int = MAX_NODES,
    min_hyperedges: int = 1,
    max_hyperedges: int = 16,
    covered: bool = False,
) -> np.ndarray:
    """(n, |E|) of 0 and 1: |E| > n, duplicate, empty and singleton hyperedges, uncovered nodes.

    With `covered` every node lies in a hyperedge of at least two nodes (where n >= 2).
    """
    n = draw(st.integers(min_nodes, max_nodes))
    nodes = st.integers(0, n - 1)
    hyperedge = st.one_of(
        st.sets(nodes, min_size=min(2, n)),
        st.sets(nodes, min_size=min(2, n)),
        st.sets(nodes, min_size=1, max_size=1),
        st.just(set(range(n))),
        st.just(set()),
    )
    sets = draw(st.lists(hyperedge, min_size=min_hyperedges, max_size=max_hyperedges))
    if draw(st.booleans()):
        sets = [*sets, sets[draw(st.integers(0, len(sets) - 1))]] if sets else sets
    if covered:
        linked = set().union(*(e for e in sets if len(e) > 1))
        missing = set(range(n)) - linked
        sets = [*sets, missing | {0, n - 1}] if missing else sets
    elif draw(st.booleans()):
        sets = [e - {n - 1} for e in sets]
    incidence = np.zeros((n, len(sets)))
    for column, members in enumerate(sets):
        incidence[sorted(members), column] = 1.0
    return incidence


def hyperedge_weights(n_hyperedges: int) -> st.SearchStrategy[np.ndarray | None]:
    """None (all 1) or one positive weight per hyperedge."""
    drawn = st.lists(weights, min_size=n_hyperedges, max_size=n_hyperedges)
    return st.one_of(st.none(), drawn.map(lambda w: np.array(w, dtype=np.float64)))


@st.composite
def hypergraph_problems(draw: Draw, **options: Any) -> tuple[np.ndarray, np.ndarray | None]:
    """(incidence, weights or None); `options` as in :func:`incidence_matrices`."""
    incidence = draw(incidence_matrices(**options))
    return incidence, draw(hyperedge_weights(incidence.shape[1]))


# --- smoothers and filters --------------------------------------------------------------------


def smoothers(n_nodes: int) -> st.SearchStrategy[Any]:
    """Smoothers S: None, the four names, a number, a diagonal with zeros."""
    drawn = st.lists(st.one_of(st.just(0.0), weights), min_size=n_nodes, max_size=n_nodes)
    return st.one_of(
        st.sampled_from([None, "none", "identity", "hypergraph", "combined"]),
        weights,
        drawn.map(lambda s: np.array(s, dtype=np.float64)),
    )


@dataclass(frozen=True)
class FilterCase:
    """A filter of the package with its scalar formula from the oracle.

    ``filter`` may be unbound: ``needs`` lists the extreme eigenvalues it takes from the spectrum,
    and ``phi(smallest_nonzero, largest)`` is the formula for a spectrum with these. A graph without
    edges has neither; skip cases with ``needs`` there.
    """

    filter: filters.Filter
    phi: Callable[[float, float], reference.ScalarFilter] = field(repr=False)
    needs: frozenset[str] = frozenset()

    def phi_on(self, decomposition: reference.Spectrum) -> reference.ScalarFilter:
        """Return the scalar function for an oracle spectrum."""
        return self.phi(decomposition.smallest_nonzero, decomposition.largest)


def _case(
    build: Callable[..., filters.Filter], formula: Callable[..., float], **parameters: Any
) -> FilterCase:
    automatic = {name for name, value in parameters.items() if value == "auto"}

    def phi(smallest_nonzero: float, largest: float) -> reference.ScalarFilter:
        extremes = {"scale": smallest_nonzero, "largest": largest}
        return partial(formula, **parameters | {name: extremes[name] for name in automatic})

    names = {"scale": "smallest_nonzero", "largest": "largest"}
    return FilterCase(build(**parameters), phi, frozenset(names[name] for name in automatic))


_scales = st.sampled_from([0.25, 1.0, 2.0])
_largest = st.sampled_from([1.0, 1.5, 2.0, "auto"])
_coefficients = st.lists(st.integers(-8, 8).map(lambda i: i / 4), min_size=1, max_size=5).map(tuple)


def _cosine(lam: Any) -> Any:
    return np.cos(2 * lam)


def polynomial_filters() -> st.SearchStrategy[FilterCase]:
    """Filters with polynomial coefficients: linear, quadratic, polynomial, constant."""
    return st.one_of(
        _largest.map(lambda v: _case(filters.Linear, reference.linear, largest=v)),
        _largest.map(lambda v: _case(filters.Quadratic, reference.quadratic, largest=v)),
        _coefficients.map(
            lambda a: _case(filters.Polynomial, reference.polynomial, coefficients=a)
        ),
        _scales.map(lambda c: _case(filters.Constant, reference.constant, value=c)),
    )


def smooth_filters() -> st.SearchStrategy[FilterCase]:
    """Other filters that treat no eigenvalue apart: heat, regularised inverse, a callable."""
    return st.one_of(
        _scales.map(lambda t: _case(filters.Heat, reference.heat, time=t)),
        st.sampled_from([0.01, 0.05, 1.0]).map(
            lambda e: _case(filters.RegularizedInverse, reference.regularized_inverse, epsilon=e)
        ),
        st.builds(lambda: FilterCase(filters.Custom(_cosine, "cosine"), lambda *_: _cosine)),
    )


def null_space_filters() -> st.SearchStrategy[FilterCase]:
    """Filters that treat the eigenvalue 0 apart: pseudoinverse, high-pass, zero-impulse."""
    return st.one_of(
        st.sampled_from([0.5, 1.0, "auto"]).map(
            lambda s: _case(filters.Pseudoinverse, reference.pseudoinverse, scale=s)
        ),
        st.builds(lambda: _case(filters.HighPass, reference.high_pass, cutoff=0.0)),
        st.builds(lambda: _case(filters.ZeroImpulse, reference.zero_impulse)),
    )


@st.composite
def _combinations(draw: Draw, simple: st.SearchStrategy[FilterCase]) -> FilterCase:
    first, second = draw(simple), draw(simple)
    factor = draw(st.sampled_from([-2.0, 0.5, 3.0]))

    def phi(smallest_nonzero: float, largest: float) -> reference.ScalarFilter:
        f, g = (case.phi(smallest_nonzero, largest) for case in (first, second))
        return lambda lam: factor * f(lam) + g(lam)

    return FilterCase(factor * first.filter + second.filter, phi, first.needs | second.needs)


def simple_filters() -> st.SearchStrategy[FilterCase]:
    """Every filter of the library, not combined."""
    return st.one_of(polynomial_filters(), smooth_filters(), null_space_filters())


def filter_cases() -> st.SearchStrategy[FilterCase]:
    """Every filter of the library, and combinations c f + g."""
    return st.one_of(simple_filters(), _combinations(simple_filters()))


def continuous_filters() -> st.SearchStrategy[FilterCase]:
    """Filters whose value does not jump at 0, and combinations of them."""
    simple = st.one_of(polynomial_filters(), smooth_filters())
    return st.one_of(simple, _combinations(simple))


# --- tables -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class TableCase:
    """A pandas table with its raw cells.

    ``columns`` holds Python values with None where a cell is missing, as
    ``oracles/reference_tables.py`` reads them; ``numeric`` names the columns that are binned.
    """

    frame: pd.DataFrame
    columns: dict[str, list[Any]] = field(repr=False)
    numeric: tuple[str, ...]


# Multiples of 1/4: borders of 2 to 5 bins that meet a value are exact in floating point too.
_numbers = st.integers(-20, 20).map(lambda i: i / 4)
_letters = st.sampled_from(["a", "b", "long value", "", "ä"])
_COLUMN_KINDS: dict[str, tuple[st.SearchStrategy[Any], bool, Callable[[list[Any]], pd.Series]]] = {
    # kind: cells, whether some may be missing, the pandas column
    "string": (_letters, True, lambda cells: pd.Series(cells, dtype="str")),
    "object": (_letters, True, lambda cells: pd.Series(cells, dtype=object)),
    "mixed": (st.sampled_from(["a", "b", 7, 8]), True, lambda c: pd.Series(c, dtype=object)),
    "category": (
        _letters,
        True,  # "unused" is a category without rows
        lambda c: pd.Series(pd.Categorical(c, ["unused", "ä", "", "b", "a", "long value"])),
    ),
    "bool": (st.booleans(), False, lambda cells: pd.Series(cells, dtype=bool)),
    "boolean": (st.booleans(), True, lambda cells: pd.Series(cells, dtype="boolean")),
    "float": (_numbers, True, lambda cells: pd.Series(cells, dtype=np.float64)),
    "integer": (st.integers(-9, 9), False, lambda cells: pd.Series(cells, dtype=np.int64)),
    "Int64": (st.integers(-9, 9), True, lambda cells: pd.Series(cells, dtype="Int64")),
}
_NUMERIC_KINDS = ("float", "integer", "Int64")


@st.composite
def tables(
    draw: Draw,
    *,
    min_rows: int = 1,
    max_rows: int = MAX_NODES,
    max_columns: int = 4,
    missing: bool = True,
    kinds: Sequence[str] = tuple(_COLUMN_KINDS),
) -> TableCase:
    """Tables of text, object, category, bool and numeric columns, with missing cells.

    Columns may be constant, all missing, or all different.
    """
    n = draw(st.integers(min_rows, max_rows))
    chosen = draw(st.lists(st.sampled_from(list(kinds)), min_size=1, max_size=max_columns))
    raw: dict[str, list[Any]] = {}
    frame: dict[str, pd.Series] = {}
    for number, kind in enumerate(chosen):
        cells, may_miss, build = _COLUMN_KINDS[kind]
        cell = st.one_of(cells, cells, st.none()) if missing and may_miss else cells
        repeated = cell.map(lambda value: [value] * n)
        name = f"{kind}{number}"
        raw[name] = draw(st.one_of(st.lists(cell, min_size=n, max_size=n), repeated))
        if kind == "mixed":
            raw[name][0] = "a"  # objects that are all numbers may be read as numbers
        frame[name] = build(raw[name])
    numeric = tuple(name for name, k in zip(raw, chosen, strict=True) if k in _NUMERIC_KINDS)
    return TableCase(pd.DataFrame(frame), raw, numeric)


@st.composite
def table_options(draw: Draw) -> dict[str, Any]:
    """Options of both ``Hypergraph.from_table`` and ``reference_tables.table_hyperedges``."""
    return {
        "bins": draw(st.sampled_from([2, 3, 4, 5, None])),
        "binning": draw(st.sampled_from(["quantile", "uniform"])),
        "missing": draw(st.sampled_from(["ignore", "edge", "drop-column"])),
        "min_count": draw(st.sampled_from([1, 1, 2, 3])),
    }
