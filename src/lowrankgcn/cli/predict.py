"""``lowrankgcn predict``: classify another table with a saved model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from rich.console import Console

from lowrankgcn._format import percent, plural
from lowrankgcn.cli import options
from lowrankgcn.cli.app import app
from lowrankgcn.cli.errors import (
    check_distinct,
    check_writable,
    collect_warnings,
    exit_on_user_error,
    exit_on_write_error,
    prefix_errors,
)
from lowrankgcn.cli.output import RunSummary, print_warnings
from lowrankgcn.cli.predictions import Predictions
from lowrankgcn.cli.progress import Stopwatch, progress
from lowrankgcn.files import Columns, TableFile, read_file, write_file
from lowrankgcn.files.columns import read_texts

if TYPE_CHECKING:
    from lowrankgcn.estimators import GCNClassifier

__all__ = ["predict"]

_EXAMPLES = """Examples:

lowrankgcn predict cars.model more-cars.csv --out classified.csv

lowrankgcn predict cars.model - < more-cars.csv
"""

_SHOWN = 3  # unknown values in a note


@app.command(epilog=_EXAMPLES)
def predict(
    model: options.ModelFile,
    table: options.TableArgument,
    out: options.Out = None,
    probabilities: options.Probabilities = False,
    encoding: options.Encoding = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Classify all rows of a table with a model written by `classify --save`.

    Columns are matched by name, in any order; other columns are ignored. Values that the model was
    not trained on are counted. The output has two more columns, **prediction** and
    **probability**; it is printed unless **--out** or **--json** is given.
    """
    check_writable({"--out": out}, dash=True)
    check_distinct({"--out": out}, {"the model": model})
    to_stdout = str(out) == "-" or not (out or as_json or quiet)
    console = Console(highlight=False, quiet=quiet or as_json, stderr=to_stdout)
    shown, watch = not quiet, Stopwatch()
    with progress("reading", shown=shown), watch.timing("reading"), exit_on_user_error():
        from lowrankgcn.cli.models import load_model

        classifier, columns = load_model(model)
        file = read_file(table, encoding=encoding)
        given = None  # labels that the table has already
        with prefix_errors(file.name):
            features = columns.features(file.frame, decimal=file.decimal)
            if columns.target in file.frame.columns:
                given = read_texts(file.frame, columns.target)
    with progress("predicting", shown=shown), watch.timing("prediction"), exit_on_user_error():
        with collect_warnings() as warned:
            shares = classifier.predict_proba(features)
    kind = classifier.description_.get("type")
    predictions = Predictions.from_labels(
        classifier.classes_, shares, None, kind if isinstance(kind, str) else None
    )
    files = {}
    if out is not None or to_stdout:
        path = out or Path("-")
        format = "csv" if out is None and file.format == "parquet" else file.format
        with progress("writing", shown=shown), watch.timing("writing"), exit_on_write_error(path):
            frame = predictions.added_to(file.frame, each_class=probabilities)
            write_file(frame, path, format, delimiter=file.delimiter)
        files = {} if str(path) == "-" else {"written": str(path)}
    print_warnings(warned, shown=shown)
    facts, notes, more = _facts(model, classifier, columns, file, features, given, predictions)
    summary = RunSummary(facts, predictions, notes, files, watch.seconds, warned, more)
    summary.print(console, as_json=as_json, err=to_stdout)


def _facts(
    model: Path,
    classifier: GCNClassifier,
    columns: Columns,
    file: TableFile,
    features: pd.DataFrame,
    given: pd.Series | None,
    predictions: Predictions,
) -> tuple[dict[str, str], list[str], dict[str, Any]]:
    """Return lines for the terminal, notes, and values for JSON."""
    from lowrankgcn.cli.models import unknown_values

    unknown = unknown_values(classifier, features)
    expected = {columns.target, *columns.used, *columns.left_out}
    extra = [name for name in file.frame.columns if name not in expected]
    notes = []
    if extra:
        notes.append("columns that the model does not use: " + ", ".join(map(repr, extra)))
    for name, (count, values) in unknown.items():
        listed = ", ".join(map(repr, values[:_SHOWN])) + (", …" if len(values) > _SHOWN else "")
        notes.append(
            f"column {name!r}: {plural(count, 'cell')} with values unknown to the model ({listed})"
        )
    notes += predictions.renamed_notes(file.frame.columns)
    facts = {
        "model": f"{model}, {plural(len(columns.used), 'column')}, classes "
        + ", ".join(map(str, predictions.classes)),
        "table": f"{file.name}: {plural(len(file.frame), 'row')}",
    }
    agreement = None
    if given is not None and given.notna().any():
        present = given.notna().to_numpy()
        found = np.array([*predictions.classes, None], dtype=object)[predictions.codes]
        right, rows = int((given.to_numpy() == found)[present].sum()), int(present.sum())
        facts["agreement"] = f"{percent(right / rows)} of {plural(rows, 'labelled row')}"
        agreement = {"right": right, "rows": rows}
    more = {
        "model": str(model),
        "table": file.name,
        "rows": len(file.frame),
        "unknown_values": {name: count for name, (count, _) in unknown.items()},
        "passed_over": extra,
        "agreement": agreement,
    }
    return facts, notes, more
