"""The border between set-up (NumPy, float64) and networks (torch, any device).

Type and device of set-up arrays change here and nowhere else. What an operator becomes:

=============================== ==========================================================
operator                        propagation
=============================== ==========================================================
DiagonalPlusLowRank             :class:`LowRankPropagation`, diag(d) + Z M Zᵀ
DenseOperator                   :class:`DensePropagation`, a stored n×n matrix
IdentityOperator                :class:`IdentityPropagation`, nothing stored
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

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import nn

from lowrankgcn._validation import invalid
from lowrankgcn.nn.factors import TallFactor, tall_factor
from lowrankgcn.nn.linear_map import checked_dtype
from lowrankgcn.nn.propagation import (
    DensePropagation,
    IdentityPropagation,
    LowRankPropagation,
    OperatorPropagation,
    PolynomialPropagation,
    Propagation,
    SparsePropagation,
)
from lowrankgcn.operators import (
    DenseFactor,
    DenseOperator,
    DiagonalPlusLowRank,
    IdentityOperator,
    PolynomialOperator,
    SparseOperator,
    SymmetricOperator,
)
from lowrankgcn.spectral.kernel import Kernel
from lowrankgcn.spectral.laplacian import Laplacian

__all__ = ["as_operators", "as_propagation", "as_propagations"]


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
        if isinstance(operator, IdentityOperator):
            return IdentityPropagation(operator.n)
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
