"""Arguments and options of the commands, each spelled once."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

__all__ = [
    "ArchitectureName",
    "ExplainBy",
    "GraphName",
    "PaperTable",
]


class GraphName(StrEnum):
    """Graphs that connect rows."""

    AUTO = "auto"
    GAUSSIAN = "gaussian"
    HYPERGRAPH = "hypergraph"
    KNN = "knn"


class ArchitectureName(StrEnum):
    """Networks to train."""

    AUTO = "auto"
    FULL = "full"
    LOW_RANK = "low-rank"
    REDUCED = "reduced"


class ExplainBy(StrEnum):
    """Units of an explanation."""

    AUTO = "auto"
    VALUES = "values"
    ROWS = "rows"


class PaperTable(StrEnum):
    """Tables and figures of the paper."""

    SPIRAL = "spiral"
    CARS = "cars"
    MUSHROOMS = "mushrooms"
    RANKS = "ranks"
    SMOOTHERS = "smoothers"
    FILTERS = "filters"
    ALL = "all"


def _option(*names: str, help: str, metavar: str | None = None, **more: Any) -> Any:
    return typer.Option(*names, help=help, metavar=metavar, show_default=False, **more)


def _argument(metavar: str, help: str, **more: Any) -> Any:
    return typer.Argument(metavar=metavar, help=help, show_default=False, **more)


# Of all commands
Seed = Annotated[int, typer.Option("--seed", min=0, metavar="N", help="Random seed.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing; write files only.")]

# Input
TableArgument = Annotated[
    Path,
    _argument("TABLE", "CSV, TSV or Parquet file, or - for standard input.", allow_dash=True),
]
TableOrFolder = Annotated[
    Path,
    _argument(
        "TABLE",
        "CSV, TSV or Parquet file, - for standard input, or a folder of Parquet files. Folders "
        "keep the column types of the files; --report, --validate, --categorical, --numeric and "
        "--encoding are not available for them.",
        allow_dash=True,
    ),
]
TableOrDataset = Annotated[
    str,
    _argument(
        "TABLE_OR_DATASET",
        "CSV, TSV or Parquet file, or one of iris, wine, breast_cancer, digits, cars, "
        "cars-buying, mushrooms, spiral.",
    ),
]
ModelFile = Annotated[Path, _argument("MODEL", "Model file written by --save.")]
_TARGET = "Column of the classes; empty cells are predicted."
Target = Annotated[str, _option("--target", "-t", metavar="COLUMN", help=_TARGET)]
TargetOfFile = Annotated[
    str | None, _option("--target", "-t", metavar="COLUMN", help="Column of the classes of a file.")
]
Encoding = Annotated[
    str | None,
    _option("--encoding", metavar="NAME", help="Text encoding, such as cp1252 (default UTF-8)."),
]


def _columns(name: str, help: str) -> Any:
    return _option(name, metavar="COLUMN", help=help, rich_help_panel="Columns")


Drop = Annotated[
    list[str] | None, _columns("--drop", "Ignore a column (repeat, or separate by commas).")
]
Categorical = Annotated[list[str] | None, _columns("--categorical", "Use a column as categories.")]
Numeric = Annotated[list[str] | None, _columns("--numeric", "Use a column as numbers.")]


# Model
def _model_option(name: str, help: str, **more: Any) -> Any:
    return typer.Option(name, help=help, rich_help_panel="Model", **more)


Graph = Annotated[GraphName, _model_option("--graph", "Graph that connects the rows.")]
Architecture = Annotated[ArchitectureName, _model_option("--architecture", "Network to train.")]
FilterName = Annotated[
    str,
    _model_option(
        "--filter",
        "Spectral filter: linear, quadratic, pseudoinverse, regularized-inverse, heat, constant, "
        "high-pass, zero-impulse or auto.",
        metavar="NAME",
    ),
]
Rank = Annotated[
    int | None,
    _model_option("--rank", "Number of eigenpairs.", min=1, metavar="N", show_default=False),
]
Bandwidth = Annotated[
    float | None,
    _model_option(
        "--bandwidth",
        "Bandwidth of the Gaussian graph, in the units of the table.",
        metavar="X",
        show_default=False,
    ),
]
Validate = Annotated[
    bool, typer.Option("--validate", help="Hide some known labels to estimate the accuracy.")
]

# Large tables
_FOLDERS = "Folders of Parquet files"
Scheduler = Annotated[
    str | None,
    _option(
        "--scheduler",
        metavar="ADDRESS",
        help="Address of a Dask scheduler, such as tcp://host:8786.",
        rich_help_panel=_FOLDERS,
    ),
]
Workers = Annotated[
    int | None,
    _option(
        "--workers",
        min=1,
        metavar="N",
        help="Number of local Dask workers.",
        rich_help_panel=_FOLDERS,
    ),
]

# Explanations, suggestions, comparison, reproduction
RowNumbers = Annotated[
    list[int],
    _option(
        "--row",
        "-r",
        min=1,
        metavar="N",
        help="Row to explain, counted from 1 without the header. Repeat for more rows.",
    ),
]
By = Annotated[
    ExplainBy,
    typer.Option(
        "--by", help="Explain by the values of the row (categorical tables) or by labelled rows."
    ),
]
Top = Annotated[int, typer.Option("--top", min=1, metavar="N", help="Number of contributions.")]
Count = Annotated[int, typer.Option("--count", "-k", min=1, metavar="N", help="Number of rows.")]
LabelsPerClass = Annotated[
    str,
    typer.Option("--labels-per-class", "-l", metavar="N,N,…", help="Labelled rows of each class."),
]
Splits = Annotated[
    int,
    typer.Option("--splits", min=1, max=100_000, metavar="N", help="Number of random splits."),
]
Methods = Annotated[
    str | None,
    _option(
        "--methods",
        metavar="NAME,NAME,…",
        help="Some of gcn, gcn-best, gcn-low-rank, gcn-reduced, gcn-paper, logistic, forest, "
        "svc, spreading-knn, spreading-rbf, hypergraph-conv, hgnn+, poisson. Default: all "
        "that are installed.",
    ),
]
InOrder = Annotated[
    bool, typer.Option("--in-order", help="Keep the order of the rows instead of shuffling them.")
]
What = Annotated[PaperTable, typer.Argument(help="Table or figure of the paper.")]
Runs = Annotated[int, typer.Option("--runs", min=1, metavar="N", help="Training runs per row.")]


# Output
def _file(*names: str, help: str, **more: Any) -> Any:
    return _option(*names, metavar="FILE", help=help, **more)


Out = Annotated[
    Path | None,
    _file(
        "--out",
        "-o",
        allow_dash=True,
        help="Write the table with predictions, in the format of the input; - for standard "
        "output. For a folder, the name of a new folder.",
    ),
]
OutRows = Annotated[
    Path | None,
    _file(
        "--out",
        "-o",
        allow_dash=True,
        help="Write these rows with their numbers, in the format of the table.",
    ),
]
Report = Annotated[Path | None, _file("--report", help="Write an HTML report with figures.")]
Save = Annotated[Path | None, _file("--save", help="Save the model for `lowrankgcn predict`.")]
Probabilities = Annotated[
    bool, typer.Option("--probabilities", help="Add a column with the probability of each class.")
]
Csv = Annotated[Path | None, _file("--csv", readable=False, help="Write one row per fit.")]
Markdown = Annotated[Path | None, _file("--markdown", readable=False, help="Write the tables.")]


def _folder(help: str) -> Any:
    return typer.Option("--out", "-o", metavar="DIR", readable=False, help=help)


ReportFolder = Annotated[Path, _folder("Folder for the report.")]
ReproductionFolder = Annotated[Path, _folder("Folder for the page and the saved state.")]
