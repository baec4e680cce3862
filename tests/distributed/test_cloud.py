"""Units, samples and components of points in blocks against those of all points at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray

import lowrankgcn as lg
from lowrankgcn.estimators.inputs import PointInputs
from lowrankgcn.estimators.settings import read_settings
from lowrankgcn.operators.gaussian import PointCloud
from tests.distributed.clouds import in_chunks

from lowrankgcn.distributed.blocks import Blocks  # isort: skip
from lowrankgcn.distributed import point_components  # isort: skip
from lowrankgcn.distributed.cloud import PointReader, SampledCloud, fit_cloud  # isort: skip
from lowrankgcn.distributed.point_components import find_components  # isort: skip

CUTS = st.lists(st.integers(0, 80), max_size=5)


def cloud_of(
    X: NDArray[np.float64], cuts: list[int], bandwidth: Any = 1.0
) -> tuple[Blocks, SampledCloud]:
    classifier = lg.GCNClassifier(bandwidth=bandwidth)
    classifier.n_features_in_ = X.shape[1]
    array = in_chunks(X, cuts)
    blocks, options = Blocks.from_collection(array), read_settings(classifier.get_params())
    reader = PointReader.from_classifier(classifier)
    return blocks, fit_cloud(blocks, reader, options, array.chunks[0], seed=3)


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(2, 80),
    dimension=st.integers(1, 4),
    spread=st.sampled_from([10.0, 40.0, 100.0, 400.0, 3000.0]),
    cuts=CUTS,
)
def test_components_are_those_of_the_graph(
    seed: int, n: int, dimension: int, spread: float, cuts: list[int]
) -> None:
    rng = np.random.default_rng(seed)
    middles = rng.uniform(-spread, spread, (6, dimension))
    X = middles[rng.integers(0, 6, n)] + rng.normal(size=(n, dimension)) * rng.choice([1.0, 9.0])
    blocks, cloud = cloud_of(X, cuts)
    found = find_components(blocks, cloud.cloud)
    graph = lg.GaussianGraph(X, 1.0)
    assert_array_equal(found.at(cloud.cloud.place(X)), graph.components)
    assert_array_equal(found.sizes, np.bincount(graph.components))


def test_close_boxes_are_compared_by_their_points() -> None:
    # The boxes of two groups are close; their points are close in the first case only.
    step = np.array([[0.0, 0.0], [4.0, 4.0]])
    for gap, count in ((23.2, 1), (27.35, 2)):
        beside, near = np.array([4.0 + gap, -4.0]), np.array([1.0, 0.0])
        X = np.concatenate([step, step + beside, step + near])
        blocks, cloud = cloud_of(X, [1, 4])
        graph = lg.GaussianGraph(X, 1.0)
        found = find_components(blocks, cloud.cloud)
        assert found.n_components == graph.n_components == count
        assert_array_equal(found.at(cloud.cloud.place(X)), graph.components)


def test_too_many_distant_points_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(point_components, "_MOST_CUBES", 10)
    blocks, cloud = cloud_of(np.arange(40.0)[:, None] * 30.0, [7])
    with pytest.raises(ValueError, match="bandwidth: expected a larger bandwidth"):
        find_components(blocks, cloud.cloud)


@settings(max_examples=15, deadline=None)
@given(
    numbers=st.lists(
        st.tuples(st.floats(-1e200, 1e200), st.floats(-1e-3, 1e-3)), min_size=2, max_size=40
    ),
    cuts=CUTS,
)
def test_units_and_sample_are_those_of_memory(
    numbers: list[tuple[float, float]], cuts: list[int]
) -> None:
    X = np.array(numbers)
    _, cloud = cloud_of(X, cuts, "auto")
    here = PointInputs.fit(X)
    its = cloud.cloud.inputs
    assert_allclose(its.centre, here.centre, rtol=1e-12, atol=1e-14 * np.abs(X).max(axis=0).max())
    assert_allclose(its.scale, here.scale, rtol=1e-9)
    assert_array_equal(its.origin, here.origin)
    assert_array_equal(its.unit, here.unit)
    whole = PointCloud.from_points(here.rows(X), cloud.cloud.bandwidth)
    assert_allclose(cloud.coordinates, whole.coordinates, rtol=1e-12, atol=1e-300)
    assert_allclose(cloud.extent, whole.extent, rtol=1e-12, atol=1e-300)
    assert cloud.squared_radius >= whole.squared_radius
