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

_FORMATS = "CSV, TSV or Parquet file"
_COLUMNS, _MODEL, _FOLDERS = "Columns", "Model", "Folders of Parquet files"  # panels of the help


def _option(
    names: str, metavar: str | None, help: str, panel: str | None = None, **more: Any
) -> Any:
    """Return an option; `names` has one name, or a long and a short one."""
    return Option(*names.split(), metavar=metavar, help=help, rich_help_panel=panel, **more)


def _network(name: str, metavar: str, help: str, default: str = "auto") -> Any:
    return _option(name, metavar, f"With --method gcn: {help}", _MODEL, show_default=default)


def _output(names: str, help: str, metavar: str = "FILE") -> Any:
    return _option(names, metavar, help, readable=False)


# All commands
Seed = Annotated[int, _option("--seed", "N", "Random seed.", min=0, max=2**32 - 1)]
AsJson = Annotated[bool, _option("--json", None, "Print one JSON document.")]
Quiet = Annotated[bool, _option("--quiet -q", None, "Print nothing; write files only.")]

# Input
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
    str, _option("--target -t", "COLUMN", "Column of the classes, empty if unknown.")
]
TargetOfFile = Annotated[
    str | None, _option("--target -t", "COLUMN", "Column of the classes; required for files.")
]
Encoding = Annotated[
    str | None, _option("--encoding", "NAME", "Text encoding, such as cp1252 (default UTF-8).")
]
_DROP = "Column to ignore. Repeat, or separate names by commas."
_CATEGORICAL, _NUMERIC = "Column to use as categories.", "Column to use as numbers."
Drop = Annotated[list[str] | None, _option("--drop", "COLUMN", _DROP, _COLUMNS)]
Categorical = Annotated[
    list[str] | None, _option("--categorical", "COLUMN", _CATEGORICAL, _COLUMNS)
]
Numeric = Annotated[list[str] | None, _option("--numeric", "COLUMN", _NUMERIC, _COLUMNS)]

# Model
_GRAPH = "Graph of the rows: gaussian, hypergraph, knn or auto."
_METHOD = "gp: Gaussian process; gcn: the networks of the paper, with torch."
_RANK = "Number of eigenpairs."
_FILTER = (
    "linear, quadratic, pseudoinverse, regularized-inverse, heat, constant, high-pass or "
    "zero-impulse."
)
_BANDWIDTH = "bandwidth of the Gaussian graph, in the units of the table."
_ARCHITECTURE = _network("--architecture", "NAME", "full, low-rank or reduced.", "low-rank")
Graph = Annotated[GraphName, _option("--graph", "NAME", _GRAPH, _MODEL)]
Method = Annotated[MethodName, _option("--method", "NAME", _METHOD, _MODEL)]
Rank = Annotated[int | None, _option("--rank", "N", _RANK, _MODEL, min=1, show_default="auto")]
Architecture = Annotated[ArchitectureName | None, _ARCHITECTURE]
FilterName = Annotated[str | None, _network("--filter", "NAME", _FILTER)]
Bandwidth = Annotated[float | None, _network("--bandwidth", "X", _BANDWIDTH)]

# Large tables
_SCHEDULER = "Address of a Dask scheduler, such as tcp://host:8786."
_WORKERS = "Number of local Dask workers."
Scheduler = Annotated[str | None, _option("--scheduler", "ADDRESS", _SCHEDULER, _FOLDERS)]
Workers = Annotated[int | None, _option("--workers", "N", _WORKERS, _FOLDERS, min=1)]

# Explanations, suggestions, comparison, reproduction
_ROW = "Row to explain, counted from 1 without the header. Repeat for more rows."
_BY = "Explain by the columns of the row, by labelled rows or by blocks."
_METHODS = (
    "Some of gp, gcn, gcn-reduced, gcn-paper, logistic, forest, svc, boosting, catboost, "
    "spreading-knn, spreading-rbf, hypergraph-conv, poisson. Default: all that are installed."
)
_IN_ORDER = "Keep the order of the rows instead of shuffling them."
RowNumbers = Annotated[list[int], _option("--row -r", "N", _ROW, min=1)]
By = Annotated[ExplainBy, _option("--by", None, _BY)]
Top = Annotated[int, _option("--top", "N", "Number of contributions to show.", min=1)]
Count = Annotated[int, _option("--count -k", "N", "Number of rows.", min=1)]
LabelsPerClass = Annotated[
    str, _option("--labels-per-class -l", "N,N,…", "Labelled rows of each class.")
]
Splits = Annotated[int, _option("--splits", "N", "Number of random splits.", min=1, max=100_000)]
Methods = Annotated[str | None, _option("--methods", "NAME,NAME,…", _METHODS)]
InOrder = Annotated[bool, _option("--in-order", None, _IN_ORDER)]
What = Annotated[PaperTable, Argument(metavar="NAME", help="Table or figure of the paper.")]
Runs = Annotated[int, _option("--runs", "N", "Training runs per row.", min=1)]

# Studio
_PORT = "Port of the server; another one if it is taken."
TableFileArgument = Annotated[Path, Argument(metavar="TABLE", help=f"{_FORMATS}.")]
Port = Annotated[int, _option("--port", "N", _PORT, min=1024, max=65535)]
Browser = Annotated[bool, _option("--browser/--no-browser", None, "Open the page in the browser.")]

# Output
_OUT = "Write the table with predictions, in the format of the input; - for standard output."
_OUT_ROWS = "Write these rows with their numbers, in the format of the table."
_PROBABILITIES = "Add a column with the probability of each class."
Out = Annotated[Path | None, _output("--out -o", _OUT)]
OutOrFolder = Annotated[
    Path | None, _output("--out -o", f"{_OUT} For a folder, name a new folder.")
]
OutRows = Annotated[Path | None, _output("--out -o", _OUT_ROWS)]
Report = Annotated[Path | None, _output("--report", "Write an HTML report with figures.")]
Save = Annotated[Path | None, _output("--save", "Save the model for `lowrankgcn predict`.")]
Probabilities = Annotated[bool, _option("--probabilities", None, _PROBABILITIES)]
Csv = Annotated[Path | None, _output("--csv", "Write one row per fit, as CSV.")]
Markdown = Annotated[Path | None, _output("--markdown", "Write the tables, in Markdown.")]
ReportFolder = Annotated[Path, _output("--out -o", "Folder for the reports.", "DIR")]
ReproductionFolder = Annotated[
    Path, _output("--out -o", "Folder for the page and the saved state.", "DIR")
]
