"""Hypergraphs: nodes joined by common hyperedges (section 3).

A table is a hypergraph: every value of every column is a hyperedge of the rows that have it.

>>> import pandas as pd
>>> from lowrankgcn import Hypergraph
>>> table = pd.DataFrame({"colour": ["red", "red", "blue"], "size": ["S", "L", "L"]})
>>> graph = Hypergraph.from_table(table)
>>> graph.hyperedge_names
('colour=blue', 'colour=red', 'size=L', 'size=S')
>>> graph.incidence.to_dense()
array([[0., 1., 0., 1.],
       [0., 1., 1., 0.],
       [1., 0., 1., 0.]])
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, final

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lowrankgcn._validation import choice, integer_array, invalid, node_count, pair_index
from lowrankgcn.graphs.cross_affinity import CrossAffinity, node_scale
from lowrankgcn.graphs.graph import Graph, RowKind
from lowrankgcn.graphs.matrices import binary_matrix, matrix_components, read_only, weight_array
from lowrankgcn.graphs.sparse_cross import IncidenceCross, TableCross
from lowrankgcn.operators import DiagonalPlusLowRank, Factor, FloatArray, MatrixFactor, ScaledFactor
from lowrankgcn.operators.affinity import Affinity
from lowrankgcn.operators.codes import CodeFactor
from lowrankgcn.tables import TableEncoder

Singletons = Literal["keep", "drop"]
_GRAM_LIMIT = 4096  # up to this number of hyperedges, components come from a table of pair counts
_TABLE_MEANING = (
    "Each value of each column forms a group of the rows that have it; numbers are divided into "
    "ranges first. Rows with many common groups are similar."
)


@final
@dataclass(frozen=True, init=False, eq=False)
class Hypergraph(Graph):
    r"""A set of nodes with weighted hyperedges.

    Its clique expansion has the adjacency (section A3.2)

    .. math:: W_H = H W_E D_E^{-1} H^T = W + S_H, \qquad
              (S_H)_{ii} = \sum_e h_{ie} w_e / |e|

    with the incidence H, hyperedge weights w_e and sizes :math:`|e|`; S_H are the loops of the
    graph itself.

    Parameters
    ----------
    incidence : (n, m) array or SciPy sparse matrix of zeros and ones
        Node i belongs to hyperedge e where the entry is 1. Empty hyperedges are dropped.
    weights : (m,) array, optional
        Positive hyperedge weights w_e; ones by default.
    singletons : {"keep", "drop"}
        Whether to keep hyperedges of a single node. They join nothing and only add to the loop
        weight of that node (and so to its degree, if the Laplacian uses the loops of the graph).

    Attributes
    ----------
    incidence : Factor
        H without the dropped hyperedges, shape (n, n_hyperedges); tables keep integer codes.
    hyperedge_weights : (n_hyperedges,) array
    hyperedge_sizes : (n_hyperedges,) int array
    hyperedge_names : tuple of str
        "column=value" for tables, the hyperedge's number otherwise.
    hyperedge_numbers, n_given : (n_hyperedges,) int array, int
        Positions among the given hyperedges, and number of given hyperedges.
    encoder : TableEncoder or None
        Encoder of new rows, for hypergraphs built by :meth:`from_table`.

    See Also
    --------
    TableEncoder : The hyperedges of a table, also for new rows.
    Laplacian : The operator of a graph.

    Notes
    -----
    Memory O(number of incidences). For tables it is one small integer per cell; H is not formed.

    Examples
    --------
    >>> from lowrankgcn import Hypergraph
    >>> graph = Hypergraph([[1, 0], [1, 1], [0, 1]], weights=[1.0, 2.0])
    >>> graph.hyperedge_sizes.tolist(), graph.loop_weights.tolist()
    ([2, 2], [0.5, 1.5, 1.0])
    """

    incidence: Factor
    hyperedge_weights: FloatArray
    hyperedge_sizes: NDArray[np.int64]
    hyperedge_names: tuple[str, ...]
    hyperedge_numbers: NDArray[np.int64]
    n_given: int
    encoder: TableEncoder | None

    def __init__(self, incidence: Any, weights: Any = None, *, singletons: Singletons = "keep"):
        matrix = binary_matrix(incidence, "incidence")
        self._store("incidence", MatrixFactor(matrix), matrix.sum(axis=0), weights, singletons)

    def _store(self, name: str, factor: Any, sizes: Any, weights: Any, singletons: str) -> None:
        """Set the fields, without empty hyperedges and perhaps without those of one node."""
        if factor.shape[0] < 1:
            raise invalid(name, "at least one row", f"shape {factor.shape}")
        least = 2 if choice(singletons, "singletons", ("keep", "drop")) == "drop" else 1
        kept = np.flatnonzero(sizes >= least)
        if isinstance(factor, MatrixFactor):
            factor = MatrixFactor(factor.matrix[:, kept])
        elif len(kept) < len(sizes):
            lookup = np.full(len(sizes) + 1, len(kept))
            lookup[kept] = np.arange(len(kept))
            factor = CodeFactor(lookup[factor.codes], len(kept))
        self._set(
            incidence=factor,
            hyperedge_weights=read_only(weight_array(weights, len(sizes))[kept]),
            hyperedge_sizes=read_only(sizes[kept].astype(np.int64)),
            hyperedge_names=tuple(map(str, kept)),
            hyperedge_numbers=read_only(kept),
            n_given=len(sizes),
            encoder=None,
        )

    @classmethod
    def from_table(
        cls,
        frame: Any,
        *,
        bins: int | Mapping[Any, int | None] | None = 5,
        binning: Literal["quantile", "uniform"] = "quantile",
        missing: Literal["ignore", "edge", "drop-column"] = "ignore",
        min_count: int = 1,
        column_weights: Any = None,
        singletons: Singletons = "keep",
    ) -> Hypergraph:
        """Build the hypergraph of a table, with one hyperedge for every value of every column.

        Parameters
        ----------
        frame : DataFrame or (n, p) array
            Text, categorical and boolean columns give one hyperedge per value; numeric columns are
            binned first.
        bins : int, mapping from column to int, or None
            Number of bins of numeric columns. None makes every distinct value a category; use it
            for integer codes.
        binning : {"quantile", "uniform"}
            Bins of equal counts or of equal width.
        missing : {"ignore", "edge", "drop-column"}
            Whether missing cells belong to no hyperedge, form one hyperedge per column, or exclude
            their column (as the paper does for mushrooms).
        min_count : int
            Values with fewer rows give no hyperedge.
        column_weights : mapping from column to float, or sequence, optional
            Weight of all hyperedges of a column; 1 by default.
        singletons : {"keep", "drop"}
            "drop" is equivalent to ``min_count=2``.

        Examples
        --------
        >>> import pandas as pd
        >>> from lowrankgcn import Hypergraph
        >>> table = pd.DataFrame({"x": [1.0, 2.0, 3.0, 4.0], "y": ["a", None, "a", "b"]})
        >>> Hypergraph.from_table(table, bins=2).hyperedge_sizes.tolist()
        [2, 2, 2, 1]
        """
        if choice(singletons, "singletons", ("keep", "drop")) == "drop" and min_count == 1:
            min_count = 2
        encoder, codes = TableEncoder.fit_transform(
            frame, bins=bins, binning=binning, missing=missing, min_count=min_count
        )
        return cls.from_encoder(encoder, codes, encoder.hyperedge_weights(column_weights))

    @classmethod
    def from_encoder(cls, encoder: TableEncoder, codes: Any, weights: Any = None) -> Hypergraph:
        """Build the hypergraph of encoded rows.

        Parameters
        ----------
        encoder : TableEncoder
            Fitted to the rows.
        codes : (n, p) integer array
            The encoded rows.
        weights : (n_hyperedges,) array, optional
            Positive hyperedge weights; ones by default.
        """
        graph = cls.from_codes(codes, encoder.n_hyperedges, weights=weights)
        graph._set(encoder=encoder, hyperedge_names=encoder.hyperedge_names)
        return graph

    @classmethod
    def from_codes(
        cls, codes: Any, n_hyperedges: int, *, weights: Any = None, singletons: Singletons = "keep"
    ) -> Hypergraph:
        """Build the hypergraph of an encoded table.

        Parameters
        ----------
        codes : (n, p) integer array
            Hyperedge of every cell, 0 … n_hyperedges − 1, or n_hyperedges for none. The hyperedges
            of different columns lie in disjoint ranges. Do not change the array afterwards.
        n_hyperedges : int
            Number of hyperedges, empty ones included.
        weights : (n_hyperedges,) array, optional
            Positive hyperedge weights; ones by default.
        singletons : {"keep", "drop"}
            Whether to keep hyperedges of a single node.

        Examples
        --------
        >>> from lowrankgcn import Hypergraph
        >>> Hypergraph.from_codes([[0, 3], [1, 3], [1, 4]], 5).hyperedge_names
        ('0', '1', '3', '4')
        """
        factor, graph = CodeFactor(codes, n_hyperedges), cls.__new__(cls)
        graph._store("codes", factor, factor.counts(), weights, singletons)
        return graph

    @classmethod
    def from_node_sets(cls, sets: Iterable[Iterable[int]], **options: Any) -> Hypergraph:
        """Build the hypergraph from a list of node sets.

        Parameters
        ----------
        sets : iterable of iterables of int
        **options
            `n_nodes`, `weights` and `singletons`, see :meth:`from_hyperedge_index`.

        Examples
        --------
        >>> from lowrankgcn import Hypergraph
        >>> Hypergraph.from_node_sets([{0, 1}, {1, 2, 3}]).n_nodes
        4
        """
        if not isinstance(sets, Iterable):
            raise invalid("sets", "sets of node indices", repr(sets)[:100])
        arrays = (list(nodes) if isinstance(nodes, Iterable) else nodes for nodes in sets)
        members = [integer_array(one, f"sets[{k}]", ndim=1) for k, one in enumerate(arrays)]
        numbers = np.repeat(np.arange(len(members)), list(map(len, members)))
        pairs = np.stack([np.concatenate([[], *members]).astype(np.int64), numbers])
        return cls.from_hyperedge_index(pairs, n_hyperedges=len(members), **options)

    @classmethod
    def from_hyperedge_index(
        cls,
        hyperedge_index: Any,
        *,
        n_nodes: int | None = None,
        n_hyperedges: int | None = None,
        weights: Any = None,
        singletons: Singletons = "keep",
    ) -> Hypergraph:
        """Build the hypergraph from PyG's layout: nodes in row 0, their hyperedges in row 1.

        Parameters
        ----------
        hyperedge_index : (2, m) int array
        n_nodes, n_hyperedges : int, optional
            By default as many as the indices require.
        weights : (n_hyperedges,) array, optional
            Positive hyperedge weights; ones by default.
        singletons : {"keep", "drop"}
            Whether to keep hyperedges of a single node.

        Examples
        --------
        >>> from lowrankgcn import Hypergraph
        >>> Hypergraph.from_hyperedge_index([[0, 1, 1, 2], [0, 0, 1, 1]]).incidence.shape
        (3, 2)
        """
        index = pair_index(hyperedge_index, "hyperedge_index")
        n, m = (index.max(axis=1) + 1).tolist() if index.size else (1, 0)
        shape = node_count(n_nodes, "n_nodes", n), node_count(n_hyperedges, "n_hyperedges", m)
        entries = sp.csr_array((np.ones(index.shape[1]), tuple(index)), shape=shape)
        entries.data[:] = 1.0  # a pair listed twice is still one membership
        return cls(entries, weights, singletons=singletons)

    def __repr__(self) -> str:
        return f"Hypergraph({self.n_nodes} nodes, {self.n_hyperedges} hyperedges)"

    @property
    def n_nodes(self) -> int:
        """Number of nodes n."""
        return self.incidence.shape[0]

    @property
    def n_hyperedges(self) -> int:
        """Number of hyperedges that are not empty."""
        return self.incidence.shape[1]

    max_rank = n_hyperedges  # W + S_H has at most this rank

    @cached_property
    def loop_weights(self) -> FloatArray:
        """Loops S_H of the clique expansion, shape (n,)."""
        return read_only(self.incidence @ (self.hyperedge_weights / self.hyperedge_sizes))

    @cached_property
    def node_degrees(self) -> FloatArray:
        """Sums of the hyperedge weights of each node, d_H = d + s_H, shape (n,)."""
        return read_only(self.incidence @ self.hyperedge_weights)

    @property
    def completing_loops(self) -> FloatArray:
        """The loops S_H: H W_E D_E^-1 Hᵀ is positive semidefinite."""
        return self.loop_weights

    @property
    def row_kind(self) -> RowKind:
        """Tables for hypergraphs built by :meth:`from_table`, otherwise incidences."""
        return "incidence" if self.encoder is None else "table"

    @property
    def row_columns(self) -> Sequence[str | int]:
        """Columns of the table, or positions of the given hyperedges."""
        return range(self.n_given) if self.encoder is None else self.encoder.names

    @property
    def node_data(self) -> NDArray[Any] | None:
        """Hyperedges of the cells of an encoded table, shape (n, p)."""
        return self.incidence.codes if isinstance(self.incidence, CodeFactor) else None

    def cross_affinity(
        self, affinity: Affinity, degrees: FloatArray, loop_weight: float
    ) -> CrossAffinity:
        """Return the weights of new rows through common hyperedges."""
        weights = self.hyperedge_weights
        columns = ScaledFactor(self.incidence, node_scale(degrees), weights / self.hyperedge_sizes)
        common: Any = {"columns": columns, "weights": weights, "loop_weight": loop_weight}
        if self.encoder is not None:
            return TableCross(encoder=self.encoder, **common)
        return IncidenceCross(numbers=self.hyperedge_numbers, n_given=self.n_given, **common)

    def is_built_from(self, X: Any) -> bool:
        """Return whether the table X has the same codes."""
        try:
            return self.encoder is not None and super().is_built_from(self.encoder.transform(X))
        except ValueError:  # other columns
            return False

    def _describe(self) -> tuple[str, str, dict[str, int | float]]:
        name, meaning = "hypergraph", "The groups of rows were given."
        if self.encoder is not None:
            name, meaning = "hypergraph of the table", _TABLE_MEANING
            grouped = {column.name for column in self.encoder.columns if column.values}
            if len(grouped) < len(self.encoder.used):
                meaning += f" {len(grouped)} of {len(self.encoder.used)} columns form groups."
        return name, meaning, {"groups": self.n_hyperedges}

    def affinity(self, *, tol: float = 1e-6, method: str = "auto") -> Affinity:
        """Return exact products with H W_E D_E^{-1} Hᵀ; `tol` and `method` have no effect."""
        scale = np.sqrt(self.hyperedge_weights / self.hyperedge_sizes)
        factor = ScaledFactor(self.incidence, column_scale=scale)
        operator = DiagonalPlusLowRank(np.zeros(self.n_nodes), factor)
        # Not d_H − s_H: the degree of an isolated node must be exactly zero.
        degrees = self.incidence @ (self.hyperedge_weights * (1 - 1 / self.hyperedge_sizes))
        return Affinity(operator, self.loop_weights, degrees, row_sums=self.node_degrees)

    def _find_components(self) -> NDArray[np.intp]:
        return _incidence_components(self.incidence)


def _incidence_components(incidence: Factor) -> NDArray[np.intp]:
    """Return the components of the nodes of a hypergraph."""
    n, n_hyperedges = incidence.shape
    if not n_hyperedges:
        return np.arange(n)
    if isinstance(incidence, CodeFactor) and n_hyperedges <= _GRAM_LIMIT:
        return _table_components(incidence)
    factor: Any = incidence
    matrix = factor.to_sparse() if isinstance(incidence, CodeFactor) else factor.matrix
    bipartite = sp.block_array([[None, matrix], [matrix.T, None]], format="csr")
    return matrix_components(bipartite)[:n]


def _table_components(incidence: CodeFactor) -> NDArray[np.intp]:
    """Join hyperedges that share a row, then look up the component of each row."""
    of_edge = matrix_components(sp.csr_array(incidence.pair_counts > 0))
    lookup, labels = np.append(of_edge, -1), np.full(incidence.shape[0], -1)
    for column in incidence.codes.T:
        np.maximum(labels, lookup[column], out=labels)
        if labels.min() >= 0:  # all hyperedges of a row are in the same component
            return labels
    alone = np.flatnonzero(labels < 0)
    labels[alone] = len(of_edge) + np.arange(len(alone))
    return labels
