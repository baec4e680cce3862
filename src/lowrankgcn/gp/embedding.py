r"""Spectral coordinates of rows: eigenvectors of the random walk on a graph.

With eigenvectors U of the Laplacian, row i has the coordinates

.. math:: v_i = u_i / \sqrt{\max(d_i / \bar d, 0.1)},

for degrees d with mean :math:`\bar d`: eigenvectors of the random walk, except at rows of very
small degree. New rows are embedded by the Nyström formula (:mod:`lowrankgcn.spectral.extension`),
those of graphs of neighbours by the mean of their neighbours (:mod:`.neighbour_means`).

>>> import numpy as np, lowrankgcn as lg
>>> points = np.r_[np.zeros((20, 2)), np.ones((20, 2))] + np.arange(80).reshape(40, 2) / 400
>>> embedding, coordinates, pairs = Embedding.fit(lg.AdjacencyGraph.knn(points, 5), rank=2)
>>> near = embedding.coordinates(points[:1] + 1e-3)
>>> bool(np.allclose(near, coordinates[:1], rtol=0.1))
True
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Annotated, Any, final

import numpy as np

from lowrankgcn._codec import saved
from lowrankgcn.exceptions import DegenerateCutWarning, DisconnectedGraphWarning, RankWarning
from lowrankgcn.gp.neighbour_means import NeighbourMeans
from lowrankgcn.graphs import Graph
from lowrankgcn.graphs.cross_affinity import node_scale
from lowrankgcn.graphs.sparse_cross import NeighbourCross, TableCross
from lowrankgcn.operators import FloatArray
from lowrankgcn.spectral.eigenpairs import Eigenpairs, eigenpairs
from lowrankgcn.spectral.extension import Extension, cross_affinity
from lowrankgcn.spectral.laplacian import Laplacian

_LEAST_DEGREE = 0.1  # relative to the mean
_MOST_ISOLATED = 500  # isolated nodes whose null vectors are computed and left out


@saved
@final
@dataclass(frozen=True, eq=False)
class Embedding:
    """Spectral coordinates on a graph, extended to new rows.

    Attributes
    ----------
    extension : Extension or NeighbourMeans
    mean_degree : float
    centre : (r,) array
        Mean coordinates of the nodes with edges; rows without affinity to the graph are placed
        there.
    eigenvalues : (r,) array
    """

    extension: Extension | NeighbourMeans
    mean_degree: float
    centre: Annotated[FloatArray, "r"]
    eigenvalues: Annotated[FloatArray, "r"]

    @classmethod
    def fit(
        cls,
        graph: Graph,
        rank: int,
        *,
        smoother: Any = None,
        tol: float = 1e-2,
        random_state: int = 0,
    ) -> tuple[Embedding, FloatArray, Eigenpairs]:
        """Compute the smallest eigenpairs of a graph.

        Parameters
        ----------
        graph : Graph
        rank : int
            Number of pairs; fewer if the graph has fewer.
        smoother
            See :class:`Laplacian`.
        tol : float
            Accuracy of the eigenpairs.
        random_state : int

        Returns
        -------
        embedding : Embedding
        coordinates : (n, r) array
            Of the fitted rows.
        pairs : Eigenpairs
            With their residuals.
        """
        laplacian = Laplacian(graph, smoother, tol=min(tol, 1e-3))
        with warnings.catch_warnings():  # the rank is no promise here
            for category in (RankWarning, DegenerateCutWarning, DisconnectedGraphWarning):
                warnings.simplefilter("ignore", category)
            limit = graph.n_nodes if graph.max_rank is None else max(1, graph.max_rank)
            # Isolated nodes have null vectors of their own, which would displace all others.
            alone = min(int(graph.isolated.sum()), _MOST_ISOLATED)
            count = min(min(rank, limit) + alone, graph.n_nodes)
            pairs = eigenpairs(laplacian, count, tol=tol, random_state=random_state)
            kept = (pairs.eigenvectors[graph.isolated] ** 2).sum(axis=0) < 0.5
            if alone and kept.any():
                pairs = replace(
                    pairs,
                    eigenvalues=pairs.eigenvalues[kept],
                    eigenvectors=pairs.eigenvectors[:, kept],
                    residuals=pairs.residuals[kept],
                )
        degrees = laplacian.degrees
        mean = float(degrees.mean()) or 1.0
        coordinates = _walk(pairs.eigenvectors, np.sqrt(degrees), mean)
        extension: Extension | NeighbourMeans
        if isinstance(cross := cross_affinity(laplacian), NeighbourCross):
            walk = node_scale(degrees)[:, None] * pairs.eigenvectors * np.sqrt(mean)
            extension = NeighbourMeans.fit(cross.neighbours, walk)
        else:
            extension = Extension.fit(laplacian, pairs)
        placed = degrees > 0 if degrees.any() else np.ones(len(degrees), bool)
        centre = coordinates[placed].mean(axis=0)
        return cls(extension, mean, centre, pairs.eigenvalues), coordinates, pairs

    def coordinates(self, rows: Any) -> FloatArray:
        """Compute the coordinates of rows like those the graph was built from, shape (q, r)."""
        roots, vectors = self.extension.at(rows)
        if isinstance(self.extension, Extension):
            vectors = self.walk(vectors, roots)
        return np.where(roots[:, None] > 0, vectors, self.centre)

    def walk(self, vectors: FloatArray, roots: FloatArray) -> FloatArray:
        """Divide eigenvectors at new rows, or linear functions of them, by relative degrees."""
        return _walk(vectors, roots, self.mean_degree)

    def reading_codes(self) -> Embedding:
        """Return the embedding on the hypergraph of a table for codes in place of tables."""
        assert isinstance(self.extension, Extension)
        cross: Any = self.extension.cross
        return replace(self, extension=replace(self.extension, cross=replace(cross, encoder=None)))

    @property
    def reads_tables(self) -> bool:
        """Whether rows are rows of a table."""
        return isinstance(self.extension, Extension) and isinstance(
            self.extension.cross, TableCross
        )


def _walk(vectors: FloatArray, roots: FloatArray, mean_degree: float) -> FloatArray:
    """Divide rows by the root of their relative degree, which is floored."""
    least = np.sqrt(_LEAST_DEGREE)
    walk: FloatArray = vectors / np.maximum(roots / np.sqrt(mean_degree), least)[:, None]
    return walk
