"""Kernels as torch modules with differentiable products 𝒦X and 𝒦[I,:]X.

The arrays of a kernel are non-persistent buffers: they follow ``.to(device)`` and ``.to(dtype)``,
but a ``state_dict`` contains weights only, which also fit the same network on another graph. This
is the only module in which dtype and device of set-up arrays (NumPy, float64) change:

======================== =========================================================
operator                 propagation
======================== =========================================================
DiagonalPlusLowRank      ``LowRankPropagation``, diag(d) + Z M Zᵀ
MatrixOperator           ``DenseMatrix`` or ``SparseMatrix``
Laplacian                one of the above, depending on its weights
PolynomialOperator       ``PolynomialPropagation`` of one of the above
all others               ``NumpyMatrix``, products by NumPy
======================== =========================================================

>>> import lowrankgcn as lg, torch
>>> L = lg.Laplacian(lg.Hypergraph([[1, 0], [1, 1], [0, 1]]))
>>> K = lg.kernel(L, "linear", rank=2)
>>> P = lg.nn.as_propagation(K, dtype=torch.float64)
>>> P
LowRankPropagation(
  3×3
  (factor): DenseMatrix(3×2)
)
>>> X = torch.eye(3, dtype=torch.float64)
>>> torch.allclose(P(X), torch.as_tensor(K.to_dense()))
True
>>> torch.allclose(P(X, rows=torch.tensor([1])), P(X)[[1]])
True
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, cast, final

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor, nn

from lowrankgcn import operators
from lowrankgcn._validation import invalid
from lowrankgcn.operators import Factor, SymmetricOperator
from lowrankgcn.operators.codes import CodeFactor
from lowrankgcn.spectral.kernel import Kernel
from lowrankgcn.spectral.laplacian import Laplacian

# Entries up to which a factor that NumPy could evaluate is stored: 128 MB in single precision.
_STORED_ENTRIES = 2**25

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


def as_propagation(operator: Any, *, dtype: torch.dtype = torch.float32) -> Propagation:
    """Convert a kernel, or any symmetric operator, to a torch module.

    Parameters
    ----------
    operator : Kernel or SymmetricOperator
    dtype : torch.float32 or torch.float64
        Type in which the matrices are stored. Converting a float32 module to float64 later does not
        restore the digits that were dropped here.

    Returns
    -------
    Propagation
        See the table of :mod:`lowrankgcn.nn.propagation`.

    Raises
    ------
    ValueError
        If `operator` is not an operator of this package or `dtype` is another type.

    See Also
    --------
    as_propagations : Several kernels with common buffers.

    Examples
    --------
    >>> import lowrankgcn as lg
    >>> path = lg.AdjacencyGraph.from_edge_index([[0, 1], [1, 2]])
    >>> lg.nn.as_propagation(lg.kernel(lg.Laplacian(path), "quadratic"))
    PolynomialPropagation(
      3×3
      (inner): SparseMatrix(3×3)
    )
    """
    return cast(Propagation, as_propagations([operator], dtype=dtype)[0])


def as_propagations(kernels: Any, *, dtype: torch.dtype = torch.float32) -> nn.ModuleList:
    """Convert kernels to modules; kernels with the same eigenvectors share one buffer.

    Modules are not copied, so that several layers can share them.

    See Also
    --------
    as_propagation : One kernel.

    Examples
    --------
    >>> import lowrankgcn as lg
    >>> laplacian = lg.Laplacian(lg.Hypergraph([[1, 0], [1, 1], [0, 1]]))
    >>> kernels = lg.kernel(laplacian, ["linear", "heat"], rank=2)
    >>> first, second = lg.nn.as_propagations(kernels)
    >>> first.factor is second.factor
    True
    """
    check_dtype(dtype)
    factors: dict[int, Propagation] = {}
    return nn.ModuleList(_convert(kernel, dtype, factors) for kernel in as_operators(kernels))


def as_operators(kernels: Any) -> tuple[Any, ...]:
    """Return a kernel or a sequence of kernels of one graph, or modules of these, as a tuple."""
    several = isinstance(kernels, (list, tuple, nn.ModuleList))
    sequence: tuple[Any, ...] = tuple(kernels) if several else (kernels,)
    if not sequence or not all(isinstance(K, SymmetricOperator | Propagation) for K in sequence):
        raise invalid("kernels", "a Kernel or a sequence of them", repr(kernels))
    sizes = sorted({operator.n for operator in sequence})
    if len(sizes) > 1:
        raise invalid("kernels", "kernels of one graph", f"{sizes} nodes")
    return sequence


def check_dtype(dtype: Any) -> None:
    """Reject types that networks do not compute in."""
    if dtype not in (torch.float32, torch.float64):
        raise invalid("dtype", "torch.float32 or torch.float64", repr(dtype))


def _convert(operator: Any, dtype: torch.dtype, factors: dict[int, Propagation]) -> Propagation:
    """Convert an operator; `factors` has the modules of converted factors by their id."""
    if isinstance(operator, Propagation):
        return operator
    if isinstance(operator, Kernel):
        operator = operator.operator
    if isinstance(operator, operators.PolynomialOperator):
        explicit, (first, *others) = _explicit(operator.operator), operator.coefficients
        matrix: Any = getattr(explicit, "matrix", None)
        if sp.issparse(matrix) and len(others) == 1:  # one product instead of a product and sums
            identity = sp.eye_array(*explicit.shape, format="csr")
            return SparseMatrix(first * identity + others[0] * matrix, dtype)
        inner = _convert(explicit, dtype, factors)
        # NumPy evaluates a polynomial of its operators itself, without a detour through torch.
        if not isinstance(inner, NumpyMatrix):
            return PolynomialPropagation(inner, operator.coefficients)
    operator = _explicit(operator)
    if isinstance(operator, operators.MatrixOperator):
        kind = SparseMatrix if sp.issparse(operator.matrix) else DenseMatrix
        return kind(operator.matrix, dtype)
    if isinstance(operator, operators.DiagonalPlusLowRank):
        key = id(operator.factor)
        stored: Any = None if key in factors else stored_form(operator.factor)
        if sp.issparse(stored):
            factors[key] = SparseMatrix(stored, dtype, SparseMatrix(stored.T, dtype))
        elif stored is not None:
            factors[key] = DenseMatrix(stored, dtype)
        if key in factors:
            return LowRankPropagation(operator.offset, factors[key], operator.core, dtype)
    return NumpyMatrix(operator)


def _explicit(operator: Any) -> Any:
    """Return a Laplacian as a matrix, or as diagonal plus low rank, where it has such a form."""
    if isinstance(operator, Laplacian):
        weights, factor = operator.affinity.operator, operator.factor
        if factor is not None:
            core = np.full(factor.shape[1], -1.0)
            return operators.DiagonalPlusLowRank(operator.shift, factor, core)
        if isinstance(weights, operators.MatrixOperator):
            shift, scale = sp.diags_array(operator.shift), sp.diags_array(operator.scale)
            return operators.MatrixOperator(shift - scale @ weights.matrix @ scale)
    return operator


def stored_form(factor: Factor) -> Any:
    """Return a factor as an array or a csr_array; None if it is dense and too large to store."""
    if isinstance(factor, operators.MatrixFactor):
        return factor.matrix
    if isinstance(factor, CodeFactor):
        return factor.to_sparse()
    if isinstance(factor, operators.ScaledFactor):
        inner = stored_form(factor.factor)
        if sp.issparse(inner):
            scales = zip((factor.row_scale, factor.column_scale), factor.shape, strict=True)
            left, right = (np.ones(k) if scale is None else scale for scale, k in scales)
            return sp.csr_array(sp.diags_array(left) @ inner @ sp.diags_array(right))
    n, m = factor.shape
    return factor.to_dense() if n * m <= _STORED_ENTRIES else None
