"""Compiled scores equal the kernel times alpha, for rows of every kind."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import lowrankgcn as lg
from lowrankgcn import SpectralGPClassifier
from lowrankgcn.gp import compiled as module
from lowrankgcn.gp import leaves
from lowrankgcn.gp.joint_tables import JointTables
from lowrankgcn.gp.leaves import LeafBlock
from tests.support.each import each
from tests.support.oracles.reference_gp import exact_scores

N, LABELLED = 160, 60
GENERATOR = np.random.default_rng(0)
CLASSES = GENERATOR.integers(0, 3, N)
NUMBERS = GENERATOR.normal(size=(N, 4)) + CLASSES[:, None] * [1.0, 0.5, 0.0, 0.2]


def _table() -> pd.DataFrame:
    """Return numbers, integers, dates, categories, free text and booleans with missing cells."""
    frame = pd.DataFrame(NUMBERS[:, :2], columns=["level", "size"])
    frame["steps"] = GENERATOR.integers(0, 4, N)
    frame["kind"] = np.array(["red", "green", "blue"])[(CLASSES + GENERATOR.integers(0, 2, N)) % 3]
    frame["many"] = [f"code {k}" for k in GENERATOR.integers(0, 30, N)]
    frame["flag"] = GENERATOR.random(N) < 0.4
    frame["day"] = pd.Timestamp("2024-03-01") + pd.to_timedelta(GENERATOR.integers(0, 99, N), "D")
    words = np.array(["stone", "river", "cloud", "apple", "green"])
    frame["text"] = [" ".join(words[GENERATOR.integers(0, 5, 3)]) + f" {k}" for k in range(N)]
    for k, name in enumerate(["level", "kind", "day", "text"]):
        frame.loc[frame.index[k::11], name] = None
    return frame


TABLE = _table()
KINDS: dict[str, tuple[Any, dict[str, Any]]] = {
    "table": (TABLE, {}),
    "categories": (TABLE[["kind", "many", "flag"]], {}),
    "numbers": (NUMBERS, {}),
    "coordinates": (NUMBERS[:, :2], {}),
    "hypergraph": (TABLE[["kind", "many", "level"]], {"graph": "hypergraph"}),
    "radial": (NUMBERS, {"blocks": ("radial", "weighted-radial")}),
    "given graph": (NUMBERS, {"graph": lg.GaussianGraph(NUMBERS, 1.0)}),
    "narrow clusters": (np.round(NUMBERS[:, :2]) * 1e3 + NUMBERS[:, 2:] * 1e-2, {}),
}


def _new_rows(rows: Any) -> Any:
    """Return fitted rows with unknown values, missing cells and extreme numbers."""
    if not isinstance(rows, pd.DataFrame):
        new = rows[:80].copy()
        new[::7] *= 30.0
        return new
    new = rows.iloc[:80].copy()
    new.loc[new.index[::6], "kind"] = "unseen"
    if "level" in new:
        new.loc[new.index[::9], "level"] = 1e6
        new.loc[new.index[4::9], "level"] = np.nan
    return new


@each("kind", KINDS)
def test_scores_equal_the_kernel(kind: str) -> None:
    """Probabilities agree to 1e-5 with those of k(x, labelled) α, also chunk by chunk."""
    rows, options = KINDS[kind]
    y = np.where(np.arange(N) < LABELLED, CLASSES, -1)
    classifier = SpectralGPClassifier(random_state=0, **options).fit(rows, y)
    model = classifier._model
    new = classifier._new_rows(_new_rows(rows))
    parts = model.maps.parts(new)
    expected = model.process.distributions(exact_scores(model.process, model.maps.views(parts)))
    found = model.process.distributions(model.compiled.at(parts))
    np.testing.assert_allclose(found, expected, atol=1e-5)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_CHUNK", 7)
        patch.setattr(leaves, "_UNPACKED", 3)
        np.testing.assert_allclose(
            model.process.distributions(model.compiled.at(parts)), found, atol=1e-6
        )
        patch.setattr(leaves, "_DENSE", 0)  # sums over the leaves of a row
        summed = model.process.distributions(model.compiled.at(parts))
        np.testing.assert_allclose(summed, found, atol=1e-6)
        patch.setattr(leaves, "_MOST_BYTES", 0)  # trees are walked
        walked = module.CompiledScores(model.process, model.maps).at(parts)
        np.testing.assert_allclose(model.process.distributions(walked), expected, atol=1e-5)


@each("kind", ["categories", "numbers", "coordinates"])
def test_most_neighbours_suffice(kind: str) -> None:
    """With neighbours from lists, distributions stay and the model is small."""
    rows, _ = KINDS[kind]
    y = np.where(np.arange(N) < LABELLED, CLASSES, -1)
    exact = SpectralGPClassifier(random_state=0).fit(rows, y)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("lowrankgcn.graphs.neighbours._EXACT", 50)
        near = SpectralGPClassifier(random_state=0).fit(rows, y)
    means = near._model.maps.embeddings["neighbours"].extension
    assert means.near.approximate and means.values.dtype == np.float16
    first, second = (one.predict_proba(_new_rows(rows)) for one in (exact, near))
    assert np.abs(first - second).sum(axis=1).mean() / 2 < 0.02
    np.testing.assert_allclose(near.label_distributions_, exact.label_distributions_, atol=1e-5)
    parts = near._model.maps.parts(near._new_rows(_new_rows(rows)))
    views = near._model.maps.views(parts)  # the points of the search are entries of z
    by_kernel = near._model.process.distributions(exact_scores(near._model.process, views))
    assert np.abs(by_kernel - second).sum(axis=1).mean() / 2 < 0.005


def test_sets_of_leaves_are_those_of_the_trees() -> None:
    """A threshold between two integers is a value itself, so rounding would move rows."""
    X = np.random.default_rng(1).integers(0, 16, size=(3000, 5)).astype(float)
    y = np.where(np.arange(3000) < 200, (X[:, 0] + X[:, 1] > 15).astype(int), -1)
    classifier = SpectralGPClassifier(random_state=0, blocks=("random-forest",), fit_rows=400)
    model = classifier.fit(X, y)._model
    (block,) = model.process.blocks
    assert isinstance(block, LeafBlock)
    features = model.maps.features
    cells = features.cells(X)
    nodes = np.random.default_rng(2).normal(size=(len(block.column), 2))
    sums = leaves.LeafSums(block, nodes, features)
    expected = block.scores(block.represent(features.expanded(cells)), nodes)
    np.testing.assert_allclose(
        sums.at(cells, features.value_places(cells["codes"])), expected, atol=1e-3
    )


def test_joint_tables_hold_few_combinations(monkeypatch: pytest.MonkeyPatch) -> None:
    """Columns are joined up to a number of combinations."""
    generator = np.random.default_rng(0)
    sizes = [3, 4, 2, 50, 7]
    tables = [(k, generator.normal(size=(size, 6))) for k, size in enumerate(sizes)]
    places = np.column_stack([generator.integers(0, size, 90) for size in sizes])
    expected = sum(table[places[:, k]] for k, table in tables)
    for most, groups in ((0, 5), (24, 3), (10**6, 1)):
        monkeypatch.setattr("lowrankgcn.gp.joint_tables._MOST_COMBINATIONS", most)
        joined = JointTables.of(tables, np.add)
        assert len(joined.groups) == groups
        np.testing.assert_allclose(joined.at(places), expected)
    assert JointTables.of([], np.add).at(places) is None


def test_blocks_without_compiled_scores_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    y = np.where(np.arange(N) < LABELLED, CLASSES, -1)
    model = SpectralGPClassifier(blocks=("radial",), random_state=0).fit(NUMBERS, y)._model
    monkeypatch.setattr(module, "RadialBlock", LeafBlock)
    with pytest.raises(TypeError, match=r"^no compiled scores of RadialBlock"):
        module.CompiledScores(model.process, model.maps)
