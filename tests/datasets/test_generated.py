"""Generated datasets against the published descriptions and checksums."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import pandas as pd
import pytest

from lowrankgcn.datasets import load_cars, load_spiral
from tests.conftest import SpiralData

# Table "Description of the spiral dataset" (section A4.4).
CENTRES = np.array(
    [
        [2.0, 0.0, 0.0],
        [0.6180, 1.9021, 2.5],
        [-1.6180, 1.1756, 5.0],
        [-1.6180, -1.1756, 7.5],
        [0.6180, -1.9021, 10.0],
    ]
)
PUBLISHED_COUNTS = np.array([1972, 2026, 1999, 1981, 2022])


def nearest_centre(points: np.ndarray) -> np.ndarray:
    return np.linalg.norm(points[:, None, :] - CENTRES, axis=2).argmin(axis=1)


def test_spiral_has_the_published_shape_and_distribution() -> None:
    spiral = load_spiral()
    assert spiral.data.shape == (10000, 3)
    assert spiral.data.dtype == np.float64
    assert spiral.target.dtype == np.int64
    for orb, centre in zip(spiral.data.reshape(5, 2000, 3), CENTRES, strict=True):
        # Five standard errors of a mean and of a covariance of 2000 unit normals.
        np.testing.assert_allclose(orb.mean(axis=0), centre, atol=5 / np.sqrt(2000))
        np.testing.assert_allclose(np.cov(orb.T), np.eye(3), atol=5 * np.sqrt(2 / 2000))
    # Counts vary with a standard deviation of about 20 between samples.
    np.testing.assert_allclose(np.bincount(spiral.target), PUBLISHED_COUNTS, atol=100)


def test_spiral_labels_are_the_nearest_centres() -> None:
    spiral = load_spiral(300, random_state=3)
    np.testing.assert_array_equal(spiral.target, nearest_centre(spiral.data))
    assert (spiral.target != np.repeat(np.arange(5), 300)).any()


@pytest.mark.paper
def test_labels_equal_those_of_the_paper(spiral_points: SpiralData) -> None:
    np.testing.assert_array_equal(nearest_centre(spiral_points.points) + 1, spiral_points.labels)
    np.testing.assert_array_equal(np.bincount(spiral_points.labels)[1:], PUBLISHED_COUNTS)


def test_spiral_trains_on_two_nodes_per_class() -> None:
    for seed in range(3):
        spiral = load_spiral(50, random_state=seed)
        assert spiral.training.dtype == np.intp
        assert (np.diff(spiral.training) > 0).all()
        np.testing.assert_array_equal(np.bincount(spiral.target[spiral.training]), [2] * 5)
    for seed in range(20):  # one point per orb: some classes have fewer
        spiral = load_spiral(1, random_state=seed)
        counts = np.bincount(spiral.target, minlength=5)
        trained = np.bincount(spiral.target[spiral.training], minlength=5)
        np.testing.assert_array_equal(trained, np.minimum(counts, 2))


def test_spiral_is_reproducible_and_local() -> None:
    before = np.random.get_state()[1].copy()  # noqa: NPY002 - the global state is what we check
    one, two = load_spiral(20), load_spiral(20)
    generator = np.random.default_rng(0)
    three, four = load_spiral(20, random_state=generator), load_spiral(20, random_state=generator)
    np.testing.assert_array_equal(one.data, two.data)
    np.testing.assert_array_equal(one.training, two.training)
    np.testing.assert_array_equal(one.data, three.data)
    assert not np.array_equal(one.data, four.data)
    assert not np.array_equal(one.data, load_spiral(20, random_state=1).data)
    np.testing.assert_array_equal(before, np.random.get_state()[1])  # noqa: NPY002


def test_malformed_arguments() -> None:
    size = "n_per_orb: expected an integer >= 1, got"
    malformed: list[tuple[Any, str]] = [
        *((lambda bad=bad: load_spiral(bad), size) for bad in (0, -1, 2.5, "10", True)),
        (lambda: load_spiral(random_state=-1), "random_state: expected an integer >= 0, got -1"),
        (lambda: load_spiral(source="web"), "source: expected one of 'generated', 'paper', got"),
        (lambda: load_cars("price"), "target: expected one of 'acceptability', 'buying', got"),
    ]
    for call, message in malformed:
        with pytest.raises(ValueError, match=message):
            call()


def test_cars_are_the_uci_file() -> None:
    cars = load_cars()
    rows = np.asarray(cars.data).tolist()
    classes = [cars.target_names[k] for k in cars.target]
    text = "".join(",".join([*row, label]) + "\n" for row, label in zip(rows, classes, strict=True))
    assert len(text) == 51867
    digest = hashlib.sha256(text.encode()).hexdigest()
    assert digest == "b703a9ac69f11e64ce8c223c0a40de4d2e9d769f7fb20be5f8f2e8a619893d83"


def test_cars_acceptability() -> None:
    cars = load_cars()
    assert cars.target_names == ("unacc", "acc", "good", "vgood")
    np.testing.assert_array_equal(np.bincount(cars.target), [1210, 384, 69, 65])
    np.testing.assert_array_equal(np.bincount(cars.target[cars.training]), [5, 5, 5, 5])


def test_cars_buying_price_is_the_papers_task() -> None:
    cars, real = load_cars("buying"), load_cars()
    assert cars.feature_names[0] == "buying"
    np.testing.assert_array_equal(np.array(cars.target_names)[cars.target], cars.data[:, 0])
    np.testing.assert_array_equal(cars.target, np.repeat(np.arange(4), 432))
    np.testing.assert_array_equal(cars.data, real.data)
    # The paper's indices, counted from 0; with the real classes they lack vgood.
    assert cars.training[[0, -1]].tolist() == [25, 1704]
    np.testing.assert_array_equal(np.bincount(cars.target[cars.training]), [5, 5, 5, 5])
    np.testing.assert_array_equal(
        np.bincount(real.target[cars.training], minlength=4), [16, 3, 1, 0]
    )


def test_frames_equal_arrays() -> None:
    loaders: list[tuple[Any, str]] = [
        (lambda **options: load_spiral(30, **options), "orb"),
        (load_cars, "acceptability"),
        (lambda **options: load_cars("buying", **options), "buying"),
    ]
    for load, name in loaders:
        arrays, frames = load(), load(as_frame=True)
        assert isinstance(arrays.data, np.ndarray)
        assert isinstance(arrays.target, np.ndarray)
        assert isinstance(frames.data, pd.DataFrame)
        assert isinstance(frames.target, pd.Series)
        assert tuple(frames.data.columns) == frames.feature_names == arrays.feature_names
        assert frames.target.name == name
        np.testing.assert_array_equal(frames.data.to_numpy(), arrays.data)
        np.testing.assert_array_equal(frames.target.to_numpy(), arrays.target)
        np.testing.assert_array_equal(frames.training, arrays.training)


def test_datasets_describe_themselves() -> None:
    for dataset in (load_spiral(5), load_cars(), load_cars("buying")):
        assert dataset.data.shape == (len(dataset.target), len(dataset.feature_names))
        assert set(np.unique(dataset.target)) <= set(range(len(dataset.target_names)))
        assert dataset.DESCR.count("\n") > 4
        assert repr(dataset).startswith(f"<Dataset: {len(dataset.target)} rows")
        with pytest.raises(AttributeError):
            dataset.data = None  # type: ignore[misc]
