"""Encoding of tables as hypergraphs: every value of every column is a hyperedge.

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
from lowrankgcn._validation import choice, invalid, positive_int
from lowrankgcn.graphs.cells import Name, Table, match_table, plain_name, read_cells, read_table
from lowrankgcn.graphs.columns import Binning, ColumnEncoding, fit_column
from lowrankgcn.graphs.matrices import weight_array

Missing = Literal["ignore", "edge", "drop-column"]

_DEFAULT_BINS = 5  # of a numeric column
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
    columns : tuple of ColumnEncoding
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
    columns: tuple[ColumnEncoding, ...]

    def __repr__(self) -> str:
        return f"TableEncoder({len(self.columns)} columns, {self.n_hyperedges} hyperedges)"

    def __post_init__(self) -> None:
        if len(set(self.names)) < len(self.names):
            raise invalid("names", "distinct names", repr(self.names)[:100])
        used = [column.name for column in self.columns]
        if used != [name for name in self.names if name in set(used)]:
            raise invalid("columns", f"columns among {self.names!r}, in this order", repr(used))

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
        table = read_table(frame)
        if not table.n_rows or not table.columns:
            shape = (table.n_rows, len(table.columns))
            raise invalid("frame", "at least one row and one column", f"shape {shape}")
        names = tuple(table.columns)
        most = _MOST_UNIFORM_BINS if binning == "uniform" else None
        bins_of = _bins_of_columns(bins, names, most)
        fit_cells = partial(
            fit_column, binning=binning, missing_edge=missing == "edge", min_count=min_count
        )

        def fit_one(start: int, stop: int) -> tuple[ColumnEncoding, NDArray[Any]] | None:
            name = names[start]
            cells = read_cells(table.columns[name], name)
            if missing == "drop-column" and cells.missing.any():
                return None
            return fit_cells(cells, name, bins=bins_of[name])

        fitted = [pair for pair in map_chunks(fit_one, len(names), 1) if pair is not None]
        encoder = cls(names, tuple(encoding for encoding, _ in fitted))
        return encoder, encoder._number([local for _, local in fitted], table.n_rows)

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

        def encode(start: int, stop: int) -> NDArray[Any]:
            encoding = self.columns[start]
            return encoding.encode(read_cells(table.columns[encoding.name], encoding.name))

        return self._number(map_chunks(encode, len(self.columns), 1), table.n_rows)

    def match(self, frame: Any) -> Table:
        """Read a table as :meth:`transform` does, with its columns named as at fitting."""
        used = [column.name for column in self.columns]
        return match_table(frame, self.names, used, "frame")

    def _number(self, local: list[NDArray[Any]], n_rows: int) -> NDArray[Any]:
        """Convert hyperedge numbers within columns to ids of the whole table."""
        total = self.n_hyperedges
        dtype = np.min_scalar_type(total)
        codes = np.empty((n_rows, len(local)), dtype=dtype, order="F")

        def number(j: int, _: int) -> None:
            ids = np.append(np.arange(self.offsets[j], self.offsets[j + 1]), total).astype(dtype)
            np.take(ids, local[j], out=codes[:, j], mode="clip")

        map_chunks(number, len(local), 1)
        return codes

    @cached_property
    def offsets(self) -> tuple[int, ...]:
        """Id of the first hyperedge of every column in use, followed by ``n_hyperedges``."""
        return tuple(np.cumsum([0, *(column.n_hyperedges for column in self.columns)]).tolist())

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
        used = {column.name for column in self.columns}
        return tuple(name for name in self.names if name not in used)

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
        if column_weights is None:
            return np.ones(self.n_hyperedges)
        if isinstance(column_weights, pd.Series) and not isinstance(
            column_weights.index, pd.RangeIndex
        ):
            column_weights = column_weights.to_dict()  # labelled, maybe in another order
        if isinstance(column_weights, Mapping):
            chosen = _by_column(column_weights, self.names, "column_weights", default=1.0)
            column_weights = list(chosen.values())
        weights = weight_array(column_weights, len(self.names), "column_weights")
        weight_of = dict(zip(self.names, weights.tolist(), strict=True))
        used = np.array([weight_of[column.name] for column in self.columns])
        return np.repeat(used, [column.n_hyperedges for column in self.columns])


def _bins_of_columns(
    bins: Any, names: tuple[Name, ...], most: int | None
) -> dict[Name, int | None]:
    chosen = dict.fromkeys(names, bins)
    if isinstance(bins, Mapping):
        chosen = _by_column(bins, names, "bins", default=_DEFAULT_BINS)
    for name, number in chosen.items():
        if number is not None:
            argument = f"bins[{name!r}]" if isinstance(bins, Mapping) else "bins"
            positive_int(number, argument, maximum=most)
    return chosen


def _by_column(
    values: Mapping[Any, Any], names: tuple[Name, ...], argument: str, *, default: Any
) -> dict[Name, Any]:
    """Return the value of every column, `default` if it is not given."""
    given = {plain_name(name): value for name, value in values.items()}
    for name in given:
        if name not in names:
            raise invalid(argument, f"columns among {list(names)!r}", repr(name))
    return {name: given.get(name, default) for name in names}
