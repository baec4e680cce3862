"""Kernels of graphs beyond the dense limit, and malformed calls."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

import lowrankgcn as lg
from lowrankgcn.spectral import filters
from tests.support.cases.kernel_problems import TOLERANCE, agree, cut, tolerance
from tests.support.cases.problems import (
    LARGE,
    calm_blas,  # noqa: F401
    ignoring,
    large,
)
from tests.support.each import each
from tests.support.oracles import reference

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


@each("name", LARGE)
def test_large_full_kernels(name: str) -> None:
    case = large(name)
    for phi, oracle in LARGE_FILTERS[1:3]:  # a polynomial one and an arbitrary one
        K = lg.kernel(case.laplacian, phi, tol=1e-12)
        expected = reference.kernel(case.spectrum, oracle(case.spectrum))
        agree(K, expected, tolerance(case.spectrum))


@each("name", LARGE)
def test_large_low_rank_kernels(name: str) -> None:
    case, rank = large(name), 6
    for phi, oracle in LARGE_FILTERS if name in {"torus", "pieces"} else LARGE_FILTERS[::2]:
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
            agree(K, truncated, max(TOLERANCE, 1e-12 / distance))  # the tolerance over the gap


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


@pytest.fixture(scope="module")
def small() -> lg.Laplacian:
    return lg.Laplacian(lg.AdjacencyGraph([[0, 1, 0], [1, 0, 1], [0, 1, 0]]))


MALFORMED: list[Any] = [
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
    ("tol", {"tol": 0}),
    ("tol", {"tol": -1e-6}),
    ("tol", {"tol": float("nan")}),
    ("tol", {"tol": 1.0}),
    ("tol", {"tol": "small"}),
    ("random_state", {"random_state": -1}),
    ("random_state", {"random_state": None}),
    ("random_state", {"random_state": 0.5}),
]


def test_malformed_calls(small: lg.Laplacian) -> None:
    for argument, call in MALFORMED:
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
