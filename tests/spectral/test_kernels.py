"""Kernels of every graph, smoother, filter and form against the oracle, to 1e-10."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import lowrankgcn as lg
from lowrankgcn.operators import DiagonalPlusLowRank, MatrixOperator, PolynomialOperator
from lowrankgcn.spectral.truncation import TruncationError
from tests.support.cases import strategies
from tests.support.cases.kernel_problems import TOLERANCE, agree, drawn, tolerance
from tests.support.cases.problems import (
    HYPERGRAPHS,
    KINDS,
    calm_blas,  # noqa: F401
    gap,
    ignoring,
    large,
    left_out,
    problems,
)
from tests.support.cases.strategies import FilterCase
from tests.support.contracts.operator_contract import check_operator, close
from tests.support.each import each
from tests.support.oracles import reference

WEIGHTED = [kind for kind in KINDS if kind not in HYPERGRAPHS]


@each("kind", KINDS)
@given(data=st.data())
def test_automatic_form_of_every_graph_smoother_and_filter(kind: str, data: st.DataObject) -> None:
    problem, smoother, spectrum, case, expected = drawn(data, kind, strategies.filter_cases())
    K = lg.kernel(lg.Laplacian(problem.graph, smoother), case.filter)
    agree(K, expected, tolerance(spectrum))
    assert K.eigenpairs is None
    assert not K.filter.needs
    assert K.truncation_error() == TruncationError(0.0, 0.0)


@pytest.mark.parametrize("kind", WEIGHTED)
@given(data=st.data())
def test_dense_form(kind: str, data: st.DataObject) -> None:
    cases = st.one_of(strategies.smooth_filters(), strategies.null_space_filters())
    problem, smoother, spectrum, case, expected = drawn(data, kind, cases)
    K = lg.kernel(lg.Laplacian(problem.graph, smoother), case.filter)
    agree(K, expected, tolerance(spectrum))
    assert K.form == "dense"
    assert isinstance(K.operator, MatrixOperator)


@pytest.mark.parametrize("kind", WEIGHTED)
@given(data=st.data())
def test_polynomial_form(kind: str, data: st.DataObject) -> None:
    problem, smoother, _, case, expected = drawn(data, kind, strategies.polynomial_filters())
    laplacian = lg.Laplacian(problem.graph, smoother)
    K = lg.kernel(laplacian, case.filter)
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
    assume(problem.graph.n_hyperedges <= problem.n)
    K = lg.kernel(lg.Laplacian(problem.graph, smoother), case.filter)
    agree(K, reference.kernel(spectrum, case.phi_on(spectrum)))
    degree = len(K.filter.coefficients or ()) - 1
    assert K.form == ("affine" if degree <= 1 else "structured")
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
    assume(problem.graph.n_hyperedges <= problem.n)
    K = lg.kernel(lg.Laplacian(problem.graph), case.filter)
    assert K.form == "structured"
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
    K = lg.kernel(lg.Laplacian(lg.Hypergraph(*problem)), case.filter)
    bound = case.filter.bind(spectrum.smallest_nonzero, spectrum.largest)
    agree(K, reference.hypergraph_full_rank_kernel(parts, phi))
    if bound.coefficients is not None:
        agree(K, reference.hypergraph_polynomial_kernel(parts, bound.coefficients))


@each("kind", KINDS)
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


# --- invariances ------------------------------------------------------------------------------


@each("kind", KINDS)
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
