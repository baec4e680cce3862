"""The incidence matrix of a table, kept as integer codes.

A table with p columns is a hypergraph whose hyperedges are the values of its columns (section A3):
row i belongs to one hyperedge per column, so the n×|E| incidence matrix H has at most p ones in a
row and follows from n×p small integers. The code |E| means "no hyperedge", a missing value:

>>> import numpy as np
>>> H = CodeFactor(np.array([[0, 2], [1, 2], [1, 3], [0, 4]]), 4)
>>> H.to_dense()
array([[1., 0., 1., 0.],
       [0., 1., 1., 0.],
       [0., 1., 0., 1.],
       [1., 0., 0., 0.]])
>>> H.gram()
array([[2., 0., 1., 0.],
       [0., 2., 1., 1.],
       [1., 1., 2., 0.],
       [0., 1., 0., 1.]])

Products run over groups of joined columns (:mod:`lowrankgcn.operators.column_groups`). For example,
21 columns with 112 values form about five groups, so that a product gathers five table rows instead
of 21 and the Gram matrix needs ten joint histograms instead of 210.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, final

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike, NDArray

from lowrankgcn._validation import MOST_NODES, integer_array, invalid, node_index, positive_int
from lowrankgcn.operators.base import FloatArray
from lowrankgcn.operators.column_groups import (
    ColumnGroup,
    gather_sum,
    histogram,
    join_columns,
    scatter_sum,
)
from lowrankgcn.operators.factors import Factor

_FEW_ROWS = 1000
_CELLS_OF_A_PAIR = 10_000  # multiplications in the time of one joint histogram


@final
@dataclass(frozen=True, eq=False)
class CodeFactor(Factor):
    """The 0/1 incidence matrix H (n×|E|) of a table given by integer codes.

    Parameters
    ----------
    codes : ndarray of int, shape (n, p)
        Hyperedge of row i in column j, in 0..|E|-1, or |E| for none. A hyperedge belongs to one
        column: the ids of different columns lie in disjoint ranges. Stored column by column in the
        smallest unsigned type that holds |E|; an array in this form is not copied and must not be
        changed.
    n_hyperedges : int
        Number of hyperedges |E|, the number of columns of H.

    Raises
    ------
    ValueError
        If `codes` is not a two-dimensional integer array, has an entry outside 0..|E|, or has
        columns with overlapping ranges of ids.

    Notes
    -----
    Memory is n·p codes and, after the first product, one or two bytes per row and group of columns.
    With g groups ``H @ V`` costs n·g·k and the Gram matrix n·g²/2.

    Examples
    --------
    >>> import numpy as np
    >>> H = CodeFactor(np.array([[0, 2], [1, 2], [1, 3]]), 4)
    >>> H @ np.array([10.0, 20.0, 1.0, 2.0])
    array([11., 21., 22.])
    >>> H.counts()
    array([1, 2, 2, 1])
    """

    codes: NDArray[Any]  # (n, p)
    n_hyperedges: int

    def __post_init__(self) -> None:
        m = positive_int(self.n_hyperedges, "n_hyperedges", minimum=0, maximum=MOST_NODES)
        codes = integer_array(self.codes, "codes", ndim=2, maximum=m)
        # A view, so that making it read-only does not lock the caller's array.
        codes = codes.astype(np.min_scalar_type(m), order="F", copy=False).view()
        codes.flags.writeable = False
        object.__setattr__(self, "n_hyperedges", m)
        object.__setattr__(self, "codes", codes)
        # In order of their first ids, every column's ids must end before those of the next begin.
        ordered = sorted((ids[0], ids[ids < m][-1], j) for j, ids in self._levels.items())
        for (_, high, i), (low, _, j) in pairwise(ordered):
            if low <= high:
                overlap = f"columns {i} and {j} overlapping in {low}..{high}"
                raise invalid("codes", "hyperedges of one column each, in disjoint ranges", overlap)

    @property
    def shape(self) -> tuple[int, int]:
        """The pair (n, |E|)."""
        return self.codes.shape[0], self.n_hyperedges

    @cached_property
    def _levels(self) -> dict[int, NDArray[np.intp]]:
        """Ids in each column, then |E| if some row has none; columns without ids are left out."""
        none, levels = self.n_hyperedges, {}
        for j, column in enumerate(self.codes.T if len(self.codes) else ()):
            low, high = int(column.min()), int(column.max())
            if low == none:
                continue
            missing = [none] if high == none else []
            if missing:
                high = int(np.where(column == none, 0, column).max())
            levels[j] = np.append(np.arange(low, high + 1), missing).astype(np.intp)
        return levels

    @cached_property
    def _groups(self) -> tuple[ColumnGroup, ...]:
        return join_columns(self.codes, self._levels, self.n_hyperedges)

    def matmul(self, V: Any, *, dtype: DTypeLike = np.float64) -> NDArray[Any]:
        """Compute H V by gathering and adding rows of V.

        Parameters
        ----------
        V : array_like, shape (|E|,) or (|E|, k)
            Rows to gather; those of the columns of a group are added in float64 beforehand.
        dtype : data type
            Type of the result, in which the groups are added; float32 halves memory and time.

        Returns
        -------
        ndarray, shape (n,) or (n, k)
            The product.

        Examples
        --------
        >>> import numpy as np
        >>> H = CodeFactor(np.array([[0, 1], [0, 2]]), 3)
        >>> H.matmul(np.eye(3), dtype=np.float32)
        array([[1., 1., 0.],
               [1., 0., 1.]], dtype=float32)
        """
        table = np.asarray(V, dtype=np.float64)
        n, m = self.shape
        if table.ndim not in (1, 2) or len(table) != m:
            raise invalid("V", f"shape ({m},) or ({m}, k)", f"shape {table.shape}")
        if n <= _FEW_ROWS:  # joining columns would take longer than the product
            return np.asarray(self.to_sparse() @ table, dtype)
        product = np.zeros((n, *table.shape[1:]), dtype)
        gather_sum(self._groups, table, product)
        return product

    def transpose_product(self, X: NDArray[Any], scale: FloatArray | None = None) -> FloatArray:
        """Compute Hᵀ diag(scale) X, sums of the rows of X per hyperedge, for X (n,) or (n, k)."""
        X = np.asarray(X)
        n, m = self.shape
        if X.ndim not in (1, 2) or len(X) != n:
            raise invalid("X", f"shape ({n},) or ({n}, k)", f"shape {X.shape}")
        sums = np.zeros((m, *X.shape[1:]))
        if n:
            scatter_sum(self._groups, X, scale, sums)
        return sums

    def gram(self, weights: FloatArray | None = None) -> FloatArray:
        """Compute Hᵀ diag(weights) H, the weight of the rows that two hyperedges share.

        Parameters
        ----------
        weights : ndarray, shape (n,), optional
            Row weights, 1 by default. Equal weights scale the cached :attr:`pair_counts`, which is
            exact up to one rounding.

        Returns
        -------
        ndarray, shape (|E|, |E|)
            The dense Gram matrix, meant for |E| up to some thousands.
        """
        if weights is None:
            return self.pair_counts.astype(np.float64)
        if len(weights) and weights.min() == weights.max():
            return np.asarray(self.pair_counts * weights[0])
        return self._pair_sums(weights)

    @cached_property
    def pair_counts(self) -> NDArray[np.int64]:
        """HᵀH in integers, the number of rows that two hyperedges share; read-only."""
        counts = self._pair_sums(None).astype(np.int64)  # sums of counts are exact below 2⁵³
        counts.flags.writeable = False
        return counts

    def _pair_sums(self, weights: FloatArray | None) -> FloatArray:
        """Compute Hᵀ diag(weights) H from the joint histograms of all pairs of groups."""
        m = self.n_hyperedges
        if self.codes.size * self.codes.shape[1] < _CELLS_OF_A_PAIR * len(self._groups) ** 2:
            H = self.to_sparse()  # few rows of many columns
            weighted = H if weights is None else sp.diags_array(weights) @ H
            return np.asarray((weighted.T @ H).toarray())
        result = np.zeros((m, m))
        for k, group in enumerate(self._groups):
            cells = sp.diags_array(histogram(group, weights=weights).astype(np.float64))
            block = (group.members @ cells @ group.members.T).toarray()
            result[np.ix_(group.own, group.own)] = block
            for other in self._groups[:k]:
                block = other.members @ (group.members @ histogram(group, other, weights)).T
                result[np.ix_(other.own, group.own)] = block
                result[np.ix_(group.own, other.own)] = block.T
        return result

    def counts(self) -> NDArray[np.int64]:
        """Return the sizes of the hyperedges, the column sums of H, shape (|E|,)."""
        sizes = np.zeros(self.n_hyperedges, dtype=np.int64)
        for group in self._groups:
            sizes[group.own] = group.members @ histogram(group)
        return sizes

    def take(self, index: NDArray[np.intp]) -> FloatArray:
        """Return selected rows as a dense array (len(index), |E|)."""
        codes = self.codes[node_index(index, "index", len(self.codes))]
        return np.asarray(CodeFactor(codes, self.n_hyperedges).to_sparse().toarray())

    def to_sparse(self) -> sp.csr_array:
        """Return H in compressed sparse rows, 12 bytes per cell of the table.

        Examples
        --------
        >>> import numpy as np
        >>> CodeFactor(np.array([[0, 2], [1, 3]]), 3).to_sparse().toarray()
        array([[1., 0., 1.],
               [0., 1., 0.]])
        """
        codes = np.ascontiguousarray(self.codes)
        present = codes < self.n_hyperedges
        pointers = np.concatenate([[0], np.cumsum(present.sum(axis=1))])
        indices = codes[present].astype(np.int32 if codes.size < 2**31 else np.int64)
        entries = (np.ones(len(indices)), indices, pointers.astype(indices.dtype))
        return sp.csr_array(entries, shape=self.shape)
