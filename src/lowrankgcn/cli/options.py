"""Arguments and options of the commands, each defined once."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

GraphName = StrEnum("GraphName", ["auto", "gaussian", "hypergraph", "knn"])
MethodName = StrEnum("MethodName", ["gp", "gcn"])
ArchitectureName = StrEnum("ArchitectureName", ["full", "low-rank", "reduced"])
ExplainBy = StrEnum("ExplainBy", ["auto", "columns", "rows", "blocks"])
PaperTable = StrEnum(
    "PaperTable", ["spiral", "cars", "mushrooms", "ranks", "smoothers", "filters", "all"]
)

# All commands
Seed = Annotated[int, Option("--seed", min=0, max=2**32 - 1, metavar="N", help="Random seed.")]
AsJson = Annotated[bool, Option("--json", help="Print one JSON document.")]
Quiet = Annotated[bool, Option("--quiet", "-q", help="Print nothing; write files only.")]

# Input
_FORMATS = "CSV, TSV or Parquet file"
TableArgument = Annotated[
    Path, Argument(metavar="TABLE", help=f"{_FORMATS}, or - for standard input.")
]
TableOrFolder = Annotated[
    Path,
    Argument(
        metavar="TABLE",
        help=f"{_FORMATS}, - for standard input, or a folder of Parquet files. Columns of folders "
        "keep their types; --report, --categorical, --numeric and --encoding are not available for "
        "folders.",
    ),
]
TableOrDataset = Annotated[
    str,
    Argument(
        metavar="TABLE_OR_DATASET",
        help=f"{_FORMATS}, or one of iris, wine, breast_cancer, digits, cars, cars-buying, "
        "mushrooms, spiral.",
    ),
]
ModelFile = Annotated[Path, Argument(metavar="MODEL", help="Model file written by --save.")]
Target = Annotated[
    str, Option("--target", "-t", metavar="COLUMN", help="Column of the classes, empty if unknown.")
]
TargetOfFile = Annotated[
    str | None,
    Option("--target", "-t", metavar="COLUMN", help="Column of the classes; required for files."),
]
Encoding = Annotated[
    str | None,
    Option("--encoding", metavar="NAME", help="Text encoding, such as cp1252 (default UTF-8)."),
]


def _column(name: str, help: str) -> Any:
    return Option(name, metavar="COLUMN", help=help, rich_help_panel="Columns")


Drop = Annotated[
    list[str] | None, _column("--drop", "Column to ignore. Repeat, or separate names by commas.")
]
Categorical = Annotated[list[str] | None, _column("--categorical", "Column to use as categories.")]
Numeric = Annotated[list[str] | None, _column("--numeric", "Column to use as numbers.")]


# Model
def _model(name: str, metavar: str, help: str, **more: Any) -> Any:
    return Option(name, metavar=metavar, help=help, rich_help_panel="Model", **more)


Graph = Annotated[
    GraphName, _model("--graph", "NAME", "Graph of the rows: gaussian, hypergraph, knn or auto.")
]
Method = Annotated[
    MethodName,
    _model("--method", "NAME", "gp: Gaussian process; gcn: the networks of the paper, with torch."),
]
Rank = Annotated[
    int | None, _model("--rank", "N", "Number of eigenpairs.", min=1, show_default="auto")
]


def _network(name: str, metavar: str, help: str, default: str = "auto") -> Any:
    return _model(name, metavar, f"With --method gcn: {help}", show_default=default)


Architecture = Annotated[
    ArchitectureName | None,
    _network("--architecture", "NAME", "full, low-rank or reduced.", "low-rank"),
]
FilterName = Annotated[
    str | None,
    _network(
        "--filter",
        "NAME",
        "linear, quadratic, pseudoinverse, regularized-inverse, heat, constant, high-pass or "
        "zero-impulse.",
    ),
]
Bandwidth = Annotated[
    float | None,
    _network("--bandwidth", "X", "bandwidth of the Gaussian graph, in the units of the table."),
]


# Large tables
def _folders(name: str, metavar: str, help: str, **more: Any) -> Any:
    return Option(
        name, metavar=metavar, help=help, rich_help_panel="Folders of Parquet files", **more
    )


Scheduler = Annotated[
    str | None,
    _folders("--scheduler", "ADDRESS", "Address of a Dask scheduler, such as tcp://host:8786."),
]
Workers = Annotated[int | None, _folders("--workers", "N", "Number of local Dask workers.", min=1)]

# Explanations, suggestions, comparison, reproduction
RowNumbers = Annotated[
    list[int],
    Option(
        "--row",
        "-r",
        min=1,
        metavar="N",
        help="Row to explain, counted from 1 without the header. Repeat for more rows.",
    ),
]
By = Annotated[
    ExplainBy,
    Option("--by", help="Explain by the columns of the row, by labelled rows or by blocks."),
]
Top = Annotated[int, Option("--top", min=1, metavar="N", help="Number of contributions to show.")]
Count = Annotated[int, Option("--count", "-k", min=1, metavar="N", help="Number of rows.")]
LabelsPerClass = Annotated[
    str, Option("--labels-per-class", "-l", metavar="N,N,…", help="Labelled rows of each class.")
]
Splits = Annotated[
    int, Option("--splits", min=1, max=100_000, metavar="N", help="Number of random splits.")
]
Methods = Annotated[
    str | None,
    Option(
        "--methods",
        metavar="NAME,NAME,…",
        help="Some of gp, gcn, gcn-reduced, gcn-paper, logistic, forest, svc, boosting, catboost, "
        "spreading-knn, spreading-rbf, hypergraph-conv, poisson. Default: all that are "
        "installed.",
    ),
]
InOrder = Annotated[
    bool, Option("--in-order", help="Keep the order of the rows instead of shuffling them.")
]
What = Annotated[PaperTable, Argument(metavar="NAME", help="Table or figure of the paper.")]
Runs = Annotated[int, Option("--runs", min=1, metavar="N", help="Training runs per row.")]


# Output
def _file(name: str, help: str) -> Any:
    names = ("--out", "-o") if name == "--out" else (name,)
    return Option(*names, metavar="FILE", help=help, readable=False)


_OUT = "Write the table with predictions, in the format of the input; - for standard output."
Out = Annotated[Path | None, _file("--out", _OUT)]
OutOrFolder = Annotated[Path | None, _file("--out", f"{_OUT} For a folder, name a new folder.")]
OutRows = Annotated[
    Path | None, _file("--out", "Write these rows with their numbers, in the format of the table.")
]
Report = Annotated[Path | None, _file("--report", "Write an HTML report with figures.")]
Save = Annotated[Path | None, _file("--save", "Save the model for `lowrankgcn predict`.")]
Probabilities = Annotated[
    bool, Option("--probabilities", help="Add a column with the probability of each class.")
]
Csv = Annotated[Path | None, _file("--csv", "Write one row per fit, as CSV.")]
Markdown = Annotated[Path | None, _file("--markdown", "Write the tables, in Markdown.")]


def _folder(help: str) -> Any:
    return Option("--out", "-o", metavar="DIR", help=help, readable=False)


ReportFolder = Annotated[Path, _folder("Folder for the reports.")]
ReproductionFolder = Annotated[Path, _folder("Folder for the page and the saved state.")]
