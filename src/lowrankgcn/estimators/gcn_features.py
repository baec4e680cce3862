"""Features of a network: scaled numbers, indicators of categories, words.

Numeric columns are in units of their standard deviation, and indicator columns of categories are
centred, so that features do not depend on the units of the columns.

>>> import numpy as np
>>> standard_scores(np.array([[1.0, 5.0], [3.0, 5.0]])).tolist()
[[-1.0, 0.0], [1.0, 0.0]]
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.extmath import randomized_svd

from lowrankgcn._validation import invalid
from lowrankgcn.operators import FloatArray
from lowrankgcn.tables import Table, TableEncoder
from lowrankgcn.tables.columns import Scores

_FEW_COLUMNS, _WIDE = 50, 500  # words have more columns; more than 500 are reduced
_SPARSE = 0.2  # words with a smaller share of nonzero entries are stored sparse
_ORTHOGONAL = 1e-8
_CONSTANT = 5e-13  # relative deviation up to which a column is constant


@final
@dataclass(frozen=True, eq=False)
class Features:
    """Features F = S − 1 mᵀ of the fitted rows, with m = 0 for points.

    Attributes
    ----------
    matrix : (n, N) array or sparse array
        S. The indicators of a table are sparse, so that memory does not grow with the categories.
    means : (N,) array
        m.
    """

    matrix: Any
    means: FloatArray

    def to_dense(self) -> FloatArray:
        """Return F."""
        S = self.matrix.toarray() if sp.issparse(self.matrix) else self.matrix
        dense: FloatArray = S - self.means
        return dense

    def project(self, U: NDArray[Any]) -> FloatArray:
        """Return UᵀF for eigenvectors U, shape (r, N), with rounding errors set to zero.

        Otherwise rounding would decide on which side of its kink an activation starts.
        """
        U, S, m = U.astype(np.float64, copy=False), self.matrix, self.means
        inner = U.T @ S - np.outer(U.sum(axis=0), m)
        squares = (S * S).sum() - 2 * S.sum(axis=0) @ m + len(U) * m @ m  # of all entries of F
        typical = math.sqrt(max(squares, 0.0) / len(m))  # norm of a column
        return np.where(np.abs(inner) > _ORTHOGONAL * typical, inner, 0.0)


def features_on_graph(X: Any, scaling: str) -> Any:
    """Return features on a given graph, dense or csr, scaled by rows or by columns.

    Parameters
    ----------
    X : (n, d) array or csr_array
    scaling : {"scores", "rows", "sums"}
        "sums": rows are divided by the sums of their absolute entries. Otherwise, rows of wide
        non-negative features, such as word counts, get length one, and other columns get unit
        standard deviation. More than 500 dense columns are then reduced to 500 by a randomised
        singular value decomposition, which keeps inner products of rows.

    >>> features_on_graph(np.array([[3.0, 1.0], [0.0, 0.0]]), "sums").tolist()
    [[0.75, 0.25], [0.0, 0.0]]
    """
    n, d = X.shape
    words = d > _FEW_COLUMNS and X.min() >= 0
    if words and not sp.issparse(X) and np.count_nonzero(X) < _SPARSE * X.size:
        X = sp.csr_array(X)
    if words or scaling == "sums":
        norms = abs(X).sum(axis=1) if scaling == "sums" else np.sqrt((X * X).sum(axis=1))
        scaled: Any = sp.diags_array(1.0 / np.where(norms > 0, norms, 1.0)) @ X
        return sp.csr_array(scaled) if sp.issparse(X) else scaled
    if sp.issparse(X) and d > _WIDE:  # not centred, which would fill it
        deviations = np.sqrt((X * X).sum(axis=0) / n)
        return sp.csr_array(X @ sp.diags_array(1.0 / np.where(deviations > 0, deviations, 1.0)))
    scores = standard_scores(X.toarray() if sp.issparse(X) else X)
    if d <= _WIDE:
        return scores
    U, singular_values, _ = randomized_svd(scores, _WIDE, n_iter=2, random_state=0)
    return U * singular_values


def table_features(
    table: Table, encoder: TableEncoder, codes: NDArray[Any], *, raw: bool = False
) -> Features:
    """Return indicators of the categories (not bins) of more than one row, then standard scores.

    The `raw` features are the incidence matrix itself, as in the paper.
    """
    total, columns = encoder.n_hyperedges, encoder.columns
    if not total:
        raise invalid("X", "a cell that is not missing", "missing cells only")
    binned = [] if raw else [column.name for column in columns if column.binned]
    shown, means = np.arange(total), np.zeros(total)
    if not raw:
        means = np.concatenate([np.zeros(len(c.shares)) if c.binned else c.shares for c in columns])
        # Values of a single row do not generalise, and an identifier would give n columns.
        shown = np.flatnonzero(means * len(table) > 1.5)
        shown = shown if len(shown) or binned else np.flatnonzero(means)[:1]
    place = np.full(total + 1, -1)
    place[shown] = np.arange(len(shown))
    rows, cells = np.nonzero(place[codes] >= 0)
    entries = np.ones(len(rows)), (rows, place[codes[rows, cells]])
    scores = [Scores.fit(table[name], name, ranked=False).read(table[name])[0] for name in binned]
    numbers = np.reshape(scores, (len(binned), len(table))).T
    matrix = sp.hstack([sp.csr_array(entries, shape=(len(table), len(shown))), numbers], "csr")
    return Features(matrix, np.append(means[shown], np.zeros(len(binned))))


def standard_scores(X: FloatArray) -> FloatArray:
    """Return the columns in units of their standard deviation; zero if they are constant.

    >>> standard_scores(np.array([[0.0, 1e6], [1.0, 1e6 + 2], [2.0, 1e6 + 4]])).round(3).tolist()
    [[-1.225, -1.225], [0.0, 0.0], [1.225, 1.225]]
    """
    # A power of two is factored out, so that squares neither overflow nor vanish.
    X = np.ldexp(X, -np.frexp(np.abs(X).max(axis=0))[1])
    offsets = X - X.mean(axis=0)
    offsets -= offsets.mean(axis=0)  # the rounding error of a mean far from zero
    deviations = offsets.std(axis=0)
    deviations[deviations <= _CONSTANT] = np.inf
    scores: FloatArray = offsets / deviations
    return scores
