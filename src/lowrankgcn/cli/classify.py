"""``lowrankgcn classify``: predict the missing labels of a table."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import typer
from rich.console import Console

from lowrankgcn._atomic import write_text
from lowrankgcn._codec import encode
from lowrankgcn._format import count, percent, plural
from lowrankgcn._progress import report_progress
from lowrankgcn.cli import errors, options, output
from lowrankgcn.cli.app import app, command_line
from lowrankgcn.cli.predictions import Predictions
from lowrankgcn.cli.progress import Stopwatch, progress
from lowrankgcn.cli.tables import LabelledTable, read_labelled_table

if TYPE_CHECKING:
    from lowrankgcn.report.evidence import Evidence

__all__ = ["classify"]

_EXAMPLES = """Examples:

lowrankgcn classify cars.csv --target price --out classified.csv

lowrankgcn classify cars.csv --target price --report report.html --save cars.model

lowrankgcn classify - --target price --drop id,name < cars.csv > only-the-new-rows.csv

lowrankgcn classify parquet-files/ --target price --out classified/ --workers 4
"""

_FEW_COLUMNS = 30  # the importance of more columns is computed on request only
_KINDS = {"number": "numeric", "date": "dates", "category": "categorical"}


@app.command(epilog=_EXAMPLES)
def classify(
    context: typer.Context,
    table: options.TableOrFolder,
    target: options.Target,
    out: options.OutOrFolder = None,
    report: options.Report = None,
    save: options.Save = None,
    probabilities: options.Probabilities = False,
    drop: options.Drop = None,
    categorical: options.Categorical = None,
    numeric: options.Numeric = None,
    method: options.Method = options.MethodName.gp,
    graph: options.Graph = options.GraphName.auto,
    rank: options.Rank = None,
    architecture: options.Architecture = None,
    filter: options.FilterName = None,
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
    architecture_name = None if architecture is None else architecture.value
    networks = {"architecture": architecture_name, "filter": filter, "bandwidth": bandwidth}
    settings: dict[str, Any] = {"graph": graph.value, "rank": rank, **networks}
    settings = {name: value for name, value in settings.items() if value is not None}
    _check_method(method.value, [name for name in networks if name in settings])
    settings["random_state"] = seed
    if scheduler is not None and workers is not None:
        raise errors.option_error("--scheduler", "cannot be combined with --workers")
    if table.is_dir():
        _check_folder(table, context)
        from lowrankgcn.cli.folder import classify_folder

        classify_folder(
            settings,
            factory=_factory(method.value),
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
        data = read_labelled_table(table, target, drop, categorical, numeric, encoding)
        if save is None and data.labels.notna().all():
            raise ValueError(
                f"{data.table.name}: column {target!r}: there is a label in every row, nothing to "
                "predict; use --save to keep a model for other tables"
            )
    # Importing the classifier takes a second or more; an invalid table need not wait for it.
    with progress("loading", shown=shown):
        classifier = _factory(method.value)(**settings)
    important = as_json or report is not None or len(data.columns.used) <= _FEW_COLUMNS
    result = _fit(data, classifier, important, watch, shown)
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


def _check_method(method: str, given: list[str]) -> None:
    """Check that options of networks have a network, and that torch is installed for it."""
    if method == "gp" and given:
        raise errors.option_error(f"--{given[0]}", "only with --method gcn")
    if method == "gcn" and find_spec("torch") is None:
        raise errors.option_error("--method", "gcn needs torch: pip install lowrankgcn[nn]")


def _factory(method: str) -> Any:
    import lowrankgcn

    return lowrankgcn.SpectralGPClassifier if method == "gp" else lowrankgcn.GCNClassifier


def _check_folder(folder: Path, context: typer.Context) -> None:
    for option in ("report", "categorical", "numeric", "encoding"):
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
    """A fitted table; networks have no evidence."""

    data: LabelledTable
    classifier: Any
    predictions: Predictions
    evidence: Evidence | None
    warnings: list[str]
    seconds: dict[str, float]


def _fit(
    data: LabelledTable, classifier: Any, important: bool, watch: Stopwatch, shown: bool
) -> _Result:
    with progress("fitting", shown=shown), errors.exit_on_user_error():
        with errors.collect_warnings() as warned:
            classifier.fit(data.features, data.labels)
    watch.seconds |= classifier.timings_
    output.print_warnings(warned, shown=shown)
    shares = classifier.label_distributions_
    predictions = data.predictions(classifier.classes_, shares, data.labels)
    from lowrankgcn.report.evidence import Evidence

    assert predictions.given is not None
    with progress("importance of the columns", shown=shown), watch.timing("importance"):
        evidence = Evidence.from_classifier(classifier, predictions.given, importance=important)
    return _Result(data, classifier, predictions, evidence, warned, watch.seconds)


def _write_report(result: _Result, path: Path, command: str) -> None:
    report_progress("drawing the report")
    from lowrankgcn.report.classification import Classification
    from lowrankgcn.report.pages import render_classification

    classification = Classification.from_classifier(
        result.classifier,
        result.data.table.frame,
        result.data.labels,
        columns=result.data.columns,
        evidence=result.evidence,
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
    from lowrankgcn.report.classification import describe_graphs

    data, predictions, evidence = result.data, result.predictions, result.evidence
    columns, n_rows, n_labelled = data.columns, len(data.labels), data.n_labelled
    kinds = Counter(_KINDS[kind] for kind in columns.used.values())
    kinds_text = ", ".join(f"{n} {kind}" for kind, n in kinds.items())
    described = describe_graphs(result.classifier).values()
    graphs = ", ".join(dict.fromkeys(graph.name for graph in described))
    facts = {
        "table": f"{data.table.name}: {plural(n_rows, 'row')}, "
        f"{plural(len(columns.used), 'column')} used ({kinds_text})",
        "target": f"{columns.target}: {plural(n_labelled, 'row')} labelled, "
        f"{count(n_rows - n_labelled)} to classify",
        "graph": graphs,
    }
    more: dict[str, Any] = {
        "table": data.table.name,
        "target": columns.target,
        "method": "gcn" if evidence is None else "gp",
        "seed": result.classifier.random_state,
        "rows": n_rows,
        "labelled": n_labelled,
        "columns": dict(columns.used),
        "left_out": dict(columns.left_out),
        "graph": graphs,
    }
    if evidence is not None:
        facts |= _evidence_facts(evidence)
        more |= {
            "loo_accuracy": evidence.accuracy,
            "loo_interval": evidence.interval,
            "loo_log_loss": evidence.log_loss,
            "largest_class": evidence.largest_class,
            "block_shares": evidence.block_shares,
            "column_importance": evidence.importance,
        }
    notes = data.ignored_notes()
    if writes_rows:
        notes += predictions.renamed_notes(data.table.frame.columns)
    scores = {} if evidence is None else evidence.scores
    return output.RunSummary(
        facts, predictions, notes, files, result.seconds, result.warnings, more, scores
    )


def _evidence_facts(evidence: Evidence) -> dict[str, str]:
    low, high = (percent(share, 0) for share in evidence.interval)
    rows = plural(len(evidence.codes), "labelled row")
    facts = {
        "accuracy": f"{percent(evidence.accuracy)} of {rows} predicted correctly without their own "
        f"label; 90 % interval {low} to {high}; largest class {percent(evidence.largest_class)}",
        "blocks": output.shares_text(evidence.kinds),
    }
    if evidence.importance:
        facts["columns"] = output.shares_text(evidence.importance)
    return facts
