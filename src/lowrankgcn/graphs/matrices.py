"""Arrays that graphs are built from: validation, exact scaling, connected components.

>>> binary_matrix([[1, 0], [1, 1]], "incidence").toarray()
array([[1., 0.],
       [1., 1.]])
"""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from lowrankgcn._validation import finite_array, invalid
from lowrankgcn.operators import FloatArray

Array = TypeVar("Array", bound=NDArray[Any])


def csr_copy(matrix: Any, name: str) -> sp.csr_array:
    """Return a dense or sparse matrix with finite entries as a new canonical csr array."""
    if not sp.issparse(matrix):
        return sp.csr_array(finite_array(matrix, name, ndim=2))
    if matrix.ndim != 2:
        raise invalid(name, "a matrix", f"a sparse array of shape {matrix.shape}")
    if matrix.dtype.kind not in "biuf":
        raise invalid(name, "a real numeric matrix", f"dtype {matrix.dtype}")
    if matrix.format in ("csr", "csc", "bsr"):
        try:
            # Compiled code would read and write out of bounds.
            matrix.check_format(full_check=True)
        except ValueError as error:
            raise invalid(name, "a well-formed sparse matrix", error) from None
    # A copy, because the canonical form rearranges the arrays of the given matrix.
    copy = sp.csr_array(matrix, dtype=np.float64, copy=True)
    copy.sum_duplicates()
    copy.eliminate_zeros()
    if not np.isfinite(copy.data).all():
        raise invalid(name, "finite entries", "NaN or infinity")
    return copy


def check_weights(weights: FloatArray, name: str, *, zero: bool = True) -> None:
    """Reject weights < 0 (<= 0 without `zero`), and weights whose sum, a degree, overflows."""
    least = float(weights.min(initial=1.0))
    if least < 0 or (least == 0 and not zero):
        raise invalid(name, "weights >= 0" if zero else "weights > 0", least)
    with np.errstate(over="ignore"):
        if not np.isfinite(weights.sum()):
            raise invalid(name, "weights of a finite sum", f"weights up to {weights.max():g}")


def binary_matrix(matrix: Any, name: str) -> sp.csr_array:
    """Return a dense or sparse matrix of zeros and ones as a new csr array."""
    rows = csr_copy(matrix, name)
    if not (rows.data == 1.0).all():
        raise invalid(name, "entries 0 and 1", float(rows.data[rows.data != 1.0][0]))
    return rows


def weight_array(
    weights: Any, count: int, name: str = "weights", *, zero: bool = False
) -> FloatArray:
    """Return `count` weights > 0 (>= 0 with `zero`) of a finite sum; ones if None."""
    if weights is None:
        return np.ones(count)
    values = finite_array(weights, name, ndim=1)
    if len(values) != count:
        raise invalid(name, f"{count} weights", len(values))
    check_weights(values, name, zero=zero)
    return values


def matrix_components(matrix: Any) -> NDArray[np.intp]:
    """Return the components of the graph with an edge for every stored entry of a matrix.

    >>> matrix_components(sp.csr_array([[0, 1, 0], [1, 0, 0], [0, 0, 0]])).tolist()
    [0, 0, 1]
    """
    return np.asarray(connected_components(matrix, directed=False)[1].astype(np.intp))


def magnitude(points: FloatArray) -> int:
    """Return the exponent e of the smallest power of two above all coordinates.

    Scaling by 2^-e is exact and keeps squared distances from overflow and underflow.

    >>> magnitude(np.array([[3.0, -1e-3]]))
    2
    """
    return int(np.frexp(np.abs(points).max())[1])


def read_only(array: Array) -> Array:
    """Return a read-only view of the array."""
    view = array.view()
    view.flags.writeable = False
    return view
