"""``lowrankgcn classify``: predict the missing labels of a table."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import typer

import lowrankgcn
from lowrankgcn.cli import errors, options, output
from lowrankgcn.cli.progress import Run
from lowrankgcn.exceptions import TORCH_MISSING, torch_installed

_FEW_COLUMNS = 30  # the importance of more columns is computed on request only


@options.added(options.TABLE_OPTIONS)
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
    method: options.Method = "gp",
    class_weight: options.ClassWeight = None,
    graph: options.Graph = "auto",
    edges: options.Edges = None,
    rank: options.Rank = None,
    architecture: options.Architecture = None,
    filter: options.FilterName = None,
    bandwidth: options.Bandwidth = None,
    scheduler: options.Scheduler = None,
    workers: options.Workers = None,
    seed: options.Seed = 0,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
    **reading: Any,
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

    Examples
    --------
    lowrankgcn classify cars.csv --target price --out classified.csv

    lowrankgcn classify cars.csv --target price --report report.html --save cars.model

    lowrankgcn classify cars.xlsx --target price --labels more-labels.xlsx --out classified.xlsx

    lowrankgcn classify - --target price --drop id,name < cars.csv > only-the-new-rows.csv

    lowrankgcn classify parquet-files/ --target price --out classified/ --workers 4
    """
    settings = _settings(context.params)
    if scheduler is not None and workers is not None:
        raise errors.option_error("--scheduler", "cannot be combined with --workers")
    if any(path.is_dir() for path in table):
        _check_folder(table, context.params)
        from lowrankgcn.cli.folder import classify_folder

        classify_folder(table[0], _classifier(method, settings), context.params)
        return
    message = "only available for folders of Parquet files"
    errors.refuse(context.params, "scheduler workers", message)
    if edges is not None:
        errors.refuse(context.params, "graph save importance bandwidth", "not with --edges")
    inputs = errors.inputs(table, reading["labels"], edges)
    errors.check_outputs({"--out": out}, {} if overwrite else inputs, advice=errors.OVERWRITE)
    errors.check_outputs({"--report": report, "--save": save}, {**inputs, "--out": out})
    to_stdout = str(out) == "-" or not (out or report or save or as_json or quiet)
    run = Run(quiet=quiet, as_json=as_json, rows_printed=to_stdout)
    with run.loading():
        from lowrankgcn.cli.labelled_table import check_ending, read_labelled_table, write_table
    check_ending(out)
    with run.step("reading"), errors.exit_on_user_error():
        data = read_labelled_table(table, target, reading, edges=edges)
        if save is None and data.labels.notna().all():
            advice = "" if edges else "; use --save to keep a model for other tables"
            raise ValueError(
                f"{data.table.name}: column {target!r}: there is a label in every row, nothing to "
                f"predict{advice}"
            )
    # Importing the classifier takes a second or more; an invalid table need not wait for it.
    with run.loading():
        from lowrankgcn.cli.fitted import FittedTable

        classifier = _classifier(method, settings)
    if importance is None:
        importance = as_json or report is not None or data.features.shape[1] <= _FEW_COLUMNS
        importance &= edges is None
    result = FittedTable.fit(data, classifier, importance, run, level=level)
    files: dict[str, str] = {}
    with run.step("writing"):
        if out is not None or to_stdout:
            frame = result.predictions.added_to(data.table.frame, each_class=probabilities)
            frame = frame[result.predictions.unlabelled] if out is None else frame
            files |= write_table(frame, out, data.table)
        if report is not None:
            command = output.command_line(context, without=("as_json", "quiet"))
            result.write_report(report, command, run.seconds)
            files["report"] = str(report)
        if save is not None:
            result.save(save)
            files["model"] = str(save)
    result.summary(files, rows_printed=to_stdout).print(run)


def _settings(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of the classifier, after a check that they belong to the method."""
    network = parameters["method"] == "gcn"
    if network and not torch_installed():
        raise errors.option_error("--method", TORCH_MISSING)
    for_others = "level" if network else "architecture filter bandwidth"
    errors.refuse(parameters, for_others, f"only with --method {'gp' if network else 'gcn'}")
    names = ("graph", "rank", "architecture", "filter", "bandwidth")
    settings = {name: parameters[name] for name in names if parameters[name] is not None}
    if parameters["class_weight"] is not None:
        settings |= {"class_weight": "balanced"} if network else {"class_shares": "equal"}
    return settings | {"random_state": parameters["seed"]}


def _classifier(method: str, settings: dict[str, Any]) -> Any:
    kind: Any = lowrankgcn.SpectralGPClassifier if method == "gp" else lowrankgcn.GCNClassifier
    return kind(**settings)


def _check_folder(tables: list[Path], parameters: Mapping[str, Any]) -> None:
    if len(tables) > 1:
        raise errors.option_error("TABLE", "expected one folder or several files")
    of_files = "report level labels edges categorical numeric text"
    errors.refuse(parameters, of_files, "not available for folders")
    errors.refuse(parameters, "encoding delimiter decimal", "only for text files, not for folders")
    if next(tables[0].glob("*.parquet"), None) is None:
        raise errors.option_error("TABLE", f"{tables[0]} is a folder without Parquet files")
    if find_spec("dask") is None or find_spec("distributed") is None:
        advice = "pip install 'lowrankgcn[distributed]'"
        raise errors.option_error("TABLE", f"a folder needs Dask: {advice}")
