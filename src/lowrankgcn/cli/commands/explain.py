"""``lowrankgcn explain``."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from lowrankgcn.cli.app import app
from lowrankgcn.cli.options import AsJson, Encoding, ModelFile, TableArgument

__all__ = ["explain"]

_EXAMPLES = """Examples:

lowrankgcn explain cars.model more-cars.csv --row 1

lowrankgcn explain cars.model more-cars.csv --row 3 --row 17 --by rows --json
"""


class By(StrEnum):
    """What the parts of an explanation belong to."""

    AUTO = "auto"
    VALUES = "values"
    ROWS = "rows"


@app.command(epilog=_EXAMPLES)
def explain(
    model: ModelFile,
    table: TableArgument,
    row: Annotated[
        list[int],
        typer.Option(
            "--row",
            "-r",
            min=1,
            metavar="N",
            help="Which row; 1 is the first one below the names of the columns. Repeat for more.",
            show_default=False,
        ),
    ],
    by: Annotated[
        By,
        typer.Option(
            "--by",
            help="Explain by the row's own values (tables with categories) or by labelled rows.",
        ),
    ] = By.AUTO,
    top: Annotated[
        int, typer.Option("--top", min=1, metavar="N", help="How many reasons to show.")
    ] = 10,
    encoding: Encoding = None,
    as_json: AsJson = False,
) -> None:
    """Say what pulls rows of a table to the classes that a model predicts for them.

    The **margin** of a row is how far its class is ahead of the runner-up: a logarithm of odds, the
    mean over the networks. Every value of the row, or every labelled row, adds its part to it:
    those above zero pull to the class, those below to the runner-up, and together they are the
    margin.
    """
    from lowrankgcn.cli.explain import run

    run(model, table, rows=row, by=by.value, top=top, encoding=encoding, as_json=as_json)
