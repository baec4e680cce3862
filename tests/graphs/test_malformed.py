"""Malformed calls raise a ValueError that names the argument."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import lowrankgcn as lg
from tests.support.each import each

POINTS = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]])
W = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 2.0], [0.0, 2.0, 0.0]])
H = np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
EDGES = [[0, 1], [1, 2]]
FRAME = pd.DataFrame({"colour": ["red", "red", "blue"], "length": [1.0, 2.0, 3.0]})
GRAPH = lg.AdjacencyGraph(W)
CLOUD = lg.GaussianGraph(POINTS, 1.0)
FAR = lg.GaussianGraph(np.zeros((3, 4)), 1.0)

Call = Callable[..., Any]


def with_entry(array: np.ndarray, value: float, place: tuple[int, int] = (1, 0)) -> np.ndarray:
    changed = array.copy()
    changed[place] = value
    return changed


def with_indices(matrix: Any, indices: list[int]) -> Any:
    """Spoil a sparse matrix behind SciPy's back."""
    matrix.indices[:] = indices
    return matrix


def networkx_edge(**attributes: Any) -> nx.Graph:
    graph = nx.Graph()
    graph.add_edge("a", "b", **attributes)
    return graph


# (argument named by the message, call, positional arguments, keyword arguments)
BAD_POINTS = [
    ("points", lg.GaussianGraph, (points,), {})
    for points in (
        with_entry(POINTS, math.nan),
        with_entry(POINTS, math.inf),
        with_entry(POINTS, -math.inf),
        POINTS[:0],
        POINTS[:, :0],
        [],
        None,
        7.0,
        POINTS[:, 0],
        POINTS[None],
        [["a", "b"], ["c", "d"]],
        [["1", "2"], ["3", "4"]],
        "points",
        [[1.0, 2.0], [3.0]],
        POINTS + 1j,
        np.array([["2020-01-01"]], dtype="M8[D]"),
        sp.csr_array(POINTS),
        sp.coo_matrix(POINTS),
        FRAME,
        [[1.0, None]],
    )
]
BAD_BANDWIDTHS = [
    ("bandwidth", lg.GaussianGraph, (POINTS, bandwidth), {})
    for bandwidth in (
        0, 0.0, -0.0, -1.0, math.nan, math.inf, -math.inf, None, True, "median", "", "1.0",
        [1.0], np.array([1.0, 2.0]), 1j, 10**400, Decimal("1.5"), {},
    )
]  # fmt: skip
BAD_SEEDS = [
    ("random_state", lg.GaussianGraph, (POINTS, 1.0), {"random_state": seed})
    for seed in (-1, 1.5, "0", None, True, np.random.default_rng(0))
]
BAD_SUMS = [
    ("tol", CLOUD.affinity, (), {"tol": 0.0}),
    ("tol", CLOUD.affinity, (), {"tol": -1e-3}),
    ("tol", CLOUD.affinity, (), {"tol": 0.5}),
    ("tol", CLOUD.affinity, (), {"tol": math.nan}),
    ("tol", CLOUD.affinity, (), {"tol": "1e-3"}),
    ("method", CLOUD.affinity, (), {"method": "fast"}),
    ("method", CLOUD.affinity, (), {"method": None}),
    ("method", FAR.affinity, (), {"method": "fourier"}),
]
BAD_MATRICES = [
    ("adjacency", lg.AdjacencyGraph, (matrix,), {})
    for matrix in (
        W[:2],
        W[:, :2],
        W[0],
        W[:0, :0],
        [],
        None,
        "W",
        1.0,
        np.triu(W),
        with_entry(W, 1.001),
        -W,
        with_entry(W, -1.0, (1, 1)),
        with_entry(W, math.nan),
        with_entry(W, math.nan, (1, 1)),
        with_entry(W, math.inf),
        W * 1j,
        W.astype(str),
        [[0.0, 1.0], [1.0]],
        W[None],
        networkx_edge(),
        sp.csr_array(W[:2]),
        sp.csr_array(np.triu(W)),
        sp.csr_array(-W),
        sp.csr_array(with_entry(W, math.nan)),
        sp.coo_array(with_entry(W, math.inf, (0, 0))),
        sp.csr_array(W * 1j),
        sp.csr_array((0, 0)),
        sp.coo_array(np.ones(3)),
        with_indices(sp.csr_array(W), [1, 0, 7, 1]),
        with_indices(sp.csc_array(W), [1, 0, -1, 1]),
        np.ma.masked_array(W, W > 1),
        np.full((3, 3), 1e308),
        sp.csr_array(np.full((3, 3), 1e308)),
    )
]
BAD_EDGES = [
    *(
        ("edge_index", lg.AdjacencyGraph.from_edge_index, (edges,), {})
        for edges in (
            [[0, 1]],
            [[0, 1], [1, 2], [2, 0]],
            [0, 1],
            np.zeros((2, 2, 2), int),
            [[0.0, 1.0], [1.0, 2.0]],
            [[0, 0.5], [1, 2]],
            [[0, -1], [1, 2]],
            [[0, 1], [1]],
            [["a"], ["b"]],
            [[True], [False]],
            None,
            "edges",
        )
    ),
    *(
        ("weights", lg.AdjacencyGraph.from_edge_index, (EDGES, weights), {})
        for weights in (
            [1.0], [1.0, 2.0, 3.0], [[1.0, 2.0]], [1.0, -1.0], [1.0, math.nan], [math.inf, 1.0],
            ["1", "2"], "ab", 1.0, [1.0, 1j], [1.0, None],
        )
    ),
    *(
        ("n_nodes", lg.AdjacencyGraph.from_edge_index, (EDGES,), {"n_nodes": n_nodes})
        for n_nodes in (2, 0, -1, 3.0, "3", True, 2**70)
    ),
]  # fmt: skip
BAD_NETWORKX = [
    ("graph", lg.AdjacencyGraph.from_networkx, (nx.Graph(),), {}),
    ("graph", lg.AdjacencyGraph.from_networkx, (W,), {}),
    ("graph", lg.AdjacencyGraph.from_networkx, (None,), {}),
    ("graph", lg.AdjacencyGraph.from_networkx, (nx.Graph,), {}),
    *(
        ("weight", lg.AdjacencyGraph.from_networkx, (networkx_edge(weight=weight),), {})
        for weight in (-1.0, math.nan, math.inf, "heavy", "1.0", None, 1j, [1.0])
    ),
    *(
        ("weight", lg.AdjacencyGraph.from_networkx, (networkx_edge(),), {"weight": weight})
        for weight in (3, True, ["weight"])
    ),
]
BAD_NEIGHBOURS = [
    *(("points", lg.AdjacencyGraph.knn, (points,), {}) for points in (
        POINTS[:1], POINTS[:0], POINTS[0], with_entry(POINTS, math.nan), sp.csr_array(POINTS),
        [["a"], ["b"]],
    )),
    *(("k", lg.AdjacencyGraph.knn, (POINTS, k), {}) for k in (0, -3, 1.5, "3", None, True)),
    *(
        ("weights", lg.AdjacencyGraph.knn, (POINTS, 1), {"weights": weights})
        for weights in ("gaussian", None, 1.0, [1.0, 1.0])
    ),
    *(
        (name, lg.AdjacencyGraph.knn, (POINTS, 1), {name: value})
        for name in ("least_scale", "random_state")
        for value in (-1, -0.1, math.nan, math.inf, 1e40, "1", True)
    ),
]  # fmt: skip
BAD_INCIDENCES = [
    ("incidence", lg.Hypergraph, (incidence,), {})
    for incidence in (
        with_entry(H, 2.0),
        with_entry(H, 0.5),
        with_entry(H, -1.0),
        with_entry(H, math.nan),
        H[0],
        H[None],
        H[:0],
        [],
        None,
        H.astype(str),
        H * 1j,
        [[1, 0], [1]],
        FRAME,
        sp.csr_array(2 * H),
        sp.csr_array(with_entry(H, math.nan)),
        sp.csr_array(H * 1j),
        sp.csc_array((np.ones(2), ([0, 0], [0, 0])), shape=(2, 2)),
        sp.coo_array(np.ones(3)),
        with_indices(sp.csc_array(H), [0, 1, 1, 3]),
    )
]
BAD_HYPEREDGES = [
    *(
        ("weights", lg.Hypergraph, (H, weights), {})
        for weights in (
            [1.0], [1.0, 2.0, 3.0], [[1.0, 2.0]], [1.0, 0.0], [1.0, -1.0], [1.0, math.nan],
            [1.0, math.inf], ["a", "b"], 1.0, "ones", [1e308, 1e308],
        )
    ),
    *(
        ("singletons", lg.Hypergraph, (H,), {"singletons": value})
        for value in ("ignore", None, True, "")
    ),
    *(
        ("sets", lg.Hypergraph.from_node_sets, (sets,), {})
        for sets in (
            [{0, -1}], [{0, 0.5}], [{"a"}], ["ab"], [{0, "a"}], [[[0], [1]]], [[0, [1]]], [1, 2], 5,
            None, [{True, False}], [None], [{0.0, 1.0}],
        )
    ),
    ("n_nodes", lg.Hypergraph.from_node_sets, ([{0, 4}],), {"n_nodes": 3}),
    ("n_nodes", lg.Hypergraph.from_node_sets, ([{0, 4}],), {"n_nodes": 5.0}),
    ("n_nodes", lg.Hypergraph.from_node_sets, ([{0, 4}],), {"n_nodes": 2**70}),
    ("n_hyperedges", lg.Hypergraph.from_hyperedge_index, ([[0], [0]],), {"n_hyperedges": 2**70}),
    ("weights", lg.Hypergraph.from_node_sets, ([{0, 4}],), {"weights": [1.0, 2.0]}),
    ("singletons", lg.Hypergraph.from_node_sets, ([{0, 4}],), {"singletons": "no"}),
    *(
        ("hyperedge_index", lg.Hypergraph.from_hyperedge_index, (index,), {})
        for index in (
            [[0, 1]], [0, 1], [[0.0], [1.0]], [[0, -1], [0, 0]], [[0, 1], [0, -2]], [[0, 1], [0]],
            [["a"], ["b"]], None, np.zeros((3, 2), int),
        )
    ),
    ("n_nodes", lg.Hypergraph.from_hyperedge_index, ([[2], [0]],), {"n_nodes": 2}),
    ("n_hyperedges", lg.Hypergraph.from_hyperedge_index, ([[0], [2]],), {"n_hyperedges": 2}),
    ("n_hyperedges", lg.Hypergraph.from_hyperedge_index, ([[0], [2]],), {"n_hyperedges": "3"}),
    ("weights", lg.Hypergraph.from_hyperedge_index, ([[0], [0]],), {"weights": [0.0]}),
]  # fmt: skip
BAD_TABLES = [
    *(("frame", lg.Hypergraph.from_table, (frame,), {}) for frame in (
        FRAME[:0], FRAME[[]], None, 7, sp.csr_array(H), np.zeros((2, 2, 2)), np.zeros((0, 2)),
        pd.DataFrame([[1, 2]], columns=["x", "x"]),
        np.zeros((2, 1), dtype=[("x", float), ("y", int)]),
    )),
    ("bins", lg.Hypergraph.from_table, (FRAME,), {"bins": 2**70, "binning": "uniform"}),
    ("column 'x'", lg.Hypergraph.from_table, (pd.DataFrame({"x": [1.0, math.inf]}),), {}),
    *(("bins", lg.Hypergraph.from_table, (FRAME,), {"bins": bins}) for bins in (
        0, -1, 2.5, "five", True, {"width": 3}, {"length": 0},
    )),
    ("binning", lg.Hypergraph.from_table, (FRAME,), {"binning": "equal"}),
    ("missing", lg.Hypergraph.from_table, (FRAME,), {"missing": "drop"}),
    ("min_count", lg.Hypergraph.from_table, (FRAME,), {"min_count": 0}),
    ("min_count", lg.Hypergraph.from_table, (FRAME,), {"min_count": 1.5}),
    ("singletons", lg.Hypergraph.from_table, (FRAME,), {"singletons": "none"}),
    *(
        ("column_weights", lg.Hypergraph.from_table, (FRAME,), {"column_weights": weights})
        for weights in (
            {"width": 1.0}, {"length": 0.0}, {"length": -1.0}, {"length": math.nan},
            {"length": "heavy"}, [1.0], [1.0, 2.0, 3.0], 1.0, [1e308, 1e308],
        )
    ),
    ("codes", lg.Hypergraph.from_codes, ([[0, 5]], 3), {}),
    ("codes", lg.Hypergraph.from_codes, ([[0.5]], 3), {}),
    ("codes", lg.Hypergraph.from_codes, ([[0], [0, 1]], 3), {}),
    ("n_hyperedges", lg.Hypergraph.from_codes, ([[0]], 2**70), {}),
    ("codes", lg.Hypergraph.from_codes, ([[-1]], 3), {}),
    ("codes", lg.Hypergraph.from_codes, (np.zeros((0, 2), int), 3), {}),
    ("weights", lg.Hypergraph.from_codes, ([[0]], 1), {"weights": [1.0, 1.0]}),
    ("singletons", lg.Hypergraph.from_codes, ([[0]], 1), {"singletons": 1}),
]  # fmt: skip
BAD_LAPLACIANS = [
    *(("graph", lg.Laplacian, (graph,), {}) for graph in (W, None, "graph", lg.AdjacencyGraph)),
    *(
        ("smoother", lg.Laplacian, (GRAPH, smoother), {})
        for smoother in (
            "all", "", -1.0, math.nan, math.inf, True, [1.0], [1.0, 2.0, 3.0, 4.0],
            [1.0, -1.0, 1.0], [1.0, math.nan, 1.0], np.ones((3, 1)), ["a", "b", "c"], 1j, {},
            sp.csr_array(W), np.array(1j), [], [[1.0], [1.0, 2.0]], 1e308,
        )
    ),
    *(
        ("tol", lg.Laplacian, (GRAPH,), {"tol": tol})
        for tol in (0.0, -1e-6, 1.0, math.nan, "1e-6", None, True)
    ),
    *(
        ("method", lg.Laplacian, (GRAPH,), {"method": method})
        for method in ("fft", None, 3, ["auto"])
    ),
    ("method", lg.Laplacian, (FAR,), {"method": "fourier"}),
]  # fmt: skip
CALLS: dict[Call, list[tuple[str, tuple[Any, ...], dict[str, Any]]]] = {}
for argument, call, arguments, options in [
    *BAD_POINTS, *BAD_BANDWIDTHS, *BAD_SEEDS, *BAD_SUMS, *BAD_MATRICES, *BAD_EDGES, *BAD_NETWORKX,
    *BAD_NEIGHBOURS, *BAD_INCIDENCES, *BAD_HYPEREDGES, *BAD_TABLES, *BAD_LAPLACIANS,
]:  # fmt: skip
    CALLS.setdefault(call, []).append((argument, arguments, options))


@each("call", CALLS, ids=lambda call: call.__qualname__)
def test_message_names_the_argument(call: Call) -> None:
    for argument, arguments, options in CALLS[call]:
        try:
            call(*arguments, **options)
        except ValueError as error:
            pattern = rf"{re.escape(argument)}(\[[^\]]*\])?: expected .*, got "
            message = f"{arguments} {options}: {error}"
            assert re.match(pattern, str(error), re.DOTALL), message
        else:
            pytest.fail(f"accepted {arguments} {options}")


def test_options_are_keywords() -> None:
    for call in (
        lambda: lg.GaussianGraph(POINTS, 1.0, 0),
        lambda: CLOUD.affinity(1e-3),
        lambda: lg.AdjacencyGraph.from_edge_index(EDGES, None, 3),
        lambda: lg.AdjacencyGraph.from_networkx(networkx_edge(), None),
        lambda: lg.AdjacencyGraph.knn(POINTS, 2, "binary"),
        lambda: lg.Hypergraph(H, None, "keep"),
        lambda: lg.Hypergraph.from_table(FRAME, 5),
        lambda: lg.Laplacian(GRAPH, None, 1e-6),
    ):
        with pytest.raises(TypeError, match="positional"):
            call()


def test_unknown_options_raise() -> None:
    with pytest.raises(TypeError, match="bandwith"):
        lg.GaussianGraph(POINTS, bandwith=1.0)
