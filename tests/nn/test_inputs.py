"""Sparse input, dropout of input entries and validation rows, against autograd and dense input."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from numpy.testing import assert_allclose

import lowrankgcn as lg
from lowrankgcn.nn import GCN, ReducedOrderGCN, SparseInput, train
from tests.support.cases import nn_problems as cases
from tests.support.cases.nn_problems import DOUBLE, low_rank
from tests.support.cases.problems import calm_blas  # noqa: F401
from tests.support.cases.training_problems import SeededDropout, by_autograd, difference, loss

STEPS = 6
OPTIONS: dict[str, Any] = {"optimizer": "adam", "l2_penalty": 0.01, "max_iter": STEPS}
DEPTHS: list[tuple[int, ...]] = [(5, 2), (5, 4, 2), (5, 4, 6, 2)]


def sparse_features(n: int) -> sp.csr_array:
    rng = np.random.default_rng(0)
    return sp.csr_array(rng.normal(size=(n, 5)) * (rng.random((n, 5)) < 0.4))


def kernels() -> list[Any]:
    """Return kernels of different forms, the first with a sparse matrix."""
    return list(lg.kernel(cases.given(True), ["linear", "quadratic"]))


def dropped_by_autograd(network: Any, X: Any, index: Any, targets: Any, seed: int) -> Any:
    """Train a network without input dropout on inputs whose entries are dropped here.

    Masks follow the documented rule: one number per stored entry, by rows, drawn before those of
    the hidden layers.
    """
    generator = torch.Generator().manual_seed(seed)
    network.reset_parameters(generator)
    p, hidden = network.input_dropout, network.dropout
    stored = sp.coo_array(X) if sp.issparse(X) else None
    dense = torch.as_tensor(X.toarray() if sp.issparse(X) else X)
    network.input_dropout, network.dropout = 0.0, SeededDropout(hidden.p, generator)
    optimizer, losses = torch.optim.Adam(network.parameters(), lr=0.01), []
    for _ in range(STEPS):
        if stored is None:
            mask = (torch.rand(X.shape, generator=generator) < 1 - p).to(dense)
        else:
            mask = torch.zeros_like(dense)
            kept = torch.rand(stored.nnz, generator=generator) < 1 - p
            mask[stored.row, stored.col] = kept.to(dense)
        optimizer.zero_grad()
        value = loss(network, dense * mask / (1 - p), index, targets)
        value.backward()
        optimizer.step()
        losses.append(value.item())
    network.input_dropout, network.dropout = p, hidden
    return losses


@pytest.mark.parametrize("widths", DEPTHS)
@pytest.mark.parametrize("sparse", [False, True])
def test_dropped_entries_against_autograd(widths: tuple[int, ...], sparse: bool) -> None:
    index, targets = np.array([0, 3, 5]), np.array([0, 1, 1])
    for dropout, bias in ((0.1, False), (0.3, True)):
        network: Any = GCN(
            kernels(), widths, bias=bias, dropout=dropout, input_dropout=0.4, dtype=DOUBLE
        )
        X = sparse_features(network.n_nodes)
        X = X if sparse else X.toarray()
        record = train(network, X, index, targets, seeds=[4, 7], **OPTIONS)
        losses = dropped_by_autograd(network, X, index, targets, seed=7)
        assert_allclose(record.loss_curve[:, 1], losses, rtol=1e-10)
        assert difference(record, network, 1) < 1e-10


@pytest.mark.parametrize("kind", [GCN, ReducedOrderGCN])
@pytest.mark.parametrize("widths", DEPTHS)
def test_sparse_input_is_dense_input(kind: Any, widths: tuple[int, ...]) -> None:
    for chosen in (low_rank(), *([] if kind is ReducedOrderGCN else [kernels()])):
        network = kind(chosen, widths, bias=True, dtype=DOUBLE)
        X = sparse_features(network.n_nodes)
        index, targets = [0, 3, 5], [0, 1, 1]
        record, dense = (
            train(network, matrix, index, targets, seeds=[4, 7], **OPTIONS)
            for matrix in (X, X.toarray())
        )
        assert_allclose(record.loss_curve, dense.loss_curve, rtol=1e-10)
        assert_allclose(record.logits(network, X), dense.logits(network, X.toarray()), atol=1e-10)
        by_autograd(network, X.toarray(), index, targets, seed=7, steps=STEPS, adam=True)
        assert difference(record, network, 1) < 1e-10
        sparse = SparseInput(X, network.convs[0].weight)
        assert_allclose(
            network(sparse, [2]).detach(), network(torch.as_tensor(X.toarray()), [2]).detach()
        )


def test_autograd_records_products_with_sparse_input() -> None:
    X = SparseInput(sparse_features(9), torch.zeros(0, dtype=DOUBLE))
    W = torch.randn(5, 2, dtype=DOUBLE, requires_grad=True)
    assert torch.autograd.gradcheck(lambda W: X @ W, (W,))
    G = torch.randn(9, 2, dtype=DOUBLE, requires_grad=True)
    assert torch.autograd.gradcheck(X.adjoint, (G,))


def test_networks_drop_input_entries_while_training() -> None:
    network = GCN(cases.kernel("dense"), (5, 4, 2), input_dropout=0.5, dtype=DOUBLE)
    X = sparse_features(network.n_nodes)
    for features in (torch.as_tensor(X.toarray()), SparseInput(X, network.convs[0].weight)):
        assert not torch.equal(network.train()(features), network(features))
        assert torch.equal(network.eval()(features), network(features))


def test_dropped_entries_keep_their_mean() -> None:
    X = torch.ones(200, 300)
    dropped = lg.nn.inputs.drop_entries(X, 0.3, torch.Generator().manual_seed(0))
    assert_allclose(dropped.unique(), [0, 1 / 0.7], rtol=1e-6)
    assert abs(dropped.mean().item() - 1) < 0.02


@pytest.mark.parametrize("sparse", [False, True])
def test_validation_keeps_the_best_weights(sparse: bool) -> None:
    network = GCN(kernels(), (5, 4, 2), bias=True, dtype=DOUBLE)
    X = sparse_features(network.n_nodes)
    X = X if sparse else X.toarray()
    rows, classes = np.array([1, 2, 4]), np.array([1, 0, 1])

    def validation_losses(record: Any) -> Any:
        logits = record.logits(network, X, rows)
        return [
            torch.nn.functional.cross_entropy(one, torch.as_tensor(classes)).item()
            for one in logits
        ]

    options = OPTIONS | {"learning_rate": 0.3, "seeds": [4, 7]}
    plain = [
        validation_losses(train(network, X, [0, 3], [0, 1], **(options | {"max_iter": steps})))
        for steps in range(1, 31)
    ]
    initial = GCN(kernels(), (5, 4, 2), bias=True, dtype=DOUBLE)
    best = np.min(plain, axis=0)
    for restart, seed in enumerate((4, 7)):
        initial.reset_parameters(torch.Generator().manual_seed(seed))
        features = SparseInput(X, initial.convs[0].weight) if sparse else torch.as_tensor(X)
        first = torch.nn.functional.cross_entropy(initial(features, rows), torch.as_tensor(classes))
        best[restart] = min(best[restart], first.item())
    kept = train(
        network, X, [0, 3], [0, 1], validation=(rows, classes), **(options | {"max_iter": 30})
    )
    assert_allclose(validation_losses(kept), best, rtol=1e-9)
    stopped = train(
        network,
        X,
        [0, 3],
        [0, 1],
        validation=(rows, classes),
        early_stopping=True,
        patience=3,
        tol=0.0,
        **(options | {"max_iter": 300}),
    )
    assert stopped.converged.all() and stopped.n_iter.max() < 300


def test_unsuitable_input_is_refused() -> None:
    network = GCN(low_rank(), (5, 4, 2), input_dropout=0.5, dtype=DOUBLE)
    X = sparse_features(network.n_nodes)
    projected = lg.nn.ProjectedFeatures(network.n_nodes, torch.zeros(3, 5, dtype=DOUBLE))
    with pytest.raises(ValueError, match="X: expected features of shape"):
        train(network, projected, [0], [0])
    with pytest.raises(ValueError, match="X: expected an array of shape"):
        train(network, X[:-1], [0], [0])
    with pytest.raises(ValueError, match="X: expected finite entries"):
        train(network, X * np.nan, [0], [0])
    with pytest.raises(ValueError, match="validation: expected a network with a hidden layer"):
        alone = GCN(low_rank(), (5, 2), dtype=DOUBLE)
        train(alone, X, [0], [0], validation=([1], [0]))
