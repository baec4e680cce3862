"""``lowrankgcn reproduce``: compute the tables and figures of the paper."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.markup import escape
from rich.text import Text

from lowrankgcn._progress import listening
from lowrankgcn.cli import terminal
from lowrankgcn.cli.options import Arguments, command
from lowrankgcn.cli.terminal import Run, check_outputs, one_line_errors
from lowrankgcn.exceptions import TORCH_MISSING, torch_installed

if TYPE_CHECKING:
    from lowrankgcn.experiments.reproduction import Results

_PAGE, _ROWS, _STATE = "reproduction.html", "rows.csv", "state"
_WIDE = 120  # columns of a terminal that shows all columns of the tables


@command("part runs seed pages as_json markdown quiet")
def reproduce(args: Arguments) -> None:
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
        raise terminal.option_error(None, TORCH_MISSING)
    out, markdown, state = args.out, args.markdown, args.out / _STATE
    written = [out / name for name in ("", _STATE, _PAGE, _ROWS)]
    taken = {f"{path}, which --out writes": path for path in written}
    if out.exists() or markdown is None or markdown.absolute().parent != out.absolute():
        check_outputs({"--markdown": markdown}, taken)
    for folder in (out, state):
        terminal.prepare_folder(folder)
    for name in (_PAGE, _ROWS):
        check_outputs({"--out": out / name})
    check_outputs({"--markdown": markdown}, taken)  # may be in the new folder
    import pandas as pd

    from lowrankgcn.experiments import page, reproduction

    names = reproduction.NAMES if args.what == "all" else (args.what,)
    run = Run(quiet=args.quiet)
    with run.progress("reproducing") as show, listening(None):
        with one_line_errors("--out", writing=state), terminal.collect_warnings() as warned:
            settings = {"runs": args.runs, "seed": args.seed, "watch": show}
            reproduced = reproduction.reproduce(names, state, **settings)
    # Warnings and missing rows also with --quiet, because what was asked for may be missing.
    for text in warned:
        typer.echo(f"warning: {text}", err=True)
    if args.what in reproduced.missing:
        raise typer.BadParameter(reproduced.missing[args.what])
    command_line = f"lowrankgcn reproduce {args.what} --runs {args.runs}"
    command_line += f" --seed {args.seed}" if args.seed else ""
    html = page.render("reproduction.html.j2", reproduced, command_line, filters="filters" in names)
    terminal.write_output(out / _PAGE, html, "--out")
    if reproduced.rows:
        rows = pd.DataFrame(reproduced.rows, dtype=object)
        rows["errata"] = [" ".join(map(str, numbers)) for numbers in rows["errata"]]
        csv = rows.to_csv(index=False, lineterminator="\n")
        terminal.write_output(out / _ROWS, csv, "--out")
    text = page.render("reproduction.md.j2", reproduced, command_line)
    terminal.write_output(markdown, text, "--markdown")
    for message in dict.fromkeys(reproduced.missing.values()):
        tables = ", ".join(name for name, reason in reproduced.missing.items() if reason == message)
        typer.echo(f"left out ({tables}): {message}", err=True)
    if args.as_json:
        summary = {"machine": page.machine(), "summary": page.summary(reproduced)}
        run.print_json(reproduced._asdict() | summary | {"page": str(out / _PAGE)})
    else:
        _show(run, reproduced, out / _PAGE)


def _show(run: Run, results: Results, file: Path) -> None:
    from lowrankgcn.experiments import page
    from lowrankgcn.experiments.reproduction import TABLES

    console = run.console
    wide = console.width >= _WIDE
    header, cells = (page.HEADER, page.cells) if wide else (page.SHORT_HEADER, page.short_cells)
    for name, table in results.tables.items():
        rows: list[list[str | Text]] = []
        for row in table:
            *texts, verdict = cells(row)
            colour = "green" if row["agrees"] else "yellow" if row["explained_by"] else "red"
            rows.append([*texts, Text(verdict, style=colour)])
        title, numeric = f"[bold]{TABLES[name]['title']}[/bold]", range(1, len(header) - 1)
        run.print_table(header, rows, numeric, title=title, title_justify="left")
    if results.rows:
        for erratum in results.errata:
            if erratum["shown"]:
                console.print(f"[bold]erratum {erratum['number']}[/bold] {erratum['title']}")
            for shown in erratum["shown"]:
                console.print(f"  {shown}", markup=False)
        console.print(f"\n[dim]{escape(page.HOW)}[/dim]\n")
        console.print(f"[bold]{page.summary(results)}[/bold]")
    run.print_line(f"tables, figures and errata: {file}")
