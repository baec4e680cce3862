"""``lowrankgcn compare``: read the options, run the comparison, print and write it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import typer
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

import lowrankgcn
from lowrankgcn._atomic import write_text
from lowrankgcn.cli.failures import bad_input, check_apart, check_writable, writing
from lowrankgcn.cli.progress import bar, status
from lowrankgcn.cli.request import column_names
from lowrankgcn.experiments.comparison.methods import Method, choose
from lowrankgcn.experiments.comparison.runner import Comparison, check_counts, compare
from lowrankgcn.experiments.comparison.summary import as_document, summarise
from lowrankgcn.experiments.comparison.task import NAMES, ComparisonTask, file_task, load_task
from lowrankgcn.experiments.comparison.text import (
    HEADER,
    as_markdown,
    best,
    cells,
    heading,
    remarks,
    subtitle,
)
from lowrankgcn.files import read_file

__all__ = ["run"]


def run(
    table: str,
    *,
    target: str | None,
    labels_per_class: str,
    splits: int,
    methods: str | None,
    drop: tuple[str, ...],
    encoding: str | None,
    in_order: bool,
    seed: int,
    as_json: bool,
    csv: Path | None,
    markdown: Path | None,
    quiet: bool,
) -> None:
    """Compare, and leave the results where they were asked for."""
    counts = _counts(labels_per_class)
    with bad_input("--methods"):
        chosen = choose(None if methods is None else [key.strip() for key in methods.split(",")])
    with status(escape(f"reading {table}"), shown=not quiet):
        task = _task(table, target, drop, encoding)
    with bad_input("--labels-per-class"):
        check_counts(task.classes, counts)
    for option, path in (("--csv", csv), ("--markdown", markdown)):
        check_writable(path, option)
    kept = {} if table in NAMES else {"the table": Path(table)}
    check_apart({"--csv": csv, "--markdown": markdown}, kept)
    running = [method for method in chosen if method.obstacle(task) is None]
    if not running:
        reasons = "; ".join(f"{method.key}: {method.obstacle(task)}" for method in chosen)
        raise typer.BadParameter(f"none can take this table: {reasons}", param_hint="--methods")
    with bar(len(running) * splits * len(set(counts)), shown=not quiet) as advance:

        def watch(count: int, split: int, method: Method) -> None:
            labels = f"{count} labels per class"
            advance(f"split {split + 1} of {splits}, {labels}: {method.title}")

        result = compare(
            task, chosen, counts=counts, splits=splits, seed=seed, in_order=in_order, watch=watch
        )
    if csv is not None:
        with writing(csv, "--csv"):
            write_text(csv, result.fits.to_csv(index=False))
    if markdown is not None:
        with writing(markdown, "--markdown"):
            write_text(markdown, as_markdown(result))
    if as_json:
        document = {"version": lowrankgcn.__version__, **as_document(result)}
        typer.echo(json.dumps(document, ensure_ascii=False, indent=2, allow_nan=False))
    elif not quiet:
        _show(Console(highlight=False), result)


def _counts(text: str) -> tuple[int, ...]:
    try:
        counts = tuple(int(part) for part in text.split(","))
    except ValueError:
        counts = ()
    if not counts or min(counts) < 1:
        message = f"expected numbers >= 1 such as 5,10,20, got {text!r}"
        raise typer.BadParameter(message, param_hint="--labels-per-class")
    return counts


def _task(
    table: str, target: str | None, drop: tuple[str, ...], encoding: str | None
) -> ComparisonTask:
    if table in NAMES:
        if target is not None or drop:
            message = f"the dataset {table} has its own columns; a file is given as ./{table}"
            raise typer.BadParameter(message, param_hint="--target" if target else "--drop")
        with bad_input():
            return load_task(table)
    if table != "-" and not os.path.exists(table) and not os.path.splitext(table)[1]:
        with bad_input("TABLE_OR_DATASET"):
            return load_task(table)  # says which datasets there are
    with bad_input("TABLE_OR_DATASET"):
        if target is None:
            raise ValueError(f"{table} needs --target, the column of its classes")
        file = read_file(table, encoding=encoding)
        return file_task(file, target, drop=column_names(drop, file.frame.columns))


def _show(console: Console, comparison: Comparison) -> None:
    console.print(f"[bold]{escape(heading(comparison))}[/bold]", soft_wrap=True)
    for count, rows in summarise(comparison).items():
        winner = best(rows)
        table = Table(
            box=box.SIMPLE_HEAD,
            padding=(0, 1),
            title=escape(subtitle(comparison, count)),
            title_justify="left",
            title_style="",
        )
        table.add_column(HEADER[0])
        for name in HEADER[1:]:
            table.add_column(name, justify="right", no_wrap=True)
        for row in rows:
            texts = map(escape, cells(row, comparison.splits))
            table.add_row(*texts, style="bold" if row is winner else None)
        console.print(table)
    for text in remarks(comparison):
        console.print(f"[dim]{escape(text)}[/dim]", soft_wrap=True)
    console.print(
        "[dim]± half of a 95 % interval; difference: to GCNClassifier on the same split, mean, "
        "positive where the method is better; time: processor time of one fit and "
        "prediction, median.[/dim]",
        soft_wrap=True,
    )
