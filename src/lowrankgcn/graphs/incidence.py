"""What hypergraphs are made from, checked: incidence matrices, node sets, weights.

>>> binary_matrix([[1, 0], [1, 1]]).toarray()
array([[1., 0.],
       [1., 1.]])
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lowrankgcn._validation import finite_array, finite_total, invalid, sparse_matrix
from lowrankgcn.operators import FloatArray

__all__ = ["binary_matrix", "node_set", "positive_weights"]


def node_set(nodes: Any, name: str) -> NDArray[np.int64]:
    """The distinct nodes of a set, ascending."""
    try:
        array = np.asarray(list(nodes))
    except (TypeError, ValueError):
        raise invalid(name, "integer node indices", repr(nodes)) from None
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise invalid(name, "integer node indices", f"{array.dtype} of shape {array.shape}")
    if array.size and array.min() < 0:
        raise invalid(name, "indices >= 0", array.min())
    return np.unique(array).astype(np.int64)


def binary_matrix(incidence: Any) -> sp.csc_array:
    """An incidence matrix, dense or sparse, with entries 0 and 1."""
    if sp.issparse(incidence):
        # A copy, because bringing it into canonical form rearranges the arrays it is made of.
        matrix = sp.csc_array(sparse_matrix(incidence, "incidence"), dtype=np.float64, copy=True)
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
    else:
        matrix = sp.csc_array(finite_array(incidence, "incidence", ndim=2))
    if matrix.shape[0] < 1:
        raise invalid("incidence", "at least one row", f"shape {matrix.shape}")
    values = matrix.data
    if not (values == 1.0).all():
        raise invalid("incidence", "entries 0 and 1", float(values[values != 1.0][0]))
    return matrix


def positive_weights(weights: Any, count: int) -> FloatArray:
    """Weights of `count` hyperedges, ones when omitted."""
    if weights is None:
        return np.ones(count)
    values = finite_array(weights, "weights", ndim=1)
    if len(values) != count:
        raise invalid("weights", f"{count} entries, one per hyperedge", len(values))
    if count and values.min() <= 0:
        raise invalid("weights", "weights > 0", float(values.min()))
    finite_total(values, "weights")
    return values
