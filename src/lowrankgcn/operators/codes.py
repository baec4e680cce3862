"""The incidence matrix of a table, kept as integer codes and never built.

A table with p columns is a hypergraph whose hyperedges are the values of its columns (section A3):
row i belongs to one hyperedge per column, so the n×|E| incidence matrix H has at most p ones in a
row and is known from n×p small integers. The code |E| means "no hyperedge", a missing value:

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

Products run over groups of joined columns (:mod:`lowrankgcn.operators.column_groups`): of 21
columns with 112 values about five groups remain, so that a product gathers five table rows instead
of 21 and the Gram matrix needs ten joint histograms instead of 210.
"""

from __future__ import annotations

from collections.abc import Iterator
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

__all__ = ["CodeFactor"]

_MAX_HISTOGRAM = 2**19  # cells; larger joint histograms of groups are taken column by column


@final
@dataclass(frozen=True, eq=False)
class CodeFactor(Factor):
    """The 0/1 incidence matrix H (n×|E|) of a table given by integer codes.

    Parameters
    ----------
    codes : ndarray of int, shape (n, p)
        Hyperedge of row i in column j, in 0..|E|-1, or |E| for none. A hyperedge belongs to one
        column: the ids of different columns lie in disjoint ranges. Kept column by column in the
        smallest unsigned type that holds |E|; an array that has this form already is not copied and
        must not be changed.
    n_hyperedges : int
        Number of hyperedges |E|, the number of columns of H.

    Raises
    ------
    ValueError
        If `codes` is no integer array of two dimensions, holds a number outside 0..|E|, or has
        columns whose ranges of ids overlap.

    Notes
    -----
    Memory is n·p codes and, once a product has been asked for, one or two bytes per row and group
    of columns. With g groups ``H @ V`` costs n·g·k and the Gram matrix n·g²/2.

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
        n_hyperedges = positive_int(
            self.n_hyperedges, "n_hyperedges", minimum=0, maximum=MOST_NODES
        )
        object.__setattr__(self, "n_hyperedges", n_hyperedges)
        object.__setattr__(self, "codes", _as_codes(self.codes, n_hyperedges))
        _check_disjoint(self._levels, n_hyperedges)

    @property
    def shape(self) -> tuple[int, int]:
        """The pair (n, |E|)."""
        return self.codes.shape[0], self.n_hyperedges

    @cached_property
    def _levels(self) -> dict[int, NDArray[np.intp]]:
        """Ids that each column may hold, then |E| if some row has none; no entry without any id."""
        none = self.n_hyperedges
        levels = {}
        for j, column in enumerate(self.codes.T if len(self.codes) else ()):
            low, high = int(column.min()), int(column.max())
            if low == none:
                continue
            if high < none:
                levels[j] = np.arange(low, high + 1)
            else:
                high = int(np.where(column == none, 0, column).max())
                levels[j] = np.append(np.arange(low, high + 1), none)
        return levels

    @cached_property
    def _groups(self) -> tuple[ColumnGroup, ...]:
        return join_columns(self.codes, self._levels)

    def __matmul__(self, V: Any) -> FloatArray:
        """H V for V of shape (|E|,) or (|E|, k)."""
        return self.matmul(V)

    def matmul(
        self, V: Any, *, dtype: DTypeLike = np.float64, out: NDArray[Any] | None = None
    ) -> NDArray[Any]:
        """H V by gathering and adding rows of V, in any floating type.

        Parameters
        ----------
        V : array_like, shape (|E|,) or (|E|, k)
            Rows to gather; those of the columns of a group are added in float64 beforehand.
        dtype : data type
            Type of the result, in which the groups are added; float32 halves memory and time.
        out : ndarray, shape (n,) or (n, k), optional
            Array to write into; its type takes the place of `dtype`.

        Returns
        -------
        ndarray, shape (n,) or (n, k)
            The product.

        Raises
        ------
        ValueError
            If the shape of `V` or `out` does not fit.

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
        shape = (n, *table.shape[1:])
        if out is None:
            out = np.empty(shape, dtype)
        elif out.shape != shape:
            raise invalid("out", f"shape {shape}", f"shape {out.shape}")
        # A row of zeros after the last is what "none" contributes.
        padded = np.concatenate([table, np.zeros((1, *table.shape[1:]))])
        tables = [padded[group.hyperedges].sum(axis=0).astype(out.dtype) for group in self._groups]
        gather_sum(tables, [group.codes for group in self._groups], out)
        return out

    def transpose_product(self, X: NDArray[Any], scale: FloatArray | None = None) -> FloatArray:
        """Hᵀ diag(scale) X: the sum of the rows of X in every hyperedge, for X (n,) or (n, k)."""
        X = np.asarray(X)
        n, m = self.shape
        if X.ndim not in (1, 2) or len(X) != n:
            raise invalid("X", f"shape ({n},) or ({n}, k)", f"shape {X.shape}")
        result = np.zeros((m + 1, *X.shape[1:]))
        for group, sums in zip(self._groups, scatter_sum(self._groups, X, scale), strict=True):
            result[group.own] = group.add_cells(sums)
        return result[:m]

    def gram(self, weights: FloatArray | None = None) -> FloatArray:
        """Hᵀ diag(weights) H: the weight of the rows that two hyperedges share, shape (|E|, |E|).

        Parameters
        ----------
        weights : ndarray, shape (n,), optional
            Weight of every row, 1 when omitted. If all are equal the integer counts of
            :meth:`pair_counts` are scaled: exact up to one rounding, and free when asked again.

        Returns
        -------
        ndarray, shape (|E|, |E|)
            The Gram matrix, dense: meant for |E| up to some thousands.

        Raises
        ------
        ValueError
            If `weights` does not have shape (n,).
        """
        if weights is None:
            return self._pair_counts.astype(np.float64)
        n = len(self.codes)
        weights = np.asarray(weights, dtype=np.float64)
        if weights.shape != (n,):
            raise invalid("weights", f"shape ({n},)", f"shape {weights.shape}")
        if n and weights.min() == weights.max():
            scaled: FloatArray = self._pair_counts * weights[0]
            return scaled
        return self._pair_sums(weights)

    def pair_counts(self) -> NDArray[np.int64]:
        """HᵀH in integers: how many rows two hyperedges share, shape (|E|, |E|); read-only.

        Examples
        --------
        >>> import numpy as np
        >>> CodeFactor(np.array([[0, 2], [1, 2], [1, 2]]), 3).pair_counts()
        array([[1, 0, 1],
               [0, 2, 2],
               [1, 2, 3]])
        """
        return self._pair_counts

    @cached_property
    def _pair_counts(self) -> NDArray[np.int64]:
        counts = self._pair_sums(None).astype(np.int64)  # sums of counts are exact below 2⁵³
        counts.flags.writeable = False
        return counts

    def _pair_sums(self, weights: FloatArray | None) -> FloatArray:
        """Hᵀ diag(weights) H from the joint histograms of all pairs of groups."""
        m = self.n_hyperedges
        result = np.zeros((m + 1, m + 1))
        for k, group in enumerate(self._groups):
            block = group.add_cell_pairs(histogram(group, weights=weights))
            result[np.ix_(group.own, group.own)] = block
            for other in self._groups[:k]:
                for a, b in self._histogram_pairs(group, other):
                    block = b.add_cells(a.add_cells(histogram(a, b, weights)).T)
                    result[np.ix_(b.own, a.own)] = block
                    result[np.ix_(a.own, b.own)] = block.T
        return result[:m, :m]

    def _histogram_pairs(
        self, group: ColumnGroup, other: ColumnGroup
    ) -> Iterator[tuple[ColumnGroup, ColumnGroup]]:
        """Yield the pair, or the pairs of its columns if its joint histogram would be too large.

        The histogram of two columns is no larger than their block of the Gram matrix.
        """
        if group.cells * other.cells <= _MAX_HISTOGRAM:
            yield group, other
            return
        for a in self._single_columns(group):
            for b in self._single_columns(other):
                yield a, b

    def _single_columns(self, group: ColumnGroup) -> Iterator[ColumnGroup]:
        if len(group.columns) == 1:
            yield group
        else:
            for j in group.columns:
                yield from join_columns(self.codes, {j: self._levels[j]})

    def counts(self) -> NDArray[np.int64]:
        """Sizes of the hyperedges, the column sums of H, shape (|E|,)."""
        sizes = np.zeros(self.n_hyperedges + 1, dtype=np.int64)
        for group in self._groups:
            sizes[group.own] = group.add_cells(histogram(group))
        return sizes[:-1]

    def row_squares(self, weights: FloatArray | None = None) -> FloatArray:
        """Diagonal of H diag(weights) Hᵀ: the weight of every row's hyperedges, shape (n,)."""
        # The entries of H are their own squares.
        return self @ (np.ones(self.n_hyperedges) if weights is None else weights)

    def take(self, index: NDArray[np.intp]) -> FloatArray:
        """Selected rows as a dense array (len(index), |E|)."""
        codes = self.codes[node_index(index, "index", len(self.codes))]
        rows = np.zeros((len(codes), self.n_hyperedges))
        row, column = np.nonzero(codes < self.n_hyperedges)
        rows[row, codes[row, column]] = 1
        return rows

    def to_sparse(self) -> sp.csr_array:
        """H in compressed sparse rows, for what needs its entries; 12 bytes per cell of the table.

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


def _as_codes(value: Any, n_hyperedges: int) -> NDArray[Any]:
    codes = integer_array(value, "codes", ndim=2, maximum=n_hyperedges)
    # A view, so that making it read-only does not lock the caller's array.
    codes = codes.astype(np.min_scalar_type(n_hyperedges), order="F", copy=False).view()
    codes.flags.writeable = False
    return codes


def _check_disjoint(levels: dict[int, NDArray[np.intp]], n_hyperedges: int) -> None:
    # In order of their first ids, every column's ids must end before those of the next begin.
    ordered = sorted((ids[0], ids[ids < n_hyperedges][-1], j) for j, ids in levels.items())
    for (_, high, i), (low, _, j) in pairwise(ordered):
        if low <= high:
            raise invalid(
                "codes",
                "hyperedges of one column each, in disjoint ranges",
                f"columns {i} and {j} overlapping in {low}..{high}",
            )
