"""What the page shows of a table: description, map, single rows, lists of rows."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import Any, final

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from lowrankgcn._validation import invalid
from lowrankgcn.files import Columns
from lowrankgcn.files.row_matching import RowMatcher
from lowrankgcn.studio.engine import Engine
from lowrankgcn.studio.layout import has_own_positions, map_positions
from lowrankgcn.studio.session import Session, State
from lowrankgcn.tables import Table

_SAMPLE = 20  # rows by which a page notices that the table has changed
_SHORT, _LONG = 200, 200_000  # characters of a cell in a list of rows, and of one row


@final
class View:
    """Answers to the questions of the page.

    Parameters
    ----------
    name : str
        Of the table.
    frame : DataFrame
        The table as it was read.
    columns : Columns
    features : Table
        The columns in use.
    session : Session
    engine : Engine
    """

    def __init__(
        self,
        name: str,
        frame: pd.DataFrame,
        columns: Columns,
        features: Table,
        session: Session,
        engine: Engine,
    ) -> None:
        self.session, self._engine = session, engine
        self._rows, self._n = TableRows(frame.drop(columns=columns.target), features), len(frame)
        points = has_own_positions(features)
        axes = list(features.names) if points else ["direction 1", "direction 2"]
        self._positions = ThreadPoolExecutor(1).submit(map_positions, features, engine.prepared)
        some = np.linspace(0, self._n - 1, min(self._n, _SAMPLE)).astype(int).tolist()
        kinds = columns.left_out | columns.used
        self.description = {
            "name": name,
            "sample": "".join(RowMatcher(frame, columns.target).hashes(some)),
            "rows": self._n,
            "target": columns.target,
            "columns": [{"name": c, "kind": kinds[c]} for c in self._rows.names],
            "space": "own" if points else "embedding",
            "dimensions": len(axes),
            "axes": axes,
            "notes": session.notes,
        }
        self._order = lru_cache(2)(self._sorted)

    def positions(self) -> bytes:
        """Return the positions on the map as bytes, as soon as they are computed."""
        return self._positions.result().astype("<f4").tobytes()

    def row(self, row: int) -> dict[str, Any]:
        """Return cells, label, probabilities, reasons and labelled neighbours of a row."""
        if not 0 <= row < self._n:
            raise invalid("row", f"a row from 0 to {self._n - 1}", row)
        state = self.session.state
        (cells,) = self._rows.texts([row], _LONG)
        against, reasons = self._engine.explain(state.answer, row) or (None, [])
        return {
            "row": row,
            "cells": list(zip(self._rows.names, cells, strict=True)),
            "label": state.name(state.labels[row]),
            "probabilities": state.shares(row),
            "reasons": reasons,
            "against": against,
            "neighbours": [
                {"row": near, "label": state.name(state.labels[near]), "similarity": alike}
                for near, alike in self._engine.neighbours(state.answer, row)
            ],
        }

    def rows(
        self, sort: str, descending: bool, offset: int, count: int, search: str
    ) -> dict[str, Any]:
        """Return a part of the ordered list of rows; with a text, of those that contain it."""
        state = self.session.state
        order = self._order(sort, descending, search, state)
        part = order[offset : offset + count]
        rows = [
            {
                "row": row,
                "label": state.name(state.labels[row]),
                "prediction": state.name(state.predicted[row]),
                "probability": float(state.certainty[row]) if state.predicted[row] >= 0 else None,
                "cells": cells,
            }
            for row, cells in zip(part.tolist(), self._rows.texts(part, _SHORT), strict=True)
        ]
        return {"total": len(order), "rows": rows}

    def search(self, text: str) -> bytes:
        """Return one byte per row: whether a cell contains a text."""
        return self._rows.search(text).astype(np.uint8).tobytes()

    def _sorted(self, sort: str, descending: bool, search: str, state: State) -> NDArray[np.intp]:
        keys = self._keys(sort, state)
        order = np.argsort(-keys if descending else keys, kind="stable")  # NaN last in both
        return order[self._rows.search(search)[order]] if search else order

    def _keys(self, sort: str, state: State) -> NDArray[Any]:
        if sort == "row":
            return np.arange(self._n)
        if sort in ("uncertainty", "probability"):
            return state.certainty if sort == "probability" else -state.certainty
        if sort in ("label", "prediction"):
            places = np.append(pd.Series(state.classes, dtype=object).rank(), np.nan)
            return places[state.labels if sort == "label" else state.predicted]
        name = sort.removeprefix("column:")
        if sort == name or name not in self._rows.names:
            raise invalid("sort", "row, uncertainty, …, or column:NAME", repr(sort[:50]))
        return self._rows.keys(name)


@final
class TableRows:
    """The table as texts.

    Parameters
    ----------
    frame : DataFrame
        Columns of Arrow types, without the target.
    features : Table
        The columns in use, as numbers, dates and categories.
    """

    def __init__(self, frame: pd.DataFrame, features: Table) -> None:
        self._frame, self._features = frame, features
        self.names = list(frame.columns)

    def texts(self, rows: Any, longest: int) -> list[list[str | None]]:
        """Return the cells of rows, None where missing, shortened to `longest` characters."""
        shown = self._frame.iloc[rows]
        columns = [_strings(shown[name]).to_pylist() for name in self.names]
        return [[_shortened(cells[k], longest) for cells in columns] for k in range(len(rows))]

    def search(self, text: str) -> NDArray[np.bool_]:
        """Return which rows have a cell that contains a text, in any case."""
        matches = np.zeros(len(self._frame), bool)
        for name in self.names:
            cells = pc.match_substring(_strings(self._frame[name]), text, ignore_case=True)
            matches |= cells.fill_null(False).to_numpy(zero_copy_only=False)
        return matches

    def keys(self, name: str) -> NDArray[np.float64]:
        """Return numbers that order the rows by a column; missing cells are NaN."""
        if name not in self._features.names:  # not in use
            texts = _strings(self._frame[name]).to_pandas()
            return np.asarray(texts.rank(method="dense"), np.float64)
        cells = self._features[name]
        if cells.kind == "category":  # sorted by their texts
            return np.where(cells.missing, np.nan, cells.codes)
        return cells.as_floats(name, cells.unit)


def _strings(column: pd.Series) -> Any:
    return pa.array(column, from_pandas=True).cast(pa.large_string())


def _shortened(text: str | None, longest: int) -> str | None:
    return text if text is None or len(text) <= longest else text[: longest - 1] + "…"
