"""Hypergraphs from incidence matrices, node sets, index pairs, tables and codes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from lowrankgcn import Hypergraph
from tests.support.cases import strategies
from tests.support.contracts.graph_contract import check_components, check_graph
from tests.support.contracts.operator_contract import check_factor, close
from tests.support.oracles import reference
from tests.support.oracles.reference_tables import node_sets, table_hyperedges, table_incidence

SINGLETONS = st.sampled_from(["keep", "drop"])


def check(graph: Hypergraph, incidence: np.ndarray, weights: Any, singletons: str) -> None:
    """Everything of section 3 and A3.2."""
    expected = reference.hypergraph(incidence, weights, singletons=singletons)
    check_graph(graph, expected.W, expected.S_H)
    assert graph.n_hyperedges == expected.H.shape[1] == len(graph.hyperedge_names)
    assert_array_equal(graph.hyperedge_weights, expected.w_E)
    assert_array_equal(graph.hyperedge_sizes, expected.D_E)
    assert graph.hyperedge_sizes.dtype == np.int64
    check_factor(graph.incidence, expected.H)
    close(np.asarray(graph.node_degrees), expected.D_V)
    close(graph.affinity().operator.to_dense(), expected.W_H)
    for array in (graph.hyperedge_weights, graph.hyperedge_sizes, graph.node_degrees):
        assert not array.flags.writeable


# --- incidence matrices -------------------------------------------------------------------------


@given(
    problem=strategies.hypergraph_problems(min_hyperedges=0),
    given_as=strategies.matrix_formats(),
    singletons=SINGLETONS,
)
def test_incidence_in_every_format(problem: Any, given_as: Any, singletons: Any) -> None:
    incidence, weights = problem
    if incidence.shape[1] == 0:
        given_as = np.array  # a list of empty rows keeps no shape
    graph = Hypergraph(given_as(incidence), weights, singletons=singletons)
    check(graph, incidence, weights, singletons)
    assert graph.encoder is None


@given(problem=strategies.hypergraph_problems(), data=st.data())
def test_order_of_nodes_and_hyperedges_does_not_matter(problem: Any, data: st.DataObject) -> None:
    incidence, weights = problem
    n, m = incidence.shape
    rows = np.array(data.draw(st.permutations(range(n))))
    columns = np.array(data.draw(st.permutations(range(m))))
    shuffled = Hypergraph(
        incidence[rows][:, columns], None if weights is None else weights[columns]
    )
    graph = Hypergraph(incidence, weights)
    close(shuffled.affinity().degrees, graph.affinity().degrees[rows])
    close(np.asarray(shuffled.loop_weights), np.asarray(graph.loop_weights)[rows])
    same = graph.components[:, None] == graph.components
    assert_array_equal(shuffled.components[:, None] == shuffled.components, same[rows][:, rows])


def test_empty_hyperedges_are_dropped() -> None:
    graph = Hypergraph([[0, 1, 0, 1], [0, 1, 0, 0]], weights=[9.0, 2.0, 9.0, 3.0])
    assert graph.hyperedge_names == ("1", "3")
    assert graph.hyperedge_weights.tolist() == [2.0, 3.0]
    assert Hypergraph(np.zeros((3, 2))).n_hyperedges == 0
    assert Hypergraph(np.zeros((3, 2))).isolated.all()


def test_hyperedges_keep_their_positions() -> None:
    incidence = np.array([[1, 0, 1, 0], [1, 0, 0, 0], [1, 0, 0, 1]])
    graph = Hypergraph(incidence)
    assert (graph.hyperedge_numbers.tolist(), graph.n_given) == ([0, 2, 3], 4)
    graph = Hypergraph(incidence, singletons="drop")
    assert (graph.hyperedge_numbers.tolist(), graph.n_given) == ([0], 4)
    graph = Hypergraph.from_codes([[0, 3], [1, 3], [1, 4]], 6)
    assert (graph.hyperedge_numbers.tolist(), graph.n_given) == ([0, 1, 3, 4], 6)
    graph = Hypergraph.from_table(pd.DataFrame({"x": ["a", "b", "a"]}))
    assert (graph.hyperedge_numbers.tolist(), graph.n_given) == ([0, 1], 2)
    assert not graph.hyperedge_numbers.flags.writeable


def test_singletons_only_add_loops() -> None:
    incidence = [[1, 1], [1, 0], [0, 0]]
    kept, dropped = Hypergraph(incidence), Hypergraph(incidence, singletons="drop")
    assert kept.loop_weights.tolist() == [1.5, 0.5, 0.0]
    assert dropped.loop_weights.tolist() == [0.5, 0.5, 0.0]
    assert_array_equal(kept.affinity().degrees, dropped.affinity().degrees)
    # A node that shares no hyperedge has degree zero exactly.
    alone = Hypergraph([[1, 1, 0], [0, 0, 1], [0, 0, 1]], weights=[0.1, 0.7, 0.3])
    assert alone.affinity().degrees[0] == 0.0
    assert alone.isolated.tolist() == [True, False, False]
    assert alone.loop_weights[0] == pytest.approx(0.8)


def test_given_arrays_stay_untouched() -> None:
    # Explicit zeros and unsorted rows: not in canonical form.
    data, rows = np.array([1.0, 1.0, 0.0, 1.0, 1.0]), np.array([1, 0, 0, 1, 0])
    incidence = sp.csc_array((data, rows, np.array([0, 2, 4, 5])), shape=(2, 3))
    weights = np.array([1.0, 2.0, 3.0])
    given_parts = (incidence.data, incidence.indices, incidence.indptr, weights)
    before = [part.copy() for part in given_parts]
    graph = Hypergraph(incidence, weights)
    assert_array_equal(graph.incidence.to_dense(), [[1.0, 0.0, 1.0], [1.0, 1.0, 0.0]])
    weights[0] = 7.0
    assert graph.hyperedge_weights[0] == 1.0
    weights[0] = 1.0
    after = (incidence.data, incidence.indices, incidence.indptr, weights)
    for part, copy in zip(after, before, strict=True):
        assert_array_equal(part, copy)


# --- node sets and index pairs ------------------------------------------------------------------


@given(problem=strategies.hypergraph_problems(), singletons=SINGLETONS, data=st.data())
def test_node_sets(problem: Any, singletons: Any, data: st.DataObject) -> None:
    incidence, weights = problem
    kind = data.draw(st.sampled_from([set, list, tuple, frozenset, np.array]))
    sets = [kind(np.flatnonzero(column).tolist()) for column in incidence.T]
    options = {"n_nodes": len(incidence), "weights": weights, "singletons": singletons}
    check(Hypergraph.from_node_sets(sets, **options), incidence, weights, singletons)
    check(Hypergraph.from_node_sets(iter(sets), **options), incidence, weights, singletons)


def test_an_invalid_node_set_is_named() -> None:
    with pytest.raises(ValueError, match=r"sets\[2\]: expected an integer array"):
        Hypergraph.from_node_sets([{0, 1}, {1}, None])  # type: ignore[list-item]
    with pytest.raises(TypeError, match="unsupported operand"):  # errors of a generator are its own
        Hypergraph.from_node_sets({0, number + "a"} for number in range(2))  # type: ignore[operator]


def test_node_sets_count_their_nodes() -> None:
    graph = Hypergraph.from_node_sets([{0, 1}, set(), [3, 3, 1]])
    assert graph.n_nodes == 4
    assert graph.hyperedge_sizes.tolist() == [2, 2]
    assert Hypergraph.from_node_sets([]).n_nodes == 1
    assert Hypergraph.from_node_sets([], n_nodes=3).isolated.all()


@given(problem=strategies.hypergraph_problems(), singletons=SINGLETONS, data=st.data())
def test_index_pairs(problem: Any, singletons: Any, data: st.DataObject) -> None:
    incidence, weights = problem
    pairs = np.argwhere(incidence > 0)
    order = data.draw(st.permutations(range(len(pairs))))
    index = pairs[list(order)].T.reshape(2, -1)
    doubled = np.hstack([index, index[:, :1]])  # a pair listed twice is one membership
    graph = Hypergraph.from_hyperedge_index(
        doubled.astype(data.draw(st.sampled_from([np.int64, np.int32, np.uint8]))),
        n_nodes=len(incidence),
        n_hyperedges=incidence.shape[1],
        weights=weights,
        singletons=singletons,
    )
    check(graph, incidence, weights, singletons)


def test_index_pairs_count_nodes_and_hyperedges() -> None:
    graph = Hypergraph.from_hyperedge_index([[0, 1, 4], [2, 2, 0]])
    assert graph.incidence.shape == (5, 2)
    assert graph.hyperedge_names == ("0", "2")
    assert Hypergraph.from_hyperedge_index([[], []], n_nodes=2).isolated.all()


# --- tables -------------------------------------------------------------------------------------


@given(
    table=strategies.tables(),
    options=strategies.table_options(),
    singletons=SINGLETONS,
    data=st.data(),
)
def test_tables(
    table: strategies.TableCase, options: dict[str, Any], singletons: Any, data: st.DataObject
) -> None:
    column_weights = {
        name: data.draw(strategies.weights) for name in table.columns if data.draw(st.booleans())
    }
    before = table.frame.copy(deep=True)
    graph = Hypergraph.from_table(
        table.frame, column_weights=column_weights, singletons=singletons, **options
    )
    pd.testing.assert_frame_equal(table.frame, before)
    if singletons == "drop":
        options = {**options, "min_count": max(options["min_count"], 2)}
    hyperedges = table_hyperedges(
        table.columns, numeric=table.numeric, column_weights=column_weights, **options
    )
    H, w = table_incidence(hyperedges, len(table.frame))
    dense = graph.incidence.to_dense()
    assert node_sets(dense, graph.hyperedge_weights) == node_sets(H, w)
    check(graph, dense, np.asarray(graph.hyperedge_weights), "keep")
    assert graph.encoder is not None
    assert graph.hyperedge_names == graph.encoder.hyperedge_names


def test_codes_and_incidence_give_the_same_graph() -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame({name: rng.integers(0, 9, 2500).astype(str) for name in "abc"})
    table.loc[:5] = None  # six rows in no hyperedge
    coded = Hypergraph.from_table(table)
    plain = Hypergraph(coded.incidence.to_dense())
    assert_array_equal(coded.components, plain.components)
    assert_array_equal(coded.isolated, plain.isolated)
    assert coded.isolated.sum() == 6
    X = rng.normal(size=(2500, 3))
    for name in ("degrees", "diagonal"):
        assert_allclose(getattr(coded.affinity(), name), getattr(plain.affinity(), name))
    assert_allclose(coded.affinity().operator @ X, plain.affinity().operator @ X)


def test_more_hyperedges_than_rows() -> None:
    # More than 4096 hyperedges: components come from the bipartite graph.
    n = 4200
    frame = pd.DataFrame(
        {"id": [f"row {i}" for i in range(n)], "half": np.where(np.arange(n) < 2000, "a", "b")}
    )
    graph = Hypergraph.from_table(frame)
    assert graph.n_hyperedges == n + 2 > n
    assert_array_equal(graph.components, (np.arange(n) >= 2000).astype(int))
    names_only = Hypergraph.from_table(frame[["id"]])
    assert names_only.isolated.all()
    assert not names_only.affinity().degrees.any()
    assert_array_equal(names_only.loop_weights, np.ones(n))


def test_components_of_tables_that_share_no_value() -> None:
    frame = pd.DataFrame({"x": ["a", "a", "b", None, "c"], "y": [None, "u", None, None, "u"]})
    graph = Hypergraph.from_table(frame)
    check_components(graph, reference.hypergraph(graph.incidence.to_dense()).W)
    assert graph.components.tolist() == [0, 0, 1, 2, 0]
    no_column = Hypergraph.from_table(frame, missing="drop-column")
    assert no_column.n_hyperedges == 0
    assert no_column.isolated.all()


@given(problem=strategies.tables(missing=True), data=st.data(), singletons=SINGLETONS)
def test_codes(problem: strategies.TableCase, data: st.DataObject, singletons: Any) -> None:
    table = Hypergraph.from_table(problem.frame)
    codes = table.incidence.codes
    before = codes.copy()
    spare = data.draw(st.integers(0, 2))  # hyperedges without members
    weights = data.draw(strategies.hyperedge_weights(table.n_hyperedges + spare))
    shifted = np.where(codes == table.n_hyperedges, table.n_hyperedges + spare, codes)
    graph = Hypergraph.from_codes(
        shifted, table.n_hyperedges + spare, weights=weights, singletons=singletons
    )
    assert_array_equal(codes, before)
    dense = np.hstack([table.incidence.to_dense(), np.zeros((len(codes), spare))])
    check(graph, dense, weights, singletons)
