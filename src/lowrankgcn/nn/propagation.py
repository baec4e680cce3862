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

from lowrankgcn.operators import SymmetricOperator


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

    def extra_repr(self) -> str:
        """Return the shape for the printed network."""
        return "×".join(map(str, self.shape))

    def _store(self, dtype: torch.dtype, **arrays: Any) -> None:
        """Copy arrays into buffers, because set-up arrays are shared and must not change."""
        for name, array in arrays.items():
            tensor = None if array is None else torch.tensor(np.asarray(array), dtype=dtype)
            self.register_buffer(name, tensor, persistent=False)


@final
class DenseMatrix(Propagation):
    """A stored matrix, such as the eigenvectors U_r; products cost O(n m k)."""

    matrix: Tensor  # (n, m)

    def __init__(self, matrix: Any, dtype: torch.dtype) -> None:
        super().__init__(np.shape(matrix))
        self._store(dtype, matrix=matrix)

    def forward(self, X: Tensor, rows: Tensor | None = None) -> Tensor:
        """Compute A X, or A[rows, :] X."""
        return _select(self.matrix, rows) @ X

    def adjoint(self, X: Tensor) -> Tensor:
        """Compute Aᵀ X, for X of shape (n, k)."""
        return self.matrix.T @ X


class _UnrecordedMatrix(Propagation):
    """A matrix whose products autograd does not record: the gradient of A X is Aᵀ G."""

    @abstractmethod
    def multiply(self, X: Tensor, transposed: bool) -> Tensor:
        """Compute A X, or Aᵀ X if transposed."""

    def forward(self, X: Tensor, rows: Tensor | None = None) -> Tensor:
        """Compute A X, or A[rows, :] X."""
        return _select(_differentiable_product(X, self, False), rows)

    def adjoint(self, X: Tensor) -> Tensor:
        """Compute Aᵀ X, for X of shape (n, k)."""
        return _differentiable_product(X, self, True)


class _Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, X: Tensor, matrix: _UnrecordedMatrix, transposed: bool) -> Tensor:
        ctx.matrix, ctx.transposed = matrix, transposed
        return matrix.multiply(X, transposed)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        # Differentiable itself, so that gradients of gradients exist.
        return _differentiable_product(gradients[0], ctx.matrix, not ctx.transposed), None, None


def _differentiable_product(X: Tensor, matrix: _UnrecordedMatrix, transposed: bool) -> Tensor:
    product: Tensor = _Product.apply(X, matrix, transposed)  # type: ignore[no-untyped-call]
    return product


_PARTS = ("indptr", "indices", "data")  # the arrays of a sparse matrix in compressed rows


@final
class SparseMatrix(_UnrecordedMatrix):
    """A sparse matrix, such as a normalised incidence H̃; products cost O(nnz k).

    A and Aᵀ are both stored in compressed rows: products with a transposed sparse matrix are more
    than ten times slower. A symmetric matrix is stored once. The arrays are buffers, because a
    sparse tensor is not a safe one: ``.to(dtype)`` and copies fail in some versions of torch.
    """

    def __init__(self, matrix: sp.csr_array, dtype: torch.dtype, *, symmetric: bool) -> None:
        super().__init__(matrix.shape)
        _suppress_beta_warning()
        self.symmetric = symmetric
        # Compressed columns of A are compressed rows of Aᵀ.
        stored = {"A": matrix} if symmetric else {"A": matrix, "A_T": sp.csc_array(matrix)}
        for name, compressed in stored.items():
            for part in _PARTS:
                kind = dtype if part == "data" else torch.long
                self._store(kind, **{f"{name}_{part}": getattr(compressed, part)})

    def multiply(self, X: Tensor, transposed: bool) -> Tensor:
        """Compute A X, or Aᵀ X if transposed."""
        name = "A_T" if transposed and not self.symmetric else "A"
        indptr, indices, data = (self.get_buffer(f"{name}_{part}") for part in _PARTS)
        size = self.shape[::-1] if transposed else self.shape
        return torch.sparse_csr_tensor(indptr, indices, data, size, check_invariants=False) @ X


@final
class NumpyMatrix(_UnrecordedMatrix):
    """A symmetric operator that NumPy multiplies, in float64 on the CPU."""

    def __init__(self, source: SymmetricOperator) -> None:
        super().__init__(source.shape)
        self.source = source

    def __deepcopy__(self, memo: dict[int, Any]) -> NumpyMatrix:
        return self  # the source is as large as the graph, and nothing here changes

    def multiply(self, X: Tensor, transposed: bool) -> Tensor:
        """Compute A X = Aᵀ X in the dtype and on the device of X."""
        array = X.detach().to("cpu", torch.float64).numpy()
        if not np.isfinite(array).all():
            # Similar to a dense product. NumPy operators raise an error for such input.
            return torch.full_like(X, torch.nan)
        return torch.as_tensor(np.ascontiguousarray(self.source @ array)).to(X)


@final
class LowRankPropagation(Propagation):
    """diag(d) + Z M Zᵀ (sections 2.3.4 and A3): two products with Z, O(n m k) if Z is dense.

    Parameters
    ----------
    offset : (n,) array
        The diagonal d; not stored if zero.
    factor : DenseMatrix or SparseMatrix
        Z, shape (n, m); kernels with the same eigenvectors share it.
    core : None, (m,) or (m, m) array
        M: the identity, a diagonal, or a symmetric matrix.
    dtype : torch.dtype
    """

    offset: Tensor | None  # (n,)
    core: Tensor | None  # (m,) or (m, m)

    def __init__(self, offset: Any, factor: Any, core: Any, dtype: torch.dtype) -> None:
        super().__init__((factor.n, factor.n))
        self.factor = factor
        self._store(dtype, offset=offset if np.any(offset) else None, core=core)

    def forward(self, X: Tensor, rows: Tensor | None = None) -> Tensor:
        """Compute 𝒦 X, or 𝒦[rows, :] X."""
        inner = self.factor.adjoint(X)
        if self.core is not None:
            inner = self.core[:, None] * inner if self.core.ndim == 1 else self.core @ inner
        product: Tensor = self.factor(inner, rows)
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
        self._store(dtype, response=response)

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
