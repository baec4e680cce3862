"""Tables with labels, read and checked before the classifier is imported.

>>> column_names(["id,name", "width, cm"], ["id", "name", "width, cm"])
('id', 'name', 'width, cm')
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import numpy as np
import pandas as pd
import pyarrow as pa

from lowrankgcn._progress import report_progress
from lowrankgcn.cli.annotators import Agreement, holds_opinions, read_opinions
from lowrankgcn.cli.class_names import merged_classes
from lowrankgcn.cli.earlier_runs import columns_of_earlier_run, earlier_note
from lowrankgcn.cli.large_table import draw_sample, open_large
from lowrankgcn.cli.options import FILES
from lowrankgcn.cli.predictions import Predictions
from lowrankgcn.cli.table_labels import (
    find_markers,
    label_notes,
    merged_labels,
    read_edges,
)
from lowrankgcn.cli.target_column import with_new_labels, with_target
from lowrankgcn.cli.terminal import one_line_errors
from lowrankgcn.exceptions import prefix_errors
from lowrankgcn.files import Columns, TableFile, choose_columns, read_file, read_texts, write_file
from lowrankgcn.files.row_matching import free_name
from lowrankgcn.files.writing import TableSink, open_table, output_format
from lowrankgcn.tables import Table
from lowrankgcn.tables.label_texts import check_classes
from lowrankgcn.tables.left_out import left_out_notes
from lowrankgcn.tables.useful_columns import keep_useful

if TYPE_CHECKING:
    from lowrankgcn.files.label_studio import Prediction
    from lowrankgcn.files.passes import BlockFile


@final
@dataclass(frozen=True, eq=False)
class LabelledTable:
    """A table, its usable columns and its labels.

    Attributes
    ----------
    table : TableFile
        Without columns of an earlier run; labels of other files are in its target column.
    columns : Columns
    features : Table
    labels : Series
        Texts; None in unlabelled rows.
    notes : list of str
        What the user should know about the file, its columns and labels.
    in_file : Series
        The labels of the table itself, without those of other files.
    markers : list of str
        Texts of the target that mark unlabelled rows.
    n_rows : int
    graph : AdjacencyGraph, Hypergraph or None
        Given edges or hyperedges of the rows.
    source : BlockFile or None
        The file of which `table` and the other attributes have a sample; the index of the sample
        has the numbers of its rows.
    agreement : Agreement or None
        How far the labels of several people agree.
    imported : dict from row to Prediction
        Predictions of another program, which are no labels.
    """

    table: TableFile
    columns: Columns
    features: Table
    labels: pd.Series
    notes: list[str]
    in_file: pd.Series
    markers: list[str]
    n_rows: int
    graph: Any = None
    source: BlockFile | None = None
    agreement: Agreement | None = None
    imported: Mapping[int, Prediction] = field(default_factory=dict)

    def with_texts(self) -> LabelledTable:
        """Return this table with the features of free text that were left for later."""
        if len(self.features.names) == len(self.columns.used):
            return self
        rows = self.table.rows()
        with prefix_errors(self.table.name):
            columns = self.columns.with_texts(rows)
            features = columns.features(rows, decimal=self.table.decimal)
        return replace(self, columns=columns, features=features)

    @property
    def rows(self) -> Any:
        """What classifiers are fitted to: the columns or, without any, the graph."""
        return self.graph if self.features.shape[1] == 0 else self.features

    @property
    def graph_option(self) -> dict[str, Any]:
        """The parameter of classifiers for a given graph."""
        return {} if self.graph is None or self.rows is self.graph else {"graph": self.graph}

    @property
    def type(self) -> str | None:
        """Arrow type of the target column if that is integer or boolean."""
        kind = self.table.frame[self.columns.target].dtype.pyarrow_dtype
        return str(kind) if pa.types.is_integer(kind) or pa.types.is_boolean(kind) else None

    @property
    def n_labelled(self) -> int:
        """Number of labelled rows in memory."""
        return int(self.labels.notna().sum())

    def predictions(self, classifier: Any, *, audit: bool = False) -> Predictions:
        """Return predictions in the type of the target column, and the audit of the labels."""
        shares = classifier.label_distributions_
        predictions = Predictions.from_labels(
            classifier.classes_, shares, self.labels, type=self.type
        )
        audited = audit and hasattr(classifier, "audit")
        return replace(predictions, audit=classifier.audit()) if audited else predictions

    def cells(self, rows: Any) -> list[dict[str, str | None]]:
        """Return the cells of some rows as texts, without columns that are left out."""
        names = self.columns.used or self.columns.left_out  # nodes of a graph without columns
        known = [name for name in names if name in self.table.frame]  # not vectors of another file
        chosen = self.table.frame[known].iloc[rows]
        texts = chosen.astype(object).map(str).astype(object).where(chosen.notna(), None)
        cells: list[dict[str, str | None]] = texts.to_dict("records")
        return cells

    def numbered(self, chosen: pd.DataFrame, rows: Any) -> pd.DataFrame:
        """Put row numbers, target and new columns before the other columns, for ``--labels``."""
        frame, target = self.table.frame, self.columns.target
        name = free_name("row", frame.columns)
        new = [column for column in chosen.columns if column not in frame.columns]
        others = [column for column in frame.columns if column != target]
        return chosen.assign(**{name: rows + 1})[[name, target, *new, *others]]

    def blocks(self) -> Iterable[pd.DataFrame]:
        """Return all rows: those in memory, or blocks of the file."""
        return [self.table.frame] if self.source is None else self.source.blocks()

    def labelled(self, block: pd.DataFrame) -> tuple[pd.DataFrame, pd.Series]:
        """Return the columns of a block to write, and the labels of its rows."""
        if self.source is None:
            return block, self.labels
        frame, target = self.table.frame, self.columns.target
        if target not in block:
            block = block.assign(**{target: pd.array([None] * len(block), frame[target].dtype)})
        block = block[frame.columns]
        before = read_texts(block, target)
        before = before.where(~before.isin(self.markers), None)
        labels, (places, rows) = before.copy(), self.sampled(block)
        labels.iloc[places] = self.labels.iloc[rows]
        if not self.labels.equals(self.in_file) or block[target].dtype != frame[target].dtype:
            block = with_new_labels(block, labels, before, frame[target].dtype.pyarrow_dtype)
        return block, labels

    def sampled(self, block: pd.DataFrame) -> tuple[Any, slice]:
        """Return the places of sampled rows in a block, and those in the sample."""
        numbers = self.table.frame.index.to_numpy()
        first = int(block.index[0]) if len(block) else 0
        start, stop = np.searchsorted(numbers, [first, first + len(block)])
        return numbers[start:stop] - first, slice(start, stop)


def read_table(options: Mapping[str, Any]) -> TableFile:
    """Read one table from one or several files, with the options of a command."""
    return read_file(options["table"], **{name: options.get(name) for name in FILES.split()})


def read_labelled_table(
    options: Mapping[str, Any],
    *,
    few_labels: bool = False,
    in_blocks: bool = False,
    texts_later: bool = False,
) -> LabelledTable:
    """Read a table, choose its columns and gather its labels.

    Parameters
    ----------
    options : mapping
        Values of ``table``, a list, ``target`` and perhaps ``edges``, ``hyperedges``,
        ``journal`` and the options :data:`TABLES`.
    few_labels : bool
        Whether to allow fewer than two classes, and a target that is not in the table yet.
    in_blocks : bool
        Whether to read only a sample of a large table.
    texts_later : bool
        Whether the features of free text are left for :meth:`LabelledTable.with_texts`.

    Raises
    ------
    ValueError
        If the file is not a table, or the table has no usable columns or labels.
    OSError
        If the file cannot be read.
    """
    target, key, edges = options["target"], options.get("key"), options.get("edges")
    hyper = edges is None and options.get("hyperedges") is not None
    edges = options["hyperedges"] if hyper else edges
    files = options.get("labels") or ()
    if key and not (files or edges or "journal" in options):
        raise ValueError("--key: only with --labels, --edges or --hyperedges")
    opinions = [path for path in files if holds_opinions(path)]
    label_files = [read_file(path) for path in files if path not in opinions]
    source = open_large(options, bool(opinions)) if in_blocks else None
    sampled = None if source is None else draw_sample(source, options, label_files, key)
    table = read_table(options) if sampled is None else sampled.table
    n_rows = len(table.frame) if sampled is None else sampled.n_rows
    report_progress("reading the columns")
    with prefix_errors(table.name):
        notes = list(table.notes)
        frame = with_target(table, target, few_labels or bool(files), notes)
        kinds = ("drop", "categorical", "numeric", "text")
        named: dict[str, Any] = {
            kind: column_names(options.get(kind) or (), frame.columns) for kind in kinds
        }
        as_classes = target in named["categorical"]  # whatever its values are
        named["categorical"] = tuple(n for n in named["categorical"] if n != target)
        kept = {target, *(name for names in named.values() for name in names)}
        if key and key in set(frame.columns) - kept:
            named["drop"] += (key,)
        earlier = columns_of_earlier_run(frame.drop(columns=[*kept, key], errors="ignore"))
        notes += earlier_note(earlier, "left out")
        frame = frame.drop(columns=earlier)
        rows = table.rows(frame)
        named |= {"decimal": table.decimal, "allow_no_features": True, "n_rows": n_rows}
        named["fit_texts"] = not texts_later
        columns = choose_columns(rows, target, **named)
        labels = read_texts(frame, target)
        with prefix_errors(f"column {target!r}"):
            counts = labels.value_counts(dropna=False) if sampled is None else sampled.counts
            markers, more = find_markers(counts, options.get("unlabelled"), options.get("class_"))
        in_table = labels = labels.where(~labels.isin(markers), None)
        place, about_labels = len(notes), more
    how = n_rows, bool(options.get("skip_unknown"))
    for file in label_files:
        labels, more = merged_labels(labels, frame, file, key, *how)
        notes += more
    by_position = bool(options.get("by_position"))
    people = read_opinions(opinions, frame, target, key, by_position)
    labels, more = people.added_to(labels)
    notes += more
    with prefix_errors(table.name):
        if files:
            frame = with_new_labels(frame, labels, in_table)
        merge, ignore_case = options.get("merge_classes"), bool(options.get("ignore_case"))
        labels, more = merged_classes(labels, merge, ignore_case)
        in_table = in_table if files else labels  # the cells stay as they are
        notes += more
        if not few_labels or labels.nunique() > 1:
            check_classes(labels, named=as_classes)
        known = np.flatnonzero(labels.notna())
        classes = labels.iloc[known].to_numpy(str)
        columns = keep_useful(columns, rows, known, classes, decimal=table.decimal, n_rows=n_rows)
        if edges is None:
            columns.check_used()
        read_now = columns.without_texts() if texts_later else columns
        features = read_now.features(rows, decimal=table.decimal)
    notes[place:place] = [*columns.notes, *left_out_notes(columns.left_out), *about_labels]
    whole = [name for name, kind in columns.used.items() if kind not in ("text", "vector")]
    notes += label_notes(labels, features, whole)
    graph = None
    if edges is not None:
        graph, more = read_edges(edges, frame, key, hyper=hyper)
        notes += more
    if sampled is not None:
        notes += sampled.notes(len(frame))
    more_about: Any = (in_table, markers, n_rows, graph, source, people.agreement, people.imported)
    return LabelledTable(replace(table, frame=frame), columns, features, labels, notes, *more_about)


def with_labels(data: LabelledTable, names: Iterable[str | None]) -> LabelledTable:
    """Replace the labels of a table."""
    frame = data.table.frame
    labels = pd.Series(list(names), frame.index, object, data.columns.target)
    frame = with_new_labels(frame, labels, data.labels)
    return replace(data, table=replace(data.table, frame=frame), labels=labels)


def column_names(texts: Iterable[str], columns: Iterable[str]) -> tuple[str, ...]:
    """Return the names in an option: columns of the table, or several separated by commas."""
    known = set(columns)
    names: list[str] = []
    for text in texts:
        names += [text] if text in known else text.split(",")
    return tuple(dict.fromkeys(names))


def check_ending(out: Path | None) -> None:
    """Exit with an error if the format of an output cannot be told from its name."""
    with one_line_errors("--out"):
        output_format(out or "-")


@contextmanager
def open_output(
    out: Path | None, source: TableFile, *, written: bool = True, safe: bool = False
) -> Iterator[TableSink | None]:
    """Open a table in the format of its name; None prints it as text.

    Other errors than those of writing must be reported inside.
    """
    if not written:
        yield None
        return
    path = out or Path("-")
    with one_line_errors("--out", writing=path), open_table(path, source, safe=safe) as sink:
        yield sink


def write_table(
    frame: pd.DataFrame, out: Path | None, source: TableFile, *, safe: bool = False
) -> dict[str, str]:
    """Write a table in the format of its name; None prints it as text. Return the new file."""
    path = out or Path("-")
    with one_line_errors("--out", writing=path):
        write_file(frame, path, source, safe=safe)
    return {} if str(path) == "-" else {"written": str(path)}
