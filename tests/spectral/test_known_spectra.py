"""Graphs whose eigenvalues are known on paper, through every method that applies."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.linalg as la
import scipy.sparse as sp
from numpy.testing import assert_allclose

import lowrankgcn as lg
from tests.support.cases.problems import (
    METHODS,
    calm_blas,  # noqa: F401
    ignoring,
    recorded,
)
from tests.support.oracles import reference

LOOSE = (lg.DegenerateCutWarning, lg.DisconnectedGraphWarning)


def pairs_of(graph: Any, k: int, *, smoother: Any = None, **options: Any) -> lg.Eigenpairs:
    with ignoring(*LOOSE):
        return lg.eigenpairs(lg.Laplacian(graph, smoother), k, tol=1e-9, **options)


def complete(n: int) -> np.ndarray:
    return np.ones((n, n)) - np.eye(n)


@pytest.mark.parametrize("method", METHODS)
def test_complete_graph(method: Any) -> None:
    """{0, n/(n − 1 + α)}: loops α lower the spectrum."""
    for n, alpha in ((2, 0.0), (7, 0.0), (530, 0.0), (530, 1.0), (530, 3.0)):
        k = min(n, 6)
        pairs = pairs_of(lg.AdjacencyGraph(complete(n)), k, smoother=alpha, method=method)
        expected = [0.0, *[n / (n - 1 + alpha)] * (k - 1)]
        assert_allclose(pairs.eigenvalues, expected, rtol=0, atol=1e-12)
        assert_allclose(pairs.eigenvectors[:, 0], n**-0.5, rtol=0, atol=1e-15)
    pairs = pairs_of(lg.GaussianGraph(np.ones((40, 3)), 1.0), 5, method=method)
    assert_allclose(pairs.eigenvalues, [0.0, *[40 / 39] * 4], rtol=0, atol=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_cycle(method: Any) -> None:
    """1 − cos(2πj/n)."""
    for n in (3, 4, 11, 520):
        index = np.arange(n)
        graph = lg.AdjacencyGraph.from_edge_index([index, (index + 1) % n])
        expected = np.sort(1 - np.cos(2 * np.pi * index / n))
        k = min(n, 8)
        for which, part in (("smallest", expected[:k]), ("largest", expected[-k:])):
            pairs = pairs_of(graph, k, which=which, method=method)
            assert_allclose(pairs.eigenvalues, part, rtol=0, atol=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_disjoint_cliques(method: Any) -> None:
    """Zero once per clique, then m/(m−1) of the largest clique first."""
    sizes = [3, 200, 1, 320, 2]
    graph = lg.AdjacencyGraph(sp.csr_array(la.block_diag(*map(complete, sizes))))
    pairs = pairs_of(graph, 7, method=method)
    assert pairs.n_components == 5
    assert_allclose(pairs.eigenvalues, [*[0.0] * 5, *[320 / 319] * 2], rtol=0, atol=1e-12)
    start = np.concatenate([[0], np.cumsum(sizes)])
    for column, m in enumerate(sizes):
        block = np.zeros(526)
        block[start[column] : start[column + 1]] = m**-0.5
        assert_allclose(pairs.eigenvectors[:, column], block, rtol=0, atol=1e-15)
    top = pairs_of(graph, 4, which="largest", method=method)
    assert_allclose(top.eigenvalues, [200 / 199, 1.5, 1.5, 2.0], rtol=0, atol=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_star(method: Any) -> None:
    """{0, 1, 2}, one multiple eigenvalue between both ends."""
    n = 521
    graph = lg.AdjacencyGraph.from_edge_index([np.zeros(n - 1, int), np.arange(1, n)])
    pairs = pairs_of(graph, 4, method=method)
    assert_allclose(pairs.eigenvalues, [0.0, 1.0, 1.0, 1.0], rtol=0, atol=1e-12)
    pairs = pairs_of(graph, 3, which="largest", method=method)
    assert_allclose(pairs.eigenvalues, [1.0, 1.0, 2.0], rtol=0, atol=1e-12)
    pairs = pairs_of(graph, 3, which="dominant", filter="linear", method=method)
    assert_allclose(pairs.eigenvalues, [0.0, 1.0, 2.0], rtol=0, atol=1e-12)


def test_one_hyperedge() -> None:
    """𝓛 = I − 11ᵀ/n: 0 and 1; nothing but the null vector is determined."""
    graph = lg.Hypergraph(np.ones((9, 1)))
    with recorded() as warned:
        pairs = lg.eigenpairs(lg.Laplacian(graph), 4)
    assert pairs.eigenvalues.tolist() == [0.0]
    assert warned == [lg.RankWarning]
    whole = pairs.spectrum
    assert whole is not None
    assert whole.values.tolist() == [0.0, 1.0]
    assert whole.counts.tolist() == [1, 8]


# --- tables -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def cars() -> lg.Laplacian:
    frame = lg.datasets.load_cars(as_frame=True).data
    return lg.Laplacian(lg.Hypergraph.from_table(frame))


def test_cars(cars: lg.Laplacian) -> None:
    """{0, 5/6 ×15, 1 ×1712}: the 21 hyperedges have rank 16."""
    assert cars.graph.n_hyperedges == 21  # type: ignore[attr-defined]
    pairs = lg.eigenpairs(cars, 16)
    assert pairs.method == "svd"
    assert_allclose(pairs.eigenvalues, [0.0, *[5 / 6] * 15], rtol=0, atol=1e-14)
    assert pairs.eigenvalues[0] == 0.0
    assert pairs.next_eigenvalue == 1.0
    whole = pairs.spectrum
    assert whole is not None
    assert_allclose(np.repeat(whole.values, whole.counts)[16:], np.ones(1712), rtol=0, atol=0)
    U = pairs.eigenvectors
    assert_allclose(U.T @ U, np.eye(16), rtol=0, atol=1e-13)
    assert_allclose(cars @ U, U * pairs.eigenvalues, rtol=0, atol=1e-14)


def test_cars_past_the_rank(cars: lg.Laplacian) -> None:
    """The paper's rank 20 holds four vectors that the data does not determine (erratum 2)."""
    with recorded() as warned:
        pairs = lg.eigenpairs(cars, 20)
    assert warned == [lg.RankWarning]
    assert pairs.rank == 16
    with recorded() as warned:
        lg.eigenpairs(cars, 9)
    assert warned == [lg.DegenerateCutWarning]


def test_cars_by_block_iterations(cars: lg.Laplacian) -> None:
    with ignoring(lg.DegenerateCutWarning):
        pairs = lg.eigenpairs(cars, 18, method="block")
    assert_allclose(pairs.eigenvalues, [0.0, *[5 / 6] * 15, 1.0, 1.0], rtol=0, atol=1e-6)


def test_cars_with_identity_smoothing(cars: lg.Laplacian) -> None:
    """All nodes have d + s_H = 6 and the same s_H, so 𝓛_I is a multiple of 𝓛."""
    laplacian = lg.Laplacian(cars.graph, "identity")
    loop = float(cars.graph.loop_weights[0])
    assert_allclose(cars.graph.loop_weights, loop, rtol=0, atol=1e-15)
    scale = 6 / (7 - loop)
    with recorded() as warned:
        pairs = lg.eigenpairs(laplacian, 16, tol=1e-9)
    assert_allclose(pairs.eigenvalues, [0.0, *[scale * 5 / 6] * 15], rtol=0, atol=1e-12)
    assert warned == []


def test_mushrooms(mushroom_rows: list[list[str]]) -> None:
    """The paper's table: 21 complete columns, 112 hyperedges of rank 84."""
    table = pd.DataFrame(mushroom_rows).iloc[:, 1:].replace("?", None)
    graph = lg.Hypergraph.from_table(table, missing="drop-column")
    assert (graph.n_nodes, graph.n_hyperedges) == (8124, 112)
    laplacian = lg.Laplacian(graph)
    with recorded() as warned:
        pairs = lg.eigenpairs(laplacian, 100)
    assert warned == [lg.RankWarning]
    assert pairs.rank == 84
    assert pairs.next_eigenvalue == 1.0
    assert pairs.residuals.max() < 1e-12
    # The oracle's incidence H~, decomposed by LAPACK.
    incidence = np.hstack([pd.get_dummies(table[c]).to_numpy(float) for c in table if c != 11])
    parts = incidence / np.sqrt(21 * incidence.sum(axis=0))
    squares = np.linalg.svd(parts, compute_uv=False) ** 2
    assert (squares > 1e-12).sum() == 84
    assert_allclose(pairs.eigenvalues, 1 - squares[:84], rtol=0, atol=1e-13)
    U = pairs.eigenvectors
    assert_allclose(U.T @ U, np.eye(84), rtol=0, atol=1e-12)
    assert_allclose(U - parts @ (parts.T @ U), U * pairs.eigenvalues, rtol=0, atol=1e-12)


def test_taylor_coefficients_of_the_appendix_on_cars(cars: lg.Laplacian) -> None:
    """(1 − λ)² on {0, 5/6, 1}: trace 1 + 15/36."""
    K = lg.kernel(cars, "quadratic")
    assert K.form == "structured"
    assert_allclose(K.diagonal().sum(), 1 + 15 / 36, rtol=0, atol=1e-11)
    assert reference.taylor_at_one([1.0, -2.0, 1.0]) == [0.0, 0.0, 1.0]
