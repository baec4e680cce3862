"""Low-rank networks on rows in blocks against those in memory."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import lowrankgcn as lg
from tests.distributed.tables import in_blocks, mixed_table, some_labels, texts

import dask  # isort: skip
import dask.array as da  # isort: skip
import dask.dataframe as dd  # isort: skip
from lowrankgcn.distributed import fitting, nodes  # isort: skip
from lowrankgcn.distributed.blocks import Blocks  # isort: skip
from lowrankgcn.distributed.nodes import BlockNodes  # isort: skip
from lowrankgcn.training import SpectralLayer, StoredNodes  # isort: skip

TEXTS, HIDDEN = texts(300, 0)
LABELS = some_labels(HIDDEN, 40, 0)
CUTS = st.lists(st.integers(0, 300), max_size=6)

LOW_RANK: dict[str, dict[str, Any]] = {
    "paper": {"preset": "paper", "max_iter": 30},
    "two filters at once": {"filter": ["linear", "heat"], "rank": 7, "max_iter": 20},
    "two hidden layers": {"filter": "heat", "hidden_widths": (8, 5), "max_iter": 20},
    "early stopping": {"preset": "paper", "early_stopping": True, "n_restarts": 4, "max_iter": 150},
}


@pytest.fixture(autouse=True, scope="module")
def no_fit_in_memory() -> Iterator[None]:
    """Keep all rows in their blocks, even if they are few."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fitting, "MANY_ROWS", 0)
        yield


def fitted(X: Any, y: Any, **parameters: Any) -> lg.GCNClassifier:
    given = {"architecture": "low-rank", "dtype": "float64", "random_state": 0, **parameters}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # few iterations
        return lg.GCNClassifier(**given).fit(X, y)


@pytest.mark.parametrize("parameters", LOW_RANK.values(), ids=LOW_RANK)
def test_the_same_as_in_memory(parameters: dict[str, Any]) -> None:
    here = fitted(TEXTS, LABELS, **parameters)
    there = fitted(in_blocks(TEXTS, [0, 70, 70, 250]), LABELS, **parameters)
    assert there.selection_[0]["architecture"].startswith("low-rank")
    assert_allclose(there.loss_curve_, here.loss_curve_, rtol=1e-8)
    distributions = there.label_distributions_.compute()
    assert_allclose(distributions, here.label_distributions_, atol=1e-8)
    assert_array_equal(there.transduction_.compute(), here.transduction_)
    assert there.transduction_.chunks == ((0, 70, 0, 180, 50),)
    new = texts(50, 1)[0]
    assert_allclose(there.predict_proba(new), here.predict_proba(new), atol=1e-8)
    lazy = there.predict(in_blocks(new, [3, 3]))
    assert isinstance(lazy, da.Array)
    assert_array_equal(lazy.compute(), here.predict(new))


@pytest.mark.parametrize("name", ["cars", "mushrooms"])
def test_the_paper_on_its_tables(name: str, request: pytest.FixtureRequest) -> None:
    if name == "mushrooms":
        request.getfixturevalue("mushroom_rows")  # skips where there are none
    load = {"cars": lg.datasets.load_cars, "mushrooms": lg.datasets.load_mushrooms}[name]
    data = load(as_frame=True)
    y = np.full(len(data.data), -1)
    y[data.training] = np.asarray(data.target)[data.training]
    options: dict[str, Any] = {"architecture": "auto", "preset": "paper", "max_iter": 40}
    here = fitted(data.data, y, **options)
    there = fitted(dd.from_pandas(data.data, npartitions=5), y, **options)
    assert_allclose(there.loss_curve_, here.loss_curve_, rtol=1e-8)
    assert_array_equal(there.transduction_.compute(), here.transduction_)


HEAT: dict[str, Any] = {"filter": "heat", "rank": 9, "max_iter": 12}


@pytest.fixture(scope="module")
def in_memory() -> lg.GCNClassifier:
    """Return a classifier with the settings HEAT, fitted to the whole table."""
    return fitted(TEXTS, LABELS, **HEAT)


@settings(max_examples=3, deadline=None)
@given(cuts=CUTS, piece=st.sampled_from([1, 90, 10**6]))
def test_block_sizes_do_not_change_the_labels(
    in_memory: lg.GCNClassifier, cuts: list[int], piece: int
) -> None:
    here = in_memory
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nodes, "_ROWS", piece)
        patch.setattr(nodes, "_PIECES", 10**9)
        there = fitted(in_blocks(TEXTS, cuts), LABELS, **HEAT)
    assert_allclose(there.loss_curve_, here.loss_curve_, rtol=1e-9)
    assert_allclose(there.label_distributions_.compute(), here.label_distributions_, atol=1e-9)
    assert_array_equal(there.transduction_.compute(), here.transduction_)


def test_candidates_are_compared_on_the_same_rows() -> None:
    table, hidden = texts(1500, 3, columns=30)
    assert not table.duplicated().any()  # in memory equal rows would be drawn together
    y = some_labels(hidden, 20, 3)
    here = fitted(table, y, max_iter=5)
    there = fitted(in_blocks(table, [600, 700]), y, max_iter=5)
    assert len(here.selection_) > 2
    for mine, its in zip(here.selection_, there.selection_, strict=True):
        assert_allclose([its["cv_loss"], its["share"]], [mine["cv_loss"], mine["share"]], rtol=1e-6)


def test_isolated_rows_and_empty_rows() -> None:
    table = mixed_table(80, 5, missing=0.75)
    empty = np.flatnonzero(table.isna().all(axis=1))
    y = np.full(80, -1)
    y[[3, 8, 20, 31, 47, empty[0]]] = [0, 1, 0, 1, 0, 1]
    here = fitted(table, y, rank=12, max_iter=15)
    there = fitted(in_blocks(table, [10, 30]), y, rank=12, max_iter=15)
    assert here.eigenpairs_.eigenvalues[1] == 0  # unit vectors of such rows are among the pairs
    assert_array_equal(there.unplaced_.compute(), here.unplaced_)
    assert_allclose(there.label_distributions_.compute(), here.label_distributions_, atol=1e-7)


def test_threads_and_order_of_tasks_change_nothing() -> None:
    blocks = in_blocks(TEXTS, range(50, 300, 50))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nodes, "_ROWS", 50)
        one = fitted(blocks, LABELS, preset="paper", max_iter=15, dtype="float32")
        with dask.config.set(scheduler="threads", num_workers=4):
            other = fitted(blocks, LABELS, preset="paper", max_iter=15, dtype="float32")
    assert_allclose(one.loss_curve_, other.loss_curve_, rtol=1e-6)  # weights are float32


@settings(max_examples=10, deadline=None)
@given(
    lengths=st.lists(st.integers(0, 9), min_size=1, max_size=12),
    most=st.integers(1, 30),
    take=st.lists(st.integers(0, 10**6), max_size=5),
)
def test_pieces_are_whole_blocks_in_order(lengths: list[int], most: int, take: list[int]) -> None:
    rng = np.random.default_rng(0)
    U = rng.normal(size=(sum(lengths), 3))
    ends = np.cumsum([0, *lengths])
    blocks = Blocks(tuple(dask.delayed(U[a:b]) for a, b in pairwise(ends)), U[:0])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nodes, "_ROWS", most)
        patch.setattr(nodes, "_PIECES", 10**9)
        made = BlockNodes.from_blocks(blocks, _GivenRows(), lengths, {}, np.float64)
    assert made.n == len(U)
    assert all(length <= max(most, *lengths, 0) for length in made.lengths)
    layer = SpectralLayer(rng.normal(size=(2, 4)), rng.normal(size=4), "tanh")
    G = rng.normal(size=(2, 4))
    assert_allclose(made.sums(layer), StoredNodes(U).sums(layer), atol=1e-12)
    assert_allclose(made.gradients(layer, G), StoredNodes(U).gradients(layer, G), atol=1e-12)
    if len(U):
        index = np.unique(np.array(take, np.intp) % len(U))
        assert_array_equal(made.take(index), U[index])


class _GivenRows:
    """Eigenvectors whose rows are the blocks themselves."""

    rank = 3

    def rows(self, block: Any) -> Any:
        return block


def test_explanations_and_saved_models(in_memory: lg.GCNClassifier, tmp_path: Path) -> None:
    here = in_memory
    there = fitted(in_blocks(TEXTS, [99]), LABELS, **HEAT)
    for one, other in zip(here.explain(TEXTS.head(3)), there.explain(TEXTS.head(3)), strict=True):
        assert_allclose(other.margin, one.margin, atol=1e-8)
        assert [part.name for part in other.contributions] == [p.name for p in one.contributions]
    path = tmp_path / "model"
    lg.save(there, path, fitted_rows=False)
    new = texts(20, 4)[0]
    assert_allclose(lg.load(path).predict_proba(new), here.predict_proba(new), atol=1e-8)


def test_options_that_need_memory_are_refused() -> None:
    blocks = in_blocks(TEXTS, [99])
    with pytest.raises(ValueError, match="dropout: expected 0 for low-rank networks with more"):
        fitted(blocks, LABELS, dropout=0.5)
    with pytest.raises(ValueError, match="architecture: expected 'auto', 'reduced' or 'low-rank'"):
        fitted(blocks, LABELS, architecture="full")


def test_few_rows_are_fitted_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fitting, "MANY_ROWS", 300)
    here = fitted(TEXTS, LABELS, dropout=0.5, max_iter=5)
    there = fitted(in_blocks(TEXTS, [99]), pd.Series(LABELS), dropout=0.5, max_iter=5)
    assert_allclose(there.label_distributions_.compute(), here.label_distributions_, atol=1e-9)
