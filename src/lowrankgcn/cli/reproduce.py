"""``lowrankgcn reproduce``: compute the tables and figures of the paper."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.console import Console
from rich.markup import escape
from rich.text import Text

from lowrankgcn._atomic import write_text
from lowrankgcn._progress import listening
from lowrankgcn.cli import errors, options, output
from lowrankgcn.cli.progress import Run
from lowrankgcn.exceptions import TORCH_MISSING, torch_installed

if TYPE_CHECKING:
    from lowrankgcn.experiments.reproduction.results import Results

_PAGE, _ROWS, _STATE = "reproduction.html", "rows.csv", "state"
_WIDE = 120  # columns of a terminal that shows all columns of the tables


def reproduce(
    what: options.What = "all",
    runs: options.Runs = 100,
    seed: options.Seed = 0,
    out: options.ReproductionFolder = Path("reproduction"),
    as_json: options.AsJson = False,
    markdown: options.Markdown = None,
    quiet: options.Quiet = False,
) -> None:
    """Recompute the tables and figures of the paper, next to the published numbers.

    Trains every row from many random starts and prints mean accuracies with 95 % intervals, the
    published figures, times, and whether they agree or which erratum of the paper explains the
    difference. Writes **DIR/reproduction.html**, a page with the figures, and the rows of the
    tables to **DIR/rows.csv**.

    Finished work is kept in **DIR/state**: the same command continues an interrupted run. The
    mushrooms are downloaded on first use.

    Examples
    --------
    lowrankgcn reproduce spiral --runs 10

    lowrankgcn reproduce all --runs 100 --out paper
    """
    if not torch_installed():
        raise errors.option_error(None, TORCH_MISSING)
    written = [out / name for name in ("", _STATE, _PAGE, _ROWS)]
    taken = {f"{path}, which --out writes": path for path in written}
    if out.exists() or markdown is None or markdown.absolute().parent != out.absolute():
        errors.check_outputs({"--markdown": markdown}, taken)
    for folder in (out, out / _STATE):
        errors.prepare_folder(folder)
    for name in (_PAGE, _ROWS):
        errors.check_outputs({"--out": out / name})
    errors.check_outputs({"--markdown": markdown}, taken)  # may be in the new folder
    import pandas as pd

    from lowrankgcn.experiments.reproduction import page, results

    names = results.NAMES if what == "all" else (what,)
    state = out / _STATE
    run = Run(quiet=quiet)
    with run.progress("reproducing") as show, listening(None), errors.exit_on_user_error():
        with errors.exit_on_write_error(state), errors.collect_warnings() as warned:
            reproduced = results.reproduce(names, state, runs=runs, seed=seed, watch=show)
    # Warnings and missing rows also with --quiet, because what was asked for may be missing.
    for text in warned:
        typer.echo(f"warning: {text}", err=True)
    if what in reproduced.missing:
        raise typer.BadParameter(reproduced.missing[what])
    command = f"lowrankgcn reproduce {what} --runs {runs}"
    command += f" --seed {seed}" if seed else ""
    html = page.render("reproduction.html.j2", reproduced, command, filters="filters" in names)
    with errors.exit_on_write_error(out):
        write_text(out / _PAGE, html)
        if reproduced.rows:
            rows = pd.DataFrame(reproduced.rows, dtype=object)
            rows["errata"] = [" ".join(map(str, numbers)) for numbers in rows["errata"]]
            write_text(out / _ROWS, rows.to_csv(index=False, lineterminator="\n"))
    if markdown is not None:
        with errors.exit_on_write_error(markdown, "--markdown"):
            write_text(markdown, page.render("reproduction.md.j2", reproduced, command))
    # Also with --quiet, because requested rows are missing.
    for message in dict.fromkeys(reproduced.missing.values()):
        tables = ", ".join(name for name, reason in reproduced.missing.items() if reason == message)
        typer.echo(f"left out ({tables}): {message}", err=True)
    if as_json:
        summary = {"machine": page.machine(), "summary": page.summary(reproduced)}
        output.print_json(reproduced._asdict() | summary | {"page": str(out / _PAGE)})
    else:
        _show(run.console, reproduced, out / _PAGE)


def _show(console: Console, results: Results, file: Path) -> None:
    from lowrankgcn.experiments.reproduction import page
    from lowrankgcn.experiments.reproduction.results import TABLES

    wide = console.width >= _WIDE
    header, cells = (page.HEADER, page.cells) if wide else (page.SHORT_HEADER, page.short_cells)
    for name, table in results.tables.items():
        rows: list[list[str | Text]] = []
        for row in table:
            *texts, verdict = cells(row)
            colour = "green" if row["agrees"] else "yellow" if row["explained_by"] else "red"
            rows.append([*texts, Text(verdict, style=colour)])
        title, numeric = f"[bold]{TABLES[name]['title']}[/bold]", range(1, len(header) - 1)
        output.print_table(console, header, rows, numeric, title=title, title_justify="left")
    if results.rows:
        for erratum in results.errata:
            if erratum["shown"]:
                console.print(f"[bold]erratum {erratum['number']}[/bold] {erratum['title']}")
            for shown in erratum["shown"]:
                console.print(f"  {shown}", markup=False)
        console.print(f"\n[dim]{escape(page.HOW)}[/dim]\n")
        console.print(f"[bold]{page.summary(results)}[/bold]")
    output.print_line(console, f"tables, figures and errata: {file}")
