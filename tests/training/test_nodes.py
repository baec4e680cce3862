"""Networks whose nodes are stored elsewhere compared with networks on their own nodes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import lowrankgcn as lg
from lowrankgcn.nn import ACTIVATIONS
from lowrankgcn.spectral.kernel import low_rank_kernels
from lowrankgcn.training import (
    SpectralLayer,
    StoredNodes,
    TensorFeatures,
    nodes,
    predict_held_out,
    train,
)
from tests.nn_problems import DOUBLE, NUMPY_ACTIVATIONS
from tests.problems import calm_blas  # noqa: F401
from tests.training_problems import difference, table

INDEX, TARGETS = np.arange(12), np.arange(12) % 2


def elsewhere(filters: Any, rank: int, widths: tuple[int, ...], **options: Any) -> Any:
    """Return a network and its features, then the same network with nodes stored elsewhere."""
    laplacian, X, _ = table(60)
    named = filters if isinstance(filters, list) else [filters]
    kernels = lg.kernel(laplacian, named, rank)
    pairs = kernels[0].eigenpairs
    assert pairs is not None
    own = lg.nn.GCN(kernels, widths, dtype=DOUBLE, **options)
    # Labelled rows and the identity, with what they leave over of UᵀX.
    U = np.asarray(pairs.eigenvectors, np.float64)
    standing = replace(pairs, eigenvectors=np.vstack([U[INDEX], np.eye(rank)]))
    rest = U.T @ X - U[INDEX].T @ X[INDEX]
    made = low_rank_kernels(laplacian, [kernel.filter for kernel in kernels], standing)
    other = lg.nn.GCN(made, widths, dtype=DOUBLE, **options)
    features = TensorFeatures(torch.from_numpy(np.vstack([X[INDEX], rest])), StoredNodes(U))
    return own, X, other, features


@pytest.mark.parametrize("filters", ["pseudoinverse", ["linear", "heat"]])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("optimizer", ["gd", "adam", "lbfgs"])
def test_losses_and_weights_are_the_same(filters: Any, bias: bool, optimizer: Any) -> None:
    options: dict[str, Any] = {"optimizer": optimizer, "max_iter": 12, "l2_penalty": 0.01}
    for widths in ((5, 2), (5, 6, 2), (5, 3, 2, 3, 2)):
        own, X, other, features = elsewhere(filters, 4, widths, bias=bias)
        here = train(own, X, INDEX, TARGETS, seeds=[3, 8], **options)
        there = train(other, features, INDEX, TARGETS, seeds=[3, 8], **options)
        assert_allclose(there.loss_curve, here.loss_curve, rtol=1e-10)
        here.load_into(own, 1)
        assert difference(there, own, 1) < 1e-9


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_every_activation_and_more_eigenvectors_than_features(activation: str) -> None:
    own, X, other, features = elsewhere("heat", 5, (5, 3, 2), bias=True, activation=activation)
    here = train(own, X, INDEX, TARGETS, max_iter=10)
    there = train(other, features, INDEX, TARGETS, max_iter=10)
    assert_allclose(there.loss_curve, here.loss_curve, rtol=1e-10)


def test_restarts_stop_independently() -> None:
    own, X, other, features = elsewhere("pseudoinverse", 3, (5, 4, 2))
    options: dict[str, Any] = {"early_stopping": True, "tol": 2e-3, "patience": 7}
    here = train(own, X, INDEX, TARGETS, n_restarts=5, max_iter=400, **options)
    there = train(other, features, INDEX, TARGETS, n_restarts=5, max_iter=400, **options)
    assert len(set(here.n_iter)) > 1
    assert_allclose(there.n_iter, here.n_iter)
    assert_allclose(there.loss_curve, here.loss_curve, rtol=1e-9)


@pytest.mark.parametrize("count", [20, 10**6])
def test_cross_validation_draws_the_same_rows(count: int) -> None:
    own, X, other, features = elsewhere(["linear", "heat"], 4, (5, 6, 2), bias=True)
    folds = np.arange(12)[None, :] % 3 == np.arange(3)[:, None]
    options: dict[str, Any] = {"max_iter": 20, "hidden_rows": count, "seed": 5}
    here = predict_held_out(own, X, INDEX, TARGETS, folds, **options)
    there = predict_held_out(other, features, INDEX, TARGETS, folds, **options)
    assert_allclose(there, here, atol=1e-10)


def test_very_many_rows_are_not_shuffled(monkeypatch: pytest.MonkeyPatch) -> None:
    from lowrankgcn.training import folds

    drawn = folds._draw(10**12, 50, 1)
    assert len(set(drawn)) == 50 and drawn.min() >= 0 and drawn.max() > 10**11
    monkeypatch.setattr(folds, "_PERMUTED", 10)
    assert sorted(folds._draw(50, 50, 1)) == list(range(50))


@settings(max_examples=20, deadline=None)
@given(
    n=st.integers(0, 40),
    rank=st.integers(1, 4),
    width=st.integers(1, 5),
    beyond=st.integers(0, 2),
    bias=st.booleans(),
    chunk=st.sampled_from([1, 2**20]),
    name=st.sampled_from(sorted(ACTIVATIONS)),
)
def test_sums_over_rows(
    n: int, rank: int, width: int, beyond: int, bias: bool, chunk: int, name: str
) -> None:
    rng = np.random.default_rng(n)
    U = rng.normal(size=(n, rank + beyond))  # columns that others need besides
    A, G = rng.normal(size=(2, rank, width))
    b = rng.normal(size=width)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nodes, "_CHUNK_BYTES", chunk)
        patch.setattr(nodes, "_SMALLEST_CHUNK", 7)
        patch.setattr(nodes, "_PART", 16)
        layer = SpectralLayer(A, b if bias else None, name)
        stored = StoredNodes(U)
        got, slopes = stored.sums(layer), stored.gradients(layer, G)
    Z = U[:, :rank] @ A + (b if bias else 0.0)
    sigma = NUMPY_ACTIVATIONS[name]
    assert_allclose(got, U[:, :rank].T @ sigma(Z), atol=1e-12)
    step = 1e-6
    E = (sigma(Z + step) - sigma(Z - step)) / (2 * step) * (U[:, :rank] @ G)
    expected = np.vstack([U[:, :rank].T @ E, E.sum(axis=0) * bias])
    assert_allclose(slopes, expected, atol=1e-7)


def test_unsupported_networks_are_rejected() -> None:
    _, _, other, features = elsewhere("heat", 3, (5, 4, 2), dropout=0.5)
    with pytest.raises(ValueError, match=r"network: expected no dropout .*, got 0\.5"):
        train(other, features, INDEX, TARGETS)
    _, _, other, features = elsewhere("heat", 3, (5, 4, 2))
    record = train(other, features, INDEX, TARGETS, max_iter=2)
    with pytest.raises(ValueError, match="X: expected features of the network's own nodes"):
        record.logits(other, features)
    full = lg.nn.GCN(lg.kernel(table(15)[0], "linear"), (5, 4, 2), dtype=DOUBLE)
    with pytest.raises(ValueError, match="network: expected kernels of low rank for nodes"):
        train(full, features, INDEX, TARGETS)
