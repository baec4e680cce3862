"""Cases are computed as described, stored atomically, and never twice."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import functional

from lowrankgcn.datasets import load_spiral
from lowrankgcn.experiments import training_runs
from lowrankgcn.experiments.reproduction import plan, reproduce
from lowrankgcn.experiments.training_runs import (
    Case,
    Entry,
    Setting,
    Store,
    compute,
    load_setting,
    other_basis,
)
from lowrankgcn.graphs import GaussianGraph
from lowrankgcn.nn import GCN, ReducedOrderGCN, train
from lowrankgcn.spectral.kernel import kernel, low_rank_kernels

CASE = Case("cars", "R-GCN", "pseudoinverse", 15)


def small_spiral() -> Setting:
    spiral = load_spiral(60)
    graph = GaussianGraph(spiral.data, bandwidth=3.5)
    return Setting("spiral", "few", graph, spiral.data, spiral.target, spiral.training, (3, 4, 5))


def linear_kernel(setting: Setting, dtype: torch.dtype) -> Tensor:
    """Return 𝒦 = I − 𝓛 = D^{-1/2} W D^{-1/2} as a stored matrix."""
    X = torch.tensor(setting.X, dtype=dtype)
    if setting.data == "spiral":
        # In place, because a second n×n matrix would take 400 MB.
        W = torch.cdist(X, X).div_(3.5).square_().neg_().exp_().fill_diagonal_(0)
    else:
        W = (X / X.sum(dim=0)) @ X.T
    scale = W.sum(dim=1, dtype=torch.float64).rsqrt().to(dtype)
    return W.mul_(scale).mul_(scale[:, None])


def naive_training(
    K: Tensor, X: Tensor, weights: Sequence[Tensor], index: Any, labels: Any, *, iterations: int
) -> Tensor:
    """Train by gradient descent with autograd (section A4.3); return all logits, shape (n, C)."""
    first, second = (weight.detach().clone().requires_grad_() for weight in weights)
    groups: list[dict[str, Any]] = [{"params": first, "weight_decay": 0.0005}, {"params": second}]
    optimizer = torch.optim.SGD(groups, lr=0.2)

    def logits() -> Tensor:
        # K is symmetric, and HᵀK reads it in storage order.
        hidden = torch.relu(((X @ first).T @ K).T)
        return ((hidden @ second).T @ K).T

    for _ in range(iterations):
        optimizer.zero_grad()
        loss: Any = functional.cross_entropy(logits()[index], torch.tensor(labels))
        loss.backward()
        optimizer.step()
    return logits().detach()


@pytest.mark.parametrize("data", ["spiral", "cars"])
@pytest.mark.parametrize("filter", ["linear", "quadratic"])
def test_exact_algebra_is_the_naive_computation(data: str, filter: str) -> None:
    setting = small_spiral() if data == "spiral" else load_setting("cars")
    K = linear_kernel(setting, torch.float64)
    K = K @ K if filter == "quadratic" else K
    fast = kernel(setting.laplacian(None, full=True), filter)
    network = GCN(fast, setting.widths, dtype=torch.float64)
    rows, labels = setting.training, setting.classes[setting.training]
    record = train(network, setting.X, rows, labels, seeds=[7], max_iter=40)
    network.reset_parameters(torch.Generator().manual_seed(7))
    weights = [conv.weight.detach()[0] for conv in network.convs]
    X = torch.tensor(np.array(setting.X))
    expected = naive_training(K, X, weights, rows, labels, iterations=40)
    found = record.logits(network, setting.X)[0]
    # Sums over points are accurate to 1e-6 only, sums over a table to rounding.
    tolerance = 1e-4 if data == "spiral" else 1e-10
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * abs(expected).max())


def test_other_bases_span_the_same_spaces() -> None:
    setting = load_setting("cars")
    first, second = (setting.network(CASE._replace(basis=k))[0] for k in (0, 1))
    assert isinstance(first, ReducedOrderGCN)
    assert isinstance(second, ReducedOrderGCN)
    assert first.rank == second.rank == 15
    U, V = first.eigenvectors.double(), second.eigenvectors.double()
    assert not np.allclose(U, V, atol=1e-3)
    np.testing.assert_allclose(U @ U.T, V @ V.T, atol=1e-6)


def test_l_gcn_does_not_depend_on_the_basis() -> None:
    setting = load_setting("cars")
    laplacian = setting.laplacian(None)
    K = kernel(laplacian, "pseudoinverse", rank=15)
    assert K.eigenpairs is not None
    other = low_rank_kernels(laplacian, [K.filter], other_basis(K.eigenpairs, 1))[0]
    networks = [GCN(each, setting.widths, dtype=torch.float64) for each in (K, other)]
    labels = setting.classes[setting.training]
    logits = [
        train(n, setting.X, setting.training, labels, seeds=[0], max_iter=50).logits(n, setting.X)
        for n in networks
    ]
    np.testing.assert_allclose(logits[0], logits[1], rtol=0, atol=1e-9)


def test_random_training_sets_have_the_papers_sizes() -> None:
    setting = load_setting("cars")
    drawn = [setting.labelled(Case("cars", "GCN", "linear", split=k), 0) for k in (1, 2)]
    for rows in drawn:
        np.testing.assert_array_equal(np.bincount(setting.classes[rows]), [5, 5, 5, 5])
    assert not np.array_equal(*drawn)


def watch_measurements(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Case, int]]:
    """Record the case and the number of every run that is computed."""
    computed: list[tuple[Case, int]] = []
    measure = training_runs.measure

    def watched(case: Case, *arguments: Any) -> Any:
        computed.extend((case, run) for run in arguments[-1])
        return measure(case, *arguments)

    monkeypatch.setattr(training_runs, "measure", watched)
    return computed


def accuracies(runs: int, store: Store) -> list[float]:
    return compute({CASE: runs}, store).entries[CASE].accuracies


class TestStore:
    def test_stored_runs_are_reused(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        computed = watch_measurements(monkeypatch)
        store = Store(tmp_path, iterations=5)
        first = accuracies(3, store)
        assert computed == [(CASE, run) for run in range(3)]
        again, longer = accuracies(3, store), accuracies(5, store)
        assert computed == [(CASE, run) for run in range(5)]
        assert first == again == longer[:3]
        assert len(longer) == 5
        assert accuracies(1, store) == first[:1]
        assert len(list(tmp_path.iterdir())) == 1
        # The runs of a batch do not depend on each other.
        np.testing.assert_allclose(accuracies(5, Store(tmp_path / "new", iterations=5)), longer)

    def test_settings_are_kept_apart(self, tmp_path: Path) -> None:
        one, two = (accuracies(2, Store(tmp_path, seed, 5)) for seed in (0, 1))
        assert one != two
        assert len(list(tmp_path.iterdir())) == 2

    def test_damaged_files_are_reported_and_replaced(self, tmp_path: Path) -> None:
        store = Store(tmp_path)
        entry = Entry([0.5, 0.75], 0.1, 1.0, 1.0)
        for source in ("cars", "other data"):
            store.save(CASE, source, entry)
        path = store.path(CASE, "cars")
        text = path.read_text()
        start = '"accuracies": ['
        damaged = [
            b"",
            b"\xff\xfe\x00",
            b"[" * 100_000,
            b"[1, 2]",
            b"{}",
            text[: len(text) // 2].encode(),
            store.path(CASE, "other data").read_bytes(),
            text.replace('"setup"', '"other"').encode(),
            *(
                text.replace(start, f"{start}{value}, ").encode()
                for value in ("7.5", '"x"', "NaN", "1" + 400 * "0")
            ),
        ]
        for content in damaged:
            path.write_bytes(content)
            with pytest.warns(UserWarning) as warned:
                assert store.load(CASE, "cars") is None, content[:200]
            (message,) = (str(one.message) for one in warned)
            assert message.startswith(f"{path} is damaged (")
            assert "\n" not in message
        store.save(CASE, "cars", entry)
        assert store.load(CASE, "cars") == entry


def test_a_killed_reproduction_continues(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = (
        "import sys; from pathlib import Path\n"
        "from lowrankgcn.experiments.reproduction import reproduce\n"
        "reproduce(('cars',), Path(sys.argv[1]), runs=2, iterations=5)\n"
    )
    state = tmp_path / "state"
    process = subprocess.Popen([sys.executable, "-c", script, str(state)])
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and process.poll() is None:
        if state.is_dir() and len(list(state.glob("cars*.json"))) >= 9:
            break
        time.sleep(0.005)
    os.kill(process.pid, signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    stored = [json.loads(path.read_text()) for path in state.glob("cars*.json")]
    finished, runs = (
        sum(len(each["results"]["accuracies"]) for each in stored),
        sum(plan(("cars",), 2).values()),
    )
    assert 9 <= finished < runs

    computed = watch_measurements(monkeypatch)
    with warnings.catch_warnings(action="error"):
        results = reproduce(("cars",), state, runs=2, iterations=5)
    assert len(computed) == len(set(computed)) == runs - finished
    alone = reproduce(("cars",), tmp_path / "other", runs=2, iterations=5)
    for one, two in zip(results.rows, alone.rows, strict=True):
        for name in ("accuracy", "deviation", "chance", "signs_low", "signs_high", "verdict"):
            assert one[name] == two[name], name
