"""Training as a whole: restarts, optimisers, weights, stopping, records and malformed calls."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal

import lowrankgcn as lg
from lowrankgcn._progress import listening
from lowrankgcn.nn import (
    GCN,
    ProjectedFeatures,
    ReducedOrderGCN,
    TrainingRecord,
    gradients,
    train,
    training,
)
from tests.support.cases.problems import calm_blas  # noqa: F401
from tests.support.cases.training_problems import by_autograd, difference, low_rank_network, table

_, X, CLASSES = table()
INDEX = np.arange(6)
TARGETS = CLASSES[INDEX]


def run(network: Any, **options: Any) -> TrainingRecord:
    options.setdefault("max_iter", 30)
    return train(network, X, INDEX, TARGETS, **options)


# --- restarts -----------------------------------------------------------------------------------


@pytest.mark.parametrize("optimizer", ["gd", "adam"])
@pytest.mark.parametrize("kind", [GCN, ReducedOrderGCN])
def test_a_restart_in_a_batch_equals_training_its_seed_alone(kind: Any, optimizer: Any) -> None:
    for widths in ((5, 2), (5, 16, 2), (5, 4, 3, 2)):
        network = low_rank_network(kind, widths, bias=True)
        together = run(network, n_restarts=5, random_state=3, optimizer=optimizer)
        assert len(set(together.seeds)) == 5
        alone = run(network, seeds=[together.seeds[3]], optimizer=optimizer)
        assert_allclose(together.loss_curve[:, 3], alone.loss_curve[:, 0], rtol=1e-8)
        for a, b in zip(together.weights, alone.weights, strict=True):
            assert_allclose(a[3], b[0], rtol=0, atol=1e-8)


def test_single_precision_restart_in_a_batch_equals_its_seed_alone() -> None:
    network = low_rank_network(dtype=torch.float32)
    together = run(network, n_restarts=20)
    alone = run(network, seeds=together.seeds[7:8])
    assert_allclose(together.weights[0][7], alone.weights[0][0], atol=1e-5)


@pytest.mark.parametrize("dropout", [0.0, 0.3])
def test_the_same_seed_gives_the_same_result(dropout: float) -> None:
    network = low_rank_network(dropout=dropout, dtype=torch.float32)
    first, second = run(network, n_restarts=4), run(network, n_restarts=4)
    assert first.seeds == second.seeds
    for a, b in zip(first.weights, second.weights, strict=True):
        assert torch.equal(a, b)
    assert_array_equal(first.loss_curve, second.loss_curve)


def test_losses_are_computed_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    network = low_rank_network()
    whole = run(network, n_restarts=3).loss_curve
    for logits in (1, 7 * 3 * 2 * len(INDEX)):  # one iteration, or seven, at a time
        monkeypatch.setattr(gradients, "_CACHED_LOGITS", logits)
        assert_allclose(run(network, n_restarts=3).loss_curve, whole, rtol=1e-12)


def test_restarts_in_several_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    network = low_rank_network(dropout=0.2)
    whole = run(network, n_restarts=5)
    monkeypatch.setattr(training, "_BATCH_ENTRIES", 2 * 40 * 6)
    monkeypatch.setattr(training, "_BATCH_COLUMNS", 0)
    parts = run(network, n_restarts=5)
    assert_allclose(whole.loss_curve, parts.loss_curve, rtol=1e-10)
    monkeypatch.setenv("LOWRANKGCN_NUM_THREADS", "1")
    assert_allclose(run(network, n_restarts=5).loss_curve, parts.loss_curve, rtol=1e-12)


def test_network_is_left_as_it_was() -> None:
    network = low_rank_network()
    before = [parameter.detach().clone() for parameter in network.parameters()]
    run(network)
    assert all(torch.equal(a, b) for a, b in zip(before, network.parameters(), strict=True))


# --- loss ---------------------------------------------------------------------------------------


def test_sample_weights_count_rows() -> None:
    network = low_rank_network()
    weighted = run(network, sample_weight=[2, 1, 1, 1, 3, 0])
    rows = np.array([0, 0, 1, 2, 3, 4, 4, 4])
    repeated = train(network, X, rows, CLASSES[rows], max_iter=30)
    assert_allclose(weighted.loss_curve, repeated.loss_curve, rtol=1e-10)


@pytest.mark.parametrize("decay", ["first", "all"])
@pytest.mark.parametrize("soft", [False, True])
def test_weights_and_penalty_against_autograd(decay: Any, soft: bool) -> None:
    network = low_rank_network(bias=True)
    targets = np.linspace(0.1, 0.9, 12).reshape(6, 2) if soft else TARGETS
    if soft:
        targets = targets / targets.sum(axis=1, keepdims=True)
    weights = np.arange(1.0, 7.0)
    record = train(
        network,
        X,
        INDEX,
        targets,
        seeds=[2],
        max_iter=10,
        sample_weight=weights,
        decay=decay,
        l2_penalty=0.05,
    )
    options = {"weights": weights / weights.sum(), "penalty": 0.05, "decay": decay}
    losses = by_autograd(network, X, INDEX, targets, seed=2, steps=10, **options)
    assert_allclose(record.loss_curve[:, 0], losses, rtol=1e-10)
    assert difference(record, network) < 1e-10


# --- optimisers ---------------------------------------------------------------------------------


def test_learning_rates() -> None:
    network = low_rank_network()
    default = run(network, optimizer="adam")
    assert_array_equal(
        run(network, optimizer="adam", learning_rate=0.01).loss_curve, default.loss_curve
    )
    assert run(network, learning_rate=0.01).final_loss[0] > run(network).final_loss[0]


# --- stopping -----------------------------------------------------------------------------------


@pytest.mark.parametrize("optimizer", ["gd", "adam"])
def test_early_stopping_of_each_restart(optimizer: Any) -> None:
    network = low_rank_network(bias=True)
    options: dict[str, Any] = {"early_stopping": True, "tol": 2e-3, "patience": 5, "max_iter": 800}
    together = run(network, n_restarts=6, optimizer=optimizer, **options)
    assert together.converged.all() and not together.diverged.any()
    assert len(set(together.n_iter.tolist())) > 1
    assert together.loss_curve.shape[0] == together.n_iter.max() < 800
    for j, count in enumerate(together.n_iter):
        assert np.isfinite(together.loss_curve[:count, j]).all()
        assert np.isnan(together.loss_curve[count:, j]).all()
        alone = run(network, seeds=[together.seeds[j]], optimizer=optimizer, **options)
        assert alone.n_iter[0] == count
        assert_allclose(alone.weights[0][0], together.weights[0][j], atol=1e-7)


def test_divergence_is_reported_for_each_restart() -> None:
    network = low_rank_network(activation="identity", dtype=torch.float32)
    record = run(network, learning_rate=3e18, n_restarts=3, max_iter=100)
    assert record.diverged.all() and not record.converged.any()
    assert (record.n_iter < 100).all() and np.isinf(record.final_loss).all()
    assert "3 diverged" in repr(record)
    for j, count in enumerate(record.n_iter):
        assert np.isfinite(record.loss_curve[:count, j]).all()
    assert not run(network, n_restarts=3).diverged.any()


# --- record, threads, progress ------------------------------------------------------------------


@pytest.mark.parametrize("kind", [GCN, ReducedOrderGCN])
def test_record_into_a_network(kind: Any) -> None:
    network = low_rank_network(kind, bias=True)
    record = run(network, n_restarts=3)
    assert record.n_restarts == 3 and repr(record).startswith("TrainingRecord(3 restarts, 30")
    logits = record.logits(network, X)
    assert logits.shape == (3, 40, 2) and not logits.requires_grad
    record.load_into(network, 1)
    assert_allclose(logits[1], network(torch.as_tensor(X)).detach(), atol=1e-12)
    record.load_into(network)
    assert_allclose(logits[record.best], network(torch.as_tensor(X)).detach(), atol=1e-12)
    mask = np.arange(40) % 3 == 0
    assert_allclose(record.logits(network, X, mask), logits[:, mask], atol=1e-12)
    network(torch.as_tensor(X)).sum().backward()  # the weights are still ordinary parameters
    assert record.setup_seconds > 0 and record.training_seconds > 0


def test_threads_are_restored() -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        run(low_rank_network())
        assert torch.get_num_threads() == 2
        with pytest.raises(ValueError, match="max_iter"):
            run(low_rank_network(), max_iter=0)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


def test_numbers_of_other_types_are_accepted() -> None:
    expected = run(low_rank_network(), l2_penalty=0.125, max_iter=5).loss_curve
    for penalty in (np.float32(0.125), np.float16(0.125), Fraction(1, 8)):
        found = run(low_rank_network(), l2_penalty=penalty, max_iter=5).loss_curve
        assert_array_equal(found, expected)


def test_progress_is_shown_on_request(capsys: pytest.CaptureFixture[str]) -> None:
    run(low_rank_network(), progress=True)
    shown = capsys.readouterr().out
    run(low_rank_network())
    assert capsys.readouterr().out == ""
    assert "training" in shown
    steps: list[tuple[str, int, int]] = []
    with listening(lambda *step: steps.append(step)):
        run(low_rank_network(), n_restarts=2)
    assert steps[-1] == ("training", 60, 60)


@pytest.mark.parametrize("kind", [GCN, ReducedOrderGCN])
def test_projected_features_are_the_same_input(kind: Any) -> None:
    kernels = low_rank_network().kernels
    network = kind(kernels, (5, 4, 3, 2), bias=True, dtype=torch.float64)
    projected = ProjectedFeatures(40, torch.as_tensor(kernels[0].eigenpairs.eigenvectors.T @ X))
    whole, part = (
        train(network, given, INDEX, TARGETS, max_iter=5, n_restarts=2) for given in (X, projected)
    )
    assert_allclose(part.loss_curve, whole.loss_curve, rtol=1e-10)
    for rows in (None, [3, 1]):
        logits = whole.logits(network, X, rows)
        assert_allclose(whole.logits(network, projected, rows), logits, rtol=0, atol=1e-10)
        whole.load_into(network, 1)
        with torch.no_grad():
            assert_allclose(network(torch.as_tensor(X), rows), logits[1], rtol=0, atol=1e-10)


def test_projected_features_need_common_eigenvectors() -> None:
    network = GCN(lg.kernel(low_rank_network().kernels[0].laplacian, "linear"), (5, 2))
    projected = ProjectedFeatures(40, torch.zeros(3, 5))
    record = train(network, X, INDEX, TARGETS, max_iter=2)
    for call in (
        lambda: train(network, projected, INDEX, TARGETS),
        lambda: record.logits(network, projected),
    ):
        with pytest.raises(ValueError, match=r"^X: expected features .* common eigenvectors only"):
            call()
    with pytest.raises(ValueError, match=r"^network: expected kernels with common eigenvectors"):
        record.coefficients(network, X)


def test_tensors_and_arrays_are_the_same_input() -> None:
    network = low_rank_network()
    tensors = train(
        network, torch.as_tensor(X), torch.as_tensor(INDEX), torch.as_tensor(TARGETS), max_iter=5
    )
    mask = np.zeros(40, bool)
    mask[INDEX] = True
    arrays = train(network, X.tolist(), mask, TARGETS.tolist(), max_iter=5)
    assert_array_equal(tensors.loss_curve, arrays.loss_curve)
    assert math.isfinite(arrays.final_loss[0])


def test_training_finds_the_classes() -> None:
    for kind in (GCN, ReducedOrderGCN):
        network = low_rank_network(kind, dtype=torch.float32)
        record = run(network, n_restarts=5, max_iter=300)
        accuracy = (record.logits(network, X).argmax(dim=2).numpy() == CLASSES).mean()
        assert accuracy > 0.85


# --- malformed calls ------------------------------------------------------------------------------

MALFORMED: list[tuple[str, dict[str, Any]]] = [
    ("X: expected finite", {"X": np.full((40, 5), np.nan)}),
    ("X: expected finite", {"X": torch.full((40, 5), torch.inf)}),
    ("X: expected an array of shape", {"X": X[:, :4]}),
    ("X: expected a real numeric array", {"X": np.zeros(40)}),
    ("X: expected features of shape", {"X": ProjectedFeatures(40, torch.ones(3, 4))}),
    ("index: expected at least one", {"index": [], "targets": []}),
    ("index: expected indices in", {"index": [40] * 6}),
    ("index: expected a mask", {"index": np.ones(6, bool)}),
    ("targets: expected an array of shape", {"targets": [0, 1]}),
    ("targets: expected indices in 0..1, got 0..2", {"targets": [0, 1, 2, 0, 1, 0]}),
    ("targets: expected indices in 0..1, got -1..1", {"targets": [0, 1, -1, 0, 1, 0]}),
    ("targets: expected an integer array", {"targets": [0.0, 1.0, 0.0, 0.0, 1.0, 0.0]}),
    ("targets: expected an integer array", {"targets": list("ababab")}),
    ("targets: expected an array of shape", {"targets": np.full((6, 3), 1 / 3)}),
    ("targets: expected distributions", {"targets": np.ones((6, 2))}),
    ("sample_weight: expected an array of shape", {"sample_weight": [1, 2]}),
    ("sample_weight: expected numbers >= 0", {"sample_weight": [1, 1, 1, 1, 1, -1]}),
    ("sample_weight: expected numbers >= 0 of positive sum", {"sample_weight": np.zeros(6)}),
    ("n_restarts", {"n_restarts": 0}),
    ("random_state", {"random_state": -1}),
    ("seeds", {"seeds": []}),
    ("seeds", {"seeds": [1.5]}),
    ("optimizer: expected one of", {"optimizer": "sgd"}),
    ("learning_rate", {"learning_rate": -0.1}),
    ("learning_rate", {"optimizer": "adam", "learning_rate": 0.0}),
    ("learning_rate", {"learning_rate": 1e300}),
    ("max_iter", {"max_iter": 2.5}),
    ("l2_penalty", {"l2_penalty": -1}),
    ("l2_penalty", {"l2_penalty": 1e300}),
    ("decay: expected one of", {"decay": "last"}),
    ("patience", {"early_stopping": True, "patience": 0}),
    ("patience", {"patience": 0}),
    ("tol", {"tol": math.nan}),
    ("network: expected a GCN", {"network": torch.nn.Linear(5, 2)}),
    ("network: expected an activation", {"network": low_rank_network(activation=torch.sin)}),
]


def test_malformed_calls() -> None:
    network = low_rank_network()
    for message, changes in MALFORMED:
        call: dict[str, Any] = {"network": network, "X": X, "index": INDEX, "targets": TARGETS}
        with pytest.raises(ValueError, match=message):
            train(**(call | {"max_iter": 2} | changes))


def test_malformed_records() -> None:
    record = run(low_rank_network())
    with pytest.raises(ValueError, match="restart"):
        record.load_into(low_rank_network(), 1)
    for other in (low_rank_network(widths=(5, 4, 2)), low_rank_network(bias=True), None):
        with pytest.raises(ValueError, match="network"):
            record.load_into(other)
    with pytest.raises(ValueError, match="X: expected an array of shape"):
        record.logits(low_rank_network(), X[:, :3])
