"""Laplacians of every graph with every smoother against the oracle, and what they promise."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse.linalg as spla
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import lowrankgcn as lg
from lowrankgcn.operators import ScaledFactor
from lowrankgcn.spectral.laplacian import loop_weights
from tests.support.cases import strategies
from tests.support.cases.problems import HYPERGRAPHS, KINDS, Problem, problems
from tests.support.contracts.operator_contract import block, check_factor, check_operator, close
from tests.support.each import each
from tests.support.oracles import reference

every_kind = each("kind", KINDS)
N = 2100  # beyond the dense way of Gaussian graphs
TOLERANCE = 1e-10


def check_laplacian(laplacian: lg.Laplacian, problem: Problem, smoother: Any) -> None:
    """L_S itself, its parts, and its null space."""
    loops = problem.diagonal(smoother)
    dense = reference.smoothed_laplacian(problem.adjacency, loops)
    close(laplacian.to_dense(), dense, TOLERANCE)
    close(laplacian.diagonal(), np.diag(dense), TOLERANCE)
    close(np.asarray(laplacian.loop_weights), loops, TOLERANCE)
    close(laplacian.degrees, problem.adjacency.sum(axis=1) + loops, TOLERANCE)
    A, a = laplacian.affinity.operator.to_dense(), laplacian.affinity.diagonal
    close(A - np.diag(a), problem.adjacency, TOLERANCE)
    split = np.diag(laplacian.shift) - laplacian.scale[:, None] * A * laplacian.scale
    close(split, dense, TOLERANCE)
    check_null_space(laplacian, reference.null_vectors(problem.adjacency, loops))
    check_spectrum(laplacian, dense)


def check_null_space(laplacian: lg.Laplacian, vectors: np.ndarray) -> None:
    """One vector per component, and the operations on all of them at once."""
    null, c = laplacian.null_space, vectors.shape[1]
    assert null.dimension == c == laplacian.graph.n_components
    close(null.vectors(range(c)), vectors, TOLERANCE)
    close(null.vectors(range(c // 2, c)), vectors[:, c // 2 :], TOLERANCE)
    X = block(len(vectors), 3)
    for k in (0, 1, 3):
        coefficients = vectors.T @ X[:, :k]
        close(null.coefficients(X[:, :k]), coefficients, TOLERANCE)
        close(null.combine(coefficients), vectors @ coefficients, TOLERANCE)
        close(null.combine(coefficients, 1, -1), (vectors @ coefficients)[1:-1], TOLERANCE)
        close(null.project_out(X[:, :k]), X[:, :k] - vectors @ coefficients, TOLERANCE)
    close(laplacian @ vectors, np.zeros_like(vectors), TOLERANCE)


def check_spectrum(laplacian: lg.Laplacian, dense: np.ndarray) -> None:
    """Within [0, 2] and the bound given; a zero for every component and no other."""
    values = np.linalg.eigvalsh(dense)
    assert values[0] >= -TOLERANCE
    assert values[-1] <= laplacian.spectral_bound + TOLERANCE
    assert laplacian.spectral_bound <= 2.0
    assert (np.abs(values) < TOLERANCE).sum() >= laplacian.null_space.dimension


def draw_smoother(data: st.DataObject, n: int) -> Any:
    return data.draw(strategies.smoothers(n))


# --- every graph with every smoother --------------------------------------------------------------


@every_kind
@given(data=st.data())
def test_every_graph_with_any_smoother(kind: str, data: st.DataObject) -> None:
    problem = data.draw(problems(kind))
    smoother = draw_smoother(data, problem.n)
    laplacian = lg.Laplacian(problem.graph, smoother)
    check_laplacian(laplacian, problem, smoother)
    check_operator(laplacian, problem.matrix(smoother), tolerance=TOLERANCE)


@given(problem=strategies.gaussian_problems(extreme=True), data=st.data())
def test_gaussian_graphs_at_any_scale(problem: Any, data: st.DataObject) -> None:
    points, bandwidth = problem
    smoother = draw_smoother(data, len(points))
    adjacency = reference.gaussian_adjacency(points, bandwidth)
    problem = Problem(lg.GaussianGraph(points, bandwidth), adjacency, np.zeros(len(points)))
    check_laplacian(lg.Laplacian(problem.graph, smoother), problem, smoother)


@given(
    matrix=strategies.adjacency_matrices(),
    exponent=st.sampled_from([-300, -150, 150, 300]),
    data=st.data(),
)
def test_units_of_weights_do_not_matter(
    matrix: np.ndarray, exponent: int, data: st.DataObject
) -> None:
    adjacency, loops = reference.without_loops(matrix)
    scaled = lg.AdjacencyGraph(matrix * 10.0**exponent)
    smoother = data.draw(st.sampled_from([None, "none"]))
    expected = reference.smoothed_laplacian(adjacency, reference.smoother_diagonal(smoother, loops))
    laplacian = lg.Laplacian(scaled, smoother)
    close(laplacian.to_dense(), expected, TOLERANCE)
    close(laplacian.diagonal(), np.diag(expected), TOLERANCE)
    assert laplacian.spectral_bound == 2.0


def test_smallest_weights() -> None:
    # Down to 5e-322, where squares of the scaling would overflow.
    for distance in (1.0, 20.0, 26.5, 27.2):
        graph = lg.GaussianGraph([[0.0], [distance], [1e3]], bandwidth=1.0)
        laplacian = lg.Laplacian(graph)
        expected = np.array([[1.0, -1.0, 0.0], [-1.0, 1.0, 0.0], [0.0, 0.0, 0.0]])
        close(laplacian.to_dense(), expected, TOLERANCE)
        close(laplacian.diagonal(), np.diag(expected), TOLERANCE)
        assert laplacian.spectral_bound == pytest.approx(2.0)
        check_null_space(laplacian, np.array([[0.5**0.5, 0.0], [0.5**0.5, 0.0], [0.0, 1.0]]))


# --- isolated nodes and zero ----------------------------------------------------------------------


def test_isolated_nodes_have_zero_rows() -> None:
    for graph in (
        lg.AdjacencyGraph([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 5.0]]),
        lg.Hypergraph([[1, 0], [1, 0], [0, 1]]),
        lg.GaussianGraph([[0.0], [1.0], [1e3]], 1.0),
    ):
        for smoother in (None, "none", "identity", "combined", 3.0):
            laplacian = lg.Laplacian(graph, smoother)
            assert not laplacian.to_dense()[2].any()
            assert laplacian.diagonal()[2] == 0.0
            assert laplacian.null_space.vectors([1])[:, 0].tolist() == [0.0, 0.0, 1.0]


def test_one_node() -> None:
    for graph in (
        lg.GaussianGraph([[1.0]]),
        lg.Hypergraph([[1, 1]]),
        lg.AdjacencyGraph([[2.0]]),
        lg.AdjacencyGraph([[0.0]]),
    ):
        for smoother in (None, "none", "identity", 2.5):
            laplacian = lg.Laplacian(graph, smoother)
            assert laplacian.to_dense().tolist() == [[0.0]]
            assert laplacian.null_space.vectors([0]).tolist() == [[1.0]]


@every_kind
@given(data=st.data())
def test_zero_has_the_multiplicity_of_the_components(kind: str, data: st.DataObject) -> None:
    problem = data.draw(problems(kind))
    smoother = draw_smoother(data, problem.n)
    values = problem.spectrum(smoother)
    laplacian = lg.Laplacian(problem.graph, smoother)
    assert laplacian.null_space.dimension == values.n_zero == problem.components.max() + 1
    assert_allclose(np.linalg.eigvalsh(laplacian.to_dense()), values.eigenvalues, atol=TOLERANCE)


# --- structure ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", HYPERGRAPHS)
@given(data=st.data())
def test_hypergraphs_are_diagonal_minus_low_rank(kind: str, data: st.DataObject) -> None:
    problem = data.draw(problems(kind))
    smoother = draw_smoother(data, problem.n)
    laplacian = lg.Laplacian(problem.graph, smoother)
    incidence = problem.graph.incidence.to_dense()
    parts = reference.hypergraph(incidence, np.asarray(problem.graph.hyperedge_weights))
    shift, Z = reference.smoothed_splitting(parts, problem.diagonal(smoother))
    close(laplacian.shift, shift, TOLERANCE)
    assert isinstance(laplacian.factor, ScaledFactor)
    check_factor(laplacian.factor, Z, tolerance=TOLERANCE)
    close(np.diag(shift) - Z @ Z.T, laplacian.to_dense(), TOLERANCE)


@pytest.mark.parametrize("kind", HYPERGRAPHS)
@given(data=st.data())
def test_own_loops_of_hypergraphs_keep_the_spectrum_below_one(
    kind: str, data: st.DataObject
) -> None:
    problem = data.draw(problems(kind))
    laplacian = lg.Laplacian(problem.graph)
    assert laplacian.has_constant_shift
    assert laplacian.spectral_bound <= 1 + TOLERANCE
    assert set(np.unique(laplacian.shift)) <= {0.0, 1.0}
    values = np.linalg.eigvalsh(laplacian.to_dense())
    assert -TOLERANCE <= values.min()
    assert values.max() <= 1 + TOLERANCE
    # I + S_H moves the diagonal of every node that has a neighbour.
    combined = lg.Laplacian(problem.graph, "combined")
    assert combined.has_constant_shift == bool(problem.graph.isolated.all())


@every_kind
@given(data=st.data())
def test_order_of_nodes_does_not_matter(kind: str, data: st.DataObject) -> None:
    problem = data.draw(problems(kind))
    order = np.array(data.draw(st.permutations(range(problem.n))))
    smoother = data.draw(st.lists(strategies.weights, min_size=problem.n, max_size=problem.n))
    matrix = lg.Laplacian(problem.graph, smoother).to_dense()
    given_anew = lg.AdjacencyGraph(problem.permuted(order))
    if kind == "gaussian":
        given_anew = lg.GaussianGraph(problem.graph.points[order], problem.graph.bandwidth)
    elif kind in HYPERGRAPHS:
        incidence = problem.graph.incidence.to_dense()[order]
        given_anew = lg.Hypergraph(incidence, problem.graph.hyperedge_weights)
    shuffled = lg.Laplacian(given_anew, np.array(smoother)[order])
    close(shuffled.to_dense(), matrix[np.ix_(order, order)], TOLERANCE)


def test_known_spectra() -> None:
    n = 9
    complete = lg.Laplacian(lg.AdjacencyGraph(np.ones((n, n)) - np.eye(n))).to_dense()
    assert_allclose(np.linalg.eigvalsh(complete), [0.0] + [n / (n - 1)] * (n - 1), atol=1e-14)
    cycle = np.roll(np.eye(n), 1, axis=0) + np.roll(np.eye(n), -1, axis=0)
    expected = np.sort(1 - np.cos(2 * np.pi * np.arange(n) / n))
    values = np.linalg.eigvalsh(lg.Laplacian(lg.AdjacencyGraph(cycle)).to_dense())
    assert_allclose(values, expected, atol=1e-14)
    cliques = np.kron(np.eye(3), np.ones((4, 4)) - np.eye(4))
    values = np.linalg.eigvalsh(lg.Laplacian(lg.AdjacencyGraph(cliques)).to_dense())
    assert_allclose(values, [0.0] * 3 + [4 / 3] * 9, atol=1e-14)
    one_hyperedge = lg.Laplacian(lg.Hypergraph(np.ones((n, 1)))).to_dense()
    assert_allclose(np.linalg.eigvalsh(one_hyperedge), [0.0] + [1.0] * (n - 1), atol=1e-14)


# --- smoothers ------------------------------------------------------------------------------------


@every_kind
@given(data=st.data())
def test_loop_weights(kind: str, data: st.DataObject) -> None:
    problem = data.draw(problems(kind))
    smoother = draw_smoother(data, problem.n)
    close(np.asarray(loop_weights(problem.graph, smoother)), problem.diagonal(smoother))


def test_smoother_arrays_stay_untouched_and_are_copied() -> None:
    graph = lg.Hypergraph([[1, 0], [1, 1], [0, 1]])
    smoother = np.array([1.0, 2.0, 3.0])
    laplacian = lg.Laplacian(graph, smoother)
    before = laplacian.to_dense()
    assert_array_equal(smoother, [1.0, 2.0, 3.0])
    smoother[:] = 100.0
    assert_array_equal(laplacian.loop_weights, [1.0, 2.0, 3.0])
    assert_array_equal(laplacian.to_dense(), before)


def test_zero_and_no_smoother_are_the_same() -> None:
    graph = lg.Hypergraph([[1, 0], [1, 1], [0, 1]])
    none = lg.Laplacian(graph, "none").to_dense()
    for smoother in (0, 0.0, [0, 0, 0], np.zeros(3)):
        close(lg.Laplacian(graph, smoother).to_dense(), none, 1e-15)


# --- thousands of points --------------------------------------------------------------------------


FAST = {
    "low-rank": (block(N, 2), 2.0),
    "fourier": (np.random.default_rng(0).random((N, 3)), 0.3),
    "split": (np.random.default_rng(0).random((N, 2)), 0.04),
    "blocks": (block(N, 10), 4.0),
}


@each("smoother", [None, 0.7])
@each("method", FAST)
def test_fast_sums(method: str, smoother: Any) -> None:
    points, bandwidth = FAST[method]
    laplacian = lg.Laplacian(lg.GaussianGraph(points, bandwidth), smoother, method=method)
    assert laplacian.affinity.method == method
    assert laplacian.affinity.error <= 1e-6
    adjacency = reference.gaussian_adjacency(points, bandwidth)
    loops = reference.smoother_diagonal(smoother, np.zeros(N))
    dense = reference.smoothed_laplacian(adjacency, loops)
    # Smooth vectors, the ones that matter, to the tolerance; the null vector to rounding.
    smooth = np.sqrt(adjacency.sum(axis=1) + loops)[:, None] * np.cos(points / bandwidth)
    smooth /= np.linalg.norm(smooth, axis=0)
    assert np.linalg.norm(laplacian @ smooth - dense @ smooth, axis=0).max() <= 1e-5
    null = laplacian.null_space
    assert null.dimension == reference.components(adjacency).max() + 1
    assert np.abs(laplacian @ null.vectors(range(null.dimension))).max() <= TOLERANCE
    rows = np.array([0, 5, N - 1, 5])
    close(laplacian.rows(rows, smooth), (laplacian @ smooth)[rows], 1e-9)
    if method in ("split", "blocks"):  # as good for any vectors
        X = block(N, 3)
        close(laplacian @ X, dense @ X, 1e-6)
        return
    # The smallest eigenvalues, with SciPy on the operator as it is.
    flipped = 2 * spla.aslinearoperator(np.eye(N)) - laplacian.as_linear_operator()
    start = np.sqrt(laplacian.degrees)
    values = 2 - spla.eigsh(flipped, 6, v0=start, tol=1e-9, return_eigenvectors=False)[::-1]
    exact = 2 - spla.eigsh(2 * np.eye(N) - dense, 6, v0=start, return_eigenvectors=False)[::-1]
    assert_allclose(np.sort(values), np.sort(exact), atol=3e-6)


@pytest.mark.parametrize("method", FAST)
def test_numbers_of_threads_give_the_same_result(
    method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    points, bandwidth = FAST[method]
    X, results = block(N, 2), []
    for threads in ("1", "2"):
        monkeypatch.setenv("LOWRANKGCN_NUM_THREADS", threads)
        graph = lg.GaussianGraph(points, bandwidth, random_state=4)
        laplacian = lg.Laplacian(graph, tol=1e-4, method=method)
        results.append((laplacian @ X, laplacian.degrees, laplacian.null_space.profile))
    for one, two in zip(*results, strict=True):
        close(one, two)


def test_landmark_kernels_have_a_factor() -> None:
    points, bandwidth = FAST["low-rank"]
    laplacian = lg.Laplacian(lg.GaussianGraph(points, bandwidth), method="low-rank")
    assert laplacian.factor is not None
    X = block(N, 2)
    product = laplacian.shift[:, None] * X - laplacian.factor @ laplacian.factor.transpose_product(
        X
    )
    close(laplacian @ X, product, 1e-9)
    assert lg.Laplacian(lg.GaussianGraph(points, bandwidth), method="blocks").factor is None


def test_with_tolerance() -> None:
    points, bandwidth = FAST["low-rank"]
    graph = lg.GaussianGraph(points, bandwidth)
    rough = lg.Laplacian(graph, 0.5, tol=1e-2)
    sharp = rough.with_tolerance(1e-8)
    assert (sharp.tol, sharp.method, sharp.graph) == (1e-8, rough.method, graph)
    assert sharp.affinity.error <= 1e-8
    assert_array_equal(sharp.loop_weights, rough.loop_weights)
    assert rough.with_tolerance(1e-2) is rough
    for tol in (0.0, "x"):
        with pytest.raises(ValueError, match="tol: expected"):
            rough.with_tolerance(tol)  # type: ignore[arg-type]
    assert rough.with_tolerance(0.1) is rough
    exact = lg.Laplacian(graph, method="blocks")
    assert exact.with_tolerance(1e-12) is exact
    given_graph = lg.Laplacian(lg.AdjacencyGraph([[0, 1], [1, 0]]))
    assert given_graph.with_tolerance(1e-12) is given_graph


def test_sampled_residuals_estimate_the_true_ones() -> None:
    points, bandwidth = FAST["low-rank"]
    graph = lg.GaussianGraph(points, bandwidth)
    adjacency = reference.gaussian_adjacency(points, bandwidth)
    dense = reference.smoothed_laplacian(adjacency)
    laplacian = lg.Laplacian(graph, tol=1e-2)
    values, vectors = spla.eigsh(2 * np.eye(N) - dense, 5, v0=np.sqrt(laplacian.degrees))
    vectors += 1e-3 * block(N, 5) / np.sqrt(N)
    true = np.linalg.norm(dense @ vectors - (2 - values) * vectors, axis=0)
    drawn = [lg.GaussianGraph(points, bandwidth, random_state=seed) for seed in range(5)]
    estimates = [lg.Laplacian(g, tol=1e-2).sampled_residuals(2 - values, vectors) for g in drawn]
    assert_allclose(np.mean(estimates, axis=0), true, rtol=0.5)
    exact = lg.Laplacian(graph, method="blocks")
    assert_array_equal(exact.sampled_residuals(2 - values, vectors), np.zeros(5))


def test_laplacians_are_frozen() -> None:
    laplacian = lg.Laplacian(lg.Hypergraph([[1], [1]]), "identity")
    with pytest.raises(AttributeError):
        laplacian.tol = 1.0  # type: ignore[misc]
    assert repr(laplacian) == "Laplacian(Hypergraph(2 nodes, 1 hyperedges), smoother='identity')"


def test_arrays_are_read_only() -> None:
    laplacian = lg.Laplacian(lg.AdjacencyGraph([[0, 1], [1, 0]]), "identity")
    for name in ("degrees", "loop_weights", "shift", "scale"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(laplacian, name)[:] = 1.0
