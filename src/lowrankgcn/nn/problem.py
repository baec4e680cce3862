r"""A network and its data in the form that training uses.

The reduction uses exact savings:

* 𝒦X, or U_rᵀX, is computed once.
* Features of rank q < K·N₀ become m×q: always for kernels of rank r < K·N₀, and wherever the row
  space is smaller to rounding (the incidence matrix of a table has dependent columns).
* The last layer is computed for labelled rows only, through the eigenvectors if there are any.
* A reduced-order network keeps only the labelled rows of U_r.
* A sparse input, or one whose entries are dropped, stays as it is.
"""

from __future__ import annotations

import copy
from typing import Any, NamedTuple, final

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from lowrankgcn._validation import expect_shape, finite_array, integer_array, invalid
from lowrankgcn.nn.convolution import as_index
from lowrankgcn.nn.inputs import SparseInput
from lowrankgcn.nn.modules import Network, ReducedOrderGCN, common_eigenvectors
from lowrankgcn.nn.propagation import DenseMatrix, NumpyMatrix, Propagation

# Entries of kernel rows that may be stored: 1 GB in single precision.
_STORED_ENTRIES = 2**28
# Number of stored rows up to which a product with them is faster than one with a sparse kernel.
_STORED_ROWS = 256
# Rows converted to another data type at a time: a few megabytes for a hundred columns.
_CHUNK_ROWS = 4096
# A smaller row space must have at least a tenth fewer columns.
_WORTHWHILE = 0.9
# Multiplications, a few seconds, up to which the row space is searched.
_GRAM_WORK = 10**11


class ProjectedFeatures(NamedTuple):
    r"""Features X of a network whose kernels have common eigenvectors U.

    A network with kernels :math:`U \varphi_k(\Lambda) U^T` needs only :math:`U^T X` of its input
    X. The n×N₀ matrix of a table with many categories is then never stored.

    Attributes
    ----------
    n : int
        Number of rows of X.
    projection : (r, N_0) Tensor
        UᵀX, in the dtype and on the device of the network.

    Examples
    --------
    >>> import lowrankgcn as lg, torch
    >>> L = lg.Laplacian(lg.Hypergraph([[1, 0], [1, 0], [1, 1], [0, 1], [0, 1]]))
    >>> network = lg.nn.GCN(lg.kernel(L, "heat", rank=2), (2, 4, 2))
    >>> X = L.graph.incidence.to_dense()
    >>> U = network.kernels[0].eigenpairs.eigenvectors
    >>> projected = lg.nn.ProjectedFeatures(5, torch.tensor(U.T @ X, dtype=torch.float32))
    >>> one, other = (
    ...     lg.nn.train(network, features, [0, 4], [0, 1], max_iter=10)
    ...     for features in (X, projected))
    >>> bool(abs(one.loss_curve - other.loss_curve).max() < 1e-5)
    True
    """

    n: int
    projection: Tensor


def as_inputs(X: Any, network: Network) -> Any:
    """Return X (n, N_0) as a tensor or sparse input.

    If the kernels have common eigenvectors U, the result is UᵀX (r, N_0), unless entries of X are
    dropped.
    """
    shape, like = (network.n_nodes, network.widths[0]), network.convs[0].weight
    dropped = network.input_dropout and not isinstance(network, ReducedOrderGCN)
    spectral = None if dropped else common_eigenvectors(network)
    if isinstance(X, ProjectedFeatures):
        got = (X.n, X.projection.shape[1])
        if spectral is None or got != shape:
            expected = f"features of shape {shape}, projected on common eigenvectors only"
            raise invalid("X", expected, f"projected features of shape {got}")
        return X.projection
    if isinstance(X, SparseInput) or sp.issparse(X):
        expect_shape(X, "X", *shape)
        sparse = X if isinstance(X, SparseInput) else SparseInput(X, like)
        return sparse if spectral is None else sparse.adjoint(spectral[0]).T
    array = finite_array(X.detach().cpu() if isinstance(X, Tensor) else X, "X", ndim=2)
    expect_shape(array, "X", *shape)
    matrix = torch.tensor(np.ascontiguousarray(array)).to(like)
    return matrix if spectral is None else spectral[0].T @ matrix


def as_labels(network: Network, index: Any, targets: Any, sample_weight: Any) -> list[Tensor]:
    """Return labelled rows (p,), their distributions (p, C), and their weights (p,) of sum one."""
    like, n_classes = network.convs[0].weight, network.widths[-1]
    rows = as_index(index, network.n_nodes, like.device, "index")
    p = len(rows)
    if not p:
        raise invalid("index", "at least one labelled row", "none")
    labels = np.asarray(targets.detach().cpu() if isinstance(targets, Tensor) else targets)
    if labels.ndim == 1:
        labels = np.eye(n_classes)[integer_array(labels, "targets", ndim=1, maximum=n_classes - 1)]
    labels = finite_array(labels, "targets", ndim=2)
    expect_shape(labels, "targets", p, n_classes)
    if labels.min() < 0 or not np.allclose(labels.sum(axis=1), 1.0, atol=1e-6):
        raise invalid("targets", "distributions, rows >= 0 of sum 1", f"minimum {labels.min():g}")
    weights = finite_array(np.ones(p) if sample_weight is None else sample_weight, "sample_weight")
    expect_shape(weights, "sample_weight", p)
    if weights.min() < 0 or not weights.sum() > 0:
        raise invalid("sample_weight", "numbers >= 0 of positive sum", f"sum {weights.sum():g}")
    return [rows, torch.tensor(labels).to(like), torch.tensor(weights / weights.sum()).to(like)]


class FactoredRows(NamedTuple):
    """The labelled rows R = P Tᵀ of a kernel, with P (p, c) and T (m, c); the identity if None.

    Examples
    --------
    The rows 0 and 2 of a kernel, and the same through its eigenvectors:

    >>> import torch
    >>> U, phi = torch.tensor([[0.6], [0.0], [0.8]]), torch.tensor([2.0])
    >>> stored = FactoredRows(tall=(U * phi) @ U[[0, 2]].T)
    >>> spectral = FactoredRows(tall=U, project=U[[0, 2]] * phi)
    >>> torch.allclose(spectral.apply(torch.eye(3)), stored.apply(torch.eye(3)))
    True
    """

    tall: Tensor | None = None
    project: Tensor | None = None

    def apply(self, X: Tensor) -> Tensor:
        """Compute X Rᵀ, shape (…, p), for X of shape (…, m)."""
        X = X if self.tall is None else X @ self.tall
        return X if self.project is None else X @ self.project.T

    def adjoint(self, Y: Tensor) -> Tensor:
        """Compute Y R, shape (…, m), for Y of shape (…, p)."""
        Y = Y if self.project is None else Y @ self.project
        return Y if self.tall is None else Y @ self.tall.T


class PropagatedRows(NamedTuple):
    """Rows of a kernel that are not stored, all by default: it is applied to all nodes."""

    propagation: Propagation
    rows: Tensor | None = None

    def apply(self, X: Tensor) -> Tensor:
        """Compute X Rᵀ, shape (…, p), for X of shape (…, m)."""
        product = self.propagation(X.flatten(0, -2).T).T.reshape(*X.shape[:-1], -1)
        return product if self.rows is None else product[..., self.rows]

    def adjoint(self, Y: Tensor) -> Tensor:
        """Compute Y R, shape (…, m), for Y of shape (…, p)."""
        if self.rows is not None:
            zeros = Y.new_zeros(*Y.shape[:-1], self.propagation.n)
            Y = zeros.index_add_(Y.ndim - 1, self.rows, Y)
        return self.propagation(Y.flatten(0, -2).T).T.reshape(*Y.shape[:-1], -1)


@final
class TrainingProblem:
    r"""A network, its input and its labels in the form that training uses.

    Only labelled rows enter the loss. If the input never changes, the n nodes reduce to

    * features F (m×q) and a basis Q with
      :math:`F Q^T = [\mathcal{K}^{(1)} X \ldots \mathcal{K}^{(K)} X]`,
    * a readout: the labelled rows of the kernels,
    * for networks with more than one hidden layer, the kernels themselves.

    The m rows are the n nodes for a GCN and the r eigenvectors for a reduced-order GCN. A sparse
    input, and one whose entries are dropped, remains as it is.

    Parameters
    ----------
    network : GCN or ReducedOrderGCN
        Its activation must have a name.
    X, index, targets, sample_weight
        See :func:`lowrankgcn.nn.train`.

    Attributes
    ----------
    widths : tuple of int
        (N_0, …, N_L).
    inputs : (m, N_0) Tensor or SparseInput, or None
        X itself, if it is sparse or its entries are dropped.
    features : (m, q) Tensor or None
        F, otherwise.
    shape : (int, int)
        Rows of the first layer, and columns of F or X.
    targets : (p, C) Tensor
        Distributions of the labelled rows.
    sample_weight : (p,) Tensor
        Their weights, with sum one.
    readout : list of FactoredRows or PropagatedRows
        The labelled rows of the kernels.
    basis : (K·N_0, q) Tensor or None
        Q, with orthonormal columns; None for the identity.
    kernels : list of PropagatedRows
        The kernels on m nodes, between hidden layers.
    activation : str
        A name of ``lowrankgcn.nn.ACTIVATIONS``.
    dropout, input_dropout : float

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
    >>> cars = lg.datasets.load_cars(as_frame=True)
    >>> graph = lg.Hypergraph.from_table(cars.data)
    >>> network = lg.nn.GCN(lg.kernel(lg.Laplacian(graph), "pseudoinverse", rank=15), (21, 8, 4))
    >>> problem = lg.nn.TrainingProblem(network, graph.incidence.to_dense(), range(4), range(4))
    >>> problem.features.shape, problem.readout[0].tall.shape
    (torch.Size([1728, 15]), torch.Size([1728, 15]))
    """

    @torch.no_grad()
    def __init__(
        self, network: Network, X: Any, index: Any, targets: Any, sample_weight: Any = None
    ) -> None:
        if network.activation_name is None:
            expected = "an activation given by its name; train other networks with autograd"
            raise invalid("network", expected, repr(network.activation))
        self.widths, self.activation = network.widths, network.activation_name
        self.dropout, self.depth = network.dropout.p, network.depth
        self.input_dropout = network.input_dropout
        self.kernels = [PropagatedRows(module) for module in network.propagations]
        inputs = as_inputs(X, network)
        rows, self.targets, self.sample_weight = as_labels(network, index, targets, sample_weight)
        self.inputs: Any = None
        self.features: Any = None
        self.basis: Any = None
        if self.input_dropout or isinstance(inputs, SparseInput):
            self.inputs = inputs
            self.shape = (len(rows) if self.depth == 1 else inputs.shape[0], inputs.shape[1])
        else:
            features, self.basis = _input_features(network, inputs, rows)
            self.features, self.shape = _column_major(features), (len(features), features.shape[1])
        need_rows = self.depth > 1 or self.inputs is not None
        self.readout = _readout(network, rows) if need_rows else []

    @torch.no_grad()
    def with_labels(self, network: Network, index: Any, targets: Any) -> TrainingProblem:
        """Return the problem with other labelled rows, for a network with a hidden layer."""
        if self.depth == 1:
            raise invalid("validation", "a network with a hidden layer", repr(self.widths))
        other = copy.copy(self)
        rows, other.targets, other.sample_weight = as_labels(network, index, targets, None)
        other.readout = _readout(network, rows)
        return other


def _input_features(network: Network, X: Tensor, labelled: Tensor) -> tuple[Tensor, Any]:
    """Return features F (m, q) and basis Q (K·N_0, q), or None, with F Qᵀ = [𝒦₁X … 𝒦_KX].

    A network with a single layer needs the labelled rows of the kernels only.
    """
    rows = labelled if network.depth == 1 else None
    eigenvectors = common_eigenvectors(network)
    if eigenvectors is None:
        return row_space(torch.cat([module(X, rows) for module in network.propagations], dim=1))
    U, responses = eigenvectors
    spectral, basis = row_space(torch.cat([phi[:, None] * X for phi in responses], dim=1))
    if rows is None and isinstance(network, ReducedOrderGCN):
        return spectral, basis
    return (U if rows is None else U[rows]) @ spectral, basis


def _readout(network: Network, index: Tensor) -> list[Any]:
    """Return the labelled rows of each kernel."""
    n, modules, count = network.n_nodes, network.propagations, len(index)
    eigenvectors = common_eigenvectors(network)
    if eigenvectors is not None:
        U, responses = eigenvectors
        tall = None if isinstance(network, ReducedOrderGCN) else _column_major(U)
        return [FactoredRows(tall, U[index] * phi) for phi in responses]
    # A product with a dense kernel, or by NumPy, is slower than one with any number of rows.
    slow = any(isinstance(module, (DenseMatrix, NumpyMatrix)) for module in modules)
    stored = len(modules) * count
    if n * stored > _STORED_ENTRIES or (stored > _STORED_ROWS and not slow):
        return [PropagatedRows(module, index) for module in modules]
    units = network.convs[0].weight.new_zeros(n, count)
    units[index, torch.arange(count, device=index.device)] = 1.0
    return [FactoredRows(_column_major(module(units))) for module in modules]


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
    blocks = torch.split(features, _CHUNK_ROWS)
    gram = sum(block.T @ block for block in map(Tensor.double, blocks))
    values, vectors = torch.linalg.eigh(gram)
    eps = torch.finfo(features.dtype).eps
    kept = values > max((8 * eps) ** 2, width * 1e-15) * values[-1]
    if int(kept.sum()) > _WORTHWHILE * width:
        return features, None
    Q = vectors[:, kept]
    parts = [block.double() @ Q for block in blocks]
    pairs = zip(blocks, parts, strict=True)
    error = max(float((block - part @ Q.T).abs().max()) for block, part in pairs)
    if error > 32 * eps * float(features.abs().max()):  # small eigenvalues were not rounding errors
        return features, None
    return torch.cat(parts).to(features.dtype), Q.to(features.dtype)


def _column_major(X: Tensor) -> Tensor:
    """Store a matrix by columns, which suits products with few columns."""
    return X.T.contiguous().T
