"""The interface of all graphs: size, components, loops, products with the weights, new rows.

>>> import lowrankgcn as lg
>>> triangle_and_isolated_node = [[0, 1, 1, 0], [1, 0, 1, 0], [1, 1, 0, 0], [0, 0, 0, 0]]
>>> graph = lg.AdjacencyGraph(triangle_and_isolated_node)
>>> graph.n_nodes, graph.n_components, graph.components.tolist(), graph.isolated.tolist()
(4, 2, [0, 0, 0, 1], [False, False, False, True])
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lowrankgcn._validation import set_fields
from lowrankgcn.graphs.cross_affinity import CrossAffinity
from lowrankgcn.graphs.matrices import read_only
from lowrankgcn.operators import FloatArray
from lowrankgcn.operators.affinity import Affinity

RowKind = Literal["points", "table", "incidence", "affinities"]


class GraphDescription(NamedTuple):
    """A description of a graph for reports.

    Attributes
    ----------
    name : str
        Kind of graph.
    meaning : str
        How rows are joined, in one or two sentences.
    facts : dict
        Numbers by name.

    Examples
    --------
    >>> import lowrankgcn as lg
    >>> lg.AdjacencyGraph([[0, 1, 0], [1, 0, 1], [0, 1, 0]]).description.facts
    {'rows': 3, 'joined pairs': 2, 'separate parts': 1}
    """

    name: str
    meaning: str
    facts: dict[str, int | float]


class Graph(ABC):
    """An undirected weighted graph with adjacency W ≥ 0 (zero diagonal) and loop weights.

    Subclasses are frozen and validate their input once. A new subclass implements the abstract
    members; no other module depends on its type.

    See Also
    --------
    lowrankgcn.GaussianGraph : Points joined by Gaussian weights.
    lowrankgcn.AdjacencyGraph : Given weights, or nearest neighbours.
    lowrankgcn.Hypergraph : Hyperedges, such as the values of a table.

    Examples
    --------
    All graphs have the same members:

    >>> import lowrankgcn as lg
    >>> points = lg.GaussianGraph([[0.0], [1.0], [2.0]], bandwidth=1.0)
    >>> table = lg.Hypergraph([[1, 0], [1, 1], [0, 1]])
    >>> [(graph.n_nodes, graph.n_components) for graph in (points, table)]
    [(3, 1), (3, 1)]
    >>> points.affinity().degrees.round(3).tolist()
    [0.386, 0.736, 0.386]
    """

    @property
    @abstractmethod
    def n_nodes(self) -> int:
        """Number of nodes n."""

    @property
    @abstractmethod
    def loop_weights(self) -> FloatArray:
        """Loops of the graph itself, shape (n,): the default smoother."""

    @property
    def completing_loops(self) -> FloatArray | None:
        """Diagonal that makes W positive semidefinite, shape (n,), or None if unknown."""
        return None

    @property
    def max_rank(self) -> int | None:
        """Upper bound on the rank of W plus a diagonal, or None if unknown."""
        return None

    @abstractmethod
    def affinity(self, *, tol: float = 1e-6, method: str = "auto") -> Affinity:
        """Return products with the weights W = A − diag(a), with degrees and measured error."""

    @property
    @abstractmethod
    def row_kind(self) -> RowKind:
        """Kind of rows that can be joined to the graph later."""

    @property
    @abstractmethod
    def row_columns(self) -> Sequence[str | int]:
        """Columns of such rows: names, or positions if they have no names."""

    @abstractmethod
    def cross_affinity(
        self, affinity: Affinity, degrees: FloatArray, loop_weight: float
    ) -> CrossAffinity:
        """Return the normalised weights between new rows and the nodes.

        Parameters
        ----------
        affinity : Affinity
            Result of :meth:`affinity`.
        degrees : (n,) array
            The normalising diagonal D + S of the Laplacian.
        loop_weight : float
            Loop of new rows, in addition to the loops of a hypergraph itself.
        """

    @property
    def node_data(self) -> NDArray[Any] | None:
        """Points or table codes of the nodes, shape (n, k), or None if the weights were given.

        Nodes with equal data are interchangeable.
        """
        return None

    def is_built_from(self, X: Any) -> bool:
        """Return whether the rows X, of kind `row_kind`, are those the graph was built from."""
        return self.node_data is not None and np.array_equal(self.node_data, X)

    @property
    def description(self) -> GraphDescription:
        """Kind of graph, meaning of its edges, and its size."""
        name, meaning, facts = self._describe()
        facts = {"rows": self.n_nodes, **facts, "separate parts": self.n_components}
        isolated = int(self.isolated.sum())
        if isolated:
            facts["rows joined to no other"] = isolated
        return GraphDescription(name, meaning, facts)

    @abstractmethod
    def _describe(self) -> tuple[str, str, dict[str, int | float]]:
        """Return name, meaning and the facts particular to this kind of graph."""

    _set = set_fields

    @abstractmethod
    def _find_components(self) -> NDArray[np.intp]:
        """Return any labelling of the nodes by connected component."""

    @cached_property
    def components(self) -> NDArray[np.intp]:
        """Component of every node, numbered in the order of their first nodes, shape (n,)."""
        labels = self._find_components()
        if labels.any():
            labels = pd.factorize(labels)[0].astype(np.intp, copy=False)
        return read_only(labels)

    @cached_property
    def n_components(self) -> int:
        """Number of connected components, isolated nodes included."""
        return int(self.components.max()) + 1

    @cached_property
    def isolated(self) -> NDArray[np.bool_]:
        """Nodes without an edge to another node, shape (n,)."""
        return read_only(np.bincount(self.components)[self.components] == 1)
