"""Members common to all graphs."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import lowrankgcn as lg
from lowrankgcn.graphs.graph import Graph
from lowrankgcn.graphs.matrices import magnitude, read_only


def test_graph_is_abstract() -> None:
    with pytest.raises(TypeError, match="abstract"):
        Graph()  # type: ignore[abstract]


@given(st.lists(st.integers(0, 5), min_size=1, max_size=20))
def test_components_are_numbered_by_first_node(labels: list[int]) -> None:
    # Rows of one label share a hyperedge; tables number the components by their hyperedges.
    numbers = lg.Hypergraph.from_codes(np.array(labels)[:, None], 6).components
    order: list[int] = []
    for label in labels:
        if label not in order:
            order.append(label)
    assert numbers.tolist() == [order.index(label) for label in labels]


@given(
    st.lists(
        st.one_of(st.just(0.0), st.floats(5e-324, 1.7e308), st.floats(-1.7e308, -5e-324)),
        min_size=1,
        max_size=5,
    )
)
def test_magnitude_scales_points_to_one(values: list[float]) -> None:
    points = np.array([values])
    scaled = np.ldexp(points, -magnitude(points))
    largest = np.abs(scaled).max()
    assert largest == 0 or 0.5 <= largest < 1
    assert math.isfinite(largest)


def test_read_only_shares_the_data() -> None:
    array = np.zeros(3)
    view = read_only(array)
    with pytest.raises(ValueError, match="read-only"):
        view[0] = 1.0
    array[0] = 2.0
    assert view[0] == 2.0


def test_descriptions() -> None:
    points = np.array([[0.0, 1.0], [1.0, 1.0], [3.0, 0.0], [9.0, 9.0]])
    table = pd.DataFrame({"a": ["x", "y", "x"], "b": ["u", "u", "v"]})
    adjacency = np.array([[0.0, 2.0, 0.0], [2.0, 1.0, 0.0], [0.0, 0.0, 0.0]])
    for graph, name, facts in (
        (lg.GaussianGraph(points, 2.0), "Gaussian graph", {"bandwidth": 2.0, "features": 2}),
        (
            lg.AdjacencyGraph.knn(points, 1),
            "nearest neighbours",
            {"joined pairs": 3, "recall": 1.0},
        ),
        (lg.AdjacencyGraph(adjacency), "given graph", {"joined pairs": 1}),
        (lg.AdjacencyGraph(sp.csr_array(adjacency)), "given graph", {"joined pairs": 1}),
        (lg.Hypergraph.from_table(table), "hypergraph of the table", {"groups": 4}),
        (lg.Hypergraph([[1, 0], [1, 1]]), "hypergraph", {"groups": 2}),
    ):
        assert graph.description.name == name
        assert facts.items() <= graph.description.facts.items()


def test_graphs_recognise_their_rows() -> None:
    points = np.array([[0.0, 1.0], [1e-300, 1.0], [3.0, 0.0]])
    table = pd.DataFrame({"a": ["x", "y", "x"], "b": ["u", "u", "v"]})
    for graph in (lg.GaussianGraph(points, 1.0), lg.AdjacencyGraph.knn(points, 1)):
        assert (graph.row_kind, list(graph.row_columns)) == ("points", [0, 1])
        assert graph.is_built_from(points)
        assert not graph.is_built_from(points[::-1])
        assert graph.max_rank is None
    encoded = lg.Hypergraph.from_table(table)
    assert (encoded.row_kind, list(encoded.row_columns)) == ("table", ["a", "b"])
    assert encoded.is_built_from(table)
    assert not encoded.is_built_from(table[::-1])
    assert not encoded.is_built_from(table[["a"]])
    incidence = lg.Hypergraph([[1, 0, 0], [1, 0, 1]])
    assert (incidence.row_kind, len(incidence.row_columns)) == ("incidence", 3)
    assert incidence.max_rank == 2
    assert not incidence.is_built_from(np.array([[1, 0, 0], [1, 0, 1]]))
    given_weights = lg.AdjacencyGraph([[0, 1], [1, 0]])
    assert (given_weights.row_kind, len(given_weights.row_columns)) == ("affinities", 2)
    assert not given_weights.is_built_from(np.ones((2, 2)))
