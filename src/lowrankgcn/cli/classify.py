"""``lowrankgcn classify``: predict the missing labels of a table."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import typer
from rich.console import Console

import lowrankgcn
from lowrankgcn.cli import errors, options, output
from lowrankgcn.cli.progress import Stopwatch, loading, progress
from lowrankgcn.exceptions import TORCH_MISSING, torch_installed

EXAMPLES = """Examples:

lowrankgcn classify cars.csv --target price --out classified.csv

lowrankgcn classify cars.csv --target price --report report.html --save cars.model

lowrankgcn classify cars.xlsx --target price --labels more-labels.xlsx --out classified.xlsx

lowrankgcn classify - --target price --drop id,name < cars.csv > only-the-new-rows.csv

lowrankgcn classify parquet-files/ --target price --out classified/ --workers 4
"""

_FEW_COLUMNS = 30  # the importance of more columns is computed on request only


def classify(
    context: typer.Context,
    table: options.TablesOrFolder,
    target: options.Target,
    out: options.OutOrFolder = None,
    overwrite: options.Overwrite = False,
    report: options.Report = None,
    save: options.Save = None,
    probabilities: options.Probabilities = False,
    level: options.Level = None,
    importance: options.Importance = None,
    labels: options.MoreLabels = None,
    key: options.Key = None,
    unlabelled: options.Unlabelled = None,
    class_: options.Classes = None,
    drop: options.Drop = None,
    categorical: options.Categorical = None,
    numeric: options.Numeric = None,
    text: options.Text = None,
    method: options.Method = options.MethodName.gp,
    class_weight: options.ClassWeight = None,
    graph: options.Graph = options.GraphName.auto,
    edges: options.Edges = None,
    rank: options.Rank = None,
    architecture: options.Architecture = None,
    filter: options.FilterName = None,
    bandwidth: options.Bandwidth = None,
    encoding: options.Encoding = None,
    delimiter: options.Delimiter = None,
    decimal: options.Decimal = None,
    scheduler: options.Scheduler = None,
    workers: options.Workers = None,
    seed: options.Seed = 0,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Predict the class of every row whose target cell is empty.

    Labelled rows train the model; the others are predicted. Identifiers (texts in which nearly
    every row has a different value, and numbers of the rows), constant and empty columns, and
    predictions of an earlier run are ignored.

    The output has two more columns: **prediction**, the class of the row (labelled rows keep their
    label), and **probability**, the probability of that class. Without **--out**, **--report**,
    **--save** and **--json**, the predicted rows are printed.

    **--labels** adds the labels of another file, such as the rows that **lowrankgcn suggest**
    wrote, labelled in a spreadsheet.

    A folder of Parquet files is read block by block with Dask; **--out** then names a new folder.
    """
    names = {"architecture": architecture and architecture.value}
    networks = names | {"filter": filter, "bandwidth": bandwidth}
    settings: dict[str, Any] = {"graph": graph.value, "rank": rank, **networks}
    settings = {name: value for name, value in settings.items() if value is not None}
    _check_method(method.value, [name for name in networks if name in settings], level)
    if class_weight is not None:
        of_method = {"gp": {"class_shares": "equal"}, "gcn": {"class_weight": "balanced"}}
        settings |= of_method[method.value]
    settings["random_state"] = seed
    if scheduler is not None and workers is not None:
        raise errors.option_error("--scheduler", "cannot be combined with --workers")
    if any(path.is_dir() for path in table):
        _check_folder(table, context)
        from lowrankgcn.cli.folder import classify_folder

        classify_folder(table[0], _classifier(method.value, settings), context.params)
        return
    for option in ("scheduler", "workers"):
        if context.params[option] is not None:
            raise errors.option_error(f"--{option}", "only available for folders of Parquet files")

    errors.check_edges(context, without=("save", "importance", "bandwidth"))
    inputs = errors.inputs(table, labels, edges)
    errors.check_outputs({"--out": out}, {} if overwrite else inputs, advice=errors.OVERWRITE)
    errors.check_outputs({"--report": report, "--save": save}, {**inputs, "--out": out})
    to_stdout = str(out) == "-" or not (out or report or save or as_json or quiet)
    console = Console(highlight=False, quiet=quiet or as_json, stderr=to_stdout)
    shown, watch = not quiet, Stopwatch()
    with loading(watch, shown=shown):
        from lowrankgcn.cli.tables import check_ending, read_labelled_table, write_table
    check_ending(out)
    with progress("reading", shown=shown), watch.timing("reading"), errors.exit_on_user_error():
        data = read_labelled_table(table, target, context.params)
        if save is None and data.labels.notna().all():
            advice = "" if edges else "; use --save to keep a model for other tables"
            raise ValueError(
                f"{data.table.name}: column {target!r}: there is a label in every row, nothing to "
                f"predict{advice}"
            )
    # Importing the classifier takes a second or more; an invalid table need not wait for it.
    with loading(watch, shown=shown):
        from lowrankgcn.cli.fitted import FittedTable

        classifier = _classifier(method.value, settings)
    if importance is None:
        importance = as_json or report is not None or data.features.shape[1] <= _FEW_COLUMNS
        importance &= edges is None
    result = FittedTable.fit(data, classifier, importance, watch, shown, level=level)
    files: dict[str, str] = {}
    with progress("writing", shown=shown), watch.timing("writing"):
        if out is not None or to_stdout:
            frame = result.predictions.added_to(data.table.frame, each_class=probabilities)
            frame = frame[result.predictions.unlabelled] if out is None else frame
            files |= write_table(frame, out, data.table)
        if report is not None:
            command = output.command_line(context, without=("as_json", "quiet"))
            result.write_report(report, command, watch.seconds)
            files["report"] = str(report)
        if save is not None:
            result.save(save)
            files["model"] = str(save)
    result.print_summary(console, files, watch, as_json=as_json)


def _check_method(method: str, given: list[str], level: float | None) -> None:
    """Check that the options belong to the method, and that torch is installed for networks."""
    if method == "gp" and given:
        raise errors.option_error(f"--{given[0]}", "only with --method gcn")
    if method == "gcn" and level is not None:
        raise errors.option_error("--level", "only with --method gp")
    if method == "gcn" and not torch_installed():
        raise errors.option_error("--method", TORCH_MISSING)


def _classifier(method: str, settings: dict[str, Any]) -> Any:
    kind: Any = lowrankgcn.SpectralGPClassifier if method == "gp" else lowrankgcn.GCNClassifier
    return kind(**settings)


def _check_folder(tables: list[Path], context: typer.Context) -> None:
    if len(tables) > 1:
        raise errors.option_error("TABLE", "expected one folder or several files")
    for option in ("report", "level", "labels", "edges", "categorical", "numeric", "text"):
        if context.params[option]:
            raise errors.option_error(f"--{option}", "not available for folders")
    for option in ("encoding", "delimiter", "decimal"):
        if context.params[option]:
            raise errors.option_error(f"--{option}", "only for text files, not for folders")
    if next(tables[0].glob("*.parquet"), None) is None:
        raise errors.option_error("TABLE", f"{tables[0]} is a folder without Parquet files")
    if find_spec("dask") is None or find_spec("distributed") is None:
        message = "a folder needs Dask: pip install 'lowrankgcn[distributed]'"
        raise errors.option_error("TABLE", message)
