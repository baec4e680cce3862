"""From a network and its data to a training problem: every exact saving is found here.

* 𝒦X, or U_rᵀX, is computed once.
* Features of rank q < K·N₀ become m×q: always for kernels of rank r < K·N₀, and wherever the row
  space turns out smaller to rounding (the incidence matrix of a table has dependent columns).
* The last layer is computed for labelled rows only; with more of them than eigenvectors, through
  the eigenvectors.
* Nodes with equal features have equal activations: with one hidden layer they are merged, and their
  columns of the readout added.
* A reduced-order network keeps nothing of the n nodes but the labelled rows of U_r, and so does a
  low-rank one whose nodes are elsewhere: its hidden layers are sums over them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import torch
from torch import Tensor

from lowrankgcn._validation import invalid
from lowrankgcn.nn import GCN, Network, Propagation, ReducedOrderGCN
from lowrankgcn.nn.factors import DenseTall
from lowrankgcn.nn.propagation import (
    DensePropagation,
    IdentityPropagation,
    LowRankPropagation,
    OperatorPropagation,
)
from lowrankgcn.training.activations import ACTIVATIONS
from lowrankgcn.training.compression import COPIED_ENTRIES, by_column, merged, row_space
from lowrankgcn.training.features import Features, TensorFeatures
from lowrankgcn.training.problem import MatrixReadout, OperatorReadout, Readout, TrainingProblem

__all__ = ["first_product", "training_problem"]

# Entries of kernel rows that may be stored, and how many rows pay beside a product with the kernel.
_STORED_ENTRIES = 2**28
_PAYING_ROWS = 256


@torch.no_grad()
def training_problem(
    network: Network, X: Tensor | Features, index: Tensor, targets: Tensor, sample_weight: Tensor
) -> TrainingProblem:
    """Set up the training of a network.

    Parameters
    ----------
    network : GCN or ReducedOrderGCN
        With an activation that has a name.
    X : (n, N_0) Tensor or Features
    index : (p,) Tensor
        Labelled rows.
    targets : (p, C) Tensor
    sample_weight : (p,) Tensor
        Of sum one.

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
    if _ignores_graph(_modules(network)):
        # Rows do not meet: only labelled ones matter.
        given = TensorFeatures(given.take(index))
        index = torch.arange(len(index), device=index.device)
    nodes = given.nodes if isinstance(network, GCN) and network.depth > 1 else None
    if nodes is not None and network.dropout.p:
        raise invalid("network", "no dropout where its nodes are elsewhere", network.dropout.p)
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
    if network.depth == 2 and not network.dropout.p and isinstance(readout, MatrixReadout):
        features, readout = merged(features, readout)
    return TrainingProblem(
        widths=network.widths,
        features=by_column(features),
        basis=basis,
        orthonormal=orthonormal,
        readout=readout,
        targets=targets,
        sample_weight=sample_weight,
        propagations=_modules(network) if nodes is None else _cores(network),
        n_kernels=len(network.propagations),
        activation=name,
        bias=network.convs[0].bias is not None,
        dropout=network.dropout.p,
        nodes=nodes,
    )


def first_product(network: Network, X: Features) -> Callable[[Tensor], Tensor]:
    """W ↦ [𝒦₁X … 𝒦_KX] W, or [φ₁UᵀX … φ_KUᵀX] W of a reduced-order network, for any weights."""
    if _ignores_graph(_modules(network)):
        return X.times
    features, basis = _input_features(network, X)
    if basis is None:
        return lambda weight: features @ weight
    return lambda weight: features @ (basis.T @ weight)


def _input_features(network: Network, X: Features) -> tuple[Tensor, Tensor | None]:
    """Features F (m, q) and basis B (K·N_0, q), or None, with F Bᵀ = [𝒦₁X … 𝒦_KX].

    Kernels of the same eigenvectors U have F = U if that is narrower than the product.
    """
    modules = _modules(network)
    spectral = _spectral_form(network, X)
    if spectral is not None:
        U, responses = spectral
        inner = X.inner(U)
        return _side_by_side([phi[:, None] * inner for phi in responses]), None
    shared = _shared_eigenvectors(modules)
    if shared is not None:
        U, responses = shared
        inner = X.inner(U)
        basis = _side_by_side([phi[:, None] * inner for phi in responses])  # (r, K·N₀)
        return (U, basis.T) if len(basis) < basis.shape[1] else (U @ basis, None)
    whole = X.dense()
    return _side_by_side([module(whole) for module in modules]), None


def _modules(network: Network) -> list[Propagation]:
    return [module for module in network.propagations if isinstance(module, Propagation)]


def _ignores_graph(modules: Sequence[Propagation]) -> bool:
    return len(modules) == 1 and isinstance(modules[0], IdentityPropagation)


def _labelled_features(network: Network, X: Features, index: Tensor) -> Tensor:
    """Rows of the features of a network with a single layer."""
    if isinstance(network, ReducedOrderGCN):
        return network.project(_input_features(network, X)[0], index)
    modules = _modules(network)
    shared = _shared_eigenvectors(modules)
    if shared is not None:
        U, responses = shared
        inner = X.inner(U)
        return _side_by_side([U[index] @ (phi[:, None] * inner) for phi in responses])
    whole = X.dense()
    return _side_by_side([module.rows(index, whole) for module in modules])


def _readout(network: Network, X: Features, index: Tensor, like: Tensor) -> Readout:
    modules = _modules(network)
    if network.depth == 1 or _ignores_graph(modules):
        return MatrixReadout()
    spectral = _spectral_form(network, X)
    if spectral is not None:
        U, responses = spectral
        return _spectral_readout(None, responses, U[index])
    shared = _shared_eigenvectors(modules)
    if shared is None:
        return _row_readout(modules, index, like)
    U, responses = shared
    if U.shape[1] < len(modules) * len(index):
        return _spectral_readout(U, responses, U[index])
    rows = [U @ (phi[:, None] * U[index].T) for phi in responses]
    return MatrixReadout(by_column(_side_by_side(rows)))


def _spectral_form(network: Network, X: Features) -> tuple[Tensor, list[Tensor]] | None:
    """U and the φ_k of a network whose hidden layers have eigenvectors for rows, else None.

    That is a reduced-order network, and a low-rank one whose nodes are elsewhere.
    """
    modules = _modules(network)
    if isinstance(network, ReducedOrderGCN):
        U = network.eigenvectors
        ones = U.new_ones(network.rank, 1)
        return U, [module(ones)[:, 0] for module in modules]
    if X.nodes is None:
        return None
    shared = _shared_eigenvectors(modules)
    if shared is None:
        raise invalid("network", "kernels of low rank where nodes are elsewhere", repr(network))
    return shared


def _cores(network: Network) -> list[Callable[[Tensor], Tensor]]:
    """V ↦ φ_k V, the kernels in the coordinates of the eigenvectors."""
    return [m.core_product for m in _modules(network) if isinstance(m, LowRankPropagation)]


def _shared_eigenvectors(modules: Sequence[Propagation]) -> tuple[Tensor, list[Tensor]] | None:
    """U and the φ_k if all kernels are U φ_k Uᵀ with the same stored U."""
    factor, responses = None, []
    for module in modules:
        if not isinstance(module, LowRankPropagation) or module.offset is not None:
            return None
        if not isinstance(module.factor, DenseTall) or factor not in (None, module.factor):
            return None
        factor = module.factor
        core = factor.matrix.new_ones(factor.shape[1]) if module.core is None else module.core
        if core.ndim > 1:
            return None
        responses.append(core)
    return None if factor is None else (factor.matrix, responses)


def _spectral_readout(
    U: Tensor | None, responses: Sequence[Tensor], labelled: Tensor
) -> MatrixReadout:
    tall = None if U is None else by_column(U)
    if len(responses) == 1:
        return MatrixReadout(tall, None, labelled * responses[0])
    return MatrixReadout(tall, torch.stack(list(responses)), labelled)


def _row_readout(modules: Sequence[Propagation], index: Tensor, like: Tensor) -> Readout:
    n, rows = modules[0].n, len(modules) * len(index)
    # A product with a matrix-free kernel is so dear that storing rows always pays.
    dear = any(isinstance(m, (DensePropagation, OperatorPropagation)) for m in modules)
    if n * rows > _STORED_ENTRIES or (rows > _PAYING_ROWS and not dear):
        return OperatorReadout([partial(m.rows, index) for m in modules], modules, index, n)
    units = like.new_zeros(n, len(index))
    units[index, torch.arange(len(index), device=index.device)] = 1.0
    return MatrixReadout(by_column(_side_by_side([module(units) for module in modules])))


def _side_by_side(parts: Sequence[Tensor]) -> Tensor:
    return torch.cat(list(parts), dim=1) if len(parts) > 1 else parts[0]
