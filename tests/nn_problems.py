"""Kernels of every form that a network can meet, small enough for dense oracles."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import scipy.sparse as sp
import torch

import lowrankgcn as lg
from lowrankgcn import filters

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
    "dense": (lambda: lg.kernel(points(), "heat"), "DensePropagation"),
    "polynomial, dense": (lambda: lg.kernel(given(False), "quadratic"), "PolynomialPropagation"),
    "polynomial, sparse": (
        lambda: lg.kernel(given(True), filters.Polynomial((0.5, -1.0, 0.25, 0.1))),
        "PolynomialPropagation",
    ),
    "polynomial, incidence": (
        lambda: lg.kernel(hypergraph("identity"), "quadratic"),
        "PolynomialPropagation",
    ),
    "polynomial, landmarks": (
        lambda: lg.kernel(points("low-rank"), "quadratic"),
        "PolynomialPropagation",
    ),
    "constant": (lambda: lg.kernel(given(True), filters.Constant(2.0)), "PolynomialPropagation"),
    "polynomial, blocks": (lambda: lg.kernel(points("blocks"), "quadratic"), "OperatorPropagation"),
}
FORMS = tuple(_CASES)


@cache
def kernel(form: str) -> lg.Kernel:
    """A kernel of the form, always the same."""
    return _CASES[form][0]()


def module_name(form: str) -> str:
    """Class of its propagation."""
    return _CASES[form][1]


def features(
    n: int, width: int, *, seed: int = 0, dtype: torch.dtype = torch.float64
) -> torch.Tensor:
    """A block (n, width) of normally distributed numbers."""
    return torch.tensor(np.random.default_rng(seed).normal(size=(n, width))).to(dtype)


def generator(seed: int = 0) -> torch.Generator:
    """A source of weights."""
    return torch.Generator().manual_seed(seed)
