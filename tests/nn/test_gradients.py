"""Explicit gradients against autograd: every kernel form, depth, activation and optimiser."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose

import lowrankgcn as lg
from lowrankgcn.nn import ACTIVATIONS, GCN, ReducedOrderGCN, gradients, train
from lowrankgcn.nn.problem import PropagatedRows, TrainingProblem
from tests.support.cases import nn_problems as cases
from tests.support.cases.nn_problems import DOUBLE, low_rank
from tests.support.cases.problems import calm_blas  # noqa: F401
from tests.support.cases.training_problems import by_autograd, difference, low_rank_network, table
from tests.support.each import each

STEPS = 8


def check(network: Any, *, adam: bool = False, labelled: int = 3, steps: int = STEPS) -> None:
    """Train two restarts at once and the second one by autograd."""
    n, classes = network.n_nodes, network.widths[-1]
    X = cases.features(n, network.widths[0])
    index = np.arange(labelled) * 5 % n
    targets = np.arange(labelled) % classes
    options: dict[str, Any] = {"optimizer": "adam" if adam else "gd", "l2_penalty": 0.01}
    record = train(network, X, index, targets, seeds=[4, 7], max_iter=steps, **options)
    losses = by_autograd(network, X, index, targets, seed=7, steps=steps, adam=adam)
    assert_allclose(record.loss_curve[:, 1], losses, rtol=1e-10)
    assert difference(record, network, 1) < 1e-10
    alone = train(network, X, index, targets, seeds=[7], max_iter=steps, **options)
    assert difference(alone, network) < 1e-10
    if not network.dropout.p:
        assert_allclose(
            record.logits(network, X)[1].numpy(), network(X).detach().numpy(), atol=1e-10
        )
        rows = [1, 0]
        assert_allclose(
            record.logits(network, X, rows)[1].numpy(), network(X, rows).detach(), atol=1e-10
        )


# Layers that widen apply kernels before weights, the others after.
DEPTHS: list[tuple[int, ...]] = [(3, 2), (3, 4, 2), (3, 2, 4), (3, 4, 5, 2)]


@each("form", cases.FORMS)
def test_every_form_and_depth(form: str) -> None:
    for widths in DEPTHS:
        check(GCN(cases.kernel(form), widths, bias=len(widths) == 3, dtype=DOUBLE))


@each("kind", [GCN, ReducedOrderGCN])
@each("filters", ["pseudoinverse", ["pseudoinverse", "linear", "heat"]])
@each("bias", [False, True])
def test_kernels_of_given_rank(kind: Any, filters: Any, bias: bool) -> None:
    for widths in DEPTHS:
        check(kind(low_rank(filters), widths, bias=bias, dtype=DOUBLE))


def test_several_kernels_of_different_form() -> None:
    kernels = [cases.kernel("dense"), low_rank(), cases.kernel("polynomial, blocks")]
    for widths in DEPTHS:
        check(GCN(kernels, widths, dtype=DOUBLE))


@each("activation", ACTIVATIONS)
def test_every_named_activation(activation: str) -> None:
    for kind in (GCN, ReducedOrderGCN):
        check(kind(low_rank(), (3, 4, 5, 2), activation=activation, dtype=DOUBLE), adam=True)


@pytest.mark.parametrize("labelled", [2, 8])
@pytest.mark.parametrize("filters", ["pseudoinverse", ["pseudoinverse", "linear"]])
def test_more_labels_than_eigenvectors(labelled: int, filters: Any) -> None:
    check(GCN(low_rank(filters), (3, 4, 2), dtype=DOUBLE), labelled=labelled)


@pytest.mark.parametrize("adam", [False, True])
@pytest.mark.parametrize("kind", [GCN, ReducedOrderGCN])
def test_more_features_than_eigenvectors(kind: Any, adam: bool) -> None:
    for width in (2, 20):
        check(kind(low_rank(), (7, width, 2), bias=True, dtype=DOUBLE), adam=adam)


@pytest.mark.parametrize("kind", [GCN, ReducedOrderGCN])
def test_products_with_many_nodes(monkeypatch: pytest.MonkeyPatch, kind: Any) -> None:
    monkeypatch.setattr(gradients, "_MANY_NODES", 0)
    for widths in DEPTHS:
        check(kind(low_rank(["pseudoinverse", "linear"]), widths, bias=True, dtype=DOUBLE))


@pytest.mark.parametrize("widths", [(3, 4, 2), (3, 4, 5, 2)])
def test_rows_too_many_to_store(monkeypatch: pytest.MonkeyPatch, widths: tuple[int, ...]) -> None:
    monkeypatch.setattr("lowrankgcn.nn.problem._STORED_ENTRIES", 0)
    kernels = [cases.kernel("dense"), cases.kernel("polynomial, landmarks")]
    network = GCN(kernels, widths, bias=True, dtype=DOUBLE)
    check(network)
    made = TrainingProblem(
        network,
        cases.features(9, 3),
        torch.tensor([1]),
        torch.eye(2, dtype=DOUBLE)[:1],
        torch.ones(1, dtype=DOUBLE),
    )
    assert all(isinstance(rows, PropagatedRows) for rows in made.readout)


@pytest.mark.parametrize("kind", [GCN, ReducedOrderGCN])
def test_dropout_of_each_restart(kind: Any) -> None:
    for widths, activation in (((3, 4, 2), "relu"), ((3, 16, 2), "tanh"), ((3, 4, 5, 2), "relu")):
        check(kind(low_rank(), widths, dropout=0.4, activation=activation, dtype=DOUBLE))


def test_dependent_columns_are_left_out() -> None:
    # Columns 0 and 1 of a table of two complementary values sum to column 2.
    rng = np.random.default_rng(0)
    first = (rng.random((30, 3)) < 0.5).astype(float)
    incidence = np.hstack([first, 1 - first])
    network = GCN(lg.kernel(lg.Laplacian(lg.Hypergraph(incidence)), "quadratic"), (6, 4, 2))
    labels, mean = torch.eye(2), torch.full((2,), 0.5)
    X = torch.tensor(incidence, dtype=torch.float32)
    problem = TrainingProblem(network, X, torch.tensor([0, 1]), labels, mean)
    assert problem.features.shape == (30, 4)
    assert problem.basis is not None
    assert_allclose(problem.features @ problem.basis.T, network.propagations[0](X), atol=1e-6)
    double = GCN(
        lg.kernel(lg.Laplacian(lg.Hypergraph(incidence)), "quadratic"), (6, 4, 2), dtype=DOUBLE
    )
    check(double, steps=20)
    check(double, steps=20, adam=True)


def test_reduced_order_problem_does_not_grow_with_n() -> None:
    sizes = []
    for n in (40, 400):
        L, incidence, _ = table(n)
        network = ReducedOrderGCN(lg.kernel(L, "pseudoinverse", rank=3), (5, 6, 2))
        X, labels = torch.tensor(incidence, dtype=torch.float32), torch.eye(2)
        problem = TrainingProblem(network, X, torch.tensor([0, 1]), labels, torch.full((2,), 0.5))
        assert problem.readout[0].tall is None and problem.features.shape == (3, 3)
        sizes.append(problem.features.numel())
    assert sizes[0] == sizes[1]


@pytest.mark.parametrize("kind", [GCN, ReducedOrderGCN])
def test_single_precision(kind: Any) -> None:
    network = low_rank_network(kind, dtype=torch.float32)
    _, X, classes = table()
    index = np.arange(6)
    record = train(network, X, index, classes[index], seeds=[3], max_iter=50)
    losses = by_autograd(
        network,
        torch.tensor(X, dtype=torch.float32),
        index,
        classes[index],
        seed=3,
        steps=50,
        penalty=0.0005,
    )
    assert record.weights[0].dtype == torch.float32
    assert_allclose(record.loss_curve[:, 0], losses, rtol=1e-4)
