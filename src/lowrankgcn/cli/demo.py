"""``lowrankgcn demo``: run the library on built-in data."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.markup import escape

from lowrankgcn._atomic import write_text
from lowrankgcn._format import duration, number, percent, scientific, value_text
from lowrankgcn.cli import errors, options, output
from lowrankgcn.cli.app import app, command_line
from lowrankgcn.cli.progress import progress

__all__ = ["demo"]

_EXAMPLES = """Examples:

lowrankgcn demo

lowrankgcn demo --out demo-1 --seed 1
"""

_NOTE = (
    "Accuracies are those of classifiers with default arguments on the unlabelled rows. The "
    "eigenpairs and kernels shown are those of the paper; the classifiers use others."
)


@app.command(epilog=_EXAMPLES)
def demo(
    context: typer.Context,
    out: options.ReportFolder = Path("demo-output"),
    seed: options.Seed = 0,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Classify a built-in table and a built-in point cloud, and write reports.

    Builds the graph of each, computes eigenpairs of its Laplacian with their residuals and low-rank
    kernels, classifies the nodes, and writes **DIR/cars.html** and **DIR/spiral.html**, pages with
    figures that work offline.
    """
    with progress("loading", shown=not quiet):
        from lowrankgcn.cli import studies
    errors.prepare_folder(out)
    begin = time.perf_counter()
    with progress("cars: hypergraph of a table", shown=not quiet):
        found = [studies.study_cars(seed)]
    with progress("spiral: Gaussian graph of 10 000 points", shown=not quiet):
        found.append(studies.study_spiral(seed))
    seconds = time.perf_counter() - begin
    files = {study.name: out / f"{study.name}.html" for study in found}
    command = command_line(context, without=("out", "as_json", "quiet"))
    with progress("drawing the reports", shown=not quiet), errors.exit_on_write_error(out):
        from lowrankgcn.report.pages import render_classification

        for study in found:
            page = render_classification(replace(study.classification, command=command))
            write_text(files[study.name], page)
    if as_json:
        reports = {name: str(path) for name, path in files.items()}
        document = {"seed": seed, "note": _NOTE, "seconds": seconds, "reports": reports}
        document["studies"] = {study.name: study.numbers for study in found}
        output.print_json(document)
        return
    console = Console(highlight=False, quiet=quiet)
    for study in found:
        _show(console, study.numbers)
    console.print(f"[dim]{_NOTE}[/dim]\n")
    paths = ", ".join(map(str, files.values()))
    output.print_line(console, f"computed in {duration(seconds)}; reports: {paths}")


def _show(console: Console, study: dict[str, Any]) -> None:
    pairs, spectrum = study["eigenpairs"], study["spectrum"]
    facts = {name: value_text(value) for name, value in study["graph"].items()}
    if spectrum is not None:
        distinct = (f"{number(one['eigenvalue'])} ×{one['multiplicity']}" for one in spectrum)
        facts["spectrum"] = ", ".join(distinct)
        facts["largest residual"] = scientific(max(pairs["residuals"]))
    facts["eigensolver"] = f"{pairs['method']}, {len(pairs['eigenvalues'])} eigenpairs"
    times = ", ".join(f"{step} {duration(value)}" for step, value in study["seconds"].items())
    console.print(f"[bold]{escape(study['title'])}[/bold]")
    output.print_facts(console, facts | {"time": times}, width=22)
    if spectrum is None:
        values = zip(pairs["eigenvalues"], pairs["residuals"], strict=True)
        rows = [
            (str(index), f"{value:.6f}" if value else "0", scientific(residual))
            for index, (value, residual) in enumerate(values, 1)
        ]
        console.print(output.text_table(("index", "eigenvalue", "residual"), rows, (0, 1, 2)))
    header = ("filter", "rank", "truncation error", "exact form")
    kernels = [
        (one["filter"], str(one["rank"]), _error_text(one), one["full_rank_form"] or "–")
        for one in study["kernels"]
    ]
    console.print(output.text_table(header, kernels, (1, 2)))
    for task in study["tasks"]:
        console.print(f"[bold]target {escape(task['target'])}, {task['labels']} labels[/bold]")
        facts = {
            method: f"{percent(found['accuracy'])} of the other rows correct; balanced "
            f"{percent(found['balanced_accuracy'])}"
            for method, found in task["methods"].items()
        }
        facts[f"always {task['largest_class']}"] = percent(task["largest_class_share"])
        output.print_facts(console, facts, width=22)
        console.print(f"[dim]{escape(task['remark'])}[/dim]")
    for text in study["warnings"]:
        output.print_line(console, f"warning: {text}")
    console.print()


def _error_text(kernel: dict[str, Any]) -> str:
    """Format a truncation error, with its standard error if it is an estimate."""
    value, spread = kernel["truncation_error"], kernel["standard_error"]
    if not spread:
        return f"{value:.4g}"
    digits = max(0, 1 - math.floor(math.log10(spread)))  # two significant ones of the spread
    return f"{value:.{digits}f} ± {spread:.{digits}f}"
