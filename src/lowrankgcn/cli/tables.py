"""Tables with labels, read and checked before the classifier is imported.

>>> column_names(["id,name", "width, cm"], ["id", "name", "width, cm"])
('id', 'name', 'width, cm')
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, final

import pandas as pd
import pyarrow as pa

from lowrankgcn._progress import report_progress
from lowrankgcn.cli.errors import exit_on_write_error
from lowrankgcn.cli.predictions import Predictions
from lowrankgcn.exceptions import prefix_errors
from lowrankgcn.files import Columns, TableFile, choose_columns, read_file, read_texts, write_file

_REASONS = {
    "identifier": "its values name the rows (--categorical or --numeric keeps it)",
    "constant": "all its values are equal",
    "empty": "all its cells are empty",
}


@final
@dataclass(frozen=True, eq=False)
class LabelledTable:
    """A table, its usable columns and its labels.

    Attributes
    ----------
    table : TableFile
    columns : Columns
    features : DataFrame
    labels : Series
        Texts; None in unlabelled rows.
    """

    table: TableFile
    columns: Columns
    features: pd.DataFrame
    labels: pd.Series

    @property
    def n_labelled(self) -> int:
        """Number of labelled rows."""
        return int(self.labels.notna().sum())

    @property
    def n_classes(self) -> int:
        """Number of different labels."""
        return int(self.labels.nunique())

    def predictions(self, classes: Any, shares: Any, labels: pd.Series | None) -> Predictions:
        """Make predictions in the type of the target column, if that is integer or boolean."""
        kind = self.table.frame[self.columns.target].dtype.pyarrow_dtype
        typed = pa.types.is_integer(kind) or pa.types.is_boolean(kind)
        return Predictions.from_labels(classes, shares, labels, str(kind) if typed else None)

    def ignored_notes(self) -> list[str]:
        """Return why columns are ignored that the user did not drop."""
        return [
            f"column {name!r} is left out: {_REASONS[reason]}"
            for name, reason in self.columns.left_out.items()
            if reason != "dropped"
        ]


def read_labelled_table(
    path: Path,
    target: str,
    drop: Sequence[str] | None,
    categorical: Sequence[str] | None,
    numeric: Sequence[str] | None,
    encoding: str | None,
    *,
    few_labels: bool = False,
) -> LabelledTable:
    """Read a table and choose its columns; options are those of the commands.

    Parameters
    ----------
    few_labels : bool
        Whether to allow fewer than two classes.

    Raises
    ------
    ValueError
        If the file is not a table, or the table has no usable columns or labels.
    OSError
        If the file cannot be read.
    """
    table = read_file(path, encoding=encoding)
    report_progress("reading the columns")
    frame = table.frame
    with prefix_errors(table.name):
        named = (column_names(given or (), frame.columns) for given in (drop, categorical, numeric))
        columns = choose_columns(frame, target, *named, decimal=table.decimal)
        labels = read_texts(frame, target) if few_labels else None
        if labels is None or labels.nunique() > 1:
            labels = columns.labels(frame)
        features = columns.features(frame, decimal=table.decimal)
    return LabelledTable(table, columns, features, labels)


def with_labels(data: LabelledTable, names: Iterable[str | None]) -> LabelledTable:
    """Write labels into the target column, in its type if they have it."""
    frame, target = data.table.frame, data.columns.target
    labels = pd.Series(list(names), index=frame.index, name=target, dtype=object)
    texts, kind = pa.array(labels.tolist(), pa.string()), frame[target].dtype.pyarrow_dtype
    try:
        column = texts.cast(kind)
    except pa.ArrowException:  # new classes
        column = texts
    frame = frame.assign(**{target: pd.array(column, dtype=pd.ArrowDtype(column.type))})
    return replace(data, table=replace(data.table, frame=frame), labels=labels)


def column_names(given: Iterable[str], columns: Iterable[str]) -> tuple[str, ...]:
    """Return the names in an option: columns of the table, or several separated by commas."""
    known = set(columns)
    names: list[str] = []
    for text in given:
        names += [text] if text in known else text.split(",")
    return tuple(dict.fromkeys(names))


def write_table(frame: pd.DataFrame, out: Path | None, source: TableFile) -> dict[str, str]:
    """Write a table in the format of its source; None prints it as text. Return the new file."""
    path = out or Path("-")
    format = "csv" if out is None and source.format == "parquet" else source.format
    with exit_on_write_error(path):
        write_file(frame, path, format, delimiter=source.delimiter)
    return {} if str(path) == "-" else {"written": str(path)}
