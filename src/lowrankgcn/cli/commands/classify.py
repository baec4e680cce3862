"""``lowrankgcn classify``."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from lowrankgcn.cli.app import app
from lowrankgcn.cli.options import (
    ArchitectureName,
    AsJson,
    Categorical,
    Drop,
    Encoding,
    GraphName,
    Numeric,
    Out,
    Probabilities,
    Quiet,
    Seed,
    Target,
)

__all__ = ["classify"]

_EXAMPLES = """Examples:

lowrankgcn classify cars.csv --target price --out classified.csv

lowrankgcn classify cars.csv --target price --validate --report report.html --save cars.model

lowrankgcn classify - --target price --drop id,name < cars.csv > only-the-new-rows.csv

lowrankgcn classify parquet-files/ --target price --out classified/ --workers 4
"""

_CHOICES = "What is compared"
_FOLDERS = "Tables larger than memory"


def _file(name: str, text: str) -> typer.models.OptionInfo:
    option: typer.models.OptionInfo = typer.Option(
        name, metavar="FILE", help=text, show_default=False
    )
    return option


@app.command(epilog=_EXAMPLES)
def classify(
    table: Annotated[
        Path,
        typer.Argument(
            metavar="TABLE",
            allow_dash=True,
            help="CSV, TSV or Parquet file, - for standard input, or a folder of Parquet files: "
            "of these, columns are taken as Parquet has them, texts or numbers, but for --drop; "
            "--report, --validate, --categorical and --numeric are for files.",
            show_default=False,
        ),
    ],
    target: Target,
    out: Out = None,
    report: Annotated[
        Path | None, _file("--report", "Write a page with pictures (HTML, needs no network).")
    ] = None,
    save: Annotated[
        Path | None, _file("--save", "Keep the model, for `lowrankgcn predict`.")
    ] = None,
    validate: Annotated[
        bool,
        typer.Option(
            "--validate",
            help="First find out how often the answers are right, by hiding some of the labels.",
        ),
    ] = False,
    probabilities: Probabilities = False,
    drop: Drop = None,
    categorical: Categorical = None,
    numeric: Numeric = None,
    graph: Annotated[
        GraphName, typer.Option("--graph", help="How rows are joined.", rich_help_panel=_CHOICES)
    ] = GraphName.AUTO,
    architecture: Annotated[
        ArchitectureName,
        typer.Option("--architecture", help="Which networks.", rich_help_panel=_CHOICES),
    ] = ArchitectureName.AUTO,
    filter: Annotated[
        str,
        typer.Option(
            "--filter",
            metavar="NAME",
            help="Of the eigenvalues: linear, quadratic, pseudoinverse, regularized-inverse, heat, "
            "constant, high-pass, zero-impulse or auto.",
            rich_help_panel=_CHOICES,
        ),
    ] = "auto",
    rank: Annotated[
        int | None,
        typer.Option(
            "--rank",
            min=1,
            metavar="N",
            help="Number of eigenpairs.",
            show_default=False,
            rich_help_panel=_CHOICES,
        ),
    ] = None,
    bandwidth: Annotated[
        float | None,
        typer.Option(
            "--bandwidth",
            metavar="X",
            help="Of the Gaussian graph, in the units of the table.",
            show_default=False,
            rich_help_panel=_CHOICES,
        ),
    ] = None,
    encoding: Encoding = None,
    scheduler: Annotated[
        str | None,
        typer.Option(
            "--scheduler",
            metavar="ADDRESS",
            help="For a folder: the Dask cluster that works, as tcp://host:8786.",
            show_default=False,
            rich_help_panel=_FOLDERS,
        ),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(
            "--workers",
            min=1,
            metavar="N",
            help="For a folder: start so many processes of Dask here.",
            show_default=False,
            rich_help_panel=_FOLDERS,
        ),
    ] = None,
    seed: Seed = 0,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Classify the rows of a table whose target cell is empty.

    The rows that have a class there teach the others theirs. Columns that name the rows (all
    different) or say nothing (all the same) are left out.

    The table comes back with two more columns: **prediction**, the class of every row, which is the
    given one where there is one; and **probability**, what the model gives to that class. Without
    **--out**, **--report**, **--save** and **--json**, the rows that had no class go to standard
    output as CSV.

    A folder of Parquet files is read block by block with Dask, and **--out** names a new folder.
    """
    from lowrankgcn.cli.progress import status
    from lowrankgcn.cli.request import Request
    from lowrankgcn.cli.tasks import read_task

    if scheduler is not None and workers is not None:
        raise typer.BadParameter("either this or --workers", param_hint="--scheduler")
    request = Request(
        table=table,
        target=target,
        out=out,
        report=report,
        save=save,
        validate=validate,
        probabilities=probabilities,
        drop=tuple(drop or ()),
        categorical=tuple(categorical or ()),
        numeric=tuple(numeric or ()),
        graph=graph.value,
        architecture=architecture.value,
        filter=filter,
        rank="auto" if rank is None else rank,
        bandwidth="auto" if bandwidth is None else bandwidth,
        encoding=encoding,
        scheduler=scheduler,
        workers=workers,
        seed=seed,
        as_json=as_json,
        quiet=quiet,
    )
    if table.is_dir():
        if next(table.glob("*.parquet"), None) is None:
            message = f"{table} is a folder without Parquet files"
            raise typer.BadParameter(message, param_hint="TABLE")
        if find_spec("dask") is None or find_spec("distributed") is None:
            message = "a folder needs Dask: pip install lowrankgcn[distributed]"
            raise typer.BadParameter(message, param_hint="TABLE")
        from lowrankgcn.cli.folder import run as run_folder

        run_folder(request)
        return
    if scheduler is not None or workers is not None:
        option = "--scheduler" if workers is None else "--workers"
        raise typer.BadParameter("only for a folder of Parquet files", param_hint=option)
    task = read_task(request)
    # Torch takes seconds to import, for which a bad table need not wait.
    with status("starting torch", shown=not quiet):
        from lowrankgcn.cli.classify import run

    run(task)
