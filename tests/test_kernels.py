"""Kernels of every graph, smoother, filter and form against the oracle, to 1e-10."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import lowrankgcn as lg
from lowrankgcn import filters
from lowrankgcn.operators import DenseOperator, DiagonalPlusLowRank, PolynomialOperator
from tests import reference, strategies
from tests.operator_contract import check_operator, close
from tests.problems import (
    HYPERGRAPHS,
    KINDS,
    LARGE,
    Problem,
    calm_blas,  # noqa: F401
    gap,
    ignoring,
    large,
    left_out,
    problems,
    recorded,
)
from tests.strategies import FilterCase

TOLERANCE = 1e-10


def tolerance(spectrum: reference.Spectrum) -> float:
    """1e-10, or more where that is not possible.

    Eigenvalues are known to some 1e-13, so λ₂/λ is known to 1e-13/λ₂ relative to itself: less than
    1e-10 once λ₂ < 1e-3, in nearly disconnected graphs.
    """
    return max(TOLERANCE, 1e-13 / (spectrum.smallest_nonzero or 1.0))


def agree(K: lg.Kernel, expected: np.ndarray, tolerance: float = TOLERANCE) -> None:
    """Products, selected rows, diagonal and dense form, relative to the largest entry."""
    X = np.random.default_rng(0).normal(size=(len(expected), 3))
    index = np.array([len(expected) - 1, 0, 0])
    close(K @ X, expected @ X, tolerance)
    close(K @ X[:, 0], expected @ X[:, 0], tolerance)
    close(K.rows(index, X), (expected @ X)[index], tolerance)
    close(K.diagonal(), np.diag(expected), tolerance)
    close(K.to_dense(), expected, tolerance)


def drawn(
    data: st.DataObject, kind: str, cases: st.SearchStrategy[FilterCase], **options: Any
) -> tuple[Problem, Any, reference.Spectrum, FilterCase, np.ndarray]:
    """Problem, smoother, its spectrum, a filter and the oracle's kernel."""
    problem = data.draw(problems(kind, **options))
    smoother = data.draw(strategies.smoothers(problem.n))
    case = data.draw(cases)
    spectrum = problem.spectrum(smoother)
    assume(not case.needs or spectrum.largest > 0)  # no edge: neither λ₂ nor λ_n
    return problem, smoother, spectrum, case, reference.kernel(spectrum, case.phi_on(spectrum))


# --- full rank --------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
def test_automatic_form_of_every_graph_smoother_and_filter(kind: str, data: st.DataObject) -> None:
    problem, smoother, spectrum, case, expected = drawn(data, kind, strategies.filter_cases())
    K = lg.kernel(lg.Laplacian(problem.graph, smoother), case.filter)
    agree(K, expected, tolerance(spectrum))
    assert K.eigenpairs is None
    assert not K.filter.needs
    assert K.truncation_error() == lg.truncation.TruncationError(0.0, 0.0)


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
def test_dense_form(kind: str, data: st.DataObject) -> None:
    problem, smoother, spectrum, case, expected = drawn(data, kind, strategies.filter_cases())
    K = lg.kernel(lg.Laplacian(problem.graph, smoother), case.filter, form="dense")
    agree(K, expected, tolerance(spectrum))
    assert K.form == "dense"
    assert isinstance(K.operator, DenseOperator)


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
def test_polynomial_form(kind: str, data: st.DataObject) -> None:
    problem, smoother, _, case, expected = drawn(data, kind, strategies.polynomial_filters())
    laplacian = lg.Laplacian(problem.graph, smoother)
    K = lg.kernel(laplacian, case.filter, form="polynomial")
    agree(K, expected)
    assert K.form == "polynomial"
    assert isinstance(K.operator, PolynomialOperator)
    powers = reference.polynomial_kernel(problem.matrix(smoother), K.filter.coefficients or ())
    agree(K, powers)


def affine_filters() -> st.SearchStrategy[FilterCase]:
    return strategies.polynomial_filters().filter(
        lambda case: len(case.filter.bind(0.5, 1.0).coefficients or (0, 0, 0)) <= 2
    )


@pytest.mark.parametrize("kind", HYPERGRAPHS)
@given(data=st.data())
def test_affine_form(kind: str, data: st.DataObject) -> None:
    problem, smoother, _, case, expected = drawn(data, kind, affine_filters())
    K = lg.kernel(lg.Laplacian(problem.graph, smoother), case.filter)
    agree(K, expected)
    assert K.form == "affine"
    assert isinstance(K.operator, DiagonalPlusLowRank)
    # Never more columns than hyperedges, however many nodes.
    assert K.operator.factor.shape == (problem.n, problem.graph.n_hyperedges)


@pytest.mark.parametrize("kind", HYPERGRAPHS)
@given(data=st.data())
def test_structured_polynomial(kind: str, data: st.DataObject) -> None:
    problem = data.draw(problems(kind))
    case = data.draw(strategies.polynomial_filters())
    smoother = data.draw(st.sampled_from([None, "hypergraph", problem.loops]))
    spectrum = problem.spectrum()
    assume(not case.needs or spectrum.largest > 0)
    K = lg.kernel(lg.Laplacian(problem.graph, smoother), case.filter, form="structured")
    agree(K, reference.kernel(spectrum, case.phi_on(spectrum)))
    assert K.form == "structured"
    assert isinstance(K.operator, DiagonalPlusLowRank)
    assert K.operator.factor.shape == (problem.n, problem.graph.n_hyperedges)


@pytest.mark.parametrize("kind", HYPERGRAPHS)
@given(data=st.data())
def test_structured_arbitrary_filter(kind: str, data: st.DataObject) -> None:
    problem = data.draw(problems(kind))
    cases = st.one_of(strategies.smooth_filters(), strategies.null_space_filters())
    case = data.draw(cases)
    spectrum = problem.spectrum()
    assume(not case.needs or spectrum.largest > 0)
    K = lg.kernel(lg.Laplacian(problem.graph), case.filter, form="structured")
    agree(K, reference.kernel(spectrum, case.phi_on(spectrum)), tolerance(spectrum))
    assert isinstance(K.operator, DiagonalPlusLowRank)
    # U_R: as many columns as eigenvalues other than 1, null vectors of isolated nodes apart.
    other = np.abs(spectrum.eigenvalues - 1) > 1e-12
    joined = problem.adjacency.sum(axis=1) > 0
    assert K.operator.factor.shape[1] == other.sum() - (~joined).sum()


@given(problem=strategies.hypergraph_problems(), case=strategies.continuous_filters())
def test_structured_forms_are_those_of_the_appendix(
    problem: tuple[np.ndarray, np.ndarray | None], case: FilterCase
) -> None:
    parts = reference.hypergraph(*problem)
    spectrum = reference.spectrum(parts.W, parts.S_H)
    assume(spectrum.largest > 0)
    # A node that shares no hyperedge has μ = 1 in A3.1, but no place in Z of the package.
    assume(bool(((parts.D > 0) | (parts.D_V == 0)).all()))
    phi = case.phi_on(spectrum)
    K = lg.kernel(lg.Laplacian(lg.Hypergraph(*problem)), case.filter, form="structured")
    bound = case.filter.bind(spectrum.smallest_nonzero, spectrum.largest)
    agree(K, reference.hypergraph_full_rank_kernel(parts, phi))
    if bound.coefficients is not None:
        agree(K, reference.hypergraph_polynomial_kernel(parts, bound.coefficients))


@pytest.mark.parametrize("kind", KINDS)
def test_kernels_keep_the_operator_contract(kind: str) -> None:
    incidence = np.array([[1, 0, 1], [1, 1, 0], [0, 1, 0], [0, 1, 1], [0, 0, 0.0]])
    graphs = {
        "gaussian": lg.GaussianGraph(np.arange(10.0).reshape(5, 2) ** 1.5, 20.0),
        "incidence": lg.Hypergraph(incidence),
        "codes": lg.Hypergraph.from_table(np.array([[0, 1], [0, 2], [1, 2], [1, 1], [0, 1]])),
        "dense": lg.AdjacencyGraph(incidence @ incidence.T),
        "sparse": lg.AdjacencyGraph.from_edge_index([[0, 1, 2, 3], [1, 2, 3, 4]]),
    }
    laplacian = lg.Laplacian(graphs[kind])
    for K in (
        lg.kernel(laplacian, "linear"),
        lg.kernel(laplacian, "quadratic"),
        lg.kernel(laplacian, "heat"),
        lg.kernel(laplacian, "regularized-inverse", rank=laplacian.graph.n_components),
    ):
        check_operator(K, K.to_dense(), tolerance=1e-12)


# --- low rank ---------------------------------------------------------------------------------


def bulk_size(problem: Problem, smoother: Any, spectrum: reference.Spectrum) -> int:
    """Number of eigenvalues 1 whose eigenvectors nobody computes: off the columns of Z."""
    graph = problem.graph
    if not isinstance(graph, lg.Hypergraph) or graph.n_hyperedges > problem.n:
        return 0
    joined = problem.adjacency.any(axis=1)
    if not np.array_equal(problem.diagonal(smoother)[joined], problem.loops[joined]):
        return 0
    return int((np.abs(spectrum.eigenvalues - 1) < 1e-12).sum())


def cut(
    spectrum: reference.Spectrum, response: np.ndarray, kept: np.ndarray
) -> tuple[float, np.ndarray]:
    """Distance of the eigenvalues kept from the others, and the oracle's kernel of those kept."""
    values, U = spectrum.eigenvalues, spectrum.eigenvectors
    distance = gap(left_out(values, kept), kept)
    chosen = np.abs(np.subtract.outer(values, kept)).min(axis=1) < distance / 2
    return distance, (U * np.where(chosen, response, 0.0)) @ U.T


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
def test_low_rank(kind: str, data: st.DataObject) -> None:
    problem, smoother, spectrum, case, full = drawn(data, kind, strategies.filter_cases())
    rank = data.draw(st.integers(1, problem.n))
    phi = case.phi_on(spectrum)
    response = reference.response(phi, spectrum.eigenvalues)
    strengths = np.sort(np.abs(response))[::-1]
    # Where Z determines fewer vectors, those must come first and no others are invented.
    bulk = bulk_size(problem, smoother, spectrum)
    expected = rank
    if bulk:
        listed = np.abs(spectrum.eigenvalues - 1) >= 1e-12
        level = abs(phi(1.0)) - 1e-9 * strengths[0]
        expected = min(rank, int((np.abs(response[listed]) >= level).sum()))
    laplacian = lg.Laplacian(problem.graph, smoother)
    if expected == 0:
        with pytest.raises(
            ValueError, match=r"^filter: expected less weight on the eigenvalue 1, whose"
        ):
            lg.kernel(laplacian, case.filter, rank)
        return
    with recorded() as warned:
        K = lg.kernel(laplacian, case.filter, rank)
    pairs = K.eigenpairs
    assert pairs is not None
    assert K.form == "low-rank"
    assert pairs.rank == expected
    assert K.operator.factor.shape == (problem.n, expected)
    # Lemma 1: the strongest responses, and their error.
    kept = np.sort(np.abs(K.response))[::-1]
    assert_allclose(kept, strengths[:expected], rtol=tolerance(spectrum), atol=1e-10)
    error = float(np.linalg.norm(strengths[expected:]))
    estimate = K.truncation_error()
    assert estimate.standard_error == 0.0
    slack = 1e-8 * max(1.0, strengths[0])
    assert_allclose(estimate.value, error, rtol=1e-8, atol=1e-8)
    assert_allclose(np.linalg.norm(full - K.to_dense()), error, rtol=1e-8, atol=slack)
    # Warnings exactly when something is arbitrary.
    rest = left_out(spectrum.eigenvalues, pairs.eigenvalues)
    if bulk:
        rest = rest[np.abs(rest - 1) >= 1e-12]
    distance = gap(rest, pairs.eigenvalues)
    assume(not 1e-9 < distance < 1e-6)
    assert (lg.RankWarning in warned) == (expected < rank)
    assert (lg.DegenerateCutWarning in warned) == (distance <= 1e-9)
    assert set(warned) <= {lg.RankWarning, lg.DegenerateCutWarning}
    # The kernel itself, where the cut determines it.
    distance, truncated = cut(spectrum, response, pairs.eigenvalues)
    if distance > 1e-6:
        agree(K, truncated, max(tolerance(spectrum), 1e-13 / distance))


@given(data=st.data())
@pytest.mark.parametrize("kind", KINDS)
def test_rank_n_is_the_full_kernel(kind: str, data: st.DataObject) -> None:
    problem, smoother, spectrum, case, expected = drawn(data, kind, strategies.filter_cases())
    assume(not bulk_size(problem, smoother, spectrum))
    K = lg.kernel(lg.Laplacian(problem.graph, smoother), case.filter, rank=problem.n)
    agree(K, expected, tolerance(spectrum))
    assert K.truncation_error().value == 0.0


@given(data=st.data())
@pytest.mark.parametrize("kind", HYPERGRAPHS)
def test_numerical_rank_is_the_full_kernel_of_a_filter_without_ones(
    kind: str, data: st.DataObject
) -> None:
    """A3.1.3: if φ(1) = 0, 𝒦 = U_R φ(Λ_R) U_Rᵀ has rank R."""
    problem = data.draw(problems(kind))
    spectrum = problem.spectrum()
    laplacian = lg.Laplacian(problem.graph)
    expected = reference.kernel(spectrum, reference.linear)
    with recorded() as warned:
        K = lg.kernel(laplacian, "linear", rank=problem.n)
    agree(K, expected)
    assert_allclose(K.truncation_error().value, 0.0, atol=1e-8)
    bulk = bulk_size(problem, None, spectrum)
    assert set(warned) == ({lg.RankWarning} if bulk else set())
    assert K.eigenpairs is not None
    assert K.eigenpairs.rank == problem.n - bulk


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
def test_lists_of_filters_share_one_set_of_pairs(kind: str, data: st.DataObject) -> None:
    problem = data.draw(problems(kind, min_nodes=3))
    smoother = data.draw(strategies.smoothers(problem.n).filter(lambda s: not isinstance(s, str)))
    cases = data.draw(st.lists(strategies.simple_filters(), min_size=2, max_size=3))
    spectrum = problem.spectrum(smoother)
    assume(spectrum.largest > 0)
    assume(not bulk_size(problem, smoother, spectrum))
    rank = data.draw(st.integers(1, problem.n))
    laplacian = lg.Laplacian(problem.graph, smoother)
    with ignoring(lg.DegenerateCutWarning):
        kernels = lg.kernel(laplacian, [case.filter for case in cases], rank)
    assert isinstance(kernels, tuple)
    assert len(kernels) == len(cases)
    pairs = kernels[0].eigenpairs
    assert pairs is not None
    responses = [reference.response(c.phi_on(spectrum), spectrum.eigenvalues) for c in cases]
    largest = np.abs(responses).max(axis=0)
    kept = np.max([np.abs(K.response) for K in kernels], axis=0)
    expected = np.sort(largest)[::-1][:rank]
    assert_allclose(np.sort(kept)[::-1], expected, rtol=tolerance(spectrum), atol=1e-9)
    for K, response in zip(kernels, responses, strict=True):
        assert K.eigenpairs is pairs
        full = (spectrum.eigenvectors * response) @ spectrum.eigenvectors.T
        error = float(np.linalg.norm(full - K.to_dense()))
        slack = 1e-8 * max(1.0, float(np.abs(response).max()))
        assert_allclose(K.truncation_error().value, error, rtol=1e-8, atol=slack)
        rest = response**2
        assert abs(error**2 + (K.response**2).sum() - rest.sum()) <= 1e-8 * max(1.0, rest.sum())


def test_lists_at_full_rank_and_lists_of_one() -> None:
    laplacian = lg.Laplacian(lg.Hypergraph([[1, 0], [1, 1], [0, 1]]))
    linear, heat = lg.kernel(laplacian, ["linear", "heat"])
    assert (linear.form, heat.form) == ("affine", "structured")
    assert_array_equal(linear.to_dense(), lg.kernel(laplacian, "linear").to_dense())
    (alone,) = lg.kernel(laplacian, ("linear",), rank=1)
    assert alone.form == "low-rank"
    assert isinstance(lg.kernel(laplacian, "linear"), lg.Kernel)


# --- invariances ------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
def test_node_permutations_permute_kernels(kind: str, data: st.DataObject) -> None:
    problem = data.draw(problems(kind, min_nodes=2, connected=True))
    case = data.draw(strategies.filter_cases())
    order = np.array(data.draw(st.permutations(range(problem.n))))
    graph: Any = problem.graph
    if kind == "gaussian":
        other: Any = lg.GaussianGraph(graph.points[order], graph.bandwidth)
    elif kind in HYPERGRAPHS:
        other = lg.Hypergraph(graph.incidence.to_dense()[order], graph.hyperedge_weights)
    else:
        other = lg.AdjacencyGraph((problem.adjacency + np.diag(problem.loops))[order][:, order])
    spectrum = problem.spectrum()
    assume(not case.needs or spectrum.largest > 0)
    first, second = (lg.kernel(lg.Laplacian(g), case.filter) for g in (graph, other))
    close(second.to_dense(), first.to_dense()[np.ix_(order, order)], tolerance(spectrum))
    values = spectrum.eigenvalues
    rank = data.draw(st.integers(1, problem.n))
    with ignoring(lg.DegenerateCutWarning, lg.RankWarning):
        first, second = (lg.kernel(lg.Laplacian(g), "heat", rank) for g in (graph, other))
    assert first.eigenpairs is not None
    rest = left_out(values, first.eigenpairs.eigenvalues)
    distance = gap(rest, first.eigenpairs.eigenvalues)
    if distance > 1e-6:
        expected = first.to_dense()[np.ix_(order, order)]
        close(second.to_dense(), expected, max(TOLERANCE, 1e-13 / distance))


def test_kernels_ignore_signs_and_rotations_of_eigenvectors() -> None:
    case = large("torus")
    # Zero and one eigenvalue of multiplicity four.
    K = lg.kernel(case.laplacian, "heat", rank=5, tol=1e-12)
    assert K.eigenpairs is not None
    generator = np.random.default_rng(0)
    rotation = np.linalg.qr(generator.normal(size=(4, 4)))[0]
    U = K.eigenpairs.eigenvectors.copy()
    U[:, 1:] = -U[:, 1:] @ rotation
    turned = U @ np.diag(K.response) @ U.T
    assert_allclose(K.to_dense(), turned, rtol=0, atol=1e-9)
    other = lg.kernel(case.laplacian, "heat", rank=5, tol=1e-12, random_state=1)
    assert other.eigenpairs is not None
    assert not np.allclose(other.eigenpairs.eigenvectors, K.eigenpairs.eigenvectors, atol=1e-3)
    assert_allclose(other.to_dense(), K.to_dense(), rtol=0, atol=1e-9)


# --- beyond 512 nodes -------------------------------------------------------------------------

LARGE_FILTERS: list[tuple[Any, Any]] = [
    (filters.Linear(), lambda spectrum: reference.linear),
    (
        filters.Quadratic("auto"),
        lambda spectrum: lambda lam: reference.quadratic(lam, spectrum.largest),
    ),
    (
        filters.Pseudoinverse(),
        lambda spectrum: lambda lam: reference.pseudoinverse(lam, spectrum.smallest_nonzero),
    ),
    (filters.Heat(4.0), lambda spectrum: lambda lam: reference.heat(lam, 4.0)),
]


@pytest.mark.parametrize("name", LARGE)
def test_large_full_kernels(name: str) -> None:
    case = large(name)
    for phi, oracle in LARGE_FILTERS[1:3]:  # a polynomial one and an arbitrary one
        K = lg.kernel(case.laplacian, phi, tol=1e-12)
        expected = reference.kernel(case.spectrum, oracle(case.spectrum))
        agree(K, expected, tolerance(case.spectrum))


@pytest.mark.parametrize(
    ("name", "number"),
    [(name, i) for name in LARGE for i in (range(4) if name in {"torus", "pieces"} else (0, 2))],
)
def test_large_low_rank_kernels(name: str, number: int) -> None:
    phi, oracle = LARGE_FILTERS[number]
    case = large(name)
    rank = 6
    scalar = oracle(case.spectrum)
    response = reference.response(scalar, case.spectrum.eigenvalues)
    with ignoring(lg.DegenerateCutWarning):
        K = lg.kernel(case.laplacian, phi, rank, tol=1e-12)
    pairs = K.eigenpairs
    assert pairs is not None
    strengths = np.sort(np.abs(response))[::-1]
    assert_allclose(np.sort(np.abs(K.response))[::-1], strengths[:rank], rtol=0, atol=1e-10)
    error = float(np.linalg.norm(strengths[rank:]))
    assert_allclose(K.truncation_error().value, error, rtol=1e-8)
    full = reference.kernel(case.spectrum, scalar)
    assert_allclose(np.linalg.norm(full - K.to_dense()), error, rtol=1e-8)
    distance, truncated = cut(case.spectrum, response, pairs.eigenvalues)
    if distance > 1e-6:
        agree(K, truncated, max(TOLERANCE, 1e-13 / distance))


def test_components_far_apart_in_the_numbering() -> None:
    """Two hyperedges at both ends of many isolated nodes: memory must not grow with those between.

    An n×n block would be 800 MB here.
    """
    incidence = sp.lil_array((10_000, 2))
    incidence[:3, 0] = incidence[-3:, 1] = 1.0
    laplacian = lg.Laplacian(lg.Hypergraph(sp.csr_array(incidence)))
    tracemalloc.start()
    try:
        K = lg.kernel(laplacian, "heat")
        with ignoring(lg.DegenerateCutWarning):
            low = lg.kernel(laplacian, "heat", rank=3)
        assert tracemalloc.get_traced_memory()[1] < 20e6
    finally:
        tracemalloc.stop()
    expected = np.ones(10_000)
    expected[:3] = expected[-3:] = 1 / 3 + 2 / 3 * np.exp(-1)
    assert_allclose(K.diagonal(), expected, rtol=0, atol=1e-14)
    assert_array_equal(low.response, np.ones(3))


def test_rank_n_beyond_the_dense_limit() -> None:
    case = large("gaussian")
    K = lg.kernel(case.laplacian, "heat", rank=case.problem.n)
    agree(K, reference.kernel(case.spectrum, reference.heat))
    assert K.truncation_error().value == 0.0


def test_same_seed_same_bits() -> None:
    laplacian = large("dense").laplacian
    first, second = (lg.kernel(laplacian, "heat", rank=4, random_state=5) for _ in range(2))
    assert_array_equal(first.to_dense(), second.to_dense())


def test_tolerance_is_passed_on() -> None:
    laplacian = large("gaussian").laplacian
    for tol in (1e-3, 1e-9):
        pairs = lg.kernel(laplacian, "heat", rank=8, tol=tol).eigenpairs
        assert pairs is not None
        assert pairs.residuals.max() <= tol


# --- malformed calls --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def small() -> lg.Laplacian:
    return lg.Laplacian(lg.AdjacencyGraph([[0, 1, 0], [1, 0, 1], [0, 1, 0]]))


@pytest.mark.parametrize(
    ("argument", "call"),
    [
        ("laplacian", {"laplacian": np.eye(3)}),
        ("laplacian", {"laplacian": lg.AdjacencyGraph(np.eye(3))}),
        ("laplacian", {"laplacian": None}),
        ("filter", {"filter": None}),
        ("filter", {"filter": "cubic"}),
        ("filter", {"filter": 1.0}),
        ("filter", {"filter": filters.Linear}),
        ("filter", {"filter": []}),
        ("filter", {"filter": ["linear", None]}),
        ("response of filter", {"filter": lambda x: 1.0}),
        ("response of filter", {"filter": lambda x: x[:1]}),
        ("response of filter", {"filter": lambda x: x + 1j}),
        ("response of filter", {"filter": np.log}),
        ("response of filter", {"filter": lambda x: np.full_like(x, np.nan), "rank": 2}),
        ("rank", {"rank": 0}),
        ("rank", {"rank": -1}),
        ("rank", {"rank": 4}),
        ("rank", {"rank": 2.0}),
        ("rank", {"rank": True}),
        ("rank", {"rank": "2"}),
        ("form", {"form": "sparse"}),
        ("form", {"form": None}),
        ("form", {"form": "low-rank"}),
        ("form", {"form": "dense", "rank": 2}),
        ("form", {"form": "affine"}),
        ("form", {"form": "structured"}),
        ("form", {"form": "polynomial", "filter": "heat"}),
        ("tol", {"tol": 0}),
        ("tol", {"tol": -1e-6}),
        ("tol", {"tol": float("nan")}),
        ("tol", {"tol": 1.0}),
        ("tol", {"tol": "small"}),
        ("random_state", {"random_state": -1}),
        ("random_state", {"random_state": None}),
        ("random_state", {"random_state": 0.5}),
    ],
)
def test_malformed_calls(small: lg.Laplacian, argument: str, call: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=rf"^{argument}.*: expected"):
        lg.kernel(**{"laplacian": small, "filter": "linear"} | call)


def test_arbitrary_filters_of_full_rank_need_a_rank_beyond_2048_nodes() -> None:
    n = 2100
    graph = lg.AdjacencyGraph.from_edge_index([np.arange(n - 1), np.arange(1, n)])
    laplacian = lg.Laplacian(graph)
    with pytest.raises(ValueError, match=r"^rank: expected a rank: .* n = 2100"):
        lg.kernel(laplacian, "heat")
    assert lg.kernel(laplacian, "quadratic").form == "polynomial"


def test_only_low_rank_kernels_have_a_response(small: lg.Laplacian) -> None:
    with pytest.raises(ValueError, match=r"^kernel: expected a kernel of given rank"):
        lg.kernel(small, "heat").response  # noqa: B018


def test_kernels_are_frozen(small: lg.Laplacian) -> None:
    with pytest.raises(AttributeError):
        lg.kernel(small, "heat").form = "other"  # type: ignore[misc]
