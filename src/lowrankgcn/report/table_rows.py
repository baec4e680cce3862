"""Rows of the table to look at, with a few of their cells as short texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lowrankgcn.report.text import short

__all__ = ["RowNote", "cells_of", "row_notes"]


@final
@dataclass(frozen=True)
class RowNote:
    """A row and its answer.

    Attributes
    ----------
    number : int
        Counted from 1, the header not counted.
    cells : tuple of str
        Some of its cells.
    guesses : tuple of (class, probability)
        The most likely class, and the next one; none for a row that could not be placed.
    """

    number: int
    cells: tuple[str, ...]
    guesses: tuple[tuple[str, float], ...]

    def numbers(self) -> dict[str, Any]:
        """Plain values for JSON."""
        guesses = [{"class": name, "probability": value} for name, value in self.guesses]
        return {"row": self.number, "guesses": guesses}


def row_notes(
    rows: NDArray[np.intp],
    distributions: NDArray[np.float64],
    classes: Sequence[str],
    frame: Any,
    columns: Sequence[Any],
    *,
    placed: bool = True,
) -> tuple[RowNote, ...]:
    """Notes on some rows of a table.

    Parameters
    ----------
    rows : int array
        Positions in the table.
    distributions : (n, C) array
    classes : sequence of str
        Names of the C classes.
    frame : DataFrame or None
    columns : sequence of column names
        Whose cells are shown.
    placed : bool
        False for rows of which nothing is known.
    """
    notes = []
    for row in rows.tolist():
        likely = np.argsort(-distributions[row], kind="stable")[:2].tolist() if placed else []
        guesses = tuple((classes[code], float(distributions[row, code])) for code in likely)
        notes.append(RowNote(row + 1, cells_of(frame, row, columns), guesses))
    return tuple(notes)


def cells_of(frame: Any, row: int, columns: Sequence[Any]) -> tuple[str, ...]:
    """The cells of a row in some columns; a missing one is an empty text."""
    found = []
    for name in columns:
        value = frame[name].iloc[row]
        if pd.api.types.is_scalar(value) and pd.isna(value):
            found.append("")
        else:
            found.append(f"{value:.6g}" if isinstance(value, float) else short(str(value)))
    return tuple(found)
