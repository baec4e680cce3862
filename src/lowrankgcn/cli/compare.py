"""``lowrankgcn compare``: compare the library with other methods on a table."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from rich.text import Text

from lowrankgcn._format import duration, plural
from lowrankgcn._progress import listening
from lowrankgcn.cli import terminal
from lowrankgcn.cli.options import COLUMNS, GRAPHS, Arguments, command

if TYPE_CHECKING:
    from lowrankgcn.experiments.comparison import ComparisonTask

_EXPLANATION = (
    "± half of a 95 % interval, by Student's t over the splits; difference: mean difference in "
    "accuracy from SpectralGPClassifier on the same split; balanced: mean accuracy of the classes; "
    "log-loss: smaller is better; time: median processor time of one fit and prediction."
)
_LONG = 10.0  # seconds; shorter work is not announced


@command(
    f"context table_or_dataset target_of_file {COLUMNS} {GRAPHS} key labels_per_class splits "
    "methods in_order seed as_json csv markdown quiet"
)
def compare(args: Arguments) -> None:
    """Compare the library with other methods on your data.

    Hides the classes of most rows, predicts them with **SpectralGPClassifier**, **GCNClassifier**
    and other methods on the same random splits, and prints accuracies and log-losses with 95 %
    intervals, differences from SpectralGPClassifier, times, and a verdict in one sentence. Rows
    without a class are used as unlabelled rows and are not tested. With **--edges** or
    **--hyperedges** the rows are the nodes of a given graph, and networks of torch-geometric and
    label propagation on this graph take part.

    Examples
    --------
    lowrankgcn compare iris --splits 5

    lowrankgcn compare customers.csv --target segment --labels-per-class 10 --csv results.csv

    lowrankgcn compare papers.csv --target topic --edges citations.csv --key title

    lowrankgcn compare mushrooms --methods gp,logistic,forest --markdown mushrooms.md
    """
    counts, splits = _counts(args.labels_per_class), args.splits
    run, given = terminal.Run(quiet=args.quiet), terminal.given_graph(vars(args), "")
    with run.progress(f"reading {args.table}"):
        from lowrankgcn.experiments import comparison, summary
        from lowrankgcn.experiments.methods import choose

        with terminal.one_line_errors("--methods"):
            names = args.methods
            chosen = choose(None if names is None else [key.strip() for key in names.split(",")])
        task = _task(args)
        if names is None and task.graph is None:
            chosen = tuple(method for method in chosen if not method.on_graph)
    if terminal.is_from(args.context, "labels_per_class", "DEFAULT"):
        most = max(task.class_sizes.values()) // 2
        counts = tuple(count for count in counts if count <= most) or (most,)
    inputs = (
        {} if args.table in comparison.NAMES else terminal.inputs([Path(args.table)], None, given)
    )
    terminal.check_outputs({"--csv": args.csv, "--markdown": args.markdown}, inputs)
    begin = time.perf_counter()
    with run.progress("comparing") as show, listening(None), terminal.one_line_errors():

        def watch(text: str, done: int, total: int) -> None:
            show(text, done, total)
            remaining = (splits - 1) * (time.perf_counter() - begin)
            if done * splits == total and remaining > _LONG and not args.quiet:
                more = plural(splits - 1, "more split takes", "more splits take")
                print(f"{more} about {duration(remaining)}", file=sys.stderr)

        settings = {"counts": counts, "splits": splits, "seed": args.seed}
        result = comparison.compare(task, chosen, **settings, in_order=args.in_order, watch=watch)
    terminal.write_output(args.csv, result.fits.to_csv(index=False), "--csv")
    terminal.write_output(args.markdown, summary.as_markdown(result), "--markdown")
    if args.as_json:
        run.print_json(summary.as_document(result))
        return
    run.print_text(summary.heading(result), "bold")
    for subtitle, rows, best in summary.tables(result):
        if best is not None:
            rows[best] = [Text(cell, "bold") for cell in rows[best]]
        run.print_text(subtitle)
        run.print_table(summary.HEADER, rows, summary.NUMERIC, show_edge=False)
        run.console.print()
    for remark in (*summary.remarks(result), _EXPLANATION):
        run.print_text(remark, "dim")
    run.print_text(summary.verdict(result), "bold")


def _counts(text: str) -> tuple[int, ...]:
    try:
        counts = tuple(int(part) for part in text.split(","))
    except ValueError:
        counts = (0,)
    if min(counts) < 1:
        message = f"expected numbers >= 1 such as 5,10,20, got {text!r}"
        raise terminal.option_error("--labels-per-class", message)
    return counts


def _task(args: Arguments) -> ComparisonTask:
    from lowrankgcn.cli.labelled_table import read_labelled_table
    from lowrankgcn.experiments.comparison import NAMES, ComparisonTask, load_task

    table, options = args.table, vars(args)
    if table in NAMES:
        message = f"the dataset {table} has fixed columns; for a file of this name use ./{table}"
        terminal.refuse(options, f"target {COLUMNS} {GRAPHS} key", message)
    named = table != "-" and not os.path.exists(table) and not os.path.splitext(table)[1]
    with terminal.one_line_errors("TABLE_OR_DATASET"):
        if table in NAMES or named:  # an unknown name raises an error that lists the datasets
            return load_task(table)
        if args.target is None:
            raise ValueError(f"{table} needs --target, the column of its classes")
        data = read_labelled_table(options | {"table": [Path(table)]})
        notes = tuple(data.notes)
        table = data.table.name
        return ComparisonTask(table, data.features, data.labels, notes=notes, graph=data.graph)
