"""``lowrankgcn classify``: read, choose columns, validate, fit, write, tell."""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import pandas as pd
import typer
from rich.console import Console

from lowrankgcn._atomic import write_text
from lowrankgcn._progress import tell
from lowrankgcn.cli.answers import Answers, arrow_type
from lowrankgcn.cli.failures import bad_input, check_writable, noted_warnings, writing
from lowrankgcn.cli.progress import Stopwatch, progress
from lowrankgcn.cli.request import Request, column_names
from lowrankgcn.cli.telling import Told, line, validation_line
from lowrankgcn.estimators import GCNClassifier, Validation, cross_validate, save
from lowrankgcn.files import Columns, TableFile, choose_columns, read_file, write_file
from lowrankgcn.report.text import percent

__all__ = ["run"]

_PLURALS = {"number": "numbers", "date": "dates", "category": "categories"}


@final
@dataclass(frozen=True, eq=False)
class _Task:
    """A table that can be learned from."""

    table: TableFile
    columns: Columns
    features: pd.DataFrame
    labels: pd.Series
    binned: bool  # numbers with empty cells: they cannot be points

    def notes(self) -> list[str]:
        notes = [
            f"column {name!r} is left out: {_REASONS[reason]}"
            for name, reason in self.columns.left_out.items()
            if reason != "dropped"
        ]
        if self.binned:
            notes.append("numbers are binned, as some of their cells are empty")
        return notes


@final
@dataclass(frozen=True, eq=False)
class _Result:
    """All that is known in the end."""

    request: Request
    task: _Task
    classifier: GCNClassifier
    answers: Answers
    validation: Validation | None
    warnings: list[str]
    seconds: dict[str, float]


_REASONS = {
    "identifier": "its values name the rows (--categorical or --numeric keeps it)",
    "constant": "all its values are equal",
    "empty": "all its cells are empty",
}


def run(request: Request) -> None:
    """Classify a table as asked."""
    for option in ("out", "report", "save"):
        check_writable(getattr(request, option), f"--{option}")
    shown, watch = not request.quiet, Stopwatch()
    console = Console(
        highlight=False, quiet=request.quiet or request.as_json, stderr=request.rows_to_stdout
    )
    with progress("reading", shown=shown), watch.timing("reading"), bad_input():
        task = _read(request)
    classifier = GCNClassifier(
        graph="hypergraph" if task.binned else request.graph,
        architecture=request.architecture,
        filter=request.filter,
        rank=request.rank,
        bandwidth=request.bandwidth,
        random_state=request.seed,
    )
    validation = None
    if request.validate:
        with progress("cross-validation", shown=shown), watch.timing("validation"), bad_input():
            with noted_warnings():  # fitting has the same
                validation = cross_validate(classifier, task.features, task.labels)
        line(console, f"{'validation':<12}{validation_line(validation)}")
    with progress("fitting", shown=shown), bad_input(), noted_warnings() as warned:
        classifier.fit(task.features, task.labels)
    watch.seconds |= classifier.timings_
    if shown:
        for text in warned:
            typer.echo(f"warning: {text}", err=True)
    answers = Answers.of(
        classifier.classes_,
        classifier.label_distributions_,
        task.labels,
        arrow_type(task.table, request.target),
    )
    result = _Result(request, task, classifier, answers, validation, warned, watch.seconds)
    with progress("writing", shown=shown), watch.timing("writing"):
        files = _write(result)
    told = _told(result, files)
    if request.as_json:
        text = json.dumps(told.document(), ensure_ascii=False, indent=2, allow_nan=False)
        typer.echo(text, err=request.rows_to_stdout)
    else:
        told.show(console)


def _read(request: Request) -> _Task:
    table = read_file(request.table, encoding=request.encoding)
    tell("looking at the columns")
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
    return _Task(table, columns, features, labels, binned)


def _write(result: _Result) -> dict[str, str]:
    """Write what is asked for, and name it."""
    request, table = result.request, result.task.table
    files: dict[str, str] = {}
    if request.out is not None or request.rows_to_stdout:
        frame = result.answers.added_to(table.frame, each_class=request.probabilities)
        path, format = request.out or Path("-"), table.format
        if request.out is None:
            frame = frame[result.answers.asked]
            format = "csv" if format == "parquet" else format
        with writing(path):
            write_file(frame, path, format, delimiter=table.delimiter)
        files |= {} if str(path) == "-" else {"written": str(path)}
    if request.report is not None:
        tell("drawing the report")
        with writing(request.report, "--report"):
            write_text(request.report, _page(result))
        files["report"] = str(request.report)
    if request.save is not None:
        described = {
            "columns": result.task.columns.to_dict(),
            "type": arrow_type(table, request.target),
            "source": table.name,
        }
        with writing(request.save, "--save"), bad_input("--save"):
            save(result.classifier, request.save, description=described)
        files["model"] = str(request.save)
    return files


def _page(result: _Result) -> str:
    from lowrankgcn.report import Classification, render_classification

    classification = Classification.of(
        result.classifier,
        result.task.table.frame,
        result.task.labels,
        columns=result.task.columns,
        validation=result.validation,
        source=result.task.table.name,
        seconds=result.seconds,
        warnings=result.warnings,
        command=result.request.command,
        seed=result.request.seed,
    )
    return render_classification(classification)


def _told(result: _Result, files: dict[str, str]) -> Told:
    request, task, answers = result.request, result.task, result.answers
    classifier = result.classifier
    columns, n_asked = task.columns, int(answers.asked.sum())
    n_rows = len(answers.codes)
    kinds = Counter(columns.used.values())
    kinds_text = ", ".join(f"{count} of {_PLURALS[kind]}" for kind, count in kinds.items())
    shares = [
        f"{row['architecture']} {percent(row['share'])}"
        for row in classifier.selection_
        if row["share"] > 0
    ]
    facts = {
        "table": f"{task.table.name}: {n_rows} rows, {len(columns.used)} columns used "
        f"({kinds_text})",
        "target": f"{columns.target}: {n_rows - n_asked} rows labelled, {n_asked} to classify",
        "graph": repr(classifier.graph_),
        "networks": ", ".join(shares),
    }
    names = answers.names(task.table.frame.columns)
    notes = task.notes()
    if request.out is not None or request.rows_to_stdout:
        notes += [
            f"the table has a column {name!r}; the new one is {free!r}"
            for name, free in names.items()
            if free != name
        ]
    more: dict[str, Any] = {
        "table": task.table.name,
        "target": columns.target,
        "seed": request.seed,
        "rows": n_rows,
        "labelled": n_rows - n_asked,
        "columns": dict(columns.used),
        "left_out": dict(columns.left_out),
        "graph": repr(classifier.graph_),
        "selection": [_plain(row) for row in classifier.selection_],
        "validation": None if result.validation is None else dataclasses.asdict(result.validation),
    }
    return Told(facts, answers, notes, files, result.seconds, result.warnings, more)


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    """A row of the selection without NaN, which JSON does not have."""
    return {name: None if value != value else value for name, value in row.items()}
