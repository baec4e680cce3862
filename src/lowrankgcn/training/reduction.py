"""Reduction of a network and its data to a training problem, by exact savings.

* 𝒦X, or U_rᵀX, is computed once.
* Features of rank q < K·N₀ become m×q: always for kernels of rank r < K·N₀, and wherever the row
  space is smaller to rounding (the incidence matrix of a table has dependent columns).
* The last layer is computed for labelled rows only; with more of them than eigenvectors, through
  the eigenvectors.
* Nodes with equal features have equal activations: with one hidden layer they are merged, and their
  columns of the readout added.
* A reduced-order network keeps only the labelled rows of U_r.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, final

import torch
from torch import Tensor

from lowrankgcn._parallel import chunks
from lowrankgcn._validation import invalid
from lowrankgcn.nn import Network, Propagation, ReducedOrderGCN
from lowrankgcn.nn.propagation import DenseMatrix, LowRankPropagation, NumpyMatrix
from lowrankgcn.training.problem import Features, Readout, as_features, as_labels
from lowrankgcn.training.threads import limit_threads

# Entries of kernel rows that may be stored: 1 GB in single precision.
_STORED_ENTRIES = 2**28
# Number of stored rows up to which a product with them is faster than one with a sparse kernel.
_STORED_ROWS = 256
# Rows converted to another data type at a time: a few megabytes for a hundred columns.
_CHUNK_ROWS = 4096
# Entries up to which arrays of n rows may be copied to make products faster: 256 MB in float32.
_COPIED_ENTRIES = 2**26
# Compression must remove at least a tenth of the columns or rows.
_WORTHWHILE = 0.9
# Multiplications, a few seconds, up to which the row space is searched.
_GRAM_WORK = 10**11
# Number of nodes from which equal rows are merged: training fewer is faster than the search.
_MERGED_NODES = 1024

Eigenvectors = tuple[Tensor, list[Tensor]]  # U (n, r) and φ_k (r,) for each kernel


@final
class TrainingProblem:
    r"""A network, its input and its labels in the form that training uses.

    Only labelled rows enter the loss and the input never changes, so the n nodes reduce to

    * features F (m×q) and a basis B with
      :math:`F B^T = [\mathcal{K}^{(1)} X \ldots \mathcal{K}^{(K)} X]`,
    * a readout: the labelled rows of the kernels,
    * for networks with more than one hidden layer, the kernels themselves.

    The m rows are the n nodes for a GCN and the r eigenvectors for a reduced-order GCN.

    Parameters
    ----------
    network : GCN or ReducedOrderGCN
        Its activation must have a name.
    X, index, targets, sample_weight
        See :func:`lowrankgcn.training.train`.

    Attributes
    ----------
    widths : tuple of int
        (N_0, …, N_L).
    features : (m, q) Tensor
        F.
    targets : (p, C) Tensor
        Distributions of the labelled rows.
    sample_weight : (p,) Tensor
        Their weights, with sum one.
    readout : Readout
        The last layer's kernels; the identity for a network with one layer.
    basis : (K·N_0, q) Tensor or None
        B; None for the identity.
    orthonormal : bool
        Whether the columns of the basis are orthonormal.
    propagations : sequence of Propagation
        H ↦ 𝒦_k H on m nodes, between hidden layers.
    activation : str
        A name of ``lowrankgcn.nn.ACTIVATIONS``.
    dropout : float

    Raises
    ------
    ValueError
        If an argument has the wrong type, shape or value, if the activation of the network has no
        name, or if its kernels have no common eigenvectors and X is projected.

    See Also
    --------
    train : Trains a network.
    ExplicitGradients : Gradients of a problem.

    Notes
    -----
    Costs K products of kernels with N_0 columns, one with p unit vectors, and O(m (K N_0)²) to find
    the row space of the features.

    Examples
    --------
    >>> import lowrankgcn as lg
    >>> from lowrankgcn.training import TrainingProblem
    >>> cars = lg.datasets.load_cars(as_frame=True)
    >>> graph = lg.Hypergraph.from_table(cars.data)
    >>> network = lg.nn.GCN(lg.kernel(lg.Laplacian(graph), "pseudoinverse", rank=15), (21, 8, 4))
    >>> problem = TrainingProblem(network, graph.incidence.to_dense(), range(4), range(4))
    >>> problem.features.shape, problem.readout.tall.shape
    (torch.Size([1728, 15]), torch.Size([1728, 4]))
    """

    @torch.no_grad()
    def __init__(
        self, network: Network, X: Any, index: Any, targets: Any, sample_weight: Any = None
    ) -> None:
        if network.activation_name is None:
            expected = "an activation given by its name; train other networks with autograd"
            raise invalid("network", expected, repr(network.activation))
        given = as_features(X, network)
        rows, labels, weights = as_labels(network, index, targets, sample_weight)
        # Set-up is a few large products, which use all threads unless the input is small.
        with limit_threads(math.prod(given.shape) * len(network.propagations)):
            features, basis = _input_features(network, given, rows if network.depth == 1 else None)
            self.orthonormal = basis is None or features.numel() <= _COPIED_ENTRIES
            if basis is None:
                features, basis = row_space(features)
            elif self.orthonormal:
                Q, triangle = torch.linalg.qr(basis.double())
                features, basis = features @ triangle.T.to(features.dtype), Q.to(features.dtype)
            readout = _readout(network, rows, features)
            if readout.tall is not None and network.depth == 2 and not network.dropout.p:
                features, tall = merge_equal_rows(features, readout.tall)
                readout = replace(readout, tall=tall)
            self.features, self.basis, self.readout = column_major(features), basis, readout
        self.targets, self.sample_weight = labels.to(features), weights.to(features)
        self.widths, self.propagations = network.widths, network.propagations
        self.activation, self.dropout = network.activation_name, network.dropout.p

    @property
    def depth(self) -> int:
        """Number of layers L."""
        return len(self.widths) - 1

    @property
    def n_kernels(self) -> int:
        """Number of kernels K."""
        return len(self.propagations)

    @property
    def work(self) -> int:
        """Multiplications of one iteration for one restart, without those of middle kernels."""
        m, q = self.features.shape
        if self.depth == 1:
            return 2 * m * q * self.widths[-1]
        columns = 0 if self.readout.tall is None else self.readout.tall.shape[1]
        return 2 * m * (q + columns) * sum(self.widths[1:-1])


def common_eigenvectors(network: Network) -> Eigenvectors | None:
    """Return U and the φ_k if all kernels are U φ_k Uᵀ with the same stored U."""
    if isinstance(network, ReducedOrderGCN):
        return network.eigenvectors, [m.get_buffer("response") for m in network.propagations]
    factors, responses = set(), []
    for module in network.propagations:
        if not isinstance(module, LowRankPropagation) or module.offset is not None:
            return None
        if not isinstance(module.factor, DenseMatrix):
            return None
        U = module.factor.matrix
        core = U.new_ones(U.shape[1]) if module.core is None else module.core
        if core.ndim > 1:
            return None
        factors.add(module.factor)
        responses.append(core)
    return (U, responses) if len(factors) == 1 else None


def project(X: Features, U: Tensor) -> Tensor:
    """Return UᵀX, shape (r, N_0)."""
    return U.T @ X if isinstance(X, Tensor) else X.projection


def as_matrix(X: Features) -> Tensor:
    """Return features that are not projected."""
    if not isinstance(X, Tensor):
        expected = "a matrix, because the kernels have no common eigenvectors"
        raise invalid("X", expected, "projected features")
    return X


def _input_features(
    network: Network, X: Features, index: Tensor | None
) -> tuple[Tensor, Tensor | None]:
    """Return features F (m, q) and basis B (K·N_0, q), or None, with F Bᵀ = [𝒦₁X … 𝒦_KX].

    With `index` the m rows are these rows of the kernels, for networks with a single layer.
    Otherwise, kernels with the same eigenvectors U have F = U if U is narrower than the product.
    """
    found = common_eigenvectors(network)
    if found is None:
        matrix = as_matrix(X)
        return _side_by_side([module(matrix, index) for module in network.propagations]), None
    U, responses = found
    inner = project(X, U)
    spectral = _side_by_side([phi[:, None] * inner for phi in responses])  # (r, K·N₀)
    if index is not None:
        return U[index] @ spectral, None
    if isinstance(network, ReducedOrderGCN):
        return spectral, None
    return (U, spectral.T) if len(spectral) < spectral.shape[1] else (U @ spectral, None)


def _readout(network: Network, index: Tensor, like: Tensor) -> Readout:
    if network.depth == 1:
        return Readout()
    found = common_eigenvectors(network)
    if found is None:
        return _row_readout(network.propagations, index, like)
    U, responses = found
    labelled, reduced = U[index], isinstance(network, ReducedOrderGCN)
    if not reduced and U.shape[1] >= len(responses) * len(index):
        rows = [U @ (phi[:, None] * labelled.T) for phi in responses]
        return Readout(column_major(_side_by_side(rows)))
    tall = None if reduced else column_major(U)
    if len(responses) == 1:
        return Readout(tall, None, labelled * responses[0])
    return Readout(tall, torch.stack(responses), labelled)


def _row_readout(modules: Sequence[Propagation], index: Tensor, like: Tensor) -> Readout:
    n, rows = modules[0].n, len(modules) * len(index)
    # A product with a dense kernel, or by NumPy, is slower than one with any number of rows.
    slow = any(isinstance(module, (DenseMatrix, NumpyMatrix)) for module in modules)
    if n * rows > _STORED_ENTRIES or (rows > _STORED_ROWS and not slow):
        return Readout(index=index)
    units = like.new_zeros(n, len(index))
    units[index, torch.arange(len(index), device=index.device)] = 1.0
    return Readout(column_major(_side_by_side([module(units) for module in modules])))


def _side_by_side(parts: Sequence[Tensor]) -> Tensor:
    return torch.cat(list(parts), dim=1) if len(parts) > 1 else parts[0]


def row_space(features: Tensor) -> tuple[Tensor, Tensor | None]:
    """Return F Q and an orthonormal basis Q of the row space, if that is smaller to rounding.

    Examples
    --------
    >>> F = torch.tensor([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0], [1.0, 1.0, 2.0], [2.0, 0.0, 2.0]])
    >>> reduced, basis = row_space(F)  # the third column is the sum of the others
    >>> reduced.shape, torch.allclose(reduced @ basis.T, F, atol=1e-5)
    (torch.Size([4, 2]), True)
    """
    m, width = features.shape
    if m < width:
        Q = torch.linalg.qr(features.double().T).Q
        return (features.double() @ Q).to(features.dtype), Q.to(features.dtype)
    if width < 3 or m * width**2 > _GRAM_WORK:
        return features, None
    gram = features.new_zeros(width, width, dtype=torch.float64)
    for a, b in chunks(m, _CHUNK_ROWS):
        block = features[a:b].double()
        gram.addmm_(block.T, block)
    values, vectors = torch.linalg.eigh(gram)
    eps = torch.finfo(features.dtype).eps
    kept = values > max((8 * eps) ** 2, width * 1e-15) * values[-1]
    if int(kept.sum()) > _WORTHWHILE * width:
        return features, None
    Q = vectors[:, kept]
    reduced = features.new_empty(m, Q.shape[1])
    error = largest = 0.0
    for a, b in chunks(m, _CHUNK_ROWS):
        block = features[a:b].double()
        inside = block @ Q
        reduced[a:b] = inside
        error = max(error, float((block - inside @ Q.T).abs().max()))
        largest = max(largest, float(block.abs().max()))
    if error > 32 * eps * largest:  # the small eigenvalues were not rounding errors
        return features, None
    return reduced, Q.to(features.dtype)


def merge_equal_rows(features: Tensor, tall: Tensor) -> tuple[Tensor, Tensor]:
    """Return the distinct rows of the features, and sums of the rows of `tall` over equal ones."""
    if len(features) < _MERGED_NODES:
        return features, tall
    # Equal rows have equal random sums, added up in the same order; others hardly ever do.
    generator = torch.Generator().manual_seed(0)
    weights = torch.rand(features.shape[1], generator=generator).to(features)
    blocks = chunks(len(features), _CHUNK_ROWS)
    sums = torch.cat([(features[a:b] * weights).double().sum(dim=1) for a, b in blocks])
    values, group = torch.unique(sums, return_inverse=True)
    if len(values) > _WORTHWHILE * len(sums):
        return features, tall
    order = torch.arange(len(sums), device=sums.device)
    first = order.new_full((len(values),), len(sums)).scatter_reduce_(0, group, order, "amin")
    kept = features[first]
    if not all(torch.equal(features[a:b], kept[group[a:b]]) for a, b in blocks):
        return features, tall
    total = tall.new_zeros(len(values), tall.shape[1]).index_add_(0, group, tall)
    return kept, column_major(total)


def column_major(X: Tensor) -> Tensor:
    """Store a matrix by columns, which suits narrow products; leave large ones as they are."""
    return X if X.numel() > _COPIED_ENTRIES else X.T.contiguous().T
