"""Kernels of every form and networks on them, small enough for dense oracles."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch

import lowrankgcn as lg
from lowrankgcn.nn import ReducedOrderGCN
from lowrankgcn.spectral import filters
from tests.support.oracles import reference_networks as reference

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

POINTS = np.random.default_rng(1).normal(size=(9, 2))
# Two components and an isolated node; the third hyperedge has a single node.
INCIDENCE = np.array(
    [
        [1, 0, 0, 0],
        [1, 1, 0, 0],
        [0, 1, 0, 0],
        [1, 1, 1, 0],
        [0, 0, 0, 1],
        [0, 0, 0, 1],
        [0, 0, 0, 0],
    ]
)
TABLE = np.array([[0, 0], [0, 1], [1, 1], [1, 2], [2, 2], [0, 2]])
WEIGHTS = [0.5, 2.0, 1.0, 3.0]


def hypergraph(smoother: str | None = None) -> lg.Laplacian:
    return lg.Laplacian(lg.Hypergraph(INCIDENCE, WEIGHTS), smoother)


def table() -> lg.Laplacian:
    return lg.Laplacian(lg.Hypergraph.from_table(TABLE, bins=None))


def points(method: str = "auto", smoother: str | None = None) -> lg.Laplacian:
    return lg.Laplacian(lg.GaussianGraph(POINTS, 2.0), smoother, method=method, tol=1e-9)


def given(sparse: bool) -> lg.Laplacian:
    matrix = np.exp(-(np.subtract.outer(np.arange(6), np.arange(6)) ** 2.0))
    matrix[matrix < 0.01] = 0.0
    return lg.Laplacian(lg.AdjacencyGraph(sp.csr_array(matrix) if sparse else matrix))


_CASES: dict[str, tuple[Callable[[], lg.Kernel], str]] = {
    "low rank": (lambda: lg.kernel(points(), "pseudoinverse", rank=4), "LowRankPropagation"),
    "affine, incidence": (
        lambda: lg.kernel(hypergraph("combined"), "linear"),
        "LowRankPropagation",
    ),
    "affine, codes": (lambda: lg.kernel(table(), "linear"), "LowRankPropagation"),
    "structured polynomial": (lambda: lg.kernel(hypergraph(), "quadratic"), "LowRankPropagation"),
    "structured filter": (lambda: lg.kernel(hypergraph(), "heat"), "LowRankPropagation"),
    "structured landmarks": (
        lambda: lg.kernel(points("low-rank", "identity"), "quadratic"),
        "LowRankPropagation",
    ),
    "dense": (lambda: lg.kernel(points(), "heat"), "DenseMatrix"),
    "polynomial, dense": (lambda: lg.kernel(given(False), "quadratic"), "PolynomialPropagation"),
    "polynomial, sparse": (
        lambda: lg.kernel(given(True), filters.Polynomial((0.5, -1.0, 0.25, 0.1))),
        "PolynomialPropagation",
    ),
    "linear, sparse": (lambda: lg.kernel(given(True), "linear"), "SparseMatrix"),
    "polynomial, incidence": (
        lambda: lg.kernel(hypergraph("identity"), "quadratic"),
        "PolynomialPropagation",
    ),
    "polynomial, landmarks": (
        lambda: lg.kernel(points("low-rank"), "quadratic"),
        "PolynomialPropagation",
    ),
    "constant": (lambda: lg.kernel(given(True), filters.Constant(2.0)), "PolynomialPropagation"),
    "polynomial, blocks": (lambda: lg.kernel(points("blocks"), "quadratic"), "NumpyMatrix"),
}
FORMS = tuple(_CASES)


@cache
def kernel(form: str) -> lg.Kernel:
    """Return a kernel of the form, always the same one."""
    return _CASES[form][0]()


def module_name(form: str) -> str:
    """Return the class of its propagation."""
    return _CASES[form][1]


def features(
    n: int, width: int, *, seed: int = 0, dtype: torch.dtype = torch.float64
) -> torch.Tensor:
    """Return normally distributed numbers, shape (n, width)."""
    return torch.tensor(np.random.default_rng(seed).normal(size=(n, width))).to(dtype)


def generator(seed: int = 0) -> torch.Generator:
    """Return a generator of weights."""
    return torch.Generator().manual_seed(seed)


def built(kind: type[Any], kernels: Any, widths: Sequence[int] = (3, 4, 2), **options: Any) -> Any:
    """Return a network in double precision with random biases."""
    network = kind(kernels, widths, dtype=DOUBLE, generator=generator(), **options)
    with torch.no_grad():
        for conv in network.convs:
            if conv.bias is not None:
                conv.bias.normal_(generator=generator(1))
    return network


def arrays(network: Any) -> tuple[list[list[np.ndarray]], list[np.ndarray] | None]:
    """Return weights and biases in the form of the oracle."""
    weights = [list(conv.weight.detach().numpy()) for conv in network.convs]
    if network.convs[0].bias is None:
        return weights, None
    return weights, [conv.bias.detach().numpy() for conv in network.convs]


def logits(network: Any, X: torch.Tensor, rows: Any = None) -> np.ndarray:
    """Return the output of a network as an array."""
    result: np.ndarray = network(X, rows).detach().numpy()
    return result


def expected_logits(network: Any, X: torch.Tensor) -> np.ndarray:
    """Compute the logits by the oracle."""
    weights, biases = arrays(network)
    sigma = NUMPY_ACTIVATIONS[network.activation_name]
    if isinstance(network, ReducedOrderGCN):
        pairs, responses = network.kernels[0].eigenpairs, [K.response for K in network.kernels]
        vectors = pairs.eigenvectors
        return reference.reduced_gcn(vectors, responses, X.numpy(), weights, biases, sigma)
    dense = [K.to_dense() for K in network.kernels]
    return reference.gcn(dense, X.numpy(), weights, biases, sigma)


def low_rank(filter: Any = "pseudoinverse", rank: int = 4) -> Any:
    """Return a kernel with a rank, or several for a list of filters."""
    return lg.kernel(points(), filter, rank=rank)
