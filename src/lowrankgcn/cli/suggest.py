"""``lowrankgcn suggest``: choose the rows of a table to label next."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lowrankgcn._format import percent, plural
from lowrankgcn.cli import terminal
from lowrankgcn.cli.options import GRAPHS, TABLES, Arguments, command

if TYPE_CHECKING:
    from lowrankgcn.cli.labelled_table import LabelledTable
    from lowrankgcn.cli.predictions import Predictions


@command(f"context tables target {TABLES} count out_rows graph {GRAPHS} seed as_json quiet")
def suggest(args: Arguments) -> None:
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
    count, out = args.count, args.out
    given = terminal.given_graph(vars(args))
    terminal.check_outputs({"--out": out}, terminal.inputs(args.table, args.labels, given))
    run = terminal.Run(quiet=args.quiet, as_json=args.as_json, rows_printed=str(out) == "-")
    with run.progress("reading"), terminal.one_line_errors():
        from lowrankgcn.cli.labelled_table import check_ending, read_labelled_table, write_table

        check_ending(out)
        data = read_labelled_table(vars(args), few_labels=True)
    free, n_classes = len(data.labels) - data.n_labelled, data.labels.nunique()
    if terminal.is_from(args.context, "count", "DEFAULT"):
        count = min(count, max(free, 1))
    if free < count:
        advice = f"use -k {free}" if free else "all rows are labelled"
        message = f"{data.table.name} has {plural(free, 'row')} without a label; {advice}"
        raise terminal.option_error("-k", message)
    run.notes += data.notes
    with run.computing("fitting"):
        from lowrankgcn.estimators import SpectralGPClassifier, first_rows

        settings = {"graph": args.graph, "random_state": args.seed, **data.graph_option}
        predictions = None
        if n_classes < 2:
            labelled = data.labels.notna().to_numpy().nonzero()[0]
            rows = first_rows(data.rows, count, labelled=labelled, **settings)
        else:
            classifier = SpectralGPClassifier(**settings).fit(data.rows, data.labels)
            rows, predictions = classifier.suggest(count), data.predictions(classifier)
    files = {} if out is None else write_table(_to_label(data, rows, predictions), out, data.table)
    suggested = _suggestions(data, rows, predictions)
    if args.as_json:
        document = {
            "table": data.table.name,
            "target": args.target,
            "labelled": data.n_labelled,
            "classes": n_classes,
            "left_out": data.columns.left_out,
            "notes": run.notes,
            "rows": suggested,
            "warnings": run.warnings,
        }
        run.print_json(document)
        return
    labels = "no labels yet"
    if data.n_labelled:
        classes = plural(n_classes, "class", "classes")
        labels = f"{plural(data.n_labelled, 'label')} of {classes}"
    run.print_line(f"{data.table.name}: {plural(len(data.labels), 'row')}, {labels}")
    run.print_facts({"note": run.notes}, width=6)
    _print_rows(run, suggested, None if predictions is None else args.target)
    for path in files.values():
        run.print_line(f"written to {path}")


def _to_label(data: LabelledTable, rows: Any, predictions: Predictions | None) -> Any:
    """Return row numbers, the empty target, predictions and the cells, as they were read."""
    frame, target = data.table.frame, data.columns.target
    chosen = frame if predictions is None else predictions.added_to(frame)[0]
    chosen = chosen.iloc[rows]
    chosen[target] = chosen[target].where(chosen[target].isna(), None)  # no markers
    return data.numbered(chosen, rows)


def _suggestions(
    data: LabelledTable, rows: Any, predictions: Predictions | None
) -> list[dict[str, Any]]:
    """Return the numbers of rows, their predictions and their cells as texts."""
    suggested = []
    for row, values in zip(rows.tolist(), data.cells(rows), strict=True):
        guess, probability = (None, None) if predictions is None else predictions.at(row)
        one = {"row": row + 1, "prediction": guess, "probability": probability, "values": values}
        suggested.append(one)
    return suggested


def _print_rows(run: terminal.Run, suggested: list[dict[str, Any]], target: str | None) -> None:
    """Print rows, their predictions and cells."""
    columns = [("row", [str(one["row"]) for one in suggested])]
    if target is not None:
        shares = [percent(one["probability"]) for one in suggested]
        columns += [(f"{target}?", [one["prediction"] or "–" for one in suggested])]
        columns += [("probability", shares)]
    run.print_rows(columns, [one["values"] for one in suggested])
