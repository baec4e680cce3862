"""``lowrankgcn suggest``: choose the rows of a table to label next."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer
from rich.cells import cell_len
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


def suggest(
    context: typer.Context,
    table: options.Tables,
    target: options.Target,
    count: options.Count = 10,
    out: options.OutRows = None,
    labels: options.MoreLabels = None,
    key: options.Key = None,
    unlabelled: options.Unlabelled = None,
    class_: options.Classes = None,
    drop: options.Drop = None,
    categorical: options.Categorical = None,
    numeric: options.Numeric = None,
    text: options.Text = None,
    graph: options.Graph = options.GraphName.auto,
    edges: options.Edges = None,
    encoding: options.Encoding = None,
    delimiter: options.Delimiter = None,
    decimal: options.Decimal = None,
    seed: options.Seed = 0,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Suggest rows to label next, the most informative first.

    Labels of these rows reduce the uncertainty of the other rows most: the rows are spread over the
    table and are not outliers. The table may have no labels yet. Rows are counted from 1, without
    the header.

    **--out** writes the rows with an empty target. Fill it in, in a spreadsheet for example, and
    pass the file to **lowrankgcn classify** or to the next **suggest** with **--labels**.
    """
    errors.check_edges(context)
    errors.check_outputs({"--out": out}, errors.inputs(table, labels, edges))
    shown, to_stdout = not quiet, str(out) == "-"
    with progress("reading", shown=shown), errors.exit_on_user_error():
        from lowrankgcn.cli.tables import check_ending, read_labelled_table, write_table

        check_ending(out)
        data = read_labelled_table(table, target, context.params, few_labels=True)
    free = len(data.labels) - data.n_labelled
    by_default = str(context.get_parameter_source("count")).endswith("DEFAULT")
    count = min(count, max(free, 1)) if by_default else count
    if free < count:
        advice = f"use -k {free}" if free else "all rows are labelled"
        message = f"{data.table.name} has {plural(free, 'row')} without a label; {advice}"
        raise errors.option_error("-k", message)
    with progress("fitting", shown=shown), errors.exit_on_user_error():
        with errors.collect_warnings() as warned:
            settings = {"graph": graph.value, "random_state": seed, **data.graph_option}
            rows, predictions = _suggest(data, count, settings)
    output.print_warnings(warned, shown=shown)
    if out is not None:
        write_table(_to_label(data, rows, predictions), out, data.table)
    suggested = [_suggestion(data, row, predictions) for row in rows.tolist()]
    if as_json:
        document = {
            "table": data.table.name,
            "target": data.columns.target,
            "labelled": data.n_labelled,
            "classes": data.n_classes,
            "left_out": dict(data.columns.left_out),
            "notes": [*data.table.notes, *data.notes],
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
    data: LabelledTable, count: int, settings: dict[str, Any]
) -> tuple[Any, Predictions | None]:
    """Return the suggested rows and, with two or more classes, predictions for all rows."""
    from lowrankgcn.estimators import SpectralGPClassifier, first_rows

    if data.n_classes < 2:
        labelled = data.labels.notna().to_numpy().nonzero()[0]
        return first_rows(data.rows, count, labelled=labelled, **settings), None
    classifier = SpectralGPClassifier(**settings).fit(data.rows, data.labels)
    shares = classifier.label_distributions_
    return classifier.suggest(count), data.predictions(classifier.classes_, shares, None)


def _to_label(data: LabelledTable, rows: Any, predictions: Predictions | None) -> Any:
    """Return row numbers, the empty target, predictions and the cells, as they were read."""
    from lowrankgcn.studio.journal import free_name

    frame, target = data.table.frame, data.columns.target
    name = free_name("row", frame.columns)
    chosen = frame if predictions is None else predictions.added_to(frame)
    chosen = chosen.iloc[rows].assign(**{name: rows + 1})
    chosen[target] = chosen[target].where(chosen[target].isna(), None)  # no markers
    first = [name, target, *(new for new in chosen.columns if new not in {*frame.columns, name})]
    return chosen[[*first, *(column for column in frame.columns if column != target)]]


def _suggestion(data: LabelledTable, row: int, predictions: Predictions | None) -> dict[str, Any]:
    guess, probability = (None, None) if predictions is None else predictions.at(row)
    names = data.columns.used or data.columns.left_out  # nodes of a graph without columns
    cells = {name: data.table.frame[name].iloc[[row]] for name in names}
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
    output.print_line(console, f"{name}: {n_rows}, {labels}")
    for text in (*data.table.notes, *data.notes):
        output.print_facts(console, {"note": text}, width=6)
    header = ["row", f"{data.columns.target}?", "probability"]
    rows = [
        [str(one["row"]), one["prediction"] or "–", output.share_text(one["probability"])]
        for one in suggested
    ]
    if not predicted:
        for row in (header, *rows):
            del row[1:]
    numeric = (0, 2) if predicted else (0,)
    for column in suggested[0]["values"]:  # as many as fit into the lines
        cells = [one["values"][column] or "" for one in suggested]
        width = _width([header, *rows]) + _width([[text] for text in (column, *cells)])
        if width > console.width:
            break
        header.append(column)
        for row, cell in zip(rows, cells, strict=True):
            row.append(cell)
    output.print_table(console, header, rows, numeric)


def _width(rows: list[list[str]]) -> int:
    """Return the width of a table on the terminal."""
    return sum(3 + max(map(cell_len, column)) for column in zip(*rows, strict=True))
