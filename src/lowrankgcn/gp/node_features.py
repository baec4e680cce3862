"""Features of nodes: words, numbers or columns of a table, and their neighbours by cosine.

More than 50 columns that are non-negative or mostly zero are treated as words: columns are weighted
by the root of the inverse document frequency, and rows have unit norm. They stay sparse. More than
50 columns of other numbers become standard scores. Fewer columns, categories and missing cells are
read as a table. Scores have a column of ones.

>>> import numpy as np
>>> words = np.eye(60)[:3] + np.eye(60)[[1, 1, 1]]
>>> features, rows = NodeFeatures.fit(words)
>>> rows.shape, np.sqrt(rows.multiply(rows).sum(axis=1)).round(6).tolist()
((3, 60), [1.0, 1.0, 1.0])
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any, final

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg import eigh

from lowrankgcn._codec import saved
from lowrankgcn._parallel import map_chunks
from lowrankgcn._validation import finite_array, invalid
from lowrankgcn.graphs.matrices import csr_copy
from lowrankgcn.graphs.search import NeighbourSearch
from lowrankgcn.operators import FloatArray
from lowrankgcn.operators.factors import as_array
from lowrankgcn.tables import FittedTable, Table

FeatureMatrix = Any  # (n, d) csr_array or array of float32

_WIDE = 50  # more columns than this are words or numbers, and no table
# Sparse rows without a graph are a table up to this many columns, if more than a tenth of their
# cells is filled: the indicators of OneHotEncoder.
_ENCODED, _FILLED = 1000, 0.1
_FARTHEST = 5.0  # scores are clipped here
_CONSTANT = 1e-12  # relative deviation up to which a column is constant
_NEIGHBOURS = 15
_EXACT = 20_000  # up to this number of nodes all cosines are computed
MOST_NODES = 200_000  # larger graphs have no neighbours in the features
# Of the neighbours in singular vectors. Measured for 10⁵ nodes: lists that find 0.58 of them take a
# fifth of the time of those that find 0.92, and the neighbours share a class as often.
_RECALL = 0.5
_RANK = 64  # singular vectors in which neighbours are searched beyond that
_GRAM = 1500  # columns up to which singular vectors are eigenvectors of their inner products
_CHUNK, _CELLS = 256, 2**23  # most rows, and cells of rows, whose cosines are held at a time


@saved
@final
@dataclass(frozen=True, eq=False)
class NodeFeatures:
    """Fitted map from rows to features F.

    Attributes
    ----------
    table : FittedTable or None
        None for words and wide numbers.
    centre : (p,) array or None
        Means of wide numbers, otherwise None.
    weights : (d,) array
        Roots of the inverse document frequencies of words, inverse deviations of wide numbers,
        ones for tables.
    basis : (d, r) array or None
        Singular vectors in which neighbours of many nodes are searched; None for few nodes or
        columns.
    """

    table: FittedTable | None
    centre: FloatArray | None
    weights: Annotated[FloatArray, "d"]
    basis: Annotated[FloatArray, "d r"] | None

    @classmethod
    def fit(
        cls, X: Any, random_state: int = 0, *, points: bool = False
    ) -> tuple[NodeFeatures, FeatureMatrix]:
        """Fit to a sparse matrix or a table of any kind; return the map and the features.

        Singular vectors are computed for many rows, or if `points` are needed.
        """
        wide = _wide_matrix(X)
        if wide is None:
            table = FittedTable.fit(X.toarray() if sp.issparse(X) else X)
            features = cls(table, None, np.ones(len(table.owners)), None)
        elif sp.issparse(wide):
            n, d = wide.shape
            counts = np.bincount(wide.indices, minlength=d)
            features = cls(None, None, np.sqrt(np.log((1 + n) / (1 + counts)) + 1), None)
        else:
            deviations = wide.std(axis=0)
            varies = deviations > _CONSTANT * np.abs(wide).max(axis=0)
            weights = np.where(varies, 1.0 / np.where(varies, deviations, 1.0), 0.0)
            features = cls(None, wide.mean(axis=0), weights, None)
        F = features.read(X if wide is None else wide)
        if (points or _EXACT < F.shape[0] <= MOST_NODES) and min(F.shape) > _RANK:
            basis = _singular_vectors(features._directions(F), random_state)
            features = replace(features, basis=basis.astype(np.float64))
        return features, F

    def read(self, X: Any) -> FeatureMatrix:
        """Return the features of rows, shape (q, d)."""
        if self.table is not None:
            return _scores(self.table.read(X.toarray() if sp.issparse(X) else X)["standard"])
        if not sp.issparse(X):
            X = X if isinstance(X, np.ndarray) else Table.read(X, "X").as_matrix()
        sparse = self.centre is None or sp.issparse(X)
        matrix: Any = csr_copy(X, "X") if sparse else finite_array(X, "X", ndim=2)
        if matrix.shape[1] != len(self.weights):
            raise invalid("X", f"{len(self.weights)} columns", matrix.shape[1])
        if self.centre is not None:
            return _scores((as_array(matrix) - self.centre) * self.weights)
        return _unit_rows(matrix @ sp.diags_array(self.weights)).astype(np.float32)

    def _directions(self, F: FeatureMatrix) -> FeatureMatrix:
        """Return unit rows whose cosines are compared; words have the full frequency weights."""
        rows = _unit_rows(F @ sp.diags_array(self.weights) if sp.issparse(F) else F)
        return rows if self.basis is None else _unit_rows(rows @ self.basis)

    def points(self, X: Any) -> FloatArray:
        """Return rows as unit vectors in at most 64 singular vectors, where cosines are kept."""
        return np.asarray(as_array(self._directions(self.read(X))), np.float64)

    def neighbours(self, rows: FeatureMatrix, known: FeatureMatrix) -> tuple[sp.csr_array, float]:
        """Return cosines of rows with their 15 nearest known rows, (q, n), and the share found.

        Where `rows` is `known`, rows are no neighbours of themselves. Negative cosines count as
        zero. More than 200,000 rows have no neighbours.
        """
        same, n, recall = rows is known, known.shape[0], 1.0
        count = min(_NEIGHBOURS, n - same)
        if n > MOST_NODES or not count:
            return sp.csr_array((rows.shape[0], n), dtype=np.float32), float(not count)
        A = self._directions(rows)
        B = A if same else self._directions(known)
        if n > _EXACT:
            A, B = (np.asarray(as_array(part), np.float64) for part in (A, B))
            if same:
                search, recall = NeighbourSearch.tuned(B, count, seed=0, least_recall=_RECALL)
                distances, near = search.query(A, np.arange(n))
            else:
                distances, near = NeighbourSearch(B, count, probes=0, seed=0).query(A)
            cosines = 1.0 - distances**2 / 2
        else:

            def nearest(start: int, stop: int) -> tuple[Any, Any]:
                part = A[start:stop].T
                products = (B @ (part.toarray() if sp.issparse(part) else part)).T
                if same:
                    products[np.arange(stop - start), np.arange(start, stop)] = -np.inf
                places = np.argpartition(-products, count - 1, axis=1)[:, :count]
                return np.take_along_axis(products, places, axis=1), places

            size = int(np.clip(_CELLS // A.shape[1], 16, _CHUNK))
            parts = map_chunks(nearest, rows.shape[0], size)
            cosines, near = (np.concatenate(part) for part in zip(*parts, strict=True))
        pointers = np.arange(0, near.size + 1, count)
        values = np.maximum(cosines, 0.0).astype(np.float32).ravel()
        return sp.csr_array((values, near.ravel(), pointers), shape=(rows.shape[0], n)), recall


def is_narrow(X: Any) -> bool:
    """Return whether sparse rows are better read as a table."""
    n, d = X.shape
    return bool(d <= _WIDE or (d <= _ENCODED and X.nnz > _FILLED * n * d))


def _wide_matrix(X: Any) -> Any:
    """Return more than 50 columns of numbers: sparse if they look like words; None for others."""
    if sp.issparse(X):
        if X.shape[1] <= _WIDE:
            return None
        matrix: Any = csr_copy(X, "X")
        filled, least = matrix.nnz / np.prod(matrix.shape), matrix.data.min(initial=0.0)
    else:
        try:
            matrix = Table.read(X, "X").as_matrix()
        except ValueError:  # texts or dates
            return None
        if matrix.shape[1] <= _WIDE or not np.isfinite(matrix).all():
            return None
        filled, least = np.count_nonzero(matrix) / matrix.size, matrix.min()
    return sp.csr_array(matrix) if least >= 0 or filled < 0.5 else as_array(matrix)


def _singular_vectors(rows: Any, random_state: int) -> NDArray[Any]:
    """Return the right singular vectors of the 64 largest singular values, shape (d, 64)."""
    d = rows.shape[1]
    if d <= _GRAM:
        products = as_array(rows.T @ rows)
        return np.asarray(eigh(products, subset_by_index=[d - _RANK, d - 1])[1])
    from sklearn.utils.extmath import randomized_svd  # models of files predict without it

    return np.asarray(randomized_svd(rows, _RANK, n_iter=2, random_state=random_state)[2].T)


def _scores(rows: FloatArray) -> NDArray[np.float32]:
    """Return clipped scores and a column of ones, with rows of norm about one."""
    columns = np.column_stack([np.clip(rows, -_FARTHEST, _FARTHEST), np.ones(len(rows))])
    scores: NDArray[np.float32] = (columns / np.sqrt(max(1, rows.shape[1]))).astype(np.float32)
    return scores


def _unit_rows(rows: Any) -> Any:
    """Divide rows by their norms; rows of zeros stay."""
    squares = rows.multiply(rows) if sp.issparse(rows) else rows * rows
    norms = np.sqrt(np.asarray(squares.sum(axis=1)).ravel())
    scale = sp.diags_array(1.0 / np.where(norms > 0, norms, 1.0))
    scaled = scale @ rows
    return sp.csr_array(scaled) if sp.issparse(scaled) else scaled
