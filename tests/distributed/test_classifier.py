"""The estimator on Dask collections against the estimator in memory."""

from __future__ import annotations

import subprocess
import sys
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import lowrankgcn as lg
from tests.distributed.tables import in_blocks, mixed_table, some_labels, texts

import dask.array as da  # isort: skip
import dask.dataframe as dd  # isort: skip

TEXTS, HIDDEN = texts(300, 0)
LABELS = some_labels(HIDDEN, 40, 0)
CUTS = st.lists(st.integers(0, 300), max_size=6)

REDUCED: dict[str, dict[str, Any]] = {
    "several filters": {"max_iter": 20},
    "two filters at once": {"filter": ["linear", "heat"], "rank": 7, "max_iter": 20},
    "paper": {"preset": "paper", "max_iter": 60},
}
HEAT: dict[str, Any] = {"filter": "heat", "rank": 9, "max_iter": 20}


def classifier(**parameters: Any) -> lg.GCNClassifier:
    given = {"architecture": "reduced", "dtype": "float64", "random_state": 0, **parameters}
    return lg.GCNClassifier(**given)


def fitted(X: Any, y: Any, sample_weight: Any = None, **parameters: Any) -> lg.GCNClassifier:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # few iterations
        return classifier(**parameters).fit(X, y, sample_weight)


@pytest.fixture(scope="module")
def in_memory() -> lg.GCNClassifier:
    """Return a classifier with the settings HEAT, fitted to the whole table."""
    return fitted(TEXTS, LABELS, **HEAT)


@pytest.mark.parametrize("parameters", REDUCED.values(), ids=REDUCED)
def test_the_same_as_in_memory(parameters: dict[str, Any]) -> None:
    here = fitted(TEXTS, LABELS, **parameters)
    there = fitted(in_blocks(TEXTS, [0, 70, 70, 250]), LABELS, **parameters)
    assert_allclose(there.eigenpairs_.eigenvalues, here.eigenpairs_.eigenvalues, atol=1e-12)
    assert_array_equal(there.classes_, here.classes_)
    assert (
        there.selection_.to_frame()
        .drop(columns=["cv_loss", "share"])
        .equals(here.selection_.to_frame().drop(columns=["cv_loss", "share"]))
    )
    distributions = there.label_distributions_.compute()
    assert_allclose(distributions, here.label_distributions_, atol=1e-8)
    assert_array_equal(there.transduction_.compute(), here.transduction_)
    assert not there.unplaced_.compute().any()
    new = texts(50, 1)[0]
    assert_allclose(there.predict_proba(new), here.predict_proba(new), atol=1e-8)
    lazy = there.predict(in_blocks(new, [3, 3]))
    assert isinstance(lazy, da.Array) and lazy.numblocks == (3,)
    assert there.transduction_.chunks == ((0, 70, 0, 180, 50),)
    assert_array_equal(lazy.compute(), here.predict(new))
    assert_allclose(
        abs(there.eigenpairs_.eigenvectors.compute()), abs(here.eigenpairs_.eigenvectors), atol=1e-9
    )


@pytest.fixture(scope="module")
def one_block() -> lg.GCNClassifier:
    return fitted(in_blocks(TEXTS, []), LABELS, **HEAT, dtype="float32")


@settings(max_examples=3, deadline=None)
@given(cuts=CUTS, labels_in_blocks=st.booleans())
def test_block_sizes_do_not_change_the_networks(
    one_block: lg.GCNClassifier, cuts: list[int], labels_in_blocks: bool
) -> None:
    y: Any = in_blocks(pd.Series(LABELS), cuts[::2]) if labels_in_blocks else LABELS
    one, other = one_block, fitted(in_blocks(TEXTS, cuts), y, **HEAT, dtype="float32")
    assert_array_equal(one.loss_curve_, other.loss_curve_)
    for mine, its in zip(one.networks_, other.networks_, strict=True):
        for a, b in zip(mine.parameters(), its.parameters(), strict=True):
            assert_array_equal(a.detach().numpy(), b.detach().numpy())
    # The last digits of products depend on how many rows are multiplied at once.
    distributions = one.label_distributions_.compute()
    assert_allclose(other.label_distributions_.compute(), distributions, rtol=1e-10)
    assert_array_equal(one.transduction_.compute(), other.transduction_.compute())


@settings(max_examples=2, deadline=None)
@given(order=st.permutations(range(300)), cuts=CUTS)
def test_rows_keep_their_classes_in_any_order(
    in_memory: lg.GCNClassifier, order: list[int], cuts: list[int]
) -> None:
    there = fitted(in_blocks(TEXTS.iloc[order], cuts), LABELS[order], **HEAT)
    distributions = there.label_distributions_.compute()
    assert_allclose(distributions, in_memory.label_distributions_[order], atol=1e-8)
    assert_array_equal(there.transduction_.compute(), in_memory.transduction_[order])


def test_isolated_rows_and_components_without_a_label() -> None:
    table = mixed_table(80, 5, missing=0.75)
    y = np.full(80, -1)
    empty = np.flatnonzero(table.isna().all(axis=1))
    y[[3, 8, 20, 31, 47, empty[0]]] = [0, 1, 0, 1, 0, 1]
    here = classifier(rank=12, max_iter=20)
    there = classifier(rank=12, max_iter=20)
    with warnings.catch_warnings(record=True) as expected:
        warnings.simplefilter("always")
        here.fit(table, y)
    with warnings.catch_warnings(record=True) as got:
        warnings.simplefilter("always")
        there.fit(in_blocks(table, [10, 30]), y)
    messages = [str(warning.message) for warning in expected]
    assert messages == [str(warning.message) for warning in got]
    assert any("rows belong to parts of the graph without any label" in m for m in messages)
    assert_array_equal(there.unplaced_.compute(), here.unplaced_)
    assert_allclose(there.label_distributions_.compute(), here.label_distributions_, atol=1e-7)


def test_sample_weights_and_text_labels() -> None:
    names = np.array(["ant", "bee", "cat", ""], object)
    y, weights = names[LABELS], np.random.default_rng(0).random(300)
    here = fitted(TEXTS, y, weights, **HEAT)
    lazy = da.from_array(weights, chunks=77)
    blocks = in_blocks(pd.Series(y), [100])
    there = fitted(in_blocks(TEXTS, [50]), blocks, lazy, **HEAT)
    assert_array_equal(there.transduction_.compute(), here.transduction_)
    full = in_blocks(pd.Series(names[HIDDEN]), [120])
    accuracy = there.score(in_blocks(TEXTS, [9, 200]), full)
    assert accuracy == here.score(TEXTS, names[HIDDEN]) > 0.8
    codes = np.array([2, 1, 0, -1])[LABELS]
    categories = pd.Series(pd.Categorical.from_codes(codes, ["cat", "bee", "ant"]))
    other = fitted(in_blocks(TEXTS, [50]), in_blocks(categories, [9]), rank=9, max_iter=4)
    assert other.classes_.tolist() == ["cat", "bee", "ant"]


def test_all_architectures_are_compared_for_many_rows() -> None:
    table, hidden = texts(50_100, 2)
    y = some_labels(hidden, 60, 1)
    here = fitted(table, y, architecture="auto", max_iter=20)
    there = fitted(dd.from_pandas(table, npartitions=4), y, architecture="auto", max_iter=20)
    assert [row["architecture"] for row in there.selection_] == [
        row["architecture"] for row in here.selection_
    ]
    assert_allclose(there.label_distributions_.compute(), here.label_distributions_, atol=1e-6)
    assert_array_equal(there.transduction_.compute(), here.transduction_)
    with pytest.raises(ValueError, match="architecture: expected 'auto', 'reduced' or 'low-rank'"):
        fitted(dd.from_pandas(table, npartitions=4), y, architecture="full")
    with pytest.raises(ValueError, match="smoother: expected None or 'hypergraph' with more than"):
        fitted(dd.from_pandas(table, npartitions=4), y, smoother="identity")
    numbers = da.zeros((60_000, 2), chunks=10_000)
    with pytest.raises(ValueError, match="graph: expected 'auto', 'hypergraph' or 'gaussian'"):
        fitted(numbers, np.r_[0, 1, np.full(59_998, -1)], graph="knn")


def test_few_points_are_fitted_in_memory() -> None:
    spiral = lg.datasets.load_spiral(40, random_state=0)
    y = some_labels(spiral.target, 30, 0)
    here = fitted(spiral.data, y, architecture="auto", max_iter=20)
    lazy = da.from_array(spiral.data, chunks=(70, 2))
    there = fitted(lazy, da.from_array(y, chunks=30), architecture="auto", max_iter=20)
    # Rows joined from chunks may be aligned differently, which changes the rounding of products.
    assert_allclose(there.label_distributions_.compute(), here.label_distributions_, atol=1e-9)
    assert there.transduction_.chunks == (lazy.chunks[0],)
    expected = here.predict_proba(spiral.data)
    assert_allclose(there.predict_proba(lazy).compute(), expected, rtol=1e-12)


def test_classes_keep_the_order_of_categories() -> None:
    names = np.array(["cat", "bee", "ant"], object)
    given = np.where(LABELS >= 0, names[np.maximum(LABELS, 0)], None)
    y = pd.Series(pd.Categorical(given, categories=names))
    for architecture in ("auto", "reduced"):
        there = fitted(in_blocks(TEXTS, [99]), y, architecture=architecture, max_iter=5)
        assert there.classes_.tolist() == names.tolist()


def test_a_classifier_fitted_in_memory_predicts_blocks(in_memory: lg.GCNClassifier) -> None:
    lazy = in_memory.predict_proba(in_blocks(TEXTS, [0, 100]))
    assert_allclose(lazy.compute(), in_memory.predict_proba(TEXTS), rtol=1e-12)
    with pytest.raises(ValueError, match="c7"):
        in_memory.predict(in_blocks(TEXTS.drop(columns="c7"), [100])).compute()


def test_explanations_are_the_same_and_suggestions_need_memory(in_memory: lg.GCNClassifier) -> None:
    there = fitted(in_blocks(TEXTS, [99]), LABELS, **HEAT)
    mine, its = in_memory.explain(TEXTS.head(3)), there.explain(TEXTS.head(3))
    for one, other in zip(mine, its, strict=True):
        assert_allclose(other.margin, one.margin, atol=1e-8)
        assert [part.name for part in other.contributions] == [p.name for p in one.contributions]
    with pytest.raises(ValueError, match="data in memory, got one fitted to a Dask collection"):
        there.suggest(2)
    with pytest.raises(ValueError, match=r"rows in memory \(load some by \.compute"):
        there.explain(in_blocks(TEXTS, [99]))


def test_malformed_labels_and_weights_are_refused() -> None:
    blocks = in_blocks(TEXTS, [9])
    with pytest.raises(ValueError, match="y: expected 300 labels, as many as X has rows, got 299"):
        classifier().fit(blocks, LABELS[1:])
    with pytest.raises(ValueError, match=r"a Dask DataFrame or array \(y is a Dask collection\)"):
        classifier().fit(TEXTS, in_blocks(pd.Series(LABELS), [3]))
    for weight in (np.ones(3), 2.0):
        with pytest.raises(ValueError, match="sample_weight: expected 300 rows"):
            classifier().fit(blocks, LABELS, weight)
    with pytest.raises(ValueError, match="X: expected a table with rows and columns, got 1-D"):
        classifier().fit(blocks["c0"], LABELS)
    with pytest.raises(ValueError, match="y: expected one column of labels, got 2 dimensions"):
        classifier().fit(blocks, in_blocks(pd.DataFrame({"a": LABELS, "b": LABELS}), [9]))


def test_the_library_does_not_import_dask() -> None:
    script = (
        "import sys, numpy as np, lowrankgcn as lg, lowrankgcn.cli\n"
        "X = np.r_[np.zeros((9, 2)), np.ones((9, 2))] + np.arange(36).reshape(18, 2) / 99\n"
        "lg.GCNClassifier(max_iter=3).fit(X, np.r_[0, [-1] * 16, 1]).predict(X)\n"
        "loaded = {name.partition('.')[0] for name in sys.modules}\n"
        "assert not loaded & {'dask', 'distributed'}, loaded\n"
    )
    subprocess.run([sys.executable, "-W", "ignore", "-c", script], check=True)
