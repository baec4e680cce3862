"""Kernels of given rank: the dominant eigenpairs, and the error of leaving the rest."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import lowrankgcn as lg
from tests.support.cases import strategies
from tests.support.cases.kernel_problems import agree, bulk_size, cut, drawn, tolerance
from tests.support.cases.problems import (
    HYPERGRAPHS,
    KINDS,
    calm_blas,  # noqa: F401
    gap,
    ignoring,
    left_out,
    problems,
    recorded,
)
from tests.support.each import each
from tests.support.oracles import reference


@each("kind", KINDS)
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


@each("kind", KINDS)
@given(data=st.data())
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


@each("kind", KINDS)
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
