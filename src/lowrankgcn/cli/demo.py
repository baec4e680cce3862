"""``lowrankgcn demo``: run the library on built-in data."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.console import Console
from rich.markup import escape

import lowrankgcn
from lowrankgcn._atomic import write_text
from lowrankgcn._format import duration, percent, scientific, value_text
from lowrankgcn.cli import errors, options, output
from lowrankgcn.cli.progress import Stopwatch, loading, progress
from lowrankgcn.exceptions import TORCH_MISSING, torch_installed

if TYPE_CHECKING:
    from lowrankgcn.report.study import Study

EXAMPLES = """Examples:

lowrankgcn demo

lowrankgcn demo --out demo-1 --seed 1
"""

_NOTE = (
    "Accuracies are those of classifiers with default arguments on the unlabelled rows. The "
    "eigenpairs, filters and kernels shown are those of the paper; the classifiers use others."
)


def demo(
    context: typer.Context,
    out: options.ReportFolder = Path("demo-output"),
    seed: options.Seed = 0,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Classify a built-in table and a built-in point cloud, and write a report.

    Builds the graph of each, computes eigenpairs of its Laplacian with their residuals, filters
    and low-rank kernels, classifies the nodes, and writes **DIR/report.html**, a page with figures
    that works offline.
    """
    watch = Stopwatch()
    with loading(watch, shown=not quiet):
        from lowrankgcn.cli import studies
    errors.prepare_folder(out)
    with progress("cars: hypergraph of a table", shown=not quiet):
        found = [studies.study_cars(seed)]
    with progress("spiral: Gaussian graph of 10 000 points", shown=not quiet):
        found.append(studies.study_spiral(seed))
    path = out / "report.html"
    note = _NOTE if torch_installed() else f"{_NOTE} GCNClassifier is left out: {TORCH_MISSING}."
    with progress("drawing the report", shown=not quiet):
        from lowrankgcn.report.pages import render_studies

        page = render_studies(
            found,
            title="A tour of lowrankgcn",
            subtitle=f"lowrankgcn {lowrankgcn.__version__}, demo with seed {seed}",
            note=note,
            command=output.command_line(context, without=("out", "as_json", "quiet")),
            seconds=watch.total(),
        )
    with errors.exit_on_write_error(out):
        write_text(path, page)
    if as_json:
        document = {"seed": seed, "note": note, "seconds": watch.total(), "report": str(path)}
        document["studies"] = {study.name: study.numbers() for study in found}
        output.print_json(document)
        return
    console = Console(highlight=False, quiet=quiet)
    for study in found:
        _show(console, study)
    console.print(f"[dim]{escape(note)}[/dim]\n")
    output.print_line(console, f"{duration(watch.total())}; figures and tables: {path}")


def _show(console: Console, study: Study) -> None:
    pairs = study.pairs
    facts = {name: value_text(value) for name, value in study.facts.items()}
    if study.spectrum is not None:
        facts["spectrum"] = study.spectrum_text
        facts["largest residual"] = scientific(float(pairs.residuals.max()))
    facts["eigensolver"] = f"{pairs.method}, {pairs.rank} eigenpairs"
    times = ", ".join(f"{step} {duration(value)}" for step, value in study.seconds.items())
    console.print(f"[bold]{escape(study.title)}[/bold]")
    output.print_facts(console, facts | {"time": times}, width=22)
    if study.spectrum is None:
        titles = ("index", "eigenvalue", "residual")
        console.print(output.text_table(titles, study.eigenvalue_rows, (0, 1, 2)))
    header = ("filter", "rank", "truncation error", "φ cut", "exact form")
    rows = [
        (one.filter, str(one.rank), one.error_text, one.cut_text, one.full_rank_form or "–")
        for one in study.kernels
    ]
    console.print(output.text_table(header, rows, (1, 2, 3)))
    for target in study.targets:
        name, share = target.largest_class
        console.print(f"[bold]target {escape(target.name)}, {len(target.training)} labels[/bold]")
        facts = {
            method: f"{percent(accuracy)} of the other rows correct; balanced {percent(balanced)}"
            for method, (accuracy, balanced) in target.accuracies.items()
        }
        facts[f"always {name}"] = percent(share)
        output.print_facts(console, facts, width=22)
    for text in study.warnings:
        output.print_line(console, f"warning: {text}")
    console.print()
