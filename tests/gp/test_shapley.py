"""Shapley values agree with their definition and add up."""

from __future__ import annotations

import numpy as np

from lowrankgcn.gp.attribution import shapley_values, used_rows
from tests.support.each import each
from tests.support.oracles import reference_gp as reference


def random_game(n_rows: int, n_columns: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Values of all sets of columns for every background row, and where columns differ."""
    generator = np.random.default_rng(seed)
    differs = generator.random((n_rows, n_columns)) < 0.8
    values = generator.normal(size=(n_rows, 2**n_columns))
    codes = np.arange(2**n_columns)
    for row, own in zip(
        values, differs, strict=True
    ):  # columns without a difference change nothing
        row[:] = row[codes & int(own @ 2 ** np.arange(n_columns))]
    values[:, -1] = values[0, -1]  # all replaced: the row itself
    for row, own in zip(values, differs, strict=True):
        row[(codes & (kept := int(own @ 2 ** np.arange(n_columns)))) == kept] = values[0, -1]
    return values, differs


@each(("n_rows", "n_columns"), [(1, 1), (5, 2), (32, 3), (32, 4), (3, 5)])
def test_few_columns_are_exact(n_rows: int, n_columns: int) -> None:
    values, differs = random_game(n_rows, n_columns, n_columns)
    powers = 2 ** np.arange(n_columns)
    found, errors = shapley_values(
        differs, values[:, 0], values[0, -1], lambda rows, replaced: values[rows, replaced @ powers]
    )
    mean = values.mean(axis=0)
    expected = reference.shapley(lambda S: mean[sum(2**k for k in S)], n_columns)
    np.testing.assert_allclose(found, expected, atol=1e-12)
    assert not errors.any()


def test_many_columns_add_up_and_come_close() -> None:
    values, differs = random_game(32, 9, 0)
    values += np.log1p(np.arange(512))  # a trend beside the noise
    values[:, -1] = values[0, -1]
    differs[:] = True
    calls = []

    def evaluate(rows: np.ndarray, replaced: np.ndarray) -> np.ndarray:
        calls.append(len(rows))
        return values[rows, replaced @ 2 ** np.arange(9)]

    found, errors = shapley_values(differs, values[:, 0], values[0, -1], evaluate)
    np.testing.assert_allclose(found.sum(), values[0, -1] - values[:, 0].mean(), atol=1e-12)
    mean = values.mean(axis=0)
    expected = reference.shapley(lambda S: mean[sum(2**k for k in S)], 9)
    assert np.abs(found - expected).max() < 0.2 and sum(calls) <= 4000
    ratio = np.sqrt(np.mean((found - expected) ** 2 / errors**2))
    assert 0.4 < ratio < 1.8  # 1 on average, from nine columns


def test_one_pair_of_orders_has_the_error_of_the_background_rows() -> None:
    generator = np.random.default_rng(0)
    slopes = generator.normal(size=(4, 900))  # linear: exact for any order
    values, errors = shapley_values(
        np.ones((4, 900), bool),
        -slopes.sum(axis=1),
        0.0,
        lambda rows, replaced: (slopes[rows] * (replaced - 1.0)).sum(axis=1),
    )
    np.testing.assert_allclose(values, slopes.mean(axis=0), atol=1e-9)
    np.testing.assert_allclose(errors, slopes.std(axis=0, ddof=1) / 2, atol=1e-9)


def test_background_rows_are_evenly_spaced_for_many_columns() -> None:
    assert used_rows(np.ones((32, 20), bool)).tolist() == list(range(32))
    assert used_rows(np.ones((32, 1000), bool)).tolist() == [0, 10, 21, 31]
    assert used_rows(np.zeros((3, 0), bool)).tolist() == [0, 1, 2]
