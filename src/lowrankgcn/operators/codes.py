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
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, final

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike, NDArray

from lowrankgcn._parallel import map_chunks
from lowrankgcn._validation import MOST_NODES, integer_array, invalid, node_index, positive_int
from lowrankgcn.operators.factors import Factor, FloatArray, as_array, scale_rows, sum_over_rows

# Measured at 10⁶ rows, 21 columns and 112 values (benchmarks/setup_time.py): dense parts of this
# many entries are fastest, and sparse parts if columns have more values.
_ENTRIES = 2**18
_VALUES_PER_COLUMN = 16
_SPARSE_ENTRIES = 2**22


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
    Memory is n·p codes. Products expand the codes of some rows at a time: to an array if columns
    have few values, otherwise to a sparse matrix.

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
        ordered = sorted((low, high, j) for j, (low, high) in self._ranges.items())
        for (_, high, i), (low, _, j) in pairwise(ordered):
            if low <= high:
                overlap = f"columns {i} and {j} overlapping in {low}..{high}"
                raise invalid("codes", "hyperedges of one column each, in disjoint ranges", overlap)

    @property
    def shape(self) -> tuple[int, int]:
        """The pair (n, |E|)."""
        return self.codes.shape[0], self.n_hyperedges

    @cached_property
    def _ranges(self) -> dict[int, tuple[int, int]]:
        """First and last id of each column that has ids."""
        none, ranges = self.n_hyperedges, {}
        for j, column in enumerate(self.codes.T if len(self.codes) else ()):
            low, high = int(column.min()), int(column.max())
            if high == none:
                high = int(np.where(column == none, 0, column).max())
            if low < none:
                ranges[j] = low, high
        return ranges

    @property
    def _dense(self) -> bool:
        """Whether columns have few values, so that products expand rows to arrays."""
        return bool(self.n_hyperedges <= _VALUES_PER_COLUMN * self.codes.shape[1])

    @property
    def _part_rows(self) -> int:
        """Number of rows that are expanded at a time."""
        entries, columns = _SPARSE_ENTRIES, int(self.codes.shape[1])
        if self._dense:
            entries, columns = _ENTRIES, self.n_hyperedges
        return max(entries // max(columns, 1), 256)

    def _part(self, rows: Any, dtype: DTypeLike) -> Any:
        """Return selected rows of H as columns of an array or a sparse matrix, shape (|E|, q)."""
        codes = self.codes[rows]
        if not self._dense:
            return _sparse(codes, self.n_hyperedges).T.astype(dtype)
        members = np.zeros((self.n_hyperedges, len(codes)), bool)
        for j, (low, high) in self._ranges.items():
            ids = np.arange(low, high + 1, dtype=codes.dtype)[:, None]
            np.equal(ids, codes[:, j], out=members[low : high + 1])
        return members.astype(dtype)

    def matmul(self, V: Any, *, out: NDArray[Any] | None = None) -> NDArray[Any]:
        """Compute H V for V of shape (|E|,) or (|E|, k), in the precision of `out`.

        Examples
        --------
        >>> import numpy as np
        >>> H = CodeFactor(np.array([[0, 1], [0, 2]]), 3)
        >>> H.matmul(np.eye(3), out=np.empty((2, 3), np.float32))
        array([[1., 1., 0.],
               [1., 0., 1.]], dtype=float32)
        """
        table = np.asarray(V, np.float64 if out is None else out.dtype)
        n, m = self.shape
        if table.ndim not in (1, 2) or len(table) != m:
            raise invalid("V", f"shape ({m},) or ({m}, k)", f"shape {table.shape}")
        table = np.concatenate([table, np.zeros((1, *table.shape[1:]), table.dtype)])
        product = np.empty((n, *table.shape[1:])) if out is None else out

        def gather(start: int, stop: int) -> None:
            total, gathered = np.zeros((2, stop - start, *table.shape[1:]), table.dtype)
            for j in self._ranges:
                column = self.codes[start:stop, j]
                # Codes are within bounds; mode="clip" avoids the copy of the checking mode.
                np.take(table, column, axis=0, out=gathered, mode="clip")
                total += gathered
            product[start:stop] = total

        map_chunks(gather, n, max(_ENTRIES // max(math.prod(table.shape[1:]), 1), 256))
        return product

    def transpose_product(self, X: NDArray[Any], scale: FloatArray | None = None) -> FloatArray:
        """Compute Hᵀ diag(scale) X, sums of the rows of X per hyperedge, for X (n,) or (n, k)."""
        X = np.asarray(X)
        n, m = self.shape
        if X.ndim not in (1, 2) or len(X) != n:
            raise invalid("X", f"shape ({n},) or ({n}, k)", f"shape {X.shape}")

        def term(start: int, stop: int) -> FloatArray:
            rows = slice(start, stop)
            part = scale_rows(X[rows], None if scale is None else scale[rows])
            return np.asarray(self._part(rows, np.float64) @ part)

        return np.zeros((m, *X.shape[1:])) + sum_over_rows(term, n, self._part_rows)

    def gram(self, scale: FloatArray | None = None) -> FloatArray:
        """Compute Hᵀ diag(scale)² H, the weight of the rows that two hyperedges share.

        Parameters
        ----------
        scale : ndarray, shape (n,), optional
            Row scales, 1 by default. Equal ones scale the cached :attr:`pair_counts`, which is
            exact up to rounding.

        Returns
        -------
        ndarray, shape (|E|, |E|)
            The dense Gram matrix, meant for |E| up to some thousands.
        """
        if scale is None:
            return self.pair_counts.astype(np.float64)
        if len(scale) and scale.min() == scale.max():
            return np.asarray(self.pair_counts * scale[0] ** 2)
        return self._pair_sums(np.float64, scale)

    @cached_property
    def pair_counts(self) -> NDArray[np.int64]:
        """HᵀH in integers, the number of rows that two hyperedges share; read-only."""
        counts = self._pair_sums(np.float32).astype(np.int64)  # counts of a part are below 2²⁴
        counts.flags.writeable = False
        return counts

    def _pair_sums(self, dtype: DTypeLike, scale: FloatArray | None = None) -> FloatArray:
        def term(start: int, stop: int) -> FloatArray:
            part = self._part(slice(start, stop), dtype)
            part = part if scale is None else part * scale[start:stop]
            return as_array(part @ part.T)

        shape = (self.n_hyperedges, self.n_hyperedges)
        # As many rows as hyperedges take as much memory as their product, which costs to add.
        size = max(self._part_rows, self.n_hyperedges if self._dense else 0)
        return np.zeros(shape) + sum_over_rows(term, self.shape[0], size)

    def counts(self) -> NDArray[np.int64]:
        """Return the sizes of the hyperedges, the column sums of H, shape (|E|,)."""
        sizes = np.zeros(self.n_hyperedges + 1, np.int64)
        for column in self.codes.T:
            sizes += np.bincount(column, minlength=len(sizes))
        return sizes[:-1]

    def take(self, index: NDArray[np.intp]) -> FloatArray:
        """Return selected rows as a dense array (len(index), |E|)."""
        rows = node_index(index, "index", len(self.codes))
        return as_array(self._part(rows, np.float64).T)

    def to_sparse(self) -> sp.csr_array:
        """Return H in compressed sparse rows, 12 bytes per cell of the table.

        Examples
        --------
        >>> import numpy as np
        >>> CodeFactor(np.array([[0, 2], [1, 3]]), 3).to_sparse().toarray()
        array([[1., 0., 1.],
               [0., 1., 0.]])
        """
        return _sparse(self.codes, self.n_hyperedges)


def _sparse(codes: NDArray[Any], m: int) -> sp.csr_array:
    """Return the incidence matrix of codes (n, p), shape (n, m)."""
    codes = np.ascontiguousarray(codes)
    present = codes < m
    pointers = np.concatenate([[0], np.cumsum(present.sum(axis=1))])
    indices = codes[present].astype(np.int32 if codes.size < 2**31 else np.int64)
    entries = (np.ones(len(indices)), indices, pointers.astype(indices.dtype))
    return sp.csr_array(entries, shape=(len(codes), m))
