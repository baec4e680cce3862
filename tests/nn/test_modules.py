"""Networks as torch modules: state, precision, seeds, copies, and malformed calls."""

from __future__ import annotations

import copy
import io
import math
from typing import Any

import numpy as np
import pytest
import safetensors.torch
import torch
from numpy.testing import assert_allclose, assert_array_equal
from torch.nn import functional

import lowrankgcn as lg
from lowrankgcn.nn import GCN, ReducedOrderGCN, SpectralConv
from tests.support.cases import nn_problems as cases
from tests.support.cases.nn_problems import DOUBLE, built, logits, low_rank
from tests.support.cases.problems import calm_blas  # noqa: F401

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


@pytest.mark.parametrize("form", ["low rank", "polynomial, blocks"])
def test_copies_share_what_was_set_up(form: str) -> None:
    X = cases.features(9, 3)
    network = built(GCN, cases.kernel(form))
    other = copy.deepcopy(network)
    assert_array_equal(logits(other, X), logits(network, X))
    assert other.kernels[0] is network.kernels[0]
    if form == "polynomial, blocks":
        assert other.propagations[0].source is network.propagations[0].source
    other.reset_parameters(cases.generator(1))
    assert not np.array_equal(logits(other, X), logits(network, X))


@pytest.mark.parametrize("kind", [GCN, ReducedOrderGCN])
def test_devices(kind: type[Any]) -> None:
    network = kind(low_rank(["heat", "linear"]), (3, 4, 2)).to("meta")
    assert {p.device.type for p in network.parameters()} == {"meta"}
    assert {b.device.type for b in network.buffers()} == {"meta"}


def test_layers_share_one_propagation() -> None:
    network = GCN(low_rank(["heat", "linear"]), (3, 4, 4, 2))
    assert all(list(conv.propagations) == list(network.propagations) for conv in network.convs)
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
    text = repr(GCN(low_rank(), (3, 4, 2), bias=True))
    for part in ("3 → 4, kernels=1, bias=True", "LowRankPropagation", "DenseMatrix(9×4)", "ReLU"):
        assert part in text


def test_convolutions_accept_propagations() -> None:
    module = lg.nn.as_propagation(cases.kernel("dense"))
    first, second = SpectralConv(module, 3, 2), SpectralConv(torch.nn.ModuleList([module]), 3, 2)
    assert first.propagations[0] is second.propagations[0] is module


# --- malformed calls --------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [GCN, ReducedOrderGCN])
def test_malformed_networks(kind: type[Any]) -> None:
    for argument, call in (
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
        ("generator", {"generator": 3}),
        ("dtype", {"dtype": np.float64}),
    ):
        options: dict[str, Any] = {"kernels": low_rank(), "widths": (3, 4, 2)} | call
        with pytest.raises(ValueError, match=rf"^{argument}: expected"):
            kind(**options)


@pytest.mark.parametrize("kind", [GCN, ReducedOrderGCN])
def test_malformed_input(kind: type[Any]) -> None:
    network = kind(low_rank(), (3, 4, 2))
    for argument, X, rows in (
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
    ):
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
    with pytest.raises(
        ValueError, match=r"^kernels: expected kernels with a rank.* got \['dense'\]"
    ):
        ReducedOrderGCN(cases.kernel("dense"), (3, 2))
    with pytest.raises(ValueError, match=r"^kernels: expected kernels with a rank.* got \['Lapl"):
        ReducedOrderGCN(cases.points(), (3, 2))  # type: ignore[arg-type]
    with pytest.raises(
        ValueError, match=r"^kernels: expected kernels .*, of one lowrankgcn.kernel"
    ):
        ReducedOrderGCN([low_rank("heat"), low_rank("linear")], (3, 2))
    network = ReducedOrderGCN(low_rank(), (3, 2))
    with pytest.raises(ValueError, match=r"^X: expected a dense tensor of shape \(9, 3\)"):
        network.reduce(torch.ones(4, 3))
