"""``lowrankgcn reproduce``: compute the tables and figures of the paper."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
import typer
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

import lowrankgcn
from lowrankgcn._atomic import write_text
from lowrankgcn.cli import options
from lowrankgcn.cli.app import app
from lowrankgcn.cli.errors import (
    check_distinct,
    check_writable,
    exit_on_user_error,
    exit_on_write_error,
    prepare_folder,
)
from lowrankgcn.cli.output import print_line
from lowrankgcn.cli.progress import bar

if TYPE_CHECKING:
    from lowrankgcn.experiments.reproduction.results import Results
    from lowrankgcn.experiments.reproduction.runner import Job

__all__ = ["reproduce"]

_EXAMPLES = """Examples:

lowrankgcn reproduce spiral --runs 10

lowrankgcn reproduce all --runs 100 --out paper
"""

_PAGE, _ROWS, _STATE = "reproduction.html", "rows.csv", "state"
_WIDE = 120  # columns of a terminal that shows all columns of the tables


@app.command(epilog=_EXAMPLES)
def reproduce(
    what: options.What = options.PaperTable.all,
    runs: options.Runs = 100,
    seed: options.Seed = 0,
    out: options.ReproductionFolder = Path("reproduction"),
    as_json: options.AsJson = False,
    markdown: options.Markdown = None,
    quiet: options.Quiet = False,
) -> None:
    """Compute the paper's tables and figures beside the published numbers.

    Trains every row from many random starts and prints mean accuracies with 95 % intervals, the
    published figures, times, and whether they agree or which erratum of the paper explains the
    difference. Writes **DIR/reproduction.html**, a page with the figures, and **DIR/rows.csv**.

    Finished work is kept in **DIR/state**: the same command continues an interrupted run. The
    mushrooms are downloaded on first use.
    """
    _prepare(out, markdown)
    from lowrankgcn.experiments.reproduction import results, text
    from lowrankgcn.experiments.reproduction.page import render_reproduction

    names = results.TABLES if what.value == "all" else (what.value,)
    found = _compute(names, runs=runs, seed=seed, state=out / _STATE, shown=not quiet)
    if what.value in found.missing:
        raise typer.BadParameter(found.missing[what.value])
    command = f"lowrankgcn reproduce {what.value} --runs {runs}"
    command += f" --seed {seed}" if seed else ""
    page = render_reproduction(
        found,
        version=lowrankgcn.__version__,
        machine=text.machine(),
        command=command,
        filters="filters" in names,
    )
    with exit_on_write_error(out):
        write_text(out / _PAGE, page)
        if found.rows:
            write_text(out / _ROWS, _csv(found))
    if markdown is not None:
        machine = text.machine() + text.load()
        with exit_on_write_error(markdown, "--markdown"):
            tables = text.as_markdown(found, machine=machine, command=command)
            write_text(markdown, tables)
    # Also with --quiet, because requested rows are missing.
    for message in dict.fromkeys(found.missing.values()):
        tables = ", ".join(name for name, reason in found.missing.items() if reason == message)
        typer.echo(f"left out ({tables}): {message}", err=True)
    if as_json:
        typer.echo(json.dumps(_document(found, out), ensure_ascii=False, indent=2))
    elif not quiet:
        _show(Console(highlight=False), found, out / _PAGE)


def _prepare(out: Path, markdown: Path | None) -> None:
    """Check before the work that everything can be written."""
    if markdown is not None and not (out.exists() and not out.is_dir()):
        taken = {
            f"{out / name}, which --out writes": out / name for name in ("", _STATE, _PAGE, _ROWS)
        }
        check_distinct({"--markdown": markdown}, taken)
        inside = os.path.realpath(markdown.absolute().parent) == os.path.realpath(out)
        if out.exists() or not inside or str(markdown) == "-":  # else the folder is made below
            check_writable({"--markdown": markdown})
    prepare_folder(out, inside=_STATE)
    for name in (_PAGE, _ROWS):
        check_writable({"--out": out / name})


def _compute(names: tuple[str, ...], *, runs: int, seed: int, state: Path, shown: bool) -> Results:
    from lowrankgcn.experiments.reproduction import results
    from lowrankgcn.experiments.reproduction.runner import plan

    def complain(message: str) -> None:
        typer.echo(f"warning: {message}", err=True)

    jobs = plan([name for name in names if name != "filters"], runs)
    with (
        bar(sum(job.cost for job in jobs), shown=shown) as advance,
        exit_on_user_error(),
        exit_on_write_error(state),
    ):

        def watch(job: Job, cost: float, fresh: bool) -> None:
            advance(str(job.case), cost, fresh)

        return results.reproduce(
            names, runs=runs, seed=seed, folder=state, advance=watch, complain=complain
        )


def _csv(results: Results) -> str:
    rows = [
        {
            name: " ".join(map(str, value)) if isinstance(value, list) else value
            for name, value in result.numbers().items()
        }
        for result in results.rows
    ]
    text: str = pd.DataFrame(rows).to_csv(index=False, lineterminator="\n")
    return text


def _document(results: Results, out: Path) -> dict[str, object]:
    from lowrankgcn.experiments.reproduction.errata import ERRATA
    from lowrankgcn.experiments.reproduction.text import machine, summary

    return {
        "version": lowrankgcn.__version__,
        "seed": results.seed,
        "runs": results.runs,
        "machine": machine(),
        "sources": results.sources,
        "summary": summary(results),
        "rows": [result.numbers() for result in results.rows],
        "errata": [
            {
                "number": erratum.number,
                "title": erratum.title,
                "text": erratum.text,
                "shown": [d.text for d in results.demonstrations if d.erratum == name],
            }
            for name, erratum in ERRATA.items()
        ],
        "missing": results.missing,
        "page": str(out / _PAGE),
    }


def _show(console: Console, results: Results, page: Path) -> None:
    from lowrankgcn.experiments.reproduction import text
    from lowrankgcn.experiments.reproduction.errata import ERRATA
    from lowrankgcn.experiments.reproduction.grid import paper_tables

    titles = {table.name: table.title for table in paper_tables()}
    wide = console.width >= _WIDE
    header = text.HEADER if wide else text.SHORT_HEADER
    for name, rows in results.tables.items():
        table = Table(
            box=box.SIMPLE_HEAD,
            padding=(0, 1) if wide else (0, 1, 0, 0),
            title=escape(titles[name]),
            title_justify="left",
            title_style="bold",
        )
        for column, title in enumerate(header):
            middle = 0 < column < len(header) - 1
            table.add_column(title, justify="right" if middle else "left", no_wrap=middle)
        for result in rows:
            *texts, verdict = map(escape, text.cells(result) if wide else text.short_cells(result))
            colour = "green" if result.verdict.agrees else "yellow" if result.explained else "red"
            table.add_row(*texts, f"[{colour}]{verdict}[/{colour}]")
        console.print(table)
    if results.rows:
        for shown in results.demonstrations:
            erratum = ERRATA[shown.erratum]
            console.print(f"[bold]erratum {erratum.number}[/bold] {escape(erratum.title)}")
            console.print(f"  {escape(shown.text)}")
        console.print(f"\n[dim]{escape(text.HOW)}[/dim]\n")
        console.print(f"[bold]{escape(text.summary(results))}[/bold]")
    print_line(console, f"tables, figures and errata: {page}")
