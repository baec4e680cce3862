"""Kernels as torch modules with differentiable products 𝒦X and 𝒦[I,:]X.

The arrays of a kernel are non-persistent buffers: they follow ``.to(device)`` and ``.to(dtype)``,
but a ``state_dict`` contains weights only, which also fit the same network on another graph. Only
here do dtype and device of set-up arrays (NumPy, float64) change.

>>> import torch
>>> P = DenseMatrix([[1.0, 2.0], [2.0, 0.0]], torch.float64)
>>> P(torch.eye(2, dtype=torch.float64), rows=torch.tensor([1])).tolist()
[[2.0, 0.0]]
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, final

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor, nn

from lowrankgcn.operators import SymmetricOperator

with warnings.catch_warnings():
    # Torch warns about the beta state of compressed rows at their first use only.
    warnings.simplefilter("ignore")
    torch.sparse_csr_tensor([0, 0], [], [], (1, 1), check_invariants=False)


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

    def __init__(self, shape: Any, dtype: torch.dtype = torch.float32, **arrays: Any) -> None:
        super().__init__()
        self.shape = (int(shape[0]), int(shape[1]))
        for name, array in arrays.items():
            # Copied, because set-up arrays are shared and must not change.
            kind = torch.long if name in ("indptr", "indices") else dtype
            tensor = None if array is None else torch.tensor(np.asarray(array), dtype=kind)
            self.register_buffer(name, tensor, persistent=False)

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


@final
class DenseMatrix(Propagation):
    """A stored matrix, such as the eigenvectors U_r; products cost O(n m k)."""

    matrix: Tensor  # (n, m)

    def __init__(self, matrix: Any, dtype: torch.dtype) -> None:
        super().__init__(np.shape(matrix), dtype, matrix=matrix)

    def forward(self, X: Tensor, rows: Tensor | None = None) -> Tensor:
        """Compute A X, or A[rows, :] X."""
        return _select(self.matrix, rows) @ X

    def adjoint(self, X: Tensor) -> Tensor:
        """Compute Aᵀ X, for X of shape (n, k)."""
        return self.matrix.T @ X


class _Product(torch.autograd.Function):
    """A X of a matrix whose products autograd does not record: the gradient is Aᵀ G."""

    @staticmethod
    def forward(ctx: Any, X: Tensor, multiply: Any, adjoint: Any) -> Any:
        ctx.products = multiply, adjoint
        return multiply(X)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        multiply, adjoint = ctx.products
        # Differentiable itself, so that gradients of gradients exist.
        return record_product(gradients[0], adjoint, multiply), None, None


#: The product ``multiply(X)`` of a matrix, with the product of its transpose for autograd.
record_product: Callable[[Tensor, Any, Any], Tensor] = _Product.apply


@final
class SparseMatrix(Propagation):
    """A sparse matrix, such as a normalised incidence H̃; products cost O(nnz k).

    A and Aᵀ are both stored in compressed rows: products with a transposed sparse matrix are more
    than ten times slower. A symmetric matrix is stored once. The arrays are buffers, because a
    sparse tensor is not a safe one: ``.to(dtype)`` and copies fail in some versions of torch.
    """

    def __init__(self, matrix: Any, dtype: torch.dtype, transposed: Any = None) -> None:
        A = sp.csr_array(matrix)
        super().__init__(A.shape, dtype, indptr=A.indptr, indices=A.indices, values=A.data)
        self.transposed = transposed

    def multiply(self, X: Tensor) -> Tensor:
        """Compute A X, unknown to autograd."""
        arrays: Any = (self.indptr, self.indices, self.values, self.shape)
        return torch.sparse_csr_tensor(*arrays, check_invariants=False) @ X

    def forward(self, X: Tensor, rows: Tensor | None = None) -> Tensor:
        """Compute A X, or A[rows, :] X."""
        return _select(record_product(X, self.multiply, (self.transposed or self).multiply), rows)

    def adjoint(self, X: Tensor) -> Tensor:
        """Compute Aᵀ X, for X of shape (n, k)."""
        return record_product(X, (self.transposed or self).multiply, self.multiply)


@final
class NumpyMatrix(Propagation):
    """A symmetric operator that NumPy multiplies, in float64 on the CPU."""

    def __init__(self, source: SymmetricOperator) -> None:
        super().__init__(source.shape)
        self.source = source

    def __deepcopy__(self, memo: dict[int, Any]) -> NumpyMatrix:
        return self  # the source is as large as the graph, and nothing here changes

    def forward(self, X: Tensor, rows: Tensor | None = None) -> Tensor:
        """Compute A X, or A[rows, :] X."""
        return _select(record_product(X, self.multiply, self.multiply), rows)

    def multiply(self, X: Tensor) -> Tensor:
        """Compute A X = Aᵀ X in the dtype and on the device of X, unknown to autograd."""
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
        offset = offset if np.any(offset) else None
        super().__init__((factor.n, factor.n), dtype, offset=offset, core=core)
        self.factor = factor

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
        super().__init__((len(response), len(response)), dtype, response=response)

    def forward(self, X: Tensor, rows: Tensor | None = None) -> Tensor:
        """Compute φ(Λ_r) X, or φ(Λ_r)[rows, :] X."""
        return _select(self.response[:, None] * X, rows)


def _select(X: Tensor, rows: Tensor | None) -> Tensor:
    return X if rows is None else X[rows]
