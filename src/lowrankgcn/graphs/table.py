"""Tables as hypergraphs: every value of every column is the set of rows that have it.

The encoder remembers which values of a table became hyperedges, so that later rows find theirs:

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

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal, final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lowrankgcn._codec import saved
from lowrankgcn._parallel import map_chunks
from lowrankgcn._validation import choice, finite_array, finite_total, invalid, positive_int
from lowrankgcn.graphs.cells import Name, plain_name, read_cells, read_table
from lowrankgcn.graphs.columns import Binning, ColumnEncoding, fit_column

__all__ = ["DEFAULT_BINS", "TableEncoder"]

Missing = Literal["ignore", "edge", "drop-column"]

#: Bins of a column of numbers.
DEFAULT_BINS = 5
_MOST_UNIFORM_BINS = 2**20  # their edges are listed, however few hold a row


@saved
@final
@dataclass(frozen=True)
class TableEncoder:
    """A table's fitted hyperedges: which value or bin of which column is which hyperedge.

    Made by :meth:`fit` or :meth:`fit_transform`. The hyperedges of a column have consecutive ids,
    in the order of the columns; ``n_hyperedges`` stands for "no hyperedge".

    Attributes
    ----------
    names : tuple of str or int
        All columns at fitting; positions for arrays. Names that are neither text nor integers are
        turned into text.
    columns : tuple of ColumnEncoding
        The columns in use, in the order of the table: all of `names` unless left out by
        ``missing="drop-column"``.

    Notes
    -----
    Cost is one pass over the table, and a partial sort of each binned column when fitting. No
    Python object is made per row.

    Examples
    --------
    >>> import numpy as np
    >>> encoder = TableEncoder.fit(np.array([["a", "x"], ["b", "x"]]))
    >>> encoder.n_hyperedges, encoder.transform(np.array([["b", "y"]])).tolist()
    (3, [[1, 3]])
    """

    names: tuple[Name, ...]
    columns: tuple[ColumnEncoding, ...]

    def __post_init__(self) -> None:
        if len(set(self.names)) < len(self.names):
            raise invalid("names", "distinct names", repr(self.names)[:100])
        used = [column.name for column in self.columns]
        if used != [name for name in self.names if name in set(used)]:
            raise invalid("columns", f"columns among {self.names!r}, in this order", repr(used))

    @classmethod
    def fit(
        cls,
        frame: Any,
        *,
        bins: int | Mapping[Any, int | None] | None = DEFAULT_BINS,
        binning: Binning = "quantile",
        missing: Missing = "ignore",
        min_count: int = 1,
    ) -> TableEncoder:
        """Choose the hyperedges of a table.

        Parameters
        ----------
        frame : DataFrame, ndarray of shape (n, p), structured array, or what pandas makes one from
            Text, objects, categoricals and booleans give one hyperedge per value: in the order of
            the categories, else sorted, numbers before texts. Numbers, dates and time differences
            are binned, also where they come as objects; integers with at most `bins` distinct
            values keep them as categories, and so few other numbers get a quantile bin each. None,
            NaN, NaT and NA are missing, an empty text is a value.
        bins : int, mapping from column to int or None, or None
            Number of bins; columns that the mapping leaves out get 5. None makes every distinct
            number a category: this is how integer codes are given.
        binning : {"quantile", "uniform"}
            Bins of equally many rows, as far as equal numbers allow, or of equal width. Bins
            include their upper edge, the outermost ones everything beyond; an empty bin is no
            hyperedge.
        missing : {"ignore", "edge", "drop-column"}
            A missing cell is in no hyperedge; or all missing cells of a column form one; or columns
            with missing cells are left out (as for the paper's mushrooms).
        min_count : int
            Values, bins and missing cells with fewer rows give no hyperedge.

        Returns
        -------
        TableEncoder
            The fitted encoder.

        Raises
        ------
        ValueError
            If the table has no row or no column, two columns of one name, complex or infinite
            numbers, or if an option is none of the above.
        """
        options: dict[str, Any] = {"binning": binning, "missing": missing, "min_count": min_count}
        return cls.fit_transform(frame, bins=bins, **options)[0]

    @classmethod
    def fit_transform(
        cls,
        frame: Any,
        *,
        bins: int | Mapping[Any, int | None] | None = DEFAULT_BINS,
        binning: Binning = "quantile",
        missing: Missing = "ignore",
        min_count: int = 1,
    ) -> tuple[TableEncoder, NDArray[Any]]:
        """Choose the hyperedges of a table and return them with its codes, as :meth:`transform`."""
        choice(binning, "binning", ("quantile", "uniform"))
        choice(missing, "missing", ("ignore", "edge", "drop-column"))
        positive_int(min_count, "min_count")
        table = read_table(frame)
        if not table.n_rows or not table.columns:
            shape = (table.n_rows, len(table.columns))
            raise invalid("frame", "at least one row and one column", f"shape {shape}")
        most = _MOST_UNIFORM_BINS if binning == "uniform" else None
        bins_of = _bins_of_columns(bins, table.columns, most)

        names = tuple(table.columns)

        def fit_one(start: int, stop: int) -> tuple[ColumnEncoding, NDArray[Any]] | None:
            name = names[start]
            cells = read_cells(table.columns[name], name)
            if missing == "drop-column" and cells.any_missing():
                return None
            return fit_column(
                cells,
                name,
                bins=bins_of[name],
                binning=binning,
                missing_edge=missing == "edge",
                min_count=min_count,
            )

        fitted = [pair for pair in map_chunks(fit_one, len(names), 1) if pair is not None]
        encoder = cls(names, tuple(encoding for encoding, _ in fitted))
        return encoder, encoder._number([local for _, local in fitted], table.n_rows)

    def transform(self, frame: Any) -> NDArray[Any]:
        """Return the hyperedges of the rows of a table, which may be new ones.

        Parameters
        ----------
        frame : as for :meth:`fit`
            A DataFrame (or structured array) is matched by column names in any order, an array
            without names by position. Unknown values are in no hyperedge; numbers beyond those seen
            at fitting fall into the outermost bins.

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
        table = read_table(frame)
        if table.named:
            absent = [column.name for column in self.columns if column.name not in table.columns]
            if absent:
                listed = ", ".join(map(repr, absent))
                raise invalid("frame", f"column {listed}", f"columns {list(table.columns)}")
            columns = table.columns
        else:
            if len(table.columns) != len(self.names):
                raise invalid("frame", f"{len(self.names)} columns", len(table.columns))
            columns = dict(zip(self.names, table.columns.values(), strict=True))

        def encode(start: int, stop: int) -> NDArray[Any]:
            encoding = self.columns[start]
            return encoding.encode(read_cells(columns[encoding.name], encoding.name))

        return self._number(map_chunks(encode, len(self.columns), 1), table.n_rows)

    def _number(self, local: list[NDArray[Any]], n_rows: int) -> NDArray[Any]:
        """Turn numbers within columns into ids of the whole table."""
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
        """Id of the first hyperedge of every column in use, and ``n_hyperedges`` at the end."""
        return tuple(np.cumsum([0, *(column.n_hyperedges for column in self.columns)]).tolist())

    @property
    def n_hyperedges(self) -> int:
        """Number of hyperedges."""
        return self.offsets[-1]

    @cached_property
    def levels(self) -> dict[int, NDArray[np.intp]]:
        """What a row may have in each column in use: its hyperedges, or ``n_hyperedges``."""
        ends = pairwise(self.offsets)
        return {j: np.append(np.arange(*pair), self.n_hyperedges) for j, pair in enumerate(ends)}

    @cached_property
    def hyperedge_names(self) -> tuple[str, ...]:
        """The texts "column=value" of all hyperedges, by id."""
        return tuple(f"{column.name}={label}" for column in self.columns for label in column.labels)

    @property
    def dropped(self) -> tuple[Name, ...]:
        """Columns that were left out because of missing cells."""
        used = {column.name for column in self.columns}
        return tuple(name for name in self.names if name not in used)

    def hyperedge_weights(self, column_weights: Any = None) -> NDArray[np.float64]:
        """Return hyperedge weights, shape (n_hyperedges,), from one weight per column.

        Parameters
        ----------
        column_weights : mapping from column to float, sequence of floats, or None
            A mapping, or a Series labelled by columns, gives the weight of some columns, a sequence
            that of all columns of the table at fitting; the weight is 1 where not given.

        Raises
        ------
        ValueError
            If a column is unknown, the number of weights is wrong, or a weight is not positive.

        Examples
        --------
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
            given = {plain_name(name): weight for name, weight in column_weights.items()}
            _check_known(given, self.names, "column_weights")
            column_weights = [given.get(name, 1.0) for name in self.names]
        weights = finite_array(column_weights, "column_weights", ndim=1)
        if len(weights) != len(self.names):
            raise invalid("column_weights", f"{len(self.names)} weights", len(weights))
        if weights.min() <= 0:
            raise invalid("column_weights", "weights > 0", weights.min())
        finite_total(weights, "column_weights")
        weight_of = dict(zip(self.names, weights.tolist(), strict=True))
        used = np.array([weight_of[column.name] for column in self.columns])
        return np.repeat(used, [column.n_hyperedges for column in self.columns])


def _bins_of_columns(bins: Any, names: Iterable[Name], most: int | None) -> dict[Name, int | None]:
    names = tuple(names)
    if isinstance(bins, Mapping):
        given = {plain_name(name): number for name, number in bins.items()}
        _check_known(given, names, "bins")
    else:
        given = dict.fromkeys(names, bins)
    chosen = {name: given.get(name, DEFAULT_BINS) for name in names}
    for name, number in chosen.items():
        if number is not None:
            argument = f"bins[{name!r}]" if isinstance(bins, Mapping) else "bins"
            positive_int(number, argument, maximum=most)
    return chosen


def _check_known(given: Iterable[Name], names: Iterable[Name], argument: str) -> None:
    known = set(names)
    for name in given:
        if name not in known:
            raise invalid(argument, f"columns among {list(names)!r}", repr(name))
