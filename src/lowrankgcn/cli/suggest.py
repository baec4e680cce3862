"""``lowrankgcn suggest``: choose the rows of a table to label next."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np
import pandas as pd
import typer
from numpy.typing import NDArray
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from lowrankgcn._format import percent, plural
from lowrankgcn.cli import options
from lowrankgcn.cli.app import app
from lowrankgcn.cli.errors import (
    check_distinct,
    check_writable,
    collect_warnings,
    exit_on_user_error,
    exit_on_write_error,
)
from lowrankgcn.cli.output import print_json, print_line, print_warnings
from lowrankgcn.cli.predictions import Predictions, arrow_type
from lowrankgcn.cli.progress import progress
from lowrankgcn.cli.tables import LabelledTable, read_labelled_table
from lowrankgcn.files import write_file

__all__ = ["suggest"]

_EXAMPLES = """Examples:

lowrankgcn suggest cars.csv --target price

lowrankgcn suggest cars.csv --target price -k 20 --out to-label.csv
"""

_SHOWN = 5  # columns on the terminal


@app.command(epilog=_EXAMPLES)
def suggest(
    table: options.TableArgument,
    target: options.Target,
    count: options.Count = 10,
    out: options.OutRows = None,
    drop: options.Drop = None,
    categorical: options.Categorical = None,
    numeric: options.Numeric = None,
    graph: options.Graph = options.GraphName.AUTO,
    encoding: options.Encoding = None,
    seed: options.Seed = 0,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Suggest rows to label next, the most informative first.

    A label of these rows reduces the uncertainty of the other rows most: they are spread over the
    table and are not outliers. The table may have no labels yet. Rows are counted from 1, without
    the header.
    """
    check_writable({"--out": out}, dash=True)
    check_distinct({"--out": out}, {"the table": table})
    shown, to_stdout = not quiet, str(out) == "-"
    with progress("reading", shown=shown), exit_on_user_error():
        data = read_labelled_table(
            table,
            target,
            drop=drop,
            categorical=categorical,
            numeric=numeric,
            encoding=encoding,
            graph=graph.value,
            few_labels=True,
        )
    free = len(data.labels) - data.n_labelled
    if free < count:
        message = f"{data.table.name} has {plural(free, 'row')} without a label"
        raise typer.BadParameter(f"{message}, fewer than {count}", param_hint="-k")
    with progress("fitting", shown=shown), exit_on_user_error():
        found = _suggest(data, count, seed)
    print_warnings(found.warnings, shown=shown)
    if out is not None:
        with exit_on_write_error(out):
            write_file(_rows(data, found), out, data.table.format, delimiter=data.table.delimiter)
    if as_json:
        print_json(_document(data, found), err=to_stdout)
        return
    console = Console(highlight=False, quiet=quiet, stderr=to_stdout)
    _show(console, data, found)
    if out is not None and not to_stdout:
        print_line(console, f"written to {out}")


@final
@dataclass(frozen=True, eq=False)
class _Suggestions:
    """Suggested rows and, with two or more classes, predictions for all rows."""

    rows: NDArray[np.intp]
    predictions: Predictions | None
    warnings: list[str]

    def guess(self, row: int) -> tuple[str | None, float | None]:
        """Return the predicted class of a row and its probability."""
        found = self.predictions
        if found is None or found.codes[row] < 0:
            return None, None
        return str(found.classes[found.codes[row]]), float(found.probabilities[row])


def _suggest(data: LabelledTable, count: int, seed: int) -> _Suggestions:
    from lowrankgcn.estimators import GCNClassifier, first_rows

    with collect_warnings() as warned:
        if data.n_classes < 2:
            rows = first_rows(
                data.features,
                count,
                labelled=np.flatnonzero(data.labels.notna()),
                graph=data.graph,
                random_state=seed,
            )
            return _Suggestions(rows, None, warned)
        classifier = GCNClassifier(graph=data.graph, random_state=seed)
        classifier.fit(data.features, data.labels)
        rows = classifier.suggest(count)
    predictions = Predictions.from_labels(
        classifier.classes_,
        classifier.label_distributions_,
        None,
        arrow_type(data.table, data.columns.target),
    )
    return _Suggestions(rows, predictions, warned)


def _rows(data: LabelledTable, found: _Suggestions) -> pd.DataFrame:
    """Return the rows as they were read, after their numbers and before predictions."""
    frame = data.table.frame
    if found.predictions is not None:
        frame = found.predictions.added_to(frame)
    name = "row"
    while name in frame.columns:
        name += "_"
    chosen = frame.iloc[found.rows]
    return pd.concat([pd.Series(found.rows + 1, chosen.index, name=name), chosen], axis=1)


def _document(data: LabelledTable, found: _Suggestions) -> dict[str, Any]:
    rows = []
    for row in found.rows.tolist():
        guess, probability = found.guess(row)
        values = {name: _text(data, row, name) for name in data.columns.used}
        one = {"row": row + 1, "prediction": guess, "probability": probability, "values": values}
        rows.append(one)
    return {
        "table": data.table.name,
        "target": data.columns.target,
        "labelled": data.n_labelled,
        "classes": data.n_classes,
        "left_out": dict(data.columns.left_out),
        "rows": rows,
        "warnings": found.warnings,
    }


def _text(data: LabelledTable, row: int, name: str) -> str | None:
    cell = data.table.frame[name].iloc[row]
    return None if pd.isna(cell) else str(cell)


def _show(console: Console, data: LabelledTable, found: _Suggestions) -> None:
    labels = "no labels yet"
    if data.n_labelled:
        classes = plural(data.n_classes, "class", "classes")
        labels = f"{plural(data.n_labelled, 'label')} of {classes}"
    print_line(console, f"{data.table.name}: {plural(len(data.labels), 'row')}, {labels}")
    for text in data.ignored_notes():
        print_line(console, text)
    names = list(data.columns.used)[:_SHOWN]
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("row", justify="right", no_wrap=True)
    if found.predictions is not None:
        table.add_column(f"{escape(data.columns.target)}?", overflow="fold")
        table.add_column("probability", justify="right", min_width=len("probability"))
    for name in names:
        table.add_column(escape(name), overflow="fold")
    for row in found.rows.tolist():
        cells = [str(row + 1)]
        if found.predictions is not None:
            guess, probability = found.guess(row)
            cells += ["–" if guess is None else escape(guess)]
            cells += ["–" if probability is None else percent(probability)]
        table.add_row(*cells, *(escape(_text(data, row, name) or "") for name in names))
    console.print(table)
