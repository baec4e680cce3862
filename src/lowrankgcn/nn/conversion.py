"""Conversion of kernels and other operators to torch modules.

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

from typing import Any, cast

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
        See the table of :mod:`lowrankgcn.nn.conversion`.

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
