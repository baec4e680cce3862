"""Tables: columns of cells by name.

>>> import pandas as pd
>>> table = Table.read(pd.DataFrame({"size": [1.5, None, 2.0], "kind": ["b", "a", "b"]}))
>>> table.names, table.shape, table["kind"].values
(('size', 'kind'), (3, 2), ['b', 'a'])
>>> table.take([0, 2])["kind"].values
['b']
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

import narwhals as nw
import numpy as np
import pandas as pd
import scipy.sparse as sp
from numpy.typing import NDArray

from lowrankgcn._parallel import map_chunks
from lowrankgcn._validation import invalid
from lowrankgcn.tables.cells import Cells, Name, plain_name


@final
@dataclass(frozen=True, eq=False)
class Table:
    """The rows of a table, with every column read once.

    Attributes
    ----------
    columns : dict from name to Cells
        Positions in place of names if the table has none.
    n_rows : int
    named : bool
        Whether the columns have names.
    """

    columns: dict[Name, Cells]
    n_rows: int
    named: bool = True

    @classmethod
    def read(
        cls, frame: Any, argument: str = "frame", *, wanted: Sequence[Name] | None = None
    ) -> Table:
        """Read a table of any kind.

        Parameters
        ----------
        frame : DataFrame, array (n, p), structured array, mapping or Table
            Frames of pandas, or of polars, Arrow and others that narwhals supports.
        argument : str
            Name of the table in messages.
        wanted : sequence of names, optional
            Columns to read, if they have names; all by default.

        Raises
        ------
        ValueError
            If `frame` is not a table, two columns have the same name, or a column cannot be read.
        """
        if isinstance(frame, Table):
            return frame
        columns, n_rows, named = raw_columns(frame, argument)
        skipped = set() if wanted is None or not named else set(columns).difference(wanted)
        chosen = [name for name in columns if name not in skipped]

        def read_one(j: int, _: int) -> Cells:
            return Cells.read(columns[chosen[j]], chosen[j])

        cells = map_chunks(read_one, len(chosen), 1)
        return cls(dict(zip(chosen, cells, strict=True)), n_rows, named)

    @property
    def names(self) -> tuple[Name, ...]:
        """Names of the columns."""
        return tuple(self.columns)

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return self.n_rows, len(self.columns)

    def __len__(self) -> int:
        return self.n_rows

    def __getitem__(self, name: Name) -> Cells:
        return self.columns[name]

    def take(self, rows: Any) -> Table:
        """Return some rows, by an index array, a mask or a slice."""
        columns = {name: cells.take(rows) for name, cells in self.columns.items()}
        taken = next(iter(columns.values()), None)
        n_rows = len(np.arange(self.n_rows)[rows] if taken is None else taken)
        return Table(columns, n_rows, self.named)

    def matched(self, names: Sequence[Name], used: Sequence[Name], argument: str) -> Table:
        """Return the columns `used` of a table with the columns `names`.

        Columns are matched by name, or by position if they have no names.
        """
        columns = self.columns
        if not self.named:
            if len(columns) != len(names):
                raise invalid(argument, f"{len(names)} columns", len(columns))
            columns = dict(zip(names, columns.values(), strict=True))
        absent = [name for name in used if name not in columns]
        if absent:
            expected = f"column {', '.join(map(repr, absent))}"
            raise invalid(argument, expected, f"columns {list(columns)}")
        return Table({name: columns[name] for name in used}, self.n_rows)

    def as_matrix(self) -> NDArray[np.float64]:
        """Return the numbers of all columns, NaN where missing, shape (n, p).

        Raises
        ------
        ValueError
            If a column holds texts or dates.
        """
        matrix = np.empty(self.shape)
        for j, (name, cells) in enumerate(self.columns.items()):
            matrix[:, j] = cells.as_floats(name)
        return matrix


def raw_columns(frame: Any, argument: str) -> tuple[dict[Name, Any], int, bool]:
    """Return the columns of a table before they are read, its number of rows, and if it has names.

    Columns are pandas series, Arrow arrays or NumPy arrays.
    """
    if sp.issparse(frame):
        raise invalid(argument, "a dense table", f"a sparse {frame.format} matrix")
    if isinstance(frame, pd.Series):
        frame = frame.to_frame()
    named = isinstance(frame, (pd.DataFrame, Mapping))
    if not named:
        try:
            native = nw.from_native(frame, eager_only=True, pass_through=True)
        except nw.exceptions.DuplicateError as error:
            raise invalid(argument, "unique column names", error) from None
        if isinstance(native, nw.DataFrame):
            return {s.name: s.to_arrow() for s in native.iter_columns()}, len(native), True
        if hasattr(frame, "__array__") and not isinstance(frame, np.ma.MaskedArray):
            return _array_columns(np.asarray(frame), argument)
    try:
        if isinstance(frame, Sequence) and frame and np.ndim(frame[0]) == 0:
            raise ValueError
        frame = pd.DataFrame(frame)
    except (TypeError, ValueError):
        raise invalid(argument, "a table with rows and columns", type(frame).__name__) from None
    names = [plain_name(name) for name in frame.columns]
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise invalid(argument, "unique column names", f"several columns named {repeated[0]!r}")
    return {name: frame.iloc[:, j] for j, name in enumerate(names)}, len(frame), named


def _array_columns(array: NDArray[Any], argument: str) -> tuple[dict[Name, Any], int, bool]:
    """Return the columns of a 2-D or structured array."""
    fields = array.dtype.names
    if array.ndim != (2 if fields is None else 1):
        expected = "a table with rows and columns. Reshape your data"
        raise invalid(argument, expected, f"an array of shape {array.shape}")
    if fields is not None:
        return {name: array[name] for name in fields}, len(array), True
    return dict(enumerate(array.T)), len(array), False
