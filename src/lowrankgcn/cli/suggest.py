"""``lowrankgcn suggest``: choose the rows of a table to label next."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.console import Console

from lowrankgcn._format import plural
from lowrankgcn.cli import errors, options, output
from lowrankgcn.cli.progress import progress

if TYPE_CHECKING:
    from lowrankgcn.cli.predictions import Predictions
    from lowrankgcn.cli.tables import LabelledTable

EXAMPLES = """Examples:

lowrankgcn suggest cars.csv --target price

lowrankgcn suggest cars.csv --target price -k 20 --out to-label.csv
"""

_SHOWN = 5  # columns on the terminal


def suggest(
    table: options.TableArgument,
    target: options.Target,
    count: options.Count = 10,
    out: options.OutRows = None,
    drop: options.Drop = None,
    categorical: options.Categorical = None,
    numeric: options.Numeric = None,
    graph: options.Graph = options.GraphName.auto,
    encoding: options.Encoding = None,
    seed: options.Seed = 0,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Suggest rows to label next, the most informative first.

    Labels of these rows reduce the uncertainty of the other rows most: the rows are spread over the
    table and are not outliers. The table may have no labels yet. Rows are counted from 1, without
    the header.
    """
    errors.check_outputs({"--out": out}, {"the table": table})
    shown, to_stdout = not quiet, str(out) == "-"
    with progress("reading", shown=shown), errors.exit_on_user_error():
        from lowrankgcn.cli.tables import read_labelled_table, write_table

        data = read_labelled_table(
            table, target, drop, categorical, numeric, encoding, few_labels=True
        )
    free = len(data.labels) - data.n_labelled
    if free < count:
        message = f"{data.table.name} has {plural(free, 'row')} without a label, fewer than {count}"
        raise errors.option_error("-k", message)
    with progress("fitting", shown=shown), errors.exit_on_user_error():
        with errors.collect_warnings() as warned:
            rows, predictions = _suggest(data, count, graph.value, seed)
    output.print_warnings(warned, shown=shown)
    if out is not None:
        write_table(_numbered(data.table.frame, rows, predictions), out, data.table)
    suggested = [_suggestion(data, row, predictions) for row in rows.tolist()]
    if as_json:
        document = {
            "table": data.table.name,
            "target": data.columns.target,
            "labelled": data.n_labelled,
            "classes": data.n_classes,
            "left_out": dict(data.columns.left_out),
            "rows": suggested,
            "warnings": warned,
        }
        output.print_json(document, err=to_stdout)
        return
    console = Console(highlight=False, quiet=quiet, stderr=to_stdout)
    _show(console, data, suggested, predictions is not None)
    if out is not None and not to_stdout:
        output.print_line(console, f"written to {out}")


def _suggest(
    data: LabelledTable, count: int, graph: str, seed: int
) -> tuple[Any, Predictions | None]:
    """Return the suggested rows and, with two or more classes, predictions for all rows."""
    from lowrankgcn.estimators import SpectralGPClassifier, first_rows

    options: dict[str, Any] = {"graph": graph, "random_state": seed}
    if data.n_classes < 2:
        labelled = data.labels.notna().to_numpy().nonzero()[0]
        return first_rows(data.features, count, labelled=labelled, **options), None
    classifier = SpectralGPClassifier(**options).fit(data.features, data.labels)
    shares = classifier.label_distributions_
    return classifier.suggest(count), data.predictions(classifier.classes_, shares, None)


def _numbered(frame: Any, rows: Any, predictions: Predictions | None) -> Any:
    """Return the rows as they were read, after their numbers and before predictions."""
    frame = frame if predictions is None else predictions.added_to(frame)
    name = "row"
    while name in frame.columns:
        name += "_"
    chosen = frame.iloc[rows].copy()
    chosen.insert(0, name, rows + 1)
    return chosen


def _suggestion(data: LabelledTable, row: int, predictions: Predictions | None) -> dict[str, Any]:
    guess, probability = (None, None) if predictions is None else predictions.at(row)
    cells = {name: data.table.frame[name].iloc[[row]] for name in data.columns.used}
    values = {n: None if cell.isna().item() else str(cell.item()) for n, cell in cells.items()}
    return {"row": row + 1, "prediction": guess, "probability": probability, "values": values}


def _show(
    console: Console, data: LabelledTable, suggested: list[dict[str, Any]], predicted: bool
) -> None:
    labels = "no labels yet"
    if data.n_labelled:
        classes = plural(data.n_classes, "class", "classes")
        labels = f"{plural(data.n_labelled, 'label')} of {classes}"
    name, n_rows = data.table.name, plural(len(data.labels), "row")
    for text in (f"{name}: {n_rows}, {labels}", *data.ignored_notes()):
        output.print_line(console, text)
    names = list(data.columns.used)[:_SHOWN]
    header = ["row", f"{data.columns.target}?", "probability", *names]
    rows = [
        [str(one["row"]), one["prediction"] or "–", output.share_text(one["probability"])]
        + [one["values"][name] or "" for name in names]
        for one in suggested
    ]
    if not predicted:
        for row in (header, *rows):
            del row[1:3]
    numeric = (0, 2) if predicted else (0,)
    console.print(output.text_table(header, rows, numeric, pad_edge=False))
