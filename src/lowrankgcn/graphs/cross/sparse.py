"""Sparse cross-affinities through the hyperedges of a table or incidence matrix, or by weights.

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
from lowrankgcn._validation import MOST_NODES, expect_shape, finite_array, invalid, positive_int
from lowrankgcn.graphs.cross.base import CrossAffinity, row_scale
from lowrankgcn.graphs.matrices import binary_matrix, check_weights, csr_copy
from lowrankgcn.graphs.neighbours import NearestNeighbours, RowsWithCandidates
from lowrankgcn.graphs.table import TableEncoder
from lowrankgcn.operators import FloatArray
from lowrankgcn.operators.codes import CodeFactor
from lowrankgcn.operators.column_groups import product_of_rows

__all__ = ["IncidenceCross", "NeighbourCross", "TableCross", "WeightCross"]


class _SparseCross(CrossAffinity):
    """Weights as a sparse matrix."""

    @abstractmethod
    def _weights(self, X: Any) -> tuple[sp.csr_array, FloatArray]:
        """Return rows before normalisation, shape (q, m), and degrees d(x), shape (q,)."""

    def rows(self, X: Any) -> sp.csr_array:
        """Return the rows a(x), shape (q, m); zero if x has no affinity to any fitted node."""
        matrix, degrees = self._weights(X)
        divisor, root = row_scale(degrees, self.loop_weight)
        lengths = np.diff(matrix.indptr)
        data = matrix.data / np.repeat(divisor, lengths) * np.repeat(root, lengths)
        return sp.csr_array((data, matrix.indices, matrix.indptr), shape=matrix.shape)

    def _product(self, X: Any, Q: FloatArray) -> FloatArray:
        product: FloatArray = self.rows(X) @ Q
        return product


@dataclass(frozen=True, eq=False, kw_only=True)
class _HyperedgeCross(_SparseCross):
    # Fitted rows of hypergraphs are reproduced by the formula for any 1 − λ.
    least_divisor = 1e-6

    weights: FloatArray  # (|E|,)

    def __post_init__(self) -> None:
        super().__post_init__()
        expect_shape(self.weights, "weights", None)
        check_weights(self.weights, "weights", zero=False)

    @property
    def n_columns(self) -> int:
        """Number of hyperedges."""
        return len(self.weights)


@saved
@final
@dataclass(frozen=True, eq=False, kw_only=True)
class TableCross(_HyperedgeCross):
    r"""Rows of a table, joined to fitted rows by common values.

    With the fitted sizes |e| and weights w_e of hyperedges and h(x, e) = 1 where x has the value,

    .. math:: w(x, i) = \sum_e h(x, e) \frac{w_e}{|e|} h(i, e), \qquad d(x) = \sum_e w_e h(x, e)

    so that a(x) = h(x)/√d(x) and C = T H W_E D_E^{-1} (sections A3.1 and A3.2). With the loops of
    the hypergraph itself a fitted row is reproduced exactly: (1−λ) u_i is row i of that times U.

    Notes
    -----
    O(q p) for p columns, independent of n. Unknown values belong to no hyperedge.
    """

    kind = "table"

    encoder: TableEncoder

    def __post_init__(self) -> None:
        super().__post_init__()
        expect_shape(self.weights, "weights", self.encoder.n_hyperedges)

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
class IncidenceCross(_HyperedgeCross):
    """Incidence rows, joined to fitted nodes by common hyperedges.

    The formulas are those of :class:`TableCross`. Rows have an entry, 0 or 1, for every hyperedge
    given to the graph; hyperedges that the graph dropped are ignored.
    """

    kind = "incidence"

    numbers: NDArray[np.int64]  # (|E|,): positions among the given hyperedges
    n_given: int

    def __post_init__(self) -> None:
        super().__post_init__()
        expect_shape(self.numbers, "numbers", len(self.weights))
        count = positive_int(self.n_given, "n_given", minimum=0)
        bounded = np.concatenate([[-1], self.numbers, [count]])
        if (bounded[1:] <= bounded[:-1]).any():
            raise invalid("numbers", f"ascending integers in 0..{count - 1}", "other values")

    def _weights(self, X: Any) -> tuple[sp.csr_array, FloatArray]:
        given = binary_matrix(X, "X")
        if given.shape[1] != self.n_given:
            raise invalid("X", f"{self.n_given} columns, one per hyperedge", given.shape[1])
        if self.n_columns < self.n_given:
            given = given[:, self.numbers]
        return given, given @ self.weights


@saved
@final
@dataclass(frozen=True, eq=False, kw_only=True)
class NeighbourCross(_SparseCross):
    """Points, joined to their k nearest fitted points.

    w(x, i) = exp(−‖x − x_i‖² / (s_x s_i)) with s the distance to the k-th neighbour, or 1
    (:meth:`AdjacencyGraph.knn`). C = T is diagonal.

    Notes
    -----
    About O(q k log n) in up to three dimensions; otherwise O(q n) up to 20 000 points and O(q √n)
    beyond. Stores all n points.
    """

    kind = "neighbours"

    neighbours: NearestNeighbours

    @property
    def n_columns(self) -> int:
        """Number of fitted points."""
        return len(self.neighbours.points)

    def _weights(self, X: Any) -> tuple[sp.csr_array, FloatArray]:
        candidates = None
        if isinstance(X, RowsWithCandidates):
            X, candidates = X.points, X.candidates
        points = finite_array(X, "X", ndim=2)
        if points.shape[1] != self.neighbours.points.shape[1]:
            raise invalid("X", f"{self.neighbours.points.shape[1]} columns", points.shape[1])
        weights = self.neighbours.new_weights(points, candidates)
        return weights, weights @ np.ones(self.n_columns)


@saved
@final
@dataclass(frozen=True, eq=False, kw_only=True)
class WeightCross(_SparseCross):
    """Rows given by their weights w(x, ·) ≥ 0 to the n fitted nodes.

    d(x) is the sum of the row, C = T is diagonal. If the Laplacian has the loops of the graph
    itself, a row of the matrix the graph was built from, its diagonal entry included, continues the
    row of I − 𝓛 of the same node exactly.

    Notes
    -----
    O(q n) for dense rows, O(stored weights) for sparse ones; stores only n.
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
        weights = csr_copy(X, "X")
        if weights.shape[1] != self.n_nodes:
            raise invalid("X", f"{self.n_nodes} columns, one per fitted row", weights.shape[1])
        if weights.data.min(initial=0.0) < 0:
            raise invalid("X", "weights >= 0", float(weights.data.min()))
        degrees = weights @ np.ones(self.n_nodes)
        if not np.isfinite(degrees).all():
            raise invalid("X", "weights of a finite sum", f"weights up to {weights.data.max():g}")
        return weights, degrees
