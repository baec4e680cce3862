"""Kernels as torch modules with differentiable products 𝒦X and 𝒦[I,:]X.

The arrays of a kernel are non-persistent buffers: they follow ``.to(device)`` and ``.to(dtype)``,
but a ``state_dict`` contains weights only, which also fit the same network on another graph.
:mod:`lowrankgcn.nn.to_torch` chooses the class for each kernel.

>>> import torch
>>> from lowrankgcn.nn.propagation import DenseMatrix
>>> P = DenseMatrix([[1.0, 0.5], [0.5, 1.0]], torch.float32)
>>> P(torch.eye(2)).tolist(), P(torch.eye(2), rows=torch.tensor([1])).tolist()
([[1.0, 0.5], [0.5, 1.0]], [[0.5, 1.0]])
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, final

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor, nn

from lowrankgcn.nn.linear_map import Shared, as_tensor, linear_map, through_numpy
from lowrankgcn.operators import Factor, SymmetricOperator


class Propagation(nn.Module, ABC):
    """A fixed matrix A as a module: a symmetric kernel, or a factor of one.

    Attributes
    ----------
    shape : (int, int)
        The pair (n, m); m = n for a kernel.

    See Also
    --------
    as_propagation : Converts a kernel.

    Examples
    --------
    >>> import torch
    >>> import lowrankgcn as lg
    >>> laplacian = lg.Laplacian(lg.Hypergraph([[1, 0], [1, 1], [0, 1]]))
    >>> propagation = lg.nn.as_propagation(lg.kernel(laplacian, "linear"))
    >>> isinstance(propagation, lg.nn.Propagation), propagation.shape
    (True, (3, 3))
    >>> propagation(torch.ones(3, 2), rows=torch.tensor([0])).shape
    torch.Size([1, 2])
    """

    __call__: Callable[..., Tensor]

    def __init__(self, shape: tuple[int, ...]) -> None:
        super().__init__()
        self.shape = (int(shape[0]), int(shape[1]))

    @property
    def n(self) -> int:
        """Number of nodes."""
        return self.shape[0]

    @abstractmethod
    def forward(self, X: Tensor, rows: Tensor | None = None) -> Tensor:
        """Compute A X, or A[rows, :] X, for X of shape (m, k) and an index tensor (p,)."""

    def adjoint(self, X: Tensor) -> Tensor:
        """Compute Aᵀ X, for X of shape (n, k)."""
        return self(X)

    def extra_repr(self) -> str:
        """Return the shape for the printed network."""
        return "×".join(map(str, self.shape))


@final
class DenseMatrix(Propagation):
    """A stored matrix, such as the eigenvectors U_r; products cost O(n m k)."""

    matrix: Tensor  # (n, m)

    def __init__(self, matrix: Any, dtype: torch.dtype) -> None:
        super().__init__(np.shape(matrix))
        self.register_buffer("matrix", as_tensor(matrix, dtype), persistent=False)

    def forward(self, X: Tensor, rows: Tensor | None = None) -> Tensor:
        """Compute A X, or A[rows, :] X."""
        return _select(self.matrix, rows) @ X

    def adjoint(self, X: Tensor) -> Tensor:
        """Compute Aᵀ X."""
        return self.matrix.T @ X


@final
class SparseMatrix(Propagation):
    """A sparse matrix, such as a normalised incidence H̃; products cost O(nnz k).

    A and Aᵀ are both stored in compressed rows: products with a transposed sparse matrix are more
    than ten times slower. A symmetric matrix is stored once. The arrays are buffers, because a
    sparse tensor is not a safe one: ``.to(dtype)`` and copies fail in some versions of torch.
    """

    starts: Tensor  # (n + 1,)
    columns: Tensor  # (nnz,)
    values: Tensor  # (nnz,)

    def __init__(
        self, matrix: sp.csr_array, dtype: torch.dtype, *, transposed: SparseMatrix | None = None
    ) -> None:
        super().__init__(matrix.shape)
        _suppress_beta_warning()
        arrays = {"starts": matrix.indptr, "columns": matrix.indices, "values": matrix.data}
        for name, array in arrays.items():
            kind = dtype if name == "values" else torch.long
            self.register_buffer(name, as_tensor(array, kind), persistent=False)
        self.transposed = transposed

    def _product(self, X: Tensor) -> Tensor:
        matrix = torch.sparse_csr_tensor(
            self.starts, self.columns, self.values, size=self.shape, check_invariants=False
        )
        return matrix @ X

    def forward(self, X: Tensor, rows: Tensor | None = None) -> Tensor:
        """Compute A X, or A[rows, :] X."""
        return _select(linear_map(X, self._product, (self.transposed or self)._product), rows)

    def adjoint(self, X: Tensor) -> Tensor:
        """Compute Aᵀ X."""
        return linear_map(X, (self.transposed or self)._product, self._product)

    def extra_repr(self) -> str:
        """Return the shape and the number of entries."""
        return f"{super().extra_repr()}, {len(self.values)} entries"


@final
class NumpyMatrix(Propagation):
    """A symmetric operator or a factor that NumPy multiplies, in float64 on the CPU."""

    def __init__(self, source: SymmetricOperator | Factor) -> None:
        super().__init__(source.shape)
        self.source = Shared(source)

    def _product(self, X: Tensor) -> Tensor:
        return through_numpy(X, self.source.value.__matmul__, self.shape[0])

    def _adjoint(self, X: Tensor) -> Tensor:
        source = self.source.value
        if isinstance(source, SymmetricOperator):
            return self._product(X)
        return through_numpy(X, source.transpose_product, self.shape[1])

    def forward(self, X: Tensor, rows: Tensor | None = None) -> Tensor:
        """Compute A X, or A[rows, :] X."""
        return _select(linear_map(X, self._product, self._adjoint), rows)

    def adjoint(self, X: Tensor) -> Tensor:
        """Compute Aᵀ X."""
        return linear_map(X, self._adjoint, self._product)

    def extra_repr(self) -> str:
        """Return the shape and the class of the operator or factor."""
        return f"{super().extra_repr()}, {type(self.source.value).__name__}"


@final
class LowRankPropagation(Propagation):
    """diag(d) + Z M Zᵀ (sections 2.3.4 and A3): two products with Z, O(n m k) if Z is dense.

    Parameters
    ----------
    offset : (n,) array
        The diagonal d; not stored if zero.
    factor : Propagation
        Z, shape (n, m); kernels with the same eigenvectors share it.
    core : None, (m,) or (m, m) array
        M: the identity, a diagonal, or a symmetric matrix.
    dtype : torch.dtype
    """

    offset: Tensor | None  # (n,)
    core: Tensor | None  # (m,) or (m, m)

    def __init__(self, offset: Any, factor: Propagation, core: Any, dtype: torch.dtype) -> None:
        super().__init__((factor.n, factor.n))
        self.factor = factor
        diagonal = as_tensor(offset, dtype) if np.any(offset) else None
        self.register_buffer("offset", diagonal, persistent=False)
        small = None if core is None else as_tensor(core, dtype)
        self.register_buffer("core", small, persistent=False)

    def forward(self, X: Tensor, rows: Tensor | None = None) -> Tensor:
        """Compute 𝒦 X, or 𝒦[rows, :] X."""
        inner = self.factor.adjoint(X)
        if self.core is not None:
            inner = self.core[:, None] * inner if self.core.ndim == 1 else self.core @ inner
        product = self.factor(inner, rows)
        if self.offset is None:
            return product
        return product + _select(self.offset, rows)[:, None] * _select(X, rows)


@final
class PolynomialPropagation(Propagation):
    """Σ_j a_j 𝓛^j by Horner's rule (section 2.3.3): one product with 𝓛 per degree."""

    def __init__(self, inner: Propagation, coefficients: Sequence[float]) -> None:
        super().__init__(inner.shape)
        self.inner = inner
        self.coefficients = tuple(map(float, coefficients))

    def forward(self, X: Tensor, rows: Tensor | None = None) -> Tensor:
        """Compute 𝒦 X, or 𝒦[rows, :] X."""
        product = self.coefficients[-1] * X
        for coefficient in reversed(self.coefficients[:-1]):
            product = self.inner(product) + coefficient * X
        return _select(product, rows)

    def extra_repr(self) -> str:
        """Return the shape and the degree."""
        return f"{super().extra_repr()}, degree={len(self.coefficients) - 1}"


@final
class SpectralPropagation(Propagation):
    """φ(Λ_r), the kernel of a reduced-order GCN, whose nodes are eigenvectors (section 2.4).

    Parameters
    ----------
    response : (r,) array
        φ(Λ_r).
    dtype : torch.dtype

    See Also
    --------
    ReducedOrderGCN : The network that uses it.

    Examples
    --------
    >>> import torch
    >>> from lowrankgcn.nn import SpectralPropagation
    >>> P = SpectralPropagation([1.0, 0.5], torch.float32)
    >>> P(torch.ones(2, 1)).ravel().tolist()
    [1.0, 0.5]
    """

    response: Tensor  # (r,)

    def __init__(self, response: Any, dtype: torch.dtype) -> None:
        super().__init__((len(response), len(response)))
        self.register_buffer("response", as_tensor(response, dtype), persistent=False)

    def forward(self, X: Tensor, rows: Tensor | None = None) -> Tensor:
        """Compute φ(Λ_r) X, or φ(Λ_r)[rows, :] X."""
        return _select(self.response[:, None] * X, rows)


def _select(X: Tensor, rows: Tensor | None) -> Tensor:
    return X if rows is None else X[rows]


@cache
def _suppress_beta_warning() -> None:
    """Trigger torch's only warning about the beta state of compressed rows, and ignore it."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Sparse CSR tensor support is in beta state")
        zero = torch.zeros(2, dtype=torch.long)
        torch.sparse_csr_tensor(zero, zero[:0], zero[:0], size=(1, 1), check_invariants=False)
