"""Hyperedges of a table: every value of every column is one.

The encoder stores which values are hyperedges, so that new rows can be encoded:

>>> import pandas as pd
>>> table = pd.DataFrame({"colour": ["red", "blue", "red"], "length": [1.5, 7.0, None]})
>>> encoder, codes = TableEncoder.fit_transform(table, bins=2)
>>> encoder.hyperedge_names
('colour=blue', 'colour=red', 'length=(-inf, 4.25]', 'length=(4.25, inf)')
>>> codes  # 4 stands for "no hyperedge"
array([[1, 2],
       [0, 3],
       [1, 4]], dtype=uint8)
>>> encoder.transform(pd.DataFrame({"length": [9.0], "colour": ["green"]}))
array([[4, 3]], dtype=uint8)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Literal, final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lowrankgcn._codec import saved
from lowrankgcn._parallel import map_chunks
from lowrankgcn._validation import choice, invalid, positive_float, positive_int
from lowrankgcn.tables.cells import Name, plain_name
from lowrankgcn.tables.columns import Binning, Encoding, is_few_integers
from lowrankgcn.tables.table import Table

Missing = Literal["ignore", "edge", "drop-column"]

_DEFAULT_BINS = 5  # of a numeric column
_LARGEST_WEIGHT = 1e300  # of a column; sums, which are degrees, stay finite
_MOST_UNIFORM_BINS = 2**20  # the edges of all uniform bins are stored, also of empty ones


@saved
@final
@dataclass(frozen=True)
class TableEncoder:
    """The hyperedges of a table: values or bins of its columns.

    Use :meth:`fit` or :meth:`fit_transform` to create one. The hyperedges of a column have
    consecutive ids, in the order of the columns; ``n_hyperedges`` means "no hyperedge".

    Attributes
    ----------
    names : tuple of str or int
        All columns of the fitted table; positions for arrays. Names that are neither strings nor
        integers are converted to strings.
    columns : tuple of Encoding
        The columns in use, in the order of the table: all of `names` except those excluded by
        ``missing="drop-column"``.

    See Also
    --------
    Hypergraph.from_table : The hypergraph of a table.

    Notes
    -----
    Fitting costs one pass over the table and a partial sort of each binned column. Rows of data
    frames do not become Python objects; those of NumPy arrays of texts do.

    Examples
    --------
    >>> import numpy as np
    >>> from lowrankgcn import TableEncoder
    >>> encoder = TableEncoder.fit(np.array([["a", "x"], ["b", "x"]]))
    >>> encoder.n_hyperedges, encoder.transform(np.array([["b", "y"]])).tolist()
    (3, [[1, 3]])
    """

    names: tuple[Name, ...]
    columns: tuple[Encoding, ...]

    def __repr__(self) -> str:
        return f"TableEncoder({len(self.columns)} columns, {self.n_hyperedges} hyperedges)"

    @classmethod
    def fit(cls, frame: Any, **options: Any) -> TableEncoder:
        """Fit the hyperedges of a table; see :meth:`fit_transform` for the options."""
        return cls.fit_transform(frame, **options)[0]

    @classmethod
    def fit_transform(
        cls,
        frame: Any,
        *,
        bins: int | Mapping[Any, int | None] | None = _DEFAULT_BINS,
        binning: Binning = "quantile",
        missing: Missing = "ignore",
        min_count: int = 1,
    ) -> tuple[TableEncoder, NDArray[Any]]:
        """Fit the hyperedges of a table, and encode the table.

        Parameters
        ----------
        frame : DataFrame, ndarray of shape (n, p), structured array, or what pandas makes one from
            Strings, objects, categoricals and booleans give one hyperedge per value, in the order
            of the categories or sorted, numbers before strings. Numbers, dates and time differences
            are binned, also in columns of objects. Integers with at most `bins` distinct values
            are categories; other numbers with so few distinct values get one bin each. None, NaN,
            NaT and NA are missing; an empty string is a value.
        bins : int, mapping from column to int or None, or None
            Number of bins; 5 for columns missing in the mapping. None makes every distinct number
            a category; use it for integer codes.
        binning : {"quantile", "uniform"}
            Bins with equal numbers of rows, as far as ties allow, or of equal width. Bins include
            their upper edge; the outermost bins are unbounded. Empty bins give no hyperedge.
        missing : {"ignore", "edge", "drop-column"}
            Whether missing cells belong to no hyperedge, form one hyperedge per column, or exclude
            their column (as the paper does for mushrooms).
        min_count : int
            Values, bins and missing cells with fewer rows give no hyperedge.

        Returns
        -------
        encoder : TableEncoder
            The fitted encoder.
        codes : ndarray
            The result of :meth:`transform` for the table.

        Raises
        ------
        ValueError
            If the table has no row or no column, two columns of one name, complex or infinite
            numbers, or if an option is none of the above.
        """
        choice(binning, "binning", ("quantile", "uniform"))
        choice(missing, "missing", ("ignore", "edge", "drop-column"))
        positive_int(min_count, "min_count")
        table = Table.read(frame).expanded()
        if 0 in table.shape:
            raise invalid("frame", "at least one row and one column", f"shape {table.shape}")
        names = table.names
        most = _MOST_UNIFORM_BINS if binning == "uniform" else None

        def check(number: Any, argument: str) -> None:
            if number is not None:
                positive_int(number, argument, maximum=most)

        if not isinstance(bins, Mapping):
            check(bins, "bins")
            bins = dict.fromkeys(names, bins)
        bins_of = _by_column(bins, names, "bins", _DEFAULT_BINS, check)
        options: Any = {"binning": binning, "min_count": min_count, "missing": missing == "edge"}

        def fit_one(j: int, _: int) -> Encoding | None:
            cells, number = table[names[j]], bins_of[names[j]]
            if missing == "drop-column" and cells.missing.any():
                return None
            if cells.kind == "category" or number is None or is_few_integers(cells, number):
                number = None
            return Encoding.fit(cells, names[j], number, **options)

        fitted = map_chunks(fit_one, len(names), 1)
        encoder = cls(names, tuple(column for column in fitted if column is not None))
        return encoder, encoder.transform(table)

    def transform(self, frame: Any) -> NDArray[Any]:
        """Return the hyperedges of the rows of a table.

        Parameters
        ----------
        frame : as for :meth:`fit`
            A DataFrame (or structured array) is matched by column names in any order, an array
            without names by position. Unknown values belong to no hyperedge; numbers beyond the
            fitted range belong to the outermost bins.

        Returns
        -------
        ndarray of unsigned int, shape (n, len(columns)), Fortran order
            Hyperedge per row and column, ``n_hyperedges`` for none, in the smallest type that holds
            it.

        Raises
        ------
        ValueError
            If a column is missing, holds infinite numbers, or text where numbers were fitted.
        """
        table = self.match(frame)
        total = self.n_hyperedges
        dtype = np.min_scalar_type(total)
        codes = np.empty((table.n_rows, len(self.columns)), dtype=dtype, order="F")

        def encode(j: int, _: int) -> None:
            column = self.columns[j]
            ids = np.append(np.arange(self.offsets[j], self.offsets[j + 1]), total).astype(dtype)
            np.take(ids, column.encode(table[column.name]), out=codes[:, j], mode="clip")

        map_chunks(encode, len(self.columns), 1)
        return codes

    def match(self, frame: Any, argument: str = "frame") -> Table:
        """Read the columns in use of a table, with their names at fitting."""
        table = Table.read(frame, argument)
        if not {*self.used} <= {*table.names}:  # the fitted table was expanded, or has no names
            table = table.expanded()
        return table.matched(self.names, self.used, argument)

    @cached_property
    def used(self) -> tuple[Name, ...]:
        """Names of the columns in use."""
        return tuple(dict.fromkeys(column.name for column in self.columns))

    @cached_property
    def offsets(self) -> tuple[int, ...]:
        """Id of the first hyperedge of every column in use, followed by ``n_hyperedges``."""
        return tuple(np.cumsum([0, *(len(column.values) for column in self.columns)]).tolist())

    @property
    def n_hyperedges(self) -> int:
        """Number of hyperedges."""
        return self.offsets[-1]

    @cached_property
    def hyperedge_names(self) -> tuple[str, ...]:
        """Names "column=value" of all hyperedges, by id."""
        return tuple(f"{column.name}={label}" for column in self.columns for label in column.labels)

    @property
    def dropped(self) -> tuple[Name, ...]:
        """Columns excluded because of missing cells."""
        return tuple(name for name in self.names if name not in set(self.used))

    def hyperedge_weights(self, column_weights: Any = None) -> NDArray[np.float64]:
        """Return hyperedge weights, shape (n_hyperedges,), from one weight per column.

        Parameters
        ----------
        column_weights : mapping from column to float, sequence of floats, or None
            A mapping or labelled Series with weights of some columns (1 for the others), or a
            sequence with the weights of all columns of the fitted table.

        Raises
        ------
        ValueError
            If a column is unknown, the number of weights is wrong, or a weight is not positive.

        Examples
        --------
        >>> from lowrankgcn import TableEncoder
        >>> import numpy as np
        >>> encoder = TableEncoder.fit(np.array([["a", "x"], ["b", "x"]]))
        >>> encoder.hyperedge_weights({0: 2.0})
        array([2., 2., 1.])
        """
        labels = getattr(column_weights, "index", None)
        if isinstance(labels, pd.Index) and not isinstance(labels, pd.RangeIndex):
            column_weights = column_weights.to_dict()  # labelled, maybe in another order
        if not isinstance(column_weights, Mapping | None):
            if np.ndim(column_weights) != 1 or len(column_weights) != len(self.names):
                raise invalid("column_weights", f"{len(self.names)} weights", repr(column_weights))
            column_weights = dict(zip(self.names, column_weights, strict=True))
        check = partial(positive_float, maximum=_LARGEST_WEIGHT)
        weights = _by_column(column_weights or {}, self.names, "column_weights", 1.0, check)
        chosen = np.array([weights[column.name] for column in self.columns], np.float64)
        return np.repeat(chosen, np.diff(self.offsets))


def _by_column(
    values: Mapping[Any, Any], names: tuple[Name, ...], argument: str, default: Any, check: Any
) -> dict[Name, Any]:
    """Return the checked value of every column, `default` if it is not named."""
    named = {plain_name(name): value for name, value in values.items()}
    for name, value in named.items():
        if name not in names:
            raise invalid(argument, f"columns among {list(names)!r}", repr(name))
        check(value, f"{argument}[{name!r}]")
    return {name: named.get(name, default) for name in names}
