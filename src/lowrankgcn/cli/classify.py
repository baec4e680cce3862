"""``lowrankgcn classify``, once the table is read: validate, fit, write, tell."""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import typer
from rich.console import Console

from lowrankgcn._atomic import write_text
from lowrankgcn._progress import report_progress
from lowrankgcn.cli.answers import Answers, arrow_type
from lowrankgcn.cli.failures import bad_input, noted_warnings, writing
from lowrankgcn.cli.progress import progress
from lowrankgcn.cli.tasks import Task
from lowrankgcn.cli.telling import Told, line, validation_line
from lowrankgcn.estimators import GCNClassifier, Validation, estimate_accuracy, save
from lowrankgcn.files import write_file
from lowrankgcn.report import Classification, render_classification
from lowrankgcn.report.text import count, number, percent, plural

__all__ = ["run"]

_PLURALS = {"number": "numbers", "date": "dates", "category": "categories"}


@final
@dataclass(frozen=True, eq=False)
class _Result:
    """All that is known in the end."""

    task: Task
    classifier: GCNClassifier
    answers: Answers
    validation: Validation | None
    warnings: list[str]
    seconds: dict[str, float]


def run(task: Task) -> None:
    """Classify a table as asked."""
    request, watch = task.request, task.watch
    shown = not request.quiet
    console = Console(
        highlight=False, quiet=request.quiet or request.as_json, stderr=request.rows_to_stdout
    )
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
                validation = estimate_accuracy(classifier, task.features, task.labels)
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
    result = _Result(task, classifier, answers, validation, warned, watch.seconds)
    with progress("writing", shown=shown), watch.timing("writing"):
        files = _write(result)
    told = _told(result, files)
    if request.as_json:
        text = json.dumps(told.document(), ensure_ascii=False, indent=2, allow_nan=False)
        typer.echo(text, err=request.rows_to_stdout)
    else:
        told.show(console)


def _write(result: _Result) -> dict[str, str]:
    """Write what is asked for, and name it."""
    request, table = result.task.request, result.task.table
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
        report_progress("drawing the report")
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
    classification = Classification.of(
        result.classifier,
        result.task.table.frame,
        result.task.labels,
        columns=result.task.columns,
        validation=result.validation,
        source=result.task.table.name,
        seconds=result.seconds,
        warnings=result.warnings,
        command=result.task.request.command,
        seed=result.task.request.seed,
    )
    return render_classification(classification)


def _told(result: _Result, files: dict[str, str]) -> Told:
    task, answers = result.task, result.answers
    request = task.request
    classifier = result.classifier
    columns, n_asked = task.columns, int(answers.asked.sum())
    n_rows = len(answers.codes)
    kinds = Counter(columns.used.values())
    kinds_text = ", ".join(f"{n} of {_PLURALS[kind]}" for kind, n in kinds.items())
    shares: Counter[str] = Counter()
    for row in classifier.selection_:
        shares[row["architecture"]] += row["share"]
    networks = [f"{name} {percent(share)}" for name, share in shares.most_common() if share > 0]
    facts = {
        "table": f"{task.table.name}: {plural(n_rows, 'row')}, "
        f"{plural(len(columns.used), 'column')} used "
        f"({kinds_text})",
        "target": f"{columns.target}: {plural(n_rows - n_asked, 'row')} labelled, "
        f"{count(n_asked)} to classify",
        "graph": _graph_line(classifier),
        "networks": ", ".join(networks),
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
        "graph": _graph_line(classifier),
        "selection": [_plain(row) for row in classifier.selection_],
        "validation": None if result.validation is None else dataclasses.asdict(result.validation),
    }
    return Told(facts, answers, notes, files, result.seconds, result.warnings, more)


def _graph_line(classifier: GCNClassifier) -> str:
    note = classifier.graph_.description
    facts = {name: value for name, value in note.facts.items() if name != "rows"}
    if facts.get("separate parts") == 1:
        del facts["separate parts"]
    return f"{note.name}: {', '.join(f'{number(value)} {name}' for name, value in facts.items())}"


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    """A row of the selection without NaN, which JSON does not have."""
    return {name: None if value != value else value for name, value in row.items()}
