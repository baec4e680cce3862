"""Tables that can be learned from, read and checked before torch is imported.

Torch takes seconds; a table that is none is told at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import pandas as pd

from lowrankgcn._progress import report_progress
from lowrankgcn.cli.failures import bad_input, check_apart, check_writable
from lowrankgcn.cli.progress import Stopwatch, progress
from lowrankgcn.cli.request import Request, column_names
from lowrankgcn.files import Columns, TableFile, choose_columns, read_file

__all__ = ["Task", "left_out_notes", "read_task"]

_REASONS = {
    "identifier": "its values name the rows (--categorical or --numeric keeps it)",
    "constant": "all its values are equal",
    "empty": "all its cells are empty",
}


def left_out_notes(columns: Columns) -> list[str]:
    """Why columns are left out that the user did not drop."""
    return [
        f"column {name!r} is left out: {_REASONS[reason]}"
        for name, reason in columns.left_out.items()
        if reason != "dropped"
    ]


@final
@dataclass(frozen=True, eq=False)
class Task:
    """A request, its table, and what can be learned from."""

    request: Request
    watch: Stopwatch
    table: TableFile
    columns: Columns
    features: pd.DataFrame
    labels: pd.Series
    binned: bool  # numbers with empty cells: they cannot be points

    def notes(self) -> list[str]:
        """What the user should know of the columns."""
        notes = left_out_notes(self.columns)
        if self.binned:
            notes.append("numbers are binned, as some of their cells are empty")
        return notes


def read_task(request: Request) -> Task:
    """Read the table of a request, and find out whether its files can be written.

    Raises
    ------
    typer.BadParameter
        If the table is none, or has nothing to learn from or nothing to classify.
    """
    for option in ("out", "report", "save"):
        check_writable(getattr(request, option), f"--{option}", dash=option == "out")
    # The rows may go into the table that they come from, nothing else may.
    check_apart({"--report": request.report, "--save": request.save}, {"the table": request.table})
    check_apart({"--out": request.out, "--report": request.report, "--save": request.save}, {})
    watch = Stopwatch()
    with progress("reading", shown=not request.quiet), watch.timing("reading"), bad_input():
        return _read(request, watch)


def _read(request: Request, watch: Stopwatch) -> Task:
    table = read_file(request.table, encoding=request.encoding)
    report_progress("looking at the columns")
    frame = table.frame
    try:
        columns = choose_columns(
            frame,
            request.target,
            column_names(request.drop, frame.columns),
            column_names(request.categorical, frame.columns),
            column_names(request.numeric, frame.columns),
            decimal=table.decimal,
        )
        labels = columns.labels(frame)
        if request.save is None and not labels.isna().any():
            raise ValueError(
                f"column {request.target!r}: expected empty cells in the rows to classify, got a "
                "label in every row (--save would keep a model for other tables)"
            )
        features = columns.features(frame, decimal=table.decimal)
    except ValueError as error:
        raise ValueError(f"{table.name}: {error}") from None
    numbers = set(columns.used.values()) == {"number"}
    binned = request.graph == "auto" and numbers and bool(features.isna().any(axis=None))
    return Task(request, watch, table, columns, features, labels, binned)
