"""Cross-validation in one batch equals training without the rows held out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose

import lowrankgcn as lg
from lowrankgcn.nn import GCN, ReducedOrderGCN
from lowrankgcn.operators import IdentityOperator
from lowrankgcn.training import predict_held_out, train

SPIRAL = lg.datasets.load_spiral(30, random_state=0)
LAPLACIAN = lg.Laplacian(lg.GaussianGraph(SPIRAL.data, bandwidth=3.5))
INDEX = np.arange(0, 150, 10)
CODES = SPIRAL.target[INDEX]
FOLDS = np.arange(15)[None, :] % 3 == np.arange(3)[:, None]


def network(kind: str) -> Any:
    if kind == "identity":
        return GCN(IdentityOperator(150), (3, 6, 5), bias=True, dtype=torch.float64)
    if kind == "linear":
        return GCN(IdentityOperator(150), (3, 5), bias=True, dtype=torch.float64)
    kernels = lg.kernel(LAPLACIAN, ["pseudoinverse", "heat"][: 1 + (kind == "two")], rank=8)
    build = ReducedOrderGCN if kind == "reduced" else GCN
    return build(kernels, (3, 6, 5), bias=True, dtype=torch.float64)


@pytest.mark.parametrize(
    ("kind", "optimizer"),
    [
        ("low-rank", "gd"),
        ("two", "adam"),
        ("reduced", "lbfgs"),
        ("identity", "adam"),
        ("linear", "gd"),
    ],
)
def test_equals_training_without_the_rows(kind: str, optimizer: Any) -> None:
    net = network(kind)
    options: dict[str, Any] = {"optimizer": optimizer, "max_iter": 20, "decay": "all"}
    shares = predict_held_out(net, SPIRAL.data, INDEX, CODES, FOLDS, seed=3, **options)
    assert shares.shape == (3, 15, 5)
    assert_allclose(shares.sum(axis=2), 1, rtol=0, atol=1e-12)
    for fold, found in zip(FOLDS, shares, strict=True):
        rest = INDEX[~fold]
        record = train(net, SPIRAL.data, rest, SPIRAL.target[rest], seeds=[3], **options)
        logits = record.logits(net, SPIRAL.data, INDEX)[0]
        assert_allclose(found, torch.softmax(logits, dim=1).numpy(), rtol=0, atol=1e-7)


@pytest.mark.parametrize(
    ("kind", "class_weight"),
    [("low-rank", "balanced"), ("reduced", {0: 3.0}), ("linear", None)],
)
def test_weights_are_those_of_the_rows_left(kind: str, class_weight: Any) -> None:
    net = network(kind)
    weights = np.random.default_rng(0).uniform(0.1, 3.0, 15)
    weights[4] = 0.0
    options: dict[str, Any] = {"optimizer": "gd", "max_iter": 20, "class_weight": class_weight}
    shares = predict_held_out(
        net, SPIRAL.data, INDEX, CODES, FOLDS, seed=3, sample_weight=weights, **options
    )
    for fold, found in zip(FOLDS, shares, strict=True):
        rest = INDEX[~fold]
        targets = SPIRAL.target[rest]
        record = train(
            net, SPIRAL.data, rest, targets, seeds=[3], sample_weight=weights[~fold], **options
        )
        logits = record.logits(net, SPIRAL.data, INDEX)[0]
        assert_allclose(found, torch.softmax(logits, dim=1).numpy(), rtol=0, atol=1e-7)


def test_training_without_a_graph_uses_labelled_rows_only() -> None:
    """The same network by autograd on all rows has the same gradient descent."""
    net = network("identity")
    record = train(
        net, SPIRAL.data, INDEX, CODES, seeds=[5], max_iter=15, l2_penalty=0.01, learning_rate=0.1
    )
    net.reset_parameters(torch.Generator().manual_seed(5))
    X, rows, codes = (torch.as_tensor(a) for a in (SPIRAL.data, INDEX, CODES))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(15):
        optimizer.zero_grad()
        penalty = 0.005 * net.convs[0].weight.square().sum()
        (torch.nn.functional.cross_entropy(net(X)[rows], codes) + penalty).backward()
        optimizer.step()
    for layer, conv in enumerate(net.convs):
        assert_allclose(record.weights[layer][0], conv.weight.detach(), rtol=0, atol=1e-10)
        assert_allclose(record.biases[layer][0], conv.bias.detach(), rtol=0, atol=1e-10)


def test_fewer_hidden_rows_estimate_the_same() -> None:
    net = network("low-rank")
    options: dict[str, Any] = {"optimizer": "adam", "max_iter": 40, "learning_rate": 0.05}
    exact = predict_held_out(net, SPIRAL.data, INDEX, CODES, FOLDS, **options)
    every = predict_held_out(net, SPIRAL.data, INDEX, CODES, FOLDS, hidden_rows=150, **options)
    assert_allclose(every, exact, rtol=0, atol=1e-12)
    some = predict_held_out(net, SPIRAL.data, INDEX, CODES, FOLDS, hidden_rows=120, **options)
    assert not np.array_equal(some, exact)
    assert np.abs(some - exact).mean() < 0.1


@pytest.mark.parametrize(
    ("folds", "message"),
    [
        (np.zeros((2, 14), bool), "folds: expected a bool array of shape"),
        (np.zeros((2, 15)), "folds: expected a bool array"),
        (np.zeros(15, bool), "folds: expected a bool array"),
        (np.ones((1, 15), bool), "folds: expected some rows of positive weight"),
    ],
)
def test_bad_folds(folds: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        predict_held_out(network("low-rank"), SPIRAL.data, INDEX, CODES, folds, max_iter=1)
