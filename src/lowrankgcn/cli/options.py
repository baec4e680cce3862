"""Arguments and options of the commands, each defined once."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated, Any, Literal

from typer import Argument, BadParameter, Option

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


def _flag(names: str, help: str, panel: str | None = None, **more: Any) -> Any:
    """Return a flag: a long and a short name, or a name and its opposite after a slash."""
    return _option(names, "", help, panel, **more)


def _check_level(level: float | None) -> float | None:
    if level is not None and not 0 < level < 1:
        raise BadParameter(f"expected a probability between 0 and 1, got {level:g}")
    return level


# All commands
Seed = Annotated[int, _option("--seed", "N", "Random seed.", min=0, max=2**32 - 1)]
AsJson = Annotated[bool, _flag("--json", "Print one JSON document.")]
Quiet = Annotated[bool, _flag("--quiet -q", "Print nothing; write files only.")]

# Input
_FOLDER = "A folder of Parquet files may be larger than memory."
_DATASETS = (
    "A file or a pattern, as for classify, or one of iris, wine, breast_cancer, digits, cars, "
    "cars-buying, mushrooms, spiral."
)
_TARGET = "Column of the classes; its cells are empty in unlabelled rows."
Tables = Annotated[list[Path], Argument(metavar="TABLE", help=f"{_FORMATS}; - is standard input.")]
TablesOrFolder = Annotated[
    list[Path], Argument(metavar="TABLE", help=f"{_FORMATS}; - is standard input. {_FOLDER}")
]
TableFileArgument = Annotated[Path, Argument(metavar="TABLE", help=f"{_FORMATS}.")]
TableOrDataset = Annotated[str, Argument(metavar="TABLE_OR_DATASET", help=_DATASETS)]
ModelFile = Annotated[Path, Argument(metavar="MODEL", help="Model file written by --save.")]
Target = Annotated[str, _option("--target -t", "COLUMN", _TARGET)]
TargetOfFile = Annotated[
    str | None, _option("--target -t", "COLUMN", "Column of the classes; required for files.")
]

_LABELS = (
    "File with more labels: the target column, and the row numbers that suggest writes or the "
    "column --key. Repeat for more files."
)
_UNLABELLED = (
    "Texts in the target that mark unlabelled rows, such as NA,?. Empty cells always do; '' for "
    "empty cells only."
)
_CLASS = (
    "Text in the target that is a class, such as none, although it often marks unlabelled rows. "
    "Repeat for more texts."
)
_KEY = "Column that identifies the rows in --labels and --edges."
_DROP = "Column to ignore. Repeat, or separate names by commas."
_TEXT = "Column to use as free text, by its frequent words."
_DELIMITER = "Character between cells; 'tab' for a tab."


def _parameter(
    name: str, kind: Any, metavar: str, help: str, panel: str, default: str | None = None
) -> inspect.Parameter:
    """Return a parameter that is None without its option; `default` is shown in the help."""
    option = _option(f"--{name.rstrip('_')}", metavar, help, panel, show_default=default or True)
    kind, usual = Annotated[kind | None, option], inspect.Parameter.POSITIONAL_OR_KEYWORD
    return inspect.Parameter(name, usual, default=None, annotation=kind)


#: Options about tables; all are None by default.
TABLE_OPTIONS = (
    _parameter("labels", list[Path], "FILE", _LABELS, _LABELLING),
    _parameter("key", str, "COLUMN", _KEY, _LABELLING),
    _parameter("unlabelled", str, "TEXT,TEXT,…", _UNLABELLED, _LABELLING),
    _parameter("class_", list[str], "TEXT", _CLASS, _LABELLING),
    _parameter("drop", list[str], "COLUMN", _DROP, _COLUMNS),
    _parameter("categorical", list[str], "COLUMN", "Column to use as categories.", _COLUMNS),
    _parameter("numeric", list[str], "COLUMN", "Column to use as numbers.", _COLUMNS),
    _parameter("text", list[str], "COLUMN", _TEXT, _COLUMNS),
    _parameter("encoding", str, "NAME", "Text encoding, such as cp1252.", _READING, "auto"),
    _parameter("delimiter", str, "CHAR", _DELIMITER, _READING, "auto"),
    _parameter("decimal", str, "CHAR", "Decimal mark, point or comma.", _READING, "auto"),
)
COLUMN_OPTIONS = TABLE_OPTIONS[2:]  # without labels of other files
FILE_OPTIONS = TABLE_OPTIONS[-3:]


def added(parameters: Iterable[inspect.Parameter]) -> Callable[[Any], Any]:
    """Put parameters in place of the ``**keywords`` of a command, after the required ones."""

    def add(command: Any) -> Any:
        signature = inspect.signature(command, eval_str=True)
        *named, _ = signature.parameters.values()
        place = [parameter.default is parameter.empty for parameter in named].index(False)
        named[place:place] = parameters
        command.__signature__ = signature.replace(parameters=named)  # Typer reads it
        return command

    return add


# Model
_GRAPH = "Graph of the rows: gaussian, hypergraph, knn or auto."
_EDGES = (
    "File with the edges of a graph whose nodes are the rows: two columns of row numbers, or of "
    "values of --key, and perhaps a third of weights."
)
_METHOD = "gp: Gaussian process; gcn: the networks of the paper (needs torch)."
_WEIGHT = "balanced: classify as if all classes were equally frequent."
_RANK = "Number of eigenpairs."
_FILTER = (
    "linear, quadratic, pseudoinverse, regularized-inverse, heat, constant, high-pass or "
    "zero-impulse."
)
_BANDWIDTH = "bandwidth of the Gaussian graph, in the units of the table."
_ARCHITECTURE = _network("--architecture", "NAME", "full, low-rank or reduced.", "low-rank")
Graph = Annotated[
    Literal["auto", "gaussian", "hypergraph", "knn"], _option("--graph", "NAME", _GRAPH, _MODEL)
]
Edges = Annotated[Path | None, _option("--edges", "FILE", _EDGES, _MODEL)]
Method = Annotated[Literal["gp", "gcn"], _option("--method", "NAME", _METHOD, _MODEL)]
ClassWeight = Annotated[
    Literal["balanced"] | None, _option("--class-weight", "NAME", _WEIGHT, _MODEL)
]
Rank = Annotated[int | None, _option("--rank", "N", _RANK, _MODEL, min=1, show_default="auto")]
Architecture = Annotated[Literal["full", "low-rank", "reduced"] | None, _ARCHITECTURE]
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
By = Annotated[Literal["auto", "columns", "rows", "blocks"], _option("--by", None, _BY)]
Top = Annotated[int, _option("--top", "N", "Number of contributions to show.", min=1)]
Count = Annotated[int, _option("--count -k", "N", "Number of rows.", min=1)]
LabelsPerClass = Annotated[
    str, _option("--labels-per-class -l", "N,N,…", "Labelled rows of each class.")
]
Splits = Annotated[int, _option("--splits", "N", "Number of random splits.", min=1, max=100_000)]
Methods = Annotated[str | None, _option("--methods", "NAME,NAME,…", _METHODS)]
InOrder = Annotated[bool, _flag("--in-order", _IN_ORDER)]
What = Annotated[
    Literal["spiral", "cars", "mushrooms", "ranks", "smoothers", "filters", "all"],
    Argument(metavar="NAME", help="Table or figure of the paper."),
]
Runs = Annotated[int, _option("--runs", "N", "Training runs per row.", min=1)]

# Studio
_PORT = "Port of the server; another one if it is taken."
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
