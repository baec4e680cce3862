"""Classifiers on Dask collections against the same classifiers in memory."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import lowrankgcn as lg
from tests.distributed.tables import from_parts, in_blocks, some_labels, texts

import dask.array as da  # isort: skip
from lowrankgcn.distributed import dask_adapter  # isort: skip

Make = Callable[[], Any]


def gcn() -> Any:
    options: dict[str, Any] = {"architecture": "reduced", "filter": "heat", "dtype": "float64"}
    return lg.GCNClassifier(**options, rank=7, max_iter=20, random_state=0)


def gp() -> Any:
    return lg.SpectralGPClassifier(rank=7, random_state=0)


CLASSIFIERS: list[Make] = [gcn, gp]
each_classifier = pytest.mark.parametrize("make", CLASSIFIERS, ids=lambda make: make.__name__)

TEXTS, HIDDEN = texts(300, 0)
LABELS = some_labels(HIDDEN, 40, 0)
POINTS = np.random.default_rng(0).normal(size=(300, 3)) + 4 * HIDDEN[:, None]


def fitted(classifier: Any, *data: Any, fit_rows: int | None = None) -> Any:
    if fit_rows is not None:
        classifier.fit_rows = fit_rows
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # few iterations
        return classifier.fit(*data)


@each_classifier
@settings(max_examples=4, deadline=None)
@given(cuts=st.lists(st.integers(0, 300), max_size=6), lazy=st.booleans(), table=st.booleans())
def test_few_rows_give_the_result_in_memory(
    make: Make, cuts: list[int], lazy: bool, table: bool
) -> None:
    data = TEXTS if table else pd.DataFrame(POINTS, columns=list("xyz"))
    here = fitted(make(), data, LABELS)
    y = in_blocks(pd.Series(LABELS), cuts[::2]) if lazy else LABELS
    there = fitted(make(), in_blocks(data, cuts), y)
    expected = here.predict_proba(data)
    assert_allclose(there.label_distributions_.compute(), expected, atol=1e-9)
    assert_array_equal(there.transduction_.compute(), here.predict(data))
    ends = [0, *sorted(cuts), 300]
    assert there.transduction_.chunks == (tuple(np.diff(ends).tolist()),)
    assert_array_equal(there.classes_, here.classes_)


@each_classifier
def test_a_sample_classifies_all_rows(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    X = da.from_array(POINTS, chunks=(70, 2))  # two chunks of columns
    there = fitted(make(), X, da.from_array(LABELS, chunks=100), fit_rows=90)
    shares = there.label_distributions_
    assert isinstance(shares, da.Array) and shares.chunks == ((70, 70, 70, 70, 20), (3,))
    assert_allclose(shares.compute(), there.predict_proba(POINTS), atol=1e-6)
    assert there.graph_.n_nodes == 90 and not hasattr(there, "unplaced_")
    assert np.mean(there.transduction_.compute() == HIDDEN) > 0.9
    again = fitted(make(), X, LABELS, fit_rows=90)
    assert_allclose(again.label_distributions_.compute(), shares.compute(), atol=1e-12)
    unknown = X[X[:, 0] > -99]  # without known lengths
    monkeypatch.setattr(dask_adapter, "_LARGE", 0)
    lazy = fitted(make(), unknown, LABELS, fit_rows=90)
    assert_allclose(lazy.label_distributions_.compute(), shares.compute(), atol=1e-12)
    assert lazy.transduction_.shape == (300,)
    assert_array_equal(lazy.predict(unknown).compute(), lazy.predict(POINTS))


@each_classifier
def test_scores_and_weights(make: Make) -> None:
    weights = np.random.default_rng(0).random(300)
    X, y = in_blocks(TEXTS, [0, 9, 200]), in_blocks(pd.Series(HIDDEN), [120])
    here = fitted(make(), TEXTS, LABELS)
    assert here.score(X, y) == pytest.approx(here.score(TEXTS, HIDDEN))
    weighted = here.score(X, LABELS, da.from_array(weights, chunks=30))
    assert weighted == pytest.approx(here.score(TEXTS, LABELS, weights))
    with pytest.raises(ValueError, match="y: expected a labelled row"):
        here.score(X, np.full(300, -1))
    weights[:200] = 0.0  # all of some blocks
    assert here.score(X, y, weights) == pytest.approx(here.score(TEXTS, HIDDEN, weights))
    with pytest.raises(ValueError, match="sample_weight: expected a labelled row of positive"):
        here.score(X, y, np.zeros(300))


def test_weights_are_those_of_a_fit_in_memory() -> None:
    weights = np.random.default_rng(0).random(300)
    here = fitted(gcn(), TEXTS, LABELS, weights)
    there = fitted(gcn(), in_blocks(TEXTS, [9, 99]), LABELS, in_blocks(pd.Series(weights), [7]))
    assert_allclose(there.label_distributions_, here.predict_proba(TEXTS), atol=1e-9)


@each_classifier
def test_blocks_may_differ_in_categories_dtypes_and_order(make: Make) -> None:
    table = TEXTS.assign(number=HIDDEN + np.arange(300) / 300, none=np.where(HIDDEN, "a", None))
    table["code"] = HIDDEN
    one, two, three, four = (
        table.iloc[a:b].copy() for a, b in ((0, 9), (9, 99), (99, 99), (99, 300))
    )
    for part in (one, two, three):
        part["c0"] = part["c0"].astype("category")
    one["c0"] = one["c0"].cat.set_categories(["v9", "v1", "v0"])
    one["number"], one["none"] = one["number"].astype("float32"), np.nan
    two = two[reversed(two.columns)].astype({"code": "Int16", "c1": "string"})
    four["c0"] = four["c0"].astype("category")
    table.loc[:8, "number"] = one["number"].astype(float)
    table.loc[:8, "none"] = None
    X = from_parts([one, two, three, four], table.iloc[:0])
    there = fitted(make(), X, LABELS)
    table["c0"] = pd.Categorical(table["c0"], ["v9", "v1", "v0"])
    here = fitted(make(), table, LABELS)
    assert_allclose(there.label_distributions_.compute(), here.predict_proba(table), atol=1e-6)


SCHEMAS: dict[str, tuple[Callable[[pd.DataFrame], Any], str]] = {
    "missing": (lambda t: t.drop(columns="x"), "partition 1: X: expected .* got none named 'x'"),
    "unexpected": (lambda t: t.assign(w=1), "partition 1: X: expected .* got another one, 'w'"),
    "texts": (lambda t: t.assign(x="a"), "partition 1: X: expected float64 in column 'x', got"),
    "dates": (
        lambda t: t.assign(y=pd.Timestamp(0)),
        "partition 1: .* in column 'y', got datetime64",
    ),
}


@pytest.mark.parametrize(("change", "message"), SCHEMAS.values(), ids=SCHEMAS)
def test_blocks_of_another_schema_are_named(
    change: Callable[[pd.DataFrame], Any], message: str
) -> None:
    frame = pd.DataFrame(POINTS, columns=list("xyz"))
    X = from_parts([frame[:150], change(frame[150:])], frame[:0])
    with pytest.raises(ValueError, match=message):
        gcn().fit(X, LABELS)
    here = fitted(gcn(), frame, LABELS)
    with pytest.raises(ValueError, match=message):
        here.predict(X).compute()


def test_blocks_of_arrays_are_checked() -> None:
    def changed(block: Any) -> Any:
        return block if len(block) > 100 else block.astype(object)

    X = da.from_array(POINTS, chunks=(200, 3)).map_blocks(changed, meta=POINTS[:0])
    with pytest.raises(
        ValueError,
        match=r"partition 1: X: expected 3 columns of float64, got shape \(100, 3\) of obj",
    ):
        gcn().fit(X, LABELS)
    here = fitted(gcn(), POINTS, LABELS)
    bad = POINTS.copy()
    bad[250] = np.inf
    with pytest.raises(ValueError, match="partition 1: Input X contains infinity"):
        here.predict_proba(da.from_array(bad, chunks=(200, 3))).compute()


def test_invalid_arguments_are_refused() -> None:
    X = in_blocks(TEXTS, [9])
    calls: list[tuple[tuple[Any, ...], str]] = [
        ((TEXTS, in_blocks(pd.Series(LABELS), [3])), "X: expected a Dask DataFrame or array, got"),
        ((X["c0"], LABELS), "X: expected a table with rows and columns, got 1-D"),
        ((X[[]], LABELS), "X: expected a table with rows and columns, got no column"),
        ((X, X), "y: expected one column of labels, got 2 dimensions"),
        ((X, None), "y: expected labels, got None"),
        ((X, np.full(300, -1)), "y: expected at least one labelled row .* got no label at all"),
        ((X, np.where(LABELS >= 0, 1, -1)), "y: expected labels of at least two classes"),
    ]
    for arguments, message in calls:
        with pytest.raises(ValueError, match=message):
            gcn().fit(*arguments)
    for graph in ("precomputed", lg.Hypergraph.from_table(TEXTS)):
        with pytest.raises(ValueError, match="graph: expected a graph that is built from the rows"):
            gcn().set_params(graph=graph).fit(X, LABELS)
    full = gcn().set_params(architecture="full")
    with pytest.raises(ValueError, match="architecture: expected 'low-rank' or 'reduced'"):
        full.fit(X, LABELS)
    assert not hasattr(full, "classes_")


def test_other_methods_after_a_lazy_fit(tmp_path: Any) -> None:
    there = fitted(gp(), in_blocks(TEXTS, [99]), LABELS)
    here = fitted(gp(), TEXTS, LABELS)
    mine, its = here.explain(TEXTS.head(3)), there.explain(TEXTS.head(3))
    assert_allclose([row.log_odds for row in its], [row.log_odds for row in mine], atol=1e-8)
    with pytest.raises(ValueError, match="data in memory, got one fitted to a Dask collection"):
        there.suggest(2)
    lg.save(there, tmp_path / "model")
    found = lg.load(tmp_path / "model").predict(in_blocks(TEXTS, [5])).compute()
    assert_array_equal(found, there.transduction_.compute())
