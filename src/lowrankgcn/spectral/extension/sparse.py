"""Cross-affinities as sparse matrices: hyperedges of a table, incidences, neighbours, weights.

>>> import numpy as np
>>> import lowrankgcn as lg
>>> from lowrankgcn.spectral.extension import cross_affinity
>>> L = lg.Laplacian(lg.Hypergraph([[1, 0], [1, 1], [0, 1]]))
>>> cross_affinity(L).rows(np.array([[1, 1], [0, 0]])).toarray().round(4)
array([[0.7071, 0.7071],
       [0.    , 0.    ]])
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lowrankgcn._codec import saved
from lowrankgcn._validation import (
    MOST_NODES,
    expect_shape,
    finite_array,
    invalid,
    positive_int,
    sparse_matrix,
)
from lowrankgcn.graphs import TableEncoder
from lowrankgcn.graphs.neighbours import NearestNeighbours
from lowrankgcn.operators import FloatArray
from lowrankgcn.operators.codes import CodeFactor
from lowrankgcn.operators.column_groups import product_of_rows
from lowrankgcn.spectral.extension.base import (
    CrossAffinity,
    row_scale,
)

__all__ = ["IncidenceCross", "NeighbourCross", "TableCross", "WeightCross"]

# Fitted rows of hypergraphs are reproduced by the formula whatever 1 − λ is.
_REPRODUCED = 1e-6


class _SparseCross(CrossAffinity):
    """Weights as a sparse matrix; the rows of its products are independent of each other."""

    @abstractmethod
    def _weights(self, X: Any) -> tuple[sp.csr_array, FloatArray]:
        """Rows before normalisation, shape (q, m), and the degrees d(x), shape (q,)."""

    def rows(self, X: Any) -> sp.csr_array:
        """The rows a(x), shape (q, m); zero where x has no affinity to any fitted node."""
        matrix, degrees = self._weights(X)
        divisor, root = row_scale(degrees, self.loop_weight)
        lengths = np.diff(matrix.indptr)
        data = matrix.data / np.repeat(divisor, lengths) * np.repeat(root, lengths)
        return sp.csr_array((data, matrix.indices, matrix.indptr), shape=matrix.shape)

    def _product(self, X: Any, Q: FloatArray) -> FloatArray:
        product: FloatArray = self.rows(X) @ Q
        return product


@saved
@final
@dataclass(frozen=True, eq=False, kw_only=True)
class TableCross(_SparseCross):
    r"""Rows of a table, joined to fitted rows by the values they share.

    With the fitted sizes |e| and weights w_e of hyperedges and h(x, e) = 1 where x has the value,

    .. math:: w(x, i) = \sum_e h(x, e) \frac{w_e}{|e|} h(i, e), \qquad d(x) = \sum_e w_e h(x, e)

    so that a(x) = h(x)/√d(x) and C = T H W_E D_E^{-1} (sections A3.1 and A3.2). With the
    hypergraph's own loops a fitted row is reproduced exactly: (1−λ) u_i is row i of that times U.

    Notes
    -----
    O(q p) for p columns, whatever n is. Unknown values belong to no hyperedge.
    """

    kind = "table"
    least_divisor = _REPRODUCED

    encoder: TableEncoder
    weights: FloatArray  # (|E|,)

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_weights(self.weights, self.encoder.n_hyperedges)

    @property
    def n_columns(self) -> int:
        """Number of hyperedges."""
        return len(self.weights)

    def _weights(self, X: Any) -> tuple[sp.csr_array, FloatArray]:
        codes = self.encoder.transform(X)
        incidence = CodeFactor(codes, self.n_columns).to_sparse()
        return incidence, incidence @ self.weights

    def _product(self, X: Any, Q: FloatArray) -> FloatArray:
        codes = self.encoder.transform(X)
        sums = product_of_rows(codes, self.encoder.levels, np.column_stack([Q, self.weights]))
        divisor, root = row_scale(sums[:, -1], self.loop_weight)
        product = sums[:, :-1]
        product *= (root / divisor)[:, None]
        return product


@saved
@final
@dataclass(frozen=True, eq=False, kw_only=True)
class IncidenceCross(_SparseCross):
    """Incidence rows, joined to fitted nodes by the hyperedges they share.

    Formulas and exactness are those of :class:`TableCross`. Rows have an entry, 0 or 1, for every
    hyperedge that was given when the graph was made; hyperedges that the graph dropped are ignored.
    """

    kind = "incidence"
    least_divisor = _REPRODUCED

    weights: FloatArray  # (|E|,)
    numbers: NDArray[np.int64]  # (|E|,): which of the given hyperedges they are
    n_given: int

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_weights(self.weights, None)
        expect_shape(self.numbers, "numbers", len(self.weights))
        count = positive_int(self.n_given, "n_given", minimum=0)
        bounded = np.concatenate([[-1], self.numbers, [count]])
        if (bounded[1:] <= bounded[:-1]).any():
            raise invalid("numbers", f"ascending integers in 0..{count - 1}", "others")

    @property
    def n_columns(self) -> int:
        """Number of hyperedges."""
        return len(self.weights)

    def _weights(self, X: Any) -> tuple[sp.csr_array, FloatArray]:
        given = _float_rows(X)
        if given.shape[1] != self.n_given:
            raise invalid("X", f"{self.n_given} columns, one per hyperedge", given.shape[1])
        given.eliminate_zeros()
        if not (given.data == 1.0).all():
            raise invalid("X", "entries 0 and 1", given.data[given.data != 1.0][0])
        if self.n_columns < self.n_given:
            given = given[:, self.numbers]
        given.sort_indices()
        return given, given @ self.weights


@saved
@final
@dataclass(frozen=True, eq=False, kw_only=True)
class NeighbourCross(_SparseCross):
    """Points, joined to their k nearest fitted points with the weights that these have.

    w(x, i) = exp(−‖x − x_i‖² / (s_x s_i)), s being the distance to the k-th neighbour, or 1
    (:meth:`AdjacencyGraph.knn`). C = T is diagonal.

    Notes
    -----
    About O(q k log n) in few dimensions, O(q n) in many; keeps all n points.
    """

    kind = "neighbours"

    neighbours: NearestNeighbours

    @property
    def n_columns(self) -> int:
        """Number of fitted points."""
        return len(self.neighbours.points)

    def _weights(self, X: Any) -> tuple[sp.csr_array, FloatArray]:
        points = finite_array(X, "X", ndim=2)
        if points.shape[1] != self.neighbours.points.shape[1]:
            raise invalid("X", f"{self.neighbours.points.shape[1]} columns", points.shape[1])
        weights = self.neighbours.new_weights(points)
        return weights, weights @ np.ones(self.n_columns)


@saved
@final
@dataclass(frozen=True, eq=False, kw_only=True)
class WeightCross(_SparseCross):
    """Rows given by their weights to the n fitted nodes, w(x, ·) ≥ 0.

    d(x) is the sum of the row, C = T is diagonal. A fitted node's row of the matrix that the graph
    was made of, its own loop on the diagonal among the weights, continues the node's own row of
    I − 𝓛 exactly, if the Laplacian has the graph's own loops.

    Notes
    -----
    O(q n) for dense rows, O(stored weights) for sparse ones; keeps nothing but n.
    """

    kind = "weights"

    n_nodes: int

    def __post_init__(self) -> None:
        super().__post_init__()
        positive_int(self.n_nodes, "n_nodes", maximum=MOST_NODES)

    @property
    def n_columns(self) -> int:
        """Number of fitted nodes."""
        return self.n_nodes

    def _weights(self, X: Any) -> tuple[sp.csr_array, FloatArray]:
        weights = _float_rows(X)
        if weights.shape[1] != self.n_nodes:
            raise invalid("X", f"{self.n_nodes} columns, one per fitted row", weights.shape[1])
        if not np.isfinite(weights.data).all():
            raise invalid("X", "finite entries", "NaN or infinity")
        if weights.nnz and weights.data.min() < 0:
            raise invalid("X", "weights >= 0", float(weights.data.min()))
        weights.eliminate_zeros()
        weights.sort_indices()
        degrees = weights @ np.ones(self.n_nodes)
        if not np.isfinite(degrees).all():
            raise invalid("X", "weights of a finite sum", f"weights up to {weights.data.max():g}")
        return weights, degrees


def _float_rows(X: Any) -> sp.csr_array:
    """A copy of sparse or dense rows in compressed sparse rows, entries of one place added."""
    if not sp.issparse(X):
        return sp.csr_array(finite_array(X, "X", ndim=2))
    rows = sp.csr_array(sparse_matrix(X, "X"), dtype=np.float64, copy=True)
    rows.sum_duplicates()
    return rows


def _check_weights(weights: FloatArray, count: int | None) -> None:
    expect_shape(weights, "weights", count)
    if len(weights) and weights.min() <= 0:
        raise invalid("weights", "weights > 0", weights.min())
