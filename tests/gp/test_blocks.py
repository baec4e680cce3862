"""Kernels of blocks beside their definitions, and leaves beside scikit-learn's trees."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from lowrankgcn.gp import leaves
from lowrankgcn.gp.blocks import Block, LinearBlock, RadialBlock
from lowrankgcn.gp.graph_filters import PROPAGATIONS
from lowrankgcn.gp.leaves import LeafBlock
from lowrankgcn.gp.recipe import (
    BLOCK_NAMES,
    SUPERVISED,
    Prior,
    column_weights,
    row_blocks,
    supervised_blocks,
)
from lowrankgcn.gp.views import FittedViews
from tests.support.each import each
from tests.support.oracles import reference_gp as reference

M, CLASSES = 14, np.arange(14) % 3


def views(n: int = 40) -> dict[str, np.ndarray]:
    rows = np.random.default_rng(0).normal(size=(n, 5))
    rows[:M, 0] += CLASSES
    return {"standard": np.clip(rows, -5, 5), "ranks": rows**3}


def blocks() -> list[Block]:
    rows, weights = views()["standard"], np.arange(1.0, 6.0)
    made: list[Block] = [
        LinearBlock.fit("linear", "standard", rows),
        LinearBlock.fit("weighted", "ranks", rows, weights[:3]),
        RadialBlock.fit("radial", "standard", rows[:M], 2.0),
        RadialBlock.fit("weighted-radial", "ranks", rows[:M], 1.5, weights),
    ]
    made.append(LeafBlock.fit("forest", "standard", rows[:M], CLASSES, n_trees=15)[0])
    return made


@each("block", blocks(), ids=lambda block: type(block).__name__)
def test_kernels_are_symmetric_semidefinite_and_give_the_scores(block: Block) -> None:
    every = views()
    rows = block.represent(every)
    kernel = block.kernel(rows, rows)
    np.testing.assert_allclose(kernel, kernel.T, atol=1e-12)
    assert np.linalg.eigvalsh(kernel).min() > -1e-6 * kernel.max()
    part = block.represent({name: own[5:9] for name, own in every.items()})
    np.testing.assert_allclose(block.kernel(part, rows), kernel[5:9], atol=1e-12)
    alpha = np.random.default_rng(1).normal(size=(M, 3))
    scores = block.scores(rows, block.readout(rows[:M], alpha))
    np.testing.assert_allclose(scores, kernel[:, :M] @ alpha, atol=1e-6)


def test_linear_and_radial_kernels_by_definition() -> None:
    rows = views()["standard"]
    weights = np.array([2.0, 0.5, 1.0])
    linear = LinearBlock.fit("a", "standard", rows, weights)
    centred = (rows[:, :3] - rows[:, :3].mean(axis=0)) * weights
    expected = centred @ centred.T / (centred**2).sum(axis=1).mean()
    own = linear.represent({"standard": rows})
    np.testing.assert_allclose(linear.kernel(own, own), expected, atol=1e-9)

    radial = RadialBlock.fit("b", "standard", rows[:M], 2.0, np.arange(5.0))
    squares = ((rows[:, None] - rows) ** 2 * np.arange(5.0) ** 2).sum(axis=2)
    mean = squares[:M, :M].sum() / (M * (M - 1))
    own = radial.represent({"standard": rows})
    np.testing.assert_allclose(radial.kernel(own, own), np.exp(-2 * squares / mean), rtol=1e-9)


def test_degenerate_rows() -> None:
    same = {"standard": np.ones((4, 2))}
    for block in (
        LinearBlock.fit("a", "standard", same["standard"]),
        RadialBlock.fit("b", "standard", same["standard"], 1.0),
        RadialBlock.fit("b", "standard", same["standard"][:1], 1.0),
    ):
        own = block.represent({"standard": np.ones((4, 2)) + 1e9})
        assert np.isfinite(block.kernel(own, block.represent(same))).all()


def test_leaves_are_those_of_scikit_learn(monkeypatch: pytest.MonkeyPatch) -> None:
    fitted: list[Any] = []

    class Recorded(DecisionTreeClassifier):
        def fit(self, X: Any, y: Any, sample_weight: Any = None, **options: Any) -> Any:
            fitted.append((self, sample_weight))
            return super().fit(X, y, sample_weight=sample_weight, **options)

    monkeypatch.setattr("sklearn.tree.DecisionTreeClassifier", Recorded)
    monkeypatch.setattr(leaves, "_CHUNK", 7)
    every = np.round(views()["standard"])
    every[M:] /= 2  # often on a threshold
    block, out_of_bag = LeafBlock.fit("t", "standard", every[:M], CLASSES, n_trees=12)
    assert len(fitted) == 12
    found = block.represent({"standard": every})
    applied = np.column_stack([tree.apply(every.astype(np.float32)) for tree, _ in fitted])
    np.testing.assert_array_equal(found - block.roots, applied)
    bags = np.column_stack([weight > 0 for _, weight in fitted])
    np.testing.assert_array_equal(block.bags, bags)
    np.testing.assert_allclose(
        block.kernel(found, found[:M]), reference.leaf_kernel(applied, applied[:M]), atol=1e-6
    )
    expected = reference.out_of_bag_kernel(applied[:M], bags)
    np.testing.assert_allclose(
        block.out_of_bag_kernel(found[:M], np.arange(M)), expected, atol=1e-6
    )
    for i in range(M):
        free = [tree for tree, weight in fitted if not weight[i]]
        votes = [tree.predict_proba(every[i : i + 1].astype(np.float32))[0] for tree in free]
        own = np.mean(votes, axis=0) if votes else np.full(3, 1 / 3)
        np.testing.assert_allclose(out_of_bag[i], own, atol=1e-9)


def test_a_row_in_every_bag_has_its_ordinary_kernel() -> None:
    rows = np.array([[0.0], [1.0]])
    block, out_of_bag = LeafBlock.fit("t", "standard", rows, np.array([0, 1]), n_trees=1)
    own = block.represent({"standard": rows})
    for i in range(2):
        if block.bags[i, 0]:
            np.testing.assert_allclose(
                block.out_of_bag_kernel(own, np.arange(len(own)))[i], block.kernel(own, own)[i]
            )
            np.testing.assert_allclose(out_of_bag[i], 0.5)


def test_column_weights_by_definition() -> None:
    generator = np.random.default_rng(0)
    rows, owners = generator.normal(size=(12, 6)), np.array([0, 1, 1, 2, 3, 3])
    classes = np.array([0, 0, 0, 1, 1, 1, 2, 2, 2, 2, 2, 2])
    rows[:, 1] += 2 * classes
    rows[:, 3] = 7.0
    expected = reference.column_weights(rows, classes.tolist(), owners.tolist())
    found = column_weights(rows, classes, owners)
    np.testing.assert_allclose(found, expected, atol=1e-9)
    assert found.argmax() == 1 and found[2] == 0.0
    one_each = column_weights(rows[:3], np.arange(3), owners)
    expected = reference.column_weights(rows[:3], [0, 1, 2], owners.tolist())
    np.testing.assert_allclose(one_each, expected, atol=1e-9)


def test_recipe() -> None:
    generator = np.random.default_rng(0)
    fitted = FittedViews.fit(generator.normal(size=(80, 4)), rank=30)
    values = {name: pairs.eigenvalues for name, pairs in fitted.eigenpairs.items()}
    labelled = np.arange(M)
    made = row_blocks(fitted.views, values, labelled)
    more, loss = supervised_blocks(
        fitted.views,
        labelled,
        CLASSES,
        fitted.maps.features.owners,
        random_state=0,
    )
    assert loss is not None and loss > 0
    names = [block.name for block in made + more]
    assert len(set(names)) == len(names)
    assert set(names) == {name for name in BLOCK_NAMES if _of_tables(name)}
    inverse: Any = next(block for block in made if block.name == "neighbours-inverse")
    response = 0.01 / (values["neighbours"] + 0.01)
    coordinates = fitted.views["neighbours"]
    centred = coordinates - coordinates.mean(axis=0)
    own = inverse.represent(fitted.views)
    expected = (centred * response) @ centred.T * inverse.scale**-2
    np.testing.assert_allclose(own @ own.T, expected, atol=1e-9)
    assert [len(b.weights) for b in made if b.name.startswith("neighbours-")] == [6, 20, 30, 30]
    chosen = row_blocks(fitted.views, values, labelled, ("radial", "hypergraph-6"))
    assert [block.name for block in chosen] == ["radial", "hypergraph-6"]


def test_every_block_has_a_prior() -> None:
    prior = Prior.load()
    own = {name for name in BLOCK_NAMES if _of_tables(name)}
    assert own <= set(prior.final)
    assert own - set(SUPERVISED) <= set(prior.adaptation)
    assert {name.replace("given", "neighbours") for name in BLOCK_NAMES} == own | set(PROPAGATIONS)
    for one in (prior, Prior.load("graph_prior")):
        assert set(PROPAGATIONS) <= set(one.final) and set(PROPAGATIONS) <= set(one.adaptation)


def _of_tables(name: str) -> bool:
    return not name.startswith("given") and name not in PROPAGATIONS
