"""``lowrankgcn predict``: classify another table with a saved model."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from lowrankgcn._format import percent, plural
from lowrankgcn.cli import errors, options
from lowrankgcn.cli.output import Summary
from lowrankgcn.cli.progress import Run
from lowrankgcn.exceptions import prefix_errors

_SHOWN = 3  # unknown values in a note


@options.added(options.FILE_OPTIONS)
def predict(
    model: options.ModelFile,
    table: options.Tables,
    out: options.Out = None,
    overwrite: options.Overwrite = False,
    probabilities: options.Probabilities = False,
    level: options.Level = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
    **reading: Any,
) -> None:
    """Classify all rows of a table with a model written by `classify --save`.

    Columns are matched by name, in any order; other columns are ignored. Values that the model was
    not trained on are counted. The output has two more columns, **prediction** and
    **probability**; it is printed unless **--out** or **--json** is given.

    Examples
    --------
    lowrankgcn predict cars.model more-cars.csv --out classified.csv

    lowrankgcn predict cars.model - < more-cars.csv
    """
    errors.check_outputs({"--out": out}, {"the model": model})
    inputs = {} if overwrite else errors.inputs(table)
    errors.check_outputs({"--out": out}, inputs, advice=errors.OVERWRITE)
    to_stdout = str(out) == "-" or not (out or as_json or quiet)
    run = Run(quiet=quiet, as_json=as_json, rows_printed=to_stdout)
    with run.loading():
        from lowrankgcn.cli import labelled_table
        from lowrankgcn.cli.models import load_model, unknown_values
        from lowrankgcn.cli.predictions import Predictions
        from lowrankgcn.files import read_texts
    labelled_table.check_ending(out)
    with run.step("reading"), errors.exit_on_user_error():
        classifier, columns = load_model(model)
        file = labelled_table.read_table(table, reading)
        labels = None  # known classes of the rows
        with prefix_errors(file.name):
            features = columns.features(file.frame, decimal=file.decimal)
            if columns.target in file.frame.columns:
                labels = read_texts(file.frame, columns.target)
    with run.timing("prediction"), run.computing("predicting"):
        shares, sets, unsure = classifier.classify(features, level)
    kind = classifier.description.get("type")
    kind = kind if isinstance(kind, str) else None
    predictions = Predictions.from_labels(classifier.classes, shares, type=kind)
    predictions = replace(predictions, level=level, sets=sets, unsure=unsure)
    earlier = labelled_table.columns_of_earlier_run(file.frame)
    earlier = [name for name in earlier if name not in columns.used]
    frame = file.frame.drop(columns=earlier)
    files: dict[str, str] = {}
    if out is not None or to_stdout:
        with run.step("writing"):
            added = predictions.added_to(frame, each_class=probabilities)
            files = labelled_table.write_table(added, out, file)
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
    if earlier:
        notes.append(f"columns {', '.join(map(repr, earlier))} of an earlier run are replaced")
    if extra:
        notes.append("columns that the model does not use: " + ", ".join(map(repr, extra)))
    notes += [_unknown_note(name, *cells) for name, cells in unknown.items()]
    notes += predictions.renamed_notes(frame.columns)
    document = {
        "model": str(model),
        "table": file.name,
        "rows": len(file.frame),
        "unknown_values": {name: count for name, (count, _) in unknown.items()},
        "passed_over": extra,
        "agreement": agreement,
        "unsure": None if unsure is None else int(unsure.sum()),
    }
    Summary(predictions, facts, document, notes, files).print(run)


def _unknown_note(name: str, count: int, values: list[str]) -> str:
    listed = ", ".join(map(repr, values[:_SHOWN])) + (", …" if len(values) > _SHOWN else "")
    return f"column {name!r}: {plural(count, 'cell')} with values unknown to the model ({listed})"
