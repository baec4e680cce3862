"""Tables: columns of cells by name.

>>> import pandas as pd
>>> table = Table.read(pd.DataFrame({"size": [1.5, None, 2.0], "kind": ["b", "a", "b"]}))
>>> table.names, table.shape
(('size', 'kind'), (3, 2))
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from threading import Lock
from typing import Any, final

import numpy as np
import pandas as pd
import scipy.sparse as sp
from numpy.typing import NDArray

from lowrankgcn._validation import invalid
from lowrankgcn.tables.cells import Cells, Name, plain_name

_EXPECTED = "a table with rows and columns. Reshape your data"  # as in scikit-learn


@final
class Table:
    """The rows of a table; every column is read at most once, when it is needed first.

    Parameters
    ----------
    columns : dict from name to Cells, or to a function that returns them
        Positions in place of names if the table has none.
    n_rows : int
    named : bool
        Whether the columns have names.
    empty : (n,) bool array, optional
        Rows without a cell; by default those whose cells are all missing.

    Attributes
    ----------
    names : tuple of str or int
    n_rows : int
    named : bool

    See Also
    --------
    Cells : One column.

    Examples
    --------
    >>> import pandas as pd
    >>> from lowrankgcn.tables import Table
    >>> table = Table.read(pd.DataFrame({"size": [1.5, None, 2.0], "kind": ["b", "a", "b"]}))
    >>> table["kind"].values, table.take([0, 2])["kind"].values
    (['b', 'a'], ['b'])
    """

    def __init__(
        self,
        columns: Mapping[Any, Cells | Callable[[], Cells]],
        n_rows: int,
        named: bool = True,
        empty: NDArray[np.bool_] | None = None,
    ) -> None:
        self._columns = dict(columns)
        self._locks = {name: Lock() for name in columns}
        self.names: tuple[Name, ...] = tuple(columns)
        self.n_rows, self.named, self._empty = n_rows, named, empty

    @classmethod
    def read(cls, frame: Any, argument: str = "frame") -> Table:
        """Return a table of any kind.

        Parameters
        ----------
        frame : DataFrame, array (n, p), structured array, mapping or Table
            Frames of pandas, or of polars, Arrow and others that narwhals supports.
        argument : str
            Name of the table in messages.

        Raises
        ------
        ValueError
            If `frame` is not a table, or two columns have the same name.
        """
        if isinstance(frame, Table):
            return frame
        columns, n_rows, named = _raw_columns(frame, argument)
        cells = {name: partial(Cells.read, column, name) for name, column in columns.items()}
        return cls(cells, n_rows, named)

    def __reduce__(self) -> Any:
        return Table, (dict(self.items()), self.n_rows, self.named, self._empty)

    def __len__(self) -> int:
        return self.n_rows

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return self.n_rows, len(self.names)

    def __getitem__(self, name: Name) -> Cells:
        with self._locks[name]:
            column = self._columns[name]
            self._columns[name] = cells = column if isinstance(column, Cells) else column()
        return cells

    def items(self) -> Iterator[tuple[Name, Cells]]:
        """Iterate over names and cells of the columns."""
        return ((name, self[name]) for name in self.names)

    def take(self, rows: Any) -> Table:
        """Return some rows, by an index array or a slice."""
        n_rows = len(range(self.n_rows)[rows] if isinstance(rows, slice) else rows)
        columns = {name: lambda name=name: self[name].take(rows) for name in self.names}
        empty = None if self._empty is None else self._empty[rows]
        return Table(columns, n_rows, self.named, empty)

    def with_column(self, name: Name, cells: Cells) -> Table:
        """Return the table with another column."""
        columns: dict[Name, Any] = {one: partial(self.__getitem__, one) for one in self.names}
        return Table({**columns, name: cells}, self.n_rows, self.named)

    @property
    def empty_rows(self) -> NDArray[np.bool_]:
        """Whether the rows have no cell that is present, shape (n,)."""
        empty = np.ones(self.n_rows, bool) if self._empty is None else self._empty
        for _, cells in self.items() if self._empty is None else ():
            empty &= cells.missing
        return empty

    def matched(self, names: Sequence[Name], used: Sequence[Name], argument: str) -> Table:
        """Return the columns `used` of a table with the columns `names`.

        Columns are matched by name, or by position if they have no names.
        """
        fitted_names: Sequence[Name] = self.names if self.named else names
        if len(fitted_names) != len(self.names):
            raise invalid(argument, f"{len(names)} columns", len(self.names))
        column_of = dict(zip(fitted_names, self.names, strict=True))
        absent = [name for name in used if name not in column_of]
        if absent:
            expected = f"column {', '.join(map(repr, absent))}"
            raise invalid(argument, expected, f"columns {list(column_of)}")
        columns = {name: partial(self.__getitem__, column_of[name]) for name in used}
        return Table(columns, self.n_rows, empty=self._empty)

    def expanded(self) -> Table:
        """Return the table with a column of numbers, such as "image[3]", for entries of vectors."""
        if all(cells.kind != "vector" for _, cells in self.items()):
            return self
        columns: dict[Name, Cells] = {}
        for name, cells in self.items():
            if cells.kind == "vector":
                entries = enumerate(cells.numbers.T)
                columns |= {f"{name}[{k}]": Cells(cells.missing, entry) for k, entry in entries}
            else:
                columns[name] = cells
        return Table(columns, self.n_rows, self.named, self._empty)

    def as_matrix(self) -> NDArray[np.float64]:
        """Return the numbers of all columns, NaN where missing, shape (n, p).

        Entries of vectors are columns.

        Raises
        ------
        ValueError
            If a column holds texts or dates.
        """
        table = self.expanded()
        matrix = np.empty(table.shape)
        for j, (name, cells) in enumerate(table.items()):
            matrix[:, j] = cells.as_floats(name)
        return matrix


def is_frame(value: Any) -> bool:
    """Return whether a value is a frame of pandas or of a library that narwhals supports."""
    if isinstance(value, Table | np.ndarray):
        return False
    import narwhals as nw  # slow to load, and not used for files

    return bool(nw.dependencies.is_into_dataframe(value))


def _raw_columns(frame: Any, argument: str) -> tuple[dict[Name, Any], int, bool]:
    """Return the columns of a table before they are read, its number of rows, and if it has names.

    Columns are pandas series, Arrow arrays or NumPy arrays.
    """
    if sp.issparse(frame):
        raise invalid(argument, "a dense table", f"a sparse {frame.format} matrix")
    if isinstance(frame, pd.Series):
        frame = frame.to_frame()
    named = isinstance(frame, (pd.DataFrame, Mapping))
    if not named:
        import narwhals as nw  # slow to load, and not used for files

        try:
            native = nw.from_native(frame, eager_only=True, pass_through=True)
        except nw.exceptions.DuplicateError as error:
            raise invalid(argument, "columns of different names", error) from None
        if isinstance(native, nw.DataFrame):
            return {s.name: s.to_arrow() for s in native.iter_columns()}, len(native), True
        if isinstance(frame, (list, tuple)):
            frame = np.array(frame, dtype=object)
        if hasattr(frame, "__array__") and not isinstance(frame, np.ma.MaskedArray):
            try:
                array = np.asarray(frame)
            except RuntimeError as error:  # a tensor that records gradients
                raise invalid(argument, "an array of finite numbers", error) from None
            fields = array.dtype.names
            if array.ndim != (2 if fields is None else 1):
                raise invalid(argument, _EXPECTED, f"an array of shape {array.shape}")
            columns: Any = enumerate(array.T) if fields is None else ((f, array[f]) for f in fields)
            return dict(columns), len(array), fields is not None
    try:
        frame = pd.DataFrame(frame)
    except (TypeError, ValueError):
        raise invalid(argument, _EXPECTED, type(frame).__name__) from None
    series: dict[Name, Any] = {}
    for j, name in enumerate(map(plain_name, frame.columns)):
        if name in series:
            raise invalid(argument, "columns of different names", f"several named {name!r}")
        series[name] = frame.iloc[:, j]
    return series, len(frame), named
