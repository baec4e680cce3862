"""What to know about a graph, in plain words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

from lowrankgcn.graphs import AdjacencyGraph, GaussianGraph, Graph, Hypergraph

__all__ = ["GraphNote"]


@final
@dataclass(frozen=True)
class GraphNote:
    """A graph described.

    Attributes
    ----------
    name : str
        What kind of graph it is.
    meaning : str
        How rows are joined, in a sentence or two.
    facts : dict
        Numbers by name.
    """

    name: str
    meaning: str
    facts: dict[str, int | float]

    @classmethod
    def of(cls, graph: Graph, *, of_points: bool) -> GraphNote:
        """Describe a graph.

        Parameters
        ----------
        graph : Graph
        of_points : bool
            Whether a graph of few edges was made from a table's numbers, or else given.

        Examples
        --------
        >>> import numpy as np
        >>> note = GraphNote.of(GaussianGraph(np.eye(3), bandwidth=2.0), of_points=True)
        >>> note.name, note.facts
        ('Gaussian graph', {'rows': 3, 'bandwidth': 2.0, 'columns': 3, 'separate parts': 1})
        """
        facts: dict[str, int | float] = {"rows": graph.n_nodes}
        if isinstance(graph, Hypergraph) and graph.encoder is not None:
            name = "hypergraph of the table"
            meaning = (
                "Every value of every column makes a group of the rows that have it; a column of "
                "numbers is cut into ranges first. Rows that are in many of the same groups are "
                "taken to be alike."
            )
            facts["groups"] = graph.n_hyperedges
        elif isinstance(graph, Hypergraph):
            name, meaning = "hypergraph", "The groups that join the rows were given."
            facts["groups"] = graph.n_hyperedges
        elif isinstance(graph, GaussianGraph):
            name = "Gaussian graph"
            meaning = (
                "Every two rows are joined, the more strongly the nearer their numbers lie; at a "
                "distance of one bandwidth the strength has fallen to 37 %."
            )
            facts |= {"bandwidth": graph.bandwidth, "columns": graph.points.shape[1]}
        else:
            assert isinstance(graph, AdjacencyGraph)
            name, meaning = "given graph", "The weights that join the rows were given."
            if of_points:
                name = "nearest neighbours"
                meaning = (
                    "Every row is joined to the ten rows whose numbers are nearest to its own, "
                    "the nearer the more strongly."
                )
            facts["joined pairs"] = _pairs(graph.adjacency)
        facts["separate parts"] = graph.n_components
        alone = int(graph.isolated.sum())
        if alone:
            facts["rows joined to no other"] = alone
        return cls(name, meaning, facts)


def _pairs(adjacency: Any) -> int:
    """Pairs of nodes with a weight: the matrix has each twice, and loops once."""
    stored = adjacency.nnz if hasattr(adjacency, "nnz") else int((adjacency != 0).sum())
    return int(stored) // 2
