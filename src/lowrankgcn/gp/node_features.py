"""Features of nodes: word counts or columns of a table, and their nearest neighbours by cosine.

Wide features that are non-negative or mostly zero are treated as words: columns are weighted by
the root of the inverse document frequency, and rows have unit norm. They stay sparse. Other
features are the standard scores and indicators of a table, with a column of ones.

>>> import numpy as np
>>> words = np.eye(60)[:3] + np.eye(60)[[1, 1, 1]]
>>> features, rows = NodeFeatures.fit(words)
>>> rows.shape, np.sqrt(rows.multiply(rows).sum(axis=1)).round(6).tolist()
((3, 60), [1.0, 1.0, 1.0])
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, final

import numpy as np
import scipy.sparse as sp
from sklearn.utils.extmath import randomized_svd

from lowrankgcn._codec import saved
from lowrankgcn._parallel import map_chunks
from lowrankgcn._validation import invalid
from lowrankgcn.graphs.matrices import csr_copy
from lowrankgcn.graphs.search import NeighbourSearch
from lowrankgcn.operators import FloatArray
from lowrankgcn.tables import FittedTable, Table

FeatureMatrix = Any  # (n, d) csr_array or array of float32

_WORDS = 50  # more columns than this may be words
_NEIGHBOURS = 15
_EXACT = 20_000  # up to this number of nodes all cosines are computed
_RANK = 64  # singular vectors in which neighbours are searched beyond that
_CHUNK = 256  # rows whose cosines are held at a time


@saved
@final
@dataclass(frozen=True, eq=False)
class NodeFeatures:
    """Fitted map from rows to features F.

    Attributes
    ----------
    table : FittedTable or None
        None for words.
    weights : (d,) array
        Roots of the inverse document frequencies; ones for tables.
    basis : (d, r) array or None
        Singular vectors in which neighbours are searched; None if all cosines are computed.
    """

    table: FittedTable | None
    weights: Annotated[FloatArray, "d"]
    basis: Annotated[FloatArray, "d r"] | None

    @classmethod
    def fit(cls, X: Any, random_state: int = 0) -> tuple[NodeFeatures, FeatureMatrix]:
        """Fit to a sparse matrix or a table of any kind; return the map and the features."""
        matrix = _word_matrix(X)
        if matrix is None:
            table = FittedTable.fit(X.toarray() if sp.issparse(X) else X)
            features = cls(table, np.ones(1 + len(table.owners)), None)
        else:
            n, d = matrix.shape
            counts = np.bincount(matrix.indices, minlength=d)
            features = cls(None, np.sqrt(np.log((1 + n) / (1 + counts)) + 1), None)
        F = features.read(X if matrix is None else matrix)
        if F.shape[0] > _EXACT and F.shape[1] > _RANK:
            _, _, basis = randomized_svd(
                features._directions(F), _RANK, n_iter=2, random_state=random_state
            )
            features = cls(features.table, features.weights, np.asarray(basis.T, np.float64))
        return features, F

    def read(self, X: Any) -> FeatureMatrix:
        """Return the features of rows, shape (q, d)."""
        if self.table is not None:
            rows = self.table.read(X.toarray() if sp.issparse(X) else X)["standard"]
            width = np.sqrt(max(1, rows.shape[1]))
            return np.column_stack([rows, np.ones(len(rows))]).astype(np.float32) / width
        matrix = csr_copy(X if sp.issparse(X) else Table.read(X, "X").as_matrix(), "X")
        if matrix.shape[1] != len(self.weights):
            raise invalid("X", f"{len(self.weights)} columns", matrix.shape[1])
        return _unit_rows(matrix @ sp.diags_array(self.weights)).astype(np.float32)

    def _directions(self, F: FeatureMatrix) -> FeatureMatrix:
        """Return unit rows whose cosines are compared; words have the full frequency weights."""
        rows = _unit_rows(F @ sp.diags_array(self.weights.astype(np.float32)))
        return rows if self.basis is None else _unit_rows(rows @ self.basis)

    def neighbours(self, rows: FeatureMatrix, known: FeatureMatrix) -> sp.csr_array:
        """Return cosines of rows with their 15 nearest known rows, shape (q, n).

        Where `rows` is `known`, rows are no neighbours of themselves. Negative cosines count as
        zero.
        """
        same, n = rows is known, known.shape[0]
        count = min(_NEIGHBOURS, n - same)
        A, B = self._directions(rows), self._directions(known)
        excluded = np.arange(rows.shape[0]) if same else None
        if self.basis is not None and count:
            search = NeighbourSearch(B, count, probes=0, seed=0)
            if same:
                search, _ = NeighbourSearch.tuned(B, count, seed=0)
            distances, near = search.query(A, excluded)
            cosines = 1.0 - distances**2 / 2
        else:

            def nearest(start: int, stop: int) -> tuple[Any, Any]:
                part = A[start:stop].T
                products = (B @ (part.toarray() if sp.issparse(part) else part)).T
                if same:
                    products[np.arange(stop - start), np.arange(start, stop)] = -np.inf
                places = np.argpartition(-products, max(0, count - 1), axis=1)[:, :count]
                return np.take_along_axis(products, places, axis=1), places

            parts = map_chunks(nearest, rows.shape[0], _CHUNK)
            cosines, near = (np.concatenate(part) for part in zip(*parts, strict=True))
        pointers = np.arange(0, near.size + 1, max(1, count))[: len(near) + 1]
        values = np.maximum(cosines, 0.0).astype(np.float32).ravel()
        return sp.csr_array((values, near.ravel(), pointers), shape=(rows.shape[0], n))


def _word_matrix(X: Any) -> sp.csr_array | None:
    """Return features that look like words as a sparse matrix, None for others."""
    if not sp.issparse(X):
        try:
            X = Table.read(X, "X").as_matrix()
        except ValueError:  # texts or dates
            return None
        if X.shape[1] <= _WORDS or not np.isfinite(X).all():
            return None
        if X.min() < 0 and 2 * np.count_nonzero(X) > X.size:
            return None
        return sp.csr_array(X)
    if X.shape[1] <= _WORDS:
        return None
    matrix = csr_copy(X, "X")
    dense = 2 * matrix.nnz > matrix.shape[0] * matrix.shape[1]
    return None if dense and matrix.data.min(initial=0.0) < 0 else matrix


def _unit_rows(rows: Any) -> Any:
    """Divide rows by their norms; rows of zeros stay."""
    squares = rows.multiply(rows) if sp.issparse(rows) else rows * rows
    norms = np.sqrt(np.asarray(squares.sum(axis=1)).ravel())
    scale = sp.diags_array(1.0 / np.where(norms > 0, norms, 1.0))
    scaled = scale @ rows
    return sp.csr_array(scaled) if sp.issparse(scaled) else scaled
