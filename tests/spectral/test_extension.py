"""Extension to new rows, against fitted eigenvectors and enlarged graphs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.linalg as la
from numpy.testing import assert_allclose

import lowrankgcn as lg
from lowrankgcn.spectral.extension import (
    Extension,
    compress_eigenvectors,
    cross_affinity,
)
from tests.support.cases.cross_problems import (
    KINDS,
    SMOOTHERS,
    crossed,
    data,
    extend_eigenvectors,
    fitted,
    gaussian,
    new_rows,
    rows_of,
    select,
    weights_of,
)
from tests.support.each import each

pytestmark = pytest.mark.filterwarnings("ignore::lowrankgcn.DisconnectedGraphWarning")


# --- fitted rows --------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["table", "incidence"])
def test_fitted_rows_of_hypergraphs_are_reproduced(kind: str) -> None:
    graph, _, X = fitted(kind)
    L = lg.Laplacian(graph)
    pairs = lg.eigenpairs(L, 12)
    extended = extend_eigenvectors(cross_affinity(L), pairs, X)
    assert_allclose(extended, pairs.eigenvectors, atol=1e-12)


def test_fitted_rows_of_cars_are_reproduced() -> None:
    table = lg.datasets.load_cars(as_frame=True).data
    L = lg.Laplacian(lg.Hypergraph.from_table(table))
    pairs = lg.eigenpairs(L, 16)
    extended = extend_eigenvectors(cross_affinity(L), pairs, table)
    assert_allclose(extended, pairs.eigenvectors, atol=1e-12)
    # Any filter: row x of φ(L)H is φ(1)h(x) + w̃(x, ·)ψ(L)H; for φ = 1 − λ, ψ = 1 and φ(1) = 0.
    H = np.random.default_rng(0).normal(size=(len(table), 2))
    cross = cross_affinity(L)
    assert_allclose(cross.product(table, cross.compress(H)), H - L @ H, atol=1e-12)


def test_given_rows_of_a_matrix_with_loops_are_reproduced() -> None:
    """A row of W + S of a fitted node is its row of I − L, scaled."""
    points = data(120)["points"]
    matrix = gaussian(points, points, 1.5)
    L = lg.Laplacian(lg.AdjacencyGraph(matrix))
    cross = cross_affinity(L)
    H = np.random.default_rng(0).normal(size=(120, 2))
    assert_allclose(cross.product(matrix, cross.compress(H)), H - L @ H, atol=1e-12)
    pairs = lg.eigenpairs(L, 4)
    assert pairs.eigenvalues.max() < 0.9  # beyond, the extension is damped
    assert_allclose(extend_eigenvectors(cross, pairs, matrix), pairs.eigenvectors, atol=1e-8)


def test_row_without_common_values_is_reproduced() -> None:
    table = pd.DataFrame({"a": list("xxyyz"), "b": list("uvuvw")})
    L = lg.Laplacian(lg.Hypergraph.from_table(table))
    pairs = lg.eigenpairs(L, 2)
    extended = extend_eigenvectors(cross_affinity(L), pairs, table)
    assert_allclose(extended, pairs.eigenvectors, atol=1e-14)


@each("kind", KINDS)
def test_null_vectors_are_extended_by_roots_of_degrees(kind: str) -> None:
    """u = √((d + s) / Σ(d + s)) for eigenvalue zero, at new rows as at fitted ones."""
    graph, options, rows = fitted(kind)
    X = new_rows(kind)
    degrees = weights_of(kind, graph, rows, X).sum(axis=1)
    for smoother in SMOOTHERS:
        L = lg.Laplacian(graph, smoother, **options)
        extra = {"identity": 1.0, "combined": 1.0, 2.5: 2.5}.get(smoother, 0.0)
        pairs = lg.eigenpairs(L, graph.n_components)
        total = extend_eigenvectors(cross_affinity(L), pairs, X) @ np.sqrt(
            np.bincount(graph.components, weights=L.degrees)
        )
        tolerance = 1e-3 if kind == "landmarks" else 1e-10
        assert_allclose(total, np.sqrt(degrees + extra), rtol=tolerance)


def test_eigenvectors_with_eigenvalue_one_are_extended_by_zero() -> None:
    pairs = lg.Eigenpairs(
        np.array([0.0, 1 - 1e-7, 1.0, 1.5]), np.eye(120)[:, :4], np.zeros(4), "dense", 0, 1
    )
    cross = crossed("points")
    compressed = compress_eigenvectors(cross, pairs)
    assert not compressed[:, 1:3].any()
    assert_allclose(compressed[3, 3], -2 * cross.compress(np.eye(120))[3, 3])


@each("kind", KINDS)
def test_extension_of_roots_and_eigenvectors(kind: str) -> None:
    """√degree on the reached nodes beside the eigenvectors."""
    graph, options, _ = fitted(kind)
    X = new_rows(kind)
    L = lg.Laplacian(graph, **options)
    pairs, cross = lg.eigenpairs(L, 3), cross_affinity(L)
    reached = np.arange(graph.n_nodes) % 3 > 0
    roots, vectors = Extension.fit(L, pairs, reached=reached).at(X)
    expected = rows_of(cross, X) @ cross.compress((np.sqrt(L.degrees) * reached)[:, None])
    assert_allclose(roots, expected[:, 0], atol=1e-12)
    assert_allclose(vectors, extend_eigenvectors(cross, pairs, X), atol=1e-12)


# --- enlarged graphs ----------------------------------------------------------------------------


def enlarged_difference(make: Callable[[Any], lg.graphs.Graph], X: Any, n: int, r: int) -> float:
    """‖u(x) − v(x)‖ / ‖v(x)‖ over new rows x, v being eigenvectors of the graph of all rows.

    These are rotated within their span to fit the eigenvectors of the first n rows best.
    """
    L = lg.Laplacian(make(select(X, slice(0, n))))
    pairs = lg.eigenpairs(L, r)
    extended = extend_eigenvectors(cross_affinity(L), pairs, select(X, slice(n, None)))
    everything = lg.eigenpairs(lg.Laplacian(make(X)), r).eigenvectors * np.sqrt(len(X) / n)
    rotation = la.orthogonal_procrustes(everything[:n], pairs.eigenvectors)[0]
    expected = everything[n:] @ rotation
    return float(np.linalg.norm(extended - expected) / np.linalg.norm(expected))


@pytest.mark.parametrize(
    ("make", "measured"),
    [
        (lambda points: lg.GaussianGraph(points, bandwidth=1.5), 0.032),
        (lambda points: lg.GaussianGraph(points, bandwidth=0.7), 0.073),
        (lambda points: lg.AdjacencyGraph.knn(points, 10), 0.107),
        (lambda points: lg.AdjacencyGraph.knn(points, 20, weights="binary"), 0.136),
    ],
)
def test_extension_is_near_the_eigenvectors_of_the_enlarged_graph(
    make: Callable[[Any], lg.graphs.Graph], measured: float
) -> None:
    """50 points beside 500, one draw; others differ (see the notes of `compress_eigenvectors`)."""
    rng = np.random.default_rng(0)
    side = np.array([2.0, 0.0])
    points = np.concatenate([rng.normal(size=(275, 2)) - side, rng.normal(size=(275, 2)) + side])
    difference = enlarged_difference(make, points[rng.permutation(550)], 500, 5)
    assert difference < 1.05 * measured


def test_extension_of_a_table_approaches_that_of_the_enlarged_one() -> None:
    rng = np.random.default_rng(0)
    groups = rng.integers(3, size=2050)
    columns = {
        f"c{j}": np.where(rng.random(2050) < 0.8, groups, rng.integers(3, size=2050)).astype(str)
        for j in range(5)
    }
    X = pd.DataFrame(columns)
    assert enlarged_difference(lg.Hypergraph.from_table, X, 2000, 3) < 0.004


# --- loops of new rows ---------------------------------------------------------------------------


def test_loop_weights_of_new_rows() -> None:
    graph, _, _ = fitted("incidence")
    own, n = graph.loop_weights, graph.n_nodes
    uneven = np.arange(1.0, n + 1)
    for smoother, expected in (
        (own, 0.0),
        (own + 0.7, 0.7),
        (np.zeros(n), 0.0),
        (uneven, np.mean(uneven - own)),
        (0.3, 0.3),
        ("hypergraph", 0.0),
    ):
        cross = cross_affinity(lg.Laplacian(graph, smoother))
        assert_allclose(cross.loop_weight, expected, rtol=1e-12)
    # A number is used as it is, also if all loops of the hypergraph itself are equal.
    ring = lg.Hypergraph([[1, 1], [1, 1]])
    assert cross_affinity(lg.Laplacian(ring, 2.0)).loop_weight == 2.0
