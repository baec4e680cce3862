"""``lowrankgcn suggest``: read, learn from what is labelled, name the rows to label next."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import numpy as np
import pandas as pd
import typer
from numpy.typing import NDArray
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

import lowrankgcn
from lowrankgcn.cli.answers import Answers, arrow_type
from lowrankgcn.cli.failures import bad_input, check_apart, check_writable, noted_warnings, writing
from lowrankgcn.cli.progress import progress
from lowrankgcn.cli.request import column_names
from lowrankgcn.cli.tasks import left_out_notes
from lowrankgcn.cli.telling import line
from lowrankgcn.estimators import GCNClassifier, first_rows
from lowrankgcn.files import Columns, TableFile, choose_columns, read_file, write_file
from lowrankgcn.files.columns import read_texts
from lowrankgcn.report.text import percent, plural

__all__ = ["Request", "run"]

_SHOWN = 5  # columns on the terminal


@final
@dataclass(frozen=True)
class Request:
    """Options of ``lowrankgcn suggest``, see its help."""

    table: Path
    target: str
    count: int = 10
    out: Path | None = None
    drop: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    numeric: tuple[str, ...] = ()
    graph: str = "auto"
    encoding: str | None = None
    seed: int = 0
    as_json: bool = False
    quiet: bool = False


@final
@dataclass(frozen=True, eq=False)
class _Task:
    """A table, of which some rows may be labelled."""

    table: TableFile
    columns: Columns
    features: pd.DataFrame
    labels: pd.Series
    graph: str

    @property
    def n_classes(self) -> int:
        return int(self.labels.nunique())


@final
@dataclass(frozen=True, eq=False)
class _Found:
    """Suggested rows, and what the classifier says of all rows as far as there is one."""

    rows: NDArray[np.intp]
    answers: Answers | None
    warnings: tuple[str, ...]

    def guess(self, row: int) -> tuple[str, float] | None:
        """The class that a row seems to have, and its probability."""
        answers = self.answers
        if answers is None or answers.codes[row] < 0:
            return None
        return str(answers.classes[answers.codes[row]]), float(answers.probabilities[row])


def run(request: Request) -> None:
    """Suggest rows of a table."""
    check_writable(request.out, "--out", dash=True)
    check_apart({"--out": request.out}, {"the table": request.table})
    shown, to_stdout = not request.quiet, str(request.out) == "-"
    with progress("reading", shown=shown), bad_input():
        task = _read(request)
    _check(request, task)
    with progress("fitting", shown=shown), bad_input():
        found = _suggest(request, task)
    if shown:
        for text in found.warnings:
            typer.echo(f"warning: {text}", err=True)
    if request.out is not None:
        with writing(request.out):
            frame = _rows(task, found)
            write_file(frame, request.out, task.table.format, delimiter=task.table.delimiter)
    if request.as_json:
        text = json.dumps(_document(task, found), ensure_ascii=False, indent=2, allow_nan=False)
        typer.echo(text, err=to_stdout)
        return
    console = Console(highlight=False, quiet=request.quiet, stderr=to_stdout)
    _show(console, task, found)
    if request.out is not None and not to_stdout:
        line(console, f"written to {request.out}")


def _read(request: Request) -> _Task:
    table = read_file(request.table, encoding=request.encoding)
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
        labels = read_texts(frame, request.target)
        if labels.nunique() > 1:
            labels = columns.labels(frame)  # which also finds out whether they are classes
        features = columns.features(frame, decimal=table.decimal)
    except ValueError as error:
        raise ValueError(f"{table.name}: {error}") from None
    numbers = set(columns.used.values()) == {"number"}
    binned = request.graph == "auto" and numbers and bool(features.isna().any(axis=None))
    graph = "hypergraph" if binned else request.graph
    return _Task(table, columns, features, labels, graph)


def _check(request: Request, task: _Task) -> None:
    free = int(task.labels.isna().sum())
    if free < request.count:
        rows = f"{task.table.name} has {plural(free, 'row')} without a label"
        raise typer.BadParameter(f"{rows}, fewer than {request.count}", param_hint="-k")


def _suggest(request: Request, task: _Task) -> _Found:
    with noted_warnings() as warned:
        if task.n_classes < 2:
            labelled = np.flatnonzero(task.labels.notna())
            rows = first_rows(
                task.features,
                request.count,
                labelled=labelled,
                graph=task.graph,
                random_state=request.seed,
            )
            return _Found(rows, None, tuple(warned))
        classifier = GCNClassifier(graph=task.graph, random_state=request.seed)
        classifier.fit(task.features, task.labels)
        rows = classifier.suggest(request.count)
    answers = Answers.of(
        classifier.classes_,
        classifier.label_distributions_,
        None,
        arrow_type(task.table, request.target),
    )
    return _Found(rows, answers, tuple(warned))


def _rows(task: _Task, found: _Found) -> pd.DataFrame:
    """The rows as they were read, behind their numbers; prediction and probability at the end."""
    frame = task.table.frame
    if found.answers is not None:
        frame = found.answers.added_to(frame)
    name = "row"
    while name in frame.columns:
        name += "_"
    chosen = frame.iloc[found.rows]
    return pd.concat([pd.Series(found.rows + 1, chosen.index, name=name), chosen], axis=1)


def _document(task: _Task, found: _Found) -> dict[str, Any]:
    rows = []
    for row in found.rows.tolist():
        guess, probability = found.guess(row) or (None, None)
        values = {name: _text(task, row, name) for name in task.columns.used}
        one = {"row": row + 1, "prediction": guess, "probability": probability, "values": values}
        rows.append(one)
    return {
        "version": lowrankgcn.__version__,
        "table": task.table.name,
        "target": task.columns.target,
        "labelled": int(task.labels.notna().sum()),
        "classes": task.n_classes,
        "left_out": dict(task.columns.left_out),
        "rows": rows,
        "warnings": list(found.warnings),
    }


def _text(task: _Task, row: int, name: str) -> str | None:
    cell = task.table.frame[name].iloc[row]
    return None if pd.isna(cell) else str(cell)


def _show(console: Console, task: _Task, found: _Found) -> None:
    labelled = int(task.labels.notna().sum())
    labels = plural(labelled, "label") if labelled else "no labels"
    of = f"of {plural(task.n_classes, 'class', 'classes')}" if labelled else "yet"
    line(console, f"{task.table.name}: {plural(len(task.labels), 'row')}, {labels} {of}")
    for text in left_out_notes(task.columns):
        line(console, text)
    names = list(task.columns.used)[:_SHOWN]
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("row", justify="right", no_wrap=True)
    if found.answers is not None:
        table.add_column(f"{escape(task.columns.target)}?", overflow="fold")
        table.add_column("probability", justify="right", min_width=len("probability"))
    for name in names:
        table.add_column(escape(name), overflow="fold")
    for row in found.rows.tolist():
        cells = [str(row + 1)]
        guess = found.guess(row)
        if found.answers is not None:
            cells += ["–", "–"] if guess is None else [escape(guess[0]), percent(guess[1])]
        table.add_row(*cells, *(escape(_text(task, row, name) or "") for name in names))
    console.print(table)
