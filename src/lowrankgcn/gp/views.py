"""Views: all representations of rows that the blocks read.

=================== ==========================================================================
``standard``        standard scores of numbers and indicators of values
``ranks``           the same with ranks of numbers
``neighbours``      spectral coordinates on the ten nearest neighbours of the standard scores, or
                    of the numbers themselves if they seem to have a common unit
``gaussian``        spectral coordinates on a Gaussian graph of the ranks
``hypergraph``      spectral coordinates on the hypergraph of values and bins
``given``           spectral coordinates on a graph, an incidence matrix or weights
``ego`` … ``near``  features that are propagated on a given graph or, if they are sparse, on their
                    nearest neighbours (:mod:`.node_graph`)
=================== ==========================================================================

>>> import numpy as np
>>> X = np.random.default_rng(0).normal(size=(50, 4))
>>> fitted = FittedViews.fit(X, graphs=("neighbours",), rank=5)
>>> {name: rows.shape[1] for name, rows in fitted.views.items()}
{'standard': 4, 'ranks': 4, 'neighbours': 5}
>>> fitted.maps.read(X[:2] + 0.1)["neighbours"].shape
(2, 5)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np
import scipy  # loads its parts when they are used
import scipy.sparse as sp
from numpy.typing import NDArray

from lowrankgcn._codec import saved
from lowrankgcn._progress import report_progress
from lowrankgcn._validation import invalid
from lowrankgcn.gp.embedding import Embedding
from lowrankgcn.gp.graph_filters import PROPAGATIONS
from lowrankgcn.gp.node_graph import NodeGraph, carries_features
from lowrankgcn.graphs import AdjacencyGraph, GaussianGraph, Graph, Hypergraph
from lowrankgcn.operators import FloatArray
from lowrankgcn.spectral.eigenpairs import Eigenpairs
from lowrankgcn.tables import FittedTable, Table

#: Parts of rows that hold their columns.
CELLS = ("codes", "numbers", "number_ranks")
#: Graphs that are built from the features.
GRAPHS = ("neighbours", "gaussian", "hypergraph")

_NEIGHBOURS = 10
_SPECTRAL_NODES = 20_000  # of a graph with features; larger ones have propagated features only
_LEAST_SCALE = 0.1  # of the distances to the tenth neighbour; keeps groups of duplicates connected
_GAUSSIAN_ROWS = 300  # nodes of the Gaussian graph; other rows follow by the Nyström formula
_GAUSSIAN_RANK, _HYPERGRAPH_RANK = 6, 60
# With more features, neighbours are searched in this many directions of largest variance, unless
# there are few entries.
_DIRECTIONS, _FEW_ENTRIES, _SVD_ROWS = 64, 2**17, 5000
_NEAR_SHARE = 0.02  # share of the rows within a typical row's bandwidth, at least five


@saved
@final
@dataclass(frozen=True, eq=False)
class RowViews:
    """Fitted maps from rows to views.

    Attributes
    ----------
    features : FittedTable or None
        None for rows that only a given graph reads, and for wide features of nodes.
    embeddings : dict from view to Embedding
    nodes : NodeGraph or None
        Wide sparse features, or a given graph on which features are propagated.
    directions : (d, p) array or None
        Directions of largest variance in which neighbours are searched if there are many features.
    """

    features: FittedTable | None
    embeddings: dict[str, Embedding]
    nodes: NodeGraph | None = None
    directions: FloatArray | None = None

    def __post_init__(self) -> None:
        alone = self.features is None and self.nodes is None
        if alone and set(self.embeddings) != {"given"}:
            raise invalid("embeddings", "a given graph, without features", list(self.embeddings))

    def read(self, X: Any, edges: Any = None) -> dict[str, Any]:
        """Return the views of new rows; `edges` as for :meth:`NodeGraph.with_nodes`."""
        return self.views(self.parts(X, edges))

    def parts(self, X: Any, edges: Any = None) -> dict[str, Any]:
        """Return what all views are computed from.

        ``codes``, ``numbers`` and ``number_ranks`` of columns (:meth:`FittedTable.cells`), the
        coordinates on a given graph, and propagated features. Rows of parts are mixed column by
        column to explain predictions; see :attr:`owners`.
        """
        parts: dict[str, Any] = {}
        given, extended = self.embeddings.get("given"), None
        if self.nodes is not None and self.nodes.has_edges:
            n, extended = self.nodes.n_nodes, self.nodes.with_nodes(X, edges)
            parts = node_views(extended, n)
        elif edges is not None:
            raise invalid("edges", "None, because no features were fitted on a graph", "edges")
        elif self.nodes is not None:
            return dict(self.nodes.new_rows(X))
        if self.features is not None:
            X = Table.read(X.toarray() if sp.issparse(X) else X, "X")
            parts |= self.features.cells(X)
        if given is not None and extended is not None and self.nodes is not None:
            weights = extended.edges[n:, : self.nodes.edges.shape[1]]
            parts["given"] = given.coordinates(weights)
        elif given is not None:
            points = isinstance(X, Table) and not given.reads_tables
            parts["given"] = given.coordinates(X.as_matrix() if points else X)
        return parts

    def views(self, parts: Mapping[str, Any]) -> dict[str, Any]:
        """Compute the views from the parts of rows."""
        views = {} if self.features is None else self.features.expanded(parts)
        parts = self.embedded(parts, views)
        return views | {name: part for name, part in parts.items() if name not in CELLS}

    def embedded(self, parts: Mapping[str, Any], views: Any = None) -> dict[str, Any]:
        """Return the parts of rows with their coordinates on all graphs."""
        parts = dict(parts)
        if self.features is not None:
            views = self.features.expanded(parts) if views is None else views
            for name, embedding in self.embeddings.items():
                if name not in parts:
                    parts[name] = embedding.coordinates(
                        _source(name, parts | views, self.features, self.directions)
                    )
        return parts

    def neighbour_points(self, parts: Mapping[str, Any]) -> FloatArray:
        """Return the points of rows among which nearest neighbours are searched."""
        assert self.features is not None
        expanded = self.features.expanded(parts)
        return _source("neighbours", expanded, self.features, self.directions)

    @cached_property
    def axes(self) -> FloatArray:
        """Matrix by which standard scores become points of the graph of neighbours, (d, p)."""
        assert self.features is not None
        units = self.features.common_unit
        units = np.ones(len(self.features.owners)) if units is None else units
        return np.diag(units) if self.directions is None else units[:, None] * self.directions

    @cached_property
    def owners(self) -> dict[str, NDArray[np.intp]]:
        """Column in use that every entry of the parts belongs to; a given graph follows them."""
        if self.features is None:
            return {}
        numbers = self.features.owners[self.features.number_places]
        owners = {"numbers": numbers, "number_ranks": numbers, "codes": self.features.code_owners}
        if "given" in self.embeddings:
            rank = len(self.embeddings["given"].eigenvalues)
            owners["given"] = np.full(rank, len(self.features.used))
        return owners


@final
@dataclass(frozen=True, eq=False)
class FittedViews:
    """Views of the fitted rows.

    Attributes
    ----------
    maps : RowViews
    parts : dict from part to (n, k) array or PropagatedRows
        As :meth:`RowViews.parts`, and the coordinates on all graphs.
    graphs : dict from view to Graph
    eigenpairs : dict from view to Eigenpairs
    """

    maps: RowViews
    parts: dict[str, Any]
    graphs: dict[str, Graph]
    eigenpairs: dict[str, Eigenpairs]

    @cached_property
    def views(self) -> dict[str, Any]:
        """Views of the rows, by name."""
        return self.maps.views(self.parts)

    @classmethod
    def fit(
        cls,
        X: Any,
        *,
        graphs: tuple[str, ...] = GRAPHS,
        given: Graph | None = None,
        rank: int = 100,
        tol: float = 1e-2,
        random_state: int = 0,
    ) -> FittedViews:
        """Fit features and graphs to rows.

        Parameters
        ----------
        X : table of any kind, or None
            None if only the given graph is used.
        graphs : tuple of str
            Graphs to build from X.
        given : Graph, optional
            Graph of the rows, for the view "given".
        rank : int
            Largest number of eigenpairs.
        tol : float
            Accuracy of the eigenpairs.
        random_state : int

        Notes
        -----
        O(n (d + r)) memory. The graph of neighbours dominates the time.
        """
        features: FittedTable | None = None
        parts: dict[str, Any] = {}
        views: dict[str, Any] = {}
        built: dict[str, tuple[Graph, int, Any]] = {}
        nodes: NodeGraph | None = None
        directions: FloatArray | None = None
        sparse = sp.issparse(X) and given is None
        if X is not None and (sparse or (given is not None and carries_features(given))):
            report_progress("features of the rows")
            nodes = NodeGraph.fit(given, X, random_state)
            if nodes.reader.table is None:
                fitted: dict[str, Graph] = {} if given is None else {"given": given}
                return cls(RowViews(None, {}, nodes), node_views(nodes), fitted, {})
            X = X.toarray() if sp.issparse(X) else X
        if X is not None:
            table = Table.read(X, "X")
            if given is not None and given.n_nodes != len(table):
                raise invalid("graph", f"{len(table)} nodes, as many as rows", given.n_nodes)
            features = FittedTable.fit(table) if nodes is None else nodes.reader.table
            assert features is not None
            parts = features.cells(table)
            views = features.expanded(parts) | {"codes": parts["codes"]}
            n, d = views["standard"].shape
            if "neighbours" in graphs and d > _DIRECTIONS and n * d > _FEW_ENTRIES:
                report_progress("directions of largest variance")
                rows = _source("neighbours", views, features, None)
                directions = _directions(rows, random_state)
            for name in graphs if features.used else ():
                if name == "hypergraph" and not features.encoder.n_hyperedges:
                    continue  # vectors have none
                rows = _source(name, views, features, directions)
                built[name] = _build(name, rows, features, rank, random_state)
        if given is not None and (nodes is None or nodes.n_nodes <= _SPECTRAL_NODES):
            built["given"] = given, rank, None
        embeddings: dict[str, Embedding] = {}
        pairs: dict[str, Eigenpairs] = {}
        for name, (graph, count, smoother) in built.items():
            report_progress(f"{name}: eigenpairs")
            options: Any = {"smoother": smoother, "tol": tol, "random_state": random_state}
            embedding, parts[name], pairs[name] = Embedding.fit(graph, min(count, rank), **options)
            if name == "hypergraph":
                embedding = embedding.reading_codes()
            if features is not None and name in ("gaussian", "hypergraph"):
                parts[name] = embedding.coordinates(_source(name, views, features, None))
            embeddings[name] = embedding
        fitted = {name: graph for name, (graph, *_) in built.items()}
        if nodes is not None and given is not None:
            parts, fitted = parts | node_views(nodes), {"given": given}
        return cls(RowViews(features, embeddings, nodes, directions), parts, fitted, pairs)


def node_views(nodes: NodeGraph, first: int = 0) -> dict[str, Any]:
    """Return the propagated features of the nodes from `first` on."""
    return {name: nodes.rows(name)[first:] for name in PROPAGATIONS if name in nodes.centres}


def _source(
    name: str,
    parts: Mapping[str, NDArray[Any]],
    features: FittedTable,
    directions: FloatArray | None,
) -> NDArray[Any]:
    """Return what a graph that was built from the features reads of rows."""
    if name == "neighbours":
        unit = features.common_unit
        points = parts["standard"] if unit is None else parts["standard"] * unit
        return points if directions is None else points @ directions
    return parts["ranks" if name == "gaussian" else "codes"]


def _build(
    name: str, rows: NDArray[Any], features: FittedTable, rank: int, random_state: int
) -> tuple[Graph, int, Any]:
    """Build a graph of the features; return it with its rank and smoother."""
    if name == "hypergraph":
        return Hypergraph.from_encoder(features.encoder, rows), _HYPERGRAPH_RANK, None
    if name == "gaussian":
        if len(rows) > _GAUSSIAN_ROWS:
            generator = np.random.default_rng(random_state)
            rows = rows[np.sort(generator.choice(len(rows), _GAUSSIAN_ROWS, replace=False))]
        points = GaussianGraph(rows, _bandwidth(rows), random_state=random_state)
        return points, _GAUSSIAN_RANK, "identity"
    graph = AdjacencyGraph.knn(
        rows, _NEIGHBOURS, least_scale=_LEAST_SCALE, random_state=random_state
    )
    return graph, rank, None


def _directions(points: FloatArray, random_state: int) -> FloatArray:
    """Return the directions of largest variance of points, by a randomised SVD, (d, 64)."""
    from sklearn.utils.extmath import randomized_svd  # a saved model needs no scikit-learn

    generator = np.random.default_rng(random_state)
    chosen = np.sort(generator.permutation(len(points))[:_SVD_ROWS])
    rows = (points[chosen] - points[chosen].mean(axis=0)).astype(np.float32)
    count = min(_DIRECTIONS, *rows.shape)
    vectors = randomized_svd(rows, count, n_iter=3, random_state=random_state)[2]
    directions: FloatArray = vectors.T.astype(np.float64)
    return directions


def _bandwidth(points: FloatArray) -> float:
    """Return √2 times the median distance to the near share of the points."""
    squares = scipy.spatial.distance.cdist(points, points[:400], "sqeuclidean")
    near = min(len(points) - 1, max(5, round(_NEAR_SHARE * len(points))))
    return float(np.sqrt(2 * (np.median(np.partition(squares, near, axis=0)[near]) + 1e-9)))
