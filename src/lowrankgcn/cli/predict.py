"""``lowrankgcn predict``: classify another table with a saved model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from lowrankgcn._format import percent, plural
from lowrankgcn.cli import terminal
from lowrankgcn.cli.options import FILES, Arguments, command
from lowrankgcn.cli.terminal import one_line_errors
from lowrankgcn.exceptions import prefix_errors

if TYPE_CHECKING:
    from lowrankgcn.estimators.model_files import SavedClassifier
    from lowrankgcn.files import Columns
    from lowrankgcn.tables import Table

_SHOWN = 3  # unknown values in a note


@command(f"model tables {FILES} out overwrite probabilities level as_json quiet")
def predict(args: Arguments) -> None:
    """Classify all rows of a table with a model written by `classify --save`.

    Columns are matched by name, in any order; other columns are ignored. Values that the model was
    not trained on are counted. The output has two more columns, **prediction** and
    **probability**; it is printed unless **--out** or **--json** is given.

    Examples
    --------
    lowrankgcn predict cars.model more-cars.csv --out classified.csv

    lowrankgcn predict cars.model - < more-cars.csv
    """
    model, out, level = args.model, args.out, args.level
    terminal.check_outputs({"--out": out}, {"the model": model})
    inputs = {} if args.overwrite else terminal.inputs(args.table)
    terminal.check_outputs({"--out": out}, inputs, advice=terminal.OVERWRITE)
    to_stdout = str(out) == "-" or not (out or args.as_json or args.quiet)
    run = terminal.Run(quiet=args.quiet, as_json=args.as_json, rows_printed=to_stdout)
    with run.step("loading"):
        from lowrankgcn.cli import labelled_table
        from lowrankgcn.cli.predictions import Predictions
        from lowrankgcn.estimators.model_files import read_model
        from lowrankgcn.files import read_texts
    labelled_table.check_ending(out)
    with run.step("reading"), one_line_errors():
        classifier = read_model(model)
        columns = model_columns(model, classifier)
        file = labelled_table.read_table(vars(args))
        with prefix_errors(file.name):
            features = columns.features(file.rows(), decimal=file.decimal)
            known = columns.target in file.frame.columns
            labels = read_texts(file.frame, columns.target) if known else None
    with run.computing("prediction", timed=True):
        shares, sets, unsure = classifier.classify(features, level)
    kind = classifier.description.get("type")
    predictions = Predictions.from_labels(
        classifier.classes, shares, type=kind, level=level, sets=sets, unsure=unsure
    )
    earlier = labelled_table.columns_of_earlier_run(file.frame)
    earlier = [name for name in earlier if name not in columns.used]
    frame = file.frame.drop(columns=earlier)
    added, renamed = predictions.added_to(frame, each_class=args.probabilities)
    if out is not None or to_stdout:
        with run.step("writing"):
            run.files = labelled_table.write_table(added, out, file)
    facts = {
        "model": f"{model}, {plural(len(columns.used), 'column')}, classes "
        + ", ".join(predictions.classes),
        "table": f"{file.name}: {plural(len(frame), 'row')}",
    }
    agreement = None if labels is None else predictions.agreement(labels)
    if agreement is not None:
        share = percent(agreement["right"] / agreement["rows"])
        facts["agreement"] = f"{share} of {plural(agreement['rows'], 'labelled row')}"
    expected = {columns.target, *columns.used, *columns.left_out}
    extra = [name for name in frame.columns if name not in expected]
    unknown = _unknown_values(classifier, features)
    run.notes += [*file.notes, *labelled_table.earlier_note(earlier, "replaced")]
    if extra:
        run.notes.append("columns that the model does not use: " + ", ".join(map(repr, extra)))
    for name, values in unknown.items():
        listed = ", ".join(map(repr, [*values][:_SHOWN])) + (", …" if len(values) > _SHOWN else "")
        cells = plural(sum(values.values()), "cell")
        run.notes.append(f"column {name!r}: {cells} with values unknown to the model ({listed})")
    run.notes += renamed
    document = {
        "model": str(model),
        "table": file.name,
        "rows": len(frame),
        "unknown_values": {name: sum(values.values()) for name, values in unknown.items()},
        "passed_over": extra,
        "agreement": agreement,
        "unsure": None if unsure is None else int(unsure.sum()),
    }
    predictions.print_summary(run, facts, document)


def model_columns(path: Path, classifier: SavedClassifier) -> Columns:
    """Return the columns that a model needs.

    ``classify --save`` stores them; a model saved from Python has them if it was fitted to a table
    with column names.

    Raises
    ------
    ValueError
        If there are no column names.
    """
    columns: Columns | None = classifier.description.get("columns", classifier.columns)
    if columns is None or classifier.feature_names_in is None:
        advice = "fit it to a table with column names"
        raise ValueError(f"{path}: the model has no column names; {advice}")
    return columns


def _unknown_values(classifier: SavedClassifier, features: Table) -> dict[str, dict[str, int]]:
    """Count the cells of each column and value that the model was not fitted to."""
    unknown = {}
    for column in _fitted_columns(classifier):
        if column.limits is None and column.values != (None,):
            cells = features[column.name].as_categories()
            places = enumerate(column.positions(cells.values))
            new = [k for k, place in places if place == len(column.values)]
            counts = {str(cells.values[k]): int((cells.codes == k).sum()) for k in new}
            unknown[str(column.name)] = {value: n for value, n in counts.items() if n}
    return {name: counts for name, counts in unknown.items() if counts}


def _fitted_columns(classifier: SavedClassifier) -> Any:
    """Return the fitted columns of a table: categories have `values`, dates have a `unit`."""
    model: Any = classifier.model
    if model is None:
        return ()
    table = model.maps.features if hasattr(model, "maps") else model.extension.cross
    return getattr(getattr(table, "encoder", None), "columns", ())
