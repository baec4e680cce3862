"""``lowrankgcn suggest``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lowrankgcn.cli.app import app
from lowrankgcn.cli.options import (
    AsJson,
    Categorical,
    Drop,
    Encoding,
    GraphName,
    Numeric,
    Quiet,
    Seed,
    TableArgument,
    Target,
)

__all__ = ["suggest"]

_EXAMPLES = """Examples:

lowrankgcn suggest cars.csv --target price

lowrankgcn suggest cars.csv --target price -k 20 --out to-label.csv
"""


@app.command(epilog=_EXAMPLES)
def suggest(
    table: TableArgument,
    target: Target,
    count: Annotated[
        int, typer.Option("--count", "-k", min=1, metavar="N", help="How many rows.")
    ] = 10,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            allow_dash=True,
            help="Write these rows with their numbers, in the format of the table.",
            show_default=False,
        ),
    ] = None,
    drop: Drop = None,
    categorical: Categorical = None,
    numeric: Numeric = None,
    graph: Annotated[
        GraphName, typer.Option("--graph", help="How rows are joined.")
    ] = GraphName.AUTO,
    encoding: Encoding = None,
    seed: Seed = 0,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Say which rows of a table to label next, the most useful first.

    These are rows whose class would tell most about all the rows that are uncertain: spread over
    the table, not outliers, no row twice. The table may have no labels at all yet. Rows are counted
    from 1, the first one below the names of the columns.
    """
    from lowrankgcn.cli.suggest import Request, run

    run(
        Request(
            table=table,
            target=target,
            count=count,
            out=out,
            drop=tuple(drop or ()),
            categorical=tuple(categorical or ()),
            numeric=tuple(numeric or ()),
            graph=graph.value,
            encoding=encoding,
            seed=seed,
            as_json=as_json,
            quiet=quiet,
        )
    )
