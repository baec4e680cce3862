"""Kernels as torch modules with differentiable products 𝒦X and 𝒦[I,:]X.

The arrays of a kernel are non-persistent buffers: they follow ``.to(device)`` and ``.to(dtype)``,
but a ``state_dict`` contains weights only, which also fit the same network on another graph.
:mod:`lowrankgcn.nn.to_torch` chooses the class for each kernel.

>>> import torch
>>> from lowrankgcn.nn.matrices import DenseMatrix
>>> P = MatrixPropagation(DenseMatrix([[1.0, 0.5], [0.5, 1.0]], torch.float32))
>>> P(torch.eye(2)).tolist(), P(torch.eye(2), rows=torch.tensor([1])).tolist()
([[1.0, 0.5], [0.5, 1.0]], [[0.5, 1.0]])
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, final

import numpy as np
import torch
from torch import Tensor, nn

from lowrankgcn.nn.linear_map import as_tensor
from lowrankgcn.nn.matrices import Matrix

__all__ = [
    "LowRankPropagation",
    "MatrixPropagation",
    "PolynomialPropagation",
    "Propagation",
    "SpectralPropagation",
]


class Propagation(nn.Module, ABC):
    """A fixed symmetric n×n matrix 𝒦 as a module.

    Attributes
    ----------
    n : int
        Number of nodes.
    """

    __call__: Callable[..., Tensor]

    def __init__(self, n: int) -> None:
        super().__init__()
        self.n = n

    @abstractmethod
    def forward(self, X: Tensor, rows: Tensor | None = None) -> Tensor:
        """Compute 𝒦 X, or 𝒦[rows, :] X, for X of shape (n, k) and an index tensor (p,)."""

    def extra_repr(self) -> str:
        """Return the number of nodes for the printed network."""
        return f"n={self.n}"


@final
class MatrixPropagation(Propagation):
    """A symmetric matrix: dense, sparse, or an operator of NumPy."""

    def __init__(self, matrix: Matrix) -> None:
        super().__init__(matrix.shape[0])
        self.matrix = matrix

    def forward(self, X: Tensor, rows: Tensor | None = None) -> Tensor:
        """Compute 𝒦 X, or 𝒦[rows, :] X."""
        product: Tensor = self.matrix(X, rows)
        return product


@final
class LowRankPropagation(Propagation):
    """diag(d) + Z M Zᵀ (sections 2.3.4 and A3): two products with Z, O(n m k) if Z is dense.

    Parameters
    ----------
    offset : (n,) array
        The diagonal d; not stored if zero.
    factor : Matrix
        Z, shape (n, m); kernels with the same eigenvectors share it.
    core : None, (m,) or (m, m) array
        M: the identity, a diagonal, or a symmetric matrix.
    dtype : torch.dtype
    """

    offset: Tensor | None  # (n,)
    core: Tensor | None  # (m,) or (m, m)

    def __init__(self, offset: Any, factor: Matrix, core: Any, dtype: torch.dtype) -> None:
        super().__init__(factor.shape[0])
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
        product: Tensor = self.factor(inner, rows)
        if self.offset is None:
            return product
        return product + _select(self.offset, rows)[:, None] * _select(X, rows)


@final
class PolynomialPropagation(Propagation):
    """Σ_j a_j 𝓛^j by Horner's rule (section 2.3.3): one product with 𝓛 per degree."""

    def __init__(self, inner: Propagation, coefficients: Sequence[float]) -> None:
        super().__init__(inner.n)
        self.inner = inner
        self.coefficients = tuple(map(float, coefficients))

    def forward(self, X: Tensor, rows: Tensor | None = None) -> Tensor:
        """Compute 𝒦 X, or 𝒦[rows, :] X; only the last product with 𝓛 is restricted to rows."""
        constant, *higher = self.coefficients
        own = constant * _select(X, rows)
        if not higher:
            return own
        product = higher[-1] * X
        for coefficient in reversed(higher[:-1]):
            product = self.inner(product) + coefficient * X
        return own + self.inner(product, rows)

    def extra_repr(self) -> str:
        """Return the number of nodes and the degree."""
        return f"n={self.n}, degree={len(self.coefficients) - 1}"


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
        super().__init__(len(response))
        self.register_buffer("response", as_tensor(response, dtype), persistent=False)

    def forward(self, X: Tensor, rows: Tensor | None = None) -> Tensor:
        """Compute φ(Λ_r) X, or φ(Λ_r)[rows, :] X."""
        return _select(self.response, rows)[:, None] * _select(X, rows)


def _select(X: Tensor, rows: Tensor | None) -> Tensor:
    return X if rows is None else X[rows]
