"""Coordinates of nodes in a plane."""

from __future__ import annotations

import numpy as np

import lowrankgcn as lg
from lowrankgcn.report.embedding import class_plane, spectral_embedding


def test_the_class_plane_does_not_depend_on_the_basis_of_a_multiple_eigenvalue() -> None:
    cars = lg.datasets.load_cars(as_frame=True)
    laplacian = lg.Laplacian(lg.Hypergraph.from_table(cars.data))
    X = spectral_embedding(lg.eigenpairs(laplacian, 16))
    assert X.shape == (1728, 15)
    rotation = np.linalg.qr(np.random.default_rng(2).normal(size=(15, 15)))[0]
    target = np.asarray(cars.target)
    assert np.allclose(
        np.abs(class_plane(X @ rotation, target, cars.training)),
        np.abs(class_plane(X, target, cars.training)),
        rtol=0,
        atol=1e-10,
    )
