"""Coefficients, scores and leave-one-out scores of the process, exact and with inducing rows."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest

from lowrankgcn.gp import conformal as novelty_module
from lowrankgcn.gp import process as module
from lowrankgcn.gp.blocks import Block, LinearBlock, RadialBlock
from lowrankgcn.gp.conformal import Novelty, conformal_limit
from lowrankgcn.gp.leaves import LeafBlock
from lowrankgcn.gp.likelihood import CONSTANT, targets
from lowrankgcn.gp.process import FittedProcess, fit_process
from lowrankgcn.gp.recipe import FewLabels, Prior
from tests.support.oracles import reference_gp as reference
from tests.support.oracles.reference_gp import exact_scores

M, N_CLASSES = 30, 3
CLASSES = np.arange(M) % N_CLASSES


def views() -> dict[str, np.ndarray]:
    rows = np.random.default_rng(0).normal(size=(50, 3))
    rows[:M, 0] += 1.5 * CLASSES
    return {"standard": rows, "ranks": rows}


def labelled() -> dict[str, np.ndarray]:
    return {name: rows[:M] for name, rows in views().items()}


def some_blocks(trees: bool) -> list[Block]:
    rows = views()["standard"]
    blocks: list[Block] = [
        LinearBlock.fit("linear", "standard", rows),
        RadialBlock.fit("radial", "standard", rows[:M], 2.0),
        RadialBlock.fit("weighted-radial", "ranks", rows[:M], 1.5, np.array([2.0, 1.0, 1.0])),
    ]
    if trees:
        own = LeafBlock.fit("random-forest", "standard", rows[:M], CLASSES, n_trees=25)[0]
        blocks.append(own)
    return blocks


def fit(trees: bool = False, forest_loss: float | None = None) -> FittedProcess:
    return fit_process(
        labelled(), CLASSES, N_CLASSES, some_blocks(trees), forest_loss, Prior.load(), 0
    )


def dense_kernel(fitted: FittedProcess, rows: Any = None) -> np.ndarray:
    """Return c + Σ a_b K_b between rows (the labelled ones) and labelled rows."""
    process, known = fitted.process, labelled()
    total: Any = CONSTANT
    for block, amplitude in zip(process.blocks, process.amplitudes, strict=True):
        left = block.represent(known if rows is None else rows)
        total = total + amplitude * block.kernel(left, block.represent(known))
    return np.asarray(total)


def test_coefficients_and_scores() -> None:
    fitted = fit(trees=True)
    Y, K = targets(CLASSES, N_CLASSES), dense_kernel(fitted)
    np.testing.assert_allclose((K + np.eye(M)) @ fitted.process.alpha, Y, atol=1e-9)
    expected = dense_kernel(fitted, views()) @ fitted.process.alpha
    parts = fitted.process.block_scores(views()).sum(axis=0)
    constant = CONSTANT * fitted.process.alpha.sum(axis=0)
    np.testing.assert_allclose(parts + constant, expected, atol=1e-6)
    shares = fitted.process.distributions(expected)
    own = [reference.softmax(fitted.process.temperature * row) for row in expected]
    np.testing.assert_allclose(shares, own, atol=1e-6)
    assert (shares[:M].argmax(axis=1) == CLASSES).mean() > 0.8


@pytest.mark.parametrize("trees", [False, True])
def test_held_out_scores_equal_fits_without_the_row(trees: bool) -> None:
    fitted = fit(trees)
    K = dense_kernel(fitted)
    rows = K.copy()
    for block, amplitude in zip(fitted.process.blocks, fitted.process.amplitudes, strict=True):
        if isinstance(block, LeafBlock):  # a row is predicted by trees without it
            own = block.represent(labelled())
            fair = reference.out_of_bag_kernel(own.astype(np.int64), block.bags)
            rows += amplitude * (fair - block.kernel(own, own))
    expected = reference.held_out_scores(K + np.eye(M), targets(CLASSES, N_CLASSES), rows)
    np.testing.assert_allclose(fitted.held_out, expected, atol=1e-6)


@pytest.mark.parametrize("trees", [False, True])
def test_novelty_is_the_variance_that_labels_leave(
    trees: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    fitted = fit(trees)
    process, K = fitted.process, dense_kernel(fitted)
    novelty, fair = Novelty.fit(process), process.held_out_kernel(K, process.labelled, np.arange(M))
    expected = []
    for i in range(M):
        rest = [j for j in range(M) if j != i]
        G = K[np.ix_(rest, rest)] + np.eye(M - 1)
        expected.append(reference.novelty(K[i, i], fair[i, rest], G))
    np.testing.assert_allclose(novelty.held_out, sorted(expected), atol=1e-6)
    monkeypatch.setattr(novelty_module, "_CHUNK", 7)
    k = dense_kernel(fitted, views())
    own = process.represent(views())
    diagonal = process.kernel(own, own).diagonal()
    expected = [
        reference.novelty(kxx, kx, K + np.eye(M)) for kxx, kx in zip(diagonal, k, strict=True)
    ]
    np.testing.assert_allclose(novelty.measures(views()), expected, atol=1e-6)
    assert conformal_limit(novelty.held_out, 0.5) == novelty.held_out[math.ceil((M + 1) / 2) - 1]
    assert conformal_limit(novelty.held_out, M / (M + 1)) == novelty.held_out[-1]
    assert conformal_limit(novelty.held_out, 0.999) == math.inf


def test_novelty_refers_to_a_sample_of_many_labelled_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "EXACT_ROWS", M - 1)
    monkeypatch.setattr(module, "INDUCING_ROWS", 20)
    monkeypatch.setattr(novelty_module, "_REFERENCES", 12)
    novelty = Novelty.fit(fit(trees=True).process)
    assert len(novelty.held_out) == 12 == len(novelty.inverse)
    assert np.isfinite(novelty.measures(views())).all()


def test_all_rows_inducing_is_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    exact = fit()
    monkeypatch.setattr(module, "EXACT_ROWS", M - 1)
    monkeypatch.setattr(module, "_CHUNK", 7)
    induced = fit()
    np.testing.assert_allclose(
        exact_scores(induced.process, views()), exact_scores(exact.process, views()), atol=1e-4
    )
    np.testing.assert_allclose(induced.held_out, exact.held_out, atol=1e-4)


def test_inducing_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "EXACT_ROWS", M - 1)
    monkeypatch.setattr(module, "INDUCING_ROWS", 12)
    fitted = fit(trees=True)
    process, Y = fitted.process, targets(CLASSES, N_CLASSES)
    chosen = process.index.tolist()
    assert len(set(chosen)) == 12 == len(process.alpha) and sorted(chosen) == chosen
    for rows, block in zip(process.labelled, process.blocks, strict=True):
        np.testing.assert_allclose(rows, block.represent(labelled())[chosen])
    K = dense_kernel(fitted)
    alpha = reference.inducing_coefficients(K, Y, chosen, range(M))
    np.testing.assert_allclose(K[:, chosen] @ process.alpha, K[:, chosen] @ alpha, atol=1e-4)
    for i in range(M):
        rest = [j for j in range(M) if j != i]
        own = K[i, chosen] @ reference.inducing_coefficients(K, Y, chosen, rest)
        np.testing.assert_allclose(fitted.held_out[i], own, atol=1e-3)


def test_adaptation_on_a_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = fit()
    monkeypatch.setattr(module, "ADAPTED_ROWS", 15)
    sampled, again = fit(), fit()
    assert (sampled.process.amplitudes != whole.process.amplitudes).any()
    np.testing.assert_allclose(sampled.process.amplitudes, again.process.amplitudes)
    assert len(sampled.process.alpha) == M


def test_gates_follow_the_out_of_bag_loss() -> None:
    gates, worse, better = Prior.load().gates, fit(True, 1.0), fit(True, 0.4)
    ratios = np.log(better.process.amplitudes / worse.process.amplitudes)
    gain = 0.6 / np.log(N_CLASSES)
    expected = [0.0, 0.0, gain * gates["columns"], gain * gates["forests"]]
    np.testing.assert_allclose(ratios, expected, atol=1e-9)


def test_few_labels_change_the_prior() -> None:
    """The less the more labels there are; the constant depends on how they were drawn."""
    one, three, ten = (FewLabels.of(np.full(4, count)) for count in (1, 3, 10))
    assert 0 < one.constant < three.constant < ten.constant == CONSTANT
    assert one.evidence == 0 < three.evidence < ten.evidence
    assert FewLabels.of(np.array([5, 1])).constant < three.constant  # a sample
    assert FewLabels.of(np.array([15, 5])).constant == CONSTANT
    before, after = (FewLabels.of(np.array([n, 2, 2])).constant for n in (2, 3))
    assert before / 3 < after < 3 * before  # no jump
    rows = np.random.default_rng(0).normal(size=(40, 6))
    clusters = LinearBlock.fit("neighbours-inverse", "rows", rows, np.array([1, 1, 1, 0.1, 0, 0]))
    smooth = LinearBlock.fit("neighbours-inverse", "rows", rows, np.ones(6))
    other = LinearBlock.fit("linear", "rows", rows)
    boosts = [one.boost(block, 3, 1.0) for block in (clusters, smooth, other)]
    assert 4 >= boosts[0] > boosts[1] > boosts[2] == 0
    assert one.boost(clusters, 3, 0.0) == 0 and ten.boost(clusters, 3, 1.0) < boosts[0] / 50


def test_the_process_has_the_constant_of_its_labels() -> None:
    known = {name: rows[:N_CLASSES] for name, rows in labelled().items()}
    blocks, classes = some_blocks(trees=False), CLASSES[:N_CLASSES]
    fitted = fit_process(known, classes, N_CLASSES, blocks, None, Prior.load(), 0)
    constant = FewLabels.of(np.bincount(classes)).constant
    assert fitted.process.constant == pytest.approx(constant)
    G = fitted.process.kernel(fitted.process.labelled, fitted.process.labelled) + np.eye(N_CLASSES)
    np.testing.assert_allclose(G @ fitted.process.alpha, targets(classes, N_CLASSES), atol=1e-9)
    scores = exact_scores(fitted.process, known)
    np.testing.assert_allclose(scores, (G - np.eye(N_CLASSES)) @ fitted.process.alpha, atol=1e-9)


class TestWeights:
    """A row of weight w is w rows."""

    weights = np.where(np.arange(M) % 4 == 0, 3.0, 1.0)

    def solved(self, rows: np.ndarray, weights: np.ndarray, inducing: bool) -> FittedProcess:
        """Solve for given labelled rows with the amplitudes of an ordinary fit."""
        process, known = fit().process, labelled()
        chosen = {name: part[rows] for name, part in known.items()}
        blocks = tuple(block.represent(chosen) for block in process.blocks)
        process = dataclasses.replace(process, labelled=blocks, index=np.arange(len(rows)))
        solve = module._solve_inducing if inducing else module._solve_exactly
        Y = targets(CLASSES[rows], N_CLASSES)
        return solve(process, Y, weights, np.random.default_rng(0))

    @pytest.mark.parametrize("inducing", [False, True])
    def test_scores_are_those_of_repeated_rows(self, inducing: bool) -> None:
        repeated = np.repeat(np.arange(M), self.weights.astype(int))
        weighted = self.solved(np.arange(M), self.weights, inducing).process
        expected = self.solved(repeated, np.ones(len(repeated)), False).process
        weighted, expected = (exact_scores(one, views()) for one in (weighted, expected))
        assert np.allclose(weighted, expected, atol=1e-4 if inducing else 1e-8)

    @pytest.mark.parametrize("inducing", [False, True])
    def test_leave_one_out_leaves_out_all_of_a_row(self, inducing: bool) -> None:
        held_out = self.solved(np.arange(M), self.weights, inducing).held_out
        for row in (0, 5, 8):
            others = np.delete(np.arange(M), row)
            fitted = self.solved(others, self.weights[others], False)
            expected = exact_scores(fitted.process, labelled())
            assert np.allclose(held_out[row], expected[row], atol=1e-3 if inducing else 1e-8)

    def test_equal_weights_change_nothing_only_if_they_are_one(self) -> None:
        def scores(weights: Any) -> np.ndarray:
            arguments: Any = labelled(), CLASSES, N_CLASSES, some_blocks(True), 0.9, Prior.load()
            return exact_scores(fit_process(*arguments, 0, weights=weights).process, views())

        assert np.allclose(scores(np.ones(M)), scores(None), atol=1e-12)
        assert not np.allclose(scores(np.full(M, 9.0)), scores(None), atol=0.05)
