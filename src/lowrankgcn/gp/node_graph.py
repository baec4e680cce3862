r"""A graph or hypergraph whose nodes have features, and products with propagated features φ(S) F.

Matrices of n nodes by d features are not formed. Products φ(S) (F w) take as many products with S
as there are columns of w. Some rows I of φ(S) F follow from the columns of F if d is at most the
number of rows, otherwise by duality from the columns :math:`\varphi(S) E_I`: S is symmetric.

>>> import numpy as np, scipy.sparse as sp, lowrankgcn as lg
>>> graph = lg.AdjacencyGraph.from_edge_index([[0, 1], [1, 2]])
>>> nodes = NodeGraph.fit(graph, np.arange(6.0).reshape(3, 2))
>>> nodes.products("conv", np.ones((3, 1))).shape, nodes.dense_rows("conv", np.array([0, 2])).shape
((3, 1), (2, 3))
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any, final

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lowrankgcn._codec import saved
from lowrankgcn._parallel import map_chunks
from lowrankgcn._validation import integer_array, invalid
from lowrankgcn.exceptions import warn_caller
from lowrankgcn.gp.graph_filters import PROPAGATIONS, WEIGHTS, Single, Smoother, apply_filters
from lowrankgcn.gp.node_features import MOST_NODES, FeatureMatrix, NodeFeatures
from lowrankgcn.gp.propagated_rows import NewRows, PropagatedRows
from lowrankgcn.graphs import AdjacencyGraph, Graph, Hypergraph
from lowrankgcn.graphs.matrices import binary_matrix, check_weights, csr_copy
from lowrankgcn.operators import FloatArray, MatrixFactor

# Numbers that are propagated together, 16 to 64 columns. Measured for 10⁵ nodes: 32 columns, which
# fit into the cache, take 0.4 of the time of 64 columns for each.
_PROPAGATED = 2**22
# Random projections from which norms of rows of wide features are estimated; half as many beyond
# 20,000 nodes.
_PROBES, _MANY = 128, 20_000
_WITHOUT_EDGES = ("ego", "joint", "near")


def carries_features(graph: Graph) -> bool:
    """Return whether features are propagated on this graph: its edges or hyperedges are given."""
    if isinstance(graph, Hypergraph):
        return isinstance(graph.incidence, MatrixFactor)
    return isinstance(graph, AdjacencyGraph) and graph.neighbours is None


@saved
@final
@dataclass(frozen=True, eq=False)
class NodeGraph:
    """Edges or hyperedges, features, and nearest neighbours in the features.

    Attributes
    ----------
    edges : (n, n) csr_array of weights, or (n, e) csr_array of zeros and ones
        Without loops; for hypergraphs the incidence.
    hyperedge_weights : (e,) array or None
        None for graphs.
    reader : NodeFeatures
    features : (n, d) csr_array or array
    near : (n, n) csr_array
        Cosines of each node with its nearest neighbours.
    recall : float
        Share of the nearest neighbours that were found, measured for 200 nodes if lists were
        searched; 0 if none were searched, because the graph has more than 200,000 nodes.
    centres : dict from block to (d,) array
        Mean rows of φ(S) F of the fitted graph; changed or appended edges do not move them.
        Without nearest neighbours, ``near`` is the same as ``ego`` and is left out; without a
        graph, all blocks on its edges.
    """

    edges: sp.csr_array
    hyperedge_weights: Annotated[FloatArray, "e"] | None
    reader: NodeFeatures
    features: FeatureMatrix
    near: sp.csr_array
    recall: float
    centres: dict[str, FloatArray]

    @classmethod
    def fit(cls, graph: Graph | None, X: Any, random_state: int = 0) -> NodeGraph:
        """Read the features of the nodes and find their nearest neighbours.

        Without a graph, there are only ``ego`` and the blocks that use nearest neighbours.
        """
        reader, features = NodeFeatures.fit(X, random_state)
        n = features.shape[0]
        edges, weights = sp.csr_array((n, n)), None
        if graph is not None:
            if n != graph.n_nodes:
                raise invalid("graph", f"{n} nodes, as many as rows", graph.n_nodes)
            edges, weights = _edges_of(graph)
        near, recall = reader.neighbours(features, features)
        blocks = PROPAGATIONS if graph is not None else _WITHOUT_EDGES
        used = [name for name in blocks if near.nnz or name != "near"]
        centres = dict.fromkeys(used, np.zeros(features.shape[1]))
        nodes = cls(edges, weights, reader, features, near, recall, centres)
        if not recall:
            warn_caller(nodes.approximations[0], UserWarning)
        shares = np.full((nodes.n_nodes, 1), 1.0 / nodes.n_nodes)

        def add_centres(start: int, stop: int) -> None:
            for name, part in nodes.propagate(nodes.together[start], shares).items():
                nodes.centres[name] = np.asarray(features.T @ part, np.float64).ravel()

        map_chunks(add_centres, len(nodes.together), 1)
        return nodes

    def with_edges(self, graph: Graph) -> NodeGraph:
        """Return the same nodes with the edges or hyperedges of another graph."""
        if graph.n_nodes != self.n_nodes:
            raise invalid("graph", f"{self.n_nodes} nodes, as many as fitted", graph.n_nodes)
        edges, weights = _edges_of(graph)
        return replace(self, edges=edges, hyperedge_weights=weights)

    def with_nodes(self, X: Any, edges: Any = None) -> NodeGraph:
        """Append new nodes.

        Parameters
        ----------
        X : rows
            Features of q new nodes.
        edges : (k, 2) int array or sparse matrix, optional
            Known nodes have the numbers 0 … n − 1 and new ones n … n + q − 1, in the order of X.
            Pairs of a new node and any other, or a sparse matrix of weights (q, n + q). For a
            hypergraph: pairs of a new node and a hyperedge, where numbers after the last known
            hyperedge make new ones of weight 1, or incidence rows (q, e).
        """
        rows = self.reader.read(X)
        n, q = self.n_nodes, rows.shape[0]
        block = self._new_edges(edges, n, q)
        if self.hyperedge_weights is None:
            to_known, among = block[:, :n], block[:, n:]
            joined = sp.block_array([[self.edges, to_known.T], [to_known, among]])
            weights = None
        else:
            known = sp.csr_array(self.edges)
            known.resize((n, block.shape[1]))
            joined = sp.vstack([known, block])
            more = block.shape[1] - len(self.hyperedge_weights)
            weights = np.append(self.hyperedge_weights, np.ones(more))
        near, _ = self.reader.neighbours(rows, self.features)
        stack: Any = sp.vstack if sp.issparse(rows) else np.vstack
        return replace(
            self,
            edges=sp.csr_array(joined),
            hyperedge_weights=weights,
            features=stack([self.features, rows]),
            near=sp.csr_array(sp.block_array([[self.near, None], [near, sp.csr_array((q, q))]])),
        )

    def new_rows(self, X: Any) -> dict[str, PropagatedRows]:
        """Return the propagated features of new rows without edges, each alone."""
        rows = self.reader.read(X)
        near, every = self.reader.neighbours(rows, self.features)[0], np.arange(rows.shape[0])
        return {name: NewRows(self, name, every, rows, near) for name in self.centres}

    @property
    def approximations(self) -> tuple[str, ...]:
        """What is left out or estimated, and how well."""
        (d, count), texts = self.probes.shape, []
        if not self.recall:
            text = "similar nodes are not joined, because the graph has more than"
            texts = [f"{text} {MOST_NODES:,} nodes"]
        elif self.recall < 1:
            found = f"{100 * self.recall:.0f} % of them were found, measured for 200 nodes"
            texts = [f"each node is joined to nodes with similar features from lists: {found}"]
        if count < d:
            error = f"{count} random projections, with an error of {100 / np.sqrt(2 * count):.0f} %"
            texts.append(f"norms of propagated features are estimated by {error}")
        return tuple(texts)

    @property
    def has_edges(self) -> bool:
        """Whether a graph was given."""
        return "graph" in self.centres

    def _new_edges(self, edges: Any, n: int, q: int) -> sp.csr_array:
        """Return edges of new nodes as a symmetric block (q, n + q), or incidence rows (q, e)."""
        hyper = self.hyperedge_weights is not None
        width = self.edges.shape[1] if hyper else n + q
        if edges is None:
            return sp.csr_array((q, width))
        if sp.issparse(edges):
            block = binary_matrix(edges, "edges") if hyper else csr_copy(edges, "edges")
            if block.shape[0] != q or (
                block.shape[1] < width if hyper else block.shape[1] != width
            ):
                expected = f"a matrix of {q} rows and {width} columns"
                raise invalid("edges", expected, f"shape {block.shape}")
            check_weights(block.data, "edges")
        else:
            pairs = integer_array(edges, "edges", ndim=2)
            if pairs.shape[1] != 2:
                raise invalid("edges", "pairs (k, 2)", f"shape {pairs.shape}")
            first, second = pairs.T
            if not hyper:  # the new node first
                first, second = (
                    np.where(first < n, second, first),
                    np.where(first < n, first, second),
                )
            wrong = (first < n) | (first >= n + q) | ((second >= n + q) & (not hyper))
            if wrong.any():
                expected = f"a new node {n} … {n + q - 1} in every pair"
                raise invalid("edges", expected, pairs[wrong][0].tolist())
            width = max(width, int(second.max(initial=-1)) + 1)
            block = sp.csr_array((np.ones(len(first)), (first - n, second)), shape=(q, width))
            block.data[:] = 1.0
        if hyper:
            return block
        among = block[:, n:]
        among = among.maximum(among.T)
        among.setdiag(0.0)
        return sp.csr_array(sp.hstack([block[:, :n], among]))

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return int(self.features.shape[0])

    @property
    def columns(self) -> int:
        """Number of columns that are propagated together."""
        return min(64, max(1, _PROPAGATED // self.n_nodes // 16) * 16)

    def links(self, index: NDArray[np.intp], known: int) -> sp.csr_array:
        """Return which of the first `known` nodes some nodes are joined to, shape (q, known)."""
        rows = self.edges[index]
        joined = rows if self.hyperedge_weights is None else rows @ self.edges.T
        pairs = sp.coo_array(joined[:, :known])
        others = index[pairs.coords[0]] != pairs.coords[1]
        places = tuple(part[others] for part in pairs.coords)
        return sp.csr_array((np.ones(others.sum()), places), shape=pairs.shape)

    @cached_property
    def together(self) -> tuple[tuple[str, ...], ...]:
        """Blocks that share products with S: those of the same weights."""
        places: dict[str, list[str]] = {}
        for name in self.centres:
            places.setdefault(self._place(name), []).append(name)
        return tuple(map(tuple, places.values()))

    def _place(self, name: str) -> str:
        """Return the weights of a block; without neighbours, ``joint`` is on the edges alone."""
        return PROPAGATIONS[name].place if "near" in self.centres else "graph"

    def smoother(self, name: str) -> Smoother:
        """Return the normalised weights of a block: edges, neighbours, or both."""
        place = self._place(name)
        if place not in self._smoothers:
            nothing = sp.csr_array((self.n_nodes, self.n_nodes))
            edges, incidence = self.edges, None
            if self.hyperedge_weights is not None:
                sizes = np.maximum(np.asarray(self.edges.sum(axis=0)).ravel(), 1.0)
                scale = np.sqrt(self.hyperedge_weights / sizes)
                edges, incidence = nothing, self.edges @ sp.diags_array(scale)
            weight, loops = WEIGHTS.get(place, (0.0, 1.0))
            if place == "near":
                edges, incidence = nothing, None
            if weight:
                edges = edges + weight * self._near
            self._smoothers[place] = Smoother.normalise(edges, loops, incidence)
        return self._smoothers[place]

    @cached_property
    def _smoothers(self) -> dict[str, Smoother]:
        return {}

    @cached_property
    def _near(self) -> sp.csr_array:
        """Symmetric weights of nearest neighbours, about one in total for each node."""
        union = self.near.maximum(self.near.T)
        sums = np.asarray(union.sum(axis=1)).ravel()
        shares = sp.diags_array(1.0 / np.where(sums > 0, sums, 1.0)) @ union
        return sp.csr_array(shares + shares.T) / 2

    def propagate(self, names: Sequence[str], columns: Any) -> dict[str, Single]:
        """Return φ(S) V for columns V, shape (n, c), and the filters of blocks with the same S."""
        filters = [PROPAGATIONS[name].filter for name in names]
        V = np.asarray(columns, np.float32)
        return dict(zip(names, apply_filters(self.smoother(names[0]), filters, V), strict=True))

    def rows(self, name: str) -> PropagatedRows:
        """Return the propagated features of all nodes."""
        return PropagatedRows(self, name, np.arange(self.n_nodes))

    def products(self, name: str, w: NDArray[np.floating[Any]]) -> FloatArray:
        """Return φ(S) (F w), shape (n, c); kept for the last w, and for the probes of few nodes."""
        probing = w is self.probes
        if (kept := self._products.get((name, probing))) is not None and kept[0] is w:
            return kept[1]

        def part(start: int, stop: int) -> Single:
            columns = self.features @ np.asarray(w[:, start:stop], np.float32)
            return self.propagate([name], columns)[name]

        product = np.hstack(map_chunks(part, w.shape[1], self.columns)).astype(np.float64)
        if not probing or self.n_nodes <= _MANY:
            self._products[name, probing] = w, product
        return product

    @cached_property
    def _products(self) -> dict[tuple[str, bool], tuple[NDArray[Any], FloatArray]]:
        return {}

    @cached_property
    def probes(self) -> Single:
        """Columns w whose products with rows sum to squared norms, shape (d, p).

        Unit vectors for up to 128 features, 64 for many nodes, otherwise random ones.
        """
        d, count = self.features.shape[1], _PROBES // (1 + (self.n_nodes > _MANY))
        if d <= count:
            return np.eye(d, dtype=np.float32)
        drawn = np.random.default_rng(0).normal(size=(d, count)) / np.sqrt(count)
        probes: Single = drawn.astype(np.float32)
        return probes

    def squared_norms(self, name: str) -> FloatArray:
        """Return squared distances of the rows of φ(S) F from their centre, shape (n,).

        They are exact for few features, otherwise estimated by random projections.
        """
        if name not in self._squared_norms:
            names = next(names for names in self.together if name in names)
            probes = self.probes

            def part(start: int, stop: int) -> list[FloatArray]:
                chosen, squares = probes[:, start:stop], []
                for one, sums in self.propagate(names, self.features @ chosen).items():
                    sums -= (self.centres[one] @ chosen).astype(np.float32)
                    squares.append(np.einsum("ij,ij->i", sums, sums).astype(np.float64))
                return squares

            parts = map_chunks(part, probes.shape[1], self.columns)
            for one, squares in zip(names, zip(*parts, strict=True), strict=True):
                self._squared_norms[one] = np.sum(squares, axis=0)
        return self._squared_norms[name]

    @cached_property
    def _squared_norms(self) -> dict[str, FloatArray]:
        return {}

    def dense_rows(self, name: str, index: NDArray[np.intp]) -> Single:
        """Return some rows of φ(S) F, shape (q, d).

        Those of blocks with the same S are computed together, and kept until they are asked for.
        """
        key = (name, index.tobytes())
        if key not in self._dense_rows:
            self._dense_rows.clear()
            names = next(names for names in self.together if name in names)
            q, d = len(index), self.features.shape[1]
            rows = {one: np.empty((q, d), np.float32) for one in names}

            def primal(start: int, stop: int) -> None:
                columns = self.features[:, start:stop]
                columns = columns.toarray() if sp.issparse(columns) else columns
                for one, part in self.propagate(names, columns).items():
                    rows[one][:, start:stop] = part[index]

            def dual(start: int, stop: int) -> None:
                columns = np.zeros((self.n_nodes, stop - start), np.float32)
                columns[index[start:stop], np.arange(stop - start)] = 1.0
                for one, part in self.propagate(names, columns).items():
                    rows[one][start:stop] = (self.features.T @ part).T

            map_chunks(primal if d <= q else dual, min(q, d), self.columns)
            self._dense_rows.update({(one, key[1]): part for one, part in rows.items()})
        return self._dense_rows.pop(key)

    @cached_property
    def _dense_rows(self) -> dict[tuple[str, bytes], Single]:
        return {}


def _edges_of(graph: Graph) -> tuple[sp.csr_array, FloatArray | None]:
    """Return weights without loops, or incidence and weights of all given hyperedges."""
    if isinstance(graph, AdjacencyGraph):
        return sp.csr_array(graph.adjacency), None
    if not isinstance(graph, Hypergraph) or not isinstance(graph.incidence, MatrixFactor):
        raise invalid(
            "graph", "an AdjacencyGraph, or a Hypergraph of given hyperedges", repr(graph)
        )
    incidence = sp.coo_array(graph.incidence.matrix)
    places = graph.hyperedge_numbers[incidence.coords[1]]
    shape = (graph.n_nodes, graph.n_given)
    weights = np.ones(graph.n_given)
    weights[graph.hyperedge_numbers] = graph.hyperedge_weights
    return sp.csr_array((incidence.data, (incidence.coords[0], places)), shape=shape), weights
