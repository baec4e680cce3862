"""Kernels in torch: products 𝒦X and 𝒦[I,:]X that autograd passes through, for every form.

Whatever a kernel is made of stays a non-persistent buffer: it follows ``.to(device)`` and
``.to(dtype)``, but a ``state_dict`` holds weights only, so that it is small and fits the same
network on another graph. :mod:`lowrankgcn.nn.border` chooses among the forms.

>>> import torch
>>> P = DensePropagation([[1.0, 0.5], [0.5, 1.0]], torch.float32)
>>> P(torch.eye(2)).tolist(), P.rows(torch.tensor([1]), torch.eye(2)).tolist()
([[1.0, 0.5], [0.5, 1.0]], [[0.5, 1.0]])
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, final

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor, nn

from lowrankgcn.nn.factors import SparseMatrix, TallFactor
from lowrankgcn.nn.linear_map import Shared, as_tensor, linear_map, through_numpy
from lowrankgcn.operators import SymmetricOperator

__all__ = [
    "DensePropagation",
    "IdentityPropagation",
    "LowRankPropagation",
    "OperatorPropagation",
    "PolynomialPropagation",
    "Propagation",
    "SparsePropagation",
    "SpectralPropagation",
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
class IdentityPropagation(Propagation):
    """The identity: a layer that does not look at the graph."""

    def __init__(self, n: int) -> None:
        super().__init__()
        self.n = n

    def forward(self, X: Tensor) -> Tensor:
        """X itself."""
        return X

    def rows(self, index: Tensor, X: Tensor) -> Tensor:
        """X[index]."""
        return X[index]


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
        self._operator = Shared(operator)

    @property
    def operator(self) -> SymmetricOperator:
        """What does the products."""
        return self._operator.value

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
