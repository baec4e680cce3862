"""Cells of the table as texts, search, and order of the rows."""

from __future__ import annotations

from typing import Any, final

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

SHORT, LONG = 200, 200_000  # characters of a cell in the list of rows, and of one row


@final
class TableRows:
    """The table as texts.

    Parameters
    ----------
    frame : DataFrame
        Columns of Arrow types, without the target.
    features : DataFrame
        The columns in use, as numbers, dates and categories.
    """

    def __init__(self, frame: pd.DataFrame, features: pd.DataFrame) -> None:
        self._frame, self._features = frame, features
        self.names = list(frame.columns)

    def texts(self, rows: Any, longest: int) -> list[list[str | None]]:
        """Return the cells of rows, None where missing, shortened to `longest` characters."""
        columns = [_as_text(self._frame[name].iloc[rows], longest) for name in self.names]
        return [list(cells) for cells in zip(*columns, strict=True)] or [[] for _ in rows]

    def search(self, text: str) -> NDArray[np.bool_]:
        """Return which rows have a cell that contains a text, in any case."""
        found = np.zeros(len(self._frame), bool)
        for name in self.names:
            cells = _strings(self._frame[name])
            hit = pc.match_substring(cells, text, ignore_case=True).fill_null(False)
            found |= hit.to_numpy(zero_copy_only=False)
        return found

    def keys(self, name: str) -> NDArray[np.float64]:
        """Return numbers that order the rows by a column; missing cells are NaN."""
        column = self._features[name] if name in self._features else None
        if column is None:  # not in use
            texts = _strings(self._frame[name]).to_numpy(zero_copy_only=False)
            keys = pd.factorize(texts, sort=True)[0].astype(np.float64)
        elif isinstance(column.dtype, pd.CategoricalDtype):  # sorted by their texts
            keys = column.cat.codes.to_numpy(np.float64)
        else:
            numbers = (
                column.to_numpy("datetime64[us]").astype(np.int64)
                if (column.dtype.kind == "M")
                else column.to_numpy()
            )
            return np.where(column.isna(), np.nan, numbers.astype(np.float64))
        return np.where(keys < 0, np.nan, keys)


def _strings(column: pd.Series) -> Any:
    return pa.array(column, from_pandas=True).cast(pa.large_string())


def _as_text(column: pd.Series, longest: int) -> list[str | None]:
    cells = _strings(column).to_pylist()
    return [
        cell if cell is None or len(cell) <= longest else cell[: longest - 1] + "…"
        for cell in cells
    ]
