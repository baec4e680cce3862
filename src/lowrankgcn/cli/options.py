"""Arguments and options of the commands, each defined once."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, BadParameter, Option

GraphName = StrEnum("GraphName", ["auto", "gaussian", "hypergraph", "knn"])
MethodName = StrEnum("MethodName", ["gp", "gcn"])
ArchitectureName = StrEnum("ArchitectureName", ["full", "low-rank", "reduced"])
ClassWeightName = StrEnum("ClassWeightName", ["balanced"])
ExplainBy = StrEnum("ExplainBy", ["auto", "columns", "rows", "blocks"])
PaperTable = StrEnum(
    "PaperTable", ["spiral", "cars", "mushrooms", "ranks", "smoothers", "filters", "all"]
)

_FORMATS = (
    "CSV, TSV, Parquet, Feather, JSON lines or Excel file, also compressed; several files or a "
    "pattern such as 'cars-*.csv' are one table"
)
# Panels of the help
_COLUMNS, _MODEL, _FOLDERS = "Columns", "Model", "Folders of Parquet files"
_READING, _LABELLING, _OUTPUT = "Reading", "Labels", "Output"


def _option(
    names: str, metavar: str | None, help: str, panel: str | None = None, **more: Any
) -> Any:
    """Return an option; `names` has one name, or a long and a short one."""
    return Option(*names.split(), metavar=metavar, help=help, rich_help_panel=panel, **more)


def _network(name: str, metavar: str, help: str, default: str = "auto") -> Any:
    return _option(name, metavar, f"With --method gcn: {help}", _MODEL, show_default=default)


def _output(names: str, help: str, metavar: str = "FILE") -> Any:
    return _option(names, metavar, help, _OUTPUT, readable=False)


def _check_level(level: float | None) -> float | None:
    if level is not None and not 0 < level < 1:
        raise BadParameter(f"expected a probability between 0 and 1, got {level:g}")
    return level


def _flag(names: str, help: str, panel: str | None = None, **more: Any) -> Any:
    """Return a flag: a long and a short name, or a name and its opposite after a slash."""
    return _option(names, "", help, panel, **more)


# All commands
Seed = Annotated[int, _option("--seed", "N", "Random seed.", min=0, max=2**32 - 1)]
AsJson = Annotated[bool, _flag("--json", "Print one JSON document.")]
Quiet = Annotated[bool, _flag("--quiet -q", "Print nothing; write files only.")]

# Input
Tables = Annotated[list[Path], Argument(metavar="TABLE", help=f"{_FORMATS}; - is standard input.")]
TablesOrFolder = Annotated[
    list[Path],
    Argument(
        metavar="TABLE",
        help=f"{_FORMATS}; - is standard input. A folder of Parquet files may be larger than "
        "memory.",
    ),
]
TableOrDataset = Annotated[
    str,
    Argument(
        metavar="TABLE_OR_DATASET",
        help="A file or a pattern, as for classify, or one of iris, wine, breast_cancer, digits, "
        "cars, cars-buying, mushrooms, spiral.",
    ),
]
ModelFile = Annotated[Path, Argument(metavar="MODEL", help="Model file written by --save.")]
Target = Annotated[
    str,
    _option(
        "--target -t", "COLUMN", "Column of the classes; its cells are empty in unlabelled rows."
    ),
]
TargetOfFile = Annotated[
    str | None, _option("--target -t", "COLUMN", "Column of the classes; required for files.")
]
_ENCODING = "Text encoding, such as cp1252."
_DELIMITER = "Character between cells; 'tab' for a tab."
_DECIMAL = "Decimal mark, point or comma."
Encoding = Annotated[
    str | None, _option("--encoding", "NAME", _ENCODING, _READING, show_default="auto")
]
Delimiter = Annotated[
    str | None, _option("--delimiter", "CHAR", _DELIMITER, _READING, show_default="auto")
]
Decimal = Annotated[
    str | None, _option("--decimal", "CHAR", _DECIMAL, _READING, show_default="auto")
]
_UNLABELLED = (
    "Texts in the target that mark unlabelled rows, such as NA,?. Empty cells always do; '' for "
    "empty cells only."
)
_CLASS = (
    "Text in the target that is a class, although NA, ?, none and the like often mark unlabelled "
)
_CLASS += "rows. Repeat for more texts."
_LABELS = (
    "File with more labels: the target column, and the row numbers that suggest writes or the "
    "column --key. Repeat for more files."
)
_KEY = "Column that identifies the rows in --labels and --edges."
_WEIGHT = "balanced: classify as if all classes were equally frequent."
Unlabelled = Annotated[str | None, _option("--unlabelled", "TEXT,TEXT,…", _UNLABELLED, _LABELLING)]
Classes = Annotated[list[str] | None, _option("--class", "TEXT", _CLASS, _LABELLING)]
MoreLabels = Annotated[list[Path] | None, _option("--labels", "FILE", _LABELS, _LABELLING)]
Key = Annotated[str | None, _option("--key", "COLUMN", _KEY, _LABELLING)]
ClassWeight = Annotated[ClassWeightName | None, _option("--class-weight", "NAME", _WEIGHT, _MODEL)]
_DROP = "Column to ignore. Repeat, or separate names by commas."
_CATEGORICAL, _NUMERIC = "Column to use as categories.", "Column to use as numbers."
_TEXT = "Column to use as free text, by its frequent words."
Drop = Annotated[list[str] | None, _option("--drop", "COLUMN", _DROP, _COLUMNS)]
Categorical = Annotated[
    list[str] | None, _option("--categorical", "COLUMN", _CATEGORICAL, _COLUMNS)
]
Numeric = Annotated[list[str] | None, _option("--numeric", "COLUMN", _NUMERIC, _COLUMNS)]
Text = Annotated[list[str] | None, _option("--text", "COLUMN", _TEXT, _COLUMNS)]

# Model
_GRAPH = "Graph of the rows: gaussian, hypergraph, knn or auto."
_EDGES = (
    "File with the edges of a graph whose nodes are the rows: two columns of row numbers, or of "
    "values of --key, and perhaps a third of weights."
)
_METHOD = "gp: Gaussian process; gcn: the networks of the paper (needs torch)."
_RANK = "Number of eigenpairs."
_FILTER = (
    "linear, quadratic, pseudoinverse, regularized-inverse, heat, constant, high-pass or "
    "zero-impulse."
)
_BANDWIDTH = "bandwidth of the Gaussian graph, in the units of the table."
_ARCHITECTURE = _network("--architecture", "NAME", "full, low-rank or reduced.", "low-rank")
Graph = Annotated[GraphName, _option("--graph", "NAME", _GRAPH, _MODEL)]
Edges = Annotated[Path | None, _option("--edges", "FILE", _EDGES, _MODEL)]
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
_BY = "Explain by columns, by labelled rows or by blocks; auto: by columns."
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
InOrder = Annotated[bool, _flag("--in-order", _IN_ORDER)]
What = Annotated[PaperTable, Argument(metavar="NAME", help="Table or figure of the paper.")]
Runs = Annotated[int, _option("--runs", "N", "Training runs per row.", min=1)]

# Studio
_PORT = "Port of the server; another one if it is taken."
TableFileArgument = Annotated[Path, Argument(metavar="TABLE", help=f"{_FORMATS}.")]
Port = Annotated[int, _option("--port", "N", _PORT, min=1024, max=65535)]
Browser = Annotated[bool, _option("--browser/--no-browser", None, "Open the page in the browser.")]

# Output
_OUT = "Write the table with predictions, in the format of this name; - for standard output."
_OUT_ROWS = "Write these rows with their numbers, to be labelled."
_OVERWRITE = "Allow --out to replace the table."
_PROBABILITIES = "Add a column with the probability of each class."
_LEVEL = (
    "Add a column with sets of classes that contain the true one with this probability, such as "
    "0.9; rows that fit no labelled class are marked unsure."
)
_IMPORTANCE = "Rank the columns; by default with --report or --json, or for up to 30 columns."
Out = Annotated[Path | None, _output("--out -o", _OUT)]
OutOrFolder = Annotated[
    Path | None, _output("--out -o", f"{_OUT} For a folder, name a new folder.")
]
OutRows = Annotated[Path | None, _output("--out -o", _OUT_ROWS)]
Overwrite = Annotated[bool, _flag("--overwrite", _OVERWRITE, _OUTPUT)]
Report = Annotated[Path | None, _output("--report", "Write an HTML report with figures.")]
Save = Annotated[Path | None, _output("--save", "Save the model for `lowrankgcn predict`.")]
Probabilities = Annotated[bool, _flag("--probabilities", _PROBABILITIES, _OUTPUT)]
Level = Annotated[float | None, _option("--level", "P", _LEVEL, _OUTPUT, callback=_check_level)]
Importance = Annotated[
    bool | None, _flag("--importance/--no-importance", _IMPORTANCE, _OUTPUT, show_default=False)
]
Csv = Annotated[Path | None, _output("--csv", "Write one row per fit, as CSV.")]
Markdown = Annotated[Path | None, _output("--markdown", "Write the tables, in Markdown.")]
ReportFolder = Annotated[Path, _output("--out -o", "Folder for the reports.", "DIR")]
ReproductionFolder = Annotated[
    Path, _output("--out -o", "Folder for the page and the saved state.", "DIR")
]
