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
from lowrankgcn.nn.linear_map import check_dtype
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

# Converted factors by the id of their arrays, with the arrays, which keeps the ids valid.
_Converted = dict[int, tuple[Any, Propagation]]


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
      3×3, degree=2
      (inner): SparseMatrix(3×3, 7 entries)
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
    given, converted = as_operators(kernels), _Converted()
    if isinstance(kernels, nn.ModuleList):
        return kernels
    return nn.ModuleList(_convert(kernel, dtype, converted) for kernel in given)


def as_operators(kernels: Any) -> tuple[Any, ...]:
    """Return a kernel or a sequence of kernels of one graph, or modules of these, as a tuple."""
    kinds = (SymmetricOperator, Propagation)
    given: Any = kernels if isinstance(kernels, (list, tuple, nn.ModuleList)) else [kernels]
    if not len(given):
        raise invalid("kernels", "at least one kernel", "none")
    for operator in given:
        if not isinstance(operator, kinds):
            raise invalid("kernels", "a Kernel or a sequence of them", type(operator).__name__)
    sizes = sorted({kernel.n for kernel in given})
    if len(sizes) > 1:
        raise invalid("kernels", "kernels of one graph", f"{sizes} nodes")
    return tuple(given)


def _convert(operator: Any, dtype: torch.dtype, converted: _Converted) -> Propagation:
    if isinstance(operator, Propagation):
        return operator
    if isinstance(operator, Kernel):
        return _convert(operator.operator, dtype, converted)
    if isinstance(operator, operators.MatrixOperator):
        kind = SparseMatrix if sp.issparse(operator.matrix) else DenseMatrix
        return kind(operator.matrix, dtype)
    if isinstance(operator, operators.DiagonalPlusLowRank):
        factor = _convert_factor(operator.factor, dtype, converted)
        return LowRankPropagation(operator.offset, factor, operator.core, dtype)
    if isinstance(operator, Laplacian):
        if operator.factor is not None:
            factor = _convert_factor(operator.factor, dtype, converted)
            core = np.full(factor.shape[1], -1.0)
            return LowRankPropagation(operator.shift, factor, core, dtype)
        return _convert_laplacian(operator, dtype)
    if isinstance(operator, operators.PolynomialOperator):
        inner = _convert(operator.operator, dtype, converted)
        # NumPy evaluates a polynomial of its operators itself, without a detour through torch.
        if not isinstance(inner, NumpyMatrix):
            return PolynomialPropagation(inner, operator.coefficients)
    return NumpyMatrix(operator)


def _convert_laplacian(laplacian: Laplacian, dtype: torch.dtype) -> Propagation:
    """Convert a Laplacian diag(shift) − diag(scale) W diag(scale) of full rank."""
    weights = laplacian.affinity.operator
    if not isinstance(weights, operators.MatrixOperator):
        return NumpyMatrix(laplacian)
    if sp.issparse(weights.matrix):
        scale = sp.diags_array(laplacian.scale)
        sparse = sp.diags_array(laplacian.shift) - scale @ weights.matrix @ scale
        return SparseMatrix(sp.csr_array(sparse), dtype)
    dense = laplacian.scale[:, None] * weights.matrix * -laplacian.scale
    dense[np.diag_indices_from(dense)] += laplacian.shift
    return DenseMatrix(dense, dtype)


def _convert_factor(factor: Factor, dtype: torch.dtype, converted: _Converted) -> Propagation:
    source = factor.matrix if isinstance(factor, operators.MatrixFactor) else factor
    if id(source) not in converted:
        converted[id(source)] = (source, as_matrix(factor, dtype))
    return converted[id(source)][1]


def as_matrix(factor: Factor, dtype: torch.dtype) -> Propagation:
    """Convert a factor to a dense or sparse matrix, or to products by NumPy if it is too large."""
    sparse = sparse_form(factor)
    if sparse is not None:
        transposed = SparseMatrix(sp.csr_array(sparse.T), dtype)
        return SparseMatrix(sparse, dtype, transposed=transposed)
    if isinstance(factor, operators.MatrixFactor):
        return DenseMatrix(factor.matrix, dtype)
    if factor.shape[0] * factor.shape[1] <= _STORED_ENTRIES:
        return DenseMatrix(factor.to_dense(), dtype)
    return NumpyMatrix(factor)


def sparse_form(factor: Factor) -> sp.csr_array | None:
    """Return the factor in compressed sparse rows, None if it is not sparse."""
    if isinstance(factor, operators.MatrixFactor) and sp.issparse(factor.matrix):
        return factor.matrix
    if isinstance(factor, CodeFactor):
        return factor.to_sparse()
    if not isinstance(factor, operators.ScaledFactor):
        return None
    matrix = sparse_form(factor.factor)
    if matrix is not None and factor.row_scale is not None:
        matrix = sp.diags_array(factor.row_scale) @ matrix
    if matrix is not None and factor.column_scale is not None:
        matrix = matrix @ sp.diags_array(factor.column_scale)
    return matrix if matrix is None else sp.csr_array(matrix)
