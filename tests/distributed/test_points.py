"""The estimator on points in Dask collections against the estimator in memory."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import lowrankgcn as lg
from tests.distributed.clouds import GROUPS, LABELS, POINTS, in_chunks, three_groups
from tests.distributed.tables import in_blocks, some_labels

import dask.array as da  # isort: skip

from lowrankgcn.distributed import BlockPoints, fitting  # isort: skip

CUTS = st.lists(st.integers(0, 600), max_size=6)

VARIANTS: dict[str, dict[str, Any]] = {
    "several filters": {},
    "one filter": {"filter": "pseudoinverse"},
    "loops": {"filter": "heat", "smoother": "identity"},
    "paper": {"preset": "paper"},
    "low-rank network": {"architecture": "low-rank", "filter": "heat"},
}


@pytest.fixture(autouse=True)
def every_cloud_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Process few points in blocks, so that the results in memory are available."""
    monkeypatch.setattr(fitting, "MANY_ROWS", 20)


def fitted(X: Any, y: Any, **parameters: Any) -> lg.GCNClassifier:
    options = {"architecture": "reduced", "dtype": "float64", "random_state": 0, "tol": 1e-8}
    given = {"bandwidth": 3.0, "rank": 7, "max_iter": 20, **options, **parameters}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # few iterations, residuals a little above 1e-8
        return lg.GCNClassifier(**given).fit(X, y)


@pytest.mark.parametrize("parameters", VARIANTS.values(), ids=VARIANTS)
def test_the_same_as_in_memory(parameters: dict[str, Any]) -> None:
    here = fitted(POINTS, LABELS, **parameters)
    there = fitted(in_chunks(POINTS, [0, 70, 70, 250]), LABELS, **parameters)
    mine, its = here.eigenpairs_, there.eigenpairs_
    assert mine is not None and its is not None
    assert_allclose(its.eigenvalues, mine.eigenvalues, rtol=0, atol=1e-8)
    assert its.residuals.max() < 1e-6 and its.fast_sum_error < 1e-6
    U: Any = its.eigenvectors
    assert_allclose(U.T.compute() @ U.compute(), np.eye(its.rank), atol=1e-9)
    assert_allclose(abs(U.compute()), abs(mine.eigenvectors), atol=1e-6)
    assert_allclose(there.label_distributions_.compute(), here.label_distributions_, atol=1e-4)
    assert_array_equal(there.transduction_.compute(), here.transduction_)
    assert there.transduction_.chunks == ((0, 70, 0, 180, 350),)
    assert not there.unplaced_.compute().any()
    new = three_groups(50, 1)[0]
    lazy = there.predict(in_chunks(new, [3, 3]))
    assert isinstance(lazy, da.Array) and lazy.numblocks == (3,)
    # New rows use landmarks in blocks, and all points in memory.
    assert (lazy.compute() == here.predict(new)).mean() > 0.97
    assert isinstance(there.graph_, BlockPoints)
    assert there.graph_.method == "low-rank" and there.graph_.error <= 1e-8


def test_bandwidth_and_units_are_those_of_memory() -> None:
    line = np.random.default_rng(3).exponential(size=(300, 1)) * 1e6
    y = some_labels((line[:, 0] > 7e5).astype(int), 30, 0)
    options = {"bandwidth": "auto", "graph": "gaussian", "tol": 1e-4}
    here = fitted(line, y, **options)
    there = fitted(in_chunks(line, [20, 90]), y, **options)
    assert_allclose(there.graph_.bandwidth, here.graph_.bandwidth, rtol=1e-12)
    mine, its = here._model, there._model
    assert mine is not None and its is not None
    assert_allclose(its.inputs.centre, mine.inputs.centre, rtol=1e-12)  # type: ignore[attr-defined]
    assert_allclose(its.inputs.scale, mine.inputs.scale, rtol=1e-12)  # type: ignore[attr-defined]
    assert_array_equal(its.inputs.origin, mine.inputs.origin)  # type: ignore[attr-defined]
    assert_array_equal(its.inputs.unit, mine.inputs.unit)  # type: ignore[attr-defined]
    assert_allclose(there.eigenpairs_.eigenvalues, here.eigenpairs_.eigenvalues, atol=2e-4)


def test_low_degrees_need_several_rounds_in_double_precision() -> None:
    spiral = lg.datasets.load_spiral(400, random_state=0)
    y = some_labels(spiral.target, 60, 0)
    options: dict[str, Any] = {"bandwidth": 3.5, "rank": 20, "tol": 1e-4}
    here = fitted(spiral.data, y, **options).eigenpairs_
    there = fitted(in_chunks(spiral.data, [700, 1400]), y, **options).eigenpairs_
    assert here is not None and there is not None
    assert there.eigenvalues[1] > 0.1 and there.residuals.max() <= 1e-4
    assert_allclose(there.eigenvalues, here.eigenvalues, rtol=0, atol=1e-5)


@settings(max_examples=3, deadline=None)
@given(cuts=CUTS, labels_in_blocks=st.booleans(), frame=st.booleans())
def test_block_sizes_do_not_matter(cuts: list[int], labels_in_blocks: bool, frame: bool) -> None:
    y: Any = in_blocks(pd.Series(LABELS), cuts[::2]) if labels_in_blocks else LABELS
    table = pd.DataFrame(POINTS, columns=["x", "y"])
    X = in_blocks(table, cuts) if frame else in_chunks(POINTS, cuts)
    one = fitted(in_chunks(POINTS, []), LABELS, filter="heat", max_iter=20)
    other = fitted(X, y, filter="heat", max_iter=20)
    mine, its = one.eigenpairs_, other.eigenpairs_
    assert_allclose(its.eigenvalues, mine.eigenvalues, rtol=0, atol=1e-12)
    distributions = one.label_distributions_.compute()
    assert_allclose(other.label_distributions_.compute(), distributions, atol=1e-6)
    assert_array_equal(one.transduction_.compute(), other.transduction_.compute())


@settings(max_examples=2, deadline=None)
@given(order=st.permutations(range(600)), cuts=CUTS)
def test_rows_keep_their_classes_in_any_order(order: list[int], cuts: list[int]) -> None:
    here = fitted(POINTS, LABELS, filter="pseudoinverse")
    there = fitted(in_chunks(POINTS[order], cuts), LABELS[order], filter="pseudoinverse")
    distributions = there.label_distributions_.compute()
    assert_allclose(distributions, here.label_distributions_[order], atol=1e-3)
    assert_array_equal(there.transduction_.compute(), here.transduction_[order])


def test_parts_outliers_and_points_alone() -> None:
    far = np.array([[900.0, 0.0], [0.0, 900.0], [900.0, 0.0], [-900.0, 0.0]])
    X = np.concatenate([far[:1], POINTS, POINTS[:90] + 300.0, far[1:]])
    y = np.concatenate([[-1], LABELS, np.full(90, -1), [2, -1, -1]])
    options = {"bandwidth": 5.0, "filter": "heat", "rank": 9}
    here, there = (lg.GCNClassifier(random_state=0, tol=1e-7, **options) for _ in range(2))
    with warnings.catch_warnings(record=True) as expected:
        warnings.simplefilter("always")
        here.fit(X, y)
    with warnings.catch_warnings(record=True) as got:
        warnings.simplefilter("always")
        there.set_params(architecture="reduced").fit(in_chunks(X, [1, 30, 640]), y)
    assert there.graph_.n_components == here.graph_.n_components == 5
    lost = "rows belong to parts of the graph without any label"
    assert [str(w.message) for w in got if lost in str(w.message)] == [
        str(w.message) for w in expected if lost in str(w.message)
    ]
    assert_array_equal(there.unplaced_.compute(), here.unplaced_)
    mine, its = here.eigenpairs_, there.eigenpairs_
    assert_allclose(its.eigenvalues, mine.eigenvalues, rtol=0, atol=1e-8)
    null = mine.eigenvalues == 0  # by formula, in the order of first rows
    assert null.sum() == 5
    U: Any = its.eigenvectors
    assert_allclose(U.compute()[:, null], abs(mine.eigenvectors[:, null]), atol=1e-6)
    assert there.label_distributions_.compute()[-3].tolist() == [0.0, 0.0, 1.0]  # alone, labelled


def test_duplicates_and_constant_columns() -> None:
    X = np.column_stack([np.round(POINTS, 0), np.full(600, 7.5)])
    here = fitted(X, LABELS, filter="heat", rank=5)
    there = fitted(in_chunks(X, [100]), LABELS, filter="heat", rank=5)
    assert_allclose(there.eigenpairs_.eigenvalues, here.eigenpairs_.eigenvalues, atol=1e-8)
    assert_array_equal(there.transduction_.compute(), here.transduction_)


def test_values_that_are_not_finite_are_refused() -> None:
    for cell, message in (
        (np.nan, r"X: expected numbers in all cells .* got NaN"),
        (np.inf, "X contains infinity"),
        (1e300, r"X: expected numbers up to 1e\+295"),
    ):
        X = POINTS.copy()
        X[400, 1] = cell
        for given_points in (in_chunks(X, [100]), X):
            with pytest.raises(ValueError, match=message):
                fitted(given_points, LABELS)


def test_one_pair_is_enough() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        there = fitted(in_chunks(POINTS, [90]), LABELS, rank=1)
    assert there.eigenpairs_.eigenvalues.tolist() == [0.0]


def test_options_that_need_memory_are_refused() -> None:
    with pytest.raises(ValueError, match="smoother: expected one of 'none'"):
        fitted(in_chunks(POINTS, [90]), LABELS, smoother="nope")
    X = in_chunks(POINTS, [100])
    with pytest.raises(ValueError, match="smoother: expected the same loop for all rows with more"):
        fitted(X, LABELS, smoother=np.ones(600))
    with pytest.raises(ValueError, match="architecture: expected"):
        fitted(X, LABELS, architecture="full")
    with pytest.raises(ValueError, match="filter: expected filters with their parameters"):
        fitted(X, LABELS, filter=lg.filters.Linear("auto"))
    wide = np.random.default_rng(0).normal(size=(300, 12))
    with pytest.raises(ValueError, match="graph: expected 'gaussian' with a bandwidth"):
        fitted(in_chunks(wide, [100]), some_labels(np.arange(300) % 2, 20, 0), bandwidth="auto")
    apart = np.arange(20_000.0)[:, None] * 1e3
    y = np.full(20_000, -1)
    y[:2] = 0, 1
    with pytest.raises(ValueError, match="bandwidth: expected a larger bandwidth"):
        fitted(in_chunks(apart, [100]), y, bandwidth=1.0)


def test_many_dimensions_use_random_landmarks() -> None:
    X, group = three_groups(900, 2, dimension=6)
    y = some_labels(group, 40, 0)
    options = {"bandwidth": 6.0, "filter": "heat", "tol": 1e-3}
    here = fitted(X, y, **options)
    there = fitted(in_chunks(X, [500]), y, **options)
    assert_allclose(there.eigenpairs_.eigenvalues, here.eigenpairs_.eigenvalues, atol=1e-3)
    assert (there.transduction_.compute() == here.transduction_).mean() > 0.98


def test_narrow_kernels_use_fourier_modes(tmp_path: Any) -> None:
    X, group = three_groups(3000, 4)
    y = some_labels(group, 60, 0)
    options = {"bandwidth": 0.8, "filter": "heat", "tol": 1e-5, "rank": 9}
    here = fitted(X, y, **options)
    there = fitted(in_chunks(X, [500, 500, 2100]), y, **options)
    assert there.graph_.method == "fourier" and there.graph_.error <= 1e-5
    mine, its = here.eigenpairs_, there.eigenpairs_
    assert_allclose(its.eigenvalues, mine.eigenvalues, rtol=0, atol=1e-5)
    assert its.fast_sum_error <= 2e-5
    U: Any = its.eigenvectors
    assert_allclose(U.T.compute() @ U.compute(), np.eye(9), atol=1e-9)
    assert_array_equal(there.transduction_.compute(), here.transduction_)
    new = three_groups(300, 5)[0]
    assert (there.predict(new) == here.predict(new)).mean() > 0.98
    lg.save(there, tmp_path / "model", fitted_rows=False)
    loaded = lg.load(tmp_path / "model")
    assert_allclose(loaded.predict_proba(new), there.predict_proba(new), rtol=1e-12)


def test_explanations_saving_and_scores(tmp_path: Any) -> None:
    here = fitted(POINTS, LABELS, filter="heat")
    there = fitted(in_chunks(POINTS, [99]), LABELS, filter="heat")
    for one, other in zip(here.explain(POINTS[:3]), there.explain(POINTS[:3]), strict=True):
        assert other.predicted == one.predicted
        assert_allclose(other.margin, one.margin, rtol=0.02)
    lg.save(there, tmp_path / "model", fitted_rows=False)
    again = lg.load(tmp_path / "model")
    new = three_groups(30, 5)[0]
    assert_allclose(again.predict_proba(new), there.predict_proba(new), rtol=1e-12)
    blocks = in_chunks(POINTS, [50, 300])
    assert there.score(blocks, da.from_array(GROUPS, chunks=200)) > 0.8
    with pytest.raises(ValueError, match="got one fitted to a Dask collection"):
        there.suggest(2)
