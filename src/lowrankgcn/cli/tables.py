"""Tables with labels, read and checked before the classifier is imported.

>>> column_names(["id,name", "width, cm"], ["id", "name", "width, cm"])
('id', 'name', 'width, cm')
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import takewhile
from pathlib import Path
from typing import Any, final

import numpy as np
import pandas as pd
import pyarrow as pa

from lowrankgcn._progress import report_progress
from lowrankgcn.cli import labels as labelling
from lowrankgcn.cli.errors import exit_on_user_error, exit_on_write_error
from lowrankgcn.cli.predictions import Predictions
from lowrankgcn.exceptions import prefix_errors
from lowrankgcn.files import Columns, TableFile, choose_columns, read_file, read_texts, write_file
from lowrankgcn.files.cells import Cells
from lowrankgcn.files.columns import check_classes
from lowrankgcn.files.writing import output_format

_REASONS = {  # of one column, and of several
    "identifier": (
        "its values identify the rows (--categorical, --numeric or --text keeps it)",
        "their values identify the rows (--categorical, --numeric or --text keeps them)",
    ),
    "constant": ("all its values are equal", "all values of each are equal"),
    "empty": ("all its cells are empty", "all their cells are empty"),
}
_LISTED = 5  # columns in a note
#: Options about tables and their defaults.
TABLE_OPTIONS: dict[str, Any] = dict.fromkeys(
    "drop categorical numeric text encoding delimiter decimal unlabelled class_ labels key "
    "edges".split()
)


@final
@dataclass(frozen=True, eq=False)
class LabelledTable:
    """A table, its usable columns and its labels.

    Attributes
    ----------
    table : TableFile
        Without columns of an earlier run; labels of other files are in its target column.
    columns : Columns
    features : DataFrame
    labels : Series
        Texts; None in unlabelled rows.
    notes : list of str
        What the user should know about columns and labels.
    graph : AdjacencyGraph or None
        Given edges between the rows.
    """

    table: TableFile
    columns: Columns
    features: pd.DataFrame
    labels: pd.Series
    notes: list[str]
    graph: Any = None

    @property
    def rows(self) -> Any:
        """What classifiers are fitted to: the columns or, without any, the graph."""
        return self.graph if self.features.shape[1] == 0 else self.features

    @property
    def graph_option(self) -> dict[str, Any]:
        """The parameter of classifiers for a given graph."""
        return {} if self.graph is None or self.rows is self.graph else {"graph": self.graph}

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


def read_table(paths: list[Path], given: Mapping[str, Any]) -> TableFile:
    """Read one table from one or several files; `given` has the options of a command."""
    how = {name: given[name] for name in ("encoding", "delimiter", "decimal")}
    return read_file(paths[0] if len(paths) == 1 else paths, **how)


def read_labelled_table(
    paths: list[Path], target: str, given: Mapping[str, Any], *, few_labels: bool = False
) -> LabelledTable:
    """Read a table, choose its columns and gather its labels.

    Parameters
    ----------
    given : mapping
        Options of a command; those of :data:`TABLE_OPTIONS` are used.
    few_labels : bool
        Whether to allow fewer than two classes, and a target that is not in the table yet.

    Raises
    ------
    ValueError
        If the file is not a table, or the table has no usable columns or labels.
    OSError
        If the file cannot be read.
    """
    given = {**TABLE_OPTIONS, **given}
    if given["key"] and not (given["labels"] or given["edges"]):
        raise ValueError("--key: only with --labels or --edges")
    table = read_table(paths, given)
    report_progress("reading the columns")
    with prefix_errors(table.name):
        frame, notes = _with_target(table.frame, target, few_labels or bool(given["labels"]))
        kinds = ("drop", "categorical", "numeric", "text")
        named = {kind: column_names(given[kind] or (), frame.columns) for kind in kinds}
        kept = {name for names in named.values() for name in names}
        if given["key"] in set(frame.columns) - kept - {target}:
            named["drop"] += (given["key"],)
            kept.add(given["key"])
        own = own_columns(frame[[name for name in frame.columns if name not in kept]])
        if own:
            listed = ", ".join(map(repr, own))
            notes.append(f"columns {listed} of an earlier run are left out")
            frame = frame.drop(columns=own)
        columns = choose_columns(
            frame, target, **named, decimal=table.decimal, none=bool(given["edges"])
        )
        with prefix_errors(f"column {target!r}"):
            labels, found = labelling.without_markers(
                read_texts(frame, target), given["unlabelled"], given["class_"]
            )
        notes += columns.notes
        notes += _left_out_notes(columns)
        notes += found
    before = labels
    for path in given["labels"] or ():
        more = read_file(path)
        labels, found = labelling.merged_labels(labels, frame, more, given["key"])
        notes += found
    with prefix_errors(table.name):
        if given["labels"]:
            frame = _with_labels(frame, target, labels, before)
        if not few_labels or labels.nunique() > 1:
            check_classes(labels)
        features = columns.features(frame, decimal=table.decimal)
    whole = features[[name for name, kind in columns.used.items() if kind != "text"]]
    notes += labelling.spelling_notes(labels) + labelling.leak_notes(whole, labels)
    graph = None
    if given["edges"]:
        from lowrankgcn.cli.edges import read_edges  # loads SciPy

        graph = read_edges(given["edges"], frame, given["key"])
    return LabelledTable(replace(table, frame=frame), columns, features, labels, notes, graph)


def _left_out_notes(columns: Columns) -> list[str]:
    """Return why columns are left out that the user did not drop."""
    notes = []
    for reason, (one, several) in _REASONS.items():
        names = [repr(name) for name, why in columns.left_out.items() if why == reason]
        listed = ", ".join(names[:_LISTED]) + (f", … ({len(names)})" if names[_LISTED:] else "")
        if len(names) == 1:
            notes.append(f"column {listed} is left out: {one}")
        elif names:
            notes.append(f"columns {listed} are left out: {several}")
    return notes


def _with_target(frame: pd.DataFrame, target: str, new: bool) -> tuple[pd.DataFrame, list[str]]:
    """Add an empty target column to a table without it, unless the name is a misspelling."""
    near = difflib.get_close_matches(target.lower(), [name.lower() for name in frame.columns])
    if target in frame.columns or near:
        return frame, []
    if not new or not target.strip():
        listed = ", ".join(map(repr, frame.columns[:_LISTED]))
        raise ValueError(
            f"target: expected a column of the table, got {target!r} (columns: {listed}, …); a "
            "table without classes needs --labels, and lowrankgcn suggest chooses rows to label"
        )
    empty = pd.array([None] * len(frame), dtype=pd.ArrowDtype(pa.string()))
    return frame.assign(**{target: empty}), [f"the table has no column {target!r}; it is added"]


def _with_labels(
    frame: pd.DataFrame, target: str, labels: pd.Series, before: pd.Series
) -> pd.DataFrame:
    """Write labels into the target column, in its type if they have it; clear removed ones."""
    known = labels.notna()
    texts = pa.array(labels[known].tolist(), pa.string())
    column = frame[target].astype(object)
    kind = frame[target].dtype.pyarrow_dtype
    try:
        column[known] = texts.cast(kind).to_pylist()
    except pa.ArrowException:  # new classes
        column, kind = read_texts(frame, target), pa.string()
        column[known] = texts.to_pylist()
    column[before.notna() & labels.isna()] = None
    column = column.where(column.notna(), None)
    return frame.assign(**{target: pd.array(column.tolist(), dtype=pd.ArrowDtype(kind))})


def own_columns(frame: pd.DataFrame) -> list[str]:
    """Return the columns that an earlier run added to a table.

    A prediction is followed by its probability, and perhaps by probabilities of classes and by
    sets of classes.

    >>> own_columns(pd.DataFrame({"size": ["1"], "prediction": ["a"], "probability": ["0.9"]}))
    ['prediction', 'probability']
    """
    names = list(frame.columns)
    found: list[str] = []
    for place, name in enumerate(names):
        if re.fullmatch(r"prediction(_\d+)?", str(name)):
            own = list(takewhile(lambda other: _follows(frame[other]), names[place + 1 :]))
            found += [name, *own] if own else []
    return found


def _follows(column: pd.Series) -> bool:
    """Return whether a column has the name and the values of those after a prediction."""
    if re.fullmatch(r"classes_\d+(\.\d+)?", str(column.name)):
        return True
    if not re.fullmatch(r"probability(_.+)?", str(column.name), re.DOTALL):
        return False
    for decimal in ".,":
        cells = Cells.from_column(column, decimal)
        if cells.kind == "number":
            numbers = cells.as_numbers()
            return bool(((numbers >= 0) & (numbers <= 1) | np.isnan(numbers)).all())
    return not len(column)


def with_labels(data: LabelledTable, names: Iterable[str | None]) -> LabelledTable:
    """Replace the labels of a table."""
    frame, target = data.table.frame, data.columns.target
    labels = pd.Series(list(names), index=frame.index, name=target, dtype=object)
    frame = _with_labels(frame, target, labels, data.labels)
    return replace(data, table=replace(data.table, frame=frame), labels=labels)


def column_names(given: Iterable[str], columns: Iterable[str]) -> tuple[str, ...]:
    """Return the names in an option: columns of the table, or several separated by commas."""
    known = set(columns)
    names: list[str] = []
    for text in given:
        names += [text] if text in known else text.split(",")
    return tuple(dict.fromkeys(names))


def check_ending(out: Path | None) -> None:
    """Exit with an error if the format of an output cannot be told from its name."""
    if out is not None and str(out) != "-":
        with exit_on_user_error("--out"):
            output_format(out)


def write_table(frame: pd.DataFrame, out: Path | None, source: TableFile) -> dict[str, str]:
    """Write a table in the format of its name; None prints it as text. Return the new file."""
    path = out or Path("-")
    with exit_on_user_error("--out"), exit_on_write_error(path):
        write_file(frame, path, source)
    return {} if str(path) == "-" else {"written": str(path)}
