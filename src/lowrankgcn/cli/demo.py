"""``lowrankgcn demo``: compute, print, write the report."""

from __future__ import annotations

import json
import os
import shlex
import time
from pathlib import Path

import typer
from rich.console import Console

import lowrankgcn
from lowrankgcn._atomic import write_text
from lowrankgcn.cli.failures import writing
from lowrankgcn.cli.progress import status
from lowrankgcn.cli.screen import show
from lowrankgcn.cli.tour import study_cars, study_spiral
from lowrankgcn.report import render
from lowrankgcn.report.text import duration

__all__ = ["run"]

_FILE = "report.html"
_NOTE = (
    "Accuracies are those of GCNClassifier with default settings, on the rows whose label it was "
    "not given. The eigenpairs, filters and kernels shown are the paper's; the classifier chooses "
    "its own and says so."
)


def run(out: Path, *, seed: int, as_json: bool, quiet: bool) -> None:
    """Run the tour and leave its report in the folder `out`."""
    console = Console(highlight=False, quiet=quiet or as_json)
    with writing(out):
        _prepare(out)
    begin = time.perf_counter()
    studies = []
    with status("cars: hypergraph of a table", shown=not quiet):
        studies.append(study_cars(seed))
    with status("spiral: Gaussian graph of 10 000 points", shown=not quiet):
        studies.append(study_spiral(seed))
    seconds = time.perf_counter() - begin
    path = out / _FILE
    with status("drawing the report", shown=not quiet):
        page = render(
            studies,
            title="A tour of lowrankgcn",
            subtitle=f"lowrankgcn {lowrankgcn.__version__}, demo with seed {seed}",
            note=_NOTE,
            command=shlex.join(["lowrankgcn", "demo", "--seed", str(seed)]),
            seconds=seconds,
        )
    with writing(out):
        write_text(path, page)
    if as_json:
        document = {
            "version": lowrankgcn.__version__,
            "seed": seed,
            "note": _NOTE,
            "studies": {study.name: study.numbers() for study in studies},
            "seconds": seconds,
            "report": str(path),
        }
        typer.echo(json.dumps(document, ensure_ascii=False, indent=2, allow_nan=False))
        return
    for study in studies:
        show(console, study)
    console.print(f"[dim]{_NOTE}[/dim]\n")
    console.print(
        f"computed in {duration(seconds)}; pictures and tables: {path}",
        soft_wrap=True,
        markup=False,
    )


def _prepare(folder: Path) -> None:
    """Make the folder, and find out before the work whether it can be written to."""
    if folder.exists() and not folder.is_dir():
        raise typer.BadParameter(f"{folder} is a file, not a folder", param_hint="--out")
    folder.mkdir(parents=True, exist_ok=True)
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(13, os.strerror(13), str(folder))
