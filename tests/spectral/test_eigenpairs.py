"""The pairs that a filter weighs most (Lemma 1), the largest ones, and malformed calls."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import lowrankgcn as lg
from lowrankgcn.spectral import filters
from tests.support.cases import strategies
from tests.support.cases.problems import (
    KINDS,
    METHODS,
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


def bump(centre: float, width: float) -> Any:
    """A callable filter that is largest inside the spectrum."""
    return lambda x: np.exp(-(((x - centre) / width) ** 2))


def strongest(response: np.ndarray, k: int) -> np.ndarray:
    return np.sort(np.abs(response))[::-1][:k]


# --- small graphs -----------------------------------------------------------------------------


@each("kind", KINDS)
@given(data=st.data())
def test_dominant_pairs_of_every_graph(kind: str, data: st.DataObject) -> None:
    method = data.draw(st.sampled_from(METHODS[1:]))
    problem = data.draw(problems(kind))
    smoother = data.draw(strategies.smoothers(problem.n))
    case = data.draw(strategies.filter_cases())
    k = data.draw(st.integers(1, problem.n))
    spectrum = problem.spectrum(smoother)
    assume(not case.needs or spectrum.largest > 0)
    response = reference.response(case.phi_on(spectrum), spectrum.eigenvalues)
    laplacian = lg.Laplacian(problem.graph, smoother)
    try:
        with recorded() as warned:
            pairs = lg.eigenpairs(
                laplacian, k, which="dominant", filter=case.filter, method=method, tol=1e-12
            )
    except lg.EigensolverError as error:
        # Rightly so only if the strongest are not among those at the ends of the spectrum.
        assert method != "dense"
        assert "inside the spectrum" in str(error)
        n, zeros = problem.n, spectrum.n_zero
        ends = np.r_[0 : min(zeros + k + 1, n), max(n - k - 1, 0) : n]
        assert len(np.unique(ends)) < n
        return
    assert pairs.rank == k
    bound = case.filter.bind(spectrum.smallest_nonzero or 1.0, spectrum.largest or 1.0)
    found = np.abs(bound(pairs.eigenvalues))
    scale = max(1.0, float(np.abs(response).max()))
    assert_allclose(np.sort(found)[::-1], strongest(response, k), rtol=1e-9, atol=1e-9 * scale)
    U = pairs.eigenvectors
    matrix = problem.matrix(smoother)
    assert_allclose(matrix @ U, U * pairs.eigenvalues, rtol=0, atol=1e-11)
    assert_allclose(U.T @ U, np.eye(k), rtol=0, atol=1e-11)
    assert (np.diff(pairs.eigenvalues) >= 0).all()
    assert pairs.n_components == spectrum.n_zero
    distance = gap(left_out(spectrum.eigenvalues, pairs.eigenvalues), pairs.eigenvalues)
    if not 1e-10 < distance < 1e-6:
        assert (lg.DegenerateCutWarning in warned) == (distance <= 1e-10)
    assert (lg.DisconnectedGraphWarning in warned) == (spectrum.n_zero > 1)


@each("kind", KINDS)
@given(data=st.data())
def test_largest_pairs_of_every_graph(kind: str, data: st.DataObject) -> None:
    problem = data.draw(problems(kind))
    smoother = data.draw(strategies.smoothers(problem.n))
    k = data.draw(st.integers(1, problem.n))
    spectrum = problem.spectrum(smoother)
    method = data.draw(st.sampled_from(METHODS[1:]))
    laplacian = lg.Laplacian(problem.graph, smoother)
    with ignoring(lg.DisconnectedGraphWarning, lg.DegenerateCutWarning):
        pairs = lg.eigenpairs(laplacian, k, which="largest", method=method, tol=1e-12)
    assert_allclose(pairs.eigenvalues, spectrum.eigenvalues[-k:], rtol=0, atol=1e-11)
    U = pairs.eigenvectors
    assert_allclose(problem.matrix(smoother) @ U, U * pairs.eigenvalues, rtol=0, atol=1e-11)


# --- ties -------------------------------------------------------------------------------------


def test_equal_strengths_go_to_the_smaller_eigenvalue() -> None:
    """|1 − λ| is the same for λ and 2 − λ of an even cycle; rounding must not decide."""
    n = 12
    cycle = np.roll(np.eye(n), 1, axis=0) + np.roll(np.eye(n), -1, axis=0)
    laplacian = lg.Laplacian(lg.AdjacencyGraph(cycle))
    a, b, c = 1 - np.cos(np.pi / 6), 1 - np.cos(np.pi / 3), 1.0
    order = [0.0, 2.0, a, a, 2 - a, 2 - a, b, b, 2 - b, 2 - b, c, c]
    cuts = {3, 5, 7, 9, 11}
    for k in range(1, n + 1):
        with recorded() as warned:
            pairs = lg.eigenpairs(laplacian, k, which="dominant", filter="linear")
        assert_allclose(pairs.eigenvalues, np.sort(order[:k]), rtol=0, atol=1e-12)
        assert warned == [lg.DegenerateCutWarning] * (k in cuts), k


@pytest.mark.parametrize("method", METHODS[1:])
def test_copies_beyond_the_computed_pairs(method: Any) -> None:
    """The filter takes the last of the k + 1 smallest, whose copies a solver must still notice."""
    sets = [range(5), range(6), range(6)]
    graph = lg.Hypergraph.from_node_sets(sets, n_nodes=7)
    loops = np.array([1.0, 1.0, 1.0, 1.01, 1.01, 1.0, 1.0])
    laplacian = lg.Laplacian(graph, loops)
    with recorded() as warned:
        pairs = lg.eigenpairs(
            laplacian, 3, which="dominant", filter=lambda x: np.cos(2 * x), method=method, tol=1e-12
        )
    assert set(warned) == {lg.DegenerateCutWarning, lg.DisconnectedGraphWarning}
    assert_allclose(pairs.next_eigenvalue, pairs.eigenvalues[-1], rtol=0, atol=1e-10)


@pytest.mark.parametrize("method", METHODS)
def test_constant_filters_keep_the_smallest(method: Any) -> None:
    case = large("gaussian")
    for spec, first in (("constant", 0), ("high-pass", 1)):
        pairs = lg.eigenpairs(case.laplacian, 5, which="dominant", filter=spec, method=method)
        expected = case.spectrum.eigenvalues[first : first + 5]
        assert_allclose(pairs.eigenvalues, expected, rtol=0, atol=1e-6)


# --- beyond 512 nodes -------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS[1:])
def test_largest(method: Any) -> None:
    for name, k in (("gaussian", 1), ("torus", 6), ("pieces", 5)):
        case = large(name)
        with ignoring(lg.DisconnectedGraphWarning, lg.DegenerateCutWarning):
            pairs = lg.eigenpairs(case.laplacian, k, which="largest", method=method)
        assert_allclose(pairs.eigenvalues, case.spectrum.eigenvalues[-k:], rtol=0, atol=1e-6)
        U = pairs.eigenvectors
        true = np.linalg.norm(case.matrix @ U - U * pairs.eigenvalues, axis=0)
        assert true.max() <= 1e-6
        assert_array_equal(U, reference.canonical_signs(U))


FILTERS: list[tuple[Any, Any]] = [
    (filters.Polynomial([0.0, 1.0]), lambda x: x),
    (filters.HighPass(0.9), lambda x: reference.high_pass(x, 0.9)),
    (filters.Polynomial([1.0, -2.0, 1.0]), lambda x: (1 - x) ** 2),
    (filters.Pseudoinverse(1.0), reference.pseudoinverse),
    (filters.Heat() + 2 * filters.ZeroImpulse(), lambda x: np.exp(-x) + 2 * (x == 0)),
    (np.cos, np.cos),
    (lambda x: np.where(x > 1.2, x / 4, 0.0) + np.exp(-9 * x), None),
]


@pytest.mark.parametrize(
    ("name", "method"),
    [("torus", "dense"), ("torus", "block"), ("pieces", "block")],
)
def test_filters_that_are_strongest_elsewhere(name: str, method: Any) -> None:
    """Filters that are strongest at the upper end, at both ends, or only at zero."""
    case = large(name)
    k = case.spectrum.n_zero + 4
    values = case.spectrum.eigenvalues
    for phi, scalar in FILTERS:
        if isinstance(phi, filters.HighPass) and name == "torus" and method != "dense":
            continue  # hundreds of equal strengths: the iteration visits most of the spectrum
        response = phi(values) if scalar is None else reference.response(scalar, values)
        with ignoring(lg.DisconnectedGraphWarning, lg.DegenerateCutWarning):
            pairs = lg.eigenpairs(
                case.laplacian, k, which="dominant", filter=phi, method=method, tol=1e-9
            )
        assert pairs.rank == k
        found = np.abs(filters.as_filter(phi)(pairs.eigenvalues))
        assert_allclose(np.sort(found)[::-1], strongest(response, k), rtol=0, atol=1e-6)
        U = pairs.eigenvectors
        true = np.linalg.norm(case.matrix @ U - U * pairs.eigenvalues, axis=0)
        assert true.max() <= 1e-9
        assert_allclose(U.T @ U, np.eye(k), rtol=0, atol=1e-8)


@pytest.mark.parametrize("method", ["auto", "block"])
def test_strongest_inside_the_spectrum(method: Any) -> None:
    case = large("dense")
    inside = bump(1.0, 0.02)
    with pytest.raises(lg.EigensolverError, match=r"inside the spectrum.*method='dense'"):
        lg.eigenpairs(case.laplacian, 3, which="dominant", filter=inside, method=method)
    with pytest.raises(lg.EigensolverError, match="inside the spectrum"):
        lg.kernel(case.laplacian, inside, rank=3)
    pairs = lg.eigenpairs(case.laplacian, 3, which="dominant", filter=inside, method="dense")
    nearest = np.sort(np.abs(case.spectrum.eigenvalues - 1.0))[:3]
    assert_allclose(np.sort(np.abs(pairs.eigenvalues - 1.0)), nearest, rtol=0, atol=1e-12)


def test_iterative_solvers_reach_a_bump_over_few_eigenvalues() -> None:
    """The spectrum of the Gaussian graph is sparse at 0.3."""
    case = large("gaussian")
    values = case.spectrum.eigenvalues
    narrow = bump(values[2], 0.05)
    pairs = lg.eigenpairs(case.laplacian, 3, which="dominant", filter=narrow)
    response = narrow(values)
    assert_allclose(
        np.sort(narrow(pairs.eigenvalues))[::-1], strongest(response, 3), rtol=0, atol=1e-9
    )


@pytest.mark.parametrize("method", METHODS)
def test_lists_of_filters(method: Any) -> None:
    """The largest response over the list counts: both ends of the spectrum."""
    case = large("torus")
    specs = [filters.Linear(largest=2.0), filters.Polynomial([0.0, 0.4])]
    with ignoring(lg.DegenerateCutWarning):
        pairs = lg.eigenpairs(case.laplacian, 6, which="dominant", filter=specs, method=method)
    values = case.spectrum.eigenvalues
    response = np.maximum(np.abs(1 - values / 2), np.abs(0.4 * values))
    found = np.maximum(np.abs(1 - pairs.eigenvalues / 2), np.abs(0.4 * pairs.eigenvalues))
    assert_allclose(np.sort(found)[::-1], strongest(response, 6), rtol=0, atol=1e-6)


# --- hypergraphs: never past the numerical rank -----------------------------------------------


@pytest.fixture(scope="module")
def cars() -> lg.Laplacian:
    frame = lg.datasets.load_cars(as_frame=True).data
    return lg.Laplacian(lg.Hypergraph.from_table(frame))


def test_more_pairs_than_determined(cars: lg.Laplacian) -> None:
    for options in ({}, {"which": "dominant", "filter": "linear"}):
        with recorded() as warned:
            pairs = lg.eigenpairs(cars, 20, **options)  # type: ignore[arg-type]
        assert pairs.rank == 16
        assert pairs.eigenvectors.shape == (1728, 16)
        assert warned == [lg.RankWarning]
    with pytest.warns(lg.RankWarning, match=r"20.*only 16.*1712"):
        lg.eigenpairs(cars, 20)
    with pytest.warns(lg.RankWarning, match=r"20.*only 16.*1712"):
        lg.kernel(cars, "linear", rank=20)


def test_null_vectors_are_ranked_by_their_strength(cars: lg.Laplacian) -> None:
    with recorded() as warned:
        pairs = lg.eigenpairs(cars, 16, which="dominant", filter="pseudoinverse")
    assert warned == [lg.RankWarning]
    assert_allclose(pairs.eigenvalues, np.full(15, 5 / 6), rtol=0, atol=1e-14)


def test_eigenvalue_one_is_never_chosen(cars: lg.Laplacian) -> None:
    with pytest.raises(ValueError, match=r"^filter: .* eigenvalue 1, whose 1712 eigenvectors"):
        lg.eigenpairs(cars, 3, which="dominant", filter=lambda x: x)
    with pytest.raises(ValueError, match=r"^which: .* eigenvalue 1, whose 1712 eigenvectors"):
        lg.eigenpairs(cars, 3, which="largest")
    # Equal strength is not enough to prefer it.
    with ignoring(lg.DegenerateCutWarning):
        pairs = lg.eigenpairs(cars, 3, which="dominant", filter="constant")
    assert_allclose(pairs.eigenvalues, [0.0, 5 / 6, 5 / 6], rtol=0, atol=1e-14)


def test_largest_of_a_hypergraph_by_a_solver_that_has_them_all(cars: lg.Laplacian) -> None:
    with ignoring(lg.DegenerateCutWarning):
        pairs = lg.eigenpairs(cars, 3, which="largest", method="block")
    assert_allclose(pairs.eigenvalues, 1.0, rtol=0, atol=1e-6)


# --- binding ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["gaussian", "table-own-loops", "table-identity", "pieces"])
def test_automatic_parameters_are_those_of_the_spectrum(name: str) -> None:
    case = large(name)
    specs = [filters.Linear("auto"), filters.Quadratic("auto")]
    for phi in (K.filter for K in lg.kernel(case.laplacian, specs, tol=1e-9)):
        assert isinstance(phi, filters.Linear | filters.Quadratic)
        assert_allclose(phi.largest, case.spectrum.largest, rtol=1e-9)
    with ignoring(lg.DegenerateCutWarning):
        first, second = lg.kernel(
            case.laplacian, [filters.Pseudoinverse(), filters.Heat()], rank=3, tol=1e-9
        )
    assert isinstance(first.filter, filters.Pseudoinverse)
    assert_allclose(first.filter.scale, case.spectrum.smallest_nonzero, rtol=1e-9)
    assert second.filter == filters.Heat()


@pytest.mark.parametrize("rank", [None, 2, 600])
def test_graphs_without_edges_bind_anything(rank: int | None) -> None:
    laplacian = lg.Laplacian(lg.AdjacencyGraph(sp.csr_array((600, 600))))
    with ignoring(lg.DegenerateCutWarning):
        for spec, expected in (("pseudoinverse", 0.0), (filters.Linear("auto"), 1.0)):
            K = lg.kernel(laplacian, spec, rank)
            kept = np.arange(600) < (600 if rank is None else rank)
            assert_allclose(K.diagonal(), np.where(kept, expected, 0.0), rtol=0, atol=0)


# --- malformed calls --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def small() -> lg.Laplacian:
    return lg.Laplacian(lg.AdjacencyGraph([[0, 1, 0], [1, 0, 1], [0, 1, 0]]))


MALFORMED: list[Any] = [
    ("laplacian", {"laplacian": np.eye(3)}),
    ("laplacian", {"laplacian": lg.AdjacencyGraph(np.eye(3))}),
    ("laplacian", {"laplacian": None}),
    ("k", {"k": 0}),
    ("k", {"k": -1}),
    ("k", {"k": 4}),
    ("k", {"k": 2.0}),
    ("k", {"k": True}),
    ("k", {"k": "2"}),
    ("k", {"k": None}),
    ("which", {"which": "middle"}),
    ("which", {"which": None}),
    ("which", {"which": 0}),
    ("method", {"method": "arpack"}),
    ("method", {"method": None}),
    ("method", {"method": "svd"}),
    ("method", {"method": "low-rank"}),
    ("filter", {"which": "dominant"}),
    ("filter", {"filter": "linear"}),
    ("filter", {"filter": "linear", "which": "largest"}),
    ("filter", {"which": "dominant", "filter": "cubic"}),
    ("filter", {"which": "dominant", "filter": []}),
    ("filter", {"which": "dominant", "filter": filters.Linear}),
    ("filter", {"which": "dominant", "filter": 3}),
    ("response of filter", {"which": "dominant", "filter": lambda x: 1.0}),
    ("response of filter", {"which": "dominant", "filter": lambda x: 1 / x}),
    ("tol", {"tol": 0}),
    ("tol", {"tol": -1.0}),
    ("tol", {"tol": float("nan")}),
    ("tol", {"tol": float("inf")}),
    ("tol", {"tol": 0.5}),
    ("tol", {"tol": "1e-6"}),
    ("tol", {"tol": True}),
    ("random_state", {"random_state": -1}),
    ("random_state", {"random_state": None}),
    ("random_state", {"random_state": 1.5}),
    ("max_iter", {"max_iter": 0}),
    ("max_iter", {"max_iter": 1.5}),
    ("max_iter", {"max_iter": 2**31, "method": "block"}),
    ("dtype", {"dtype": "float16"}),
    ("dtype", {"dtype": int}),
    ("dtype", {"dtype": None}),
    ("dtype", {"dtype": np.ones(2)}),
]


def test_malformed_calls(small: lg.Laplacian) -> None:
    for argument, call in MALFORMED:
        with pytest.raises(ValueError, match=rf"^{argument}.*: expected"):
            lg.eigenpairs(**{"laplacian": small, "k": 2} | call)


def test_options_are_keywords(small: lg.Laplacian) -> None:
    with pytest.raises(TypeError):
        lg.eigenpairs(small, 2, "largest")  # type: ignore[misc]


def test_numpy_integers_are_integers(small: lg.Laplacian) -> None:
    assert lg.eigenpairs(small, np.int64(2), random_state=np.uint8(3)).rank == 2
