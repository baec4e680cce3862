"""Conversion of kernels from set-up (NumPy, float64) to networks (torch, any device).

This is the only module in which dtype and device of set-up arrays change:

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
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import nn

from lowrankgcn import operators
from lowrankgcn._validation import invalid
from lowrankgcn.nn.propagation import (
    DenseMatrix,
    LowRankPropagation,
    NumpyMatrix,
    PolynomialPropagation,
    Propagation,
    SparseMatrix,
)
from lowrankgcn.operators import Factor, SymmetricOperator
from lowrankgcn.operators.codes import CodeFactor
from lowrankgcn.spectral.kernel import Kernel
from lowrankgcn.spectral.laplacian import Laplacian

# Entries up to which a factor that NumPy could evaluate is stored: 128 MB in single precision.
_STORED_ENTRIES = 2**25


def as_propagation(
    operator: SymmetricOperator, *, dtype: torch.dtype = torch.float32
) -> Propagation:
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
        See the table of :mod:`lowrankgcn.nn.to_torch`.

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
    (only,) = as_propagations(operator, dtype=dtype)
    assert isinstance(only, Propagation)
    return only


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
    checked, factors = as_operators(kernels), dict[int, Propagation]()
    if isinstance(kernels, nn.ModuleList):
        return kernels
    return nn.ModuleList(_convert(operator, dtype, factors) for operator in checked)


def as_operators(kernels: Any) -> tuple[Any, ...]:
    """Return a kernel or a sequence of kernels of one graph, or modules of these, as a tuple."""
    several = isinstance(kernels, (list, tuple, nn.ModuleList))
    sequence: tuple[Any, ...] = tuple(kernels) if several else (kernels,)
    if not sequence:
        raise invalid("kernels", "at least one kernel", "none")
    for operator in sequence:
        if not isinstance(operator, (SymmetricOperator, Propagation)):
            raise invalid("kernels", "a Kernel or a sequence of them", type(operator).__name__)
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
        return _convert(operator.operator, dtype, factors)
    if isinstance(operator, operators.MatrixOperator):
        return _as_matrix(operator.matrix, dtype, symmetric=True)
    if isinstance(operator, operators.DiagonalPlusLowRank):
        factor = operator.factor
        if id(factor) not in factors and (stored := stored_form(factor)) is not None:
            factors[id(factor)] = _as_matrix(stored, dtype)
        if (module := factors.get(id(factor))) is not None:
            return LowRankPropagation(operator.offset, module, operator.core, dtype)
    if isinstance(operator, Laplacian):
        weights = operator.affinity.operator
        if operator.factor is not None:
            core = np.full(operator.factor.shape[1], -1.0)
            low_rank = operators.DiagonalPlusLowRank(operator.shift, operator.factor, core)
            return _convert(low_rank, dtype, factors)
        if isinstance(weights, operators.MatrixOperator):
            scale = sp.diags_array(operator.scale)
            matrix = sp.diags_array(operator.shift) - scale @ weights.matrix @ scale
            return _as_matrix(matrix, dtype, symmetric=True)
    if isinstance(operator, operators.PolynomialOperator):
        inner = _convert(operator.operator, dtype, factors)
        # NumPy evaluates a polynomial of its operators itself, without a detour through torch.
        if not isinstance(inner, NumpyMatrix):
            return PolynomialPropagation(inner, operator.coefficients)
    return NumpyMatrix(operator)


def _as_matrix(matrix: Any, dtype: torch.dtype, *, symmetric: bool = False) -> Propagation:
    if sp.issparse(matrix):
        return SparseMatrix(sp.csr_array(matrix), dtype, symmetric=symmetric)
    return DenseMatrix(matrix, dtype)


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
