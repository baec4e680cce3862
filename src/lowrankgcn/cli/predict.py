"""``lowrankgcn predict``: classify another table with a saved model."""

from __future__ import annotations

from dataclasses import replace

import typer
from rich.console import Console

from lowrankgcn._format import percent, plural
from lowrankgcn.cli import errors, options, output
from lowrankgcn.cli.progress import Stopwatch, loading, progress
from lowrankgcn.exceptions import prefix_errors

EXAMPLES = """Examples:

lowrankgcn predict cars.model more-cars.csv --out classified.csv

lowrankgcn predict cars.model - < more-cars.csv
"""

_SHOWN = 3  # unknown values in a note


def predict(
    context: typer.Context,
    model: options.ModelFile,
    table: options.Tables,
    out: options.Out = None,
    overwrite: options.Overwrite = False,
    probabilities: options.Probabilities = False,
    level: options.Level = None,
    encoding: options.Encoding = None,
    delimiter: options.Delimiter = None,
    decimal: options.Decimal = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Classify all rows of a table with a model written by `classify --save`.

    Columns are matched by name, in any order; other columns are ignored. Values that the model was
    not trained on are counted. The output has two more columns, **prediction** and
    **probability**; it is printed unless **--out** or **--json** is given.
    """
    errors.check_outputs({"--out": out}, {"the model": model})
    inputs = {} if overwrite else errors.inputs(table)
    errors.check_outputs({"--out": out}, inputs, advice=errors.OVERWRITE)
    to_stdout = str(out) == "-" or not (out or as_json or quiet)
    console = Console(highlight=False, quiet=quiet or as_json, stderr=to_stdout)
    shown, watch = not quiet, Stopwatch()
    with loading(watch, shown=shown):
        from lowrankgcn.cli.models import load_model, unknown_values
        from lowrankgcn.cli.predictions import Predictions
        from lowrankgcn.cli.tables import check_ending, own_columns, read_table, write_table
        from lowrankgcn.files import read_texts
    check_ending(out)
    with progress("reading", shown=shown), watch.timing("reading"), errors.exit_on_user_error():
        classifier, columns = load_model(model)
        file = read_table(table, context.params)
        labels = None  # known classes of the rows
        with prefix_errors(file.name):
            features = columns.features(file.frame, decimal=file.decimal)
            if columns.target in file.frame.columns:
                labels = read_texts(file.frame, columns.target)
    with progress("predicting", shown=shown), watch.timing("prediction"):
        with errors.exit_on_user_error(), errors.collect_warnings() as warned:
            shares, sets, unsure = classifier.classify(features, level)
    kind = classifier.description.get("type")
    kind = kind if isinstance(kind, str) else None
    predictions = Predictions.from_labels(classifier.classes, shares, type=kind)
    predictions = replace(predictions, level=level, sets=sets, unsure=unsure)
    own = [name for name in own_columns(file.frame) if name not in columns.used]
    frame = file.frame.drop(columns=own)
    files: dict[str, str] = {}
    if out is not None or to_stdout:
        with progress("writing", shown=shown), watch.timing("writing"):
            files = write_table(predictions.added_to(frame, each_class=probabilities), out, file)
    output.print_warnings(warned, shown=shown)
    facts = {
        "model": f"{model}, {plural(len(columns.used), 'column')}, classes "
        + ", ".join(map(str, predictions.classes)),
        "table": f"{file.name}: {plural(len(file.frame), 'row')}",
    }
    agreement = None if labels is None else predictions.agreement(labels)
    if agreement is not None:
        share = percent(agreement["right"] / agreement["rows"])
        facts["agreement"] = f"{share} of {plural(agreement['rows'], 'labelled row')}"
    facts |= predictions.set_facts()
    expected = {columns.target, *columns.used, *columns.left_out}
    extra = [name for name in frame.columns if name not in expected]
    unknown = unknown_values(classifier, features)
    notes = list(file.notes)
    if own:
        notes.append(f"columns {', '.join(map(repr, own))} of an earlier run are replaced")
    if extra:
        notes.append("columns that the model does not use: " + ", ".join(map(repr, extra)))
    notes += [_unknown_note(name, *found) for name, found in unknown.items()]
    notes += predictions.renamed_notes(frame.columns)
    more = {
        "model": str(model),
        "table": file.name,
        "rows": len(file.frame),
        "unknown_values": {name: count for name, (count, _) in unknown.items()},
        "passed_over": extra,
        "agreement": agreement,
        "unsure": None if unsure is None else int(unsure.sum()),
    }
    summary = facts, more, notes, warned, files, watch
    output.print_summary(console, predictions, *summary, as_json=as_json)


def _unknown_note(name: str, count: int, values: list[str]) -> str:
    listed = ", ".join(map(repr, values[:_SHOWN])) + (", …" if len(values) > _SHOWN else "")
    return f"column {name!r}: {plural(count, 'cell')} with values unknown to the model ({listed})"
