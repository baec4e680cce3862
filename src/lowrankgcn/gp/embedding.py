r"""Spectral coordinates of rows: eigenvectors of the random walk on a graph.

With eigenvectors U of the Laplacian, row i has the coordinates

.. math:: v_i = u_i / \sqrt{\max(d_i / \bar d, 0.1)},

for degrees d with mean :math:`\bar d`: eigenvectors of the random walk, except at rows of very
small degree. New rows are embedded by the Nyström formula (:mod:`lowrankgcn.spectral.extension`).

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
from typing import Any, final

import numpy as np

from lowrankgcn._codec import saved
from lowrankgcn._validation import expect_shape, invalid
from lowrankgcn.exceptions import DegenerateCutWarning, DisconnectedGraphWarning, RankWarning
from lowrankgcn.graphs import Graph
from lowrankgcn.graphs.cross_affinity import CrossAffinity
from lowrankgcn.graphs.sparse_cross import NeighbourCross
from lowrankgcn.operators import FloatArray
from lowrankgcn.spectral.eigenpairs import eigenpairs
from lowrankgcn.spectral.extension import compress_eigenvectors, cross_affinity
from lowrankgcn.spectral.laplacian import Laplacian
from lowrankgcn.spectral.spectrum import Eigenpairs

_LEAST_DEGREE = 0.1  # relative to the mean
_MOST_ISOLATED = 500  # isolated nodes whose null vectors are computed and left out


@saved
@final
@dataclass(frozen=True, eq=False)
class Embedding:
    """Spectral coordinates on a graph, extended to new rows.

    Attributes
    ----------
    cross : CrossAffinity
    basis : (m, 1 + r) array
        Extensions of √degree and of the eigenvectors, over the columns of `cross`.
    mean_degree : float
    centre : (r,) array
        Mean coordinates of the nodes with edges; rows without affinity to the graph are placed
        there.
    eigenvalues : (r,) array
    """

    cross: CrossAffinity
    basis: FloatArray
    mean_degree: float
    centre: FloatArray
    eigenvalues: FloatArray

    def __post_init__(self) -> None:
        expect_shape(self.eigenvalues, "eigenvalues", None)
        expect_shape(self.basis, "basis", self.cross.n_columns, 1 + self.rank)
        expect_shape(self.centre, "centre", self.rank)
        if not self.mean_degree > 0:
            raise invalid("mean_degree", "a number > 0", self.mean_degree)

    @property
    def rank(self) -> int:
        """Number r of coordinates."""
        return len(self.eigenvalues)

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

        Notes
        -----
        New rows of nearest-neighbour graphs get the weighted mean of their neighbours. The factor
        1/(1−λ) of the Nyström formula would also undo the smoothing of the mean, but amplifies the
        difference between fitted rows, which are neighbours of each other, and new ones.
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
            if alone:
                pairs = _without_isolated(pairs, graph)
        degrees = laplacian.degrees
        mean = float(degrees.mean()) or 1.0
        cross = cross_affinity(laplacian, loop_weight=_loop_of_new_rows(laplacian))
        vectors = pairs.eigenvectors
        plain = isinstance(cross, NeighbourCross)
        extended = cross.compress(vectors) if plain else compress_eigenvectors(cross, pairs)
        basis = np.hstack([cross.compress(np.sqrt(degrees)[:, None]), extended])
        coordinates = _walk(vectors, np.sqrt(degrees), mean)
        placed = degrees > 0 if degrees.any() else np.ones(len(degrees), bool)
        centre = coordinates[placed].mean(axis=0)
        embedding = cls(cross, basis, mean, centre, pairs.eigenvalues)
        return embedding, coordinates, pairs

    def coordinates(self, rows: Any) -> FloatArray:
        """Compute the coordinates of rows like those the graph was built from, shape (q, r)."""
        extended = self.cross.product(rows, self.basis)
        roots = extended[:, 0]
        # The mean over the neighbours of a new row needs no floor.
        floor = 0.0 if isinstance(self.cross, NeighbourCross) else _LEAST_DEGREE
        placed = _walk(extended[:, 1:], roots, self.mean_degree, floor)
        return np.where(roots[:, None] > 0, placed, self.centre)


def _without_isolated(pairs: Eigenpairs, graph: Graph) -> Eigenpairs:
    """Leave out the null vectors of isolated nodes, unless there are no others."""
    kept = (pairs.eigenvectors[graph.isolated] ** 2).sum(axis=0) < 0.5
    if not kept.any():
        return pairs
    parts = (pairs.eigenvalues[kept], pairs.eigenvectors[:, kept], pairs.residuals[kept])
    return replace(
        pairs, **dict(zip(("eigenvalues", "eigenvectors", "residuals"), parts, strict=True))
    )


def _walk(
    vectors: FloatArray, roots: FloatArray, mean_degree: float, floor: float = _LEAST_DEGREE
) -> FloatArray:
    """Divide rows by the root of their relative degree, which is floored."""
    least = np.sqrt(max(floor, 1e-300))
    walk: FloatArray = vectors / np.maximum(roots / np.sqrt(mean_degree), least)[:, None]
    return walk


def _loop_of_new_rows(laplacian: Laplacian) -> float | None:
    """Return the mean of loops given row by row, None if the smoother determines the loop."""
    if np.ndim(laplacian.smoother) == 0:
        return None
    return max(0.0, float(np.mean(laplacian.loop_weights - laplacian.graph.loop_weights)))
