"""``lowrankgcn suggest``: choose the rows of a table to label next."""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, Any

import typer
from rich.cells import cell_len
from rich.console import Console

from lowrankgcn._format import plural
from lowrankgcn.cli import errors, options, output
from lowrankgcn.cli.progress import Run

if TYPE_CHECKING:
    from lowrankgcn.cli.labelled_table import LabelledTable
    from lowrankgcn.cli.predictions import Predictions


@options.added(options.TABLE_OPTIONS)
def suggest(
    context: typer.Context,
    table: options.Tables,
    target: options.Target,
    count: options.Count = 10,
    out: options.OutRows = None,
    graph: options.Graph = "auto",
    edges: options.Edges = None,
    seed: options.Seed = 0,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
    **reading: Any,
) -> None:
    """Suggest rows to label next, the most informative first.

    Labels of these rows reduce the uncertainty of the other rows most: the rows are spread over the
    table and are not outliers. The table may have no labels yet. Rows are counted from 1, without
    the header.

    **--out** writes the rows with an empty target. Fill it in, in a spreadsheet for example, and
    pass the file to **lowrankgcn classify** or to the next **suggest** with **--labels**.

    Examples
    --------
    lowrankgcn suggest cars.csv --target price

    lowrankgcn suggest cars.csv --target price -k 20 --out to-label.csv
    """
    if edges is not None:
        errors.refuse(context.params, "graph", "not with --edges")
    errors.check_outputs({"--out": out}, errors.inputs(table, reading["labels"], edges))
    to_stdout = str(out) == "-"
    run = Run(quiet=quiet, as_json=as_json, rows_printed=to_stdout)
    with run.progress("reading"), errors.exit_on_user_error():
        from lowrankgcn.cli.labelled_table import check_ending, read_labelled_table, write_table

        check_ending(out)
        data = read_labelled_table(table, target, reading, edges=edges, few_labels=True)
    free = len(data.labels) - data.n_labelled
    by_default = str(context.get_parameter_source("count")).endswith("DEFAULT")
    count = min(count, max(free, 1)) if by_default else count
    if free < count:
        advice = f"use -k {free}" if free else "all rows are labelled"
        message = f"{data.table.name} has {plural(free, 'row')} without a label; {advice}"
        raise errors.option_error("-k", message)
    with run.computing("fitting"):
        settings = {"graph": graph, "random_state": seed, **data.graph_option}
        rows, predictions = _suggest(data, count, settings)
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
            "notes": data.notes,
            "rows": suggested,
            "warnings": run.warnings,
        }
        output.print_json(document, err=to_stdout)
        return
    labels = "no labels yet"
    if data.n_labelled:
        classes = plural(data.n_classes, "class", "classes")
        labels = f"{plural(data.n_labelled, 'label')} of {classes}"
    n_rows = plural(len(data.labels), "row")
    output.print_line(run.console, f"{data.table.name}: {n_rows}, {labels}")
    for text in data.notes:
        output.print_facts(run.console, {"note": text}, width=6)
    _print_rows(run.console, target, suggested, predicted=predictions is not None)
    if out is not None and not to_stdout:
        output.print_line(run.console, f"written to {out}")


def _suggest(
    data: LabelledTable, count: int, settings: dict[str, Any]
) -> tuple[Any, Predictions | None]:
    """Return the suggested rows and, with two or more classes, predictions for all rows."""
    from lowrankgcn.estimators import SpectralGPClassifier, first_rows

    if data.n_classes < 2:
        labelled = data.labels.notna().to_numpy().nonzero()[0]
        return first_rows(data.rows, count, labelled=labelled, **settings), None
    classifier = SpectralGPClassifier(**settings).fit(data.rows, data.labels)
    return classifier.suggest(count), data.predictions(classifier)


def _to_label(data: LabelledTable, rows: Any, predictions: Predictions | None) -> Any:
    """Return row numbers, the empty target, predictions and the cells, as they were read."""
    from lowrankgcn.files.row_matching import free_name

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


def _print_rows(
    console: Console, target: str, suggested: list[dict[str, Any]], *, predicted: bool
) -> None:
    """Print rows, their predictions, and as many of their columns as fit into the lines."""
    columns = [("row", [str(one["row"]) for one in suggested])]
    if predicted:
        shares = [output.share_text(one["probability"]) for one in suggested]
        columns += [(f"{target}?", [one["prediction"] or "–" for one in suggested])]
        columns += [("probability", shares)]
    always = len(columns)
    for name in suggested[0]["values"]:
        columns.append((name, [one["values"][name] or "" for one in suggested]))
    widths = accumulate(2 + max(map(cell_len, (name, *cells))) for name, cells in columns)
    fitting = sum(width <= console.width for width in widths)
    header, cells = zip(*columns[: max(always, fitting)], strict=True)
    output.print_table(console, header, zip(*cells, strict=True), (0, 2) if predicted else (0,))
