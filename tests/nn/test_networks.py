"""Networks against the dense oracle, their gradients and invariances."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from torch.nn import functional

import lowrankgcn as lg
from lowrankgcn.nn import ACTIVATIONS, GCN, ReducedOrderGCN, SpectralConv
from tests.support.cases import nn_problems as cases
from tests.support.cases.nn_problems import DOUBLE, arrays, built, expected_logits, logits, low_rank
from tests.support.cases.problems import (
    KINDS,
    calm_blas,  # noqa: F401
    ignoring,
    problems,
)
from tests.support.each import each
from tests.support.oracles import reference_networks as reference

# --- against the oracle -----------------------------------------------------------------------


DEPTHS: list[tuple[tuple[int, ...], bool]] = [
    ((3, 2), True),
    ((3, 4, 2), False),
    ((2, 5, 4, 3), True),
]


@each("form", cases.FORMS)
def test_gcn_of_every_form_and_depth(form: str) -> None:
    for widths, bias in DEPTHS:
        network = built(GCN, cases.kernel(form), widths, bias=bias)
        X = cases.features(network.n_nodes, widths[0])
        expected = expected_logits(network, X)
        assert_allclose(logits(network, X), expected, rtol=0, atol=1e-11)
        for rows in ([1, 0, 1], np.array([2]), torch.tensor([3, 1]), []):
            assert_allclose(logits(network, X, rows), expected[np.asarray(rows, int)], atol=1e-11)
        mask = np.arange(network.n_nodes) % 2 == 0
        assert_allclose(logits(network, X, mask), expected[mask], rtol=0, atol=1e-11)
        assert_allclose(logits(network, X, torch.tensor(mask)), expected[mask], rtol=0, atol=1e-11)


@pytest.mark.parametrize("filters", ["heat", ["heat", "pseudoinverse", "linear"]])
def test_reduced_order_gcn_of_every_depth(filters: Any) -> None:
    for widths, bias in DEPTHS:
        network = built(ReducedOrderGCN, low_rank(filters), widths, bias=bias)
        X = cases.features(network.n_nodes, widths[0])
        expected = expected_logits(network, X)
        assert_allclose(logits(network, X), expected, rtol=0, atol=1e-12)
        assert_allclose(logits(network, X, [5, 0]), expected[[5, 0]], rtol=0, atol=1e-12)
        mask = torch.arange(network.n_nodes) > 3
        assert_allclose(logits(network, X, mask), expected[4:], rtol=0, atol=1e-12)
        U = network.kernels[0].eigenpairs.eigenvectors
        assert_allclose(network.reduce(X), U.T @ X.numpy(), rtol=0, atol=1e-12)


@each(
    "kernels",
    [
        lambda: low_rank(["heat", "pseudoinverse", "linear"]),  # one set of eigenvectors
        lambda: [cases.kernel("affine, incidence"), cases.kernel("polynomial, incidence")],
        lambda: lg.kernel(cases.hypergraph(), ["linear", "heat", "quadratic"]),
        lambda: [lg.kernel(cases.table(), "linear"), lg.kernel(cases.table(), lg.filters.Linear())],
        lambda: [cases.kernel("dense"), cases.kernel("polynomial, blocks"), *low_rank(["heat"])],
    ],
)
def test_several_kernels(kernels: Callable[[], Any]) -> None:
    for widths in ((2, 7, 2), (7, 2), (40, 3, 30)):
        network = built(GCN, kernels(), widths, bias=True)
        X = cases.features(network.n_nodes, widths[0])
        expected = expected_logits(network, X)
        assert_allclose(logits(network, X), expected, rtol=1e-11, atol=1e-11)
        assert_allclose(logits(network, X, [0, 4]), expected[[0, 4]], rtol=1e-11, atol=1e-11)


@each("name", ACTIVATIONS)
def test_activations(name: str) -> None:
    X = cases.features(9, 3)
    for kind in (GCN, ReducedOrderGCN):
        network = built(kind, low_rank(), (3, 4, 4, 2), activation=name)
        assert_allclose(logits(network, X), expected_logits(network, X), rtol=0, atol=1e-12)
        assert network.activation_name == name


def test_activations_by_module_and_function() -> None:
    X = cases.features(9, 3)
    named = built(GCN, low_rank(), activation="tanh")
    for activation in (torch.nn.Tanh(), torch.tanh, lambda x: x.tanh()):
        network = built(GCN, low_rank(), activation=activation)
        assert_array_equal(logits(network, X), logits(named, X))
        assert network.activation_name is None


def test_two_layers_are_the_single_step_of_the_appendix() -> None:
    K = cases.kernel("dense").to_dense()
    network = built(GCN, cases.kernel("dense"))
    X = cases.features(9, 3)
    (first,), (second,) = arrays(network)[0]
    Y = reference.softmax(K @ reference.relu(K @ X.numpy() @ first) @ second)
    assert_allclose(network(X).softmax(dim=1).detach().numpy(), Y, rtol=0, atol=1e-12)


@each("kind", KINDS)
@given(data=st.data())
def test_drawn_graphs(kind: str, data: st.DataObject) -> None:
    problem = data.draw(problems(kind, min_nodes=2))
    laplacian = lg.Laplacian(problem.graph)
    n_filters = data.draw(st.integers(1, 2))
    widths = data.draw(st.lists(st.integers(1, 5), min_size=2, max_size=4))
    # φ(1) = 0: the result does not depend on eigenvectors of the eigenvalue 1 (not computed).
    full = lg.kernel(laplacian, ["linear", "quadratic"][:n_filters])
    with ignoring(lg.RankWarning, lg.DegenerateCutWarning):
        short = lg.kernel(laplacian, ["linear", "quadratic"][:n_filters], rank=2)
    X = cases.features(problem.n, widths[0])
    bias = data.draw(st.booleans())
    for network in (
        built(GCN, full, widths, bias=bias),
        built(GCN, short, widths, bias=bias),
        built(ReducedOrderGCN, short, widths, bias=bias),
    ):
        assert_allclose(logits(network, X), expected_logits(network, X), rtol=1e-9, atol=1e-9)


# --- gradients --------------------------------------------------------------------------------


@each("form", ["low rank", "polynomial, sparse", "polynomial, blocks"])
@each("widths", [(2, 3), (3, 2)])
def test_gradients_of_convolutions(form: str, widths: tuple[int, int]) -> None:
    conv = SpectralConv(
        cases.kernel(form), *widths, bias=True, dtype=DOUBLE, generator=cases.generator()
    )
    X = cases.features(conv.propagations[0].n, widths[0]).requires_grad_()
    parameters = tuple(conv.parameters())

    def convolved(X: torch.Tensor, *values: torch.Tensor) -> torch.Tensor:
        named = dict(zip(dict(conv.named_parameters()), values, strict=True))
        result: torch.Tensor = torch.func.functional_call(conv, named, (X, [1, 0]))
        return result

    assert torch.autograd.gradcheck(convolved, (X, *parameters))


@pytest.mark.parametrize("kind", [GCN, ReducedOrderGCN])
@pytest.mark.parametrize("filters", [["pseudoinverse"], ["heat", "linear"]])
def test_gradients_of_networks(kind: type[Any], filters: list[str]) -> None:
    network = built(kind, low_rank(filters), (3, 3, 3, 2), bias=True, activation="tanh")
    X = cases.features(9, 3).requires_grad_()
    names = [name for name, _ in network.named_parameters()]

    def loss(X: torch.Tensor, *values: torch.Tensor) -> torch.Tensor:
        named = dict(zip(names, values, strict=True))
        logits = torch.func.functional_call(network, named, (X, [0, 4, 7]))
        return functional.cross_entropy(logits, torch.tensor([0, 1, 0]))

    assert torch.autograd.gradcheck(loss, (X, *network.parameters()))


# --- invariances ------------------------------------------------------------------------------


@pytest.mark.parametrize("filters", ["heat", ["heat", "linear"]])
def test_rank_n_turns_l_gcn_into_gcn(filters: Any) -> None:
    laplacian = cases.points()
    full = built(GCN, lg.kernel(laplacian, filters), bias=True)
    short = built(GCN, lg.kernel(laplacian, filters, rank=laplacian.n), bias=True)
    X = cases.features(laplacian.n, 3)
    assert_allclose(logits(short, X), logits(full, X), rtol=0, atol=1e-11)


@pytest.mark.parametrize("kind", [GCN, ReducedOrderGCN])
def test_node_permutations_permute_logits(kind: type[Any]) -> None:
    order = np.random.default_rng(5).permutation(9)
    graphs = lg.GaussianGraph(cases.POINTS, 2.0), lg.GaussianGraph(cases.POINTS[order], 2.0)
    first, second = (
        built(kind, lg.kernel(lg.Laplacian(graph), ["heat", "linear"], rank=4)) for graph in graphs
    )
    X = cases.features(9, 3)
    # The sign rule uses the largest entries, which have no ties here.
    assert_allclose(logits(second, X[order]), logits(first, X)[order], rtol=0, atol=1e-10)


def test_node_permutations_permute_logits_of_full_rank() -> None:
    order = np.random.default_rng(5).permutation(7)
    X = cases.features(7, 3)
    graphs = (
        lg.Hypergraph(cases.INCIDENCE, cases.WEIGHTS),
        lg.Hypergraph(cases.INCIDENCE[order], cases.WEIGHTS),
    )
    for phi in ("linear", "quadratic", "heat"):
        first, second = (built(GCN, lg.kernel(lg.Laplacian(graph), phi)) for graph in graphs)
        assert_allclose(logits(second, X[order]), logits(first, X)[order], rtol=0, atol=1e-12)


def rotated(K: lg.Kernel, rotation: np.ndarray) -> lg.Kernel:
    """Replace U_r by U_r Q in a kernel; Q must commute with φ(Λ_r)."""
    assert K.eigenpairs is not None
    vectors = K.eigenpairs.eigenvectors @ rotation
    factor = replace(K.operator.factor, matrix=vectors)  # type: ignore[attr-defined]
    operator = replace(K.operator, factor=factor)  # type: ignore[type-var]
    return replace(K, operator=operator, eigenpairs=replace(K.eigenpairs, eigenvectors=vectors))


def test_only_the_reduced_network_depends_on_signs() -> None:
    K = low_rank()
    flipped = rotated(K, np.diag([1.0, -1.0, 1.0, -1.0]))
    X = cases.features(9, 3)
    same = [logits(built(GCN, kernel), X) for kernel in (K, flipped)]
    assert_allclose(same[0], same[1], rtol=0, atol=1e-12)
    other = [logits(built(ReducedOrderGCN, kernel), X) for kernel in (K, flipped)]
    assert np.abs(other[0] - other[1]).max() > 0.05 * np.abs(other[0]).max()


def test_odd_activations_make_the_reduced_network_ignore_signs() -> None:
    K = low_rank()
    flipped = rotated(K, np.diag([1.0, -1.0, 1.0, -1.0]))
    X = cases.features(9, 3)
    same = [logits(built(ReducedOrderGCN, kernel, activation="tanh"), X) for kernel in (K, flipped)]
    assert_allclose(same[0], same[1], rtol=0, atol=1e-12)


def test_only_the_reduced_network_depends_on_rotations_of_an_eigenspace() -> None:
    # A complete graph: one eigenvalue n/(n−1) of multiplicity n − 1.
    laplacian = lg.Laplacian(lg.AdjacencyGraph(1.0 - np.eye(6)))
    K = lg.kernel(laplacian, "heat", rank=6)
    rotation = np.eye(6)
    rotation[1:, 1:] = np.linalg.qr(np.random.default_rng(0).normal(size=(5, 5)))[0]
    other = rotated(K, rotation)
    X = cases.features(6, 3)
    same = [logits(built(GCN, kernel), X) for kernel in (K, other)]
    assert_allclose(same[0], same[1], rtol=0, atol=1e-12)
    different = [logits(built(ReducedOrderGCN, kernel), X) for kernel in (K, other)]
    assert np.abs(different[0] - different[1]).max() > 0.05 * np.abs(different[0]).max()


def test_without_activation_the_reduced_network_is_the_l_gcn() -> None:
    X = cases.features(9, 3)
    options = {"activation": "identity", "bias": False}
    full = built(GCN, low_rank(["heat", "linear"]), (3, 4, 4, 2), **options)
    reduced = built(ReducedOrderGCN, low_rank(["heat", "linear"]), (3, 4, 4, 2), **options)
    assert_allclose(logits(reduced, X), logits(full, X), rtol=0, atol=1e-12)
