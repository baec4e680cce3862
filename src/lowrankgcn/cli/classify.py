"""``lowrankgcn classify``: predict the missing labels of a table."""

from __future__ import annotations

import dataclasses
from collections import Counter
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import typer
from rich.console import Console

from lowrankgcn._atomic import write_text
from lowrankgcn._codec import encode
from lowrankgcn._format import count, number, percent, plural
from lowrankgcn._progress import report_progress
from lowrankgcn.cli import options
from lowrankgcn.cli.app import app, command_line
from lowrankgcn.cli.errors import (
    check_distinct,
    check_writable,
    collect_warnings,
    exit_on_user_error,
    exit_on_write_error,
)
from lowrankgcn.cli.output import RunSummary, print_facts, print_warnings
from lowrankgcn.cli.predictions import Predictions, arrow_type
from lowrankgcn.cli.progress import Stopwatch, progress
from lowrankgcn.cli.tables import LabelledTable, read_labelled_table
from lowrankgcn.files import write_file

if TYPE_CHECKING:
    from lowrankgcn.estimators import GCNClassifier, Validation

__all__ = ["classify"]

_EXAMPLES = """Examples:

lowrankgcn classify cars.csv --target price --out classified.csv

lowrankgcn classify cars.csv --target price --validate --report report.html --save cars.model

lowrankgcn classify - --target price --drop id,name < cars.csv > only-the-new-rows.csv

lowrankgcn classify parquet-files/ --target price --out classified/ --workers 4
"""

_KINDS = {"number": "numeric", "date": "dates", "category": "categorical"}


@app.command(epilog=_EXAMPLES)
def classify(
    context: typer.Context,
    table: options.TableOrFolder,
    target: options.Target,
    out: options.Out = None,
    report: options.Report = None,
    save: options.Save = None,
    validate: options.Validate = False,
    probabilities: options.Probabilities = False,
    drop: options.Drop = None,
    categorical: options.Categorical = None,
    numeric: options.Numeric = None,
    graph: options.Graph = options.GraphName.AUTO,
    architecture: options.Architecture = options.ArchitectureName.AUTO,
    filter: options.FilterName = "auto",
    rank: options.Rank = None,
    bandwidth: options.Bandwidth = None,
    encoding: options.Encoding = None,
    scheduler: options.Scheduler = None,
    workers: options.Workers = None,
    seed: options.Seed = 0,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Predict the class of every row whose target cell is empty.

    Labelled rows train the model; the others are predicted. Columns with a different value in
    every row, or with the same value in all rows, are ignored.

    The output has two more columns: **prediction**, the class of the row (labelled rows keep their
    label), and **probability**, the probability of that class. Without **--out**, **--report**,
    **--save** and **--json**, the predicted rows are printed as CSV.

    A folder of Parquet files is read block by block with Dask; **--out** then names a new folder.
    """
    settings: dict[str, Any] = {
        "graph": graph.value,
        "architecture": architecture.value,
        "filter": filter,
        "rank": "auto" if rank is None else rank,
        "bandwidth": "auto" if bandwidth is None else bandwidth,
        "random_state": seed,
    }
    if scheduler is not None and workers is not None:
        message = "--scheduler and --workers cannot be combined"
        raise typer.BadParameter(message, param_hint="--scheduler")
    if table.is_dir():
        files_only = {"report": report, "validate": validate, "categorical": categorical}
        for option, value in (files_only | {"numeric": numeric, "encoding": encoding}).items():
            if value:
                message = "this option is not available for folders"
                raise typer.BadParameter(message, param_hint=f"--{option}")
        _check_folder(table)
        from lowrankgcn.cli.folder import classify_folder

        classify_folder(
            table,
            target,
            settings,
            drop=drop or (),
            out=out,
            save=save,
            probabilities=probabilities,
            scheduler=scheduler,
            workers=workers,
            as_json=as_json,
            quiet=quiet,
        )
        return
    if scheduler is not None or workers is not None:
        option = "--scheduler" if workers is None else "--workers"
        raise typer.BadParameter("only for a folder of Parquet files", param_hint=option)

    check_writable({"--out": out, "--report": report, "--save": save}, dash=True)
    check_distinct({"--report": report, "--save": save}, {"the table": table})
    check_distinct({"--out": out, "--report": report, "--save": save})
    to_stdout = str(out) == "-" or not (out or report or save or as_json or quiet)
    console = Console(highlight=False, quiet=quiet or as_json, stderr=to_stdout)
    shown, watch = not quiet, Stopwatch()
    with progress("reading", shown=shown), watch.timing("reading"), exit_on_user_error():
        data = read_labelled_table(
            table,
            target,
            drop=drop,
            categorical=categorical,
            numeric=numeric,
            encoding=encoding,
            graph=graph.value,
        )
        if save is None and data.labels.notna().all():
            raise ValueError(
                f"{data.table.name}: column {target!r}: there is a label in every row, nothing to "
                "predict; use --save to keep a model for other tables"
            )
    # Importing torch takes seconds; an invalid table need not wait for it.
    with progress("loading torch", shown=shown):
        from lowrankgcn.estimators import GCNClassifier

    classifier = GCNClassifier(**(settings | {"graph": data.graph}))
    result = _fit(data, classifier, validate, watch, console, shown)
    files: dict[str, str] = {}
    with progress("writing", shown=shown), watch.timing("writing"):
        if out is not None or to_stdout:
            _write_rows(result, out, probabilities)
            files |= {} if out is None or str(out) == "-" else {"written": str(out)}
        if report is not None:
            _write_report(result, report, command_line(context, without=("as_json", "quiet")))
            files["report"] = str(report)
        if save is not None:
            _save_model(result, save)
            files["model"] = str(save)
    summary = _summary(result, files, writes_rows=out is not None or to_stdout)
    summary.print(console, as_json=as_json, err=to_stdout)


def _check_folder(folder: Path) -> None:
    message = ""
    if next(folder.glob("*.parquet"), None) is None:
        message = f"{folder} is a folder without Parquet files"
    elif find_spec("dask") is None or find_spec("distributed") is None:
        message = "a folder needs Dask: pip install lowrankgcn[distributed]"
    if message:
        raise typer.BadParameter(message, param_hint="TABLE")


@final
@dataclass(frozen=True, eq=False)
class _Result:
    """A fitted table."""

    data: LabelledTable
    classifier: GCNClassifier
    predictions: Predictions
    validation: Validation | None
    warnings: list[str]
    seconds: dict[str, float]


def _fit(
    data: LabelledTable,
    classifier: GCNClassifier,
    validate: bool,
    watch: Stopwatch,
    console: Console,
    shown: bool,
) -> _Result:
    from lowrankgcn.estimators import estimate_accuracy

    validation = None
    if validate:
        with progress("cross-validation", shown=shown), watch.timing("validation"):
            with exit_on_user_error(), collect_warnings():  # the fit repeats the warnings
                validation = estimate_accuracy(classifier, data.features, data.labels)
        print_facts(console, {"validation": _validation_line(validation)})
    with progress("fitting", shown=shown), exit_on_user_error(), collect_warnings() as warned:
        classifier.fit(data.features, data.labels)
    watch.seconds |= classifier.timings_
    print_warnings(warned, shown=shown)
    predictions = Predictions.from_labels(
        classifier.classes_,
        classifier.label_distributions_,
        data.labels,
        arrow_type(data.table, data.columns.target),
    )
    return _Result(data, classifier, predictions, validation, warned, watch.seconds)


def _validation_line(validation: Validation) -> str:
    kept = validation.n_labelled - validation.n_rows
    note = f" ({kept} of classes with a single label were not hidden)" if kept else ""
    return (
        f"{percent(validation.accuracy)} of {validation.n_rows} hidden labels predicted correctly"
        f"{note}; 95 % interval {percent(validation.low)} to {percent(validation.high)}; largest "
        f"class {percent(validation.largest_class)}"
    )


def _write_rows(result: _Result, out: Path | None, probabilities: bool) -> None:
    table = result.data.table
    frame = result.predictions.added_to(table.frame, each_class=probabilities)
    path, format = out or Path("-"), table.format
    if out is None:
        frame = frame[result.predictions.unlabelled]
        format = "csv" if format == "parquet" else format
    with exit_on_write_error(path):
        write_file(frame, path, format, delimiter=table.delimiter)


def _write_report(result: _Result, path: Path, command: str) -> None:
    report_progress("drawing the report")
    from lowrankgcn.report import Classification, render_classification

    classification = Classification.from_classifier(
        result.classifier,
        result.data.table.frame,
        result.data.labels,
        columns=result.data.columns,
        validation=result.validation,
        source=result.data.table.name,
        seconds=result.seconds,
        warnings=result.warnings,
        command=command,
        seed=result.classifier.random_state,
    )
    with exit_on_write_error(path, "--report"):
        write_text(path, render_classification(classification))


def _save_model(result: _Result, path: Path) -> None:
    from lowrankgcn.estimators import save

    described = {
        "columns": encode(result.data.columns)[1],
        "type": result.predictions.type,
        "source": result.data.table.name,
    }
    with exit_on_write_error(path, "--save"), exit_on_user_error("--save"):
        save(result.classifier, path, description=described)


def _summary(result: _Result, files: dict[str, str], *, writes_rows: bool) -> RunSummary:
    data, classifier, predictions = result.data, result.classifier, result.predictions
    columns, n_rows = data.columns, len(predictions.codes)
    n_asked = int(predictions.unlabelled.sum())
    kinds = Counter(columns.used.values())
    kinds_text = ", ".join(f"{n} {_KINDS[kind]}" for kind, n in kinds.items())
    shares: Counter[str] = Counter()
    for row in classifier.selection_:
        shares[row["architecture"]] += row["share"]
    networks = [f"{name} {percent(share)}" for name, share in shares.most_common() if share > 0]
    graph = _graph_line(classifier)
    facts = {
        "table": f"{data.table.name}: {plural(n_rows, 'row')}, "
        f"{plural(len(columns.used), 'column')} used ({kinds_text})",
        "target": f"{columns.target}: {plural(n_rows - n_asked, 'row')} labelled, "
        f"{count(n_asked)} to classify",
        "graph": graph,
        "networks": ", ".join(networks),
    }
    notes = data.ignored_notes()
    if data.binned:
        notes.append("numbers are binned, because some cells are empty")
    if writes_rows:
        notes += predictions.renamed_notes(data.table.frame.columns)
    from lowrankgcn.report.classification import without_nan

    more: dict[str, Any] = {
        "table": data.table.name,
        "target": columns.target,
        "seed": classifier.random_state,
        "rows": n_rows,
        "labelled": n_rows - n_asked,
        "columns": dict(columns.used),
        "left_out": dict(columns.left_out),
        "graph": graph,
        "selection": [without_nan(row) for row in classifier.selection_],
        "validation": None if result.validation is None else dataclasses.asdict(result.validation),
    }
    return RunSummary(facts, predictions, notes, files, result.seconds, result.warnings, more)


def _graph_line(classifier: GCNClassifier) -> str:
    note = classifier.graph_.description
    facts = {name: value for name, value in note.facts.items() if name != "rows"}
    if facts.get("separate parts") == 1:
        del facts["separate parts"]
    return f"{note.name}: {', '.join(f'{number(value)} {name}' for name, value in facts.items())}"
