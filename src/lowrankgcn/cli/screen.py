"""A study on the terminal, in a few compact tables."""

from __future__ import annotations

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from lowrankgcn.report.study import Study
from lowrankgcn.report.study_text import accuracy_line, cut_text, error_text, spectrum_text
from lowrankgcn.report.text import duration, percent, small

__all__ = ["show"]


def show(console: Console, study: Study) -> None:
    """Print one study."""
    console.print(f"[bold]{escape(study.title)}[/bold]")
    console.print(_facts(study))
    if study.spectrum is None:
        console.print(_eigenvalues(study))
    console.print(_kernels(study))
    for task in study.tasks:
        name, share = task.largest_class
        console.print(f"  [bold]{escape(accuracy_line(task))}[/bold]")
        console.print(
            f"    target {escape(task.name)}; averaged over the classes "
            f"{percent(task.balanced_accuracy)}; always guessing {escape(name)} {percent(share)}",
            soft_wrap=True,
        )
    for text in study.warnings:
        console.print(f"  [yellow]warning:[/yellow] {escape(text)}", soft_wrap=True)
    console.print()


def _facts(study: Study) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim")
    table.add_column()
    for name, value in study.facts.items():
        small_float = isinstance(value, float) and abs(value) < 1e-3
        text = small(float(value)) if small_float else str(value)
        table.add_row(f"  {name}", escape(text))
    pairs = study.pairs
    if study.spectrum is not None:
        table.add_row("  spectrum", spectrum_text(study.spectrum))
        table.add_row("  largest residual", small(float(pairs.residuals.max())))
    table.add_row("  eigensolver", f"{pairs.method}, {pairs.rank} eigenpairs")
    times = ", ".join(f"{step} {duration(value)}" for step, value in study.seconds.items())
    table.add_row("  time", times)
    return table


def _eigenvalues(study: Study) -> Table:
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1))
    for name in ("index", "eigenvalue", "residual"):
        table.add_column(name, justify="right")
    pairs = study.pairs
    for index, (value, residual) in enumerate(
        zip(pairs.eigenvalues.tolist(), pairs.residuals.tolist(), strict=True), start=1
    ):
        table.add_row(str(index), f"{value:.6f}" if value else "0", small(residual))
    return table


def _kernels(study: Study) -> Table:
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1))
    exact = any(kernel.full_rank_form for kernel in study.kernels)
    table.add_column("filter")
    for name in ("rank", "truncation error", "φ cut"):
        table.add_column(name, justify="right")
    if exact:
        table.add_column("exact form")
    for kernel in study.kernels:
        row = [kernel.filter, str(kernel.rank), error_text(kernel), cut_text(kernel)]
        table.add_row(*row, *([kernel.full_rank_form or ""] if exact else []))
    return table
