"""Graphs of every kind, new rows, and their affinities by dense formulas."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pandas as pd

import lowrankgcn as lg
from lowrankgcn.graphs.cross_affinity import CrossAffinity
from lowrankgcn.spectral.extension import compress_eigenvectors, cross_affinity

KINDS = (
    *("table", "incidence", "landmarks", "points", "points in blocks"),
    *("neighbours", "binary", "weights"),
)
SMOOTHERS = (None, "none", "identity", "combined", 2.5)


@cache
def data(n: int, seed: int = 0) -> dict[str, Any]:
    """Draw points, a table and an incidence matrix of n rows."""
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
    """Return a graph of n rows, options of its Laplacian, and the rows."""
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


def new_rows(kind: str, q: int = 40) -> Any:
    """Return q new rows for a graph of the given kind."""
    name = kind if kind in ("table", "incidence") else "points"
    rows = data(q, seed=1)[name]
    return gaussian(rows, data(120)["points"], 1.5) if kind == "weights" else rows


def select(X: Any, rows: Any) -> Any:
    return X.iloc[rows] if isinstance(X, pd.DataFrame) else X[rows]


def rows_of(cross: CrossAffinity, X: Any) -> np.ndarray:
    """Return a(x) for all rows x of X, dense (q, m)."""
    return cross.product(X, np.eye(cross.n_columns))


def memberships(encoder: lg.TableEncoder, X: pd.DataFrame) -> np.ndarray:
    codes = encoder.transform(X)
    return (codes[:, :, None] == np.arange(encoder.n_hyperedges)).sum(axis=1).astype(float)


def gaussian(X: np.ndarray, Y: np.ndarray, bandwidth: float) -> np.ndarray:
    return np.exp(-((X[:, None] - Y) ** 2).sum(axis=2) / bandwidth**2)


def nearest(X: np.ndarray, Y: np.ndarray, k: int, binary: bool) -> np.ndarray:
    """Return the weights of new points to their k nearest points of Y, by the definition."""
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
    weights = weights_of(kind, graph, rows, new_rows(kind))
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


def extend_eigenvectors(cross: CrossAffinity, pairs: lg.Eigenpairs, X: Any) -> np.ndarray:
    """Extend eigenvectors to new rows by the Nyström formula."""
    return cross.product(X, compress_eigenvectors(cross, pairs))
