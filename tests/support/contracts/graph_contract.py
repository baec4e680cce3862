"""The contract of all graphs: components, loops, weights and description.

Tests call :func:`check_graph` with a graph, its dense adjacency (zero diagonal) and its loops.
"""

from __future__ import annotations

from dataclasses import FrozenInstanceError
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from lowrankgcn.graphs import Graph
from tests.support.contracts.operator_contract import close
from tests.support.oracles import reference


def check_graph(
    graph: Any, adjacency: np.ndarray, loops: np.ndarray, *, tolerance: float = 1e-10
) -> None:
    """Check a graph whose products are exact against W and its own loops."""
    assert isinstance(graph, Graph)
    assert graph.n_nodes == len(adjacency)
    assert isinstance(graph.n_nodes, int)
    check_components(graph, adjacency)
    close(np.asarray(graph.loop_weights), loops, tolerance)
    check_affinity(graph, adjacency, tolerance=tolerance)
    check_description(graph)
    assert type(graph).__name__ in repr(graph)
    with pytest.raises((FrozenInstanceError, AttributeError)):
        graph.n_nodes = 3


def check_components(graph: Any, adjacency: np.ndarray) -> None:
    """Check components, in the order of their first nodes, and isolated nodes."""
    labels = reference.components(adjacency)
    assert graph.components.dtype == np.intp
    assert_array_equal(graph.components, labels)
    assert graph.n_components == labels.max() + 1
    assert graph.isolated.dtype == bool
    assert_array_equal(graph.isolated, ~(adjacency > 0).any(axis=1))
    assert not graph.components.flags.writeable
    assert not graph.isolated.flags.writeable


def check_description(graph: Any) -> None:
    """Check the description and the kind of rows that can be joined later."""
    described = graph.description
    assert described.name and described.meaning.endswith(".")
    assert described.facts["rows"] == graph.n_nodes
    assert described.facts["separate parts"] == graph.n_components
    assert described.facts.get("rows joined to no other", 0) == graph.isolated.sum()
    assert graph.row_kind in ("points", "table", "incidence", "affinities")
    assert graph.node_data is None or len(graph.node_data) == graph.n_nodes
    if graph.row_kind == "points":
        assert graph.is_built_from(graph.node_data)
        assert len(graph.row_columns) == graph.node_data.shape[1]


def check_affinity(graph: Any, adjacency: np.ndarray, *, tolerance: float = 1e-10) -> None:
    """Check W = A - diag(a), the degrees, and that they vanish exactly where a node is isolated."""
    affinity = graph.affinity()
    assert affinity.exact
    assert affinity.error == 0.0
    close(affinity.operator.to_dense() - np.diag(affinity.diagonal), adjacency, tolerance)
    close(affinity.operator.diagonal(), affinity.diagonal, tolerance)
    close(affinity.degrees, adjacency.sum(axis=1), tolerance)
    assert_array_equal(affinity.degrees == 0, graph.isolated)
    if affinity.row_sums is not None:
        close(affinity.row_sums, affinity.degrees + affinity.diagonal, tolerance)
    if graph.completing_loops is not None:
        completed = adjacency + np.diag(graph.completing_loops)
        scale = max(1.0, float(np.abs(completed).max()))
        assert np.linalg.eigvalsh(completed).min() >= -1e-12 * len(completed) * scale
