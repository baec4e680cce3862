"""Kernels on their way into torch: products 𝒦X and 𝒦[I,:]X that autograd can pass through.

This is the border between set-up (NumPy, float64) and networks (torch, any device). Whatever the
kernel is made of stays a non-persistent buffer: it follows ``.to(device)`` and ``.to(dtype)``, but
a ``state_dict`` holds weights only, so that it is small and fits the same network on another graph.

=============================== ==========================================================
operator                        propagation
=============================== ==========================================================
DiagonalPlusLowRank             :class:`LowRankPropagation`, diag(d) + Z M Zᵀ
DenseOperator                   :class:`DensePropagation`, a stored n×n matrix
SparseOperator                  :class:`SparsePropagation`, compressed sparse rows
Laplacian                       whichever of the above its weights allow
PolynomialOperator              :class:`PolynomialPropagation`, Horner's rule on the above
anything else                   :class:`OperatorPropagation`, NumPy products forth and back
=============================== ==========================================================

>>> import lowrankgcn as lg, torch
>>> L = lg.Laplacian(lg.Hypergraph([[1, 0], [1, 1], [0, 1]]))
>>> K = lg.kernel(L, "linear", rank=2)
>>> P = lg.nn.as_propagation(K, dtype=torch.float64)
>>> P
LowRankPropagation(
  n=3
  (factor): DenseTall(3×2)
)
>>> X = torch.eye(3, dtype=torch.float64)
>>> torch.allclose(P(X), torch.as_tensor(K.to_dense()))
True
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, final

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor, nn

from lowrankgcn._validation import invalid
from lowrankgcn.kernels import Kernel
from lowrankgcn.laplacian import Laplacian
from lowrankgcn.nn.factors import SparseMatrix, TallFactor, tall_factor
from lowrankgcn.nn.linear_map import as_tensor, checked_dtype, linear_map, through_numpy
from lowrankgcn.operators import (
    DenseFactor,
    DenseOperator,
    DiagonalPlusLowRank,
    PolynomialOperator,
    SparseOperator,
    SymmetricOperator,
)

__all__ = [
    "DensePropagation",
    "LowRankPropagation",
    "OperatorPropagation",
    "PolynomialPropagation",
    "Propagation",
    "SparsePropagation",
    "SpectralPropagation",
    "as_operators",
    "as_propagation",
    "as_propagations",
]


class Propagation(nn.Module, ABC):
    """A fixed symmetric n×n matrix 𝒦 as a module, seen through its products.

    Attributes
    ----------
    n : int
        Number of nodes.
    """

    n: int

    @abstractmethod
    def forward(self, X: Tensor) -> Tensor:
        """𝒦 X for X of shape (n, k)."""

    @abstractmethod
    def rows(self, index: Tensor, X: Tensor) -> Tensor:
        """𝒦[index, :] X for X of shape (n, k) and an index tensor (p,)."""

    def extra_repr(self) -> str:
        """Number of nodes, as it appears in the printed network."""
        return f"n={self.n}"


@final
class DensePropagation(Propagation):
    """A stored n×n matrix; products cost O(n² k), selected rows O(p n k)."""

    matrix: Tensor  # (n, n)

    def __init__(self, matrix: Any, dtype: torch.dtype) -> None:
        super().__init__()
        self.n = len(matrix)
        self.register_buffer("matrix", as_tensor(matrix, dtype), persistent=False)

    def forward(self, X: Tensor) -> Tensor:
        """𝒦 X."""
        return self.matrix @ X

    def rows(self, index: Tensor, X: Tensor) -> Tensor:
        """𝒦[index, :] X."""
        return self.matrix[index] @ X


@final
class SparsePropagation(Propagation):
    """A symmetric sparse matrix; products cost O(nnz k), selected rows their own entries."""

    def __init__(self, matrix: sp.csr_array, dtype: torch.dtype) -> None:
        super().__init__()
        self.n = int(matrix.shape[0])
        self.matrix = SparseMatrix(matrix, dtype)

    def forward(self, X: Tensor) -> Tensor:
        """𝒦 X."""
        return linear_map(X, self.matrix.product, self.matrix.product)

    def rows(self, index: Tensor, X: Tensor) -> Tensor:
        """𝒦[index, :] X."""
        return self.matrix.rows(index, X)


@final
class LowRankPropagation(Propagation):
    """diag(d) + Z M Zᵀ (sections 2.3.4 and A3): two products with Z, O(n m k) if Z is dense.

    Parameters
    ----------
    offset : (n,) array
        The diagonal d; not stored if zero.
    factor : TallFactor
        Z, shape (n, m); kernels of the same eigenvectors share it.
    core : None, (m,) or (m, m) array
        M: the identity, a diagonal, or a symmetric matrix.
    dtype : torch.dtype
    """

    offset: Tensor | None  # (n,)
    core: Tensor | None  # (m,) or (m, m)

    def __init__(self, offset: Any, factor: TallFactor, core: Any, dtype: torch.dtype) -> None:
        super().__init__()
        self.n = factor.shape[0]
        self.factor = factor
        diagonal = as_tensor(offset, dtype) if np.any(offset) else None
        self.register_buffer("offset", diagonal, persistent=False)
        small = None if core is None else as_tensor(core, dtype)
        self.register_buffer("core", small, persistent=False)

    def core_product(self, V: Tensor) -> Tensor:
        """M V for V of shape (m, k)."""
        if self.core is None:
            return V
        return self.core[:, None] * V if self.core.ndim == 1 else self.core @ V

    def forward(self, X: Tensor) -> Tensor:
        """𝒦 X."""
        product: Tensor = self.factor(self.core_product(self.factor.adjoint(X)))
        return product if self.offset is None else product + self.offset[:, None] * X

    def rows(self, index: Tensor, X: Tensor) -> Tensor:
        """𝒦[index, :] X."""
        product = self.factor.rows(index, self.core_product(self.factor.adjoint(X)))
        if self.offset is None:
            return product
        return product + self.offset[index][:, None] * X[index]


@final
class PolynomialPropagation(Propagation):
    """Σ_j a_j 𝓛^j by Horner's rule (section 2.3.3): as many products with 𝓛 as the degree."""

    def __init__(self, inner: Propagation, coefficients: Sequence[float]) -> None:
        super().__init__()
        self.n = inner.n
        self.inner = inner
        self.coefficients = tuple(map(float, coefficients))

    def _before_last(self, X: Tensor) -> Tensor:
        product = self.coefficients[-1] * X
        for coefficient in reversed(self.coefficients[1:-1]):
            product = self.inner(product) + coefficient * X
        return product

    def forward(self, X: Tensor) -> Tensor:
        """𝒦 X."""
        if len(self.coefficients) == 1:
            return self.coefficients[0] * X
        product: Tensor = self.inner(self._before_last(X)) + self.coefficients[0] * X
        return product

    def rows(self, index: Tensor, X: Tensor) -> Tensor:
        """𝒦[index, :] X; only the last product with 𝓛 is restricted to the rows."""
        if len(self.coefficients) == 1:
            return self.coefficients[0] * X[index]
        return self.inner.rows(index, self._before_last(X)) + self.coefficients[0] * X[index]

    def extra_repr(self) -> str:
        """Number of nodes and degree."""
        return f"n={self.n}, degree={len(self.coefficients) - 1}"


@final
class OperatorPropagation(Propagation):
    """Any symmetric operator through NumPy, in float64 on the CPU; by symmetry also backwards."""

    def __init__(self, operator: SymmetricOperator) -> None:
        super().__init__()
        self.n = operator.n
        self.operator = operator

    def _product(self, X: Tensor) -> Tensor:
        return through_numpy(X, self.operator.__matmul__, self.n)

    def forward(self, X: Tensor) -> Tensor:
        """𝒦 X."""
        return linear_map(X, self._product, self._product)

    def rows(self, index: Tensor, X: Tensor) -> Tensor:
        """𝒦[index, :] X."""
        places = index.cpu().numpy()

        def product(X: Tensor) -> Tensor:
            return through_numpy(X, lambda block: self.operator.rows(places, block), len(places))

        def adjoint(G: Tensor) -> Tensor:
            scattered = G.new_zeros(self.n, G.shape[1]).index_add(0, index, G)
            return self._product(scattered)

        return linear_map(X, product, adjoint)

    def extra_repr(self) -> str:
        """Number of nodes and what does the products."""
        return f"n={self.n}, {type(self.operator).__name__}"


@final
class SpectralPropagation(Propagation):
    """φ(Λ_r), the kernel of a reduced-order GCN, whose nodes are eigenvectors (section 2.4).

    Parameters
    ----------
    response : (r,) array
        φ(Λ_r).
    dtype : torch.dtype

    Examples
    --------
    >>> import torch
    >>> P = SpectralPropagation([1.0, 0.5], torch.float32)
    >>> P(torch.ones(2, 1)).ravel().tolist()
    [1.0, 0.5]
    """

    response: Tensor  # (r,)

    def __init__(self, response: Any, dtype: torch.dtype) -> None:
        super().__init__()
        self.n = len(response)
        self.register_buffer("response", as_tensor(response, dtype), persistent=False)

    def forward(self, X: Tensor) -> Tensor:
        """φ(Λ_r) X."""
        return self.response[:, None] * X

    def rows(self, index: Tensor, X: Tensor) -> Tensor:
        """φ(Λ_r)[index, :] X."""
        return self.response[index][:, None] * X[index]


def as_propagation(
    operator: SymmetricOperator, *, dtype: torch.dtype = torch.float32
) -> Propagation:
    """Bring a kernel, or any symmetric operator, into torch.

    Parameters
    ----------
    operator : Kernel or SymmetricOperator
    dtype : torch.float32 or torch.float64
        Type in which the matrices are stored. ``.to(torch.float64)`` on a float32 module later does
        not bring back the digits that were dropped here.

    Returns
    -------
    Propagation
        Of the class that the module's table names.

    Raises
    ------
    ValueError
        If `operator` is no operator of this package or `dtype` none of the two.

    Examples
    --------
    >>> import lowrankgcn as lg
    >>> path = lg.AdjacencyGraph.from_edge_index([[0, 1], [1, 2]])
    >>> lg.nn.as_propagation(lg.kernel(lg.Laplacian(path), "quadratic"))
    PolynomialPropagation(
      n=3, degree=2
      (inner): SparsePropagation(
        n=3
        (matrix): SparseMatrix(3×3, 7 entries)
      )
    )
    """
    (only,) = as_propagations(operator, dtype=dtype)
    assert isinstance(only, Propagation)
    return only


def as_propagations(
    kernels: SymmetricOperator | Sequence[SymmetricOperator],
    *,
    dtype: torch.dtype = torch.float32,
) -> nn.ModuleList:
    """One :class:`Propagation` per kernel; those of the same eigenvectors share one buffer."""
    checked_dtype(dtype)
    given = as_operators(kernels)
    border = _Border(dtype)
    return nn.ModuleList([border.convert(operator) for operator in given])


def as_operators(kernels: Any) -> tuple[SymmetricOperator, ...]:
    """A kernel or a sequence of them as a tuple, all of the same number of nodes."""
    given = (kernels,) if isinstance(kernels, SymmetricOperator) else kernels
    if not isinstance(given, (list, tuple)):
        raise invalid("kernels", "a Kernel or a sequence of them", type(kernels).__name__)
    if not given:
        raise invalid("kernels", "at least one kernel", "none")
    for operator in given:
        if not isinstance(operator, SymmetricOperator):
            raise invalid("kernels", "a Kernel or a sequence of them", type(operator).__name__)
    sizes = sorted({operator.n for operator in given})
    if len(sizes) > 1:
        raise invalid("kernels", "kernels of one graph", f"{sizes} nodes")
    return tuple(given)


class _Border:
    """Conversion of several kernels that remembers which factors it has brought over."""

    def __init__(self, dtype: torch.dtype) -> None:
        self.dtype = dtype
        # By the identity of the array (or factor) they come from, which is kept to keep it alive.
        self._known: dict[int, tuple[Any, TallFactor]] = {}

    def convert(self, operator: SymmetricOperator) -> Propagation:
        if isinstance(operator, Kernel):
            return self.convert(operator.operator)
        if isinstance(operator, DenseOperator):
            return DensePropagation(operator.matrix, self.dtype)
        if isinstance(operator, SparseOperator):
            return SparsePropagation(operator.matrix, self.dtype)
        if isinstance(operator, DiagonalPlusLowRank):
            factor = self._factor(operator.factor)
            return LowRankPropagation(operator.offset, factor, operator.core, self.dtype)
        if isinstance(operator, Laplacian):
            return self._laplacian(operator)
        if isinstance(operator, PolynomialOperator):
            inner = self.convert(operator.operator)
            if not isinstance(inner, OperatorPropagation):
                return PolynomialPropagation(inner, operator.coefficients)
        return OperatorPropagation(operator)

    def _laplacian(self, laplacian: Laplacian) -> Propagation:
        if laplacian.factor is not None:
            factor = self._factor(laplacian.factor)
            core = np.full(factor.shape[1], -1.0)
            return LowRankPropagation(laplacian.shift, factor, core, self.dtype)
        weights = laplacian.affinity.operator
        if isinstance(weights, SparseOperator):
            scale = sp.diags_array(laplacian.scale)
            matrix = sp.diags_array(laplacian.shift) - scale @ weights.matrix @ scale
            return SparsePropagation(sp.csr_array(matrix), self.dtype)
        if isinstance(weights, DenseOperator):
            matrix = laplacian.scale[:, None] * weights.matrix * -laplacian.scale
            matrix[np.diag_indices_from(matrix)] += laplacian.shift
            return DensePropagation(matrix, self.dtype)
        return OperatorPropagation(laplacian)

    def _factor(self, factor: Any) -> TallFactor:
        source = factor.matrix if isinstance(factor, DenseFactor) else factor
        if id(source) not in self._known:
            self._known[id(source)] = (source, tall_factor(factor, self.dtype))
        return self._known[id(source)][1]
