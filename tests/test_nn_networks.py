"""Networks against the dense oracle, their invariances, and what a torch module must do."""

from __future__ import annotations

import copy
import io
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import safetensors.torch
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from torch.nn import functional

import lowrankgcn as lg
from lowrankgcn.nn import ACTIVATIONS, GCN, ReducedOrderGCN, SpectralConv
from tests import nn_problems as cases
from tests import reference_networks as reference
from tests.problems import KINDS, ignoring, problems

DOUBLE = torch.float64
NUMPY_ACTIVATIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "relu": reference.relu,
    "leaky-relu": lambda x: np.where(x > 0, x, 0.01 * x),
    "elu": lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0.0))),
    "tanh": np.tanh,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "softplus": lambda x: np.log1p(np.exp(x)),
    "identity": lambda x: x,
}


def built(kind: type[Any], kernels: Any, widths: Sequence[int] = (3, 4, 2), **options: Any) -> Any:
    """A network in double precision with weights and biases that are not zero."""
    network = kind(kernels, widths, dtype=DOUBLE, generator=cases.generator(), **options)
    with torch.no_grad():
        for conv in network.convs:
            if conv.bias is not None:
                conv.bias.normal_(generator=cases.generator(1))
    return network


def arrays(network: Any) -> tuple[list[list[np.ndarray]], list[np.ndarray] | None]:
    """Weights and biases as the oracle takes them."""
    weights = [list(conv.weight.detach().numpy()) for conv in network.convs]
    if network.convs[0].bias is None:
        return weights, None
    return weights, [conv.bias.detach().numpy() for conv in network.convs]


def logits(network: Any, X: torch.Tensor, rows: Any = None) -> np.ndarray:
    result: np.ndarray = network(X, rows).detach().numpy()
    return result


def expected_logits(network: Any, X: torch.Tensor) -> np.ndarray:
    weights, biases = arrays(network)
    sigma = NUMPY_ACTIVATIONS[network.activation_name]
    if isinstance(network, ReducedOrderGCN):
        pairs, responses = network.kernels[0].eigenpairs, [K.response for K in network.kernels]
        vectors = pairs.eigenvectors
        return reference.reduced_gcn(vectors, responses, X.numpy(), weights, biases, sigma)
    dense = [K.to_dense() for K in network.kernels]
    return reference.gcn(dense, X.numpy(), weights, biases, sigma)


def low_rank(filters: Any = "pseudoinverse", rank: int = 4) -> Any:
    return lg.kernel(cases.points(), filters, rank=rank)


# --- against the oracle -----------------------------------------------------------------------


@pytest.mark.parametrize("form", cases.FORMS)
@pytest.mark.parametrize("widths", [(3, 2), (3, 4, 2), (2, 5, 4, 3)])
@pytest.mark.parametrize("bias", [False, True])
def test_gcn_of_every_form_and_depth(form: str, widths: tuple[int, ...], bias: bool) -> None:
    network = built(GCN, cases.kernel(form), widths, bias=bias)
    X = cases.features(network.n_nodes, widths[0])
    expected = expected_logits(network, X)
    assert_allclose(logits(network, X), expected, rtol=0, atol=1e-11)
    for rows in ([1, 0, 1], np.array([2]), torch.tensor([3, 1]), []):
        assert_allclose(logits(network, X, rows), expected[np.asarray(rows, int)], atol=1e-11)
    mask = np.arange(network.n_nodes) % 2 == 0
    assert_allclose(logits(network, X, mask), expected[mask], rtol=0, atol=1e-11)
    assert_allclose(logits(network, X, torch.tensor(mask)), expected[mask], rtol=0, atol=1e-11)


@pytest.mark.parametrize("widths", [(3, 2), (3, 4, 2), (2, 5, 4, 3)])
@pytest.mark.parametrize("filters", ["heat", ["heat", "pseudoinverse", "linear"]])
@pytest.mark.parametrize("bias", [False, True])
def test_reduced_order_gcn(widths: tuple[int, ...], filters: Any, bias: bool) -> None:
    network = built(ReducedOrderGCN, low_rank(filters), widths, bias=bias)
    X = cases.features(network.n_nodes, widths[0])
    expected = expected_logits(network, X)
    assert_allclose(logits(network, X), expected, rtol=0, atol=1e-12)
    assert_allclose(logits(network, X, [5, 0]), expected[[5, 0]], rtol=0, atol=1e-12)
    mask = torch.arange(network.n_nodes) > 3
    assert_allclose(logits(network, X, mask), expected[4:], rtol=0, atol=1e-12)
    assert_array_equal(network.decode(network.reduce(X)).detach(), network(X).detach())


@pytest.mark.parametrize(
    "kernels",
    [
        lambda: low_rank(["heat", "pseudoinverse", "linear"]),  # one set of eigenvectors
        lambda: [cases.kernel("affine, incidence"), cases.kernel("polynomial, incidence")],
        lambda: lg.kernel(cases.hypergraph(), ["linear", "heat", "quadratic"]),
        lambda: [lg.kernel(cases.table(), "linear"), lg.kernel(cases.table(), lg.filters.Linear())],
        lambda: [cases.kernel("dense"), cases.kernel("polynomial, blocks"), *low_rank(["heat"])],
    ],
)
@pytest.mark.parametrize("widths", [(2, 7, 2), (7, 2), (40, 3, 30)])
def test_several_kernels(kernels: Callable[[], Any], widths: tuple[int, ...]) -> None:
    network = built(GCN, kernels(), widths, bias=True)
    X = cases.features(network.n_nodes, widths[0])
    expected = expected_logits(network, X)
    assert_allclose(logits(network, X), expected, rtol=1e-11, atol=1e-11)
    assert_allclose(logits(network, X, [0, 4]), expected[[0, 4]], rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("widths", [(2, 7), (7, 2)])
@pytest.mark.parametrize("rows", [None, [3, 0, 3]])
def test_the_order_of_products_does_not_matter(
    widths: tuple[int, int], rows: list[int] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    laplacian = cases.hypergraph("combined")  # diagonal + low rank with one factor
    affine = [lg.filters.Linear(), lg.filters.Polynomial((2.0, -3.0))]
    for kernels in (lg.kernel(laplacian, affine), low_rank(["heat", "linear"])):
        network = built(GCN, kernels, widths)
        X = cases.features(network.n_nodes, widths[0])
        expected = expected_logits(network, X)
        expected = expected if rows is None else expected[rows]
        for through_factor in (True, False):
            with monkeypatch.context() as patch:
                patch.setattr(SpectralConv, "_prefers_factor", lambda *_, way=through_factor: way)
                assert_allclose(logits(network, X, rows), expected, rtol=0, atol=1e-11)


@pytest.mark.parametrize("name", ACTIVATIONS)
@pytest.mark.parametrize("kind", [GCN, ReducedOrderGCN])
def test_activations(name: str, kind: type[Any]) -> None:
    network = built(kind, low_rank(), (3, 4, 4, 2), activation=name)
    X = cases.features(9, 3)
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


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
def test_drawn_graphs(kind: str, data: st.DataObject) -> None:
    problem = data.draw(problems(kind, min_nodes=2))
    laplacian = lg.Laplacian(problem.graph)
    n_filters = data.draw(st.integers(1, 2))
    widths = data.draw(st.lists(st.integers(1, 5), min_size=2, max_size=4))
    # φ(1) = 0: nothing hangs on eigenvectors of the eigenvalue 1, which nobody computes.
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


@pytest.mark.parametrize("form", cases.FORMS)
@pytest.mark.parametrize("widths", [(2, 3), (3, 2)])
def test_gradients_of_convolutions(form: str, widths: tuple[int, int]) -> None:
    conv = SpectralConv(
        cases.kernel(form), *widths, bias=True, dtype=DOUBLE, generator=cases.generator()
    )
    X = cases.features(conv.n, widths[0]).requires_grad_()
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
    # The sign rule looks at the largest entries, wherever they are; here none tie.
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


def turned(K: lg.Kernel, rotation: np.ndarray) -> lg.Kernel:
    """The same kernel with U_r Q in the place of U_r; Q must commute with φ(Λ_r)."""
    assert K.eigenpairs is not None
    vectors = K.eigenpairs.eigenvectors @ rotation
    factor = replace(K.operator.factor, matrix=vectors)  # type: ignore[attr-defined]
    operator = replace(K.operator, factor=factor)  # type: ignore[type-var]
    return replace(K, operator=operator, eigenpairs=replace(K.eigenpairs, eigenvectors=vectors))


def test_only_the_reduced_network_depends_on_signs() -> None:
    K = low_rank()
    flipped = turned(K, np.diag([1.0, -1.0, 1.0, -1.0]))
    X = cases.features(9, 3)
    same = [logits(built(GCN, kernel), X) for kernel in (K, flipped)]
    assert_allclose(same[0], same[1], rtol=0, atol=1e-12)
    other = [logits(built(ReducedOrderGCN, kernel), X) for kernel in (K, flipped)]
    assert np.abs(other[0] - other[1]).max() > 0.05 * np.abs(other[0]).max()


def test_odd_activations_make_the_reduced_network_ignore_signs() -> None:
    K = low_rank()
    flipped = turned(K, np.diag([1.0, -1.0, 1.0, -1.0]))
    X = cases.features(9, 3)
    same = [logits(built(ReducedOrderGCN, kernel, activation="tanh"), X) for kernel in (K, flipped)]
    assert_allclose(same[0], same[1], rtol=0, atol=1e-12)


def test_only_the_reduced_network_depends_on_rotations_of_an_eigenspace() -> None:
    # A complete graph: one eigenvalue n/(n−1) of multiplicity n − 1.
    laplacian = lg.Laplacian(lg.AdjacencyGraph(1.0 - np.eye(6)))
    K = lg.kernel(laplacian, "heat", rank=6)
    rotation = np.eye(6)
    rotation[1:, 1:] = np.linalg.qr(np.random.default_rng(0).normal(size=(5, 5)))[0]
    other = turned(K, rotation)
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


# --- modules ----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [GCN, ReducedOrderGCN])
def test_state_dict_round_trip(kind: type[Any]) -> None:
    K, X = low_rank(["heat", "linear"]), cases.features(9, 3)
    first = built(kind, K, bias=True)
    state = first.state_dict()
    assert sorted(state) == ["convs.0.bias", "convs.0.weight", "convs.1.bias", "convs.1.weight"]
    second = kind(K, (3, 4, 2), bias=True, dtype=DOUBLE)
    assert not np.array_equal(logits(second, X), logits(first, X))
    buffer = io.BytesIO()
    torch.save(state, buffer)
    buffer.seek(0)
    assert second.load_state_dict(torch.load(buffer, weights_only=True))
    assert_array_equal(logits(second, X), logits(first, X))
    third = kind(K, (3, 4, 2), bias=True, dtype=DOUBLE)
    third.load_state_dict(safetensors.torch.load(safetensors.torch.save(state)))
    assert_array_equal(logits(third, X), logits(first, X))


def test_weights_move_to_another_graph() -> None:
    first = built(GCN, low_rank())
    second = built(GCN, cases.kernel("affine, codes"))
    second.load_state_dict(first.state_dict())
    assert_array_equal(second.convs[0].weight.detach(), first.convs[0].weight.detach())


@pytest.mark.parametrize("kind", [GCN, ReducedOrderGCN])
def test_precision(kind: type[Any]) -> None:
    X = cases.features(9, 3)
    double = built(kind, low_rank(), bias=True)
    single = copy.deepcopy(double).to(torch.float32)
    assert single.dtype == torch.float32
    assert single(X.float()).dtype == torch.float32
    assert_allclose(logits(single, X.float()), logits(double, X), rtol=0, atol=1e-5)
    again = single.to(torch.float64)
    assert again.dtype == torch.float64
    assert_allclose(logits(again, X), logits(double, X), rtol=0, atol=1e-5)
    assert kind(low_rank(), (3, 2)).dtype == torch.float32  # the default
    assert kind(low_rank(), (3, 2)).double()(X).dtype == torch.float64


@pytest.mark.parametrize("kind", [GCN, ReducedOrderGCN])
def test_devices(kind: type[Any]) -> None:
    network = kind(low_rank(["heat", "linear"]), (3, 4, 2)).to("meta")
    assert {p.device.type for p in network.parameters()} == {"meta"}
    assert {b.device.type for b in network.buffers()} == {"meta"}


def test_layers_share_one_propagation() -> None:
    network = GCN(low_rank(["heat", "linear"]), (3, 4, 4, 2))
    assert all(conv.propagations is network.propagations for conv in network.convs)
    # U (9×4) once, φ(Λ) per filter, however many layers.
    assert sum(buffer.numel() for buffer in network.buffers()) == 9 * 4 + 2 * 4
    reduced = ReducedOrderGCN(low_rank(["heat", "linear"]), (3, 4, 4, 2))
    assert sum(buffer.numel() for buffer in reduced.buffers()) == 9 * 4 + 2 * 4
    assert (network.n_nodes, network.depth, network.widths) == (9, 3, (3, 4, 4, 2))
    assert (reduced.n_nodes, reduced.depth, reduced.rank) == (9, 3, 4)


@pytest.mark.parametrize("kind", [GCN, ReducedOrderGCN])
def test_the_same_generator_gives_the_same_weights(kind: type[Any]) -> None:
    first = kind(low_rank(), (3, 4, 2), bias=True, generator=cases.generator(3))
    second = kind(low_rank(), (3, 4, 2), bias=True)
    assert not torch.equal(first.convs[0].weight, second.convs[0].weight)
    with torch.no_grad():
        second.convs[1].bias.fill_(1.0)
    second.reset_parameters(cases.generator(3))
    for name, value in first.state_dict().items():
        assert torch.equal(value, second.state_dict()[name])
    assert not second.convs[1].bias.any()
    # Precision only rounds.
    double = kind(low_rank(), (3, 4, 2), dtype=DOUBLE, generator=cases.generator(3))
    assert torch.equal(double.convs[1].weight.float(), first.convs[1].weight)
    # A reduced network starts like the other one.
    other = GCN(low_rank(), (3, 4, 2), generator=cases.generator(3))
    assert torch.equal(other.convs[0].weight, first.convs[0].weight)


def test_weights_without_a_generator_follow_the_global_seed() -> None:
    with torch.random.fork_rng():
        torch.manual_seed(7)
        first = GCN(low_rank(), (3, 2)).convs[0].weight
        torch.manual_seed(7)
        assert torch.equal(GCN(low_rank(), (3, 2)).convs[0].weight, first)
    state = torch.get_rng_state()
    GCN(low_rank(), (3, 2), generator=cases.generator())
    assert torch.equal(torch.get_rng_state(), state)


def test_initial_weights_are_uniform_within_glorot_bounds() -> None:
    conv = SpectralConv(low_rank(["heat", "linear"]), 60, 40, generator=cases.generator())
    bound = math.sqrt(6 / 100)
    weight = conv.weight.detach().numpy()
    assert weight.shape == (2, 60, 40)
    assert np.abs(weight).max() <= bound
    assert_allclose(np.abs(weight).max(), bound, rtol=1e-2)
    for part in weight:
        assert_allclose(part.mean(), 0.0, atol=3 * bound / math.sqrt(3 * part.size))
        assert_allclose(part.std(), bound / math.sqrt(3), rtol=0.03)


@pytest.mark.parametrize("kind", [GCN, ReducedOrderGCN])
def test_dropout_acts_on_hidden_layers_while_training(kind: type[Any]) -> None:
    X = cases.features(9, 3)
    plain = built(kind, low_rank(), (3, 50, 2))
    network = built(kind, low_rank(), (3, 50, 2), dropout=0.5)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        first, second = logits(network, X), logits(network, X)
        torch.manual_seed(0)
        assert_array_equal(logits(network, X), first)
    assert not np.array_equal(first, second)
    assert_array_equal(logits(network.eval(), X), logits(plain, X))
    # The only layer of this one has no hidden output.
    single = built(kind, low_rank(), (3, 2), dropout=0.9)
    assert_array_equal(logits(single, X), logits(single.eval(), X))


def test_a_plain_training_loop_learns() -> None:
    spiral = lg.datasets.load_spiral(20, random_state=0)
    laplacian = lg.Laplacian(lg.GaussianGraph(spiral.data, 3.5))
    X = torch.tensor(spiral.data, dtype=torch.float32)
    y = torch.tensor(np.unique(spiral.target, return_inverse=True)[1])
    rows = torch.arange(0, len(y), 4)
    K = lg.kernel(laplacian, "pseudoinverse", rank=10)
    for network in (
        GCN(K, (3, 8, 5), generator=cases.generator()),
        ReducedOrderGCN(K, (3, 8, 5), generator=cases.generator()),
    ):
        optimizer = torch.optim.Adam(network.parameters(), lr=0.05)
        losses = []
        for _ in range(100):
            optimizer.zero_grad()
            loss = functional.cross_entropy(network(X, rows), y[rows])
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            losses.append(loss.item())
        assert losses[-1] < 0.7 * losses[0]


def test_printed_form() -> None:
    text = repr(GCN(low_rank(), (3, 4, 2), activation=torch.sin, bias=True))
    for part in ("3 → 4, kernels=1, bias=True", "LowRankPropagation", "DenseTall(9×4)", "sin"):
        assert part in text
    assert "entries" in repr(GCN(cases.kernel("polynomial, sparse"), (3, 2)))
    assert "PolynomialOperator" in repr(GCN(cases.kernel("polynomial, blocks"), (3, 2)))


def test_convolutions_take_propagations() -> None:
    module = lg.nn.as_propagation(cases.kernel("dense"))
    first, second = SpectralConv(module, 3, 2), SpectralConv(torch.nn.ModuleList([module]), 3, 2)
    assert first.propagations[0] is second.propagations[0] is module


# --- malformed calls --------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [GCN, ReducedOrderGCN])
@pytest.mark.parametrize(
    ("argument", "call"),
    [
        ("kernels", {"kernels": None}),
        ("kernels", {"kernels": np.eye(3)}),
        ("kernels", {"kernels": []}),
        ("kernels", {"kernels": ["linear"]}),
        ("widths", {"widths": 3}),
        ("widths", {"widths": "34"}),
        ("widths", {"widths": ()}),
        ("widths", {"widths": (3,)}),
        ("widths", {"widths": (3, 0)}),
        ("widths", {"widths": (3, -4, 2)}),
        ("widths", {"widths": (3, 4.0, 2)}),
        ("widths", {"widths": (3, True)}),
        ("activation", {"activation": "swish"}),
        ("activation", {"activation": None}),
        ("activation", {"activation": torch.nn.ReLU}),
        ("activation", {"activation": 1.0}),
        ("bias", {"bias": 1}),
        ("bias", {"bias": "yes"}),
        ("dropout", {"dropout": -0.1}),
        ("dropout", {"dropout": 1.0}),
        ("dropout", {"dropout": float("nan")}),
        ("dropout", {"dropout": "half"}),
        ("dtype", {"dtype": torch.float16}),
        ("dtype", {"dtype": "float32"}),
        ("dtype", {"dtype": np.float64}),
    ],
)
def test_malformed_networks(kind: type[Any], argument: str, call: dict[str, Any]) -> None:
    options = {"kernels": low_rank(), "widths": (3, 4, 2)} | call
    with pytest.raises(ValueError, match=rf"^{argument}: expected"):
        kind(**options)


@pytest.mark.parametrize("kind", [GCN, ReducedOrderGCN])
@pytest.mark.parametrize(
    ("argument", "X", "rows"),
    [
        ("X", np.ones((9, 3)), None),
        ("X", [[1.0] * 3] * 9, None),
        ("X", torch.ones(8, 3), None),
        ("X", torch.ones(9, 4), None),
        ("X", torch.ones(9), None),
        ("X", torch.ones(1, 9, 3), None),
        ("X", torch.ones(9, 3, dtype=DOUBLE), None),
        ("X", torch.ones(9, 3, dtype=torch.long), None),
        ("X", torch.ones(9, 3).to_sparse(), None),
        ("rows", torch.ones(9, 3), [9]),
        ("rows", torch.ones(9, 3), [-1]),
        ("rows", torch.ones(9, 3), [0.5]),
        ("rows", torch.ones(9, 3), torch.tensor([[0]])),
        ("rows", torch.ones(9, 3), torch.tensor([True, False])),
        ("rows", torch.ones(9, 3), 4),
        ("rows", torch.ones(9, 3), [[0], [1, 2]]),
    ],
)
def test_malformed_input(kind: type[Any], argument: str, X: Any, rows: Any) -> None:
    network = kind(low_rank(), (3, 4, 2))
    with pytest.raises(ValueError, match=rf"^{argument}: expected"):
        network(X, rows)


def test_malformed_convolutions() -> None:
    K = low_rank()
    for argument, kernels, options in (
        ("in_width", K, {"in_width": 0}),
        ("out_width", K, {"out_width": 2.5}),
        ("bias", K, {"bias": None}),
        ("dtype", K, {"dtype": torch.int32}),
        ("kernels", torch.nn.ModuleList(), {}),
        ("kernels", torch.nn.ModuleList([torch.nn.ReLU()]), {}),
        ("kernels", torch.nn.ReLU(), {}),
        (
            "kernels",
            torch.nn.ModuleList(map(lg.nn.as_propagation, (K, cases.kernel("affine, codes")))),
            {},
        ),
    ):
        arguments: dict[str, Any] = {"in_width": 3, "out_width": 2} | options
        with pytest.raises(ValueError, match=rf"^{argument}: expected"):
            SpectralConv(kernels, **arguments)  # type: ignore[arg-type]


def test_malformed_reductions() -> None:
    with pytest.raises(ValueError, match=r"^kernels: expected kernels with a rank, got form 'de"):
        ReducedOrderGCN(cases.kernel("dense"), (3, 2))
    with pytest.raises(ValueError, match=r"^kernels: expected kernels with a rank, got .*Lapl"):
        ReducedOrderGCN(cases.points(), (3, 2))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"^kernels: expected kernels of the same eigenpairs"):
        ReducedOrderGCN([low_rank("heat"), low_rank("linear")], (3, 2))
    network = ReducedOrderGCN(low_rank(), (3, 2))
    with pytest.raises(ValueError, match=r"^X: expected a dense tensor of shape \(9, k\)"):
        network.reduce(torch.ones(4, 3))
    with pytest.raises(ValueError, match=r"^coefficients: expected"):
        network.project(torch.ones(9, 3))
    with pytest.raises(ValueError, match=r"^X: expected a dense tensor of shape \(4, 3\)"):
        network.decode(torch.ones(9, 3))
