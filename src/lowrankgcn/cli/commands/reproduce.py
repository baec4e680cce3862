"""``lowrankgcn reproduce``."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from lowrankgcn.cli.app import app
from lowrankgcn.cli.options import AsJson, Quiet, Seed

__all__ = ["reproduce"]

_EXAMPLES = """Examples:

lowrankgcn reproduce spiral --runs 10

lowrankgcn reproduce all --runs 100 --out paper
"""


class PaperTable(StrEnum):
    """What can be reproduced."""

    SPIRAL = "spiral"
    CARS = "cars"
    MUSHROOMS = "mushrooms"
    RANKS = "ranks"
    SMOOTHERS = "smoothers"
    FILTERS = "filters"
    ALL = "all"


@app.command(epilog=_EXAMPLES)
def reproduce(
    what: Annotated[PaperTable, typer.Argument(help="A table or figure of the paper.")] = (
        PaperTable.ALL
    ),
    runs: Annotated[
        int, typer.Option("--runs", min=1, metavar="N", help="Trainings for every row.")
    ] = 100,
    seed: Seed = 0,
    out: Annotated[
        Path,
        typer.Option(
            "--out", "-o", metavar="DIR", readable=False, help="Folder for the page and the state."
        ),
    ] = Path("reproduction"),
    as_json: AsJson = False,
    markdown: Annotated[
        Path | None,
        typer.Option("--markdown", metavar="FILE", readable=False, help="Write the tables there."),
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Compute the paper's tables and figures again, beside the published numbers.

    Trains every row from many random starts and prints mean accuracies with 95 % intervals, the
    published figures, times, and whether they agree or which erratum of the paper explains why
    not. Writes **DIR/reproduction.html**, a page with the figures, and **DIR/rows.csv**.

    Killed at any moment, the same command goes on where it stopped: finished work is kept in
    **DIR/state** and never computed twice. The mushrooms are downloaded on first use.
    """
    from lowrankgcn.cli.reproduce import run

    run(
        what.value,
        runs=runs,
        seed=seed,
        out=out,
        as_json=as_json,
        markdown=markdown,
        quiet=quiet,
    )
