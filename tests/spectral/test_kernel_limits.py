"""Kernels at the limits: overflow, text form, copies."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import lowrankgcn as lg
from lowrankgcn.spectral import filters

TRIANGLE = lg.Laplacian(lg.AdjacencyGraph(1 - np.eye(3)))
HYPERGRAPH = lg.Laplacian(lg.Hypergraph([[1, 0], [1, 1], [0, 1]]))
OVERFLOWING = [
    filters.Linear(1e-320),
    filters.Quadratic(1e-200),
    filters.Polynomial([1e308, 1e308, 1e308]),
]


def test_polynomials_that_overflow_are_refused() -> None:
    for laplacian in (TRIANGLE, HYPERGRAPH):
        for phi in OVERFLOWING:
            with pytest.raises(ValueError, match=r"^filter: expected coefficients that stay fini"):
                lg.kernel(laplacian, phi)


def test_wide_quadratic_filters_are_constant() -> None:
    assert filters.Quadratic(1e300).coefficients == (1.0, -2e-300, 0.0)


def test_repr_is_one_line() -> None:
    full = "Kernel(heat of Laplacian(AdjacencyGraph(3 nodes, dense), smoother=None), form='dense')"
    assert repr(lg.kernel(TRIANGLE, "heat")) == full
    assert repr(lg.kernel(TRIANGLE, "heat", rank=1)).endswith("form='low-rank', rank=1)")


def test_the_seed_of_a_truncation_error_is_checked() -> None:
    malformed: list[Any] = [-1, "0", None, 0.5]
    for rank in (None, 1):
        for seed in malformed:
            with pytest.raises(ValueError, match=r"^random_state: expected an integer >= 0"):
                lg.kernel(TRIANGLE, "heat", rank).truncation_error(random_state=seed)


def test_laplacians_can_be_copied_and_sent() -> None:
    points = np.random.default_rng(0).normal(size=(60, 2))
    for method in ("dense", "low-rank", "fourier", "split", "blocks"):
        laplacian = lg.Laplacian(lg.GaussianGraph(points, 1.0), method=method)
        for twin in (copy.deepcopy(laplacian), pickle.loads(pickle.dumps(laplacian))):
            assert_array_equal(twin @ points, laplacian @ points)
