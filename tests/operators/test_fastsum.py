"""Every fast summation method keeps the tolerance and reports its error."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from lowrankgcn import GaussianGraph
from lowrankgcn.exceptions import FastSumError
from lowrankgcn.operators.affinity import Affinity
from lowrankgcn.operators.fastsum import METHODS, gaussian_sum
from lowrankgcn.operators.gaussian_sums import GaussianBlocks, PointCloud
from lowrankgcn.operators.symmetric_operator import DENSE_LIMIT
from tests.support.contracts.operator_contract import block, close
from tests.support.each import each
from tests.support.oracles import reference

N = 2100  # too large for the dense method

# The error is measured on four vectors and some forty rows of the kernel.
SMALL_MULTIPLE = 10
ROUNDING = 1e-10


@dataclass(frozen=True)
class Case:
    """Points with the dense weights of the oracle."""

    points: np.ndarray
    bandwidth: float
    adjacency: np.ndarray

    @property
    def isolated(self) -> np.ndarray:
        return ~(self.adjacency > 0).any(axis=1)

    def sum(self, tol: float = 1e-6, method: str = "auto", seed: int = 0) -> Affinity:
        cloud = PointCloud.from_points(self.points, self.bandwidth)
        options = {"tol": tol, "method": method, "random_state": seed}
        return gaussian_sum(cloud, isolated=self.isolated, **options)

    def true_error(self, fast: Affinity) -> float:
        """Largest ‖D^-1/2 (W~ - W) D^-1/2 y‖ / ‖y‖ over smooth vectors y, all rows compared."""
        W, d = self.adjacency, self.adjacency.sum(axis=1)
        n, dimension = self.points.shape
        frequencies = 2 * block(dimension, 6, seed=7) / np.sqrt(dimension)
        waves = np.cos(self.points / self.bandwidth @ frequencies)
        smooth = np.sqrt(d)[:, None] * np.column_stack([np.ones(n), waves])
        scale = np.zeros(n)
        np.power(d, -0.5, out=scale, where=d > 0)
        X = scale[:, None] * smooth
        difference = fast.operator @ X - fast.diagonal[:, None] * X - W @ X
        errors = np.linalg.norm(scale[:, None] * difference, axis=0)
        norms = np.linalg.norm(smooth, axis=0)
        return float((errors / np.where(norms > 0, norms, 1.0)).max())


@cache
def case(kind: str, dimension: int, bandwidth: float) -> Case:
    points = block(N, dimension, seed=dimension)
    if kind == "box":
        points = np.random.default_rng(0).random((N, dimension))
    elif kind == "duplicates":  # few distinct points, some of them rare
        visits = np.random.default_rng(0).zipf(1.3, size=N) % (N // 7)
        points = points[visits]
    elif kind == "clusters":  # three components and two isolated points
        points[:, 0] += 60 * bandwidth * (np.arange(N) % 3)
        points[:2] += 1e4 * bandwidth * np.arange(1, 3)[:, None]
    elif kind == "outliers":  # degrees from 1e-3 down to 1e-100
        points[:20] *= 3
        points[20:24] += bandwidth * np.array([4.0, 6.0, 9.0, 15.0])[:, None]
    elif kind == "exponential":
        points = np.random.default_rng(0).exponential(size=(N, dimension))
    elif kind == "heavy tails":
        points = np.random.default_rng(0).standard_cauchy(size=(N, dimension))
    elif kind == "clump":  # a few points away from all others
        points[:9] = 0.1 * points[:9] + 7.0
    return Case(points, bandwidth, reference.gaussian_adjacency(points, bandwidth))


WIDE = [("normal", 1, 1.0), ("normal", 2, 2.0), ("normal", 3, 4.0), ("clump", 2, 3.0)]
WIDE += [("clusters", 1, 1.0), ("clusters", 2, 1.5), ("duplicates", 2, 1.0), ("normal", 10, 30.0)]
MEDIUM = [("box", 1, 0.01), ("box", 2, 0.1), ("normal", 3, 2.0), ("clump", 2, 1.0)]
NARROW = [("normal", 2, 0.1), ("clusters", 1, 0.01), ("clusters", 3, 0.2), ("duplicates", 3, 0.3)]
HARD = [("outliers", 1, 0.5), ("outliers", 2, 0.5), ("outliers", 3, 1.0), ("normal", 10, 4.0)]
TAILS = [("exponential", 2, 0.7), ("exponential", 3, 0.9), ("heavy tails", 2, 2.0)]
TAILS += [("heavy tails", 3, 3.0)]
FORCED = [
    *(("low-rank", *parameters) for parameters in WIDE),
    *(("fourier", *parameters) for parameters in MEDIUM),
    *(("split", *parameters) for parameters in NARROW),
    *(("split", *parameters) for parameters in [*TAILS, HARD[1]]),
]


def check_degrees(problem: Case, fast: Affinity, tol: float) -> None:
    """Check that degrees are zero for isolated points, positive otherwise, and row sums.

    The latter up to rounding, which is that of float32 where the tolerance allows it.
    """
    isolated = problem.isolated
    assert (fast.degrees[isolated] == 0).all()
    assert (fast.degrees[~isolated] > 0).all()
    sums = fast.operator @ np.ones(N) - fast.diagonal
    tolerances = {"rtol": max(tol / 100, 1e-11), "atol": 1e-13}
    assert_allclose(fast.degrees[~isolated], sums[~isolated], **tolerances)


AUTO = [(parameters, 1e-9) for parameters in [*WIDE, *MEDIUM]]
AUTO += [(parameters, 1e-3) for parameters in [*WIDE[::3], *MEDIUM[1::2]]]
AUTO += [(parameters, 1e-6) for parameters in [*NARROW, *HARD, *TAILS]]


@each(("parameters", "tol"), AUTO, ids=str)
def test_auto_keeps_the_tolerance(parameters: tuple[str, int, float], tol: float) -> None:
    problem = case(*parameters)
    fast = problem.sum(tol)
    assert fast.method in METHODS[2:]
    check_degrees(problem, fast, tol)
    true = problem.true_error(fast)
    assert fast.error <= tol
    assert true <= 3 * tol
    if fast.exact:
        assert fast.error == 0.0
        assert true <= ROUNDING


HONEST = [(parameters, 1e-9) for parameters in FORCED]
HONEST += [(parameters, 1e-3) for parameters in FORCED[::2]]


@each(("parameters", "tol"), HONEST, ids=str)
def test_named_methods_report_their_error(
    parameters: tuple[str, str, int, float], tol: float
) -> None:
    method, *rest = parameters
    problem = case(*rest)
    fast = problem.sum(tol, method)
    assert fast.method == method
    assert not fast.exact
    check_degrees(problem, fast, tol)
    true = problem.true_error(fast)
    # A method that cannot reach the tolerance returns its best result and that result's error.
    assert true <= max(SMALL_MULTIPLE * fast.error, ROUNDING)
    assert true <= 3 * tol


@each("dimension", [1, 2, 3])
@each("kind", ["exponential", "standard_cauchy", "pareto"])
def test_outliers_do_not_need_all_pairs(
    kind: str, dimension: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(GaussianBlocks, "_apply")  # used by exact sums only
    generator = np.random.default_rng(0)
    options = {"a": 1.0} if kind == "pareto" else {}
    points = getattr(generator, kind)(size=(20_000, dimension), **options)
    weights = GaussianGraph(points).affinity(tol=1e-4)
    assert weights.error <= 1e-4
    assert weights.method in ("fourier", "split")


@pytest.mark.parametrize("method", ["dense", "blocks"])
def test_exact_methods(method: str) -> None:
    problem = case("outliers", 2, 0.5)
    fast = problem.sum(method=method)
    assert (fast.method, fast.error, fast.exact) == (method, 0.0, True)
    assert not fast.diagonal.any()
    X = block(N, 2)
    close(fast.operator @ X, problem.adjacency @ X)
    # Relative accuracy down to degrees of 1e-100.
    assert_allclose(fast.degrees, problem.adjacency.sum(axis=1), rtol=1e-10)


def test_choice_of_methods() -> None:
    """Wide kernels use low rank, medium ones Fourier sums, narrow ones stored weights."""
    assert case("normal", 2, 2.0).sum().method == "low-rank"
    assert case("normal", 10, 30.0).sum(1e-3).method == "low-rank"
    assert case("box", 2, 0.1).sum(1e-9).method == "fourier"
    assert case("clusters", 3, 0.2).sum().method == "split"
    assert case("normal", 10, 4.0).sum(1e-9).method == "blocks"
    small = PointCloud.from_points(block(DENSE_LIMIT, 1), 1.0)
    assert gaussian_sum(small, tol=1e-3).method == "dense"


@pytest.mark.parametrize(
    ("method", "parameters"),
    [
        ("low-rank", ("outliers", 2, 0.5)),  # degrees of 1e-100 drown in rounding
        ("fourier", ("outliers", 2, 0.5)),
        ("fourier", ("normal", 3, 1e-3)),  # more modes than are worth it
    ],
)
def test_methods_that_cannot_represent_the_kernel_raise(
    method: str, parameters: tuple[str, int, float]
) -> None:
    with pytest.raises(FastSumError, match=f"method='{method}'"):
        case(*parameters).sum(method=method)


def test_fourier_sums_need_few_dimensions() -> None:
    with pytest.raises(ValueError, match="method: expected at most 3 dimensions"):
        case("normal", 10, 4.0).sum(method="fourier")


@pytest.mark.parametrize(("dimension", "bandwidth"), [(1, 1e6), (3, 1e150), (10, 1e150)])
def test_huge_bandwidths(dimension: int, bandwidth: float) -> None:
    problem = case("normal", dimension, bandwidth)
    methods = ["auto", "low-rank", "blocks", *(["fourier"] if dimension <= 3 else [])]
    for method in methods:
        fast = problem.sum(1e-6, method)
        assert problem.true_error(fast) <= 1e-6
        assert_allclose(fast.degrees, N - 1, rtol=1e-6)


@pytest.mark.parametrize(("dimension", "bandwidth"), [(1, 1e-6), (3, 1e-200), (10, 1e-6)])
def test_tiny_bandwidths(dimension: int, bandwidth: float) -> None:
    points = np.repeat(block(N // 2, dimension, seed=dimension), 2, axis=0)
    points[::10] = 5.0 + np.arange(N // 10)[:, None]  # and some points without a twin
    problem = Case(points, bandwidth, reference.gaussian_adjacency(points, bandwidth))
    for method in ("auto", "split", "blocks"):
        fast = problem.sum(method=method)
        assert_allclose(fast.degrees, problem.adjacency.sum(axis=1), rtol=1e-6)
        assert problem.true_error(fast) <= ROUNDING


def test_no_edges() -> None:
    points = np.arange(N)[:, None] * 100.0
    problem = Case(points, 1.0, np.zeros((N, N)))
    for method in ("auto", "low-rank", "split", "blocks"):
        fast = problem.sum(method=method)
        assert not fast.degrees.any()
        assert fast.error == 0.0


@each(
    ("method", "parameters"),
    [
        ("low-rank", ("normal", 2, 2.0)),
        ("low-rank", ("normal", 10, 30.0)),
        ("fourier", ("normal", 3, 2.0)),
        ("split", ("normal", 2, 0.1)),
        ("blocks", ("normal", 10, 4.0)),
        ("dense", ("normal", 10, 4.0)),
    ],
)
def test_same_seed_gives_the_same_result(
    method: str, parameters: tuple[str, int, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    problem, X = case(*parameters), block(N, 3)
    before = problem.points.copy()
    results = []
    for threads in ("1", "2"):
        monkeypatch.setenv("LOWRANKGCN_NUM_THREADS", threads)
        fast = problem.sum(1e-4, method, seed=3)
        results.append((fast.operator @ X, fast.degrees, fast.diagonal))
    for one, other in zip(*results, strict=True):
        close(one, other)
    assert_array_equal(problem.points, before)


def test_error_includes_rare_points() -> None:
    # Nearly every distinct point becomes a landmark, so only a few rare points carry an error.
    problem = case("duplicates", 3, 0.3)
    try:
        fast = problem.sum(1e-3, "low-rank")
    except FastSumError:
        return  # detected, and rejected
    assert problem.true_error(fast) <= SMALL_MULTIPLE * fast.error


@pytest.mark.parametrize(
    ("method", "dimension", "bandwidth", "reason"),
    [
        ("split", 4, 100.0, r"too many pairs.* a smaller bandwidth"),
        ("fourier", 3, 1e-3, r"too many Fourier modes.* a larger bandwidth"),
    ],
)
def test_error_messages_name_a_remedy(
    method: str, dimension: int, bandwidth: float, reason: str
) -> None:
    cloud = PointCloud.from_points(block(6500, dimension), bandwidth)
    with pytest.raises(FastSumError, match=reason):
        gaussian_sum(cloud, tol=1e-6, method=method)
