r"""Spectral coordinates of new rows as weighted means over their nearest fitted rows.

The Nyström formula has the factor 1/(1 − λ), which undoes the smoothing of a mean. It would also
amplify the difference between fitted rows, which are neighbours of each other, and new ones.

>>> import numpy as np
>>> from lowrankgcn.graphs.neighbours import NearestNeighbours
>>> near, _ = NearestNeighbours.from_points(np.array([[0.0], [1.0], [9.0]]), 1, "binary")
>>> NeighbourMeans(near, np.array([[1.0], [2.0], [3.0]])).at(np.array([[8.0], [0.1]]))[1].ravel()
array([3., 1.])
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, final

import numpy as np
from numpy.typing import NDArray

from lowrankgcn._codec import saved
from lowrankgcn._parallel import map_chunks
from lowrankgcn._validation import finite_array, invalid
from lowrankgcn.graphs.neighbours import NearestNeighbours
from lowrankgcn.operators import FloatArray

_CHUNK = 1024  # rows at a time


@saved
@final
@dataclass(frozen=True, eq=False)
class NeighbourMeans:
    """Values of fitted rows, averaged over the neighbours of new rows.

    Attributes
    ----------
    near : NearestNeighbours
    values : (n, r) array
        In half precision if neighbours are approximate, too: rounding changes less than they do.
    """

    near: NearestNeighbours
    values: Annotated[NDArray[np.floating[Any]], "n r"]

    @classmethod
    def fit(cls, near: NearestNeighbours, values: FloatArray) -> NeighbourMeans:
        """Store values (n, r) as precisely as the neighbours."""
        return cls(near, values.astype(np.float16) if near.approximate else values)

    def of_values(self, M: FloatArray) -> NDArray[Any]:
        """Return the products (n, c) of the first columns of the values with M."""
        products: FloatArray = self.values[:, : len(M)].astype(np.float64) @ M
        return products.astype(np.float32) if self.near.approximate else products

    def at(self, X: Any) -> tuple[FloatArray, FloatArray]:
        """Return sums of weights (q,) and mean values (q, r) of new rows."""
        points, width = finite_array(X, "X", ndim=2), self.near.points.shape[1]
        if points.shape[1] != width:
            raise invalid("X", f"{width} columns", points.shape[1])
        values = self.of_values(np.eye(self.values.shape[1]))
        parts = map_chunks(lambda i, j: self.means(points[i:j], values), len(points), _CHUNK)
        totals, means = zip(*parts, strict=True) if parts else ([], [])
        return np.concatenate(totals or [np.zeros(0)]), np.concatenate(means or [values[:0]])

    def means(
        self, points: NDArray[Any], values: NDArray[Any]
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return sums of weights (q,) and means (q, c) of some values (n, c) of fitted rows."""
        neighbours, weights = self.near.near(points)
        weights = weights.astype(values.dtype)
        totals = weights.sum(axis=1)
        sums = np.matmul(weights[:, None], values.take(neighbours, axis=0))[:, 0]
        return totals, sums / np.where(totals > 0, totals, 1)[:, None]
