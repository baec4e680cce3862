"""Options that several commands have, spelled the same in all of them."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

__all__ = [
    "ArchitectureName",
    "AsJson",
    "Categorical",
    "Drop",
    "Encoding",
    "GraphName",
    "ModelFile",
    "Numeric",
    "Out",
    "Probabilities",
    "Quiet",
    "Seed",
    "TableArgument",
    "Target",
]

Seed = Annotated[int, typer.Option("--seed", min=0, metavar="N", help="Seed of everything random.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing; write the files only.")]

TableArgument = Annotated[
    Path,
    typer.Argument(
        metavar="TABLE",
        allow_dash=True,
        help="CSV, TSV or Parquet file, or - for standard input.",
        show_default=False,
    ),
]
Target = Annotated[
    str,
    typer.Option(
        "--target",
        "-t",
        metavar="COLUMN",
        help="Column of the classes; empty in the rows to classify.",
        show_default=False,
    ),
]
ModelFile = Annotated[
    Path,
    typer.Argument(metavar="MODEL", help="File that --save wrote.", show_default=False),
]
Out = Annotated[
    Path | None,
    typer.Option(
        "--out",
        "-o",
        metavar="FILE",
        allow_dash=True,
        help="Write the table with its predictions, in its own format; - for standard output. "
        "Of a folder: a new folder.",
        show_default=False,
    ),
]
Probabilities = Annotated[
    bool,
    typer.Option("--probabilities", help="Add a column with the probability of each class."),
]
Encoding = Annotated[
    str | None,
    typer.Option(
        "--encoding",
        metavar="NAME",
        help="Of a text table, such as cp1252; UTF-8 if not given.",
        show_default=False,
    ),
]


def _columns(name: str, text: str) -> typer.models.OptionInfo:
    option: typer.models.OptionInfo = typer.Option(
        name, metavar="COLUMN", help=text, show_default=False, rich_help_panel="Columns"
    )
    return option


Drop = Annotated[
    list[str] | None, _columns("--drop", "Leave a column out (repeat, or separate by commas).")
]
Categorical = Annotated[
    list[str] | None, _columns("--categorical", "Take its values as categories.")
]
Numeric = Annotated[list[str] | None, _columns("--numeric", "Take its values as numbers.")]


class GraphName(StrEnum):
    """How rows are joined."""

    AUTO = "auto"
    GAUSSIAN = "gaussian"
    HYPERGRAPH = "hypergraph"
    KNN = "knn"


class ArchitectureName(StrEnum):
    """Which networks are trained."""

    AUTO = "auto"
    FULL = "full"
    LOW_RANK = "low-rank"
    REDUCED = "reduced"
