"""``lowrankgcn classify``: predict the missing labels of a table."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import typer
from rich.console import Console

from lowrankgcn._atomic import write_text
from lowrankgcn._codec import encode
from lowrankgcn._format import count, number, percent, plural
from lowrankgcn._progress import report_progress
from lowrankgcn.cli import errors, options, output
from lowrankgcn.cli.app import app, command_line
from lowrankgcn.cli.predictions import Predictions
from lowrankgcn.cli.progress import Stopwatch, progress
from lowrankgcn.cli.tables import LabelledTable, read_labelled_table

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
    out: options.OutOrFolder = None,
    report: options.Report = None,
    save: options.Save = None,
    validate: options.Validate = False,
    probabilities: options.Probabilities = False,
    drop: options.Drop = None,
    categorical: options.Categorical = None,
    numeric: options.Numeric = None,
    graph: options.Graph = options.GraphName.auto,
    architecture: options.Architecture = options.ArchitectureName.auto,
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

    Labelled rows train the model; the others are predicted. Identifiers (columns in which nearly
    every row has a different value) and constant or empty columns are ignored.

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
        raise errors.option_error("--scheduler", "cannot be combined with --workers")
    if table.is_dir():
        _check_folder(table, context)
        from lowrankgcn.cli.folder import classify_folder

        classify_folder(
            settings,
            table=table,
            target=target,
            drop=drop,
            out=out,
            save=save,
            probabilities=probabilities,
            scheduler=scheduler,
            workers=workers,
            as_json=as_json,
            quiet=quiet,
        )
        return
    for option in ("scheduler", "workers"):
        if context.params[option] is not None:
            raise errors.option_error(f"--{option}", "only available for folders of Parquet files")

    outputs = {"--out": out, "--report": report, "--save": save}
    errors.check_writable(outputs)
    errors.check_distinct({"--report": report, "--save": save}, {"the table": table})
    errors.check_distinct(outputs)
    to_stdout = str(out) == "-" or not (out or report or save or as_json or quiet)
    console = Console(highlight=False, quiet=quiet or as_json, stderr=to_stdout)
    shown, watch = not quiet, Stopwatch()
    with progress("reading", shown=shown), watch.timing("reading"), errors.exit_on_user_error():
        data = read_labelled_table(table, target, drop, categorical, numeric, encoding, graph.value)
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
            frame = result.predictions.added_to(data.table.frame, each_class=probabilities)
            frame = frame[result.predictions.unlabelled] if out is None else frame
            files |= output.write_table(frame, out, data.table)
        if report is not None:
            _write_report(result, report, command_line(context, without=("as_json", "quiet")))
            files["report"] = str(report)
        if save is not None:
            _save_model(result, save)
            files["model"] = str(save)
    summary = _summary(result, files, writes_rows=out is not None or to_stdout)
    summary.print(console, as_json=as_json, err=to_stdout)


def _check_folder(folder: Path, context: typer.Context) -> None:
    for option in ("report", "validate", "categorical", "numeric", "encoding"):
        if context.params[option]:
            raise errors.option_error(f"--{option}", "not available for folders")
    if next(folder.glob("*.parquet"), None) is None:
        raise errors.option_error("TABLE", f"{folder} is a folder without Parquet files")
    if find_spec("dask") is None or find_spec("distributed") is None:
        message = "a folder needs Dask: pip install lowrankgcn[distributed]"
        raise errors.option_error("TABLE", message)


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
            # The fit repeats the warnings.
            with errors.exit_on_user_error(), errors.collect_warnings():
                validation = estimate_accuracy(classifier, data.features, data.labels)
        output.print_facts(console, {"validation": _validation_line(validation)})
    with progress("fitting", shown=shown), errors.exit_on_user_error():
        with errors.collect_warnings() as warned:
            classifier.fit(data.features, data.labels)
    watch.seconds |= classifier.timings_
    output.print_warnings(warned, shown=shown)
    shares = classifier.label_distributions_
    predictions = data.predictions(classifier.classes_, shares, data.labels)
    return _Result(data, classifier, predictions, validation, warned, watch.seconds)


def _validation_line(validation: Validation) -> str:
    kept = validation.n_labelled - validation.n_rows
    note = f" ({kept} of classes with a single label were not hidden)" if kept else ""
    return (
        f"{percent(validation.accuracy)} of {validation.n_rows} hidden labels predicted correctly"
        f"{note}; 95 % interval {percent(validation.low)} to {percent(validation.high)}; largest "
        f"class {percent(validation.largest_class)}"
    )


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
    with errors.exit_on_write_error(path, "--report"):
        write_text(path, render_classification(classification))


def _save_model(result: _Result, path: Path) -> None:
    from lowrankgcn.estimators import save

    described = {
        "columns": encode(result.data.columns)[1],
        "type": result.predictions.type,
        "source": result.data.table.name,
    }
    with errors.exit_on_write_error(path, "--save"), errors.exit_on_user_error("--save"):
        save(result.classifier, path, description=described)


def _summary(result: _Result, files: dict[str, str], *, writes_rows: bool) -> output.RunSummary:
    from lowrankgcn.report.classification import without_nan

    data, classifier, predictions = result.data, result.classifier, result.predictions
    columns, n_rows, n_labelled = data.columns, len(data.labels), data.n_labelled
    kinds = Counter(_KINDS[kind] for kind in columns.used.values())
    kinds_text = ", ".join(f"{n} {kind}" for kind, n in kinds.items())
    graph = _graph_line(classifier)
    facts = {
        "table": f"{data.table.name}: {plural(n_rows, 'row')}, "
        f"{plural(len(columns.used), 'column')} used ({kinds_text})",
        "target": f"{columns.target}: {plural(n_labelled, 'row')} labelled, "
        f"{count(n_rows - n_labelled)} to classify",
        "graph": graph,
        "networks": output.networks_text(classifier.selection_),
    }
    notes = data.ignored_notes()
    if data.binned:
        notes.append("numbers are binned, because some cells are empty")
    if writes_rows:
        notes += predictions.renamed_notes(data.table.frame.columns)
    more: dict[str, Any] = {
        "table": data.table.name,
        "target": columns.target,
        "seed": classifier.random_state,
        "rows": n_rows,
        "labelled": n_labelled,
        "columns": dict(columns.used),
        "left_out": dict(columns.left_out),
        "graph": graph,
        "selection": [without_nan(row) for row in classifier.selection_],
        "validation": None if result.validation is None else asdict(result.validation),
    }
    return output.RunSummary(
        facts, predictions, notes, files, result.seconds, result.warnings, more
    )


def _graph_line(classifier: GCNClassifier) -> str:
    graph = classifier.graph_.description
    facts = [
        f"{number(value)} {name}"
        for name, value in graph.facts.items()
        if name != "rows" and not (name in ("recall", "separate parts") and value == 1)
    ]
    return f"{graph.name}: {', '.join(facts)}"
