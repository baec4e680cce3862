"""The smallest eigenpairs of every graph and smoother, by every method, with their evidence."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import lowrankgcn as lg
from lowrankgcn.spectral.solvers import direct_solution, largest_eigenvalue
from lowrankgcn.spectral.solvers.solution import Request
from tests.support.cases import strategies
from tests.support.cases.problems import (
    HYPERGRAPHS,
    KINDS,
    LARGE,
    METHODS,
    Problem,
    calm_blas,  # noqa: F401
    gap,
    ignoring,
    large,
    left_out,
    problems,
    recorded,
)
from tests.support.each import each
from tests.support.oracles import reference


def projector(vectors: np.ndarray) -> np.ndarray:
    return vectors @ vectors.T


def check(
    pairs: lg.Eigenpairs,
    spectrum: reference.Spectrum,
    matrix: np.ndarray,
    *,
    tol: float = 1e-10,
    accuracy: float = 1e-10,
) -> None:
    """Values as the oracle's, null vectors exact, others by residual and by subspace."""
    values, U = pairs.eigenvalues, pairs.eigenvectors
    k = pairs.rank
    assert values.dtype == np.float64
    assert U.shape == (len(matrix), k)
    assert pairs.n_components == spectrum.n_zero
    assert_allclose(values, spectrum.eigenvalues[:k], rtol=0, atol=accuracy)
    assert (np.diff(values) >= 0).all()
    zeros = min(k, spectrum.n_zero)
    assert (values[:zeros] == 0).all()
    assert (values[zeros:] > 0).all()
    assert_allclose(U[:, :zeros], spectrum.eigenvectors[:, :zeros], rtol=0, atol=1e-12)
    true = np.linalg.norm(matrix @ U - U * values, axis=0)
    assert true.max() <= tol + 1e-12
    assert (pairs.residuals >= 0.95 * true - 1e-12).all()
    assert (pairs.residuals <= 1.05 * true + 1e-11).all()
    assert_allclose(U.T @ U, np.eye(k), rtol=0, atol=1e-10)
    assert_array_equal(U, reference.canonical_signs(U))
    rest = spectrum.eigenvalues[k:]
    distance = gap(rest, spectrum.eigenvalues[:k])
    if distance > 1e-3:
        expected = projector(spectrum.eigenvectors[:, :k])
        slack = 1e-12 + 4 * k * (tol + 1e-13) / distance
        assert_allclose(projector(U), expected, rtol=0, atol=slack)


def determined(problem: Problem, spectrum: reference.Spectrum, smoother: Any) -> int:
    """How many pairs the graph determines: all but the bulk of eigenvalues 1 of a hypergraph."""
    graph: Any = problem.graph
    joined = problem.adjacency.any(axis=1)
    own = np.array_equal(problem.diagonal(smoother)[joined], problem.loops[joined])
    if not isinstance(graph, lg.Hypergraph) or not own or graph.n_hyperedges > problem.n:
        return problem.n
    return int((np.abs(spectrum.eigenvalues - 1) >= 1e-12).sum())


@each("kind", KINDS)
@given(data=st.data())
def test_every_graph_and_smoother(kind: str, data: st.DataObject) -> None:
    problem = data.draw(problems(kind))
    smoother = data.draw(strategies.smoothers(problem.n))
    k = data.draw(st.integers(1, problem.n))
    spectrum = problem.spectrum(smoother)
    with recorded() as warned:
        pairs = lg.eigenpairs(lg.Laplacian(problem.graph, smoother), k)
    expected = min(k, determined(problem, spectrum, smoother))
    assert pairs.rank == expected
    check(pairs, spectrum, problem.matrix(smoother))
    # The first eigenvalue left out, and each warning exactly when there is a reason.
    rest = left_out(spectrum.eigenvalues, pairs.eigenvalues)
    if len(rest):
        assert_allclose(pairs.next_eigenvalue, rest[0], rtol=0, atol=1e-10)
    else:
        assert np.isnan(pairs.next_eigenvalue)
    assert (lg.RankWarning in warned) == (expected < k)
    assert (lg.DisconnectedGraphWarning in warned) == (spectrum.n_zero > 1)
    distance = gap(rest, pairs.eigenvalues)
    if not 1e-10 < distance < 1e-6:
        assert (lg.DegenerateCutWarning in warned) == (distance <= 1e-10)
    assert len(warned) == len(set(warned))
    # All eigenvalues are known by the way.
    whole = pairs.spectrum
    assert whole is not None
    assert_allclose(np.repeat(whole.values, whole.counts), spectrum.eigenvalues, atol=1e-10)


@each("kind", KINDS)
@given(data=st.data())
def test_every_method_on_small_graphs(kind: str, data: st.DataObject) -> None:
    method = data.draw(st.sampled_from(METHODS[1:]))
    problem = data.draw(problems(kind))
    smoother = data.draw(strategies.smoothers(problem.n))
    k = data.draw(st.integers(1, problem.n))
    laplacian = lg.Laplacian(problem.graph, smoother)
    with ignoring(lg.DisconnectedGraphWarning, lg.DegenerateCutWarning):
        pairs = lg.eigenpairs(laplacian, k, method=method, tol=1e-12)
    assert pairs.rank == k
    check(pairs, problem.spectrum(smoother), problem.matrix(smoother))


@pytest.mark.parametrize("kind", HYPERGRAPHS)
@given(data=st.data())
def test_svd_on_small_hypergraphs(kind: str, data: st.DataObject) -> None:
    problem = data.draw(problems(kind))
    smoother = data.draw(strategies.smoothers(problem.n))
    k = data.draw(st.integers(1, problem.n))
    laplacian = lg.Laplacian(problem.graph, smoother)
    with ignoring(lg.DisconnectedGraphWarning, lg.DegenerateCutWarning, lg.RankWarning):
        pairs = lg.eigenpairs(laplacian, k, method="svd", tol=1e-12)
    check(pairs, problem.spectrum(smoother), problem.matrix(smoother))


# --- beyond 512 nodes -------------------------------------------------------------------------


@each("name", LARGE)
def test_large_graphs(name: str) -> None:
    case = large(name)
    zeros = case.spectrum.n_zero
    k, values = zeros + 7, case.spectrum.eigenvalues
    for method, tol in (("auto", 1e-6), ("auto", 1e-9), ("dense", 1e-9)):
        with recorded() as warned:
            pairs = lg.eigenpairs(case.laplacian, k, method=method, tol=tol)  # type: ignore[arg-type]
        check(pairs, case.spectrum, case.matrix, tol=tol, accuracy=tol)
        distance = float(values[k] - values[k - 1])
        assert not tol < distance < 10 * tol  # else the next line would be a matter of luck
        assert (lg.DegenerateCutWarning in warned) == (distance <= max(1e-8, tol))
        assert (lg.DisconnectedGraphWarning in warned) == (zeros > 1)
        assert lg.RankWarning not in warned
        assert_allclose(pairs.next_eigenvalue, values[k], rtol=0, atol=tol)


def test_automatic_choice() -> None:
    for name, expected in (
        ("gaussian", "block"),
        ("table-own-loops", "svd"),
        ("table-identity", "block"),
        ("pieces", "block"),
    ):
        case = large(name)
        with ignoring(lg.DisconnectedGraphWarning):
            pairs = lg.eigenpairs(case.laplacian, case.spectrum.n_zero + 3)
        assert pairs.method == expected
        assert (pairs.spectrum is None) == (expected != "svd")
        assert pairs.fast_sum_error == 0.0


@pytest.mark.parametrize("method", METHODS)
def test_cuts_through_multiple_eigenvalues_of_large_graphs(method: Any) -> None:
    """The torus: 0, four times one eigenvalue, four times the next, …"""
    case = large("torus")
    for k, cut in ((1, False), (2, True), (4, True), (5, False), (7, True), (9, False)):
        with recorded() as warned:
            lg.eigenpairs(case.laplacian, k, method=method)
        assert warned == [lg.DegenerateCutWarning] * cut, k


@pytest.mark.parametrize("method", METHODS)
def test_pieces(method: Any) -> None:
    """Zero once per component, null vectors sqrt(d + s), in the order of the first nodes."""
    for name in ("pieces", "pieces-smoothed"):
        case = large(name)
        labels = case.problem.components
        count = case.spectrum.n_zero
        degrees = case.problem.adjacency.sum(axis=1)
        total = degrees + case.problem.diagonal(case.smoother)
        first = [np.flatnonzero(labels == label)[0] for label in range(count)]
        assert first == sorted(first)
        for k in (1, 10, count, count + 1):
            with recorded() as warned:
                pairs = lg.eigenpairs(case.laplacian, k, method=method)
            assert pairs.n_components == count
            zeros = min(k, count)
            assert (pairs.eigenvalues[:zeros] == 0.0).all()
            assert (pairs.eigenvalues[zeros:] > 0.0).all()
            for column in range(zeros):
                inside = labels == column
                expected = np.where(inside & (degrees > 0), np.sqrt(total), 0.0)
                expected[inside & (degrees == 0)] = 1.0
                expected /= np.linalg.norm(expected)
                assert_allclose(pairs.eigenvectors[:, column], expected, rtol=0, atol=1e-15)
            assert pairs.residuals[:zeros].max() <= 1e-14
            assert lg.DisconnectedGraphWarning in warned
            assert (lg.DegenerateCutWarning in warned) == (k < count)
            if k < count:
                assert pairs.next_eigenvalue == 0.0
            elif k > count:
                assert pairs.next_eigenvalue > 0.0


def test_only_zeros_requested_beyond_512_nodes() -> None:
    case = large("pieces")
    with ignoring(lg.DisconnectedGraphWarning):
        pairs = lg.eigenpairs(case.laplacian, case.spectrum.n_zero, method="block")
    assert_allclose(pairs.eigenvectors, case.spectrum.eigenvectors[:, : pairs.rank], atol=1e-12)
    assert np.isnan(pairs.next_eigenvalue)  # not computed
    assert pairs.iterations == 0


def test_graph_without_edges() -> None:
    for graph in (
        lg.AdjacencyGraph(sp.csr_array((600, 600))),
        lg.Hypergraph(sp.csr_array((600, 1))),
        lg.Hypergraph(sp.eye_array(600, format="csr")),
    ):
        with recorded() as warned:
            pairs = lg.eigenpairs(lg.Laplacian(graph), 600)
        assert_array_equal(pairs.eigenvalues, np.zeros(600))
        assert_array_equal(pairs.eigenvectors, np.eye(600))
        assert warned == [lg.DisconnectedGraphWarning]
        with recorded() as warned:
            pairs = lg.eigenpairs(lg.Laplacian(graph), 3)
        assert_array_equal(pairs.eigenvectors, np.eye(600)[:, :3])
        assert set(warned) == {lg.DisconnectedGraphWarning, lg.DegenerateCutWarning}


def test_single_node() -> None:
    for graph in (
        lg.AdjacencyGraph([[0.0]]),
        lg.AdjacencyGraph([[2.0]]),
        lg.GaussianGraph([[1.0, 2.0]]),
        lg.Hypergraph([[1.0]]),
    ):
        pairs = lg.eigenpairs(lg.Laplacian(graph), 1)
        assert pairs.eigenvalues.tolist() == [0.0]
        assert pairs.eigenvectors.tolist() == [[1.0]]
        assert pairs.n_components == 1


def test_nearly_all_nodes_isolated() -> None:
    """A triangle among 597 isolated nodes: iterative solvers have two dimensions to work in."""
    adjacency = sp.lil_array((600, 600))
    for i, j in ((5, 100), (100, 599), (599, 5)):
        adjacency[i, j] = adjacency[j, i] = 1.0
    laplacian = lg.Laplacian(lg.AdjacencyGraph(adjacency))
    for method in ("auto", "block"):
        with recorded() as warned:
            pairs = lg.eigenpairs(laplacian, 600, method=method)  # type: ignore[arg-type]
        assert_allclose(pairs.eigenvalues, [*[0.0] * 598, 1.5, 1.5], rtol=0, atol=1e-12)
        assert warned == [lg.DisconnectedGraphWarning]
        with recorded() as warned:
            pairs = lg.eigenpairs(laplacian, 599, method=method)  # type: ignore[arg-type]
        assert set(warned) == {lg.DisconnectedGraphWarning, lg.DegenerateCutWarning}


def test_nearly_disconnected_graphs_have_one_zero() -> None:
    """Two clusters joined by weights far below rounding: λ₂ > 0 all the same."""
    generator = np.random.default_rng(0)
    points = generator.normal(size=(12, 2))
    points[6:, 0] += 60.0
    incidence = np.zeros((12, 3))
    incidence[:6, 0] = incidence[6:, 1] = incidence[5:7, 2] = 1.0
    for graph in (
        lg.GaussianGraph(points, 3.0),
        lg.Hypergraph(incidence, [1.0, 1.0, 1e-30]),
        lg.AdjacencyGraph(reference.gaussian_adjacency(points, 3.0)),
    ):
        for smoother in (None, "none", "identity"):
            laplacian = lg.Laplacian(graph, smoother)
            pairs = lg.eigenpairs(laplacian, 2)
            assert lg.eigenpairs(laplacian, 1).rank == 1  # exactly 0: no arbitrary cut
            assert pairs.n_components == 1
            assert pairs.eigenvalues[0] == 0.0
            assert 0.0 < pairs.eigenvalues[1] < 1e-13
            K = lg.kernel(laplacian, "pseudoinverse", rank=1)
            assert_allclose(K.response, 1.0, rtol=1e-12)
            assert lg.kernel(laplacian, "high-pass").to_dense().trace() == pytest.approx(11.0)


# --- options ----------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["auto", "dense", "svd", "block"])
def test_single_precision(method: Any) -> None:
    case = large("table-own-loops" if method == "svd" else "table-identity")
    k = 6
    pairs = lg.eigenpairs(case.laplacian, k, method=method, dtype="float32")
    assert pairs.eigenvectors.dtype == np.float32
    assert pairs.eigenvalues.dtype == np.float64
    assert_allclose(pairs.eigenvalues, case.spectrum.eigenvalues[:k], rtol=0, atol=1e-6)
    U = pairs.eigenvectors.astype(np.float64)
    true = np.linalg.norm(case.matrix @ U - U * pairs.eigenvalues, axis=0)
    assert true.max() < 1.5e-6
    assert (pairs.residuals >= true).all()
    assert (pairs.residuals <= true + 2e-7).all()
    double = lg.eigenpairs(case.laplacian, k, method=method)
    for column, other in zip(U.T, double.eigenvectors.T, strict=True):
        assert abs(column @ other) == pytest.approx(1.0, abs=1e-5)


def test_dtype_may_be_given_as_a_type() -> None:
    laplacian = large("table-own-loops").laplacian
    for dtype in ("float32", np.float32, np.dtype(np.float32)):
        assert lg.eigenpairs(laplacian, 3, dtype=dtype).eigenvectors.dtype == np.float32


@pytest.mark.parametrize(("name", "method"), [("table-identity", "auto"), ("pieces", "block")])
def test_same_seed_same_bits(name: str, method: Any) -> None:
    laplacian, k = large(name).laplacian, large(name).spectrum.n_zero + 7
    with ignoring(lg.DisconnectedGraphWarning, lg.DegenerateCutWarning):
        first, second = (
            lg.eigenpairs(laplacian, k, method=method, random_state=3) for _ in range(2)
        )
    assert_array_equal(first.eigenvectors, second.eigenvectors)
    assert_array_equal(first.eigenvalues, second.eigenvalues)
    assert_array_equal(first.residuals, second.residuals)
    assert first.iterations == second.iterations


def test_too_few_iterations() -> None:
    laplacian = large("dense").laplacian
    with pytest.raises(lg.EigensolverError, match="raise max_iter or tol"):
        lg.eigenpairs(laplacian, 30, tol=1e-12, max_iter=1)


def test_tolerance_defaults_to_the_laplacians() -> None:
    problem = large("gaussian").problem
    laplacian = lg.Laplacian(problem.graph, tol=1e-3)
    assert 1e-9 < lg.eigenpairs(laplacian, 30, method="block").residuals.max() <= 1e-3
    assert lg.eigenpairs(laplacian, 30, method="block", tol=1e-9).residuals.max() <= 1e-9


def test_largest_eigenvalue() -> None:
    for name in ("gaussian", "table-own-loops", "table-identity", "torus", "pieces"):
        case = large(name)
        found = largest_eigenvalue(case.laplacian, Request(1e-9))
        assert_allclose(found, case.spectrum.largest, rtol=0, atol=1e-9)
    empty = lg.Laplacian(lg.AdjacencyGraph(np.zeros((3, 3))))
    assert largest_eigenvalue(empty, Request(1e-9)) == 0.0


def test_direct_solutions_where_they_are_cheap() -> None:
    auto, small = Request(1e-6), lg.Laplacian(lg.AdjacencyGraph(np.ones((3, 3))))
    for name in ("gaussian", "many-hyperedges", "table-identity"):
        assert direct_solution(large(name).laplacian, auto) is None
    assert direct_solution(large("table-own-loops").laplacian, auto) is not None
    assert direct_solution(large("gaussian").laplacian, Request(1e-6, method="dense")) is not None
    assert direct_solution(small, auto) is not None
    assert direct_solution(small, Request(1e-6, method="block")) is None
