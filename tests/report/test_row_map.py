"""Coordinates of nodes in a plane."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

import lowrankgcn as lg
from lowrankgcn.report.pages import RowMap, class_plane, map_rows, spectral_embedding


def test_the_class_plane_does_not_depend_on_the_basis_of_a_multiple_eigenvalue() -> None:
    cars = lg.datasets.load_cars(as_frame=True)
    laplacian = lg.Laplacian(lg.Hypergraph.from_table(cars.data))
    X = spectral_embedding(lg.eigenpairs(laplacian, 16), slice(None))
    assert X.shape == (1728, 15)
    rotation = np.linalg.qr(np.random.default_rng(2).normal(size=(15, 15)))[0]
    target = np.asarray(cars.target)
    assert np.allclose(
        np.abs(class_plane(X @ rotation, target, cars.training)),
        np.abs(class_plane(X, target, cars.training)),
        rtol=0,
        atol=1e-10,
    )


class TestMapRows:
    @staticmethod
    def result(vectors: Any, values: Any, codes: Any, labelled: Any, seed: int = 0) -> Any:
        """Return what the map needs of a classification."""
        n, residuals = len(vectors), np.zeros(len(values))
        pairs = lg.Eigenpairs(np.array(values), vectors, residuals, "dense", 0, 1)
        return SimpleNamespace(
            classifier=SimpleNamespace(eigenpairs_=pairs, _sample=np.arange(n)),
            codes=codes,
            labelled=labelled,
            unplaced=np.zeros(n, bool),
            certainty=np.linspace(0.5, 1.0, n),
            seed=seed,
        )

    def placed(self, *arguments: Any, **options: Any) -> RowMap:
        placed = map_rows(self.result(*arguments, **options))
        assert placed is not None
        return placed

    def test_draws_a_choice_of_many_that_repeats_with_the_seed(self) -> None:
        n = 20_000
        vectors = np.random.default_rng(0).normal(size=(n, 4)).astype("float32")
        codes, labelled = np.arange(n) % 3, np.arange(n) < 900
        arguments = vectors, [0.0, 0.1, 0.2, 0.3], codes, labelled
        drawn = [self.placed(*arguments, seed=seed) for seed in (3, 3, 4)]
        for one in drawn:
            assert one.points.shape == (4000, 2) and len(set(one.rows)) == 4000
            assert not labelled[one.rows[:-400]].any() and labelled[one.rows[-400:]].all()
        assert np.array_equal(drawn[0].rows, drawn[1].rows)
        assert not np.array_equal(drawn[0].rows, drawn[2].rows)

    def test_components_are_separated(self) -> None:
        codes = np.repeat([0, 1], 50)
        halves = np.eye(2)[codes] / np.sqrt(50)
        drawn = self.placed(halves, [0.0, 0.0], codes, np.arange(100) % 25 == 0)
        means = [drawn.points[codes[drawn.rows] == code].mean(axis=0) for code in (0, 1)]
        assert np.linalg.norm(means[0] - means[1]) > 3

    def test_points_far_away_are_drawn_at_the_edge(self) -> None:
        points = np.random.default_rng(0).normal(size=(500, 3))
        points[7] = 1e4
        codes = (points[:, 1] > 0).astype(int)
        labelled = np.arange(500) % 9 == 3  # not the one far away
        drawn = self.placed(points / np.sqrt(500), [0.0, 0.1, 0.1], codes, labelled)
        assert drawn.n_outside == 1
        assert np.abs(drawn.points).max() < 20

    def test_one_eigenvector_is_drawn_against_the_probability(self) -> None:
        vectors = np.linspace(-1, 1, 10)[:, None]
        result = self.result(vectors, [0.4], np.arange(10) % 2, np.arange(10) < 4)
        drawn = map_rows(result)
        assert drawn is not None
        assert np.array_equal(drawn.points[:, 1], result.certainty[drawn.rows])
        assert drawn.axes[1] == "probability of the class"

    def test_plane_of_two_classes_shows_where_nodes_differ_most(self) -> None:
        generator = np.random.default_rng(0)
        points = generator.normal(size=(300, 4)) * [1.0, 5.0, 1.0, 1.0]
        classes = np.arange(300) % 2
        points[:, 0] += 20 * classes
        plane = class_plane(points, classes, np.arange(300))
        assert abs(np.corrcoef(plane[:, 0], points[:, 0])[0, 1]) > 0.99
        assert abs(np.corrcoef(plane[:, 1], points[:, 1])[0, 1]) > 0.95
