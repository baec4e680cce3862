"""``lowrankgcn reproduce``: compute what is missing, print, write the page."""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path

import pandas as pd
import typer
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

import lowrankgcn
from lowrankgcn._atomic import write_text
from lowrankgcn.cli.failures import bad_input, check_apart, check_writable, writing
from lowrankgcn.cli.progress import measured_bar
from lowrankgcn.experiments.reproduction.errata import ERRATA
from lowrankgcn.experiments.reproduction.grid import paper_tables
from lowrankgcn.experiments.reproduction.page import render_reproduction
from lowrankgcn.experiments.reproduction.results import TABLES, Results, reproduce
from lowrankgcn.experiments.reproduction.runner import Job, plan
from lowrankgcn.experiments.reproduction.text import (
    HEADER,
    HOW,
    SHORT_HEADER,
    as_markdown,
    cells,
    load,
    machine,
    short_cells,
    summary,
)

__all__ = ["run"]

_PAGE, _ROWS, _STATE = "reproduction.html", "rows.csv", "state"
_WIDE = 120  # columns of a terminal that has room for everything


def run(
    what: str,
    *,
    runs: int,
    seed: int,
    out: Path,
    as_json: bool,
    markdown: Path | None,
    quiet: bool,
) -> None:
    """Reproduce a table, a figure or all of them, and leave the page in the folder `out`."""
    names = TABLES if what == "all" else (what,)
    _prepare(out, markdown)
    results = _computed(names, runs=runs, seed=seed, state=out / _STATE, shown=not quiet)
    if what in results.missing:
        raise typer.BadParameter(results.missing[what])
    command = shlex.join(["lowrankgcn", "reproduce", what, "--runs", str(runs)])
    command += f" --seed {seed}" if seed else ""
    page = render_reproduction(
        results,
        version=lowrankgcn.__version__,
        machine=machine(),
        command=command,
        filters="filters" in names,
    )
    with writing(out):
        write_text(out / _PAGE, page)
        if results.rows:
            write_text(out / _ROWS, _csv(results))
    if markdown is not None:
        with writing(markdown, "--markdown"):
            write_text(markdown, as_markdown(results, machine=machine() + load(), command=command))
    # Said also when nothing else is: rows are missing from what was asked for.
    for message in dict.fromkeys(results.missing.values()):
        tables = ", ".join(name for name, said in results.missing.items() if said == message)
        typer.echo(f"left out ({tables}): {message}", err=True)
    if as_json:
        typer.echo(json.dumps(_document(results, out), ensure_ascii=False, indent=2))
    elif not quiet:
        _show(Console(highlight=False), results, out / _PAGE)


def _prepare(out: Path, markdown: Path | None) -> None:
    """Find out before the work whether everything can be written."""
    if out.exists() and not out.is_dir():
        raise typer.BadParameter(f"{out} is a file, not a folder", param_hint="--out")
    if markdown is not None:
        taken = {f"{out / name}": out / name for name in ("", _STATE, _PAGE, _ROWS)}
        check_apart({"--markdown": markdown}, taken)
        inside = os.path.realpath(markdown.absolute().parent) == os.path.realpath(out)
        if out.exists() or not inside or str(markdown) == "-":  # else the folder comes just now
            check_writable(markdown, "--markdown")
    with writing(out):
        (out / _STATE).mkdir(parents=True, exist_ok=True)
        for folder in (out, out / _STATE):
            if not os.access(folder, os.W_OK | os.X_OK):
                raise PermissionError(13, os.strerror(13), str(folder))
    for name in (_PAGE, _ROWS):
        check_writable(out / name, "--out")


def _computed(names: tuple[str, ...], *, runs: int, seed: int, state: Path, shown: bool) -> Results:
    def complain(message: str) -> None:
        typer.echo(f"warning: {message}", err=True)

    jobs = plan([name for name in names if name != "filters"], runs)
    with (
        measured_bar(sum(job.cost for job in jobs), shown=shown) as advance,
        bad_input(),
        writing(state),
    ):

        def watch(job: Job, cost: float, fresh: bool) -> None:
            advance(str(job.case), cost, fresh)

        return reproduce(
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
    titles = {table.name: table.title for table in paper_tables()}
    for name, rows in results.tables.items():
        wide = console.width >= _WIDE
        table = Table(
            box=box.SIMPLE_HEAD,
            padding=(0, 1) if wide else (0, 1, 0, 0),
            title=escape(titles[name]),
            title_justify="left",
            title_style="bold",
        )
        header = HEADER if wide else SHORT_HEADER
        for column, title in enumerate(header):
            middle = 0 < column < len(header) - 1
            table.add_column(title, justify="right" if middle else "left", no_wrap=middle)
        for result in rows:
            *texts, verdict = map(escape, cells(result) if wide else short_cells(result))
            colour = "green" if result.verdict.agrees else "yellow" if result.explained else "red"
            table.add_row(*texts, f"[{colour}]{verdict}[/{colour}]")
        console.print(table)
    for shown in results.demonstrations if results.rows else ():
        erratum = ERRATA[shown.erratum]
        console.print(f"[bold]erratum {erratum.number}[/bold] {escape(erratum.title)}")
        console.print(f"  {escape(shown.text)}")
    if results.rows:
        console.print(f"\n[dim]{escape(HOW)}[/dim]\n")
        console.print(f"[bold]{escape(summary(results))}[/bold]")
    console.print(f"tables, figures and errata: {page}", soft_wrap=True, markup=False)
