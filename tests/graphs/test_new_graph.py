"""A graph defined outside of the package works in all of its parts."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.distance import cdist

import lowrankgcn as lg
from lowrankgcn._codec import saved
from lowrankgcn.graphs import Graph
from lowrankgcn.graphs.cross_affinity import CrossAffinity, diagonal_factor, normalised
from lowrankgcn.operators import MatrixOperator
from lowrankgcn.operators.affinity import Affinity
from tests.support.contracts.graph_contract import check_graph


def cauchy(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    return 1 / (1 + 4 * cdist(X, Y, "sqeuclidean"))


@final
@dataclass(frozen=True, init=False, eq=False)
class CauchyGraph(Graph):
    """Points joined by the weights 1/(1 + 4‖x − y‖²)."""

    points: Any

    def __init__(self, points: np.ndarray) -> None:
        self._set(points=points)

    def __repr__(self) -> str:
        return f"CauchyGraph({self.n_nodes} points)"

    n_nodes = property(lambda self: len(self.points))
    loop_weights = property(lambda self: np.zeros(self.n_nodes))
    row_kind = property(lambda self: "points")
    row_columns = property(lambda self: range(self.points.shape[1]))
    node_data = property(lambda self: self.points)

    def affinity(self, *, tol: float = 1e-6, method: str = "auto") -> Affinity:
        adjacency = cauchy(self.points, self.points) - np.eye(self.n_nodes)
        zeros = np.zeros(self.n_nodes)
        return Affinity(MatrixOperator(adjacency), zeros, adjacency.sum(axis=1))

    def cross_affinity(self, affinity: Affinity, degrees: Any, loop_weight: float) -> CrossAffinity:
        columns = diagonal_factor(degrees)
        return CauchyCross(loop_weight=loop_weight, columns=columns, points=self.points)

    def _describe(self) -> tuple[str, str, dict[str, int | float]]:
        return "Cauchy graph", "All rows are joined.", {"columns": self.points.shape[1]}

    def _find_components(self) -> Any:
        return np.zeros(self.n_nodes, np.intp)


@saved
@final
@dataclass(frozen=True, eq=False, kw_only=True)
class CauchyCross(CrossAffinity):
    """The weights of new points."""

    points: np.ndarray

    n_columns = property(lambda self: len(self.points))

    def product(self, X: Any, Q: Any) -> Any:
        weights = cauchy(np.asarray(X), self.points)
        return normalised(weights @ Q, weights.sum(axis=1), self.loop_weight)


@pytest.fixture(scope="module")
def two_groups() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    classes = np.repeat([0, 1], 40)
    return rng.normal(size=(80, 2)) + 6.0 * classes[:, None], classes


def test_contract(two_groups: tuple[np.ndarray, np.ndarray]) -> None:
    points, _ = two_groups
    check_graph(CauchyGraph(points), cauchy(points, points) - np.eye(80), np.zeros(80))


@pytest.mark.parametrize("given_as", ["option", "rows"])
def test_classifier(
    two_groups: tuple[np.ndarray, np.ndarray], tmp_path: Path, given_as: str
) -> None:
    points, classes = two_groups
    graph = CauchyGraph(points)
    y = np.where(np.arange(80) % 8 == 0, classes, -1)
    options: dict[str, Any] = {"architecture": "low-rank", "max_iter": 100, "random_state": 0}
    if given_as == "option":
        classifier = lg.GCNClassifier(graph=graph, **options).fit(points, y)
    else:
        classifier = lg.GCNClassifier(**options).fit(graph, y)
    assert (classifier.transduction_ == classes).all()
    assert (classifier.predict(points + 0.1) == classes).all()
    lg.save(classifier, tmp_path / "model")
    restored = lg.load(tmp_path / "model")
    expected = classifier.predict_proba(points[:5] + 0.1)
    assert_allclose(restored.predict_proba(points[:5] + 0.1), expected, rtol=1e-6)


def test_gaussian_process(two_groups: tuple[np.ndarray, np.ndarray]) -> None:
    points, classes = two_groups
    y = np.where(np.arange(80) % 8 == 0, classes, -1)
    classifier = lg.SpectralGPClassifier(graph=CauchyGraph(points), random_state=0).fit(points, y)
    assert (classifier.transduction_ == classes).all()
    assert (classifier.predict(points + 0.1) == classes).all()
    assert len(classifier.suggest(3)) == 3
