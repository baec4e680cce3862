"""``lowrankgcn compare``: compare the library with other methods on a table."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console
from rich.text import Text

from lowrankgcn._atomic import write_text
from lowrankgcn._format import duration, plural
from lowrankgcn._progress import listening
from lowrankgcn.cli import errors, options, output
from lowrankgcn.cli.progress import Run

if TYPE_CHECKING:
    from lowrankgcn.experiments.comparison.task import Comparison, ComparisonTask

_EXPLANATION = (
    "± half of a 95 % interval; difference: mean difference in accuracy from SpectralGPClassifier "
    "on the same split; balanced: mean accuracy of the classes; log-loss: smaller is better; time: "
    "median processor time of one fit and prediction."
)
_LONG = 10.0  # seconds; shorter work is not announced


@options.added(options.COLUMN_OPTIONS)
def compare(
    context: typer.Context,
    table: options.TableOrDataset,
    target: options.TargetOfFile = None,
    labels_per_class: options.LabelsPerClass = "5,10,20",
    splits: options.Splits = 20,
    methods: options.Methods = None,
    in_order: options.InOrder = False,
    seed: options.Seed = 0,
    as_json: options.AsJson = False,
    csv: options.Csv = None,
    markdown: options.Markdown = None,
    quiet: options.Quiet = False,
    **reading: Any,
) -> None:
    """Compare the library with other methods on your data.

    Hides the classes of most rows, predicts them with **SpectralGPClassifier**, **GCNClassifier**
    and other methods on the same random splits, and prints accuracies and log-losses with 95 %
    intervals, differences from SpectralGPClassifier, times, and a verdict in one sentence. Rows
    without a class are used as unlabelled rows and are not tested.

    Examples
    --------
    lowrankgcn compare iris --splits 5

    lowrankgcn compare customers.csv --target segment --labels-per-class 10 --csv results.csv

    lowrankgcn compare mushrooms --methods gp,logistic,forest --markdown mushrooms.md
    """
    counts, run = _counts(labels_per_class), Run(quiet=quiet)
    with run.progress(f"reading {table}"):
        from lowrankgcn.experiments.comparison import summary, task
        from lowrankgcn.experiments.comparison.methods import choose

        with errors.exit_on_user_error("--methods"):
            keys = None if methods is None else [key.strip() for key in methods.split(",")]
            chosen = choose(keys)
        data = _task(table, target, reading)
    if str(context.get_parameter_source("labels_per_class")).endswith("DEFAULT"):
        most = max(data.class_sizes.values()) // 2
        counts = tuple(count for count in counts if count <= most) or (most,)
    inputs = {} if table in task.NAMES else errors.inputs([Path(table)])
    errors.check_outputs({"--csv": csv, "--markdown": markdown}, inputs)
    with run.progress("comparing") as show, listening(None), errors.exit_on_user_error():
        watch = show if quiet else _with_estimate(show, splits)
        result = task.compare(
            data, chosen, counts=counts, splits=splits, seed=seed, in_order=in_order, watch=watch
        )
    if csv is not None:
        with errors.exit_on_write_error(csv, "--csv"):
            write_text(csv, result.fits.to_csv(index=False))
    if markdown is not None:
        with errors.exit_on_write_error(markdown, "--markdown"):
            write_text(markdown, summary.as_markdown(result))
    if as_json:
        output.print_json(summary.as_document(result))
    else:
        _show(run.console, result)


def _with_estimate(
    show: Callable[[str, int, int], None], splits: int
) -> Callable[[str, int, int], None]:
    """Return `show`, which also writes the remaining time to standard error after one split."""
    begin = time.perf_counter()

    def watch(text: str, done: int, total: int) -> None:
        show(text, done, total)
        if done * splits == total:
            remaining = (splits - 1) * (time.perf_counter() - begin)
            if remaining > _LONG:
                more = plural(splits - 1, "more split takes", "more splits take")
                print(f"{more} about {duration(remaining)}", file=sys.stderr)

    return watch


def _counts(text: str) -> tuple[int, ...]:
    try:
        counts = tuple(int(part) for part in text.split(","))
    except ValueError:
        counts = ()
    if not counts or min(counts) < 1:
        message = f"expected numbers >= 1 such as 5,10,20, got {text!r}"
        raise errors.option_error("--labels-per-class", message)
    return counts


def _task(table: str, target: str | None, reading: dict[str, Any]) -> ComparisonTask:
    from lowrankgcn.cli.labelled_table import read_labelled_table
    from lowrankgcn.experiments.comparison.task import NAMES, ComparisonTask, load_task

    if table in NAMES:
        message = f"the dataset {table} has fixed columns; for a file of this name use ./{table}"
        errors.refuse({"target": target, **reading}, " ".join(["target", *reading]), message)
    named = table != "-" and not os.path.exists(table) and not os.path.splitext(table)[1]
    with errors.exit_on_user_error("TABLE_OR_DATASET"):
        if table in NAMES or named:  # an unknown name raises an error that lists the datasets
            return load_task(table)
        if target is None:
            raise ValueError(f"{table} needs --target, the column of its classes")
        data = read_labelled_table([Path(table)], target, reading)
        name, notes = data.table.name, tuple(data.notes)
        return ComparisonTask(name, data.features, data.labels, notes=notes)


def _show(console: Console, comparison: Comparison) -> None:
    from lowrankgcn.experiments.comparison import summary

    output.print_text(console, summary.heading(comparison), "bold")
    for subtitle, rows, best in summary.tables(comparison):
        texts = []
        for k, row in enumerate(rows):
            texts.append([Text(cell, "bold" if k == best else "") for cell in row])
        output.print_text(console, subtitle)
        output.print_table(console, summary.HEADER, texts, summary.NUMERIC, show_edge=False)
        console.print()
    for remark in (*summary.remarks(comparison), _EXPLANATION):
        output.print_text(console, remark, "dim")
    output.print_text(console, summary.verdict(comparison), "bold")
