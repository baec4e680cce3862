"""Reduction of a network and its data to a training problem, by exact savings.

* 𝒦X, or U_rᵀX, is computed once.
* Features of rank q < K·N₀ become m×q: always for kernels of rank r < K·N₀, and wherever the row
  space is smaller to rounding (the incidence matrix of a table has dependent columns).
* The last layer is computed for labelled rows only; with more of them than eigenvectors, through
  the eigenvectors.
* Nodes with equal features have equal activations: with one hidden layer they are merged, and their
  columns of the readout added.
* A reduced-order network keeps only the labelled rows of U_r, and so does a low-rank one whose
  nodes are stored elsewhere: its hidden layers are sums over them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import torch
from torch import Tensor

from lowrankgcn._validation import invalid
from lowrankgcn.nn import GCN, Network, Propagation, ReducedOrderGCN
from lowrankgcn.nn.matrices import DenseMatrix, SparseMatrix
from lowrankgcn.nn.propagation import (
    IdentityPropagation,
    LowRankPropagation,
    MatrixPropagation,
)
from lowrankgcn.training.activations import ACTIVATIONS
from lowrankgcn.training.compression import (
    COPIED_ENTRIES,
    column_major,
    merge_equal_rows,
    row_space,
)
from lowrankgcn.training.features import Features, TensorFeatures
from lowrankgcn.training.problem import MatrixReadout, OperatorReadout, Product, TrainingProblem

__all__ = ["first_product", "training_problem"]

# Entries of kernel rows that may be stored, and rows that are faster than a product with a kernel.
_STORED_ENTRIES = 2**28
_STORED_ROWS = 256

_Eigenvectors = tuple[Tensor, list[Tensor]]  # U (n, r) and φ_k (r,) for each kernel


@torch.no_grad()
def training_problem(
    network: Network, X: Tensor | Features, index: Tensor, targets: Tensor, sample_weight: Tensor
) -> TrainingProblem:
    """Set up the training of a network.

    Parameters
    ----------
    network : GCN or ReducedOrderGCN
        Its activation must have a name.
    X : (n, N_0) Tensor or Features
    index : (p,) Tensor
        Labelled rows.
    targets : (p, C) Tensor
    sample_weight : (p,) Tensor
        Weights with sum one.

    Returns
    -------
    TrainingProblem

    Raises
    ------
    ValueError
        If the network has another class or an activation without a name.

    Notes
    -----
    Costs K products of kernels with N_0 columns, one with p unit vectors, and O(m (K N_0)²) to find
    the row space of the features.

    Examples
    --------
    >>> import lowrankgcn as lg, torch
    >>> cars = lg.datasets.load_cars(as_frame=True)
    >>> graph = lg.Hypergraph.from_table(cars.data)
    >>> network = lg.nn.GCN(lg.kernel(lg.Laplacian(graph), "pseudoinverse", rank=15), (21, 8, 4))
    >>> X = torch.tensor(graph.incidence.to_dense(), dtype=torch.float32)
    >>> problem = training_problem(
    ...     network, X, torch.arange(4), torch.eye(4), torch.full((4,), 0.25))
    >>> problem.features.shape, problem.readout.tall.shape
    (torch.Size([1728, 15]), torch.Size([1728, 4]))
    """
    if not isinstance(network, (GCN, ReducedOrderGCN)):
        raise invalid("network", "a GCN or a ReducedOrderGCN", type(network).__name__)
    name = network.activation_name
    if name not in ACTIVATIONS:
        expected = "an activation given by its name; train other networks with autograd"
        raise invalid("network", expected, repr(network.activation))
    given = TensorFeatures(X) if isinstance(X, Tensor) else X
    if _ignores_graph(network):  # only labelled rows matter
        given = TensorFeatures(given.take(index))
        index = torch.arange(len(index), device=index.device)
    nodes = given.nodes if isinstance(network, GCN) and network.depth > 1 else None
    if nodes is not None and network.dropout.p:
        expected = "no dropout for nodes that are stored elsewhere"
        raise invalid("network", expected, network.dropout.p)
    basis: Tensor | None = None
    if network.depth == 1:
        features = _labelled_features(network, given, index)
    else:
        features, basis = _input_features(network, given)
    orthonormal = False
    if basis is None:
        features, basis = row_space(features)
        orthonormal = basis is not None
    elif features.numel() <= COPIED_ENTRIES:
        Q, triangle = torch.linalg.qr(basis.double())
        features = features @ triangle.T.to(features.dtype)
        basis, orthonormal = Q.to(features.dtype), True
    readout = _readout(network, given, index, features)
    if isinstance(readout, MatrixReadout) and readout.tall is not None:
        if network.depth == 2 and not network.dropout.p:
            features, tall = merge_equal_rows(features, readout.tall)
            readout = replace(readout, tall=tall)
    return TrainingProblem(
        widths=network.widths,
        features=column_major(features),
        basis=basis,
        orthonormal=orthonormal,
        readout=readout,
        targets=targets,
        sample_weight=sample_weight,
        propagations=_middle_products(network, spectral=nodes is not None),
        n_kernels=len(network.propagations),
        activation=name,
        dropout=network.dropout.p,
        nodes=nodes,
    )


def first_product(network: Network, X: Features) -> Product:
    """Return W ↦ [𝒦₁X … 𝒦_KX] W, or [φ₁UᵀX … φ_KUᵀX] W for a reduced-order network."""
    if _ignores_graph(network):
        return X.times
    features, basis = _input_features(network, X)
    if basis is None:
        return lambda weight: features @ weight
    return lambda weight: features @ (basis.T @ weight)


def _modules(network: Network) -> list[Propagation]:
    return [module for module in network.propagations if isinstance(module, Propagation)]


def _ignores_graph(network: Network) -> bool:
    modules = _modules(network)
    return len(modules) == 1 and isinstance(modules[0], IdentityPropagation)


def _has_spectral_rows(network: Network, X: Features) -> bool:
    """Whether the rows of hidden layers are eigenvectors instead of nodes."""
    return isinstance(network, ReducedOrderGCN) or X.nodes is not None


def _eigenvectors(network: Network) -> _Eigenvectors | None:
    """Return U and the φ_k if all kernels are U φ_k Uᵀ with the same stored U."""
    modules = _modules(network)
    if isinstance(network, ReducedOrderGCN):
        ones = network.eigenvectors.new_ones(network.rank, 1)
        return network.eigenvectors, [module(ones)[:, 0] for module in modules]
    factor, responses = None, []
    for module in modules:
        if not isinstance(module, LowRankPropagation) or module.offset is not None:
            return None
        if not isinstance(module.factor, DenseMatrix) or factor not in (None, module.factor):
            return None
        factor = module.factor
        core = factor.matrix.new_ones(factor.shape[1]) if module.core is None else module.core
        if core.ndim > 1:
            return None
        responses.append(core)
    return None if factor is None else (factor.matrix, responses)


def _middle_products(network: Network, spectral: bool) -> Sequence[Product]:
    """Return H ↦ 𝒦_k H, or V ↦ φ_k V in the coordinates of the eigenvectors."""
    found = _eigenvectors(network) if spectral else None
    if found is None:
        return _modules(network)
    return [partial(torch.mul, phi[:, None]) for phi in found[1]]


def _input_features(network: Network, X: Features) -> tuple[Tensor, Tensor | None]:
    """Return features F (m, q) and basis B (K·N_0, q), or None, with F Bᵀ = [𝒦₁X … 𝒦_KX].

    Kernels of the same eigenvectors U have F = U if that is narrower than the product.
    """
    found = _eigenvectors(network)
    if found is None:
        if X.nodes is not None:
            expected = "kernels of low rank for nodes that are stored elsewhere"
            raise invalid("network", expected, repr(network))
        whole = X.dense()
        return _side_by_side([module(whole) for module in _modules(network)]), None
    U, responses = found
    inner = X.inner(U)
    spectral = _side_by_side([phi[:, None] * inner for phi in responses])  # (r, K·N₀)
    if _has_spectral_rows(network, X):
        return spectral, None
    return (U, spectral.T) if len(spectral) < spectral.shape[1] else (U @ spectral, None)


def _labelled_features(network: Network, X: Features, index: Tensor) -> Tensor:
    """Return labelled rows of the features of a network with a single layer."""
    found = _eigenvectors(network)
    if found is None:
        whole = X.dense()
        return _side_by_side([module(whole, index) for module in _modules(network)])
    U, responses = found
    inner = X.inner(U)
    return U[index] @ _side_by_side([phi[:, None] * inner for phi in responses])


def _readout(
    network: Network, X: Features, index: Tensor, like: Tensor
) -> MatrixReadout | OperatorReadout:
    if network.depth == 1 or _ignores_graph(network):
        return MatrixReadout()
    found = _eigenvectors(network)
    if found is None:
        return _row_readout(_modules(network), index, like)
    U, responses = found
    labelled, spectral = U[index], _has_spectral_rows(network, X)
    if not spectral and U.shape[1] >= len(responses) * len(index):
        rows = [U @ (phi[:, None] * labelled.T) for phi in responses]
        return MatrixReadout(column_major(_side_by_side(rows)))
    tall = None if spectral else column_major(U)
    if len(responses) == 1:
        return MatrixReadout(tall, None, labelled * responses[0])
    return MatrixReadout(tall, torch.stack(responses), labelled)


def _row_readout(
    modules: Sequence[Propagation], index: Tensor, like: Tensor
) -> MatrixReadout | OperatorReadout:
    n, rows = modules[0].n, len(modules) * len(index)
    # A product with a dense or matrix-free kernel is slower than one with any number of rows.
    slow = any(
        isinstance(m, MatrixPropagation) and not isinstance(m.matrix, SparseMatrix) for m in modules
    )
    if n * rows > _STORED_ENTRIES or (rows > _STORED_ROWS and not slow):
        return OperatorReadout([partial(m, rows=index) for m in modules], modules, index, n)
    units = like.new_zeros(n, len(index))
    units[index, torch.arange(len(index), device=index.device)] = 1.0
    return MatrixReadout(column_major(_side_by_side([module(units) for module in modules])))


def _side_by_side(parts: Sequence[Tensor]) -> Tensor:
    return torch.cat(list(parts), dim=1) if len(parts) > 1 else parts[0]
