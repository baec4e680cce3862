"""Data objects and layers of PyTorch Geometric compared with ours."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import torch
import torch_geometric.nn as peer
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from torch_geometric.data import Data, HeteroData
from torch_geometric.data.hypergraph_data import HyperGraphData
from torch_geometric.utils import to_undirected

import lowrankgcn as lg
from lowrankgcn.nn import GCN, PygTask, SpectralConv, from_pyg, to_pyg
from tests.support.cases import nn_problems as cases
from tests.support.cases import strategies
from tests.support.cases.problems import calm_blas  # noqa: F401
from tests.support.each import each
from tests.support.oracles import reference

# PyG infers the number of nodes from the edges where nothing else tells it.
pytestmark = pytest.mark.filterwarnings("ignore:Unable to accurately infer:UserWarning")

# A triangle with a tail; node 5 has no neighbour.
EDGES = torch.tensor([[0, 0, 1, 2, 3], [1, 2, 2, 3, 4]])
MEMBERS = torch.tensor(np.array(np.nonzero(cases.INCIDENCE[:6])))


def weights_of(linear: Any) -> torch.Tensor:
    """Θ of a layer whose kernel comes before or after: PyG keeps the transposed matrix."""
    return linear.weight.detach().T[None].clone()


def ours(kernel: lg.Kernel, linear: Any) -> SpectralConv:
    """Our convolution with the weights of theirs."""
    out_width, in_width = linear.weight.shape
    conv = SpectralConv(kernel, in_width, out_width, dtype=torch.float64)
    conv.load_state_dict({"weight": weights_of(linear)})
    return conv


def agree(first: torch.Tensor, second: torch.Tensor) -> None:
    assert_allclose(first.detach().numpy(), second.detach().numpy(), rtol=0, atol=1e-12)


def full_data(**options: Any) -> Data:
    """Return a data object with all attributes that the adapter reads."""
    return Data(
        x=cases.features(6, 3),
        edge_index=to_undirected(EDGES),
        y=torch.tensor([0, 1, 0, 1, 2, 2]),
        train_mask=torch.tensor([True, True, False, False, True, False]),
        val_mask=torch.tensor([False, False, True, False, False, False]),
        test_mask=torch.tensor([False, False, False, True, False, True]),
        **options,
    )


# --- data objects -----------------------------------------------------------------------------


def test_data_with_edges() -> None:
    data = full_data()
    task = from_pyg(data)
    assert isinstance(task.graph, lg.AdjacencyGraph)
    assert task.graph.n_nodes == 6
    assert task.graph.n_components == 2
    dense = np.zeros((6, 6))
    dense[EDGES[0], EDGES[1]] = dense[EDGES[1], EDGES[0]] = 1.0
    assert_array_equal(task.graph.adjacency.toarray(), dense)
    assert_array_equal(task.features, data.x)
    assert_array_equal(task.labels, data.y)
    for name in ("train_mask", "val_mask", "test_mask"):
        assert_array_equal(getattr(task, name), data[name])


def test_edges_in_one_direction_and_with_weights() -> None:
    weights = torch.tensor([1.0, 2.0, 3.0, 4.0, 5.0])
    once = from_pyg(Data(edge_index=EDGES, edge_weight=weights, num_nodes=6)).graph
    both_edges, both_weights = to_undirected(EDGES, weights)
    both = from_pyg(Data(edge_index=both_edges, edge_weight=both_weights, num_nodes=6)).graph
    assert isinstance(once, lg.AdjacencyGraph)
    assert isinstance(both, lg.AdjacencyGraph)
    assert once.n_nodes == both.n_nodes == 6
    assert_array_equal(once.adjacency.toarray(), both.adjacency.toarray())
    assert once.adjacency.toarray()[2, 3] == 4.0


def test_edges_determine_the_number_of_nodes_if_nothing_else_does() -> None:
    task = from_pyg(Data(edge_index=EDGES))
    assert task.graph.n_nodes == 5
    assert task.features is task.labels is task.train_mask is None


def test_data_with_hyperedges() -> None:
    weights = torch.tensor(cases.WEIGHTS, dtype=torch.float64)
    data = Data(x=cases.features(6, 2), hyperedge_index=MEMBERS, hyperedge_weight=weights)
    graph = from_pyg(data).graph
    assert isinstance(graph, lg.Hypergraph)
    assert_array_equal(graph.incidence.to_dense(), cases.INCIDENCE[:6])
    assert_array_equal(graph.hyperedge_weights, cases.WEIGHTS)


def test_edges_of_hypergraph_data_are_hyperedges() -> None:
    graph = from_pyg(HyperGraphData(edge_index=MEMBERS)).graph
    assert isinstance(graph, lg.Hypergraph)
    assert_array_equal(graph.incidence.to_dense(), cases.INCIDENCE[:6])
    # As many hyperedges as nodes, the last of which belongs to none.
    data = HyperGraphData(x=torch.ones(4, 1), edge_index=torch.tensor([[0, 1, 2], [0, 3, 3]]))
    assert from_pyg(data).graph.n_nodes == 4


def test_arrays_and_other_objects() -> None:
    data = SimpleNamespace(edge_index=EDGES.numpy(), x=torch.eye(5).to_sparse(), y=[[0]] * 5)
    task = from_pyg(data)
    assert_array_equal(task.features, np.eye(5))
    assert_array_equal(task.labels, np.zeros(5))


def test_data_and_network_in_a_plain_loop() -> None:
    data = full_data()
    task = from_pyg(data)
    kernel = lg.kernel(lg.Laplacian(task.graph, "identity"), "linear")
    network = GCN(kernel, (3, 8, 3), dtype=torch.float64, generator=cases.generator())
    optimizer = torch.optim.Adam(network.parameters(), lr=0.05)
    losses = []
    for _ in range(50):
        optimizer.zero_grad()
        logits = network(data.x, data.train_mask)
        loss = torch.nn.functional.cross_entropy(logits, data.y[data.train_mask])
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.5 * losses[0]


# --- data objects from graphs -----------------------------------------------------------------


def same_task(one: PygTask, other: PygTask) -> None:
    """Check that graphs and arrays are equal."""
    for name in PygTask._fields[1:]:
        first, second = getattr(one, name), getattr(other, name)
        assert (first is None) == (second is None), name
        if first is not None:
            assert_array_equal(first, second)
    if isinstance(one.graph, lg.Hypergraph):
        assert isinstance(other.graph, lg.Hypergraph)
        assert_array_equal(one.graph.incidence.to_dense(), other.graph.incidence.to_dense())
        assert_array_equal(one.graph.hyperedge_weights, other.graph.hyperedge_weights)
    else:
        assert isinstance(other.graph, lg.AdjacencyGraph)
        difference = one.graph.adjacency - other.graph.adjacency
        assert abs(difference).max() == 0
    assert_array_equal(one.graph.loop_weights, other.graph.loop_weights)


@given(matrix=strategies.adjacency_matrices(), data=st.data())
def test_graphs_come_back_from_data_objects(matrix: np.ndarray, data: st.DataObject) -> None:
    n = len(matrix)
    masks = [data.draw(st.none() | st.just(np.arange(n) % k == 0)) for k in (1, 2, 3)]
    features = data.draw(st.none() | st.just(np.arange(2.0 * n).reshape(n, 2)))
    labels = data.draw(st.none() | st.just(np.arange(n) % 3))
    for graph in (lg.AdjacencyGraph(matrix), lg.AdjacencyGraph(sp.csr_array(matrix))):
        task = PygTask(graph, features, labels, *masks)
        made = to_pyg(*task, dtype=torch.float64)
        assert made.validate()
        assert made.num_nodes == n
        assert made.is_coalesced()
        assert n == 1 or made.is_undirected()
        same_task(from_pyg(made), PygTask(lg.AdjacencyGraph(sp.csr_array(matrix)), *task[1:]))


def test_hypergraphs_come_back_from_data_objects() -> None:
    given = lg.Hypergraph(cases.INCIDENCE, cases.WEIGHTS)
    for graph in (given, lg.Hypergraph.from_table(cases.TABLE, bins=None)):
        same_task(from_pyg(to_pyg(graph, dtype=torch.float64)), PygTask(graph))


def test_data_objects_come_back_from_graphs() -> None:
    data = full_data()
    made = to_pyg(*from_pyg(data), dtype=torch.float64)
    assert sorted(made.keys()) == sorted([*data.keys(), "num_nodes"])
    for name in data.keys():  # a data object, not a dict
        assert torch.equal(made[name], data[name]), name


def test_made_data_objects_suit_the_layers() -> None:
    graph = lg.AdjacencyGraph([[2.0, 1.0, 0.0], [1.0, 0.0, 0.5], [0.0, 0.5, 0.0]])
    data = to_pyg(graph, np.eye(3))
    assert data.x.dtype == data.edge_weight.dtype == torch.float32
    theirs = peer.GCNConv(3, 2)(data.x, data.edge_index, data.edge_weight)
    assert theirs.dtype == torch.float32
    assert data.has_self_loops()
    assert to_pyg(lg.AdjacencyGraph([[0, 1], [1, 0]])).edge_weight is None


@each(
    ("labels", "codes"),
    [
        ([2, -1, 0, 2], [2, -1, 0, 2]),
        (np.array([2, -1, 0, 2], np.int8), [2, -1, 0, 2]),
        (torch.tensor([2, -1, 0, 2]), [2, -1, 0, 2]),
        (["b", "", "a", "b"], [1, -1, 0, 1]),
        (["b", None, "a", "b"], [1, -1, 0, 1]),
        ([2.0, np.nan, 0.0, 2.0], [1, -1, 0, 1]),
        (pd.Series([2, None, 0, 2], dtype="Int64", index=list("wxyz")), [1, -1, 0, 1]),
        (pd.Categorical(["b", None, "a", "b"]), [1, -1, 0, 1]),
        ([True, True, False, True], [1, 1, 0, 1]),
    ],
)
def test_labels_of_data_objects(labels: Any, codes: list[int]) -> None:
    data = to_pyg(lg.AdjacencyGraph(np.ones((4, 4))), labels=labels)
    assert data.y.dtype == torch.int64
    assert data.y.tolist() == codes
    if -1 in codes:
        assert data.train_mask.tolist() == [code >= 0 for code in codes]
    else:
        assert "train_mask" not in data


def test_a_given_training_mask_is_kept() -> None:
    mask = np.array([True, False])
    data = to_pyg(lg.AdjacencyGraph(np.ones((2, 2))), None, [0, -1], mask[::-1])
    assert data.train_mask.tolist() == [False, True]


def test_data_objects_need_suitable_arguments() -> None:
    graph = lg.AdjacencyGraph(np.ones((3, 3)))
    for argument, arguments in (
        ("graph", (np.ones((3, 3)),)),
        ("graph", (lg.GaussianGraph(np.eye(3)),)),
        ("features", (graph, np.ones((2, 2)))),
        ("features", (graph, np.ones(3))),
        ("features", (graph, np.full((3, 1), np.nan))),
        ("features", (graph, [["a"], ["b"], ["c"]])),
        ("labels", (graph, None, [0, 1])),
        ("labels", (graph, None, np.eye(3))),
        ("train_mask", (graph, None, None, [0, 1, 1])),
        ("val_mask", (graph, None, None, None, [True])),
    ):
        with pytest.raises(ValueError, match=rf"^{argument}: expected"):
            to_pyg(*arguments)  # type: ignore[arg-type]


def test_tasks_print_shapes() -> None:
    task = from_pyg(full_data())
    assert repr(task) == (
        "PygTask(AdjacencyGraph(6 nodes, sparse), features (6, 3), labels (6,), "
        "train_mask (6,), val_mask (6,), test_mask (6,))"
    )
    assert repr(from_pyg(Data(edge_index=EDGES))) == "PygTask(AdjacencyGraph(5 nodes, sparse))"


# --- layers -----------------------------------------------------------------------------------


def test_repeated_edges_are_those_of_message_passing() -> None:
    edges = to_undirected(EDGES)
    repeated = torch.cat([edges, edges[:, :4], edges[:, :4].flip(0)], dim=1)
    X = cases.features(5, 4)
    theirs = peer.GCNConv(4, 3, bias=False).double()
    graph = from_pyg(Data(x=X, edge_index=repeated)).graph
    kernel = lg.kernel(lg.Laplacian(graph, "identity"), "linear")
    agree(ours(kernel, theirs.lin)(X), theirs(X, repeated))


@pytest.mark.parametrize("weighted", [False, True])
def test_gcn_conv_is_the_linear_filter_with_unit_loops(weighted: bool) -> None:
    weights = torch.tensor([1.0, 2.0, 3.0, 4.0, 5.0], dtype=torch.float64) if weighted else None
    edges = to_undirected(EDGES, weights) if weighted else (to_undirected(EDGES), None)
    X = cases.features(6, 4)
    theirs = peer.GCNConv(4, 3, bias=False).double()
    data = Data(x=X, edge_index=edges[0], edge_weight=edges[1])
    kernel = lg.kernel(lg.Laplacian(from_pyg(data).graph, "identity"), "linear")
    agree(ours(kernel, theirs.lin)(X), theirs(X, *edges))


def test_gcn_conv_without_loops() -> None:
    edges = to_undirected(EDGES)
    X = cases.features(5, 4)
    theirs = peer.GCNConv(4, 3, bias=False, add_self_loops=False).double()
    kernel = lg.kernel(lg.Laplacian(from_pyg(Data(x=X, edge_index=edges)).graph), "linear")
    agree(ours(kernel, theirs.lin)(X), theirs(X, edges))


def test_sg_conv_is_the_quadratic_filter() -> None:
    X = cases.features(6, 4)
    theirs = peer.SGConv(4, 3, K=2, bias=False).double()
    edges = to_undirected(EDGES)
    graph = from_pyg(Data(x=X, edge_index=edges)).graph
    kernel = lg.kernel(lg.Laplacian(graph, "identity"), "quadratic")
    agree(ours(kernel, theirs.lin)(X), theirs(X, edges))


def test_cheb_conv_is_a_basis_of_polynomials() -> None:
    """T_0, T_1, T_2 of L̂ = 2L/λ_max − I with λ_max = 2, that is of λ − 1: K = 3 kernels."""
    X = cases.features(5, 4)
    edges = to_undirected(EDGES)
    theirs = peer.ChebConv(4, 3, K=3, bias=False).double()
    polynomials = [(1.0,), (-1.0, 1.0), (1.0, -4.0, 2.0)]
    laplacian = lg.Laplacian(from_pyg(Data(x=X, edge_index=edges)).graph)
    kernels = lg.kernel(laplacian, [lg.filters.Polynomial(c) for c in polynomials])
    conv = SpectralConv(kernels, 4, 3, dtype=torch.float64)
    conv.load_state_dict({"weight": torch.stack([lin.weight.detach().T for lin in theirs.lins])})
    agree(conv(X), theirs(X, edges))


def test_two_layer_gcn() -> None:
    X = cases.features(6, 4)
    edges = to_undirected(EDGES)
    theirs = peer.models.GCN(4, 8, 2, 3, bias=True).double().eval()
    graph = from_pyg(Data(x=X, edge_index=edges)).graph
    kernel = lg.kernel(lg.Laplacian(graph, "identity"), "linear")
    network = GCN(kernel, (4, 8, 3), bias=True, dtype=torch.float64)
    with torch.no_grad():
        for own, other in zip(network.convs, theirs.convs, strict=True):
            own.weight.copy_(weights_of(other.lin))  # type: ignore[operator]
            own.bias.copy_(other.bias.normal_(generator=cases.generator()))  # type: ignore[operator]
    agree(network(X), theirs(X, edges))


def test_hypergraph_conv_on_a_complete_table() -> None:
    """All nodes have the same degree: normalising by rows is normalising symmetrically."""
    laplacian = cases.table()
    n = laplacian.n
    X = cases.features(n, 4)
    graph = laplacian.graph
    assert isinstance(graph, lg.Hypergraph)
    members = torch.tensor(np.array(np.nonzero(graph.incidence.to_dense())))
    theirs = peer.HypergraphConv(4, 3, bias=False).double()
    kernel = lg.kernel(lg.Laplacian(from_pyg(Data(x=X, hyperedge_index=members)).graph), "linear")
    agree(ours(kernel, theirs.lin)(X), theirs(X, members))


def test_hypergraph_conv_is_similar_elsewhere() -> None:
    """D^(1/2) · HypergraphConv · D^(-1/2) is the symmetric kernel of section 3."""
    X = cases.features(6, 4)
    theirs = peer.HypergraphConv(4, 3, bias=False).double()
    kernel = lg.kernel(lg.Laplacian(from_pyg(Data(x=X, hyperedge_index=MEMBERS)).graph), "linear")
    conv = ours(kernel, theirs.lin)
    root = torch.tensor(np.sqrt(reference.hypergraph(cases.INCIDENCE[:6]).D_V))[:, None]
    agree(conv(X), root * theirs(X / root, MEMBERS))
    # Without the scaling they differ.
    assert (conv(X) - theirs(X, MEMBERS)).abs().max() > 0.01


# --- malformed objects ------------------------------------------------------------------------


def test_malformed_objects() -> None:
    for argument, data in (
        ("data", None),
        ("data", HeteroData()),
        ("data", Data(x=torch.ones(2, 1))),
        ("data", 3),
        ("n_nodes", Data(x=torch.ones(3, 1), edge_index=EDGES)),
        ("edge_index", SimpleNamespace(edge_index=EDGES.float())),
        ("edge_index", SimpleNamespace(edge_index=EDGES[0])),
        ("weights", Data(edge_index=EDGES, edge_weight=torch.ones(3))),
        ("weights", Data(edge_index=EDGES, edge_weight=-torch.ones(5))),
        ("weights", Data(hyperedge_index=MEMBERS, hyperedge_weight=torch.zeros(4))),
        ("x", SimpleNamespace(edge_index=EDGES, x=torch.ones(5))),
        ("y", Data(edge_index=EDGES, y=torch.tensor([1]))),
        ("y", Data(edge_index=EDGES, y=torch.ones(5, 2))),
        ("train_mask", Data(edge_index=EDGES, train_mask=torch.ones(5))),
        ("train_mask", Data(edge_index=EDGES, train_mask=torch.ones(5, 10).bool())),
        ("n_nodes", Data(edge_index=EDGES, val_mask=torch.ones(4).bool())),
        (
            "test_mask",
            Data(x=torch.ones(5, 1), edge_index=EDGES, test_mask=torch.ones(4).bool()),
        ),
    ):
        with pytest.raises(ValueError, match=rf"^{argument}: expected"):
            from_pyg(data)
