"""Spectral coordinates of fitted and new rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.neighbors import NearestNeighbors

from lowrankgcn import AdjacencyGraph, GaussianGraph, Hypergraph, Laplacian
from lowrankgcn.gp.embedding import Embedding
from lowrankgcn.gp.views import GRAPHS, FittedViews
from tests.support.oracles import reference


@pytest.fixture(scope="module")
def points() -> np.ndarray:
    generator = np.random.default_rng(0)
    return np.concatenate([generator.normal(size=(30, 2)), generator.normal(5, 1, (30, 2))])


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    generator = np.random.default_rng(1)
    frame = pd.DataFrame(
        {
            "number": generator.normal(size=60),
            "holes": np.where(generator.random(60) < 0.3, np.nan, generator.normal(size=60)),
            "kind": generator.choice(list("aaab"), 60),
            "text": generator.choice(["x", "y", None], 60),
        }
    )
    frame.loc[0, "kind"] = "once"
    return frame


def test_coordinates_are_eigenvectors_of_the_walk(points: np.ndarray) -> None:
    weights = reference.gaussian_adjacency(points, 1.5)
    embedding, coordinates, pairs = Embedding.fit(
        GaussianGraph(points, 1.5), 5, smoother=None, tol=1e-9
    )
    degrees = weights.sum(axis=1)
    roots = np.sqrt(np.maximum(degrees / degrees.mean(), 0.1))
    np.testing.assert_allclose(coordinates, pairs.eigenvectors / roots[:, None], rtol=1e-6)
    inside = degrees > 0.1 * degrees.mean()
    walk = (weights / degrees[:, None]) @ (pairs.eigenvectors / np.sqrt(degrees)[:, None])
    scaled = walk * np.sqrt(degrees.mean()) / (1 - pairs.eigenvalues)
    np.testing.assert_allclose(scaled[inside], coordinates[inside], atol=1e-5)
    np.testing.assert_allclose(embedding.centre, coordinates.mean(axis=0), atol=1e-12)


def test_fitted_rows_of_hypergraphs_are_reproduced(table: pd.DataFrame) -> None:
    fitted = FittedViews.fit(table, graphs=("hypergraph",), rank=12, tol=1e-8)
    np.testing.assert_allclose(
        fitted.maps.read(table)["hypergraph"], fitted.views["hypergraph"], atol=1e-9
    )
    vectors = fitted.eigenpairs["hypergraph"].eigenvectors
    degrees = Laplacian(fitted.graphs["hypergraph"]).degrees
    walk = vectors / np.sqrt(np.maximum(degrees / degrees.mean(), 0.1))[:, None]
    np.testing.assert_allclose(fitted.views["hypergraph"], walk, atol=1e-5)
    incidence = sp.csr_array((np.random.default_rng(0).random((40, 9)) < 0.3) * 1.0)
    embedding, coordinates, _ = Embedding.fit(Hypergraph(incidence), 6, tol=1e-8)
    linked = incidence.sum(axis=1) > 0
    np.testing.assert_allclose(
        embedding.coordinates(incidence)[linked], coordinates[linked], atol=1e-6
    )


def test_new_rows_are_the_weighted_mean_of_their_neighbours(points: np.ndarray) -> None:
    graph = AdjacencyGraph.knn(points, 10, least_scale=0.1)
    embedding, coordinates, pairs = Embedding.fit(graph, 6)
    new = np.concatenate([points[:5] + 0.05, [[60.0, 60.0]]])  # the last has tiny weights
    search = NearestNeighbors(n_neighbors=10).fit(points)
    own_scale = search.kneighbors()[0][:, -1]  # without the point itself
    floor = 0.1 * own_scale.mean()
    distances, index = search.kneighbors(new)
    degrees = Laplacian(graph).degrees
    for i, (d, near) in enumerate(zip(distances, index, strict=True)):
        scales = np.maximum(d[-1], floor) * np.maximum(own_scale[near], floor)
        weights = np.exp(-(d**2) / scales)
        walk = pairs.eigenvectors[near] / np.sqrt(degrees[near] / degrees.mean())[:, None]
        expected = (weights / weights.sum()) @ walk
        found = embedding.coordinates(new[i : i + 1])[0]
        np.testing.assert_allclose(found, expected, atol=1e-9)
    assert coordinates.shape == (60, 6)


def test_rows_without_affinity_are_placed_at_the_centre(
    points: np.ndarray, table: pd.DataFrame
) -> None:
    embedding, coordinates, _ = Embedding.fit(GaussianGraph(points, 0.5), 4)
    far = embedding.coordinates(np.array([[1e6, 1e6], [0.0, 0.0]]))
    np.testing.assert_allclose(far[0], coordinates.mean(axis=0))
    assert np.isfinite(far).all()
    values = table[["kind", "text"]].copy()
    values.loc[[0, 1], "kind"], values.loc[[0, 1], "text"] = ["p", "q"], ["r", "s"]  # once each
    fitted = FittedViews.fit(values, graphs=GRAPHS, rank=5)
    unknown = fitted.maps.read(pd.DataFrame({"kind": ["new", "a"], "text": ["new", "x"]}))
    centre = fitted.maps.embeddings["hypergraph"].centre
    np.testing.assert_allclose(unknown["hypergraph"][0], centre)
    np.testing.assert_allclose(fitted.views["hypergraph"][:2], [centre, centre])
    np.testing.assert_allclose(centre, fitted.views["hypergraph"].mean(axis=0), atol=1e-9)


def test_disconnected_rows_and_isolated_nodes() -> None:
    weights = np.zeros((6, 6))
    weights[0, 1] = weights[1, 0] = weights[2, 3] = weights[3, 2] = 1.0
    embedding, coordinates, pairs = Embedding.fit(AdjacencyGraph(weights), 10)
    assert pairs.rank <= 6 and np.isfinite(coordinates).all()
    smooth = coordinates[:, pairs.eigenvalues < 1e-9]
    np.testing.assert_allclose(smooth[[0, 2]], smooth[[1, 3]], atol=1e-9)
    assert np.isfinite(embedding.coordinates(np.zeros((2, 6)))).all()


def test_views_of_fitted_rows_are_reproduced() -> None:
    generator = np.random.default_rng(0)
    numbers = pd.DataFrame(generator.normal(size=(1500, 4)), columns=list("abcd"))
    fitted = FittedViews.fit(numbers, rank=6)
    assert set(fitted.views) == {"standard", "ranks", *GRAPHS}
    assert fitted.graphs["gaussian"].n_nodes == 300  # a sample
    near = fitted.maps.read(numbers)
    for name in ("standard", "ranks", "gaussian", "hypergraph"):
        np.testing.assert_allclose(near[name], fitted.views[name], atol=1e-9, err_msg=name)
    both = np.corrcoef(near["neighbours"][:, 1], fitted.views["neighbours"][:, 1])
    assert both[0, 1] > 0.95


def test_neighbours_are_found_in_a_common_unit() -> None:
    generator = np.random.default_rng(0)
    numbers = generator.normal(size=(200, 4)) * [1.0, 1.0, 1.0, 1.5]
    graphs = [
        FittedViews.fit(numbers * factors, graphs=("neighbours",), rank=3).graphs["neighbours"]
        for factors in (np.ones(4), np.array([1.0, 1.0, 1.0, 100.0]))
    ]
    plain = [AdjacencyGraph.knn(rows, 10) for rows in (numbers, numbers / numbers.std(axis=0))]
    for graph, expected in zip(graphs, plain, strict=True):
        assert (graph.adjacency != 0).nnz == (expected.adjacency != 0).nnz
        assert ((graph.adjacency != 0) != (expected.adjacency != 0)).nnz == 0
