"""Cross-affinities whose weights are sparse rows: common hyperedges, neighbours, given weights.

>>> import lowrankgcn as lg
>>> from lowrankgcn.spectral.extension import cross_affinity
>>> L = lg.Laplacian(lg.Hypergraph([[1, 0], [1, 1], [0, 1]]))
>>> cross_affinity(L).product(np.array([[1, 1], [0, 0]]), np.eye(2)).round(4)
array([[0.7071, 0.7071],
       [0.    , 0.    ]])
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, final

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lowrankgcn._codec import saved
from lowrankgcn._validation import MOST_NODES, expect_shape, finite_array, invalid, positive_int
from lowrankgcn.graphs.cross_affinity import CrossAffinity, normalised
from lowrankgcn.graphs.matrices import binary_matrix, check_weights, csr_copy
from lowrankgcn.graphs.neighbours import NearestNeighbours
from lowrankgcn.operators import FloatArray
from lowrankgcn.operators.codes import CodeFactor
from lowrankgcn.tables import TableEncoder


class _SparseCross(CrossAffinity):
    """Weights as a sparse matrix."""

    @property
    def _column_weights(self) -> FloatArray:
        """Weights of the columns in the degree d(x), shape (m,)."""
        return np.ones(self.n_columns)

    @abstractmethod
    def _weights(self, X: Any) -> sp.csr_array | CodeFactor:
        """Return rows before normalisation, shape (q, m)."""

    def product(self, X: Any, Q: FloatArray) -> FloatArray:
        """Return a(x) Q for all rows x of X, shape (q, c)."""
        weights = self._weights(X)  # two products: Q is large, and joining both would copy it
        degrees = (weights @ self._column_weights[:, None])[:, 0]
        return normalised(weights @ Q, degrees, self.loop_weight)


@dataclass(frozen=True, eq=False, kw_only=True)
class _HyperedgeCross(_SparseCross):
    # Fitted rows of hypergraphs are reproduced by the formula for any 1 − λ.
    least_divisor = 1e-6

    weights: Annotated[FloatArray, "m", partial(check_weights, zero=False)]

    @property
    def n_columns(self) -> int:
        """Number of hyperedges."""
        return len(self.weights)

    @property
    def _column_weights(self) -> FloatArray:
        return self.weights


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
    O(q p) for p columns, independent of n. Unknown values belong to no hyperedge. Without an
    encoder, rows are given by the hyperedges of their cells.
    """

    encoder: TableEncoder | None

    def __post_init__(self) -> None:
        if self.encoder is not None:
            expect_shape(self.weights, "weights", self.encoder.n_hyperedges)

    def _weights(self, X: Any) -> CodeFactor:
        codes = X if self.encoder is None else self.encoder.transform(X)
        return CodeFactor(codes, self.n_columns)


@saved
@final
@dataclass(frozen=True, eq=False, kw_only=True)
class IncidenceCross(_HyperedgeCross):
    """Incidence rows, joined to fitted nodes by common hyperedges.

    The formulas are those of :class:`TableCross`. Rows have an entry, 0 or 1, for every hyperedge
    given to the graph; hyperedges that the graph dropped are ignored.
    """

    numbers: Annotated[NDArray[np.int64], "m"]  # positions among the given hyperedges
    n_given: Annotated[int, partial(positive_int, minimum=0)]

    def __post_init__(self) -> None:
        if (np.diff([-1, *self.numbers, self.n_given]) <= 0).any():
            raise invalid("numbers", f"ascending integers in 0..{self.n_given - 1}", "other values")

    def _weights(self, X: Any) -> sp.csr_array:
        given = binary_matrix(X, "X")
        if given.shape[1] != self.n_given:
            raise invalid("X", f"{self.n_given} columns, one per hyperedge", given.shape[1])
        return given[:, self.numbers] if self.n_columns < self.n_given else given


@saved
@final
@dataclass(frozen=True, eq=False, kw_only=True)
class NeighbourCross(_SparseCross):
    """Points, joined to their k nearest fitted points.

    w(x, i) = exp(−‖x − x_i‖² / (s_x s_i)) with s the distance to the k-th neighbour, or 1
    (:meth:`AdjacencyGraph.knn`). C = T is diagonal.

    Notes
    -----
    About O(q k log n) in up to three dimensions; otherwise O(q n) up to 10 000 points and O(q √n)
    beyond. Stores all n points.
    """

    neighbours: NearestNeighbours

    @property
    def n_columns(self) -> int:
        """Number of fitted points."""
        return len(self.neighbours.points)

    def _weights(self, X: Any) -> sp.csr_array:
        points = finite_array(X, "X", ndim=2)
        if points.shape[1] != self.neighbours.points.shape[1]:
            raise invalid("X", f"{self.neighbours.points.shape[1]} columns", points.shape[1])
        return self.neighbours.new_weights(points)


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

    n_nodes: Annotated[int, partial(positive_int, maximum=MOST_NODES)]

    @property
    def n_columns(self) -> int:
        """Number of fitted nodes."""
        return self.n_nodes

    def _weights(self, X: Any) -> sp.csr_array:
        weights = csr_copy(X, "X")
        if weights.shape[1] != self.n_nodes:
            raise invalid("X", f"{self.n_nodes} columns, one per fitted row", weights.shape[1])
        check_weights(weights.data, "X")
        return weights
