"""Rows that come later, against dense formulas, fitted eigenvectors and enlarged graphs."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.linalg as la
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

import lowrankgcn as lg
from lowrankgcn.extension import (
    CrossAffinity,
    compress_eigenvectors,
    cross_affinity,
    cross_from_state,
    extend_eigenvectors,
)
from lowrankgcn.extension.points import PointCross

KINDS = (
    *("table", "incidence", "landmarks", "points", "points in blocks"),
    *("neighbours", "binary", "weights"),
)
SMOOTHERS = (None, "none", "identity", "combined", 2.5)


pytestmark = pytest.mark.filterwarnings("ignore::lowrankgcn.DisconnectedGraphWarning")


@cache
def data(n: int, seed: int = 0) -> dict[str, Any]:
    """Fitted rows and rows that come later are both drawn from the same sources."""
    rng = np.random.default_rng(seed)
    clusters = rng.integers(2, size=n)
    points = rng.normal(size=(n, 2)) + 4.0 * np.stack([clusters, clusters], axis=1)
    letters = {f"c{j}": rng.choice(list("abcd"), n) for j in range(4)}
    table = pd.DataFrame({**letters, "x": rng.normal(size=n)})
    table.loc[rng.random(n) < 0.1, "c1"] = None
    incidence = (rng.random((n, 30)) < 0.2).astype(float)
    incidence[:, [3, 7]] = 0.0  # empty hyperedges are dropped
    incidence[incidence.sum(axis=1) == 0, 0] = 1.0
    return {"points": points, "table": table, "incidence": incidence}


def fitted(kind: str, n: int = 120) -> tuple[lg.graphs.Graph, dict[str, Any], Any]:
    """A graph of n rows, options of its Laplacian, and the rows."""
    points, table, incidence = (data(n)[name] for name in ("points", "table", "incidence"))
    if kind == "table":
        return lg.Hypergraph.from_table(table, column_weights={"x": 2.0}), {}, table
    if kind == "incidence":
        return lg.Hypergraph(incidence, np.linspace(0.5, 2.0, 30)), {}, incidence
    if kind == "neighbours":
        return lg.AdjacencyGraph.knn(points, 6), {}, points
    if kind == "binary":
        return lg.AdjacencyGraph.knn(points, 6, weights="binary"), {}, points
    if kind == "weights":
        weights = gaussian(points, points, 1.5)
        np.fill_diagonal(weights, 0.0)
        return lg.AdjacencyGraph(weights), {}, weights
    options = {"landmarks": {"method": "low-rank"}, "points in blocks": {"method": "blocks"}}
    return lg.GaussianGraph(points, bandwidth=1.5), options.get(kind, {}), points


def crossed(kind: str, smoother: Any = None, n: int = 120) -> CrossAffinity:
    graph, options, _ = fitted(kind, n)
    return cross_affinity(lg.Laplacian(graph, smoother, **options))


def later(kind: str, q: int = 40) -> Any:
    """New rows for a graph of that kind."""
    name = kind if kind in ("table", "incidence") else "points"
    rows = data(q, seed=1)[name]
    return gaussian(rows, data(120)["points"], 1.5) if kind == "weights" else rows


def select(X: Any, rows: Any) -> Any:
    return X.iloc[rows] if isinstance(X, pd.DataFrame) else X[rows]


def dense(rows: Any) -> np.ndarray:
    return rows.toarray() if sp.issparse(rows) else rows


# --- the oracle ---------------------------------------------------------------------------------


def memberships(encoder: lg.TableEncoder, X: pd.DataFrame) -> np.ndarray:
    codes = encoder.transform(X)
    return (codes[:, :, None] == np.arange(encoder.n_hyperedges)).sum(axis=1).astype(float)


def gaussian(X: np.ndarray, Y: np.ndarray, bandwidth: float) -> np.ndarray:
    return np.exp(-((X[:, None] - Y) ** 2).sum(axis=2) / bandwidth**2)


def nearest(X: np.ndarray, Y: np.ndarray, k: int, binary: bool) -> np.ndarray:
    """Weights of new points to their k nearest among Y, with the scales of the definition."""
    among = np.sort(np.linalg.norm(Y[:, None] - Y, axis=2), axis=1)
    scales = among[:, k]  # the first is the point itself
    distances = np.linalg.norm(X[:, None] - Y, axis=2)
    own = np.sort(distances, axis=1)[:, k - 1]
    weights = np.exp(-(distances**2) / (own[:, None] * scales))
    joined = distances <= own[:, None]
    return np.where(joined, 1.0 if binary else weights, 0.0)


def weights_of(kind: str, graph: Any, fitted_rows: Any, X: Any) -> np.ndarray:
    """w(x, i), dense (q, n)."""
    if kind in ("table", "incidence"):
        if kind == "table":
            there, here = (memberships(graph.encoder, rows) for rows in (fitted_rows, X))
            weights = np.where([name.startswith("x=") for name in graph.hyperedge_names], 2.0, 1.0)
        else:
            kept = fitted_rows.sum(axis=0) > 0
            there, here = fitted_rows[:, kept], X[:, kept]
            weights = np.linspace(0.5, 2.0, 30)[kept]
        return here @ np.diag(weights / there.sum(axis=0)) @ there.T
    if kind in ("neighbours", "binary"):
        return nearest(X, fitted_rows, 6, kind == "binary")
    if kind == "weights":
        return X
    return gaussian(X, fitted_rows, 1.5)


def oracle(kind: str, smoother: Any) -> np.ndarray:
    """w̃(x, ·) by the formula, dense (q, n)."""
    graph, _, rows = fitted(kind)
    weights = weights_of(kind, graph, rows, later(kind))
    extra = {"identity": 1.0, "combined": 1.0, 2.5: 2.5}.get(smoother, 0.0)
    among = weights_of(kind, graph, rows, rows)
    if kind in ("neighbours", "binary"):
        among = graph.adjacency.toarray()
    own_loops = among.diagonal() * (kind in ("table", "incidence"))
    np.fill_diagonal(among, 0.0)
    loops = extra + (own_loops if smoother in (None, "combined") else 0.0)
    degree = weights.sum(axis=1)
    own = extra / (degree + extra)
    normalised = weights / np.sqrt(np.outer(degree + extra, among.sum(axis=1) + loops))
    return normalised / (1 - own)[:, None]


@pytest.mark.parametrize("smoother", SMOOTHERS)
@pytest.mark.parametrize("kind", KINDS)
def test_rows_and_products_follow_the_formula(kind: str, smoother: Any) -> None:
    cross, expected = crossed(kind, smoother), oracle(kind, smoother)
    X = later(kind)
    G = np.random.default_rng(0).normal(size=(expected.shape[1], 3))
    Q = cross.compress(G)
    assert Q.shape == (cross.n_columns, 3)
    tolerance = 1e-3 if kind == "landmarks" else 1e-12
    rows = cross.rows(X)
    assert rows.shape == (len(X), cross.n_columns)
    assert_allclose(dense(rows) @ Q, expected @ G, atol=tolerance)
    assert_allclose(cross.product(X, Q), expected @ G, atol=tolerance)
    if cross.kind in ("points", "neighbours", "weights"):
        everything = dense(rows) @ cross.compress(np.eye(len(expected.T)))
        assert_allclose(everything, expected, rtol=1e-10, atol=1e-14)


def test_kinds() -> None:
    names = [crossed(kind).kind for kind in KINDS]
    expected = ["table", "incidence", "landmarks", "points", "points", "neighbours", "neighbours"]
    assert names == [*expected, "weights"]


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
    """A fitted node's own row of W + S, its loop on the diagonal, is its row of I − L scaled."""
    points = data(120)["points"]
    matrix = gaussian(points, points, 1.5)
    L = lg.Laplacian(lg.AdjacencyGraph(matrix))
    cross = cross_affinity(L)
    H = np.random.default_rng(0).normal(size=(120, 2))
    assert_allclose(cross.product(matrix, cross.compress(H)), H - L @ H, atol=1e-12)
    pairs = lg.eigenpairs(L, 4)
    assert pairs.eigenvalues.max() < 0.9  # beyond, vectors are damped
    assert_allclose(extend_eigenvectors(cross, pairs, matrix), pairs.eigenvectors, atol=1e-8)


def test_a_row_that_shares_no_value_with_another_is_reproduced() -> None:
    table = pd.DataFrame({"a": list("xxyyz"), "b": list("uvuvw")})
    L = lg.Laplacian(lg.Hypergraph.from_table(table))
    pairs = lg.eigenpairs(L, 2)
    extended = extend_eigenvectors(cross_affinity(L), pairs, table)
    assert_allclose(extended, pairs.eigenvectors, atol=1e-14)


@pytest.mark.parametrize("smoother", SMOOTHERS)
@pytest.mark.parametrize("kind", KINDS)
def test_null_vectors_continue_as_roots_of_degrees(kind: str, smoother: Any) -> None:
    """u = √((d + s) / Σ(d + s)) for eigenvalue zero, at new rows as at fitted ones."""
    graph, options, rows = fitted(kind)
    L = lg.Laplacian(graph, smoother, **options)
    X = later(kind)
    degrees = weights_of(kind, graph, rows, X).sum(axis=1)
    extra = {"identity": 1.0, "combined": 1.0, 2.5: 2.5}.get(smoother, 0.0)
    pairs = lg.eigenpairs(L, graph.n_components)
    total = extend_eigenvectors(cross_affinity(L), pairs, X) @ np.sqrt(
        np.bincount(graph.components, weights=L.degrees)
    )
    tolerance = 1e-3 if kind == "landmarks" else 1e-10
    assert_allclose(total, np.sqrt(degrees + extra), rtol=tolerance)


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
    """50 points beside 500, one draw; others differ (see the notes of `extend_eigenvectors`)."""
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


# --- rows with nothing to hold on to ------------------------------------------------------------


def test_unknown_values_have_no_affinity() -> None:
    table = pd.DataFrame({"a": ["x", "y", "x"], "b": ["u", "u", None]})
    cross = cross_affinity(lg.Laplacian(lg.Hypergraph.from_table(table), "identity"))
    new = pd.DataFrame({"b": ["new", "u", None], "a": ["other", "other", "x"]})
    rows = cross.rows(new)
    assert rows.nnz == 2
    assert dense(rows)[0].tolist() == [0.0, 0.0, 0.0]
    assert_allclose(dense(rows)[1], [0.0, 0.0, np.sqrt(2.0)])


@pytest.mark.parametrize("smoother", [None, "identity"])
@pytest.mark.parametrize("kind", ["landmarks", "points", "points in blocks", "neighbours"])
@pytest.mark.parametrize("far", [1e3, 1e100, 1e200, 1e308])
def test_points_far_from_everything(kind: str, smoother: Any, far: float) -> None:
    graph, options, _ = fitted(kind)
    L = lg.Laplacian(graph, smoother, **options)
    X = np.array([[far, -far], [0.5, 0.5]])
    extended = extend_eigenvectors(cross_affinity(L), lg.eigenpairs(L, 3), X)
    assert extended[0].tolist() == [0.0, 0.0, 0.0]
    assert np.abs(extended[1]).max() > 1e-3


def test_rows_in_no_hyperedge() -> None:
    X = np.zeros((2, 30))
    X[0, 3] = 1.0  # a hyperedge that was dropped
    cross = crossed("incidence", "identity")
    assert cross.rows(X).nnz == 0
    assert not cross.product(X, np.ones((cross.n_columns, 1))).any()


@pytest.mark.parametrize("smoother", ["none", "identity"])
def test_far_from_landmarks_weights_stay_sensible(smoother: str) -> None:
    """Eigenvectors beyond the cloud keep direction and size, where plain weights lose their sign.

    Measured: without the mixture of landmarks differences reach four times the size here.
    """
    rng = np.random.default_rng(0)
    graph = lg.GaussianGraph(rng.normal(size=(3000, 2)), bandwidth=1.5)
    L = lg.Laplacian(graph, smoother, tol=1e-3)
    exact = lg.Laplacian(graph, smoother, method="blocks")
    pairs = lg.eigenpairs(L, 4)
    angles = np.linspace(0, 2 * np.pi, 60)
    circle = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    for radius, worst in ((1.0, 3e-3), (3.0, 1e-2), (4.0, 0.1), (8.0, 1.0), (14.0, 1.0)):
        cross = cross_affinity(L)
        assert cross.kind == "landmarks"
        got = extend_eigenvectors(cross, pairs, radius * circle)
        expected = extend_eigenvectors(cross_affinity(exact), pairs, radius * circle)
        size = np.linalg.norm(expected, axis=1)
        assert (np.linalg.norm(got - expected, axis=1) < worst * size).all()
        assert (np.einsum("ij,ij->i", got, expected) > 0).all()


def test_eigenvalues_at_one_are_left_out() -> None:
    pairs = lg.Eigenpairs(
        np.array([0.0, 1 - 1e-7, 1.0, 1.5]), np.eye(120)[:, :4], np.zeros(4), "dense", 0, 1
    )
    cross = crossed("points")
    compressed = compress_eigenvectors(cross, pairs)
    assert not compressed[:, 1:3].any()
    assert_allclose(compressed[3, 3], -2 * cross.compress(np.eye(120))[3, 3])


# --- row by row ---------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [1, 5])
@pytest.mark.parametrize("kind", KINDS)
def test_rows_do_not_depend_on_their_company(kind: str, width: int) -> None:
    cross = crossed(kind, "identity")
    X = later(kind, 150)
    Q = np.random.default_rng(0).normal(size=(cross.n_columns, width))
    product, rows = cross.product(X, Q), dense(cross.rows(X))
    for part in ([0], [149], [77, 3], np.arange(60, 130)):
        assert_array_equal(cross.product(select(X, part), Q), product[part])
        assert_array_equal(dense(cross.rows(select(X, part))), rows[part])
    assert_allclose(rows @ Q, product, atol=1e-12)
    assert cross.product(select(X, []), Q).shape == (0, width)
    assert cross.rows(select(X, [])).shape == (0, cross.n_columns)


def test_many_dimensions_by_matrix_products() -> None:
    rng = np.random.default_rng(0)
    points, X = rng.normal(size=(70, 12)), rng.normal(size=(20, 12))
    X[3] += 30.0  # too far from the centre for products
    graph = lg.GaussianGraph(points, bandwidth=4.0)
    cross = cross_affinity(lg.Laplacian(graph))
    weights = gaussian(X, points, 4.0)
    expected = weights / np.sqrt(weights.sum(axis=1, keepdims=True))
    assert_allclose(cross.rows(X), expected, rtol=1e-9)
    assert_array_equal(cross.rows(X[3:4]), cross.rows(X)[3:4])


def test_points_beyond_one_tile() -> None:
    rng = np.random.default_rng(0)
    points, X, Q = rng.normal(size=(9000, 2)), rng.normal(size=(3, 2)), rng.normal(size=(9000, 2))
    cross = PointCross(loop_weight=0.0, centre=np.zeros(2), bandwidth=2.0, coordinates=points / 2)
    weights = gaussian(X, points, 2.0)
    expected = weights @ Q / np.sqrt(weights.sum(axis=1, keepdims=True))
    assert_allclose(cross.product(X, Q), expected, rtol=1e-10, atol=1e-10)


# --- states -------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_states_restore_every_bit(kind: str) -> None:
    cross = crossed(kind, "identity")
    X = later(kind)
    arrays, values = cross.state()
    assert all(array.flags.c_contiguous for array in arrays.values())
    copies = {name: array.copy() for name, array in arrays.items()}
    restored = cross_from_state(cross.kind, copies, json.loads(json.dumps(values)))
    Q = np.random.default_rng(0).normal(size=(cross.n_columns, 4))
    assert type(restored) is type(cross)
    assert_array_equal(restored.product(X, Q), cross.product(X, Q))
    assert_array_equal(dense(restored.rows(X)), dense(cross.rows(X)))
    again = restored.state()
    assert again[1] == values
    assert again[0].keys() == arrays.keys()
    with pytest.raises(ValueError, match="compress: expected a cross-affinity of a fitted graph"):
        restored.compress(np.ones((120, 1)))


def test_states_of_tables_with_cells_of_every_kind() -> None:
    days = pd.to_datetime(pd.Series([0, None, 44.5, 0]), unit="D", origin="2020-01-01")
    table = pd.DataFrame(
        {
            "flag": pd.Series([True, None, False, True], dtype=object),
            "mixed": pd.Series(["1", 1, 2.5, None], dtype=object),
            "day": days,
            "zoned": days.dt.tz_localize("Europe/Berlin"),
            "time": days - days[0],
            "number": [0.1, 1e300, -5e-324, np.nan],
            3: ["ä", "", "x=y", None],
        }
    )
    for bins in (2, None):
        graph = lg.Hypergraph.from_table(table, bins=bins, missing="edge")
        cross = cross_affinity(lg.Laplacian(graph))
        arrays, values = cross.state()
        restored = cross_from_state("table", arrays, json.loads(json.dumps(values)))
        assert_array_equal(dense(restored.rows(table)), dense(cross.rows(table)))
        assert_array_equal(dense(restored.rows(table)) > 0, graph.incidence.to_dense() > 0)


def test_states_of_points_in_fortran_order() -> None:
    points = np.asfortranarray(data(120)["points"])
    for graph in (lg.GaussianGraph(points, 1.0), lg.AdjacencyGraph.knn(points, 4)):
        arrays, _ = cross_affinity(lg.Laplacian(graph)).state()
        assert all(array.flags.c_contiguous for array in arrays.values())


@pytest.mark.parametrize("kind", KINDS)
def test_damaged_states_are_refused(kind: str) -> None:
    cross = crossed(kind)
    arrays, values = cross.state()
    name = cross.kind
    damaged: list[tuple[Any, Any]] = [(None, values), (arrays, None), (arrays, {})]
    damaged += [({}, values)] if arrays else []
    damaged += [({**arrays, "more": np.ones(1)}, values), (arrays, {**values, "more": 1})]
    for key, array in arrays.items():
        damaged += [
            ({**arrays, key: bad}, values)
            for bad in (
                None,
                array.tolist(),
                array[..., None],
                array.astype(np.float32),
                array.astype(object),
            )
        ]
        if key != "coordinates":  # fewer points are as good a state
            damaged += [({**arrays, key: array[:-1]}, values)]
        if array.dtype == np.float64:
            damaged += [({**arrays, key: np.where(array == array.max(), np.nan, array)}, values)]
    for key in values:
        damaged += [(arrays, {**values, key: bad}) for bad in (None, -1e6, "x", [], np.nan)]
        damaged += [(arrays, {k: v for k, v in values.items() if k != key})]
    for bad_arrays, bad_values in damaged:
        with pytest.raises(ValueError, match="expected"):
            cross_from_state(name, bad_arrays, bad_values)


@pytest.mark.parametrize(
    ("kind", "key", "change"),
    [
        ("table", "weights", np.negative),
        ("incidence", "weights", np.zeros_like),
        ("incidence", "numbers", lambda numbers: numbers[::-1].copy()),
        ("incidence", "numbers", lambda numbers: numbers + 100),
        ("incidence", "numbers", lambda numbers: numbers - 100),
        ("incidence", "numbers", np.zeros_like),
        ("landmarks", "inverse_root", np.negative),
        ("landmarks", "inverse_root", np.ones_like),
        ("neighbours", "scales", np.negative),
    ],
)
def test_impossible_states_are_refused(
    kind: str, key: str, change: Callable[[np.ndarray], np.ndarray]
) -> None:
    arrays, values = crossed(kind).state()
    with pytest.raises(ValueError, match=f"{key}: expected"):
        cross_from_state(kind, {**arrays, key: change(arrays[key])}, values)


@pytest.mark.parametrize(
    ("kind", "arrays"),
    [
        ("points", {"coordinates": np.ones((0, 2)), "centre": np.ones(2)}),
        ("points", {"coordinates": np.ones((3, 0)), "centre": np.ones(0)}),
        ("neighbours", {"points": np.ones((1, 2)), "scales": np.ones(1)}),
        (
            "landmarks",
            {
                "landmarks": np.ones((0, 2)),
                "inverse_root": np.ones((0, 0)),
                "column_sums": np.ones(0),
                "centre": np.ones(2),
            },
        ),
    ],
)
def test_empty_states_are_refused(kind: str, arrays: dict[str, np.ndarray]) -> None:
    with pytest.raises(ValueError, match="expected"):
        cross_from_state(kind, arrays, crossed(kind).state()[1])


@pytest.mark.parametrize("kind", ["unknown", None, 3])
def test_unknown_kinds_are_refused(kind: Any) -> None:
    with pytest.raises(ValueError, match="kind: expected one of 'table'"):
        cross_from_state(kind, {}, {})


# --- smoothers and malformed calls --------------------------------------------------------------


def test_loop_weights_of_new_rows() -> None:
    graph, _, _ = fitted("incidence")
    own, n = graph.loop_weights, graph.n_nodes
    for smoother, expected in (
        (own, 0.0),
        (own + 0.7, 0.7),
        (np.full(n, 0.3), 0.3),
        (np.zeros(n), 0.0),
        (0.3, 0.3),
        ("hypergraph", 0.0),
    ):
        cross = cross_affinity(lg.Laplacian(graph, smoother))
        assert_allclose(cross.loop_weight, expected, rtol=1e-12)
    uneven = lg.Laplacian(graph, np.arange(1.0, n + 1))
    with pytest.raises(ValueError, match="loop_weight: expected the loop weight of new rows"):
        cross_affinity(uneven)
    assert cross_affinity(uneven, loop_weight=0.5).loop_weight == 0.5
    # A number is itself, also where the hypergraph's own loops are all equal.
    ring = lg.Hypergraph([[1, 1], [1, 1]])
    assert cross_affinity(lg.Laplacian(ring, 2.0)).loop_weight == 2.0


def test_a_graph_is_no_laplacian() -> None:
    graph = lg.AdjacencyGraph([[0, 1], [1, 0]])
    with pytest.raises(ValueError, match="laplacian: expected a Laplacian, got AdjacencyGraph"):
        cross_affinity(graph)  # type: ignore[arg-type]


@pytest.mark.parametrize("loop", [-1.0, np.nan, np.inf, "1", True, [1.0]])
def test_bad_loop_weights(loop: Any) -> None:
    with pytest.raises(ValueError, match="loop_weight: expected"):
        cross_affinity(lg.Laplacian(fitted("points")[0]), loop_weight=loop)


@pytest.mark.parametrize(
    ("kind", "X"),
    [
        *(
            (kind, X)
            for kind in ("landmarks", "points", "neighbours")
            for X in (
                None,
                np.ones(2),
                np.ones((1, 3)),
                np.ones((1, 2, 1)),
                [[np.nan, 0.0]],
                [[np.inf, 0.0]],
                [["a", "b"]],
                sp.csr_array(np.ones((1, 2))),
            )
        ),
        ("incidence", np.ones((2, 28))),
        ("incidence", np.ones(30)),
        ("incidence", np.full((1, 30), 2.0)),
        ("incidence", sp.csr_array(np.full((1, 30), 0.5))),
        ("incidence", sp.csr_array(np.full((1, 30), 1j))),
        ("incidence", sp.coo_array(np.ones(30))),
        ("incidence", np.full((1, 30), np.nan)),
        ("incidence", "text"),
        ("weights", np.ones((2, 119))),
        ("weights", np.ones(120)),
        ("weights", np.full((1, 120), -1.0)),
        ("weights", np.full((1, 120), np.inf)),
        ("weights", np.full((1, 120), 1e308)),
        ("weights", sp.csr_array(np.full((1, 120), np.nan))),
        ("weights", sp.csr_array(np.full((1, 120), -0.5))),
        ("weights", sp.csr_array(np.full((1, 120), 1j))),
        ("weights", [["a"] * 120]),
        ("weights", None),
    ],
)
def test_bad_rows(kind: str, X: Any) -> None:
    cross = crossed(kind)
    for call in (cross.rows, lambda X: cross.product(X, np.ones((cross.n_columns, 1)))):
        with pytest.raises(ValueError, match="X: expected"):
            call(X)


def test_bad_tables() -> None:
    table = data(120)["table"]
    for X in (table[["c0"]], table.assign(x="text"), np.ones((2, 3)), np.ones(3)):
        with pytest.raises(ValueError, match="expected"):
            crossed("table").rows(X)


@pytest.mark.parametrize("bad", [None, np.ones(120), np.ones((7, 2)), np.full((120, 1), np.nan)])
def test_bad_blocks(bad: Any) -> None:
    cross = crossed("points")
    with pytest.raises(ValueError, match="G: expected"):
        cross.compress(bad)
    with pytest.raises(ValueError, match="Q: expected"):
        cross.product(later("points"), bad)
    with pytest.raises(ValueError, match="cross: expected a CrossAffinity"):
        extend_eigenvectors(bad, None, bad)  # type: ignore[arg-type]


def test_sparse_and_dense_incidences_agree() -> None:
    cross, X = crossed("incidence"), later("incidence")
    expected = dense(cross.rows(X))
    for same in (sp.csr_array(X), sp.csc_matrix(X.astype(bool)), X.astype(np.int8), X.tolist()):
        assert_array_equal(dense(cross.rows(same)), expected)


def test_sparse_and_dense_weights_agree() -> None:
    cross, X = crossed("weights"), later("weights")
    X = np.where(X > 0.1, X, 0.0)
    expected = dense(cross.rows(X))
    for same in (sp.csr_array(X), sp.csc_matrix(X), sp.coo_array(X), X.tolist()):
        assert_array_equal(dense(cross.rows(same)), expected)
    given = sp.csr_array(X)
    before = given.data.copy()
    cross.rows(given)
    assert_array_equal(given.data, before)
